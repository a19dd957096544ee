"""Proposition 38 (`boostpropositionA`), term by term."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from gapmin import GapBoostClassifier
from gapmin.linear import WeightedLogisticRegression


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    sample_domain = np.r_[np.full(50, -1), np.full(150, 1)]
    y = np.where(X[:, 0] + 0.3 * X[:, 1] * (sample_domain > 0) + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    return X, y, sample_domain


def test_every_term_by_its_formula(data):
    X, y, sample_domain = data
    lam, delta = 0.1, 0.05
    learner = WeightedLogisticRegression(lam, fit_intercept=False)
    clf = GapBoostClassifier(learner, n_estimators=2).fit(X, y, sample_domain=sample_domain)
    bound = clf.risk_bound(delta)
    target = sample_domain < 0
    alpha = clf.estimator_weights_ / clf.estimator_weights_.sum()
    f = X[target] @ sum(a * h.coef_[0] for a, h in zip(alpha, clf.estimators_, strict=True))
    margin = f * np.where(y[target] == "yes", 1, -1)
    R = np.linalg.norm(X[target], axis=1).max()
    # weights of round 1 are 1/200, of round 2 what one round leaves
    after_one = GapBoostClassifier(learner, n_estimators=1).fit(X, y, sample_domain=sample_domain).sample_weight_
    gamma = max(1 / 200, after_one[target].max())
    np.testing.assert_allclose(bound.terms["empirical"], np.log1p(np.exp(-margin)).mean())
    np.testing.assert_allclose(bound.terms["complexity"], 2 * R**2 * gamma / lam * sqrt(2 * log(4 / delta)))
    B = log(1 + exp(R * sqrt(log(2) / lam)))
    np.testing.assert_allclose(bound.terms["concentration"], B * sqrt(log(2 / delta) / (2 * 50)))
    np.testing.assert_allclose(bound.total, sum(bound.terms.values()))
    assert bound.constants["B_sample"] <= bound.constants["B"]
    assert len(bound.assumptions) == 3


def test_what_is_given_and_what_is_flagged(data):
    X, y, sample_domain = data
    clf = GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    assert any("intercept is free" in a for a in clf.risk_bound().assumptions)
    assert clf.risk_bound(R=10.0).constants["R"] == 10.0
    assert clf.risk_bound(0.01).total > clf.risk_bound(0.1).total
    sparse = GapBoostClassifier(n_estimators=2).fit(sp.csr_array(X), y, sample_domain=sample_domain)
    np.testing.assert_allclose(sparse.risk_bound().total, clf.risk_bound().total)


def test_weight_2_is_the_row_twice(data):
    X, y, sample_domain = data
    weight = np.random.default_rng(1).integers(1, 3, 200)
    rows = np.repeat(np.arange(200), weight)
    one = GapBoostClassifier(n_estimators=3).fit(X, y, sample_domain=sample_domain, sample_weight=weight)
    two = GapBoostClassifier(n_estimators=3).fit(X[rows], y[rows], sample_domain=sample_domain[rows])
    np.testing.assert_allclose(one.risk_bound().total, two.risk_bound().total, rtol=1e-6)


@pytest.mark.parametrize(
    ("clf", "why"),
    [
        (GapBoostClassifier(DecisionTreeClassifier(max_depth=1)), "its learners are linear, and DecisionTree"),
        (GapBoostClassifier(resample=True, random_state=0), "resample=False"),
    ],
)
def test_where_it_does_not_hold_it_says_why(data, clf, why):
    X, y, sample_domain = data
    with pytest.raises(ValueError, match=why):
        clf.fit(X, y, sample_domain=sample_domain).risk_bound()


def test_what_was_fitted_counts_and_not_what_is_set_later(data):
    X, y, sample_domain = data
    clf = GapBoostClassifier(resample=True, random_state=0).fit(X, y, sample_domain=sample_domain)
    with pytest.raises(ValueError, match="trained with weights"):
        clf.set_params(resample=False).risk_bound()


def test_neither_for_three_classes_nor_for_a_negative_say(data):
    X, y, sample_domain = data
    labels = np.where(X[:, 2] > 1, "maybe", y)
    with pytest.raises(ValueError, match="for two classes, and there are 3"):
        GapBoostClassifier(n_estimators=2).fit(X, labels, sample_domain=sample_domain).risk_bound()
    noise = np.random.default_rng(2).integers(2, size=200)
    clf = GapBoostClassifier(n_estimators=30, gamma_max=1.0).fit(X, noise, sample_domain=sample_domain)
    assert (clf.estimator_weights_ < 0).any()
    with pytest.raises(ValueError, match="alphas are at least 0"):
        clf.risk_bound()


@pytest.mark.parametrize(
    ("arguments", "message"), [({"delta": 0}, "delta is 0"), ({"delta": 1.5}, "1.5"), ({"R": -1}, "R is -1")]
)
def test_bad_arguments(data, arguments, message):
    X, y, sample_domain = data
    clf = GapBoostClassifier(n_estimators=1).fit(X, y, sample_domain=sample_domain)
    with pytest.raises(ValueError, match=message):
        clf.risk_bound(**arguments)
