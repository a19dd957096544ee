"""The framework of Sec. 5, Eq. gapobj1, for Xi, Gamma^j, Omega and Phi: derivatives, and what the minima must obey.

Gamma, the weights of rows, is in `test_gap_weighting.py`.
"""

import numpy as np
import pytest

from gapmin import linear
from gapmin.linear._bilevel import InnerProblem, TwoDomainGap, assign_folds, minimise_psi
from gapmin.linear._problem import WeightedRows
from gapmin.linear.gap_projection import ProjectionObjective
from gapmin.linear.hypothesis_transfer import MixtureObjective
from gapmin.linear.solvers import LOSS_BY_NAME, project_simplex
from gapmin.linear.task_covariance import CovarianceObjective, gap_under
from gapmin.linear.task_weighting import RelationObjective

LOSSES = ["logistic", "squared"]


def make_tasks(seed, loss="logistic", K=3, n=30, d=3):
    """Rows of K tasks; the last has the first's rule the other way round."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.normal(size=(K * n, d)), np.ones((K * n, 1))])
    task = np.repeat(np.arange(K), n)
    score = X[:, :d] @ rng.normal(size=d) * np.where(task == K - 1, -1, 1) + rng.normal(size=K * n)
    y = score if loss == "squared" else np.sign(score)
    return [WeightedRows(X[task == k], y[task == k], np.full(n, 1 / n)) for k in range(K)], X, y, task


def make_domains(seed, loss="logistic", sizes=(25, 45), d=5):
    """A target and a source that use the second feature the other way round."""
    rng = np.random.default_rng(seed)
    domain = np.repeat([-1, 1], sizes)
    X = rng.normal(size=(sum(sizes), d))
    score = X[:, 0] + np.where(domain < 0, 1, -1) * X[:, 1] + 0.5 * rng.normal(size=sum(sizes))
    return X, score if loss == "squared" else np.sign(score), domain


def make_projection(seed, loss, fold_data, p=2, lam1=1.0, constant=1.0):
    X, y, domain = make_domains(seed, loss)
    rng = np.random.default_rng(seed)
    fold = assign_folds(domain, None, 4, seed) if fold_data == "crossfit" else None
    Z = np.hstack([X[:, :p], np.ones((len(y), 1))])[:, : p + (constant > 0)]
    kind = LOSS_BY_NAME[loss]
    gamma = rng.uniform(0.5, 1, size=len(y))
    gamma /= gamma.sum()
    fit = InnerProblem(Z, y, kind, 0.05, tol=1e-13)
    gap = TwoDomainGap(Z, y, domain < 0, kind, 0.02, fold, tol=1e-13)
    return ProjectionObjective(X, fit, gap, gamma, constant, lam1)


def make_relation(seed, loss, lam1=2.0, lam3=0.3, lam=0.05):
    tasks, _, _, _ = make_tasks(seed, loss)
    rng = np.random.default_rng(seed)

    def fit(relation):
        everything = [np.concatenate([rows.X for rows in tasks]), np.concatenate([rows.y for rows in tasks])]
        found = []
        for row in relation:
            inner = InnerProblem(*everything, LOSS_BY_NAME[loss], lam, tol=1e-13)
            found.append(inner.fit(np.concatenate([g * rows.weight for g, rows in zip(row, tasks, strict=True)])))
        return np.array(found)

    gaps = rng.uniform(0, 1, size=(3, 3)) * (1 - np.eye(3))
    return RelationObjective(tasks, LOSS_BY_NAME[loss], fit, rng.uniform(size=3), gaps, lam, lam1, lam3)


def assert_slopes(objective, psi, *, within=1e-5, directions=12, seed=0, step=1e-5):
    """The derivative along random directions is that of finite differences."""
    _, gradient = objective.evaluate(psi)
    rng = np.random.default_rng(seed)
    for _ in range(directions):
        way = rng.normal(size=psi.shape)
        if psi.ndim == 2 and psi.shape[0] == psi.shape[1] and isinstance(objective, CovarianceObjective):
            way = (way + way.T) / 2
        way /= np.linalg.norm(way)
        ahead, behind = objective.evaluate(psi + step * way)[0], objective.evaluate(psi - step * way)[0]
        slope = (ahead - behind) / (2 * step)
        assert slope == pytest.approx(float(np.vdot(gradient, way)), rel=within, abs=within * np.linalg.norm(gradient))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_derivative_in_xi(loss, seed):
    tasks, _, _, _ = make_tasks(seed, loss)
    rng = np.random.default_rng(seed)
    objective = MixtureObjective(tasks[0], rng.normal(size=(4, 4)), LOSS_BY_NAME[loss], 0.1, 2.0)
    assert_slopes(objective, rng.dirichlet(np.ones(4)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_derivative_in_the_relation(loss, seed):
    assert_slopes(make_relation(seed, loss), np.random.default_rng(seed).dirichlet(np.ones(3) * 3, size=3))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_derivative_in_omega(loss, seed):
    tasks, X, y, _ = make_tasks(seed, loss)
    root = np.random.default_rng(seed).normal(size=(3, 3))
    psi = root @ root.T + 0.5 * np.eye(3)
    objective = CovarianceObjective(tasks, X, y, LOSS_BY_NAME[loss], 40.0, 0.7, cap=0.9)
    assert_slopes(objective, psi / np.trace(psi), within=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fold_data", ["crossfit", "train"])
@pytest.mark.parametrize("seed", range(3))
def test_derivative_in_phi(loss, fold_data, seed):
    """Through the features of the fit, of the losses measured, and of both minimisers."""
    psi = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 2)))[0].T
    assert_slopes(make_projection(seed, loss, fold_data), psi)
    assert_slopes(make_projection(seed, loss, fold_data, constant=0.0), psi)


def objective_of_omega(seed=0):
    tasks, X, y, _ = make_tasks(seed)
    return CovarianceObjective(tasks, X, y, LOSS_BY_NAME["logistic"], 90.0, 0.5, cap=0.4)


@pytest.mark.parametrize(
    ("objective", "start"),
    [
        (lambda: make_relation(0, "logistic"), np.full((3, 3), 1 / 3)),
        (lambda: make_projection(0, "logistic", "train"), np.eye(5)[[2, 3]]),
        (objective_of_omega, np.diag([0.25, 0.35, 0.4])),
    ],
    ids=["relation", "phi", "omega"],
)
def test_the_end_is_stationary_and_allowed(objective, start):
    objective = objective()
    psi, history = minimise_psi(objective, start, 400, 1e-13)
    assert history[-1] < history[0]
    assert (np.diff(history) <= 0).all()
    np.testing.assert_allclose(objective.project(psi), psi, atol=1e-9)
    value, gradient = objective.evaluate(psi)
    moved = objective.project(psi - 1e-3 * gradient)
    assert abs(float(np.vdot(gradient, moved - psi))) <= 1e-6 * abs(history[0])
    rng = np.random.default_rng(0)
    for _ in range(20):  # and no allowed point near it is below
        near = objective.project(psi + 0.01 * rng.normal(size=psi.shape))
        near = (near + near.T) / 2 if isinstance(objective, CovarianceObjective) else near
        assert objective.evaluate(near)[0] >= value - 1e-7 * abs(value)


def far_hypotheses(seed, loss):
    tasks, _, _, _ = make_tasks(seed, loss)
    return tasks[0], np.random.default_rng(seed).normal(size=(3, 4))


def hypothesis_transfer(loss, hypotheses, **settings):
    name = "Classifier" if loss == "logistic" else "Regressor"
    return getattr(linear, f"HypothesisTransfer{name}")(hypotheses, fit_intercept=False, **settings)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam1", [0.0, 0.3, 5.0])
def test_learnt_xi_is_the_minimum_of_its_convex_objective(loss, lam1):
    for seed in range(3):
        rows, hypotheses = far_hypotheses(seed, loss)
        model = hypothesis_transfer(loss, hypotheses, xi="learn", lam=0.3, lam1=lam1).fit(rows.X, rows.y)
        objective = MixtureObjective(rows, hypotheses, LOSS_BY_NAME[loss], 0.3, lam1)
        best = objective.evaluate(model.xi_)[0]
        assert best == pytest.approx(model.objective_history_[-1], rel=1e-8)
        rng = np.random.default_rng(seed)
        for other in [*np.eye(3), np.full(3, 1 / 3), *rng.dirichlet(np.ones(3), size=30)]:
            assert best <= objective.evaluate(other)[0] * (1 + 1e-7)


def test_learnt_xi_goes_to_the_smallest_gap_as_its_weight_grows():
    rows, hypotheses = far_hypotheses(1, "logistic")
    gap_alone = hypothesis_transfer("logistic", hypotheses, xi="learn", lam=0.3).fit(rows.X, rows.y)
    gaps = []
    for lam1 in (0.0, 1.0, 1e6):
        model = hypothesis_transfer("logistic", hypotheses, xi="learn", lam=0.3, lam1=lam1).fit(rows.X, rows.y)
        gaps.append(model.gap_.value)
    assert gaps[0] >= gaps[1] - 1e-9
    assert gaps[1] >= gaps[2] - 1e-9
    assert gaps[2] == pytest.approx(gap_alone.gap_.value, abs=1e-5)
    np.testing.assert_allclose(model.xi_, gap_alone.xi_, atol=1e-3)


def test_xi_without_a_derivative_is_refused():
    with pytest.raises(ValueError, match=r"lam1=1\.0 with loss='hinge'"):
        linear.HypothesisTransferClassifier([[1.0]], xi="learn", lam1=1.0, loss="hinge").fit([[0.0], [1.0]], [0, 1])


def whole_objective(model, tasks, X, y, lam1):
    """(1 / K) sum_k L_k(h_k) + tr(H' Omega^-1 H) + lam1 gap(Omega), with the largest eigenvalue itself."""
    kind, H = LOSS_BY_NAME[model.loss], model.coef_
    losses = np.mean([rows.loss(kind, h) for rows, h in zip(tasks, H, strict=True)])
    gap = gap_under([0, 1, 2], tasks, X, y, kind, model.omega_).value
    assert gap == pytest.approx(model.gap_.value, abs=1e-9)
    return losses + np.vdot(H, np.linalg.inv(model.omega_) @ H) + lam1 * gap


@pytest.mark.parametrize(("loss", "lam1"), [("logistic", 0.02), ("logistic", 0.5), ("hinge", 0.02)])
def test_omega_with_the_gap_is_below_every_other_one(loss, lam1):
    for seed in range(2 if loss == "logistic" else 1):
        tasks, X, y, task = make_tasks(seed)
        settings = {"lam": 0.1, "fit_intercept": False, "loss": loss}
        without = linear.TaskCovarianceClassifier(**settings).fit(X, y, sample_task=task)
        model = linear.TaskCovarianceClassifier(lam1=lam1, **settings).fit(X, y, sample_task=task)
        assert np.trace(model.omega_) == pytest.approx(9 / 0.1)
        assert (np.diff(model.objective_history_) <= 0).all()
        found = whole_objective(model, tasks, X, y, lam1)
        assert found <= model.objective_history_[-1] * (1 + 1e-6)
        assert found <= whole_objective(without, tasks, X, y, lam1) * (1 + 1e-6)
        assert model.gap_.value <= without.gap_.value * (1 + 1e-6)
        rng = np.random.default_rng(seed)
        others = [np.eye(3) + 0.3 * rng.normal(size=(3, 3)) for _ in range(10)]
        others += [model.omega_ / 30 + 0.05 * rng.normal(size=(3, 3)) for _ in range(10)]
        for root in (each @ each.T + 0.01 * np.eye(3) for each in others):
            other = linear.TaskCovarianceClassifier(90 * root / np.trace(root), **settings)
            assert whole_objective(other.fit(X, y, sample_task=task), tasks, X, y, lam1) >= found * (1 - 1e-3)


def test_a_heavy_gap_makes_omega_the_identity():
    """The gap falls as the largest eigenvalue does, and under a given trace the identity has the smallest."""
    _, X, y, task = make_tasks(0)
    model = linear.TaskCovarianceClassifier(lam=0.1, lam1=100.0).fit(X, y, sample_task=task)
    np.testing.assert_allclose(model.omega_, np.eye(3) * 30, atol=1e-6)


def test_relation_steps_are_the_alternation_of_fits_and_projections():
    """The fixed step of the interface is the closed form: -cost / (2 lam3), projected."""
    objective = make_relation(2, "logistic")
    psi = np.full((3, 3), 1 / 3)
    for _ in range(5):
        gradient = objective.evaluate(psi)[1]
        cost = gradient - 2 * objective.lam3 * psi
        stepped, _ = minimise_psi(objective, psi, 1, 0.0)
        np.testing.assert_allclose(stepped, project_simplex(-cost / (2 * objective.lam3)), atol=1e-12)
        psi = stepped


# The learnt projection.


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_projection_is_feature_transfer_on_what_it_found(kind):
    from sklearn.decomposition import PCA
    from sklearn.frozen import FrozenEstimator

    X, y, domain = make_domains(0, "logistic" if kind == "Classifier" else "squared", sizes=(40, 80))
    model = getattr(linear, f"GapProjection{kind}")(2, random_state=0).fit(X, y, sample_domain=domain)
    P = model.projection_
    np.testing.assert_allclose(P @ P.T, np.eye(2), atol=1e-10)
    phi = PCA(2).fit(X)
    phi.components_, phi.mean_ = P, np.zeros(5)
    same = getattr(linear, f"FeatureTransfer{kind}")(FrozenEstimator(phi)).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-8)
    assert model.gap_.value == pytest.approx(same.gap_.value, rel=1e-6)
    np.testing.assert_array_equal(model.predict(X[:9]), same.predict(X[:9]))
    ours, theirs = model.risk_bound(discrepancy=0.1), same.risk_bound(discrepancy=0.1)
    assert ours.total == pytest.approx(theirs.total)
    assert "fitted on it" in " ".join(ours.assumptions)


@pytest.mark.parametrize("seed", range(3))
def test_projection_drops_the_feature_that_the_domains_use_differently(seed):
    X, y, domain = make_domains(seed, sizes=(100, 200), d=4)
    with_gap = linear.GapProjectionClassifier(1, random_state=0).fit(X, y, sample_domain=domain)
    assert abs(with_gap.projection_[0, 0]) > 0.9
    assert abs(with_gap.projection_[0, 1]) < 0.3
    assert (np.diff(with_gap.objective_history_) <= 0).all()
    without = linear.GapProjectionClassifier(1, lam1=0.0).fit(X, y, sample_domain=domain)
    assert with_gap.gap_.value < 0.3 * without.gap_.value
    assert with_gap.score(X[domain < 0], y[domain < 0]) > without.score(X[domain < 0], y[domain < 0])


def test_all_components_change_nothing():
    X, y, domain = make_domains(0)
    model = linear.GapProjectionClassifier(5, lam=0.1).fit(X, y, sample_domain=domain)
    plain = linear.InstanceWeightingClassifier(lam=0.1).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-7)
    assert model.gap_.value == pytest.approx(plain.gap_.value, abs=1e-7)
    assert model.objective_history_.size == 0


def test_projection_of_sparse_rows_is_that_of_dense_ones():
    import scipy.sparse as sp

    X, y, domain = make_domains(3)
    dense = linear.GapProjectionClassifier(2, random_state=1).fit(X, y, sample_domain=domain)
    sparse = linear.GapProjectionClassifier(2, random_state=1).fit(sp.csr_matrix(X), y, sample_domain=domain)
    np.testing.assert_allclose(dense.projection_, sparse.projection_, atol=1e-7)
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(sp.csr_matrix(X)), atol=1e-7)


def test_projection_does_not_depend_on_the_unit():
    X, y, domain = make_domains(4, "squared")
    one = linear.GapProjectionRegressor(2, random_state=0).fit(X, y, sample_domain=domain)
    other = linear.GapProjectionRegressor(2, random_state=0).fit(X, 2.0**40 * y, sample_domain=domain)
    np.testing.assert_allclose(one.projection_, other.projection_, atol=1e-3)
    np.testing.assert_allclose(one.predict(X), other.predict(X) / 2.0**40, atol=1e-3)
    last = [each.objective_history_[-1] for each in (one, other)]
    assert last[0] == pytest.approx(last[1] / 2.0**80, rel=1e-5)
