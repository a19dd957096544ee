"""Files made up by somebody who knows the format: every checksum is right, and still nothing runs or crashes."""

from __future__ import annotations

import copy
import io
import json
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from gapmin.saved import ModelFileError, _compiled, load_model, save_model
from gapmin.transfer import TransferRegressorCV, WeightedPoolingClassifier
from gapmin.transfer.kernel import KernelClassifier
from gapmin_support import crafted
from gapmin_support.crafted import NUMBERS, add_entry, node, pairs, seal_members, several, text, thing


def payloads(touch):
    """Ways to have something called, each with the name that the refusal must show. `touch` is a shell command."""
    command = several(text(touch))
    function = node("FunctionNode", "os.system")
    state = {"args": command}
    return {
        "function": (function, "os.system"),
        "builtin": (node("TypeNode", "builtins.eval"), "builtins.eval"),
        "object": (node("ObjectNode", "subprocess.Popen", content=pairs(args=text(touch))), "subprocess.Popen"),
        "constructor": (node("ConstructorFromReduceNode", "subprocess.Popen", content=command), "subprocess.Popen"),
        "tuple": (node("TupleNode", "os.system", content=[text(touch)]), "os.system"),
        "list": (node("ListNode", "os.system", content=[text(touch)]), "os.system"),
        "set": (node("SetNode", "os.system", content=[text(touch)]), "os.system"),
        "dict": (
            node(
                "DictNode",
                "builtins.dict",
                content={touch: text(1)},
                key_types=several(function, loader="ListNode", name="builtins.list"),
            ),
            "os.system",
        ),
        "partial": (
            node(
                "PartialNode",
                "functools.partial",
                content={"func": function, "args": command, "kwds": pairs(), "namespace": pairs()},
            ),
            "functools.partial",
        ),
        "methodcaller": (node("OperatorFuncNode", "operator.methodcaller", attrs=command), "operator.methodcaller"),
        "method": (
            node("MethodNode", "sklearn.linear_model._ridge.Ridge", content={"func": "fit", "obj": text(1)}),
            "sklearn.linear_model._ridge.Ridge (as MethodNode)",
        ),
        "loss": (node("LossNode", "subprocess.Popen", __reduce__=state, content=pairs()), "subprocess.Popen"),
        "tree": (node("TreeNode", "os.system", __reduce__=state, content=pairs()), "os.system"),
        "tree in the open": (
            node("TreeNode", "sklearn.tree._tree.Tree", __reduce__=state, content=pairs()),
            "sklearn.tree._tree.Tree",
        ),
        "forest of another package": (
            node("QuantileForestNode", "quantile_forest.QuantileForest", __reduce__=state, content=pairs()),
            "quantile_forest.QuantileForest",
        ),
        "array": (node("NdArrayNode", "os.system", type="json", content=[], shape=several()), "os.system"),
        "masked": (node("MaskedArrayNode", "numpy.ma.MaskedArray", content={}), "numpy.ma.MaskedArray"),
        "sparse": (node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="1.npz"), "csr_matrix"),
        "bytes": (node("BytesNode", "builtins.bytes", file="1.bin"), "builtins.bytes"),
        "random": (node("RandomStateNode", "os.system", content=pairs()), "os.system"),
        "ufunc": (node("FunctionNode", "numpy.frompyfunc"), "numpy.frompyfunc"),
        "cached": (node("CachedNode", "os.system"), "os.system"),
        "unheard of": (node("EvilNode", "os.system", content=command), "os.system"),
        "FunctionTransformer": (
            thing(
                "sklearn.preprocessing._function_transformer.FunctionTransformer",
                func=function,
                inverse_func=text(None),
            ),
            "os.system",
        ),
        "our own module's other names": (
            node("TypeNode", "gapmin.linear._losses.LOSS_BY_NAME"),
            "gapmin.linear._losses.LOSS_BY_NAME",
        ),
        "a module in our module": (
            node("ObjectNode", "gapmin.saved._archive.os", content=pairs()),
            "gapmin.saved._archive.os",
        ),
        "another estimator": (thing("sklearn.svm._classes.SVC"), "sklearn.svm._classes.SVC"),
        "neighbours": (thing("sklearn.neighbors._kd_tree.KDTree"), "sklearn.neighbors._kd_tree.KDTree"),
    }


@pytest.mark.parametrize("where", ["root", "attribute", "deep"])
@pytest.mark.parametrize("kind", payloads("true"))
def test_nothing_is_called_and_the_type_is_named(kind, where, saved_tree, craft, tmp_path):
    there = tmp_path / "called"
    payload, name = payloads(f"touch {there}")[kind]
    if where == "root" and kind == "dict":
        name = "builtins.dict"  # refused before its keys are looked at

    def schema(tree):
        if where == "root":
            return payload | {"protocol": tree["protocol"], "_skops_version": tree["_skops_version"]}
        inside = payload if where == "attribute" else pairs(a=several(text(1), pairs(b=payload)))
        tree["content"]["content"]["extra_"] = inside
        tree["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))
        return tree

    with pytest.raises(ModelFileError) as caught:
        load_model(craft(saved_tree, tmp_path / "bad.skops", schema=schema))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not there.exists()


def test_a_harmless_addition_of_the_same_form_loads(saved_tree, craft, tmp_path):
    """So that the refusals above are about what was added, not about how."""

    def schema(tree):
        tree["content"]["content"]["extra_"] = pairs(a=several(text(1), pairs(b=text("x"))))
        tree["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    model = load_model(craft(saved_tree, tmp_path / "good.skops", schema=schema)).model
    assert model.extra_ == {"a": (1, {"b": "x"})}


@pytest.mark.parametrize("key", ["predict", "_validate_X_predict", "__class__", "__sklearn_tags__", "__reduce__"])
def test_an_attribute_may_not_hide_a_method(key, saved_tree, craft, tmp_path):
    """numpy.float32 in place of the check of X would hand compiled code rows of any width."""

    def schema(tree):
        tree["content"]["content"][key] = node("TypeNode", "numpy.float32")
        tree["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    with pytest.raises(ModelFileError, match=key):
        load_model(craft(saved_tree, tmp_path / "bad.skops", schema=schema))


def test_an_identity_may_not_stand_for_two_objects(saved_tree, craft, objects, tmp_path):
    """skops takes the first of one identity, so a check of the second would say nothing."""

    def schema(tree):
        content = tree["content"]["content"]
        second = content["max_depth"]
        second["content"] = "7"
        second["__id__"] = content["criterion"]["__id__"]

    with pytest.raises(ModelFileError, match="schema"):
        load_model(craft(saved_tree, tmp_path / "bad.skops", schema=schema))


@pytest.mark.parametrize("protocol", [0, 1, 99, True, None, "2"])
def test_nodes_of_another_skops_are_refused(protocol, saved_tree, craft, tmp_path):
    with pytest.raises(ModelFileError, match="protocol"):
        load_model(craft(saved_tree, tmp_path / "bad.skops", schema=lambda tree: tree | {"protocol": protocol}))


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def member(path, name):
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def array(path, name):
    return np.load(io.BytesIO(member(path, name)))


def first(tree, objects, cls):
    return objects(tree, cls)[0]


def with_nodes(change):
    """A file whose tree has other nodes."""

    def make(source, place, craft, objects, cls="Tree"):
        tree = json.loads(member(source, "schema.json"))
        name = first(tree, objects, cls)["content"]["content"]["nodes"]["file"]
        nodes = array(source, name).copy()
        changed = change(nodes)
        return craft(source, place, arrays={name: as_npy(nodes if changed is None else changed)})

    return make


def field(name, value, row=0):
    def change(nodes):
        nodes[name][row] = value

    return with_nodes(change)


def with_state(change, cls="Tree"):
    """A file whose tree says something else about itself."""

    def make(source, place, craft, objects):
        return craft(source, place, schema=lambda tree: change(first(tree, objects, cls), tree))

    return make


def number(key, value):
    def change(found, tree):
        found["content"]["content"][key]["content"] = json.dumps(value)
        found["content"]["content"][key]["__id__"] = next(NUMBERS)

    return change


def argument(place, value):
    def change(found, tree):
        there = found["__reduce__"]["args"]["content"][place]
        there["content"], there["__id__"] = json.dumps(value), next(NUMBERS)

    return with_state(change)


def owner(key, value):
    def change(found, tree):
        there = tree["content"]["content"]
        if value is None:
            del there[key]
            tree["content"]["key_types"]["content"].pop()
        else:
            there[key] = text(value)

    return with_state(change)


def swapped_array(key):
    """Values of another shape: those of the nodes, and the other way round."""

    def change(found, tree):
        content = found["content"]["content"]
        content[key] = copy.deepcopy(content["nodes" if key == "values" else "values"])

    return with_state(change)


BAD_TREES = {
    "left child beyond the end": field("left_child", 10**9),
    "left child just beyond the end": with_nodes(lambda nodes: nodes["left_child"].__setitem__(0, nodes.size)),
    "right child far below zero": field("right_child", -(10**12)),
    "child is the node itself": field("left_child", 0),
    "child is a node before": field("left_child", 0, row=1),
    "one child twice": with_nodes(lambda nodes: nodes["left_child"].__setitem__(0, nodes["right_child"][0])),
    "a leaf with one child": with_nodes(lambda nodes: nodes["left_child"].__setitem__(-1, 1)),
    "no leaf on one side": field("left_child", -1),
    "feature beyond the columns": field("feature", 3),
    "feature far beyond": field("feature", 10**12),
    "feature below zero": field("feature", -1),
    "threshold NaN": field("threshold", np.nan),
    "missing nowhere": field("missing_go_to_left", 2),
    "fewer nodes than values": with_nodes(lambda nodes: nodes[:-1]),
    "no nodes": with_nodes(lambda nodes: nodes[:0]),
    "nodes of numbers": with_nodes(lambda nodes: np.zeros(nodes.size)),
    "nodes of other records": with_nodes(lambda nodes: nodes[["left_child", "right_child"]].copy()),
    "more nodes than there are": with_state(number("node_count", 10**6)),
    "less nodes than there are": with_state(number("node_count", 1)),
    "no depth": with_state(number("max_depth", 0)),
    "a depth that is a word": with_state(number("max_depth", "3")),
    "values that are nodes": swapped_array("values"),
    "nodes that are values": swapped_array("nodes"),
    "tree of more features": argument(0, 10**6),
    "tree of more outputs": argument(2, 1000),
    "estimator of fewer columns": owner("n_features_in_", 1),
    "estimator of no columns": owner("n_features_in_", None),
    "estimator of other outputs": owner("n_outputs_", 2),
}

RUN = """
import json, sys
import numpy as np
from gapmin.saved import ModelFileError, load_model
for path in sys.argv[1:]:
    try:
        model = load_model(path).model
    except ModelFileError as error:
        print(json.dumps([path, "refused", str(error)]), flush=True)
        continue
    print(json.dumps([path, "loaded", ""]), flush=True)
    for width in (1, 3):
        try:
            X = np.full((1000, width), 0.1, dtype=np.float32)
            model.predict(X) if hasattr(model, "predict") else model.transform(X)
            model.decision_path(X) if hasattr(model, "decision_path") else None
        except Exception:
            pass
"""


def run_apart(paths):
    """Load each file and predict in another process, which may crash without taking the tests with it."""
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, paths)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"crashed with {done.returncode}: {done.stderr[-500:]}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_all_refused(made):
    outcomes = {path: (what, said) for path, what, said in run_apart(made)}
    let_in = [name for path, name in made.items() if outcomes[str(path)][0] != "refused"]
    assert not let_in, let_in
    return {name: outcomes[str(path)][1] for path, name in made.items()}


def test_trees_that_would_crash_are_refused(saved_tree, craft, objects, tmp_path):
    made = {}
    for k, (name, make) in enumerate(BAD_TREES.items()):
        made[make(saved_tree, tmp_path / f"{k}.skops", craft, objects)] = name
    said = check_all_refused(made)
    assert "feature" in said["feature far beyond"]
    assert "child" in said["left child beyond the end"]
    assert "depth" in said["no depth"]


def test_a_tree_deep_in_a_forest_is_checked_too(rows, craft, objects, tmp_path):
    model = RandomForestClassifier(3, random_state=0).fit(rows["X"], rows["classes"])
    path = save_model(model, tmp_path / "forest.skops")
    tree = json.loads(member(path, "schema.json"))
    name = objects(tree, "Tree")[-1]["content"]["content"]["nodes"]["file"]
    nodes = array(path, name).copy()
    nodes["feature"][0] = 10**9
    check_all_refused({craft(path, tmp_path / "bad.skops", arrays={name: as_npy(nodes)}): "forest"})


def test_a_tree_may_not_stand_where_nobody_checks_the_columns(saved_tree, craft, objects, tmp_path):
    """A pipeline hands its last step rows of any width; a bare tree takes them."""

    def schema(tree):
        inner = objects(tree, "Tree")[0]
        step = several(text("model"), inner)
        return thing(
            "sklearn.pipeline.Pipeline",
            steps=several(step, loader="ListNode", name="builtins.list"),
            memory=text(None),
            verbose=text(False),
            transform_input=text(None),
        ) | {"protocol": tree["protocol"], "_skops_version": tree["_skops_version"]}

    said = check_all_refused({craft(saved_tree, tmp_path / "bad.skops", schema=schema): "pipeline"})
    assert "sklearn.tree._tree.Tree" in said["pipeline"]


BAD_HISTOGRAMS = {
    "left beyond the end": field("left", 10**6),
    "right beyond the end": field("right", 2**32 - 1),
    "a circle": field("left", 0),
    "feature beyond the columns": field("feature_idx", 10**9),
    "feature below zero": field("feature_idx", -5),
    "a split on categories that are not there": field("is_categorical", 1),
    "neither leaf nor split": field("is_leaf", 2),
    "threshold NaN": field("num_threshold", np.nan),
    "no nodes": with_nodes(lambda nodes: nodes[:0]),
}


def test_histogram_trees_that_would_crash_are_refused(rows, craft, objects, tmp_path):
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5).fit(rows["X"], rows["numbers"])
    path = save_model(model, tmp_path / "histogram.skops")
    made = {
        make(path, tmp_path / f"{k}.skops", craft, objects, cls="TreePredictor"): name
        for k, (name, make) in enumerate(BAD_HISTOGRAMS.items())
    }

    def in_fit(tree):  # it would take rows of any width
        tree["content"]["content"]["_in_fit"] = text(True)
        tree["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    def narrow(tree):
        tree["content"]["content"]["n_features_in_"] = text(1)

    def categories(tree):
        found = objects(tree, "_BinMapper")[0]["content"]["content"]
        found["is_categorical_"] = copy.deepcopy(objects(tree, "TreePredictor")[0]["content"]["content"]["nodes"])

    for name, schema in (("in fit", in_fit), ("narrow", narrow), ("categories", categories)):
        made[craft(path, tmp_path / f"{name}.skops", schema=schema)] = name
    check_all_refused(made)


BAD_KERNELS = {
    "no landmarks": ("landmarks_", lambda found: found[:0]),
    "a landmark less": ("landmarks_", lambda found: found[:-1]),
    "a column less": ("landmarks_", lambda found: found[:, :-1]),
    "a coefficient less": ("coef_", lambda found: found[:-1]),
    "flat coefficients": ("coef_", lambda found: found.ravel()),
    "whole numbers": ("coef_", lambda found: found.astype(int)),
    "NaN": ("coef_", lambda found: found * np.nan),
    "infinite mean": ("mean_", lambda found: found + np.inf),
    "an intercept more": ("intercept_", lambda found: np.append(found, 0.0)),
}


def test_kernels_that_would_fail_when_they_are_asked_are_refused(rows, craft, objects, tmp_path):
    model = WeightedPoolingClassifier(KernelClassifier()).fit(rows["X"], rows["classes"], sample_domain=rows["domain"])
    path = save_model(model, tmp_path / "kernel.skops")
    parts = objects(json.loads(member(path, "schema.json")), "KernelClassifier")[-1]["content"]["content"]
    made = {}
    for k, (name, (part, change)) in enumerate(BAD_KERNELS.items()):
        file = parts[part]["file"]
        made[craft(path, tmp_path / f"{k}.skops", arrays={file: as_npy(change(array(path, file)))})] = name
    check_all_refused(made)
    assert load_model(path).model.predict(rows["X"]).tolist() == model.predict(rows["X"]).tolist()


def test_mixtures_that_would_fail_when_they_are_asked_are_refused(rows, craft, objects, tmp_path):
    model = TransferRegressorCV(n_splits=2, n_repeats=1, random_state=0)
    model.fit(rows["X"], rows["numbers"], sample_domain=rows["domain"])
    path = save_model(model, tmp_path / "mixture.skops")

    def mixture(tree):
        return objects(tree, "HypothesisMixture")[0]["content"]["content"]

    def learner(tree):
        return next(
            each["content"]["content"]
            for each in objects(tree, "FittedLearner")
            if each["content"]["content"]["mean"]["__loader__"] == "NdArrayNode"
        )

    def no_weight(tree):
        mixture(tree)["weights"]["content"].pop()

    def heavier(tree):
        mixture(tree)["weights"]["content"][0] = text(1.5)

    def word(tree):
        mixture(tree)["weights"]["content"][0] = text("all")

    def no_models(tree):
        mixture(tree)["models"]["content"][0]["content"] = []

    def no_source(tree):
        mixture(tree)["sets"]["content"][-1]["content"] = [text(-1)]

    def other_classes(tree):
        learner(tree)["n_classes"] = text(-2)

    def no_power(tree):
        learner(tree)["power"] = text("much")

    def mean_of_text(tree):
        learner(tree)["mean"] = text("none")

    changes = (no_weight, heavier, word, no_models, no_source, other_classes, no_power, mean_of_text)
    made = {craft(path, tmp_path / f"{k}.skops", schema=change): change.__name__ for k, change in enumerate(changes)}
    check_all_refused(made)
    with zipfile.ZipFile(path) as archive:
        scale = learner(json.loads(archive.read("schema.json")))["scale"]["file"]
    made = {}
    for k, change in enumerate((lambda found: found[:-1], lambda found: 0 * found, lambda found: np.inf * found)):
        made[craft(path, tmp_path / f"s{k}.skops", arrays={scale: as_npy(change(array(path, scale)))})] = f"scale {k}"
    check_all_refused(made)
    assert load_model(path).model.predict(rows["X"]).tolist() == model.predict(rows["X"]).tolist()


def test_stages_with_more_trees_than_columns_are_refused(rows, craft, objects, tmp_path):
    """Compiled code adds the k-th tree of a stage to the k-th column of the first values, whether there or not."""
    model = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(rows["X"], rows["classes"])
    path = save_model(model, tmp_path / "stages.skops")

    def attributes(tree, cls="GradientBoostingClassifier"):
        return objects(tree, cls)[0]["content"]["content"]

    def add(tree, cls, key, value):
        found = objects(tree, cls)[0]["content"]
        found["content"][key] = value
        found["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    def one_more(tree):
        for stage in attributes(tree)["estimators_"]["content"]:
            stage["content"].append(stage["content"][0])
        attributes(tree)["estimators_"]["shape"] = several(text(2), text(4))

    def other_shape(tree):
        attributes(tree)["estimators_"]["shape"] = several(text(1), text(6))

    def flat(tree):
        stages = attributes(tree)["estimators_"]
        stages["content"] = [each for stage in stages["content"] for each in stage["content"]]
        stages["shape"] = several(text(6))

    def fewer_columns(tree):
        found = attributes(tree, "DummyClassifier")
        found["_strategy"], found["n_classes_"] = text("uniform"), text(1)

    def fewer_classes(tree):
        attributes(tree, "HalfMultinomialLoss")["n_classes"] = text(2)

    def not_multiclass(tree):
        add(tree, "HalfMultinomialLoss", "is_multiclass", text(False))

    def other_loss(tree):
        attributes(tree)["_loss"] |= {"__class__": "HalfBinomialLoss"}

    def several_outputs(tree):
        attributes(tree, "DummyClassifier")["n_outputs_"] = text(2)

    def narrow(tree):
        attributes(tree)["n_features_in_"] = text(2)

    def narrow_tree(tree):
        attributes(tree, "DecisionTreeRegressor")["n_features_in_"] = text(2)

    def no_tree(tree):
        attributes(tree)["estimators_"]["content"][1]["content"][2] = text(None)

    def other_start(tree):
        attributes(tree)["init_"] = copy.deepcopy(attributes(tree)["estimators_"]["content"][0]["content"][0])

    changes = (
        one_more, other_shape, flat, fewer_columns, fewer_classes, not_multiclass, other_loss, several_outputs, narrow,
        narrow_tree, no_tree, other_start,
    )  # fmt: skip
    check_all_refused(
        {craft(path, tmp_path / f"{change.__name__}.skops", schema=change): change.__name__ for change in changes}
    )


def encoder_files(rows, craft, objects, tmp_path):
    grouped = OneHotEncoder(min_frequency=25, handle_unknown="infrequent_if_exist", sparse_output=False, drop="first")
    X = np.digitize(rows["X"], [-1, 0, 1])
    path = save_model(grouped.fit(X), tmp_path / "grouped.skops")

    def attribute(key, value):
        def schema(tree):
            found = tree["content"]["content"]
            assert key in found
            found[key] = value

        return schema

    def in_list(key, change):
        def schema(tree):
            found = next(each for each in tree["content"]["content"][key]["content"] if each["__class__"] != "str")
            name = found["file"]
            made.append((name, as_npy(change(array(path, name)))))

        made: list[tuple[str, bytes]] = []
        schema(json.loads(member(path, "schema.json")))
        return dict(made)

    none = several(text(0), text(0), text(0), loader="ListNode", name="builtins.list")
    changes = {
        "narrower than its categories": {"schema": attribute("_n_features_outs", none)},
        "no columns": {"schema": attribute("_n_features_outs", several(loader="ListNode", name="builtins.list"))},
        "no groups": {"schema": attribute("_infrequent_enabled", text(False))},
        "group out of range": {"arrays": in_list("_default_to_infrequent_mappings", lambda a: a + 10**6)},
        "group below zero": {"arrays": in_list("_default_to_infrequent_mappings", lambda a: a - 1)},
        "rare out of range": {"arrays": in_list("_infrequent_indices", lambda a: a + 10**6)},
        "categories out of order": {"arrays": in_list("categories_", lambda a: a[::-1].copy())},
    }
    return {craft(path, tmp_path / f"{k}.skops", **how): name for k, (name, how) in enumerate(changes.items())}


def test_encoders_that_would_write_beside_their_matrix_are_refused(rows, craft, objects, tmp_path):
    check_all_refused(encoder_files(rows, craft, objects, tmp_path))


def test_random_states_that_point_outside_are_refused(rows, craft, objects, tmp_path):
    model = DecisionTreeClassifier(random_state=np.random.RandomState(0)).fit(rows["X"], rows["classes"])
    path = save_model(model, tmp_path / "random.skops")
    for pos in (625, 10**9, -1, "1"):

        def schema(tree, pos=pos):
            state = objects(tree, "RandomState")[0]["content"]["content"]["state"]["content"]
            state["pos"] = text(pos)

        with pytest.raises(ModelFileError, match="random state"):
            load_model(craft(path, tmp_path / "bad.skops", schema=schema))

    def short(tree):
        state = objects(tree, "RandomState")[0]["content"]["content"]["state"]["content"]
        state["key"] = copy.deepcopy(objects(tree, "Tree")[0]["__reduce__"]["args"]["content"][1])

    with pytest.raises(ModelFileError, match="random state"):
        load_model(craft(path, tmp_path / "bad.skops", schema=short))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot read"),
        (b"PK\x03\x04 an archive within", "cannot read"),
        (b"\x80\x04\x95", "cannot read"),
        (as_npy(np.zeros(3))[:-8], "none that gapmin restores"),
        (as_npy(np.zeros(3)) + b"0", "none that gapmin restores"),
        (as_npy(np.zeros(3)).replace(b"(3,), }            ", b"(3000000000000,), }"), "none that gapmin restores"),
        (as_npy(np.zeros(3)).replace(b"(3,), }     ", b"(-3, -1), } "), "none that gapmin restores"),
        (as_npy(np.zeros(2, dtype="M8[s]")), "none that gapmin restores"),
        (as_npy(np.array([True, False]))[:-2] + b"\x07\x00", "neither true nor false"),
        (as_npy(np.array(["a"]))[:-4] + b"\xff\xff\xff\x7f", "characters"),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(content, said, saved_tree, craft, tmp_path):
    name = json.loads(member(saved_tree, "schema.json"))["content"]["content"]["classes_"]["file"]
    with pytest.raises(ModelFileError, match=said):
        load_model(craft(saved_tree, tmp_path / "bad.skops", arrays={name: content}))


def test_an_array_of_pickled_objects_is_refused(saved_tree, craft, tmp_path):
    there = tmp_path / "called"

    class Payload:
        def __reduce__(self):
            import os

            return os.system, (f"touch {there}",)

    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload()], dtype=object), allow_pickle=True)
    name = json.loads(member(saved_tree, "schema.json"))["content"]["content"]["classes_"]["file"]
    with pytest.raises(ModelFileError, match="object"):
        load_model(craft(saved_tree, tmp_path / "bad.skops", arrays={name: buffer.getvalue()}))
    assert not there.exists()


@pytest.mark.parametrize("header", ["{'descr': '<f8', 'fortran_order': False, 'shape': (3,", "(((", "{'''"])
def test_a_broken_array_header_is_a_refusal(header, saved_tree, craft, tmp_path):
    """NumPy reads such a header with the tokenizer of Python, which has an error of its own."""
    content = header.encode().ljust(117) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content + bytes(24)
    with pytest.raises(ModelFileError, match="array that NumPy cannot read"):
        load_model(craft(saved_tree, tmp_path / "bad.skops", arrays={"1.npy": array}))


def test_a_tree_that_many_estimators_share_is_checked_once(rows, craft, objects, tmp_path, monkeypatch):
    forest = RandomForestClassifier(n_estimators=40, max_depth=2, random_state=0).fit(rows["X"], rows["binary"])
    path = save_model(forest, tmp_path / "forest.skops")

    def schema(tree):
        trees = objects(tree, "DecisionTreeClassifier")
        trees = [each for each in trees if "tree_" in each["content"]["content"]]
        for each in trees[1:]:
            each["content"]["content"]["tree_"] = trees[0]["content"]["content"]["tree_"]

    kept = {"schema.json", "gapmin.json"}

    def only_asked_for(source, place):
        crafted_once = craft(source, place, schema=schema)
        with zipfile.ZipFile(crafted_once) as archive:
            asked = {each["file"] for each in file_nodes(json.loads(archive.read("schema.json")))}
            members = {name: archive.read(name) for name in archive.namelist() if name in kept | asked}
        place.write_bytes(seal_members(members))
        return place

    checked = []
    real = _compiled.check_tree
    monkeypatch.setattr(_compiled, "check_tree", lambda *args: (checked.append(1), real(*args))[1])
    model = load_model(only_asked_for(path, tmp_path / "shared.skops")).model
    assert len(model.estimators_) == 40
    assert len(checked) == 1


def file_nodes(tree):
    if isinstance(tree, dict):
        yield from ([tree] if "file" in tree else [])
        for each in tree.values():
            yield from file_nodes(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from file_nodes(each)


def test_one_array_may_not_be_read_for_many_objects(saved_tree, craft, tmp_path):
    """Each object that names a member gets a copy of it: a small file would fill the memory."""

    def schema(tree):
        first = next(each for each in file_nodes(tree) if each["__class__"] == "ndarray")
        many = [first | {"__id__": next(NUMBERS)} for _ in range(1000)]
        add_entry(tree["content"], "extra_", several(*many, loader="ListNode", name="builtins.list"))

    with pytest.raises(ModelFileError, match="not one that skops writes"):
        load_model(craft(saved_tree, tmp_path / "bad.skops", schema=schema))


def test_text_that_would_fill_the_memory_is_not_read(saved_tree, tmp_path, monkeypatch):
    monkeypatch.setattr("gapmin.saved._archive.LARGEST_DEFLATED", 1000)
    with pytest.raises(ModelFileError, match="more than 1000"):
        load_model(saved_tree)


def header_alone(kind, shape):
    """Return an array in NumPy's format that has no bytes for values."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": kind, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def array_of(values):
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def with_extra(source, value, array):
    """Write an encoder again, with one more attribute and one more array, 9001.npy."""

    def schema(tree):
        add_entry(tree["content"], "extra_", value)

    return crafted.craft(source, source.with_name("crafted.skops"), schema=schema, arrays={"9001.npy": array})


@pytest.fixture
def saved_encoder(tmp_path):
    return save_model(OneHotEncoder().fit([["u"], ["v"]]), tmp_path / "encoder.skops")


def an_array(name="9001.npy"):
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=name)


def test_an_array_that_is_named_often_is_held_once(saved_encoder):
    """Checks that look at all attributes of an object would hold it as often as it is named."""
    one = an_array()
    path = with_extra(saved_encoder, several(*[one] * 200), array_of(np.zeros(2**17)))
    load_model(saved_encoder)
    tracemalloc.start()
    load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * 2**20


def test_an_array_of_arrays_is_not_taken_apart(saved_encoder):
    """NumPy would make an object of every number, as often as the array is named."""
    one, shape = an_array(), several(text(100), text(1))
    value = node("NdArrayNode", "numpy.ndarray", type="json", content=[one] * 100, shape=shape)
    with pytest.raises(ModelFileError):
        load_model(with_extra(saved_encoder, value, array_of(np.zeros(10))))


@pytest.mark.parametrize(("kind", "shape"), [("<U0", (10**9,)), ("|S0", (3,)), ("<U500000000", (0,))])
def test_values_without_bytes_are_refused(saved_encoder, kind, shape):
    with pytest.raises(ModelFileError, match="none that gapmin restores"):
        load_model(with_extra(saved_encoder, an_array(), header_alone(kind, shape)))


def test_an_array_where_a_number_was_due_is_one_clear_error(saved_encoder):
    state = pairs(key=an_array("9002.npy"), pos=text(3))
    found = pairs(bit_generator=text("MT19937"), state=state, has_gauss=an_array(), gauss=text(0.0))
    value = node("RandomStateNode", "numpy.random.mtrand.RandomState", content=found)
    path = with_extra(saved_encoder, value, array_of(np.zeros(2)))
    crafted.craft(path, path, arrays={"9002.npy": array_of(np.zeros(624, np.uint32))})
    with pytest.raises(ModelFileError):
        load_model(path)


def test_a_file_cannot_ask_for_thousands_of_processes(rows, in_pipeline, tmp_path):
    """scikit-learn starts as many as `n_jobs` says, whatever there is to do."""
    model = in_pipeline(DecisionTreeClassifier(max_depth=2)).fit(rows["frame"], rows["binary"])
    path = save_model(model, tmp_path / "pipeline.skops")

    def schema(tree):
        (prepare,) = crafted.objects(tree, "ColumnTransformer")
        prepare["content"]["content"]["n_jobs"] = text(5000)

    crafted.craft(path, path, schema=schema)
    with pytest.raises(ModelFileError, match="n_jobs=5000"):
        load_model(path)
