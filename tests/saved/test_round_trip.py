"""What is saved comes back: predictions to the bit, attributes, and nothing that was not asked for."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import asdict, is_dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import gapmin
from gapmin import linear
from gapmin.saved import TRUSTED, ModelFileError, load_model, save_model
from gapmin.saved._types import GAPMIN_ESTIMATORS, GAPMIN_PARTS

TRANSFER = importlib.import_module("gapmin.transfer")
PUBLIC = {
    f"{found.__module__}.{name}": found
    for module in (gapmin, gapmin.boosting, linear, TRANSFER)
    for name in module.__all__
    if isinstance(found := getattr(module, name), type) and issubclass(found, BaseEstimator)
}


def test_the_list_has_every_public_estimator_of_gapmin_and_what_they_hold_and_nothing_else():
    assert set(GAPMIN_ESTIMATORS) == set(PUBLIC)
    for name in GAPMIN_PARTS:
        module, _, cls = name.rpartition(".")
        found = getattr(importlib.import_module(module), cls)
        assert found.__module__ == module
        assert is_dataclass(found) or cls in gapmin.__all__ or cls.startswith(("Hypothesis", "Kernel", "Date", "Text"))
    ours = {name for name in TRUSTED if name.startswith("gapmin")}
    assert ours == {*GAPMIN_ESTIMATORS, *GAPMIN_PARTS}


def test_every_trusted_name_is_a_class_where_it_says():
    for name in TRUSTED:
        module, _, cls = name.rpartition(".")
        if name in ("numpy.bool", "numpy.bool_"):  # one or the other, by NumPy's version
            continue
        assert isinstance(getattr(importlib.import_module(module), cls), type), name


def same(left, right):
    """Whether two states are equal, arrays and nested objects included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        if left.dtype == object:
            return left.shape == right.shape and all(map(same, left.ravel(), right.ravel()))
        return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.random.RandomState):
        return same(left.get_state(legacy=False), right.get_state(legacy=False))
    if isinstance(left, np.random.Generator):
        return left.bit_generator.state == right.bit_generator.state
    if type(left).__name__.startswith("Cy"):  # compiled losses have no equality, and are made of their arguments
        return left.__reduce__()[1] == right.__reduce__()[1]
    if type(left).__name__ == "Tree":
        return same(left.__getstate__(), right.__getstate__())
    if hasattr(left, "__dict__"):
        return same(state_of(left), state_of(right))
    return left == right or (left != left and right != right)


def state_of(thing):
    return {key: value for key, value in vars(thing).items() if key != "_training"}


def check_round_trip(model, X, path, **places):
    loaded = load_model(save_model(model, path)).model
    assert type(loaded) is type(model)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            before, after = getattr(model, method)(X, **places), getattr(loaded, method)(X, **places)
            before, after = (each.toarray() if hasattr(each, "toarray") else each for each in (before, after))
            assert same(before, after), method
    assert same(state_of(model), state_of(loaded))
    return loaded


def fit_arguments(model, rows):
    names = type(model).fit.__code__.co_varnames
    if "sample_domain" in names:
        return {"sample_domain": rows["domain"]}
    if "sample_task" in names:
        return {"sample_task": np.where(rows["domain"] > 0, "far", "near")}
    return {}


@pytest.mark.parametrize("name", GAPMIN_ESTIMATORS)
def test_estimators_of_gapmin(name, rows, tmp_path):
    cls = PUBLIC[name]
    needs = {"hypotheses": np.ones((2, 4))} if "Hypothesis" in name else {}
    needs |= {"estimator": Ridge()} if "WeightedPoolingRegressor" in name else {}
    needs |= {"random_state": 3} if "random_state" in cls().get_params() and not needs else {}
    model = cls(**needs) if needs else cls()
    labels = rows["binary"] if is_classifier(model) else rows["numbers"]
    fit = fit_arguments(model, rows)
    model.fit(rows["X"], labels, **fit)
    places = fit if "sample_task" in fit else {}
    loaded = check_round_trip(model, rows["X"], tmp_path / "model.skops", **places)
    assert not hasattr(loaded, "_training")
    if hasattr(model, "gap_"):
        assert same(asdict(model.gap_), asdict(loaded.gap_))


@pytest.mark.parametrize("kind", ["classes", "binary", "numbers"])
@pytest.mark.parametrize("learner", ["own", "tree", "extra trees"])
def test_boosters_behind_a_column_transformer(kind, learner, rows, in_pipeline, tmp_path):
    numbers = kind == "numbers"
    learners = {
        "own": None,
        "tree": DecisionTreeRegressor(max_depth=3) if numbers else DecisionTreeClassifier(max_depth=3),
        "extra trees": ExtraTreesRegressor(3) if numbers else ExtraTreesClassifier(3),
    }
    cls = gapmin.GapBoostRegressor if numbers else gapmin.GapBoostClassifier
    model = in_pipeline(cls(learners[learner], n_estimators=4, random_state=np.random.RandomState(5)))
    model.fit(rows["frame"], rows[kind], model__sample_domain=rows["domain"])
    check_round_trip(model, rows["frame"], tmp_path / "model.skops")


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        ExtraTreeClassifier(random_state=np.random.RandomState(1)),
        ExtraTreesClassifier(4, bootstrap=True),
        RandomForestClassifier(4, n_jobs=1),
        GradientBoostingClassifier(n_estimators=3),
        GradientBoostingClassifier(n_estimators=20, subsample=0.5, n_iter_no_change=1, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
        HistGradientBoostingClassifier(max_iter=3, early_stopping=True, random_state=0),
        LogisticRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("kind", ["classes", "binary"])
def test_classifiers_of_scikit_learn(model, kind, rows, in_pipeline, tmp_path):
    model = in_pipeline(model).fit(rows["frame"], rows[kind])
    check_round_trip(model, rows["frame"], tmp_path / "model.skops")


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(criterion="absolute_error"),
        ExtraTreeRegressor(),
        ExtraTreesRegressor(4),
        RandomForestRegressor(4),
        *(GradientBoostingRegressor(n_estimators=3, loss=loss) for loss in ("squared_error", "quantile")),
        *(
            HistGradientBoostingRegressor(max_iter=3, loss=loss, quantile=0.3 if loss == "quantile" else None)
            for loss in ("squared_error", "absolute_error", "gamma", "poisson", "quantile")
        ),
        LinearRegression(),
        Ridge(),
    ],
    ids=lambda model: f"{type(model).__name__} {model.get_params().get('loss', '')}",
)
def test_regressors_of_scikit_learn(model, rows, in_pipeline, tmp_path):
    model = in_pipeline(model).fit(rows["frame"], np.exp(rows["numbers"]))
    check_round_trip(model, rows["frame"], tmp_path / "model.skops")


@pytest.mark.parametrize(
    "step",
    [MinMaxScaler(), MaxAbsScaler(), RobustScaler(), Normalizer(), PCA(2), TruncatedSVD(2), VarianceThreshold()],
    ids=lambda step: type(step).__name__,
)
def test_transformers_of_numbers(step, rows, tmp_path):
    model = make_pipeline(step, FunctionTransformer(), Ridge()).fit(rows["X"], rows["numbers"])
    check_round_trip(model, rows["X"], tmp_path / "model.skops")
    check_round_trip(step.fit(rows["X"]), rows["X"], tmp_path / "step.skops")


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(drop="first"),
        OneHotEncoder(drop="if_binary", sparse_output=False),
        OneHotEncoder(min_frequency=25, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=2, drop="first", handle_unknown="infrequent_if_exist"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=25),
    ],
    ids=str,
)
def test_encoders(encoder, rows, tmp_path):
    encoder.fit(rows["frame"][["c", "d"]])
    check_round_trip(encoder, rows["frame"][["c", "d"]], tmp_path / "model.skops")


def test_numeric_categories_with_a_hole(rows, tmp_path):
    X = np.where(rows["X"] > 1, np.nan, np.round(rows["X"]))
    check_round_trip(OneHotEncoder(handle_unknown="ignore").fit(X), X, tmp_path / "model.skops")


def test_several_outputs(rows, tmp_path):
    y = np.column_stack([rows["classes"], rows["binary"]])
    model = DecisionTreeClassifier(max_depth=3).fit(rows["X"], y)
    loaded = load_model(save_model(model, tmp_path / "model.skops")).model
    assert (model.predict(rows["X"]) == loaded.predict(rows["X"])).all()


def test_a_frozen_transformer_inside_a_setting(rows, tmp_path):
    phi = FrozenEstimator(PCA(2).fit(rows["X"]))
    model = linear.FeatureTransferClassifier(transformer=phi)
    model.fit(rows["X"], rows["binary"], sample_domain=rows["domain"])
    loaded = load_model(save_model(model, tmp_path / "model.skops")).model
    assert same(model.predict_proba(rows["X"]), loaded.predict_proba(rows["X"]))


def test_what_is_written_beside_the_model_comes_back(saved_tree):
    saved = load_model(saved_tree)
    assert saved.schema == {"columns": ["a", "b", "c"]}
    assert saved.about == {"rows": 80}
    assert saved.versions["gapmin"] == gapmin.__version__
    assert set(saved.versions) == {"gapmin", "python", "numpy", "scipy", "scikit-learn", "skops"}


def test_the_training_rows_are_not_in_the_file(rows, tmp_path):
    marked = rows["X"].copy()
    marked[0, 0] = 1234.56789
    model = linear.GapWeightingClassifier().fit(marked, rows["binary"], sample_domain=rows["domain"])
    path = save_model(model, tmp_path / "model.skops")
    with zipfile.ZipFile(path) as archive:
        assert not any(np.float64(1234.56789).tobytes() in archive.read(name) for name in archive.namelist())


def test_equal_models_make_equal_files_without_addresses(rows, tmp_path):
    files = []
    for k in range(2):
        model = RandomForestClassifier(3, random_state=0).fit(rows["X"], rows["classes"])
        files.append(save_model(model, tmp_path / f"{k}.skops").read_bytes())
        with zipfile.ZipFile(tmp_path / f"{k}.skops") as archive:
            assert str(id(model)) not in archive.read("schema.json").decode()
    assert files[0] == files[1]


class Stranger(BaseEstimator):
    def fit(self, X, y):
        self.seen_ = True
        return self


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Stranger(), "Stranger"),
        (make_pipeline(FunctionTransformer(np.abs), Ridge()), "numpy.absolute"),
        (make_pipeline(FunctionTransformer(lambda X: X), Ridge()), "<lambda>"),
        (KNeighborsClassifier(), "KNeighborsClassifier"),
        (SVC(), "SVC"),
        (Pipeline([("model", Ridge())], memory="somewhere"), "memory"),
        (GradientBoostingClassifier(n_estimators=2, init="zero"), "use init=None"),
        (HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]), "encode the categories"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_could_not_be_loaded_is_not_written_and_the_old_file_stays(model, said, saved_tree, rows):
    before = saved_tree.read_bytes()
    X = np.abs(np.round(rows["X"]))
    model.fit(X, (rows["binary"] == "yes").astype(int))
    with pytest.raises(ModelFileError) as caught:
        save_model(model, saved_tree)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert saved_tree.read_bytes() == before
    assert os.listdir(saved_tree.parent) == [saved_tree.name]


def test_keys_that_would_not_come_back_are_refused(rows, tmp_path):
    model = Ridge().fit(rows["X"], rows["numbers"])
    for keys, said in (({True: 1, False: 2}, "builtins.bool"), ({1: "a", "1": "b"}, "twice")):
        model.extra_ = keys
        with pytest.raises(ModelFileError, match=said):
            save_model(model, tmp_path / "model.skops")
    model.extra_ = {1: "a", "b": 2.5, 0.5: None}
    assert load_model(save_model(model, tmp_path / "model.skops")).model.extra_ == model.extra_


@pytest.mark.parametrize("about", [{"when": {1, 2}}, {1: "one"}, {"pair": (1, 2)}, {"none": float("nan")}, ["text"]])
def test_notes_that_json_does_not_keep_are_refused(about, rows, tmp_path):
    with pytest.raises(ModelFileError, match="about"):
        save_model(Ridge().fit(rows["X"], rows["numbers"]), tmp_path / "model.skops", about=about)
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(rows, tmp_path):
    model = Ridge().fit(rows["X"], rows["numbers"])
    with pytest.raises(ModelFileError, match="is a folder"):
        save_model(model, tmp_path)
    with pytest.raises(ModelFileError, match="there is no folder"):
        save_model(model, tmp_path / "not" / "there.skops")
    with pytest.raises(ModelFileError, match="not fitted"):
        save_model(Ridge(), tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="no estimator"):
        save_model({"a": 1}, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="cannot be written"):
        save_model(model, tmp_path / ("n" * 300))
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fails_leaves_the_old_file_and_nothing_beside_it(saved_tree, rows, monkeypatch):
    before = saved_tree.read_bytes()

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match="No space left on device"):
        save_model(Ridge().fit(rows["X"], rows["numbers"]), saved_tree)
    assert saved_tree.read_bytes() == before
    assert os.listdir(saved_tree.parent) == [saved_tree.name]


def test_without_skops_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['skops'] = None\n"
        "from gapmin.saved import load_model\n"
        f"try: load_model({json.dumps(str(tmp_path))})\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'skops missing: run pip install -e ".[cli]" in a clone of gapmin'


def test_model_files_need_no_other_array_library():
    """skops imports every module of scikit-learn; the adapters of array libraries are there again afterwards."""
    code = (
        "import sys\n"
        "from gapmin.saved.objects import import_skops\n"
        "import_skops()\n"
        "assert not {'torch', 'dask'} & set(sys.modules)\n"
        "assert not [name for name in sys.modules if name.startswith('sklearn.externals.array_api_compat.torch')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
