"""What users hand over by mistake, or in another form than expected."""

from __future__ import annotations

import subprocess
import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from gapmin import GapBoostClassifier
from gapmin.dask import DaskGapBoostClassifier, DaskGapBoostRegressor

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture
def data(problem):
    X, y, sample_domain = problem(n_target=20, n_source=60, d=3)
    return X, y, sample_domain, da.from_array(X, chunks=(30, 3)), da.from_array(y, chunks=30)


def fit(X, y, **domains):
    return DaskGapBoostClassifier(n_estimators=2).fit(X, y, **domains)


def test_importing_gapmin_imports_no_dask():
    code = "import sys, gapmin; sys.exit(any(name in sys.modules for name in ('dask', 'distributed')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_arrays_of_numpy_are_refused(data):
    X, y, sample_domain, X_, y_ = data
    with pytest.raises(TypeError, match="X is ndarray: give a Dask array or DataFrame, or use GapBoostClassifier"):
        fit(X, y_)
    with pytest.raises(TypeError, match="y is ndarray: give a Dask array or Series"):
        fit(X_, y)
    with pytest.raises(TypeError, match="sample_domain is ndarray"):
        fit(X_, y_, sample_domain=sample_domain)


def test_other_chunks_of_labels_and_columns_do_not_matter(data):
    X, y, sample_domain, X_, _ = data
    local = GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    far = fit(X_.rechunk((25, 2)), da.from_array(y, chunks=17), sample_domain=da.from_array(sample_domain, chunks=80))
    np.testing.assert_allclose(far.estimators_[-1].coef_, local.estimators_[-1].coef_, atol=1e-6)


def test_frames_of_unknown_lengths_beside_arrays(data):
    X, y, sample_domain, _, _ = data
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    local = GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    far = fit(frame, da.from_array(y, chunks=17), sample_domain=dd.from_pandas(pd.Series(sample_domain), npartitions=2))
    np.testing.assert_allclose(far.estimators_[-1].coef_, local.estimators_[-1].coef_, atol=1e-6)
    assert far.predict(frame).compute().shape == (80,)


def test_whole_numbers_are_numbers(data):
    X, y, sample_domain, _, y_ = data
    whole = np.round(10 * X).astype(np.int16)
    far = fit(da.from_array(whole, chunks=(30, 3)), y_, sample_domain=da.from_array(sample_domain, chunks=30))
    local = GapBoostClassifier(n_estimators=2).fit(whole, y, sample_domain=sample_domain)
    np.testing.assert_allclose(far.estimators_[-1].coef_, local.estimators_[-1].coef_, atol=1e-6)


def test_lengths_that_differ_are_named(data):
    *_, X_, y_ = data
    with pytest.raises(ValueError, match="y has 79 entries for 80 rows of X: give one a row"):
        fit(X_, y_[1:])


def test_a_domain_without_a_target_is_named(data):
    *_, X_, y_ = data
    with pytest.raises(ValueError, match="no target rows of positive weight among 80"):
        fit(X_, y_, sample_domain=da.ones(80, chunks=30, dtype=int))
    with pytest.raises(ValueError, match="chunk that begins at row 60, sample_domain has 0 at row 3"):
        fit(X_, y_, sample_domain=da.from_array(np.where(np.arange(80) == 63, 0, -1), chunks=30))
    with pytest.raises(ValueError, match=r"chunk that begins at row 30, sample_weight has -1.0 at row 0"):
        fit(X_, y_, sample_weight=da.from_array(np.where(np.arange(80) == 30, -1.0, 1.0), chunks=30))


def test_one_class_in_the_target_is_named(data):
    _, y, sample_domain, X_, _ = data
    y = np.where(sample_domain < 0, 1, y)
    with pytest.raises(ValueError, match=r"the target has one class \(1\) among its 20 rows"):
        fit(X_, da.from_array(y, chunks=30), sample_domain=da.from_array(sample_domain, chunks=30))


def test_what_is_not_finite_is_found_in_its_chunk(data):
    X, *_, y_ = data
    for bad, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        X[65, 1] = bad
        with pytest.raises(ValueError, match=f"X has {name} in the chunk that begins at row 60"):
            fit(da.from_array(X, chunks=(30, 3)), y_)


def test_text_is_refused_by_column(data):
    *_, y_ = data
    frame = dd.from_pandas(pd.DataFrame({"a": np.arange(80.0), "b": ["x"] * 80}), npartitions=2)
    with pytest.raises(ValueError, match=r"column 'b' of X holds .*: give columns of numbers"):
        fit(frame, y_)


def test_a_learner_that_cannot_be_trained_in_chunks_is_named(data):
    *_, X_, y_ = data
    with pytest.raises(ValueError, match="DecisionTreeRegressor cannot be trained on rows in chunks: use Ridge"):
        DaskGapBoostRegressor(DecisionTreeRegressor()).fit(X_, y_)
    with pytest.raises(ValueError, match=r"Ridge\(positive=True\) has no closed form"):
        DaskGapBoostRegressor(Ridge(positive=True)).fit(X_, y_)


def test_columns_of_another_number_are_refused_at_predict(data):
    *_, X_, y_ = data
    with pytest.raises(ValueError, match="X has 2 features, but DaskGapBoostClassifier is expecting 3"):
        fit(X_, y_).predict(X_[:, :2])


def test_parameters_are_those_of_the_local_booster_and_a_client():
    booster = DaskGapBoostClassifier(n_estimators=3, vote="soft")
    assert set(booster.get_params(deep=False)) == {*GapBoostClassifier().get_params(deep=False), "client"}
    assert clone(booster).get_params() == booster.get_params()
    assert repr(booster) == "DaskGapBoostClassifier(n_estimators=3, vote='soft')"
    client = object()
    assert clone(booster.set_params(client=client)).client is client  # shared, not copied


def test_a_single_class_in_a_source_is_a_constant_learner(data):
    X, y, sample_domain, X_, _ = data
    y = np.where(sample_domain > 0, 0, y)
    local = GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    far = fit(X_, da.from_array(y, chunks=30), sample_domain=da.from_array(sample_domain, chunks=30))
    np.testing.assert_allclose(far.gap_history_, local.gap_history_, atol=1e-9)
