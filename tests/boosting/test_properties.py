"""What must hold for every booster, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from gapmin import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.linear import WeightedLogisticRegression
from gapmin_support.checks import repeats

CLASSIFIERS = [
    AdaBoostClassifier(),
    TrAdaBoostClassifier(),
    TransferBoostClassifier(),
    GapBoostClassifier(),
    *repeats(
        [
            AdaBoostClassifier(train_on="target"),
            TrAdaBoostClassifier(error_on="all"),
            GapBoostClassifier(exact_cap=True, target_share=0.6, vote="soft", stop_when_perfect=False),
            GapBoostClassifier(rho_target=0.7, rho_source=-3.0),
        ]
    ),
]
REGRESSORS = [
    AdaBoostRegressor(),
    TrAdaBoostRegressor(),
    GapBoostRegressor(),
    *repeats(
        [
            AdaBoostRegressor(train_on="target", loss="square"),
            TrAdaBoostRegressor(error_on="all", loss="exponential"),
            GapBoostRegressor(exact_cap=True, target_share=0.6, stop_when_perfect=False),
            GapBoostRegressor(rho_target=0.7),
        ]
    ),
]
quick = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # fits are too slow to shrink by
)


def problem(seed, *, n_target=14, n_source=40, d=3, n_classes=2, n_sources=1, noise=0.3):
    """A transfer problem with a shift, labels 0 … n_classes - 1, at least two classes in the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_target + n_source, d))
    sample_domain = np.r_[np.full(n_target, -1), 1 + rng.integers(n_sources, size=n_source)]
    score = X @ rng.normal(size=(d, n_classes)) + noise * rng.normal(size=(len(X), n_classes))
    score[sample_domain > 0] += 0.5 * X[sample_domain > 0] @ rng.normal(size=(d, n_classes))
    y = score.argmax(axis=1)
    y[:2] = 0, 1
    order = rng.permutation(len(X))
    return X[order], y[order], sample_domain[order]


@st.composite
def awkward(draw):
    """Data of the kind that breaks boosters: repeated rows, constant columns, huge values, separable classes."""
    seed = draw(st.integers(0, 2**31))
    X, y, sample_domain = problem(
        seed,
        n_target=draw(st.integers(2, 12)),
        n_source=draw(st.integers(0, 30)),
        d=draw(st.integers(1, 4)),
        n_classes=draw(st.integers(2, 4)),
        n_sources=draw(st.integers(1, 3)),
        noise=draw(st.sampled_from([0.0, 0.3, 100.0])),
    )
    X = X * draw(st.sampled_from([1.0, 1e-3, 1e3]))
    if draw(st.booleans()):
        X[:, 0] = 1.0
    if draw(st.booleans()):
        X[: len(X) // 2] = X[0]
    return X, y, sample_domain


def assert_distribution(weight):
    assert np.isfinite(weight).all()
    assert (weight >= 0).all()
    np.testing.assert_allclose(weight.sum(), 1, atol=1e-9)


@pytest.mark.filterwarnings("ignore:logistic regression stopped")
@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
@quick
@given(data=awkward(), rounds=st.sampled_from([1, 3, 25]), resample=st.booleans())
def test_weights_stay_a_distribution_in_classification(clf, data, rounds, resample):
    X, y, sample_domain = data
    clf = clone(clf).set_params(n_estimators=rounds, resample=resample, random_state=0)
    if clf.__class__ is GapBoostClassifier and clf.exact_cap:
        clf.set_params(gamma_max=2 / len(X))
    clf.fit(X, y, sample_domain=sample_domain)
    assert_distribution(clf.sample_weight_)
    assert np.isfinite(clf.estimator_weights_).all()
    assert ((clf.estimator_errors_ >= 0) & (clf.estimator_errors_ <= 1 + 1e-12)).all()
    np.testing.assert_allclose(clf.mass_history_.sum(axis=1), 1, atol=1e-9)
    share = clf.predict_proba(X)
    assert (share >= -1e-12).all()
    np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-9)


def test_weights_survive_an_extreme_rho():
    X, y, sample_domain = problem(0)
    for booster in (GapBoostClassifier, GapBoostRegressor):
        fitted = booster(rho_source=-400.0, rho_target=300.0, n_estimators=60, stop_when_perfect=False)
        assert_distribution(fitted.fit(X, y * 1.0, sample_domain=sample_domain).sample_weight_)


@pytest.mark.parametrize("reg", REGRESSORS, ids=str)
@quick
@given(data=awkward(), rounds=st.sampled_from([1, 3, 25]), resample=st.booleans())
def test_weights_stay_a_distribution_in_regression(reg, data, rounds, resample):
    X, y, sample_domain = data
    reg = clone(reg).set_params(n_estimators=rounds, resample=resample, random_state=0)
    if reg.__class__ is GapBoostRegressor and reg.exact_cap:
        reg.set_params(gamma_max=2 / len(X))
    reg.fit(X, y * 1.0, sample_domain=sample_domain)
    assert_distribution(reg.sample_weight_)
    assert (reg.estimator_weights_ > 0).all()
    assert np.isfinite(reg.predict(X)).all()
    assert reg.predict(X).min() >= y.min() - 1e-9
    assert reg.predict(X).max() <= y.max() + 1e-9


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
@quick
@given(seed=st.integers(0, 10**6), n_classes=st.sampled_from([2, 3]))
def test_the_order_of_rows_makes_no_difference(clf, seed, n_classes):
    X, y, sample_domain = problem(seed, n_classes=n_classes, n_sources=2)
    order = np.random.default_rng(seed).permutation(len(X))
    learner = WeightedLogisticRegression(tol=1e-13)
    one = clone(clf).set_params(estimator=learner).fit(X, y, sample_domain=sample_domain)
    two = clone(one).fit(X[order], y[order], sample_domain=sample_domain[order])
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(two.sample_weight_, one.sample_weight_[order], atol=1e-8)


@pytest.mark.parametrize("reg", REGRESSORS, ids=str)
@quick
@given(seed=st.integers(0, 10**6))
def test_the_order_of_rows_makes_no_difference_in_regression(reg, seed):
    X, _, sample_domain = problem(seed, n_sources=2)
    y = X @ np.arange(1.0, 4.0) + np.sin(3 * X[:, 0]) + (sample_domain > 0)
    order = np.random.default_rng(seed).permutation(len(X))
    # A tree breaks ties between equal splits by the order of the rows; least squares has no ties.
    one = clone(reg).set_params(estimator=LinearRegression()).fit(X, y, sample_domain=sample_domain)
    two = clone(one).fit(X[order], y[order], sample_domain=sample_domain[order])
    np.testing.assert_allclose(two.predict(X), one.predict(X), atol=1e-8)


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
@pytest.mark.parametrize(
    "names", [["ham", "spam"], [-1, 1], [False, True], ["ham", "spam", "tofu"], [30, 20, 10], ["b", "c", "a"]], ids=str
)
def test_the_names_of_labels_make_no_difference(clf, names):
    X, y, sample_domain = problem(3, n_classes=len(names))
    clf = clone(clf).set_params(estimator=WeightedLogisticRegression(tol=1e-13))
    one = clone(clf).fit(X, y, sample_domain=sample_domain)
    two = clone(clf).fit(X, np.array(names)[y], sample_domain=sample_domain)
    columns = np.searchsorted(two.classes_, names)
    decision = two.decision_function(X)
    decision = decision[:, columns] if decision.ndim == 2 else decision
    np.testing.assert_allclose(decision, one.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(two.predict(X), np.array(names)[one.predict(X)])


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
def test_swapping_two_labels_turns_the_decision_round(clf):
    X, y, sample_domain = problem(5)
    one = clone(clf).fit(X, y, sample_domain=sample_domain)
    two = clone(clf).fit(X, 1 - y, sample_domain=sample_domain)
    np.testing.assert_allclose(two.decision_function(X), -one.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
@quick
@given(seed=st.integers(0, 10**6), gamma_max=st.sampled_from([None, 0.05, 0.2]))
def test_weight_2_is_the_row_twice(clf, seed, gamma_max):
    X, y, sample_domain = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 4, size=len(X))
    weight[np.flatnonzero(sample_domain < 0)] = np.maximum(weight[sample_domain < 0], 1)
    clf = clone(clf).set_params(estimator=WeightedLogisticRegression(tol=1e-13))
    if isinstance(clf, GapBoostClassifier):
        clf.set_params(gamma_max=gamma_max)
    one = clf.fit(X, y, sample_domain=sample_domain, sample_weight=weight)
    rows = np.repeat(np.arange(len(X)), weight)
    two = clone(clf).fit(X[rows], y[rows], sample_domain=sample_domain[rows])
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-8)
    given_rows = weight > 0
    np.testing.assert_allclose(
        np.bincount(rows, two.sample_weight_, minlength=len(X))[given_rows], one.sample_weight_[given_rows], atol=1e-8
    )


@pytest.mark.parametrize("reg", REGRESSORS, ids=str)
@quick
@given(seed=st.integers(0, 10**6), gamma_max=st.sampled_from([None, 0.1]))
def test_weight_2_is_the_row_twice_in_regression(reg, seed, gamma_max):
    X, _, sample_domain = problem(seed)
    y = X @ np.arange(1.0, 4.0) + np.sin(3 * X[:, 0]) + (sample_domain > 0)
    weight = np.random.default_rng(seed).integers(1, 4, size=len(X))
    reg = clone(reg).set_params(estimator=LinearRegression())
    if isinstance(reg, GapBoostRegressor):
        reg.set_params(gamma_max=gamma_max)
    one = reg.fit(X, y, sample_domain=sample_domain, sample_weight=weight)
    rows = np.repeat(np.arange(len(X)), weight)
    two = clone(reg).fit(X[rows], y[rows], sample_domain=sample_domain[rows])
    np.testing.assert_allclose(two.predict(X), one.predict(X), atol=1e-8)
    np.testing.assert_allclose(np.bincount(rows, two.sample_weight_), one.sample_weight_, atol=1e-8)


def test_learners_that_differ_by_round_off_agree():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    both = np.r_[X, X[::-1]]
    reg = GapBoostRegressor(LinearRegression()).fit(both, np.r_[y, y[::-1]], sample_domain=np.repeat([-1, 1], 30))
    np.testing.assert_array_equal(reg.gap_history_, 0)


def test_the_cap_binds_in_the_test_above():
    """Or else it would show nothing of the cap."""
    X, y, sample_domain = problem(0)
    capped = GapBoostClassifier(gamma_max=0.05).fit(X, y, sample_domain=sample_domain)
    free = GapBoostClassifier(gamma_max=1.0).fit(X, y, sample_domain=sample_domain)
    assert np.abs(capped.sample_weight_ - free.sample_weight_).max() > 0.01


@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier(max_depth=2, random_state=0)])
@pytest.mark.parametrize("n_classes", [2, 3])
@quick
@given(seed=st.integers(0, 10**6))
def test_without_rho_and_cap_gapboost_is_adaboost(learner, n_classes, seed):
    X, y, sample_domain = problem(seed, n_classes=n_classes)
    gap = GapBoostClassifier(learner, rho_source=0.0, rho_target=0.0, gamma_max=1.0)
    gap.fit(X, y, sample_domain=sample_domain)
    ada = AdaBoostClassifier(learner, train_on="both").fit(X, y, sample_domain=sample_domain)
    np.testing.assert_allclose(gap.decision_function(X), ada.decision_function(X), atol=1e-10)
    np.testing.assert_allclose(gap.sample_weight_, ada.sample_weight_, atol=1e-12)


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier(max_depth=3, max_features=1), LogisticRegression()])
def test_same_random_state_same_model_whatever_n_jobs(clf, resample, learner):
    X, y, sample_domain = problem(1, n_sources=2, noise=2.0)
    clf = clone(clf).set_params(estimator=learner, resample=resample, random_state=7, n_estimators=5)
    one = clone(clf).fit(X, y, sample_domain=sample_domain)
    two = clone(clf).set_params(n_jobs=2).fit(X, y, sample_domain=sample_domain)
    np.testing.assert_array_equal(two.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(two.sample_weight_, one.sample_weight_)


@pytest.mark.parametrize("reg", REGRESSORS, ids=str)
@pytest.mark.parametrize("resample", [False, True])
def test_same_random_state_same_regressor_whatever_n_jobs(reg, resample):
    X, y, sample_domain = problem(1, n_sources=2)
    learner = DecisionTreeRegressor(max_depth=3, max_features=1)
    reg = clone(reg).set_params(estimator=learner, resample=resample, random_state=7)
    one = clone(reg).fit(X, X[:, 0] + y, sample_domain=sample_domain)
    two = clone(reg).set_params(n_jobs=2).fit(X, X[:, 0] + y, sample_domain=sample_domain)
    np.testing.assert_array_equal(two.predict(X), one.predict(X))


def test_another_random_state_is_another_bootstrap():
    X, y, sample_domain = problem(1, noise=2.0)
    fits = [GapBoostClassifier(resample=True, random_state=s).fit(X, y, sample_domain=sample_domain) for s in (0, 1)]
    assert not np.array_equal(fits[0].decision_function(X), fits[1].decision_function(X))


@pytest.mark.parametrize("booster", CLASSIFIERS + REGRESSORS, ids=str)
def test_inputs_come_back_bit_identical(booster):
    X, y, sample_domain = problem(2)
    if is_regressor(booster):
        y = y.astype(float)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weight[sample_domain < 0] = 1
    before = [a.copy() for a in (X, y, sample_domain, weight)]
    for array in (X, y, sample_domain, weight):
        array.setflags(write=False)  # a write would raise
    clone(booster).fit(X, y, sample_domain=sample_domain, sample_weight=weight).predict(X)
    for array, copy in zip((X, y, sample_domain, weight), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@settings(max_examples=60, deadline=None)
@given(
    weight=st.lists(st.floats(1e-12, 1e12), min_size=2, max_size=20),
    slack=st.floats(1.0, 10.0),
)
def test_exact_cap_holds_and_keeps_the_order(weight, slack):
    from gapmin.boosting._weights import water_fill

    log_weight = np.log(weight)
    log_cap = np.full(len(weight), np.log(slack / len(weight)))
    filled = np.exp(water_fill(log_weight, log_cap))
    np.testing.assert_allclose(filled.sum(), 1, rtol=1e-9)
    assert (filled <= np.exp(log_cap) * (1 + 1e-9)).all()
    free = filled < np.exp(log_cap) * (1 - 1e-9)
    if free.sum() > 1:  # those below the cap keep their ratios
        np.testing.assert_allclose(
            filled[free] / filled[free].sum(), np.array(weight)[free] / np.array(weight)[free].sum()
        )


def test_exact_cap_holds_from_the_start_and_counts_multiplicities():
    X, y, sample_domain = problem(4, noise=2.0)
    gamma_max = 1.5 / len(X)
    clf = GapBoostClassifier(gamma_max=gamma_max, exact_cap=True, target_share=0.9, n_estimators=2)
    clf.fit(X, y, sample_domain=sample_domain)
    n_target = (sample_domain < 0).sum()
    np.testing.assert_allclose(clf.mass_history_[0, 0], gamma_max * n_target)  # all that 14 capped rows can hold
    assert clf.risk_bound().constants["gamma_target"] <= gamma_max * (1 + 1e-9)
    # Three of each row: a cap below 1 / len(X) is enough for their weights to sum to one.
    clf.set_params(gamma_max=0.5 / len(X)).fit(X, y, sample_domain=sample_domain, sample_weight=np.full(len(X), 3))
    assert clf.sample_weight_.max() <= 3 * 0.5 / len(X) * (1 + 1e-9)


def test_exact_cap_is_what_the_printed_one_promises():
    X, y, sample_domain = problem(4, noise=2.0)
    gamma_max = 1.5 / len(X)
    exact = GapBoostClassifier(gamma_max=gamma_max, exact_cap=True).fit(X, y, sample_domain=sample_domain)
    printed = GapBoostClassifier(gamma_max=gamma_max).fit(X, y, sample_domain=sample_domain)
    assert exact.sample_weight_.max() <= gamma_max * (1 + 1e-9)
    assert printed.sample_weight_.max() > gamma_max * 1.01
