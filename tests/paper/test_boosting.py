"""The library's boosters equal the printed algorithms of docs/paper, line by line transcriptions, to 1e-10."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from docs.paper.algorithm_1_gapboost import gapboost
from docs.paper.algorithm_2_gapboostr import gapboostr
from docs.paper.algorithm_4_tradaboost import tradaboost
from docs.paper.algorithm_5_transferboost import transferboost
from docs.paper.algorithm_6_tradaboost_r2 import tradaboost_r2
from docs.paper.boosted import call
from gapmin import (
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.linear import WeightedLogisticRegression

K = 10
CLASSIFIERS = {
    "logistic": LogisticRegression(tol=1e-10, max_iter=1000),
    "bayes": GaussianNB(),
    "ours": WeightedLogisticRegression(lam=0.01),
}
# Trees choose between equally good splits of several features by round-off: theirs is a problem of one feature.
REGRESSORS = {
    "ridge": Ridge(),
    "tree": DecisionTreeRegressor(max_depth=2, random_state=0),
    "grown": DecisionTreeRegressor(random_state=0),  # without an error from the first round on
}
PUNISH_BOTH = {"rho_source": np.log(0.5), "rho_target": -0.2, "gamma_max": 0.02}
SETTINGS = {"printed": {"rho_source": np.log(0.5), "rho_target": 0.0, "gamma_max": None}, "both": PUNISH_BOTH}


def problem(seed, learner, n_source=60, n_target=15):
    """Return source and target rows that agree on most of what decides the label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_source + n_target, 4))
    domain = np.repeat([1, -1], [n_source, n_target])
    score = X @ [1, 1, 0.5, 0] + np.where(domain > 0, X[:, 3], -X[:, 3]) + rng.normal(scale=0.7, size=len(X))
    if learner in ("tree", "grown"):
        X = X[:, :1]
    return X, (np.where(score > 0, 1, -1) if learner in CLASSIFIERS else score), domain


def assert_equal(ours, printed, X, domain):
    np.testing.assert_allclose(ours.estimator_weights_, printed.alphas, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.estimator_errors_, printed.epsilons, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.sample_weight_[domain > 0], printed.D_S, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.sample_weight_[domain < 0], printed.D_T, rtol=1e-10, atol=1e-12)
    X_new = np.random.default_rng(9).normal(size=(200, X.shape[1]))
    np.testing.assert_allclose(ours.predict(X_new), printed.f(X_new), rtol=1e-10, atol=1e-10)


def both(algorithm, booster, learner, seed, **settings):
    """Run the transcription and the library on one problem; return both, and the problem."""
    X, y, domain = problem(seed, learner)
    source, target = domain > 0, domain < 0
    template = (CLASSIFIERS | REGRESSORS)[learner]
    names = {"rho_source": "rho_S", "rho_target": "rho_T"}
    given = {names.get(name, name): value for name, value in settings.items()}
    if "gamma_max" in given and given["gamma_max"] is None:
        given["gamma_max"] = 1 / np.sqrt(target.sum())
    printed = algorithm(X[source], y[source], X[target], y[target], K=K, A=call(template), **given)
    ours = booster(template, n_estimators=K, random_state=0, **settings).fit(X, y, sample_domain=domain)
    return ours, printed, X, domain


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_algorithm_1_gapboost(learner, settings, seed):
    assert_equal(*both(gapboost, GapBoostClassifier, learner, seed, **SETTINGS[settings]))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("learner", REGRESSORS)
def test_algorithm_2_gapboostr(learner, settings, seed):
    assert_equal(*both(gapboostr, GapBoostRegressor, learner, seed, **SETTINGS[settings]))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("error_on", ["target", "all"])
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_algorithm_4_tradaboost(learner, error_on, seed):
    assert_equal(*both(tradaboost, TrAdaBoostClassifier, learner, seed, error_on=error_on))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_algorithm_5_transferboost(learner, seed):
    assert_equal(*both(transferboost, TransferBoostClassifier, learner, seed))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("error_on", ["target", "all"])
@pytest.mark.parametrize("learner", REGRESSORS)
def test_algorithm_6_tradaboost_r2(learner, error_on, seed):
    assert_equal(*both(tradaboost_r2, TrAdaBoostRegressor, learner, seed, error_on=error_on))


@pytest.mark.parametrize("name", ["gapboost", "gapboostr", "tradaboost", "transferboost", "tradaboost_r2"])
def test_the_problems_are_boosted_for_more_than_a_round(name):
    algorithm = globals()[name]
    learner = "tree" if name in ("gapboostr", "tradaboost_r2") else "ours"
    X, y, domain = problem(0, learner)
    own = {"rho_S": -0.7, "rho_T": 0.0, "gamma_max": 0.25} if name.startswith("gap") else {}
    A = call((CLASSIFIERS | REGRESSORS)[learner])
    printed = algorithm(X[domain > 0], y[domain > 0], X[domain < 0], y[domain < 0], K=K, A=A, **own)
    assert len(printed.alphas) > K / 2
    assert np.ptp(printed.D_S) > 0
