"""Distances between domains against closed forms, brute force, and one another."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from gapmin.linear import WeightedLogisticRegression, class_wasserstein, class_wasserstein_matrix, proposition_2
from gapmin.linear._ball import _largest_on_ball, _starts
from gapmin.linear.discrepancy import (
    marginal_discrepancy,
    y_discrepancy,
)
from gapmin.linear.solvers import LOSS_BY_NAME

pytest.importorskip("ot")
every_loss = pytest.mark.parametrize("loss", list(LOSS_BY_NAME))
every_method = pytest.mark.parametrize("method", ["estimate", "wasserstein"])


def domains(seed, loss, n=12, m=9, d=3):
    """Two small domains with labels that the loss takes."""
    rng = np.random.default_rng(seed)
    T, S = rng.normal(size=(n, d)), rng.normal(size=(m, d)) * rng.uniform(0.3, 2) + rng.normal(size=d) / 2
    if loss in ("logistic", "hinge"):
        return (T, rng.choice([-1, 1], n)), (S, rng.choice([-1, 1], m))
    return (T, rng.normal(size=n)), (S, rng.normal(size=m) + 1)


def differences(loss, target, source, H, fit_intercept=True):
    """|L_T(h) - L_S(h)| of every column of H, written out anew."""
    risks = []
    for X, y in (target, source):
        score = X @ H[:-1] + H[-1] if fit_intercept else X @ H
        m = np.asarray(y)[:, None] * score
        r = score - np.asarray(y)[:, None]
        losses = {"logistic": np.logaddexp(0, -m), "hinge": np.maximum(0, 1 - m), "squared": r**2, "absolute": abs(r)}
        risks.append(losses[loss].mean(axis=0))
    return np.abs(risks[0] - risks[1])


def in_ball(rng, d, radius, size):
    """Half of them on the surface."""
    H = rng.normal(size=(d, size))
    H *= radius / np.linalg.norm(H, axis=0)
    H[:, ::2] *= rng.uniform(size=H[:, ::2].shape[1]) ** (1 / d)
    return H


@every_loss
@every_method
def test_identical_domains_are_no_distance_apart(loss, method):
    target, _ = domains(0, loss)
    order = np.random.default_rng(0).permutation(len(target[1]))
    shuffled = target[0][order], target[1][order]
    for source in (target, shuffled):
        assert float(y_discrepancy(target, source, loss=loss, radius=2.0, method=method)) == pytest.approx(0, abs=1e-12)


@every_loss
@pytest.mark.parametrize("seed", range(2))
def test_identical_marginals_are_no_distance_apart(loss, seed):
    X = np.random.default_rng(seed).normal(size=(12, 3))
    shuffled = X[np.random.default_rng(seed).permutation(12)]
    for other in (X, shuffled, np.vstack([X, X])):
        assert float(marginal_discrepancy(X, other, loss=loss, radius=2.0)) == pytest.approx(0, abs=1e-12)


@every_loss
@pytest.mark.parametrize("seed", range(6))
def test_estimate_is_attained_in_the_ball_and_below_the_upper_bound(loss, seed):
    radius = [0.1, 1.0, 10.0][seed % 3]
    fit_intercept = seed % 2 == 0
    target, source = domains(seed, loss)
    settings = {"loss": loss, "radius": radius, "fit_intercept": fit_intercept}
    estimate = y_discrepancy(target, source, **settings)
    bound = y_discrepancy(target, source, method="wasserstein", **settings)
    assert float(estimate) == estimate.value
    assert estimate.kind == ("exact" if loss == "squared" else "estimate")
    assert bound.kind == "upper bound"
    assert bound.hypothesis is None
    assert np.linalg.norm(estimate.hypothesis) <= radius * (1 + 1e-9)
    (again,) = differences(loss, target, source, estimate.hypothesis[:, None], fit_intercept)
    assert again == pytest.approx(estimate.value, rel=1e-9)
    assert estimate.value <= bound.value
    H = in_ball(np.random.default_rng(seed), 3 + fit_intercept, radius, 5000)
    # The squared loss is exact; the ascents must not be beaten by chance.
    assert differences(loss, target, source, H, fit_intercept).max() <= estimate.value * (1 + 1e-9)


@every_loss
def test_wasserstein_bounds_every_hypothesis_not_only_the_one_found(loss):
    for seed in range(40):
        target, source = domains(seed, loss, n=6, m=5, d=2)
        radius = [0.1, 1.0, 10.0][seed % 3]
        bound = y_discrepancy(target, source, loss=loss, radius=radius, method="wasserstein")
        H = in_ball(np.random.default_rng(seed), 3, radius, 500)
        assert differences(loss, target, source, H).max() <= bound.value


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", range(3))
def test_equals_brute_force_on_a_grid(d, loss, seed):
    target, source = domains(seed, loss, d=d)
    radius = 1.5
    found = y_discrepancy(target, source, loss=loss, radius=radius, fit_intercept=False).value
    r = np.linspace(-radius, radius, 2001 if d == 1 else 201)
    angle = np.linspace(0, np.pi, 361)
    H = r[None] if d == 1 else np.stack([np.outer(r, np.cos(angle)).ravel(), np.outer(r, np.sin(angle)).ravel()])
    grid = differences(loss, target, source, H, fit_intercept=False).max()
    assert grid <= found * (1 + 1e-9)
    assert found <= grid * (1 + 2e-3)


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
@pytest.mark.parametrize("seed", range(8))
def test_piecewise_linear_losses_equal_the_best_corner(loss, seed):
    """In the plane the maximum is at a corner, where a kink meets the circle, or where the circle faces a slope."""
    target, source = domains(seed, loss, d=2)
    radius = 4.0
    rows, offset = np.vstack([target[0], source[0]]), np.concatenate([target[1], source[1]])
    i, j = np.triu_indices(len(rows), 1)
    corners = np.linalg.solve(np.stack([rows[i], rows[j]], axis=1), np.stack([offset[i], offset[j]], axis=1)[..., None])
    size = np.linalg.norm(rows, axis=1)
    foot, along = rows * (offset / size**2)[:, None], np.column_stack([-rows[:, 1], rows[:, 0]]) / size[:, None]
    reach = np.sqrt(np.maximum(radius**2 - (offset / size) ** 2, 0))[:, None]
    angle = np.linspace(0, 2 * np.pi, 5001)
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    slopes = np.zeros_like(circle)
    for (X, y), side in ((target, 1), (source, -1)):
        score = circle @ X.T
        slope = np.sign(score - y) if loss == "absolute" else np.where(y * score < 1, -y, 0)
        slopes += side * slope @ X / len(y)
    slopes *= radius / np.linalg.norm(slopes, axis=1, keepdims=True)
    H = np.vstack([corners[..., 0], foot + reach * along, foot - reach * along, circle, slopes, -slopes])
    best = differences(loss, target, source, H[np.linalg.norm(H, axis=1) <= radius * (1 + 1e-12)].T, False).max()
    found = y_discrepancy(target, source, loss=loss, radius=radius, fit_intercept=False).value
    assert found == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_absolute_loss_against_the_linear_program(seed):
    """A target of rows 0 leaves |c - L_S(h)|, with c far above L_S: the maximum is where L_S has its minimum."""
    rng = np.random.default_rng(seed)
    n, d, c, radius = 30, 6, 20.0, 3.0
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / 3 + rng.laplace(size=n) / 2
    constraints = np.block([[X, -np.eye(n)], [-X, -np.eye(n)]])
    bounds = [(None, None)] * d + [(0, None)] * n
    program = linprog(np.repeat([0, 1 / n], [d, n]), constraints, np.concatenate([y, -y]), bounds=bounds)
    assert np.linalg.norm(program.x[:d]) < radius
    found = y_discrepancy(
        (np.zeros((1, d)), [c]), (X, y), loss="absolute", radius=radius, fit_intercept=False, max_iter=2000
    )
    assert found.value == pytest.approx(c - program.fun, abs=1e-4)


def test_margin_losses_start_from_the_relabelled_classification():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(40, 3)), np.repeat([1 / 20, -1 / 20], 20)
    relabelled = np.sign(X @ [1.0, -2.0, 0.5])
    y = np.where(weight > 0, relabelled, -relabelled)  # positive target and negative source rows are positive
    first = _starts("hinge", X, y, weight, 50.0, 500, None)[:, 0]
    np.testing.assert_array_equal(np.sign(X @ first), relabelled)


def test_absolute_loss_starts_where_the_squared_differs_most():
    (T, yt), (S, ys) = domains(8, "absolute", d=8)
    h = y_discrepancy((T, yt), (S, ys), loss="squared", radius=5.0, fit_intercept=False).hypothesis
    weight = np.repeat([1 / len(T), -1 / len(S)], [len(T), len(S)])
    starts = _starts("absolute", np.vstack([T, S]), np.append(yt, ys), weight, 5.0, 500, None)
    assert np.abs(starts - h[:, None]).max(axis=0).min() < 1e-9


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 4),
    case=st.sampled_from(["any", "hard", "double", "nearly hard", "concave", "no slope", "no curvature"]),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
    radius=st.sampled_from([1e-2, 1.0, 100.0]),
)
def test_quadratic_on_a_ball_satisfies_the_conditions_of_a_global_maximum(seed, d, case, scale, radius):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values, slope = np.sort(rng.normal(size=d)), rng.normal(size=d)
    if case in ("hard", "double"):
        values[-2:] = values[-2:] if case == "hard" else values[-1]
        slope[-1 if case == "hard" else -2 :] = 0
    if case == "nearly hard":
        slope[-1] *= 1e-13
    values = -np.abs(values) if case == "concave" else 0 * values if case == "no curvature" else values
    A, b = scale * vectors @ np.diag(values) @ vectors.T, scale * vectors @ (0 * slope if case == "no slope" else slope)
    h = _largest_on_ball(A, b, radius)
    assert np.linalg.norm(h) <= radius * (1 + 1e-12)

    def value(h):
        return h @ A @ h - 2 * b @ h

    # Duality: for every multiplier mu that makes mu I - A positive, mu radius^2 + b' (mu I - A)^-1 b is an upper bound.
    eigenvalues, Q = np.linalg.eigh(A)
    mus = max(eigenvalues[-1], 0) + scale * np.logspace(-14, 4, 4000)
    dual = (mus * radius**2 + ((Q.T @ b) ** 2 / (mus[:, None] - eigenvalues)).sum(axis=1)).min()
    size = scale * (radius**2 + radius)
    H = in_ball(rng, d, radius, 500)
    assert value(h) >= (np.einsum("ij,ij->j", H, A @ H) - 2 * b @ H).max() - 1e-12 * size
    assert value(h) >= dual - 1e-3 * size  # the multipliers are a grid
    assert value(h) <= dual + 1e-10 * size


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_flipped_labels_have_a_closed_form(seed, fit_intercept):
    (X, y), _ = domains(seed, "logistic")
    radius = 3.0
    rows = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    known = radius * np.linalg.norm((y[:, None] * rows).mean(axis=0))
    found = y_discrepancy((X, y), (X, -y), radius=radius, fit_intercept=fit_intercept)
    bound = y_discrepancy((X, y), (X, -y), radius=radius, fit_intercept=fit_intercept, method="wasserstein")
    assert found.value == pytest.approx(known, abs=1e-6)
    assert bound.value >= known


def test_wasserstein_in_one_dimension_is_scipys():
    rng = np.random.default_rng(0)
    (a, ya), (b, yb) = ((rng.normal(size=n) + 0.3, rng.choice([-1, 1], n)) for n in (30, 20))
    weight = rng.exponential(size=20)
    known = wasserstein_distance(ya * a, yb * b, None, weight)
    target, source = (a[:, None], ya), (b[:, None], yb, 7 * weight)
    options = {"radius": 2.0, "method": "wasserstein", "fit_intercept": False}
    assert y_discrepancy(target, source, **options).value == pytest.approx(2.0 * known)
    assert y_discrepancy(target, source, rho=0.5, **options).value == pytest.approx(known)
    for scale in (1e-15, 1.0, 1e12):
        found = class_wasserstein(scale * a[:, None], np.zeros(30), scale * b[:, None], np.zeros(20))[0]
        assert found == pytest.approx(scale * wasserstein_distance(a, b), rel=1e-9, abs=0)


def test_wasserstein_of_regression_counts_the_labels_and_rho():
    target, source = ([[0.0], [0.0]], [0.0, 1.0]), ([[3.0], [3.0]], [2.0, 3.0])
    absolute = y_discrepancy(target, source, loss="absolute", radius=2.0, method="wasserstein")
    assert absolute.value == pytest.approx(2 * 3 + 2)
    squared = y_discrepancy(target, source, loss="squared", radius=2.0, method="wasserstein")
    rho = 2 * (3 + np.sqrt(3**2 + 1) * 2)  # the largest label, and the largest row with its constant feature
    assert squared.value == pytest.approx(rho * (2 * 3 + 2))
    assert any(f"{rho:g}" in each for each in squared.assumptions)


@every_loss
@every_method
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(loss, method):
    (X, y), source = domains(3, loss)
    X[-1] *= 100  # the row without weight, so R must not count it
    doubled = np.vstack([X[:-1], X[:1]]), np.append(y[:-1], y[0])
    weight = np.ones(len(y))
    weight[0], weight[-1] = 2, 0
    options = {"loss": loss, "radius": 1.0, "method": method}
    assert float(y_discrepancy((X, y, 5 * weight), source, **options)) == pytest.approx(
        float(y_discrepancy(doubled, source, **options)), rel=1e-6
    )
    if method == "wasserstein":
        return
    weighted = marginal_discrepancy(X, source[0], loss=loss, radius=1.0, weight_target=weight)
    assert float(weighted) == pytest.approx(
        float(marginal_discrepancy(doubled[0], source[0], loss=loss, radius=1.0)), rel=1e-6
    )


@every_loss
@every_method
def test_order_of_rows_and_sides_do_not_matter_and_inputs_stay(loss, method):
    target, source = domains(4, loss)
    kept = [each.copy() for pair in (target, source) for each in pair]
    options = {"loss": loss, "radius": 2.0, "method": method}
    value = float(y_discrepancy(target, source, **options))
    order = np.random.default_rng(1).permutation(len(target[1]))
    permuted = target[0][order], target[1][order]
    assert float(y_discrepancy(permuted, source, **options)) == pytest.approx(value, rel=1e-6)
    assert float(y_discrepancy(source, target, **options)) == pytest.approx(value, rel=1e-6)
    if method == "estimate":
        marginal = float(marginal_discrepancy(target[0], source[0], loss=loss, radius=2.0))
        assert float(marginal_discrepancy(permuted[0], source[0], loss=loss, radius=2.0)) == pytest.approx(marginal)
    for before, after in zip(kept, (each for pair in (target, source) for each in pair), strict=True):
        np.testing.assert_array_equal(before, after)


@every_loss
@pytest.mark.parametrize("d", [3, 40])
def test_sparse_equals_dense(loss, d):
    target, source = domains(5, loss, d=d)
    for X, _ in (target, source):
        X[np.abs(X) < 0.7] = 0
    source[0][0] = target[0][0]  # at distance 0
    sparse = [(sp.csr_array(X), y) for X, y in (target, source)]
    for method in ("estimate", "wasserstein"):
        options = {"loss": loss, "radius": 1.0, "method": method, "max_iter": 30}
        found, known = y_discrepancy(*sparse, **options), y_discrepancy(target, source, **options)
        assert found.value == pytest.approx(known.value, rel=1e-9)
        assert found.hypothesis is None or found.hypothesis.shape == (d + 1,)
    assert float(marginal_discrepancy(sparse[0][0], sparse[1][0], loss=loss, radius=1.0, max_iter=30)) == pytest.approx(
        float(marginal_discrepancy(target[0], source[0], loss=loss, radius=1.0, max_iter=30)), rel=1e-9
    )
    same = class_wasserstein(sparse[0][0], np.zeros(12), sparse[0][0][::-1], np.zeros(12))
    assert same == {0.0: 0.0}
    Z = 1e5 * target[0]
    near = class_wasserstein(sp.csr_array(Z), np.zeros(12), sp.csr_array(Z + 1e-3 * (Z != 0)), np.zeros(12))[0.0]
    assert near == pytest.approx(1e-3 * np.sqrt((Z != 0).sum(axis=1)).mean(), rel=1e-6)


def test_same_seed_same_estimate():
    target, source = domains(6, "hinge")
    first, second = (y_discrepancy(target, source, loss="hinge", radius=5.0) for _ in range(2))
    assert first.value == second.value
    np.testing.assert_array_equal(first.hypothesis, second.hypothesis)


def test_squared_marginal_discrepancy_is_the_spectral_norm_and_above_random_pairs():
    (T, _), (S, _) = domains(7, "squared")
    found = marginal_discrepancy(T, S, radius=1.5, fit_intercept=False)
    spectral = np.abs(np.linalg.eigvalsh(T.T @ T / len(T) - S.T @ S / len(S))).max()
    assert found.kind == "exact"
    assert found.value == pytest.approx(4 * 1.5**2 * spectral, rel=1e-12)
    rng = np.random.default_rng(0)
    u = in_ball(rng, 3, 1.5, 3000) - in_ball(rng, 3, 1.5, 3000)
    assert np.abs(((T @ u) ** 2).mean(axis=0) - ((S @ u) ** 2).mean(axis=0)).max() <= found.value
    h = found.hypothesis
    assert np.linalg.norm(h) == pytest.approx(1.5)
    assert abs(np.mean((T @ (2 * h)) ** 2) - np.mean((S @ (2 * h)) ** 2)) == pytest.approx(found.value)


@pytest.mark.parametrize("seed", range(3))
def test_absolute_marginal_discrepancy_equals_brute_force(seed):
    (T, _), (S, _) = domains(seed, "absolute", d=2)
    found = marginal_discrepancy(T, S, loss="absolute", radius=1.5, fit_intercept=False).value
    rows = np.vstack([T, S])
    kinks = np.arctan2(rows[:, 0], -rows[:, 1]) % np.pi
    angle = np.append(np.linspace(0, np.pi, 20_001), kinks)
    u = 3.0 * np.stack([np.cos(angle), np.sin(angle)])
    grid = np.abs(np.abs(T @ u).mean(axis=0) - np.abs(S @ u).mean(axis=0)).max()
    assert grid * (1 - 1e-6) <= found <= grid * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_half_space_attains_its_value(seed):
    (T, _), (S, _) = domains(seed, "hinge", n=40, m=30)
    found = marginal_discrepancy(T, S, loss="hinge", radius=1.0)
    w, b = found.hypothesis[:-1], found.hypothesis[-1]
    assert abs(np.mean(T @ w + b > 0) - np.mean(S @ w + b > 0)) == pytest.approx(found.value)
    X, domain = np.vstack([T, S]), np.repeat([1, -1], [40, 30])
    balanced = np.repeat([1 / 40, 1 / 30], [40, 30])
    ways = [WeightedLogisticRegression(lam).fit(X, domain, balanced).coef_[0] for lam in (1.0, 1e-2, 1e-4)]
    best = max(abs(np.mean(T @ v > t) - np.mean(S @ v > t)) for v in ways for t in X @ v)
    assert found.value == pytest.approx(best)
    apart = marginal_discrepancy(T, S + 100, loss="logistic", radius=1.0)
    assert apart.value == pytest.approx(1)
    assert any("optimistic" in each for each in apart.assumptions)


@pytest.mark.parametrize("d", [5, 7, 13, 33])
def test_no_half_space_parts_equal_rows(d):
    """Their scores may differ in the last digit."""
    rng = np.random.default_rng(d)
    common, a, b = rng.normal(size=(3, d))
    T, S = np.vstack([np.tile(common, (19, 1)), a]), np.vstack([b, np.tile(common, (29, 1))])
    found = marginal_discrepancy(T, S, loss="hinge", radius=1.0).value
    assert found == pytest.approx(1 / 20)  # a alone; b would be 1/30, and both on one side less


def test_shifted_classes_are_apart_by_the_shift():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(30, 4)), rng.choice(["a", "b", "c"], 30)
    shift = {"a": np.array([3.0, 4.0, 0, 0]), "b": np.zeros(4), "c": np.array([0, 0, 0, 0.5])}
    moved = Z + np.stack([shift[c] for c in y])
    order = rng.permutation(30)
    found = class_wasserstein(Z, y, moved[order], y[order])
    assert found == pytest.approx({"a": 5.0, "b": 0.0, "c": 0.5}, abs=1e-12)


def test_matrix_of_tasks_is_its_pairs():
    rng = np.random.default_rng(0)
    Z, y, task = rng.normal(size=(60, 3)), np.tile([0, 1], 30), np.repeat(["u", "v", "w"], 20)
    tasks, classes, distances = class_wasserstein_matrix(Z, y, task)
    assert (tasks.tolist(), classes.tolist()) == (["u", "v", "w"], [0, 1])
    np.testing.assert_array_equal(distances, distances.transpose(1, 0, 2))
    assert not distances[np.arange(3), np.arange(3)].any()
    pair = class_wasserstein(Z[task == "u"], y[task == "u"], Z[task == "w"], y[task == "w"])
    np.testing.assert_allclose(distances[0, 2], [pair[0], pair[1]], rtol=1e-12)
    assert (distances <= distances[:, [1]] + distances[[1]] + 1e-12).all()  # the triangle over the second task


def test_at_most_max_rows_of_each_class_are_moved():
    Z, y = np.arange(20.0)[:, None], np.zeros(20)
    one = class_wasserstein(Z, y, np.full((1, 1), -1.0), [0], max_rows=1, random_state=0)[0]
    assert one in np.arange(1, 21)
    assert one == class_wasserstein(Z, y, np.full((1, 1), -1.0), [0], max_rows=1, random_state=0)[0]
    assert class_wasserstein(Z, y, Z + 1, y, max_rows=20) == {0.0: 1.0}


def test_proposition_2_by_hand():
    W = np.zeros((3, 3, 2))
    W[0, 1] = W[1, 0] = [1.0, 2.0]
    W[1, 2] = W[2, 1] = [4.0, 6.0]
    W[0, 2] = W[2, 0] = [100.0, 100.0]
    bound = proposition_2(0.25, [0.2, 0.5, 0.3], 1, W, nu=3.0, rho=2.0)
    assert bound.terms == pytest.approx({"weighted risk": 0.25, "semantic distance": 3 * 2 / 2 * (0.2 * 3 + 0.3 * 10)})
    assert bound.total == pytest.approx(0.25 + 10.8)
    assert bound.delta == 0
    own = proposition_2(0.25, [0, 1, 0], 1, W + 7 * np.eye(3)[:, :, None], nu=3.0)
    assert own.terms["semantic distance"] == 0  # a task is at no distance from itself, whatever the diagonal says


def test_proposition_2_holds_for_lipschitz_losses():
    """The loss |<v, z>|, ||v|| = nu, on classes of equal shares."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        Z, v = rng.normal(size=(36, 2)) + rng.normal(size=(36, 1)), rng.normal(size=2)
        y, task = np.tile([0, 1], 18), np.repeat([0, 1, 2], 12)
        _, _, W = class_wasserstein_matrix(Z, y, task)
        gamma = rng.dirichlet(np.ones(3))
        risk = np.array([np.abs(Z[task == k] @ v).mean() for k in range(3)])
        for j in range(3):
            assert risk[j] <= proposition_2(gamma @ risk, gamma, j, W, nu=np.linalg.norm(v)).total + 1e-12


GOOD = (np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([-1, 1]))
NAN = np.array([[0.0, np.nan], [2.0, 3.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: y_discrepancy(GOOD, GOOD, radius=0), "radius is 0: .* above 0"),
        (lambda: y_discrepancy(GOOD, GOOD, radius=np.inf), "radius is inf"),
        (lambda: y_discrepancy(GOOD, GOOD, radius=1, loss="huber"), "loss is 'huber': use one of 'logistic'"),
        (lambda: y_discrepancy(GOOD, GOOD, radius=1, method="mmd"), "method is 'mmd': use 'estimate'"),
        (lambda: y_discrepancy(GOOD, GOOD, radius=1, max_iter=0), "max_iter is 0: use"),
        (lambda: y_discrepancy(GOOD, GOOD, radius=1, rho=-1, method="wasserstein"), "rho is -1: give"),
        (lambda: y_discrepancy((GOOD[0], [0, 1]), GOOD, radius=1), "target has the label 0: the logistic loss takes"),
        (lambda: y_discrepancy(GOOD, (GOOD[0], ["a", "b"]), radius=1), "source has labels that are no numbers"),
        (
            lambda: y_discrepancy(GOOD, (GOOD[0], [np.nan, 1]), radius=1, loss="squared"),
            "source has the label nan: drop",
        ),
        (lambda: y_discrepancy((NAN, GOOD[1]), GOOD, radius=1), "the target has the entry nan: impute"),
        (lambda: y_discrepancy(GOOD, (sp.csr_array(NAN), [1, 1]), radius=1), "the source has the entry nan"),
        (lambda: y_discrepancy(GOOD, (np.ones((2, 5)), [1, 1]), radius=1), "target has 2 columns, the source 5: give"),
        (lambda: y_discrepancy(GOOD, (np.ones((0, 2)), []), radius=1), "the source has 0 rows: give"),
        (lambda: y_discrepancy(GOOD, (GOOD[0], [1]), radius=1), r"y of the source has shape \(1,\) for 2 rows: give"),
        (lambda: y_discrepancy(GOOD, (*GOOD, [1, -1]), radius=1), "sample_weight has -1.0 at row 1"),
        (lambda: y_discrepancy(GOOD, GOOD[0], radius=1), "the source is ndarray, not a tuple"),
        (lambda: marginal_discrepancy(GOOD[0], NAN, radius=1), "the source has the entry nan"),
        (lambda: marginal_discrepancy(GOOD[0], GOOD[0], radius=-1), "radius is -1"),
        (lambda: marginal_discrepancy(GOOD[0], GOOD[0][:, :1], radius=1, loss="hinge"), "2 columns, the source 1"),
        (
            lambda: marginal_discrepancy(GOOD[0], GOOD[0], radius=1, loss="hinge", fit_intercept=False),
            "fit_intercept=False .* use True",
        ),
        (lambda: class_wasserstein(GOOD[0], ["u", "v"], GOOD[0], ["u", "u"]), "b has no row of class 'v': give"),
        (lambda: class_wasserstein(GOOD[0], ["u", "u"], GOOD[0], ["u", "v"]), "a has no row of class 'v': give"),
        (lambda: class_wasserstein(GOOD[0], [0, 1], GOOD[0][:, :1], [0, 1]), "Z_a has 2 columns, Z_b 1"),
        (lambda: class_wasserstein(GOOD[0], [0, 1], GOOD[0], [0, 1], max_rows=0), "max_rows is 0"),
        (lambda: class_wasserstein_matrix(GOOD[0], [0, 1], ["s", "t"]), "task 's' has no row of class 1"),
        (lambda: class_wasserstein_matrix(GOOD[0], [0, 1], ["s"]), r"sample_task has shape \(1,\) for 2 rows"),
        (lambda: proposition_2(0.1, [0.5, 0.4], 0, np.zeros((2, 2, 1)), nu=1), r"gamma is \[0.5, 0.4\]: .* sum to one"),
        (lambda: proposition_2(0.1, [1.0], 0, np.zeros((2, 2, 1)), nu=1), r"gamma has shape \(1,\) for 2 tasks"),
        (lambda: proposition_2(0.1, [0.5, 0.5], 2, np.zeros((2, 2, 1)), nu=1), "j is 2: .* from 0 to 1"),
        (lambda: proposition_2(0.1, [0.5, 0.5], 0, np.zeros((2, 2)), nu=1), r"distances has shape \(2, 2\)"),
        (lambda: proposition_2(0.1, [0.5, 0.5], 0, -np.ones((2, 2, 1)), nu=1), "distances has -1.0"),
        (lambda: proposition_2(np.nan, [0.5, 0.5], 0, np.zeros((2, 2, 1)), nu=1), "weighted_risk is nan"),
        (lambda: proposition_2(0.1, [0.5, 0.5], 0, np.zeros((2, 2, 1)), nu=0), "nu is 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_without_pot_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[theory\]"'):
        y_discrepancy(GOOD, GOOD, radius=1, method="wasserstein")
    assert float(y_discrepancy(GOOD, GOOD, radius=1)) == 0
