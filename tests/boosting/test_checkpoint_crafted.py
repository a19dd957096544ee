"""Checkpoints made up by somebody who knows the format: nothing of them runs, and the fit refuses them."""

from __future__ import annotations

import functools
import io
import os

import numpy as np
import pytest
import sklearn.utils._testing
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from gapmin import AdaBoostClassifier, GapBoostClassifier, __version__
from gapmin_support.crafted import add_entry, craft, node, objects, pairs, several, text, thing

pytest.importorskip("skops")

FILES = ("state.skops", "round-00001.skops")


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3))
    return X, (X[:, 0] + rng.normal(size=90) > 0).astype(int), np.repeat([-1, 1], [30, 60])


def boost(folder, learner=None, n_estimators=2, cls=GapBoostClassifier):
    X, y, sample_domain = problem()
    booster = cls(learner, n_estimators=n_estimators, random_state=0, checkpoint_dir=folder)
    return booster.fit(X, y, sample_domain=sample_domain)


def refused(folder, learner=None, **settings):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (its text is what the tests look at)
        boost(folder, learner, **settings)
    line = str(caught.value)
    assert "\n" not in line
    assert "checkpoint_dir" in line
    return line


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_an_earlier_format_says_who_wrote_it_and_what_to_do(file, tmp_path):
    boost(tmp_path)
    change = {"format": 2, "versions": {"gapmin": "0.0.9"}}
    craft(tmp_path / file, tmp_path / file, facts=lambda facts: facts | change)
    line = refused(tmp_path)
    assert f"it was written by gapmin 0.0.9 in format 2, and gapmin {__version__} reads format 3" in line
    assert line.endswith(": name another checkpoint_dir, or remove this one to start anew")


def calls(place):
    """Ways to have a function called with arguments of the file's choice, all of the packages of the learner."""
    arguments = several(text(str(place)), text(""))
    write = "sklearn.utils._testing.Path.write_text"
    called = {"args": several(text(str(place)))}
    remove = node("FunctionNode", "sklearn.utils._testing._delete_folder")
    return {
        "a function of scikit-learn": node(
            "LossNode", "sklearn.utils._testing._delete_folder", __reduce__=called, content=pairs()
        ),
        "a function of gapmin": node(
            "LossNode", "gapmin.saved._archive.check_place", __reduce__=called, content=pairs()
        ),
        "a name that scikit-learn imports": node(
            "LossNode", "sklearn.utils._testing.open", __reduce__={"args": arguments}, content=pairs()
        ),
        "partial": node(
            "PartialNode",
            "functools.partial",
            content={"func": remove, "args": several(), "kwds": pairs(), "namespace": pairs()},
        ),
        "reduce": node("ConstructorFromReduceNode", "sklearn.utils._testing.TempMemmap", content=arguments),
        "tree": node("TreeNode", "sklearn.utils._testing._delete_folder", __reduce__=called, content=pairs()),
        "method": node("MethodNode", write, content={"func": "rmdir", "obj": text(str(place))}),
        "operator": node("OperatorFuncNode", "operator.methodcaller", attrs=several(text("fit"))),
        "type": node("TypeNode", "sklearn.utils._testing.TempMemmap"),
        "object": thing("sklearn.utils._testing.TempMemmap", data=text(1)),
    }


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("kind", calls("place"))
def test_nothing_is_called(kind, file, tmp_path, monkeypatch):
    """The folder that each call would remove or touch stays, and no function of the packages runs."""
    folder, place = tmp_path / "rounds", tmp_path / "place"
    place.mkdir()
    ran = []
    for name in ("_delete_folder", "TempMemmap"):
        real = getattr(sklearn.utils._testing, name)
        monkeypatch.setattr(sklearn.utils._testing, name, functools.wraps(real)(lambda *args, **_: ran.append(args)))
    learner = DecisionTreeClassifier(max_depth=2)
    boost(folder, learner)

    def schema(tree):
        add_entry(tree, "extra", calls(place)[kind])

    craft(folder / file, folder / file, schema=schema)
    assert "cannot be read" in refused(folder, learner)
    assert place.is_dir()
    assert not ran


def test_a_function_in_place_of_a_loss_inside_the_learner_is_refused(tmp_path):
    """As it was done: the class of a loss, inside a learner, names a function, which skops then calls."""
    folder, place = tmp_path / "rounds", tmp_path / "place"
    place.mkdir()
    boost(folder, GaussianNB())

    def schema(tree):
        (learner,) = objects(tree, "GaussianNB")
        add_entry(learner["content"], "loss_", calls(place)["a function of scikit-learn"])

    craft(folder / FILES[1], folder / FILES[1], schema=schema)
    assert "_delete_folder" in refused(folder, GaussianNB())
    assert place.is_dir()


def test_an_altered_tree_is_refused(tmp_path):
    learner = DecisionTreeClassifier(max_depth=2)
    boost(tmp_path, learner)

    def schema(tree):
        (own,) = objects(tree, "Tree")
        own["content"]["content"]["max_depth"] = text(10**6)

    craft(tmp_path / FILES[1], tmp_path / FILES[1], schema=schema)
    assert "wrong depth" in refused(tmp_path, learner)


def test_a_tree_inside_a_learner_that_is_not_ours_is_checked_too(tmp_path):
    learner = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2)
    boost(tmp_path, learner)

    def schema(tree):
        objects(tree, "Tree")[0]["content"]["content"]["node_count"] = text(10**6)

    craft(tmp_path / FILES[1], tmp_path / FILES[1], schema=schema)
    assert "wrong number of nodes" in refused(tmp_path, learner)


def test_another_fit_is_refused_before_anything_is_built(tmp_path, monkeypatch):
    boost(tmp_path, GaussianNB())
    X, y, sample_domain = problem(seed=1)
    loaded = []
    monkeypatch.setattr("skops.io.loads", lambda *args, **_: loaded.append(args))
    booster = GapBoostClassifier(GaussianNB(), n_estimators=2, random_state=0, checkpoint_dir=tmp_path)
    monkeypatch.setattr("gapmin.boosting._checkpoint.Checkpoint._check_learner", lambda self, examples: {})
    with pytest.raises(ValueError, match="checkpoint of another fit: its X is"):
        booster.fit(X, y, sample_domain=sample_domain)
    assert not loaded


def test_a_round_of_another_fit_is_refused(tmp_path):
    boost(tmp_path / "one", cls=GapBoostClassifier)
    boost(tmp_path / "two", cls=AdaBoostClassifier)
    (tmp_path / "one" / FILES[1]).write_bytes((tmp_path / "two" / FILES[1]).read_bytes())
    assert "another fit" in refused(tmp_path / "one")


def test_a_round_in_the_place_of_another_is_refused(tmp_path):
    boost(tmp_path)
    (tmp_path / FILES[1]).write_bytes((tmp_path / "round-00002.skops").read_bytes())
    assert "is of round 2" in refused(tmp_path)


def test_a_learner_of_another_kind_is_refused(tmp_path):
    """GaussianNB is a class of scikit-learn, as the learner is: that is not enough."""
    learner = DecisionTreeClassifier(max_depth=2)
    boost(tmp_path, learner)

    def schema(tree):
        add_entry(tree, "extra", thing("sklearn.naive_bayes.GaussianNB"))

    craft(tmp_path / FILES[1], tmp_path / FILES[1], schema=schema)
    assert "sklearn.naive_bayes.GaussianNB" in refused(tmp_path, learner)


def test_the_settings_of_a_learner_that_is_not_ours_are_its_own(tmp_path):
    boost(tmp_path, GaussianNB(var_smoothing=1e-9))

    def schema(tree):
        (learner,) = objects(tree, "GaussianNB")
        learner["content"]["content"]["var_smoothing"] = text("somewhere")

    craft(tmp_path / FILES[1], tmp_path / FILES[1], schema=schema)
    assert 'var_smoothing="somewhere"' in refused(tmp_path, GaussianNB(var_smoothing=1e-9))


def break_record(tree):
    (learners,) = (each for key, each in tree["content"].items() if key == "record")
    learners["content"].pop()


def break_mass(tree):
    tree["content"]["mass"] = several(text(1.0), loader="ListNode", name="builtins.list")


def break_alpha(tree):
    tree["content"]["alpha"] = text("much")


def drop_learners(tree):
    tree["content"]["learners"]["content"].clear()


def break_coefficients(tree):
    (learner,) = objects(tree, "WeightedLogisticRegression")
    learner["content"]["content"]["coef_"] = learner["content"]["content"]["intercept_"]


def break_warm(tree):
    warm = tree["content"]["learners"]["content"]["warm"]["content"]
    warm["both"]["content"]["h"] = text(None)


def rename_warm(tree):
    warm = tree["content"]["learners"]["content"]["warm"]["content"]
    warm["elsewhere"] = warm.pop("both")


def break_log_weight(tree):
    tree["content"]["log_weight"] = text(1.0)


def forget_log_weight(tree):
    tree["content"]["log_weight"] = text(None)


def add_key(tree):
    add_entry(tree, "more", text(1.0))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (FILES[0], forget_log_weight),
        (FILES[0], add_key),
        (FILES[1], add_key),
        (FILES[1], break_record),
        (FILES[1], break_mass),
        (FILES[1], break_alpha),
        (FILES[1], drop_learners),
        (FILES[1], break_coefficients),
        (FILES[0], break_warm),
        (FILES[0], rename_warm),
        (FILES[0], break_log_weight),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_content_that_no_fit_has_is_one_clear_error(tmp_path, file, change):
    boost(tmp_path, n_estimators=2)

    def schema(tree):
        change(tree)

    craft(tmp_path / file, tmp_path / file, schema=schema)
    line = refused(tmp_path, n_estimators=3)
    assert "no checkpoint of this fit" in line or "cannot be read" in line


@pytest.mark.posix
@pytest.mark.parametrize("file", FILES)
def test_a_pipe_is_not_waited_for(tmp_path, file):
    boost(tmp_path)
    (tmp_path / file).unlink()
    os.mkfifo(tmp_path / file)
    assert "not a regular file" in refused(tmp_path)


class Restored(ClassifierMixin, BaseEstimator):
    """A learner whose own code runs when it is restored."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def __setstate__(self, state):
        raise AssertionError("restored")


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (KNeighborsClassifier(3), "KNeighborsClassifier"),
        (SVC(), "compiled"),
        (SGDClassifier(), "which is not among those gapmin restores"),
        (make_pipeline(FunctionTransformer(np.tanh), GaussianNB()), "func"),
        (Restored(), "__setstate__"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_cannot_be_held_is_refused_before_the_first_round(tmp_path, learner, said):
    line = refused(tmp_path / "rounds", learner)
    assert "cannot be kept in a checkpoint" in line
    assert said in line
    assert not (tmp_path / "rounds").exists()


def test_learners_that_are_not_ours_go_on_to_the_same_model(tmp_path):
    X = problem()[0]
    for learner in (GaussianNB(), BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2)):
        folder = tmp_path / type(learner).__name__
        boost(folder, learner, n_estimators=2)
        resumed = boost(folder, learner, n_estimators=4)
        whole = boost(folder.with_name(f"{folder.name}-whole"), learner, n_estimators=4)
        np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))


@pytest.mark.posix
@pytest.mark.parametrize("file", ["round-00001.skops", "round-00002.skops"])
def test_a_link_in_the_folder_is_replaced_not_followed(tmp_path, file):
    folder, own = tmp_path / "rounds", tmp_path / "own.txt"
    folder.mkdir()
    own.write_text("mine")
    (folder / file).symlink_to(own)
    boost(folder)
    assert own.read_text() == "mine"
    assert not (folder / file).is_symlink()


@pytest.mark.parametrize("n_rounds", [0, -1, True])
def test_a_checkpoint_without_rounds_is_refused(tmp_path, n_rounds):
    boost(tmp_path)

    def facts(said):
        said["n_rounds"], said["ended"] = n_rounds, True

    craft(tmp_path / FILES[0], tmp_path / FILES[0], facts=facts)
    assert "rounds" in refused(tmp_path)


def test_a_setting_of_another_kind_is_refused(tmp_path):
    """A text of NumPy's is a text to scikit-learn too."""
    boost(tmp_path, GaussianNB())
    buffer = io.BytesIO()
    np.save(buffer, np.array("somewhere"))

    def schema(tree):
        (learner,) = objects(tree, "GaussianNB")
        own = node("NdArrayNode", "numpy.str_", type="numpy", file="9001.npy")
        learner["content"]["content"]["var_smoothing"] = own

    craft(tmp_path / FILES[1], tmp_path / FILES[1], schema=schema, arrays={"9001.npy": buffer.getvalue()})
    assert "var_smoothing" in refused(tmp_path, GaussianNB())
