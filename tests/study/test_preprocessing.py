import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

pd = pytest.importorskip("pandas")

from gapmin.study import Column, Schema, preprocessor  # noqa: E402

COLUMNS = (Column("town", "category"), Column("size", "number"), Column("new", "boolean"))
SCHEMA = Schema("price", "regression", "number", None, COLUMNS)


def frame(town, size, new):
    return pd.DataFrame({"town": pd.Series(town, dtype=object), "size": size, "new": new})


def test_each_kind_by_hand():
    X = frame(["a", "b", np.nan, "a"], [1.0, np.nan, 3.0, 5.0], [1.0, 0.0, np.nan, 1.0])
    steps = preprocessor(SCHEMA)
    Z = steps.fit_transform(X)
    assert isinstance(Z, np.ndarray)
    assert Z.dtype == np.float64
    assert steps.get_feature_names_out().tolist() == [
        "size",
        "missingindicator_size",
        "new",
        "town_a",
        "town_b",
        "town_nan",
    ]
    filled = np.array([1.0, 3.0, 3.0, 5.0])
    np.testing.assert_allclose(Z[:, 0], (filled - 3) / filled.std())
    assert (Z[1, 1] > 0) & (Z[[0, 2, 3], 1] < 0).all()
    assert Z[:, 2].tolist() == [1, 0, 1, 1]
    assert Z[:, 3:].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_nothing_missing_in_training_and_something_later():
    steps = preprocessor(SCHEMA).fit(frame(["a", "b"], [1.0, 3.0], [0.0, 0.0]))
    Z = steps.transform(frame([np.nan, "c"], [np.nan, 2.0], [np.nan, 1.0]))
    assert Z.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]


def test_rare_levels_are_pooled():
    town = [f"t{i:02}" for i in range(40)] + [f"t{i:02}" for i in range(29)]
    X = frame(town, np.arange(69.0), np.zeros(69))
    steps = preprocessor(SCHEMA).fit(X)
    names = [name for name in steps.get_feature_names_out() if name.startswith("town")]
    assert len(names) == 30
    assert names[-1] == "town_infrequent_sklearn"
    unknown = steps.transform(frame(["new", "t39"], [0.0, 0.0], [0.0, 0.0]))
    assert unknown[:, -1].tolist() == [1, 1]


def test_a_column_that_is_empty_in_a_fold_keeps_its_place():
    X = frame(["a", "b"], [np.nan, np.nan], [np.nan, np.nan])
    steps = preprocessor(SCHEMA)
    assert np.isfinite(steps.fit_transform(X)).all()
    assert {"size", "new"} < set(steps.get_feature_names_out())


def test_only_numbers():
    schema = Schema("y", "regression", "number", None, (Column("size", "number"),))
    assert preprocessor(schema).fit_transform(pd.DataFrame({"size": [1.0, 3.0]})).tolist() == [[-1], [1]]


def test_clone_set_output_and_pipeline():
    X = frame(["a", "b", "a"], [1.0, 2.0, 4.0], [1.0, 0.0, 1.0])
    steps = preprocessor(SCHEMA)
    np.testing.assert_array_equal(clone(steps).fit_transform(X), steps.fit_transform(X))
    as_frame = clone(steps).set_output(transform="pandas").fit_transform(X)
    assert as_frame.columns.tolist() == steps.get_feature_names_out().tolist()
    assert make_pipeline(preprocessor(SCHEMA), Ridge()).fit(X, [1, 2, 3]).predict(X).shape == (3,)


def test_every_part_is_scikit_learns():
    skops = pytest.importorskip("skops.io")
    X = frame(["a", "b", np.nan], [1.0, np.nan, 4.0], [1.0, 0.0, np.nan])
    steps = preprocessor(SCHEMA).fit(X)
    saved = skops.dumps(steps)
    untrusted = skops.get_untrusted_types(data=saved)
    assert set(untrusted) <= {"numpy.dtype"}
    np.testing.assert_array_equal(skops.loads(saved, trusted=untrusted).transform(X), steps.transform(X))
