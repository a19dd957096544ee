"""The solver under every setting: optimality recomputed here, projections, and the losses' derivatives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from gapmin.linear._exact import solve, solve_unpenalised
from gapmin.linear._losses import Power
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._simplex import minimise_on_simplex, project_capped
from gapmin.linear.solvers import LOSS_BY_NAME, project_simplex

SMOOTH, PIECEWISE = ["logistic", "squared"], ["hinge", "absolute"]
EVERY = [*SMOOTH, *PIECEWISE]


def labels(rng, loss, X):
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    return np.where(y > 0, 1.0, -1.0) if loss in ("logistic", "hinge") else y


def draw(rng, loss, n=40, d=4, n_tasks=1):
    """Tasks with weights that sum to one in each, not two of the same size."""
    tasks = []
    for k in range(n_tasks):
        X = rng.normal(size=(n + 7 * k, d))
        weight = rng.exponential(size=len(X))
        tasks.append(WeightedRows(X, labels(rng, loss, X), weight / weight.sum()))
    return tasks


def gradient(problem, H):
    """Of a smooth problem, written out anew."""
    found = 2 * problem.P @ (H - problem.C)
    for k, rows in enumerate(problem.tasks):
        score = rows.X @ H[k]
        logistic = problem.loss is LOSS_BY_NAME["logistic"]
        slope = -rows.y * expit(-rows.y * score) if logistic else 2 * (score - rows.y)
        found[k] += rows.X.T @ (rows.weight * slope)
    return found


def duality_gap(problem, H):
    """Of a piecewise linear problem at H, with the best multipliers that a bounded least squares finds for it.

    The loss of row i is the largest of a_i (b_i - s_i <h, x_i>) over a box, so for any a in the box
    a'(b - s <c, x>) - u' P^-1 u / 4 with u = sum a_i s_i x_i is below the minimum. Rows off their kink have an end of
    the box; the others are solved for.
    """
    hinge = problem.loss is LOSS_BY_NAME["hinge"]
    scores = np.concatenate([rows.X @ h for rows, h in zip(problem.tasks, H, strict=True)])
    at_centre = np.concatenate([rows.X @ c for rows, c in zip(problem.tasks, problem.C, strict=True)])
    y = np.concatenate([rows.y for rows in problem.tasks])
    weight = np.concatenate([rows.weight for rows in problem.tasks])
    sign, bend = (y, np.ones_like(y)) if hinge else (np.ones_like(y), y)
    low, high = (0 * weight, weight) if hinge else (-weight, weight)
    excess = bend - sign * scores
    away = H - problem.C
    primal = np.maximum(high * excess, low * excess).sum() + np.vdot(away, problem.P @ away)
    # u = 2 P (H - C) has to hold: the sums over tasks, stacked, are M a.
    K, d = problem.shape
    M, start = np.zeros((K * d, len(y))), 0
    for k, rows in enumerate(problem.tasks):
        X = rows.X.toarray() if sp.issparse(rows.X) else rows.X
        M[k * d : (k + 1) * d, start : start + len(X)] = X.T * sign[start : start + len(X)]
        start += len(X)
    a = np.where(excess > 0, high, low)
    free = np.abs(excess) <= 1e-7 * (1 + np.abs(bend))
    if free.any():
        left = (2 * problem.P @ away).ravel() - M[:, ~free] @ a[~free]
        a[free] = np.clip(np.linalg.lstsq(M[:, free], left, rcond=None)[0], low[free], high[free])
    u = (M @ a).reshape(K, d)
    dual = a @ (bend - sign * at_centre) - np.vdot(u, np.linalg.solve(problem.P, u)) / 4
    return primal - dual


def assert_exact(problem, found):
    if problem.loss.smooth:
        scale = max(1.0, np.abs(gradient(problem, problem.C)).max())
        assert np.abs(gradient(problem, found.H)).max() <= 1e-8 * scale
    else:
        scale = max(1.0, problem.evaluate(found.H.ravel())[0])
        assert found.error <= 1e-12 * scale
        assert duality_gap(problem, found.H) <= 1e-10 * scale


def quietly(problem, *given):
    """A promise kept means no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return solve(problem, *given)


@pytest.mark.parametrize("loss", EVERY)
@pytest.mark.parametrize("lam", [1e-6, 1e-4, 1e-2, 1.0, 1e3])
def test_one_task(loss, lam):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = Problem(draw(rng, loss, int(rng.integers(6, 60)), int(rng.integers(1, 6))), LOSS_BY_NAME[loss], lam)
        assert_exact(problem, quietly(problem))


@pytest.mark.parametrize("loss", EVERY)
@pytest.mark.parametrize("with_centre", [False, True])
def test_coupled_tasks(loss, with_centre):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        K, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        root = rng.normal(size=(K, K))
        P = (root @ root.T + 0.1 * np.eye(K)) * 10 ** rng.uniform(-3, 1)
        centre = rng.normal(size=(K, d)) if with_centre else None
        problem = Problem(draw(rng, loss, 20, d, K), LOSS_BY_NAME[loss], P, centre)
        assert_exact(problem, quietly(problem))


def loosely_coupled(seed):
    """Tasks that a learnt covariance ties together: one direction of P is loose, the others are three thousand times
    as stiff."""
    rng = np.random.default_rng(seed)
    loss, K, d = PIECEWISE[seed % 2], int(rng.integers(2, 5)), int(rng.integers(1, 5))
    tasks = [WeightedRows(r.X, r.y, r.weight / K) for r in draw(rng, loss, int(rng.integers(5, 14)), d, K)]
    vectors = np.linalg.qr(rng.normal(size=(K, K)))[0]
    sizes = 10 ** rng.uniform(-2, 0) * np.append(1, np.full(K - 1, 3000.0))
    return Problem(tasks, LOSS_BY_NAME[loss], (vectors * sizes) @ vectors.T)


HARD = [46, 121, 524, 587, 1308, 1904]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, *HARD])
def test_stiffly_coupled_tasks(seed):
    """The gap promised is the gap there is, and no warning of the arithmetic gets out."""
    problem = loosely_coupled(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert_exact(problem, quietly(problem))


@pytest.mark.parametrize("loss", EVERY)
def test_tasks_that_are_not_coupled_are_solved_alone(loss):
    rng = np.random.default_rng(0)
    tasks = draw(rng, loss, n_tasks=3)
    together = solve(Problem(tasks, LOSS_BY_NAME[loss], np.diag([0.1, 0.2, 0.3]))).H
    alone = [
        solve(Problem([rows], LOSS_BY_NAME[loss], lam)).h for rows, lam in zip(tasks, (0.1, 0.2, 0.3), strict=True)
    ]
    np.testing.assert_allclose(together, alone, atol=1e-7)


@pytest.mark.parametrize("loss", EVERY)
def test_sparse_is_dense(loss):
    rng = np.random.default_rng(1)
    (rows,) = draw(rng, loss, 60, 8)
    rows.X[rng.random(rows.X.shape) < 0.7] = 0
    sparse = Problem([WeightedRows(sp.csr_matrix(rows.X), rows.y, rows.weight)], LOSS_BY_NAME[loss], 0.01)
    dense = Problem([rows], LOSS_BY_NAME[loss], 0.01)
    assert_exact(sparse, quietly(sparse))
    np.testing.assert_allclose(quietly(sparse).h, quietly(dense).h, atol=1e-7)


@pytest.mark.parametrize("loss", EVERY)
def test_rows_of_weight_zero_say_nothing(loss):
    rng = np.random.default_rng(2)
    (rows,) = draw(rng, loss)
    out = rng.random(len(rows.y)) < 0.4
    weight = np.where(out, 0.0, rows.weight)
    rows.X[out] *= 1e3
    there = Problem([WeightedRows(rows.X, rows.y, weight)], LOSS_BY_NAME[loss], 0.02)
    gone = Problem([WeightedRows(rows.X[~out], rows.y[~out], weight[~out])], LOSS_BY_NAME[loss], 0.02)
    assert_exact(there, quietly(there))
    np.testing.assert_allclose(quietly(there).h, quietly(gone).h, atol=1e-7)


@pytest.mark.parametrize("loss", EVERY)
def test_rows_given_many_times(loss):
    """Singular on the active set, where they sit on a kink together."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        (rows,) = draw(rng, loss, 12, 3)
        repeated = WeightedRows(np.tile(rows.X, (5, 1)), np.tile(rows.y, 5), np.tile(rows.weight / 5, 5))
        many = Problem([repeated], LOSS_BY_NAME[loss], 0.05)
        once = Problem([rows], LOSS_BY_NAME[loss], 0.05)
        assert_exact(many, quietly(many))
        np.testing.assert_allclose(quietly(many).h, quietly(once).h, atol=1e-7)


@pytest.mark.parametrize("loss", EVERY)
def test_badly_scaled_rows(loss):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        (rows,) = draw(rng, loss, 50, 4)
        X = rows.X * np.array([1e-3, 1.0, 30.0, 1e3]) * 10 ** rng.uniform(-2, 1, size=(50, 1))
        problem = Problem([WeightedRows(X, rows.y, rows.weight)], LOSS_BY_NAME[loss], 0.01)
        found = solve(problem)
        if loss in SMOOTH:
            assert_exact(problem, found)
        else:
            assert duality_gap(problem, found.H) <= 1e-8 * max(1.0, problem.evaluate(found.H.ravel())[0])


@pytest.mark.parametrize("loss", EVERY)
def test_a_larger_problem(loss):
    rng = np.random.default_rng(3)
    problem = Problem(draw(rng, loss, 2000, 50), LOSS_BY_NAME[loss], 1e-3)
    assert_exact(problem, quietly(problem))


@pytest.mark.parametrize("loss", PIECEWISE)
@pytest.mark.parametrize("n_tasks", [1, 2])
def test_more_features_than_rows(loss, n_tasks):
    """The same as with rows of weight 0 added until there are more rows than features."""
    rng = np.random.default_rng(4)
    wide = [WeightedRows(X.X[:9], X.y[:9], X.weight[:9]) for X in draw(rng, loss, 12, 40, n_tasks)]
    P = 0.1 * np.eye(n_tasks) + 0.05
    centre = 0.1 * rng.normal(size=(n_tasks, 40))
    padded = [
        WeightedRows(
            np.vstack([r.X, np.zeros((40, 40))]), np.append(r.y, np.ones(40)), np.append(r.weight, np.zeros(40))
        )
        for r in wide
    ]
    problem = Problem(wide, LOSS_BY_NAME[loss], P, centre)
    assert_exact(problem, quietly(problem))
    np.testing.assert_allclose(quietly(problem).H, quietly(Problem(padded, LOSS_BY_NAME[loss], P, centre)).H, atol=1e-7)


@pytest.mark.parametrize("loss", EVERY)
def test_no_weight_at_all_leaves_the_centre(loss):
    rows = WeightedRows(np.ones((3, 2)), np.array([1.0, -1.0, 1.0]), np.zeros(3))
    centre = np.array([[1.0, -2.0]])
    np.testing.assert_array_equal(solve(Problem([rows], LOSS_BY_NAME[loss], 0.1, centre)).H, centre)


@pytest.mark.parametrize("loss", EVERY)
def test_any_start_gives_the_same(loss):
    rng = np.random.default_rng(5)
    problem = Problem(draw(rng, loss), LOSS_BY_NAME[loss], 0.01)
    far = quietly(problem, 50 * rng.normal(size=problem.shape))
    np.testing.assert_allclose(far.h, quietly(problem).h, atol=1e-7)


# Without a penalty.


def smallest_piecewise(rows, loss):
    """By linear programming: the smallest sum of weighted slacks above both pieces of each loss."""
    n, d = rows.X.shape
    if loss == "hinge":
        A = [np.hstack([-rows.y[:, None] * rows.X, -np.eye(n)])]
        b, least = [-np.ones(n)], 0
    else:
        A = [np.hstack([rows.X, -np.eye(n)]), np.hstack([-rows.X, -np.eye(n)])]
        b, least = [rows.y, -rows.y], None
    cost, bounds = np.append(np.zeros(d), rows.weight), [(None, None)] * d + [(least, None)] * n
    return linprog(cost, A_ub=np.vstack(A), b_ub=np.concatenate(b), bounds=bounds).fun


@pytest.mark.parametrize("loss", PIECEWISE)
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_smallest_piecewise_loss(loss, scale):
    """Also with columns of very different sizes: without a penalty they change nothing."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        (rows,) = draw(rng, loss, 30, 3)
        rows = WeightedRows(rows.X * np.array([1.0, scale, 1 / scale]), rows.y, rows.weight)
        found = solve_unpenalised(rows, LOSS_BY_NAME[loss])
        assert found.attained
        assert found.value == pytest.approx(rows.loss(LOSS_BY_NAME[loss], found.h), abs=1e-12)
        assert found.value == pytest.approx(smallest_piecewise(rows, loss), rel=1e-6, abs=1e-9)


def test_smallest_squared_loss_is_the_shortest_least_squares():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        (rows,) = draw(rng, "squared", 20, 3)
        rows = WeightedRows(np.column_stack([rows.X, rows.X[:, 0]]), rows.y, rows.weight)  # one column twice
        root = np.sqrt(rows.weight)
        wanted = np.linalg.pinv(root[:, None] * rows.X) @ (root * rows.y)
        np.testing.assert_allclose(solve_unpenalised(rows, LOSS_BY_NAME["squared"]).h, wanted, atol=1e-8)


def overlapping(rng, n, d):
    """Points with both labels that span the space: the logistic loss has one finite minimiser."""
    X = rng.normal(size=(n, d))
    return np.vstack([X, X[:d], X[:d]]), np.concatenate([labels(rng, "logistic", X), np.ones(d), -np.ones(d)])


def test_smallest_logistic_loss_where_there_is_one():
    for seed in range(10):
        X, y = overlapping(np.random.default_rng(seed), 20, 3)
        rows = WeightedRows(X, y, np.full(len(y), 1 / len(y)))
        found = solve_unpenalised(rows, LOSS_BY_NAME["logistic"])
        slope = X.T @ (rows.weight * -y * expit(-y * (X @ found.h)))
        assert found.attained
        assert np.abs(slope).max() <= 1e-9


@pytest.mark.parametrize("gap", [2.0, 1e-2])
def test_separable_logistic_loss_has_the_infimum_zero(gap):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += gap * y
    found = solve_unpenalised(WeightedRows(X, y, np.full(30, 1 / 30)), LOSS_BY_NAME["logistic"])
    assert found.value == 0
    assert not found.attained
    assert np.isfinite(found.h).all()


def test_a_minimiser_that_is_attained_is_said_to_be_with_an_outlier_too():
    """A row far out has a large margin under a small h: no sign of separated classes."""
    rng = np.random.default_rng(0)
    X, y = overlapping(rng, 60, 1)
    X, y = np.vstack([X, [[500.0]], [[-500.0]]]), np.append(y, [1.0, -1.0] if X[:60, 0] @ y[:60] > 0 else [-1.0, 1.0])
    rows = WeightedRows(X, y, np.full(len(y), 1 / len(y)))
    found = solve_unpenalised(rows, LOSS_BY_NAME["logistic"])
    assert np.abs(X.T @ (rows.weight * -y * expit(-y * (X @ found.h)))).max() <= 1e-9
    assert found.attained


# Projections.


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_projection_on_the_simplex(scale):
    """V - level where that is positive, with one level: the conditions of Karush, Kuhn and Tucker."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        V = scale * rng.normal(size=(3, int(rng.integers(1, 8))))
        V[rng.random(V.shape) < 0.2] = V[0, 0]  # ties
        for v, x in zip(V, project_simplex(V), strict=True):
            assert x.min() >= 0
            assert x.sum() == pytest.approx(1, abs=1e-12 * max(1, scale))
            level = (v - x)[x > 0]
            assert np.ptp(level) <= 1e-12 * max(1, scale)
            assert (v[x == 0] <= level.mean() + 1e-12 * max(1, scale)).all()


def test_projection_on_capped_simplex():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        n = int(rng.integers(1, 9))
        cap, width = rng.uniform(0, 1, size=n), rng.uniform(0.2, 3, size=n)
        total = float(rng.uniform(0.01, 1) * cap.sum())
        v = 3 * rng.normal(size=n)
        x = project_capped(v, cap, total, width)
        assert x.sum() == pytest.approx(total, abs=1e-12)
        assert (x >= 0).all()
        assert (x <= cap).all()
        level = (v - x) / width
        inside = (x > 0) & (x < cap)
        low = level[x >= cap].min() if (x >= cap).any() else np.inf  # at the cap: v would go higher still
        high = level[x <= 0].max() if (x <= 0).any() else -np.inf
        if inside.any():
            assert np.ptp(level[inside]) <= 1e-12 * (1 + np.abs(v).max() / 0.2)
            assert low >= level[inside].mean() - 1e-11
            assert high <= level[inside].mean() + 1e-11
        else:
            assert low >= high - 1e-11


def test_capped_projection_with_caps_that_do_not_bind_is_the_plain_one():
    rng = np.random.default_rng(2)
    for _ in range(200):
        v = rng.normal(size=5)
        np.testing.assert_allclose(project_capped(v, np.ones(5)), project_simplex(v), atol=1e-12)


def test_caps_below_the_total_are_refused():
    with pytest.raises(ValueError, match=r"caps sum to 0\.5, below the 1"):
        project_capped(np.zeros(2), np.full(2, 0.25))


def test_capped_projection_with_nothing_to_spare_is_the_caps():
    cap = np.array([0.25, 0.5, 0.25])
    np.testing.assert_allclose(project_capped(np.array([9.0, -9.0, 0.0]), cap), cap, atol=1e-12)


def quadratic(rng, n):
    A, b = rng.normal(size=(n + 2, n)), rng.normal(size=n + 2)

    def evaluate(x):
        return float(((A @ x - b) ** 2).sum()), 2 * A.T @ (A @ x - b)

    return A, b, evaluate


def test_smallest_value_on_the_simplex_against_a_grid():
    steps = np.linspace(0, 1, 201)
    grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1])
    for seed in range(20):
        A, b, evaluate = quadratic(np.random.default_rng(seed), 3)
        x = minimise_on_simplex(evaluate, 3)
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1, abs=1e-12)
        assert evaluate(x)[0] <= ((grid @ A.T - b) ** 2).sum(axis=1).min() + 1e-12


def test_smallest_value_on_the_simplex_against_cvxpy():
    cp = pytest.importorskip("cvxpy")
    for seed in range(6):
        A, b, evaluate = quadratic(np.random.default_rng(seed), 8)
        x = cp.Variable(8, nonneg=True)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)), [cp.sum(x) == 1])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        np.testing.assert_allclose(minimise_on_simplex(evaluate, 8), x.value, atol=1e-6)


# Losses.


def scores_and_labels(loss):
    rng = np.random.default_rng(0)
    score = np.concatenate([np.linspace(-8, 8, 81) + 0.003, 3 * rng.normal(size=40)])
    y = np.where(rng.random(score.size) < 0.5, -1.0, 1.0)
    return score, y if loss in ("logistic", "hinge") else y * rng.exponential(size=score.size)


@pytest.mark.parametrize("name", [*EVERY, 3.0, 1.5])
def test_derivatives_by_differences(name):
    loss = LOSS_BY_NAME[name] if name in LOSS_BY_NAME else Power(name)
    score, y = scores_and_labels(name)
    step = 1e-5
    slope = (loss.value(score + step, y) - loss.value(score - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(score, y), slope, rtol=1e-6, atol=1e-7)
    bend = (loss.gradient(score + step, y) - loss.gradient(score - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.curvature(score, y), bend, rtol=1e-4, atol=1e-6)


def test_logistic_loss_by_hand_and_far_out():
    loss = LOSS_BY_NAME["logistic"]
    assert loss.value(np.array([0.0]), np.array([1.0]))[0] == pytest.approx(np.log(2))
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_allclose(loss.value(np.array([-1e4, 1e4]), np.ones(2)), [1e4, 0])
        np.testing.assert_allclose(loss.gradient(np.array([-1e4, 1e4]), np.ones(2)), [-1, 0])
    np.testing.assert_allclose(loss.curvature(np.array([-40.0, 40.0]), np.ones(2)), np.exp(-40.0), rtol=1e-12)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("size", [0.5, 3.0])
def test_lipschitz_constant_and_largest_loss(name, size):
    """Neither is exceeded, and both are reached: no smaller number would do."""
    loss, Y = LOSS_BY_NAME[name], 1.0 if name in ("logistic", "hinge") else 1.7
    score = np.linspace(-size, size, 2001)
    ys = [-1.0, 1.0] if Y == 1.0 else np.linspace(-Y, Y, 21)
    values = np.array([loss.value(score, np.full_like(score, y)) for y in ys])
    rates = np.abs(np.diff(values, axis=1)) / np.diff(score)
    rho, B = loss.lipschitz(size, Y), loss.at_most(size, Y)
    assert rates.max() <= rho * (1 + 1e-9)
    assert values.max() <= B * (1 + 1e-12)
    assert values.max() == pytest.approx(B, rel=1e-9)
    if name != "logistic":  # its constant is 1 on the whole line
        assert rates.max() == pytest.approx(rho, rel=2e-3)


@pytest.mark.parametrize("name", PIECEWISE)
def test_kinks_are_the_loss(name):
    loss = LOSS_BY_NAME[name]
    score, y = scores_and_labels(name)
    weight = np.linspace(0, 2, score.size)
    kinks = loss.kinks(y, weight)
    excess = kinks.bend - kinks.sign * score
    np.testing.assert_allclose(np.maximum(kinks.low * excess, kinks.high * excess), weight * loss.value(score, y))


def test_smooth_losses_have_no_kinks():
    with pytest.raises(TypeError, match="not piecewise linear"):
        LOSS_BY_NAME["squared"].kinks(np.ones(2), np.ones(2))


def test_power_below_one_is_refused():
    with pytest.raises(ValueError, match=r"q is 0\.5.*q >= 1"):
        Power(0.5)


def test_projection_of_points_far_from_the_simplex_loses_no_digits():
    np.testing.assert_array_equal(project_simplex(np.full((1, 2), -(2.0**60))), [[0.5, 0.5]])
    np.testing.assert_allclose(project_simplex(np.full((1, 3), 1e12)).sum(), 1, rtol=1e-15)
