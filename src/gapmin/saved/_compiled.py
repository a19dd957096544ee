"""State that compiled code follows without looking: an index out of place would read or write memory not its own.

Everything here is checked before anything is built. `Attributes` are those of one object, as decoded from the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin.saved import _types
from gapmin.saved._archive import need

Attributes = dict[str, Any]

_MOST_WORDS = 100_000


def check_tree(arguments: Any, state: Any, n_features_in: Any, n_outputs: Any) -> None:
    """Check a tree of scikit-learn against its estimator: a file may name any child, feature or depth.

    `n_features_in` is what the estimator checks the columns of X against, so that no split may ask for a later one.
    """
    from sklearn.tree._tree import NODE_DTYPE

    need(isinstance(arguments, list) and len(arguments) == 3, "a tree is not made of three arguments")
    n_features, n_classes, n_trees_out = arguments
    need(_is_count(n_features) and n_features == n_features_in, "a tree has not the features of its estimator")
    need(_is_count(n_trees_out) and n_trees_out == n_outputs, "a tree has not the outputs of its estimator")
    need(
        _is_array(n_classes, np.dtype(np.intp), 1) and n_classes.size == n_trees_out and n_classes.min() >= 1,
        "a tree has a wrong number of classes",
    )
    need(
        isinstance(state, dict) and set(state) == {"max_depth", "node_count", "nodes", "values"},
        "a tree has not the parts of a tree",
    )
    nodes, values = state["nodes"], state["values"]
    need(_is_array(nodes, NODE_DTYPE, 1), "a tree has nodes of a wrong kind")
    need(_is_count(state["node_count"]) and state["node_count"] == nodes.size, "a tree has a wrong number of nodes")
    need(
        _is_array(values, np.dtype(np.float64), 3) and values.shape == (nodes.size, n_trees_out, n_classes.max()),
        "a tree has values of a wrong shape",
    )
    left, right = nodes["left_child"], nodes["right_child"]
    leaf = left == -1
    need(bool((leaf == (right == -1)).all()), "a tree has a node with one child")
    depth = _check_shape(left, right, ~leaf)
    # A path through the tree is written to memory for as many steps as the tree says it is deep.
    need(type(state["max_depth"]) is int and state["max_depth"] == depth, "a tree has a wrong depth")
    _check_splits(nodes["feature"], nodes["threshold"], nodes["missing_go_to_left"], ~leaf, n_features)


def check_histogram_boosting(found: Attributes) -> None:
    """Check the trees of histogram gradient boosting; splits on categories are not let in."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    # While it is being fitted, it predicts for binned rows without counting their columns.
    need("_in_fit" not in found, "histogram gradient boosting was saved while it was being fitted")
    if "_predictors" not in found:
        return
    n_features: Any = found.get("n_features_in_")
    mapper: Any = found.get("_bin_mapper")
    need(_is_count(n_features), "histogram gradient boosting does not know its features")
    categorical: Any = mapper.get("is_categorical_") if isinstance(mapper, dict) else None
    need(
        _is_array(categorical, np.dtype(np.uint8), 1) and categorical.size == n_features and not categorical.any(),
        "histogram gradient boosting has categories that its trees do not",
    )
    for predictor in (each for one_round in found["_predictors"] for each in one_round):
        nodes = predictor.get("nodes")
        need(_is_array(nodes, PREDICTOR_RECORD_DTYPE, 1) and nodes.size >= 1, "a tree has nodes of a wrong kind")
        for name in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
            bits = predictor.get(name)
            need(_is_array(bits, np.dtype(np.uint32), 2) and bits.shape == (0, 8), "a tree has sets of categories")
        need(bool((nodes["is_leaf"] <= 1).all()) and not nodes["is_categorical"].any(), "a tree has a wrong node")
        split = nodes["is_leaf"] == 0
        _check_shape(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), split)
        _check_splits(nodes["feature_idx"], nodes["num_threshold"], nodes["missing_go_to_left"], split, n_features)


def trees_of_a_stage(loss: str, its: Any, init: str, start: Any) -> int:
    """Return how many trees a stage of gradient boosting has, or refuse: each adds to a column of the first values.

    These have a column for each class if the loss is that of several classes, and one column if not; `start` is what
    the model that gives the first values holds.
    """
    wrong = "gradient boosting starts from values that its trees have no room in"
    need(isinstance(its, dict) and isinstance(start, dict) and "is_multiclass" not in its, wrong)
    need(start.get("n_outputs_") == 1 and type(start.get("n_outputs_")) is int, wrong)
    if loss != "sklearn._loss.loss.HalfMultinomialLoss":
        need(init in ("sklearn.dummy.DummyClassifier", "sklearn.dummy.DummyRegressor"), wrong)
        return 1
    prior: Any = start.get("class_prior_")
    need(init == "sklearn.dummy.DummyClassifier" and start.get("_strategy") == "prior", wrong)
    need(_is_array(prior, np.dtype(np.float64), 1) and prior.size == its.get("n_classes"), wrong)
    return int(prior.size)


def _check_shape(left: NDArray[Any], right: NDArray[Any], split: NDArray[np.bool_]) -> int:
    """Every node but the root is the child of exactly one that stands before it; return the depth."""
    need(left.size >= 1, "a tree has no nodes")
    parent = np.flatnonzero(split)
    children = np.concatenate([left[parent], right[parent]])
    own = np.sort(children)
    need(
        bool(np.array_equal(own, np.arange(1, left.size)) and (children > np.tile(parent, 2)).all()),
        "a tree has a child out of range, or one that is nobody's or two nodes' child",
    )
    depth, level = -1, np.array([0])
    while level.size:
        depth += 1
        inner = level[split[level]]
        level = np.concatenate([left[inner], right[inner]])
    return depth


def _check_splits(
    feature: NDArray[Any], threshold: NDArray[Any], missing: NDArray[Any], split: NDArray[np.bool_], n_features: int
) -> None:
    asked = feature[split]
    need(
        bool(((asked >= 0) & (asked < n_features)).all()), f"a tree splits on a feature that is not among {n_features}"
    )
    need(not np.isnan(threshold[split]).any(), "a tree splits at NaN")
    need(bool((missing[split] <= 1).all()), "a tree sends missing values neither left nor right")


def check_kernel(found: Attributes) -> None:
    """Check a kernel learner: no compiled code follows its numbers, but wrong ones would fail only when it is asked."""
    if "coef_" not in found:
        return
    landmarks: Any = found.get("landmarks_")
    coef: Any = found["coef_"]
    mean: Any = found.get("mean_")
    intercept: Any = found.get("intercept_")
    width: Any = found.get("width_")
    number = np.dtype(np.float64)
    tables = _is_array(landmarks, number, 2) and _is_array(coef, number, 2)
    rows = _is_array(mean, number, 1) and _is_array(intercept, number, 1)
    need(tables and rows and isinstance(width, float), "a kernel has parts of wrong kinds")
    shapes = coef.shape == (len(landmarks), intercept.size) and landmarks.shape[1] == mean.size
    need(
        shapes and len(landmarks) > 0 and mean.size == found.get("n_features_in_"), "a kernel has parts of wrong sizes"
    )
    finite = all(bool(np.isfinite(each).all()) for each in (landmarks, coef, mean, intercept, width))
    need(finite, "a kernel has parts that are no numbers")


def check_fitted_learner(found: Attributes) -> None:
    """Check how a learner's columns are treated and its output corrected: arrays that go with its columns."""
    n_classes, n_features = found.get("n_classes"), _features_of(found.get("estimator"))
    number = np.dtype(np.float64)
    need(type(n_classes) is int and n_classes >= 0, "a learner has a wrong number of classes")
    for name in ("mean", "scale"):
        part = found.get(name)
        plain = part is None or (_is_array(part, number, 1) and bool(np.isfinite(part).all()))
        need(plain, f"a learner has a {name} of a wrong kind")
        need(part is None or n_features in (None, part.size), f"a learner has a {name} for other columns")
    scale, edges, correction = found.get("scale"), found.get("edges"), found.get("correction")
    need(scale is None or bool((scale > 0).all()), "a learner divides columns by what is not above 0")
    need(edges is None or (isinstance(edges, np.ndarray) and edges.ndim == 2), "a learner has edges of a wrong kind")
    need(edges is None or n_features in (None, edges.shape[1]), "a learner has edges for other columns")
    need(isinstance(found.get("power"), float | int), "a learner has no power")
    weight = found.get("weight")
    need(type(weight) is float and 0 < weight <= 1, "a learner has a weight that is no share")
    plain = isinstance(correction, list) and all(isinstance(part, np.ndarray | np.number) for part in correction)
    need(correction is None or plain, "a learner has a correction of a wrong kind")


def _features_of(estimator: Any) -> int | None:
    found = estimator.get("n_features_in_") if isinstance(estimator, dict) else None
    return found if _is_count(found) else None


def check_mixture(found: Attributes) -> None:
    """Check that every set of sources has its models and a weight, and that weights are shares."""
    lists = all(isinstance(part, list) for part in found.values())
    need(set(found) == {"sets", "models", "weights"} and lists, "a mixture has not the parts of a mixture")
    sets, models, weights = found["sets"], found["models"], found["weights"]
    need(len(sets) == len(models) == len(weights) > 0, "a mixture has not a model and a weight for each set")
    need(all(isinstance(each, list) and each for each in models), "a mixture has a set without models")
    plain = all(isinstance(members, list) and all(type(k) is int and k > 0 for k in members) for members in sets)
    need(plain and len({tuple(members) for members in sets}) == len(sets), "a mixture has sets of no sources")
    shares = all(type(weight) is float and 0 <= weight <= 1 for weight in weights)
    need(shares and abs(sum(weights) - 1) < 1e-6, "a mixture has weights that are no shares")


def check_one_hot(found: Attributes) -> None:
    """Check that the columns an encoder will fill are those it will say it has: a sparse matrix is made of them."""
    if "categories_" not in found and "_n_features_outs" not in found:
        return
    categories: Any = found.get("categories_")
    widths: Any = found.get("_n_features_outs")
    need(isinstance(categories, list) and isinstance(widths, list), "a one-hot encoder has no list of categories")
    n = len(categories)
    grouped = found.get("_infrequent_enabled")
    need(grouped is True or grouped is False, "a one-hot encoder does not say whether it groups rare categories")
    rare: Any = found.get("_infrequent_indices") if grouped else [None] * n
    mappings: Any = found.get("_default_to_infrequent_mappings") if grouped else [None] * n
    dropped = found.get("_drop_idx_after_grouping")
    drops = [None] * n if dropped is None else list(dropped) if isinstance(dropped, np.ndarray) else []
    need(
        isinstance(rare, list)
        and isinstance(mappings, list)
        and n == len(widths) == len(rare) == len(mappings) == len(drops),
        "a one-hot encoder has parts for different numbers of columns",
    )
    for values, width, few, mapping, drop in zip(categories, widths, rare, mappings, drops, strict=True):
        need(isinstance(values, np.ndarray) and values.ndim == 1 and values.size > 0, "a column has no categories")
        if values.dtype.kind not in "OUS":  # these are looked up by bisection
            known = values[:-1] if values.dtype.kind == "f" and np.isnan(values[-1]) else values
            need(bool((known[1:] > known[:-1]).all()), "a one-hot encoder has categories out of order")
        groups = values.size
        need((few is None) == (mapping is None), "a one-hot encoder has rare categories but no group for them")
        if mapping is not None:
            need(_within(mapping, values.size) and mapping.size == values.size, "a category has a group out of range")
            need(_within(few, values.size) and few.size > 0, "a rare category is out of range")
            groups = int(mapping.max()) + 1
        if drop is not None:
            need(_is_integer(drop) and 0 <= drop < groups, "a one-hot encoder drops a category that it has not")
        need(type(width) is int and width == groups - (drop is not None), "a one-hot encoder has a wrong width")


def check_date_features(found: Attributes) -> None:
    """Check which parts of dates are kept: truth values for each column, no indices."""
    if "varies_" not in found:
        return
    varies = found["varies_"]
    names: Any = found.get("feature_names_in_")
    need(_is_array(varies, np.dtype(np.bool_), 2), "dates have parts of a wrong kind")
    need(varies.shape == (found.get("n_features_in_"), 6) and _is_text(names), "dates have parts for other columns")
    need(len(names) == len(varies), "dates have names for other columns")


def check_text_features(found: Attributes) -> None:
    """Check the words of a text: each has a weight, and there are no more than the setting says."""
    if "words_" not in found:
        return
    need({"idf_", "max_words", "feature_names_in_"} <= set(found), "a text has not the parts of a text")
    words, idf, most = found["words_"], found["idf_"], found["max_words"]
    need(_is_text(words) and _is_array(idf, np.dtype(np.float64), 1), "a text has words of a wrong kind")
    need(_is_text(found.get("feature_names_in_")), "a text has no name")
    need(_is_count(most) and words.size <= most <= _MOST_WORDS, "a text has too many words")
    need(idf.size == words.size and bool(np.isfinite(idf).all()), "a text has words without a weight")


def _is_text(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 1


def check_random_state(found: Attributes) -> None:
    """Check a Mersenne Twister: NumPy follows its position without looking."""
    state: Any = found.get("state")
    need(
        set(found) == {"bit_generator", "state", "has_gauss", "gauss"}
        and found["bit_generator"] == "MT19937"
        and isinstance(state, dict)
        and set(state) == {"key", "pos"},
        "a random state is of a kind that gapmin does not restore",
    )
    need(_is_array(state["key"], np.dtype(np.uint32), 1) and state["key"].size == 624, "a random state has no key")
    need(type(state["pos"]) is int and 0 <= state["pos"] <= 624, "a random state has a position out of range")
    need(found["has_gauss"] in (0, 1) and isinstance(found["gauss"], int | float), "a random state is broken")


def check_random_generator(bits: Attributes, seeds: Attributes) -> None:
    """Let in PCG64 only, which has no indices, and a seed of the usual size."""
    need(
        set(bits) == {"bit_generator", "state", "has_uint32", "uinteger"} and bits["bit_generator"] == "PCG64",
        "a random generator is of a kind that gapmin does not restore",
    )
    need(
        set(seeds) == {"entropy", "spawn_key", "pool_size", "n_children_spawned"} and seeds["pool_size"] == 4,
        "a random generator has a seed of a kind that gapmin does not restore",
    )


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_array(value: Any, dtype: np.dtype[Any], ndim: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == ndim


def _within(value: Any, size: int) -> bool:
    """Whether these are indices into something of that size."""
    if not (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1):
        return False
    return bool(((value >= 0) & (value < size)).all())


FITTED_CHECKS: dict[str, Callable[[Attributes], None]] = {
    **dict.fromkeys(_types.HISTOGRAM_ESTIMATORS, check_histogram_boosting),
    **dict.fromkeys(_types.KERNEL_ESTIMATORS, check_kernel),
    _types.FITTED_LEARNER: check_fitted_learner,
    _types.MIXTURE: check_mixture,
    _types.DATE_FEATURES: check_date_features,
    _types.TEXT_FEATURES: check_text_features,
    "sklearn.preprocessing._encoders.OneHotEncoder": check_one_hot,
}
"""What the attributes of a fitted object must be, beside plain values."""
