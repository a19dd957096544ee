"""Logistic regression ends near the smallest objective, or says that it does not, however small the penalty."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from gapmin.linear import WeightedLogisticRegression
from gapmin.linear._solver import metric_from_state, minimise
from gapmin.linear.solvers import LogisticObjective


def ill_conditioned(seed):
    """Return rows whose features differ in size, nearly repeat each other, or vary little around a large mean."""
    rng = np.random.default_rng(seed)
    n, d, n_classes = int(rng.integers(30, 200)), int(rng.integers(2, 12)), int(rng.choice([2, 3, 4]))
    condition, lam = 10 ** rng.uniform(4, 8), 10 ** rng.uniform(-8, -5)
    X = rng.normal(size=(n, d))
    kind = seed % 3
    if kind == 0:
        X = X * np.geomspace(1e4, 1e4 / condition, d)
    elif kind == 1:
        U, _, V = np.linalg.svd(X, full_matrices=False)
        X = 1e2 * np.sqrt(n) * (U * np.geomspace(1, 1 / condition, d)) @ V
    else:
        X = X + 10 ** rng.uniform(3, 6) * rng.normal(size=d)
    score = (X - X.mean(axis=0)) @ (rng.normal(size=(d, n_classes)) / X.std(axis=0)[:, None])
    if rng.random() < 0.5:  # or else the classes separate
        score += rng.gumbel(size=score.shape)
    y = score.argmax(axis=1)
    y[:n_classes] = range(n_classes)
    return X, y, rng.exponential(size=n) ** rng.choice([1, 4]), lam


def smallest(X, y, weight, lam, model):
    """Return the objective of the model and the smallest one: damped Newton on features of mean 0 and size 1."""
    weight = weight / weight.sum()
    mean = weight @ X
    size = np.sqrt(weight @ (X - mean) ** 2)
    A = np.column_stack([(X - mean) / size, np.ones(len(X))])
    coef = np.vstack([-model.coef_, model.coef_]) / 2 if len(model.coef_) == 1 else model.coef_
    intercept = np.array([-1, 1]) * model.intercept_ / 2 if len(model.coef_) == 1 else model.intercept_
    # Two outputs of opposite sign have half the penalty of one.
    penalty = np.append(2 * lam * (2 if len(model.coef_) == 1 else 1) / size**2, 0.0)
    H = np.column_stack([coef * size, intercept + coef @ mean])
    K, p = H.shape
    rows = np.arange(len(X))

    def value(H):
        margin = A @ H.T
        return weight @ (logsumexp(margin, axis=1) - margin[rows, y]) + 0.5 * float((penalty * H**2).sum())

    now = first = value(H)
    for _ in range(200):
        P = softmax(A @ H.T, axis=1)
        residual = P.copy()
        residual[rows, y] -= 1
        gradient = ((weight[:, None] * residual).T @ A + penalty * H).ravel()
        hessian = np.zeros((K, p, K, p))
        for a in range(K):
            for b in range(K):
                hessian[a, :, b] = A.T @ ((weight * P[:, a] * ((a == b) - P[:, b]))[:, None] * A)
            hessian[a, :, a] += np.diag(penalty)
        table = hessian.reshape(K * p, K * p)
        root = np.sqrt(np.maximum(np.diag(table), 1e-300))
        values, V = np.linalg.eigh(table / root[:, None] / root)
        step = V @ ((V.T @ (gradient / root)) / np.maximum(values, 1e-14)) / root
        length = 1.0
        while length > 1e-10 and not value(H - length * step.reshape(K, p)) <= now - 1e-4 * length * gradient @ step:
            length /= 2
        if length <= 1e-10 or gradient @ step < 1e-13:
            break
        H = H - length * step.reshape(K, p)
        now = value(H)
    return first, now


@pytest.mark.parametrize("seed", range(24))
def test_ends_near_the_smallest_objective(seed):
    X, y, weight, lam = ill_conditioned(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = WeightedLogisticRegression(lam).fit(X, y, weight)
    found, least = smallest(X, y, weight, lam, model)
    assert found - least < 1e-6
    assert model.n_iter_ < 200


def test_a_small_gradient_is_not_enough_where_the_penalty_is_smaller():
    """Its largest entry is at most c, within the tolerance from the start, and everything is still to be gained."""
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(50, 3)), 1e-9
    y = X[:, 0] + 0.5 * rng.normal(size=50) > 0
    model = WeightedLogisticRegression(1e-3 * c**2, fit_intercept=False).fit(c * X, y)
    at_one = WeightedLogisticRegression(1e-3, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(c * model.coef_, at_one.coef_, atol=1e-4)


def test_large_features_are_no_reason_to_warn_or_to_go_on():
    """No gradient of such features is within the tolerance; the objective is."""
    rng = np.random.default_rng(0)
    X = 1e11 * rng.normal(size=(100, 4))
    y = X[:, 0] + 1e11 * rng.normal(size=100) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert WeightedLogisticRegression().fit(X, y).n_iter_ < 100


def test_what_stops_short_says_how_far():
    X, y, weight, lam = ill_conditioned(5)
    model = WeightedLogisticRegression(lam, max_iter=4)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after 4 steps about (.*) above the smallest obj.*max_iter"
    ) as w:
        model.fit(X, y, weight)
    said = float(str(w[0].message).split("about ")[1].split(" above")[0])
    found, least = smallest(X, y, weight, lam, model)
    assert said > 0.1 * (found - least) > 1e-7


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_exact_metric_is_the_hessian(n_classes, fit_intercept):
    rng = np.random.default_rng(0)
    X = 5 + rng.normal(size=(40, 3)) * [1.0, 0.1, 10.0]
    objective = LogisticObjective(X, np.arange(40) % n_classes, n_classes, 0.01, fit_intercept)
    objective.weight = np.full(40, 1 / 40)
    h = 0.1 * rng.normal(size=objective.n_parameters)
    step = 1e-5 * np.eye(h.size)
    hessian = [(objective.evaluate(h + e)[1] - objective.evaluate(h - e)[1]) / 2e-5 for e in step]
    objective.evaluate(h)
    metric = objective.exact_metric()
    restored = metric_from_state(metric.get_state(), h.size)
    right = rng.normal(size=h.size)
    if fit_intercept and n_classes > 2:  # shifting all intercepts alike changes nothing
        right.reshape(n_classes, -1)[:, -1] -= right.reshape(n_classes, -1)[:, -1].mean()
    for each in (metric, restored):
        np.testing.assert_allclose(hessian @ each.solve(right), right, atol=1e-6)


def test_without_a_check_of_the_gap_the_gradient_alone_counts():
    rng = np.random.default_rng(0)
    X = 1e-9 * rng.normal(size=(50, 3))
    objective = LogisticObjective(X, np.arange(50) % 2, 2, 1e-20, False)
    objective.weight = np.full(50, 1 / 50)
    assert minimise(objective, np.zeros(3)).n_iter == 0
    assert minimise(objective, np.zeros(3), gap=objective).n_iter > 0
