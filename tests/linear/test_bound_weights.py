"""Weights by the bound itself: what is minimised is what `risk_bound` reports, and nothing named is below it."""

import numpy as np
import pytest

from gapmin import linear
from gapmin.linear._bilevel import InnerProblem
from gapmin.linear._bound_weights import BoundObjective, simplex_groups
from gapmin.linear._bounds import Constants
from gapmin.linear.solvers import LOSS_BY_NAME

KINDS = [("Classifier", "logistic"), ("Regressor", "squared")]


def make(seed, kind, sizes=(30, 60, 40), d=3):
    """Rows of small norm, so that the bound is not all concentration; the last domain is the other way round."""
    rng = np.random.default_rng(seed)
    place = np.repeat([-1, 1, 2], sizes)
    X = rng.normal(size=(place.size, d)) * 0.3
    score = X[:, 0] * np.where(place == 2, -1, 1) + 0.05 * rng.normal(size=place.size)
    return X, score > 0 if kind == "Classifier" else score, place


def bound_of(model, discrepancy):
    return model.risk_bound(0.05, form="sharp", discrepancy=discrepancy)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("seed", range(3))
def test_derivative_is_that_of_finite_differences(loss, seed):
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(50, 3)), np.repeat(np.arange(4), [5, 10, 15, 20])
    y = np.sign(rng.normal(size=50)) if loss == "logistic" else rng.normal(size=50)
    weight = rng.uniform(0.5, 2, size=50)
    c = Constants(R=1.0, Y=1.0, radius=1.0, rho=0.3, B=0.2, B_gap=0.2, lam=0.05, assumptions=())
    fit = InnerProblem(X, y, LOSS_BY_NAME[loss], 0.05, tol=1e-13)
    objective = BoundObjective(fit, simplex_groups(group, weight), rng.uniform(size=4), c, 0.1)
    theta = rng.dirichlet(np.ones(4))
    _, gradient = objective.evaluate(theta)
    for k in range(4):
        step = 1e-5 * np.eye(4)[k]
        slope = (objective.evaluate(theta + step)[0] - objective.evaluate(theta - step)[0]) / 2e-5
        assert slope == pytest.approx(gradient[k], rel=1e-5)


@pytest.mark.parametrize(("kind", "loss"), KINDS)
@pytest.mark.parametrize("far", [0.0, 0.5, 500.0, {1: 0.1, 2: 1000.0}])
def test_no_named_weighting_has_a_smaller_bound(kind, loss, far):
    setting = getattr(linear, f"InstanceWeighting{kind}")
    for seed in range(3):
        X, y, place = make(seed, kind)
        model = setting(lam=0.5, weights="bound", discrepancy=far).fit(X, y, sample_domain=place)
        assert model.sample_weight_.sum() == pytest.approx(1)
        total = bound_of(model, far).total
        others = [setting(lam=0.5, gamma=gamma) for gamma in (None, 0.2, 0.5, 0.8, 1.0)]
        for other in others:
            other.fit(X, y, sample_domain=place)
            assert total <= bound_of(other, far).total * (1 + 1e-9)
        rng = np.random.default_rng(seed)
        for shares in rng.dirichlet(np.ones(3), size=10):
            given = np.select([place == -1, place == 1], shares[:2] / [30, 60], shares[2] / 40)
            other = setting(lam=0.5).fit(X, y, sample_domain=place, sample_weight=given)
            assert total <= bound_of(other, far).total * (1 + 1e-6)


def test_what_is_minimised_is_what_is_reported():
    X, y, place = make(0, "Classifier")
    model = linear.InstanceWeightingClassifier(lam=0.5, weights="bound", discrepancy=2.0)
    model.fit(X, y, sample_domain=place)
    shares = np.array([model.domain_weight_[k] for k in (-1, 1, 2)])
    Z, signs = np.hstack([X, np.ones((len(X), 1))]), np.where(y, 1.0, -1.0)
    c = model._worst_case([type("Rows", (), {"X": Z, "y": signs})], 0.5)
    groups = simplex_groups(np.repeat([0, 1, 2], [30, 60, 40]), np.ones(130))
    objective = BoundObjective(InnerProblem(Z, signs, LOSS_BY_NAME["logistic"], 0.5), groups, [0, 2, 2], c, 0.05)
    reported = bound_of(model, 2.0)
    assert objective.evaluate(shares)[0] == pytest.approx(reported.total, rel=1e-9)
    assert any("minimise this bound" in each for each in reported.assumptions)


def test_far_sources_are_let_go_and_near_ones_are_used_by_their_rows():
    X, y, place = make(1, "Classifier")
    near = linear.InstanceWeightingClassifier(lam=0.5, weights="bound", discrepancy=0.0).fit(X, y, sample_domain=place)
    by_rows = {-1: 30 / 130, 1: 60 / 130, 2: 40 / 130}
    assert all(near.domain_weight_[k] == pytest.approx(share, abs=0.02) for k, share in by_rows.items())
    far = linear.InstanceWeightingClassifier(lam=0.5, weights="bound", discrepancy={1: 0.0, 2: 1e6})
    far.fit(X, y, sample_domain=place)
    assert far.domain_weight_[2] == pytest.approx(0, abs=1e-9)
    assert far.domain_weight_[1] > far.domain_weight_[-1]
    alone = linear.InstanceWeightingClassifier(lam=0.5, weights="bound", discrepancy=1e6).fit(X, y, sample_domain=place)
    assert alone.domain_weight_[-1] == pytest.approx(1)


@pytest.mark.parametrize("method", ["estimate", "wasserstein"])
def test_the_discrepancy_is_that_of_the_report(method):
    if method == "wasserstein":
        pytest.importorskip("ot")
    X, y, place = make(2, "Classifier")
    model = linear.InstanceWeightingClassifier(lam=0.5, weights="bound", discrepancy=method)
    total = bound_of(model.fit(X, y, sample_domain=place), method).total
    for gamma in (None, 0.5, 0.8, 1.0):
        other = linear.InstanceWeightingClassifier(lam=0.5, gamma=gamma).fit(X, y, sample_domain=place)
        assert total <= bound_of(other, method).total * (1 + 1e-6)


@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_no_named_relation_has_a_smaller_bound(kind, loss):
    setting = getattr(linear, f"TaskWeighting{kind}")
    for seed in range(2):
        X, y, task = make(seed, kind)
        apart = np.array([[0.0, 0.3, 900.0], [0.3, 0.0, 30.0], [900.0, 30.0, 0.0]])
        model = setting(lam=0.5, weights="bound", discrepancy=apart).fit(X, y, sample_task=task)
        np.testing.assert_allclose(model.relation_.sum(axis=1), 1)
        sizes = np.array([30, 60, 40])
        rng = np.random.default_rng(seed)
        named = [np.full((3, 3), 1 / 3), np.tile(sizes / 130, (3, 1)), np.eye(3)]
        for relation in [*named, *rng.dirichlet(np.ones(3), size=(6, 3))]:
            other = setting(relation, lam=0.5).fit(X, y, sample_task=task)
            for j, name in enumerate((-1, 1, 2)):
                far = dict(zip((-1, 1, 2), apart[j].tolist(), strict=True))
                total = model.risk_bound(0.05, task=name, form="sharp", discrepancy=far).total
                same = other.risk_bound(0.05, task=name, form="sharp", discrepancy=far).total
                assert total <= same * (1 + 1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, r"weights='bound' with loss='hinge'"),
        ({"gamma": 0.5}, r"gamma=0\.5 with weights='bound'"),
        ({"discrepancy": {1: 0.1}}, "no entry for 2"),
    ],
)
def test_refusals(settings, message):
    X, y, place = make(0, "Classifier")
    with pytest.raises(ValueError, match=message):
        linear.InstanceWeightingClassifier(weights="bound", **settings).fit(X, y, sample_domain=place)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, r"weights='bound' with loss='hinge'"),
        ({"relation": "uniform"}, "relation with weights='bound'"),
        ({"discrepancy": [[1.0, 2.0]]}, r"shape \(1, 2\) for 3 tasks"),
    ],
)
def test_refusals_of_tasks(settings, message):
    X, y, place = make(0, "Classifier")
    with pytest.raises(ValueError, match=message):
        linear.TaskWeightingClassifier(weights="bound", **settings).fit(X, y, sample_task=place)


def test_a_bound_that_overflows_is_refused():
    X, y, place = make(0, "Regressor")
    with pytest.raises(ValueError, match="the bound is not finite"), np.errstate(all="ignore"):
        linear.InstanceWeightingRegressor(lam=1e-8, weights="bound", discrepancy=0.0).fit(
            X, 1e151 * y, sample_domain=place
        )
