"""Exact gap minimisation: its gradient, its descent, and what it must and must not do."""

import numpy as np
import pytest

from gapmin.linear import GapWeightingClassifier, GapWeightingRegressor, InstanceWeightingClassifier
from gapmin.linear._bilevel import (
    InnerProblem,
    TwoDomainGap,
    WeightGroups,
    WeightsObjective,
    assign_folds,
    minimise_psi,
)
from gapmin.linear.solvers import LOSS_BY_NAME


def problem(seed, n=(25, 40), d=3, noise=0.7, task="logistic"):
    rng = np.random.default_rng(seed)
    in_target = np.repeat([True, False], n)
    X = np.hstack([rng.normal(size=(sum(n), d)), np.ones((sum(n), 1))])
    score = X @ rng.normal(size=d + 1) + np.where(in_target, 0, X @ rng.normal(size=d + 1))
    score = score + noise * rng.normal(size=sum(n))
    y = np.sign(score) if task == "logistic" else score
    gamma = rng.uniform(0.2, 1, size=sum(n))
    return X, y, in_target, gamma / gamma.sum()


def make(seed, sizes=(60, 150, 150), flipped=False, d=4, strings=False):
    """A target and two sources; the second may have every label flipped."""
    rng = np.random.default_rng(seed)
    sample_domain = np.repeat([-1, 1, 2], sizes)
    X = rng.normal(size=(sample_domain.size, d))
    y = X @ np.arange(d, 0, -1) + rng.normal(size=sample_domain.size) > 0
    if flipped:
        y = np.where(sample_domain == 2, ~y, y)
    return X, np.where(y, "yes", "no") if strings else y, sample_domain


@pytest.mark.parametrize("task", ["logistic", "squared"])
@pytest.mark.parametrize("crossfit", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_gradient_of_the_gap_is_that_of_finite_differences(task, crossfit, seed):
    X, y, in_target, gamma = problem(seed, task=task)
    fold = assign_folds(np.where(in_target, -1, 1), None, 4, seed) if crossfit else None
    gap = TwoDomainGap(X, y, in_target, LOSS_BY_NAME[task], 0.02, fold, tol=1e-13)
    _, gradient = gap.evaluate(gamma)
    step = 1e-5
    for i in range(0, gamma.size, 4):
        moved = np.zeros_like(gamma)
        moved[i] = step
        slope = (gap.evaluate(gamma + moved)[0] - gap.evaluate(gamma - moved)[0]) / (2 * step)
        assert slope == pytest.approx(gradient[i], rel=1e-5, abs=1e-5 * np.abs(gradient).max())


def test_in_sample_gap_is_the_definition():
    X, y, in_target, gamma = problem(3)
    value, _ = TwoDomainGap(X, y, in_target, LOSS_BY_NAME["logistic"], 0.25 * 0.05).evaluate(gamma)
    clf = InstanceWeightingClassifier(lam=0.05, eta=0.25, fit_intercept=False)
    clf.fit(X, y, sample_domain=np.where(in_target, -1, 1), sample_weight=gamma)
    assert value == pytest.approx(clf.gap_.value, rel=1e-9)


def test_a_crossfitted_gap_of_equal_domains_is_about_zero_and_can_be_negative():
    """In sample the gap is positive by construction; measured on other folds it has no sign of its own."""
    values = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 5))
        y = np.sign(X[:, 0] + rng.normal(size=80))
        in_target = np.arange(80) < 40
        gamma = np.full(80, 1 / 80)
        fold = assign_folds(np.where(in_target, -1, 1), y, 5, seed)
        train = TwoDomainGap(X, y, in_target, LOSS_BY_NAME["logistic"], 0.005).evaluate(gamma)[0]
        crossed = TwoDomainGap(X, y, in_target, LOSS_BY_NAME["logistic"], 0.005, fold).evaluate(gamma)[0]
        assert train > 0
        values.append(crossed)
    assert min(values) < 0 < max(values)
    assert abs(np.mean(values)) < 0.3 * np.std(values)


@pytest.mark.parametrize("level", ["domain", "instance"])
@pytest.mark.parametrize("gap_data", ["train", "crossfit"])
def test_objective_never_rises(level, gap_data):
    X, y, sample_domain = make(1)
    model = GapWeightingClassifier(level, gap_data=gap_data, target_share=None, lam2=20.0, random_state=0, tol=1e-9)
    model.fit(X, y, sample_domain=sample_domain)
    assert model.objective_history_.size > 1
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.sample_weight_.sum() == pytest.approx(1)
    assert (model.sample_weight_ >= 0).all()


def test_outer_gradient_is_that_of_finite_differences():
    X, y, in_target, _ = problem(5)
    rng = np.random.default_rng(0)
    of_row = rng.integers(0, 3, size=y.size) + 3 * in_target
    count = np.bincount(of_row).astype(float)
    groups = WeightGroups(of_row, 1 / count[of_row], count, np.ones(6), [(np.ones(6, dtype=bool), 1.0)])
    fold = assign_folds(np.where(in_target, -1, 1), y, 3, 0)
    gap = TwoDomainGap(X, y, in_target, LOSS_BY_NAME["logistic"], 0.01, fold, tol=1e-13)
    outer = WeightsObjective(
        InnerProblem(X, y, LOSS_BY_NAME["logistic"], 0.05, tol=1e-13), gap, groups, np.ones(y.size), lam1=2.0, lam2=3.0
    )
    theta = rng.dirichlet(np.ones(6))
    _, gradient = outer.evaluate(theta)
    for k in range(6):
        moved = np.zeros(6)
        moved[k] = 1e-5
        slope = (outer.evaluate(theta + moved)[0] - outer.evaluate(theta - moved)[0]) / 2e-5
        assert slope == pytest.approx(gradient[k], rel=1e-5)


def test_descent_ends_at_a_stationary_point():
    """No small feasible move from the end lowers the objective to first order."""
    X, y, in_target, _ = problem(6)
    of_row = np.arange(y.size)
    totals = [(in_target, 0.6), (~in_target, 0.4)]
    groups = WeightGroups(of_row, np.ones(y.size), np.ones(y.size), np.full(y.size, 0.1), totals)
    gap = TwoDomainGap(X, y, in_target, LOSS_BY_NAME["logistic"], 0.01)
    outer = WeightsObjective(
        InnerProblem(X, y, LOSS_BY_NAME["logistic"], 0.05), gap, groups, np.ones(y.size), lam1=1.0, lam2=20.0
    )
    start = np.where(in_target, 0.6 / in_target.sum(), 0.4 / (~in_target).sum())
    theta, history = minimise_psi(outer, start, 500, 1e-12)
    _, gradient = outer.evaluate(theta)
    moved = groups.project(theta - 1e-3 * gradient)
    assert float(gradient @ (theta - moved)) < 1e-7
    assert theta[in_target].sum() == pytest.approx(0.6)
    assert theta.max() <= 0.1 + 1e-12
    assert history[-1] < history[0]


@pytest.mark.parametrize("gap_data", ["train", "crossfit"])
@pytest.mark.parametrize("target_share", [0.5, 0.8, None])
@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_source_is_let_go(gap_data, target_share, seed):
    X, y, sample_domain = make(seed, flipped=True)
    model = GapWeightingClassifier(gap_data=gap_data, target_share=target_share, random_state=seed)
    model.fit(X, y, sample_domain=sample_domain)
    assert model.domain_weight_[2] <= 0.05


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_source_is_let_go_in_regression(seed):
    X, _, sample_domain = make(seed)
    y = X @ [1.0, 2.0, 0.0, -1.0] * np.where(sample_domain == 2, -1, 1)
    model = GapWeightingRegressor(random_state=0).fit(X, y, sample_domain=sample_domain)
    assert model.domain_weight_[2] <= 0.05


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_the_labels_does_not_matter(unit):
    X, _, sample_domain = make(0)
    y = X @ [1.0, 2.0, 0.0, -1.0] * np.where(sample_domain == 2, -1, 1)
    plain, scaled = (
        GapWeightingRegressor(random_state=0).fit(X, k * y, sample_domain=sample_domain) for k in (1, unit)
    )
    np.testing.assert_allclose(plain.sample_weight_, scaled.sample_weight_, atol=1e-6)


def test_groups_share_a_weight_and_a_bad_group_is_let_go():
    X, y, sample_domain = make(0, sizes=(60, 300, 0))
    group = np.where(sample_domain < 0, "ours", np.where(np.arange(y.size) % 3 == 0, "bad", "good"))
    y = np.where(group == "bad", ~y, y)
    model = GapWeightingClassifier("group", random_state=0).fit(X, y, sample_domain=sample_domain, sample_group=group)
    assert model.group_weight_[(1, "bad")] <= 0.05
    assert np.unique(model.sample_weight_[group == "good"]).size == 1
    assert sum(model.group_weight_.values()) == pytest.approx(1)


def test_one_source_and_a_given_share_is_weighted_pooling():
    X, y, sample_domain = make(2, sizes=(40, 200, 0))
    model = GapWeightingClassifier(target_share=0.7, random_state=0).fit(X, y, sample_domain=sample_domain)
    pooled = InstanceWeightingClassifier(gamma=0.7).fit(X, y, sample_domain=sample_domain)
    np.testing.assert_allclose(model.coef_, pooled.coef_, rtol=1e-7)
    assert model.gap_.value == pytest.approx(pooled.gap_.value)


def test_in_sample_weights_of_rows_overfit_and_the_defaults_do_not():
    """The in-sample gap of row weights falls, for they keep what agrees with an over-fitted model: the error rises."""
    errors = {"pooled": [], "rows in sample": [], "default": []}
    gaps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, d = 600, 20
        X = rng.normal(size=(n + 2000, d))
        sample_domain = np.repeat([-1, 1, -1], [40, n - 40, 2000])
        w = rng.normal(size=d)
        shift = 0.5 * rng.normal(size=d)
        y = np.sign(X @ w + np.where(sample_domain > 0, X @ shift, 0) + 2 * rng.normal(size=n + 2000))
        train, test = slice(0, n), slice(n, None)
        models = {
            "pooled": InstanceWeightingClassifier(gamma=0.8),
            "rows in sample": GapWeightingClassifier("instance", gap_data="train", lam1=10.0, random_state=0),
            "default": GapWeightingClassifier(random_state=0),
        }
        for name, model in models.items():
            model.fit(X[train], y[train], sample_domain=sample_domain[train])
            errors[name].append(1 - model.score(X[test], y[test]))
        gaps.append([models["pooled"].gap_.value, models["rows in sample"].gap_.value])
    pooled_gap, fitted_gap = np.mean(gaps, axis=0)
    assert fitted_gap < 0.5 * pooled_gap
    assert np.mean(errors["rows in sample"]) > np.mean(errors["pooled"]) + 0.01
    assert np.mean(errors["default"]) <= np.mean(errors["pooled"]) + 1e-9


def test_same_random_state_same_result_and_inputs_stay():
    X, y, sample_domain = make(4, strings=True)
    before = X.copy(), y.copy(), sample_domain.copy()
    one, two = (
        GapWeightingClassifier("instance", random_state=3).fit(X, y, sample_domain=sample_domain) for _ in range(2)
    )
    np.testing.assert_array_equal(one.sample_weight_, two.sample_weight_)
    for now, then in zip((X, y, sample_domain), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_without_sources_every_row_counts_the_same():
    X, y, _ = make(4)
    model = GapWeightingClassifier().fit(X, y)
    np.testing.assert_allclose(model.sample_weight_, 1 / y.size)


def test_cap_holds():
    X, y, sample_domain = make(4)
    model = GapWeightingClassifier("instance", gamma_max=0.02, random_state=0).fit(X, y, sample_domain=sample_domain)
    assert model.sample_weight_.max() <= 0.02 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "hinge"}, "'hinge'"),
        ({"eta": 0.0}, "eta"),
        ({"eta": 0.5}, "eta"),
        ({"target_share": 1.0}, "target_share"),
        ({"gamma_max": 0.001}, r"gamma_max is 0.001: the target cannot hold 0.8 .* give at least"),
        ({"level": "group"}, "needs sample_group"),
        ({"lam1": -1.0}, "lam1"),
    ],
)
def test_bad_parameters(given, message):
    X, y, sample_domain = make(4)
    with pytest.raises(ValueError, match=message):
        GapWeightingClassifier(**given).fit(X, y, sample_domain=sample_domain)


def test_a_domain_of_one_row_cannot_be_crossfitted():
    X, y, sample_domain = make(4, sizes=(60, 1, 0))
    with pytest.raises(ValueError, match=r"one row.*gap_data='train'"):
        GapWeightingClassifier().fit(X, y, sample_domain=sample_domain)
