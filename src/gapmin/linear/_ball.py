"""The search for the hypothesis of a ball on which two samples differ most: ascent, and a trust region problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from gapmin._utils.typing import Array
from gapmin.linear._logistic import WeightedLogisticRegression
from gapmin.linear._losses import LOSS_BY_NAME, MARGIN_LOSSES, Loss, Power, log_loss
from gapmin.linear._matrix import away_from_zero, dense, in_unit, largest, squared_norms, stack, unit
from gapmin.linear._problem import WeightedRows

_RANDOM_STARTS, _SCREENING_STEPS, _KEPT_STARTS = 8, 30, 8
_WIDTHS = np.array([0.01, 3e-3, 1e-3, 1e-4, 1e-5])
"""Widths of the softened kinks, in the largest score; wider ones make one maximum of several, and the wrong one."""

ColumnObjective = Callable[[Array], tuple[Array, Array]]


def search_ball(
    loss: str, target: WeightedRows, source: WeightedRows, radius: float, max_iter: int, random_state: Any
) -> tuple[float, Array]:
    """Maximise L_T - L_S and L_S - L_T by ascent from every start; return the best value found and its h."""
    function = LOSS_BY_NAME[loss]
    units = _Units(function, target, source)
    X, y, weight = units.stacked
    radius = radius / units.of_hypothesis
    difference = _objective(function, X, y, weight)
    # At a kink a subgradient may point nowhere useful, so a loss with kinks is maximised softened first.
    widest = radius * float(np.sqrt(np.max(squared_norms(X))))
    softened = [] if function.smooth else [_objective(function, X, y, weight, width) for width in widest * _WIDTHS]
    first, *others = [*softened, difference]
    starts = _starts(loss, X, y, weight, radius, max_iter, random_state)
    sign, H = np.repeat([1.0, -1.0], starts.shape[1]), np.hstack([starts, starts])
    # A few steps from all starts, then all steps from the best; equal values are one local maximum.
    H = _ascend(first, H, sign, radius, min(max_iter, _SCREENING_STEPS))
    height = sign * first(H)[0]
    kept = np.unique(np.round(-height / away_from_zero(np.max(np.abs(height))), 5), return_index=True)[1][:_KEPT_STARTS]
    every, H, sign = [starts, H], H[:, kept], sign[kept]
    for stage in (first, *others):
        H = _ascend(stage, H, sign, radius, max_iter, tol=1e-10 if stage is difference else 1e-6)
        every.append(H)
    found = np.hstack(every)
    best = found[:, np.argmax(np.abs(difference(found)[0]))] * units.of_hypothesis
    return _attained(function, target, source, best), best


def _starts(loss: str, X: Any, y: Array, weight: Array, radius: float, max_iter: int, random_state: Any) -> Array:
    """Return the hypotheses to start from, in columns; with each its opposite."""
    n_columns = X.shape[1]
    if loss in MARGIN_LOSSES:
        # Sec. 4.1.2: the relabelled classification, regularised by balls of several radii.
        relabelled = _objective(LOSS_BY_NAME["logistic"], X, np.where(weight > 0, y, -y), -np.abs(weight))
        radii = radius * np.array([1.0, 0.3, 0.1, 0.01])
        likely = _ascend(relabelled, np.zeros((n_columns, radii.size)), np.ones(radii.size), radii, max_iter, tol=1e-4)
    else:
        likely = _squared_ends(X, y, weight, radius)
    slope = _objective(LOSS_BY_NAME[loss], X, y, weight)(np.zeros((n_columns, 1)))[1]
    random = check_random_state(0 if random_state is None else random_state).normal(size=(n_columns, _RANDOM_STARTS))
    ends = np.hstack([likely, slope, random])
    ends = ends * (radius / away_from_zero(_norm(ends)))
    return np.hstack([likely, -likely, ends, -ends, np.zeros((n_columns, 1))])


def _objective(loss: Loss, X: Any, y: Array, weight: Array, width: float = 0.0) -> ColumnObjective:
    """Return sum_i weight_i loss_i and its gradient as a function of hypotheses in columns.

    With a `width`, max(low * r, high * r) of a loss with kinks becomes low * r + (high - low) * softplus(r).
    """
    labels, column = y[:, None], weight[:, None]

    def plain(H: Array) -> tuple[Array, Array]:
        score = X @ H
        return weight @ loss.value(score, labels), X.T @ (column * loss.gradient(score, labels))

    if not width:
        return plain
    bends = loss.kinks(y, np.ones_like(y))
    sign, bend, low, high = (each[:, None] for each in (bends.sign, bends.bend, bends.low, bends.high))

    def softened(H: Array) -> tuple[Array, Array]:
        r = (bend - sign * (X @ H)) / width
        soft, share = log_loss(-r)
        value = width * (low * r + (high - low) * soft)
        return weight @ value, X.T @ (column * -sign * (low + (high - low) * share))

    return softened


def _ascend(
    objective: ColumnObjective, H: Array, sign: Array, radius: Array | float, max_iter: int, tol: float = 1e-10
) -> Array:
    """Maximise sign * objective from every column of H at once, each on its own ball; no step goes down."""

    def evaluate(H: Array) -> tuple[Array, Array]:
        value, gradient = objective(H)
        return sign * value, sign * gradient

    def project(H: Array) -> Array:
        return H * np.minimum(1, radius / away_from_zero(_norm(H)))

    H = project(H)
    value, gradient = evaluate(H)
    step = radius / away_from_zero(_norm(gradient))
    for _ in range(max_iter):
        proposal = project(H + step * gradient)
        move = proposal - H
        if (_norm(move) <= tol * radius).all():
            break
        new_value, new_gradient = evaluate(proposal)
        better = new_value >= value + 1e-4 * (gradient * move).sum(axis=0)
        H = np.where(better, proposal, H)
        value = np.where(better, new_value, value)
        gradient = np.where(better, new_gradient, gradient)
        # Longer after success, shorter after failure; a step far beyond the ball only turns h into the gradient.
        step = np.minimum(np.where(better, 2, 0.25) * step, 1e3 * radius / away_from_zero(_norm(gradient)))
    return H


def largest_squared(target: WeightedRows, source: WeightedRows, radius: float) -> tuple[float, Array]:
    """Return the exact maximum of |L_T - L_S| for the squared loss, and its h."""
    units = _Units(LOSS_BY_NAME["squared"], target, source)
    ends = _squared_ends(*units.stacked, radius / units.of_hypothesis) * units.of_hypothesis
    values = [_attained(LOSS_BY_NAME["squared"], target, source, h) for h in ends.T]
    best = int(np.argmax(values))
    return values[best], ends[:, best]


def _squared_ends(X: Any, y: Array, weight: Array, radius: float) -> Array:
    """Return, in columns, where L_T - L_S of the squared loss is largest and where it is smallest."""
    Z, basis = _row_space(X)
    A, b = Z.T @ (weight[:, None] * Z), Z.T @ (weight * y)
    return np.asarray(basis @ np.column_stack([_largest_on_ball(s * A, s * b, radius) for s in (1, -1)]))


def _largest_on_ball(A: Array, b: Array, radius: float) -> Array:
    """Return the h that maximises h' A h - 2 b' h over ||h|| <= radius: the trust-region problem, solved exactly.

    In the eigenvectors of -A, h_i = q_i / (gap_i + t) where gap_i is how far an eigenvalue is above the smallest and t
    how far the multiplier is above its floor. ||h|| falls in t, and the secular equation ||h|| = radius has one root.
    """
    curvature, V = np.linalg.eigh(-A)
    q = -(V.T @ b)
    lowest = float(curvature[0])
    gap = curvature - lowest
    bottom = gap <= 1e-12 * max(np.abs(curvature).max(), np.finfo(float).tiny)
    if lowest > 0 and np.linalg.norm(q / curvature) <= radius:
        return V @ (q / curvature)

    def length(t: float) -> float:
        return float(np.linalg.norm(q / (gap + t)))

    # Between these ||h|| is radius: it is at least pull / t, and at most ||q|| / t. In the hard case it is below radius
    # even at the floor.
    t, pull = 0.0, float(np.linalg.norm(q[bottom]))
    low = max(pull / radius, lowest, 1e-300) * (1 - 1e-9)
    high = float(np.linalg.norm(q)) / radius * (1 + 1e-9)
    if length(low) > radius:
        t = brentq(lambda t: 1 / length(t) - 1 / radius, low, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    h = np.zeros_like(q)
    h[~bottom] = q[~bottom] / (gap[~bottom] + t)
    # The lowest eigenvectors take what is left of the radius: all of it is theirs to give in the hard case.
    way = q[bottom] / pull if pull > 0 else np.eye(int(bottom.sum()))[0]
    h[bottom] = way * np.sqrt(max(radius**2 - float(h @ h), 0.0))
    return V @ (h * (radius / np.linalg.norm(h)))


def half_space(target: WeightedRows, source: WeightedRows) -> tuple[float, Array]:
    """Return the largest |P_T(A) - P_S(A)| over half-spaces along a few logistic regressions, and its (w, b)."""
    X, _, weight = _stack(target, source)
    scale = unit(largest(X))
    X = in_unit(X, scale)
    domain, best = np.where(weight > 0, 1, -1), (-1.0, np.zeros(X.shape[1] + 1))
    for lam in (1.0, 1e-2, 1e-4):
        w = WeightedLogisticRegression(lam).fit(X, domain, np.abs(weight)).coef_[0]
        score = X @ w
        # Equal rows may differ in the last digits of a product: a threshold between them would be chance.
        size = float(np.max(np.abs(score)))
        level = np.round(score / size, 10) if size > 0 else np.zeros_like(score)
        cuts, position = np.unique(level, return_inverse=True)
        above = np.abs(np.cumsum(np.bincount(position, weights=weight)))
        cut = int(np.argmax(above[:-1])) if cuts.size > 1 else 0
        if above[cut] > best[0]:
            threshold = size * (cuts[cut] + cuts[min(cut + 1, cuts.size - 1)]) / 2
            best = float(above[cut]), np.append(w / scale, -threshold)
    return min(best[0], 1.0), best[1]


def _attained(loss: Loss, target: WeightedRows, source: WeightedRows, h: Array) -> float:
    """Return |L_T(h) - L_S(h)|, each summed alone so that equal domains give 0."""
    risks = [float(each.weight @ loss.value(each.X @ h, each.y)) for each in (target, source)]
    return abs(risks[0] - risks[1])


class _Units:
    """The rows of both, with features and labels of about 1 for the tolerances here, and what h is measured in then."""

    def __init__(self, loss: Loss, target: WeightedRows, source: WeightedRows) -> None:
        X, y, weight = _stack(target, source)
        x_unit, y_unit = unit(largest(X)), unit(largest(y)) if isinstance(loss, Power) else 1.0
        self.stacked = in_unit(X, x_unit), in_unit(y, y_unit), weight
        self.of_hypothesis = y_unit / x_unit


def _stack(target: WeightedRows, source: WeightedRows) -> tuple[Any, Array, Array]:
    """Return the rows of both and the weights that make sums differences: positive target, negative source."""
    X = stack([target.X, source.X])
    return X, np.concatenate([target.y, source.y]), np.concatenate([target.weight, -source.weight])


def _row_space(X: Any) -> tuple[Array, Any]:
    """Return dense Z and a matrix with orthonormal columns so that X = Z basis'; no wider than X is long.

    What is orthogonal to every row changes no score, so h = basis a loses nothing.
    """
    n_rows, n_columns = X.shape
    if n_columns <= n_rows:
        return dense(X), np.eye(n_columns)
    if not sp.issparse(X):
        basis, R = np.linalg.qr(X.T)
        return R.T, basis
    eigenvalues, U = np.linalg.eigh((X @ X.T).toarray())
    kept = eigenvalues > 1e-13 * max(eigenvalues[-1], np.finfo(float).tiny)
    root = np.sqrt(eigenvalues[kept])
    return U[:, kept] * root, X.T @ (U[:, kept] / root)


def _norm(H: Array) -> Array:
    return np.asarray(np.linalg.norm(H, axis=0))
