"""The same model as on one machine, whatever the chunks."""

from __future__ import annotations

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge

import gapmin
import gapmin.dask
from gapmin.linear import WeightedLogisticRegression

CLASSIFIERS = [
    ("AdaBoostClassifier", {}),
    ("AdaBoostClassifier", {"train_on": "target"}),
    ("TrAdaBoostClassifier", {}),
    ("TrAdaBoostClassifier", {"error_on": "all"}),
    ("TransferBoostClassifier", {}),
    ("GapBoostClassifier", {}),
    ("GapBoostClassifier", {"exact_cap": True, "target_share": 0.6, "vote": "soft", "stop_when_perfect": False}),
    ("GapBoostClassifier", {"rho_target": 0.7, "rho_source": -3.0}),
]
REGRESSORS = [
    ("AdaBoostRegressor", {}),
    ("AdaBoostRegressor", {"train_on": "target", "loss": "square"}),
    ("TrAdaBoostRegressor", {}),
    ("TrAdaBoostRegressor", {"error_on": "all", "loss": "exponential"}),
    ("GapBoostRegressor", {}),
    ("GapBoostRegressor", {"exact_cap": True, "target_share": 0.6, "stop_when_perfect": False}),
]


def pair(name, parameters):
    """The local booster and the one for Dask."""
    parameters = {"n_estimators": 3, **parameters}
    if name.endswith("Regressor"):
        parameters = {"estimator": Ridge(), **parameters}
    return getattr(gapmin, name)(**parameters), getattr(gapmin.dask, f"Dask{name}")(**parameters)


def labels_for(name, X, y, sample_domain):
    if name.endswith("Regressor"):
        return X @ np.arange(1.0, X.shape[1] + 1) + np.sin(3 * X[:, 0]) + (sample_domain > 0) + y
    return y


def assert_same(far, local, atol=1e-6):
    """Coefficients, weights, errors and histories."""
    assert len(far.estimators_) == len(local.estimators_)
    np.testing.assert_allclose(far.sample_weight_.compute(), local.sample_weight_, atol=atol)
    for name in ("estimator_weights_", "estimator_errors_", "mass_history_", "gap_history_", "transfer_history_"):
        if hasattr(local, name):
            np.testing.assert_allclose(getattr(far, name), getattr(local, name), atol=atol)
    np.testing.assert_array_equal(far.domains_, local.domains_)
    for one, two in zip(far.estimators_, local.estimators_, strict=True):
        if hasattr(two, "coef_"):
            np.testing.assert_allclose(one.coef_, two.coef_, atol=atol)
            np.testing.assert_allclose(one.intercept_, two.intercept_, atol=atol)


def collections(arrays, sizes):
    """Dask arrays in chunks of the given sizes."""
    sizes = (tuple(sizes),)
    return [
        None if a is None else da.from_array(a, chunks=sizes + ((a.shape[1],) if a.ndim == 2 else ())) for a in arrays
    ]


@pytest.mark.parametrize(("name", "parameters"), [each for each in CLASSIFIERS + REGRESSORS if not each[1]], ids=str)
def test_two_worker_processes_make_the_same_model(cluster, problem, name, parameters):
    check_the_same(problem, name, parameters, n_sources=2, n_classes=2)


@pytest.mark.parametrize("n_sources", [1, 2])
@pytest.mark.parametrize(("name", "parameters"), CLASSIFIERS + REGRESSORS, ids=str)
def test_every_setting_makes_the_same_model(in_this_process, problem, name, parameters, n_sources):
    check_the_same(problem, name, parameters, n_sources, n_classes=4 - n_sources)


def check_the_same(problem, name, parameters, n_sources, n_classes):
    X, y, sample_domain = problem(n_sources=n_sources, n_classes=n_classes)
    y = labels_for(name, X, y, sample_domain)
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    weight[sample_domain < 0] = 1
    local, far = pair(name, parameters)
    local.fit(X, y, sample_domain=sample_domain, sample_weight=weight)
    X_, y_, domain_, weight_ = collections([X, y, sample_domain, weight], (100, 160, 200))
    far.fit(X_, y_, sample_domain=domain_, sample_weight=weight_)
    assert_same(far, local)
    assert isinstance(far.predict(X_), da.Array)
    np.testing.assert_allclose(far.predict(X_).compute(), local.predict(X), atol=1e-6)
    assert far.score(X_, y_) == pytest.approx(local.score(X, y), abs=1e-9)
    np.testing.assert_allclose(far.to_local().predict(X), local.predict(X), atol=1e-6)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(data=st.data())
@pytest.mark.parametrize("name", ["GapBoostClassifier", "GapBoostRegressor", "TransferBoostClassifier"])
def test_chunks_make_no_difference(in_this_process, problem, name, data):
    """Empty chunks, chunks of one row, chunks of one domain."""
    n_target, n_source = data.draw(st.integers(4, 8)), data.draw(st.integers(0, 16))
    n_sources, n_classes = data.draw(st.integers(1, 2)), data.draw(st.integers(2, 3))
    seed = data.draw(st.integers(0, 10**6))
    X, y, sample_domain = problem(
        seed, n_target=n_target, n_source=n_source, d=2, n_classes=n_classes, n_sources=n_sources
    )
    y[np.flatnonzero(sample_domain < 0)[:2]] = 0, 1
    if data.draw(st.booleans(), label="sorted by domain"):
        order = np.argsort(sample_domain)
        X, y, sample_domain = X[order], y[order], sample_domain[order]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=5), label="cuts"))
    if data.draw(st.booleans(), label="one row a chunk"):
        cuts = list(range(len(X)))
    sizes = np.diff([0, *cuts, len(X)])
    y = labels_for(name, X, y, sample_domain)
    local, far = pair(name, {"n_estimators": 3})
    if name.endswith("Classifier"):
        for booster in (local, far):  # a row on the boundary would be decided by round-off
            booster.set_params(estimator=WeightedLogisticRegression(tol=1e-12))
    local.fit(X, y, sample_domain=sample_domain)
    X_, y_, domain_ = collections([X, y, sample_domain], sizes)
    far.fit(X_, y_, sample_domain=domain_)
    assert_same(far, local)
    if name.endswith("Regressor"):
        np.testing.assert_allclose(far.predict(X_).compute(), local.predict(X), atol=1e-6)
        return
    votes = local.predict_proba(X)
    np.testing.assert_allclose(far.predict_proba(X_).compute(), votes, atol=1e-6)
    two = np.sort(votes, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 1e-6  # a tie is decided by round-off
    assert np.array_equal(far.predict(X_).compute()[clear], local.predict(X)[clear])


@pytest.mark.parametrize("name", ["GapBoostClassifier", "GapBoostRegressor", "TransferBoostClassifier"])
def test_a_source_of_one_row_among_empty_chunks(in_this_process, problem, name):
    X, y, sample_domain = problem(n_target=8, n_source=6, d=2)
    order = np.argsort(sample_domain)
    X, y, sample_domain = X[order], y[order], sample_domain[order]
    y[:2] = 0, 1
    sample_domain[-1] = 2
    y = labels_for(name, X, y, sample_domain)
    local, far = pair(name, {})
    local.fit(X, y, sample_domain=sample_domain)
    X_, y_, domain_ = collections([X, y, sample_domain], (6, 2, 0, 6))
    assert_same(far.fit(X_, y_, sample_domain=domain_), local)


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array"])
@pytest.mark.parametrize("name", ["GapBoostClassifier", "GapBoostRegressor"])
def test_sparse_chunks(cluster, problem, name, kind):
    X, y, sample_domain = problem()
    X[np.abs(X) < 0.7] = 0
    y = labels_for(name, X, y, sample_domain)
    # scikit-learn's own ridge regression of sparse rows stops at a tolerance; that of dense ones is exact.
    local = pair(name, {})[0].fit(X, y, sample_domain=sample_domain)
    far = pair(name, {})[1]
    X_, y_, domain_ = collections([X, y, sample_domain], (100, 160, 200))
    X_ = X_.map_blocks(getattr(sp, kind))
    far.fit(X_, y_, sample_domain=domain_)
    assert_same(far, local)
    np.testing.assert_allclose(far.predict(X_).compute(), local.predict(X), atol=1e-6)


def test_wide_sparse_chunks_without_a_factor(in_this_process, problem):
    X, y, sample_domain = problem()
    rng = np.random.default_rng(0)
    wide = np.zeros((len(X), 600))
    wide[:, rng.choice(600, 5, replace=False)] = X
    local = gapmin.GapBoostClassifier(n_estimators=2).fit(sp.csr_matrix(wide), y, sample_domain=sample_domain)
    X_, y_, domain_ = collections([wide, y, sample_domain], (100, 160, 200))
    far = gapmin.dask.DaskGapBoostClassifier(n_estimators=2)
    far.fit(X_.map_blocks(sp.csr_matrix), y_, sample_domain=domain_)
    assert_same(far, local)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("learner", [Ridge, LinearRegression])
def test_least_squares_from_sums(in_this_process, problem, learner, fit_intercept):
    X, y, sample_domain = problem()
    X = X * [0.1, 1, 1, 1, 10] + [0, 0, 1e3, 0, 0]  # scikit-learn drops what is much smaller than the rest
    y = y + X @ np.arange(5.0)
    local = gapmin.GapBoostRegressor(learner(fit_intercept=fit_intercept), n_estimators=2)
    far = gapmin.dask.DaskGapBoostRegressor(learner(fit_intercept=fit_intercept), n_estimators=2)
    local.fit(X, y, sample_domain=sample_domain)
    X_, y_, domain_ = collections([X, y, sample_domain], (100, 160, 200))
    far.fit(X_, y_, sample_domain=domain_)
    np.testing.assert_allclose(far.predict(X_).compute(), local.predict(X), rtol=1e-6, atol=1e-6 * np.ptp(y))


def test_frames_with_names_and_labels_of_text(cluster, problem):
    X, y, sample_domain = problem(n_classes=3)
    names = [f"x{k}" for k in range(5)]
    frame = pd.DataFrame(X, columns=names).assign(label=np.array(["ham", "spam", "tofu"])[y], domain=sample_domain)
    local = gapmin.GapBoostClassifier(n_estimators=3).fit(frame[names], frame["label"], sample_domain=sample_domain)
    far_frame = dd.from_pandas(frame, npartitions=4)
    far = gapmin.dask.DaskGapBoostClassifier(n_estimators=3)
    far.fit(far_frame[names], far_frame["label"], sample_domain=far_frame["domain"])
    assert_same(far, local)
    assert list(far.classes_) == ["ham", "spam", "tofu"]
    assert list(far.feature_names_in_) == names
    np.testing.assert_array_equal(far.predict(far_frame[names]).compute(), local.predict(frame[names]))
    np.testing.assert_array_equal(far.to_local().predict(frame[names]), local.predict(frame[names]))
    with pytest.raises(ValueError, match="at fit it had"):
        far.predict(far_frame[names[::-1]])


def test_every_way_to_predict(in_this_process, problem):
    X, y, sample_domain = problem(n_classes=3)
    local = gapmin.GapBoostClassifier(n_estimators=3, vote="soft").fit(X, y, sample_domain=sample_domain)
    X_, y_, domain_ = collections([X, y, sample_domain], (100, 0, 160, 200))
    far = gapmin.dask.DaskGapBoostClassifier(n_estimators=3, vote="soft").fit(X_, y_, sample_domain=domain_)
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        result = getattr(far, method)(X_)
        assert result.shape == getattr(local, method)(X).shape
        np.testing.assert_allclose(result.compute(), getattr(local, method)(X), atol=1e-6)
    for method in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        for one, two in zip(getattr(far, method)(X_), getattr(local, method)(X), strict=True):
            np.testing.assert_allclose(one.compute(), two, atol=1e-6)
    np.testing.assert_allclose(list(far.staged_score(X_, y_)), list(local.staged_score(X, y)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(far)).predict(X_).compute(), local.predict(X))


def test_the_bound_is_that_of_the_local_booster(in_this_process, problem):
    X, y, sample_domain = problem()
    local = gapmin.GapBoostClassifier(n_estimators=3).fit(X, y, sample_domain=sample_domain)
    X_, y_, domain_ = collections([X, y, sample_domain], (100, 160, 200))
    far = gapmin.dask.DaskGapBoostClassifier(n_estimators=3).fit(X_, y_, sample_domain=domain_)
    assert far.risk_bound().total == pytest.approx(local.risk_bound().total, rel=1e-6)


@pytest.mark.parametrize("name", ["GapBoostClassifier", "GapBoostRegressor"])
def test_bootstraps_depend_on_the_random_state_alone(in_this_process, problem, name):
    X, y, sample_domain = problem()
    y = labels_for(name, X, y, sample_domain)
    X_, y_, domain_ = collections([X, y, sample_domain], (100, 160, 200))
    fits = []
    for seed in (0, 0, 1):
        far = pair(name, {"resample": True, "random_state": seed})[1]
        fits.append(far.fit(X_, y_, sample_domain=domain_).predict(X_).compute())
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])
