"""The problem that every setting poses, and its exact solution.

    sum_i w_i loss(<h_task(i), x_i>, y_i) + tr((H - C)' P (H - C))

over H, a row for each task, with a positive definite K x K penalty P that couples the tasks and a centre C to be pulled
to. One task with P = lam is l2-regularised learning; C = <H, Xi> is hypothesis transfer; P = Omega^-1 is task
covariance.

Smooth losses go to the quasi-Newton solver of `_solver`; piecewise linear ones to an interior point method on the box
of their dual, polished on the active set, so that the duality gap ends at round-off. Both ask for one kind of matrix,
the blocks X_k' D_k X_k with the penalty added, of K d rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lstsq, qr
from sklearn.exceptions import ConvergenceWarning

from gapmin.linear._losses import Array, Loss, Power
from gapmin.linear._solver import CholeskyMetric, DiagonalMetric, Metric, minimise, weighted_gram

GRADIENT_TOLERANCE = 1e-8
"""What a smooth fit promises; it aims lower."""

GAP_TOLERANCE = 1e-12
"""The duality gap that a piecewise linear fit promises; it aims lower."""

_NEAR, _ROUND_OFF = 1e-9, 1e-15
"""Where the quasi-Newton solver hands over to Newton's method, and where that ends."""

_FACTOR_LIMIT = 1200
"""Above this many parameters smooth losses go without a factor of the Hessian."""

_DENSE_LIMIT = 12_000
"""Above this many parameters a piecewise linear loss would need a matrix of more than a gigabyte."""

_FAR_OUT = 18.0
"""A logistic margin beyond which the loss is below 1e-8: without a penalty, a sign of separated classes."""

_TRY_ACTIVE_SET = 1e-5
_TINY = 1e-200


@dataclass(frozen=True)
class Rows:
    """The rows of one task: features (dense or csr), labels, and weights of at least 0."""

    X: Any
    y: Array
    weight: Array

    def score(self, h: Array) -> Array:
        """Return <h, x> of every row."""
        return np.asarray(self.X @ h)

    def loss(self, loss: Loss, h: Array) -> float:
        """Return the weighted loss of `h`."""
        return float(self.weight @ loss.value(self.score(h), self.y))


@dataclass
class Solution:
    """The minimiser, a row for each task, and how exact it is.

    `error` is the largest entry of the gradient for smooth losses, the duality gap for the others.
    """

    H: Array
    error: float
    metric: Metric | None = None

    @property
    def h(self) -> Array:
        """The minimiser of a problem of one task."""
        return self.H[0]


@dataclass
class Problem:
    """Losses of K tasks and the penalty that couples them.

    Parameters
    ----------
    tasks : list of Rows
        All with the same number d of features.
    loss : Loss
    penalty : float or ndarray of shape (K, K)
        A number is that multiple of the identity.
    centre : ndarray of shape (K, d), optional
        What the penalty pulls to; 0 without it.
    """

    tasks: list[Rows]
    loss: Loss
    penalty: Any
    centre: Array | None = None
    _scores: list[Array] = field(default_factory=list, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """K and d."""
        return len(self.tasks), self.tasks[0].X.shape[1]

    @cached_property
    def P(self) -> Array:
        """The penalty as a matrix."""
        return np.atleast_2d(self.penalty) if np.ndim(self.penalty) else self.penalty * np.eye(len(self.tasks))

    @cached_property
    def C(self) -> Array:
        """The centre as a matrix."""
        return np.zeros(self.shape) if self.centre is None else np.asarray(self.centre, dtype=float)

    def value(self, H: Array) -> float:
        """Return the objective."""
        away = H - self.C
        losses = sum(rows.loss(self.loss, h) for rows, h in zip(self.tasks, H, strict=True))
        return losses + float(np.vdot(away, self.P @ away))

    # What the smooth solver asks for.

    def evaluate(self, flat: Array) -> tuple[float, Array]:
        """Return value and gradient at a flat vector of the rows of H."""
        H = flat.reshape(self.shape)
        away = H - self.C
        pull = self.P @ away
        value, gradient = float(np.vdot(away, pull)), 2 * pull
        self._scores = []
        for k, (rows, h) in enumerate(zip(self.tasks, H, strict=True)):
            score = rows.score(h)
            value += float(rows.weight @ self.loss.value(score, rows.y))
            gradient[k] += rows.X.T @ (rows.weight * self.loss.gradient(score, rows.y))
            self._scores.append(score)
        return value, gradient.ravel()

    def metric(self, attempt: int, *, bound: bool = False) -> Metric:
        """Return the Hessian at the last point evaluated, as a Cholesky factor where that is affordable."""
        weights: list[Array] = []
        for rows, score in zip(self.tasks, self._scores, strict=True):
            curvature = np.full_like(score, 0.25) if bound else self.loss.curvature(score, rows.y)
            weights.append(rows.weight * curvature)
        if np.prod(self.shape) > _FACTOR_LIMIT:
            return DiagonalMetric(self._diagonal(weights))
        return CholeskyMetric([self.gram(weights)], patience=3)

    def _diagonal(self, weights: list[Array]) -> Array:
        parts = []
        for k, (rows, weight) in enumerate(zip(self.tasks, weights, strict=True)):
            squares = rows.X.power(2) if sp.issparse(rows.X) else rows.X**2
            parts.append(squares.T @ weight + 2 * self.P[k, k])
        return np.concatenate(parts)

    def hessian(self, H: Array) -> Array:
        """Return the matrix of second derivatives at H, of K d rows."""
        pairs = zip(self.tasks, H, strict=True)
        return self.gram([rows.weight * self.loss.curvature(rows.score(h), rows.y) for rows, h in pairs])

    def gram(self, weights: list[Array], scale: float = 1.0) -> Array:
        """Return X_k' diag(weights_k) X_k in blocks, plus `scale` times the penalty's second derivative."""
        K, d = self.shape
        if K == 1:
            matrix = weighted_gram(self.tasks[0].X, weights[0])
            matrix[np.diag_indices(d)] += 2 * scale * self.P[0, 0]
            return matrix
        blocks = np.zeros((K, d, K, d))
        for k, (rows, weight) in enumerate(zip(self.tasks, weights, strict=True)):
            blocks[k, :, k] = weighted_gram(rows.X, weight)
        for feature in range(d):
            blocks[:, feature, :, feature] += 2 * scale * self.P
        return blocks.reshape(K * d, K * d)


def solve(problem: Problem, start: Array | None = None, metric: Metric | None = None) -> Solution:
    """Minimise, exactly.

    Parameters
    ----------
    problem : Problem
    start : ndarray of shape (K, d), optional
        Where to begin.
    metric : Metric, optional
        Of an earlier, similar problem with a smooth loss.
    """
    if not any(rows.weight.any() for rows in problem.tasks):
        return Solution(problem.C, 0.0)  # nothing to learn from
    if not problem.loss.smooth:
        return _solve_wide(problem) if _is_wide(problem) else _interior_point(problem)
    begin = (problem.C if start is None else start).ravel().astype(np.float64)
    scale = max(1.0, float(np.abs(problem.evaluate(problem.C.ravel())[1]).max()))
    found = minimise(problem, begin, metric=metric, tol=_NEAR * scale)
    h, size, last = found.h, found.gradient_norm, found.metric
    for _ in range(3 if h.size <= _FACTOR_LIMIT else 0):
        # A step of Newton's squares what is left of the error, down to what the arithmetic gives.
        if size <= _ROUND_OFF * scale:
            break
        _, gradient = problem.evaluate(h)
        last = problem.metric(0)
        closer = h - last.solve(gradient)
        smaller = float(np.abs(problem.evaluate(closer)[1]).max())
        if not smaller < size:
            break
        h, size = closer, smaller
    if size > GRADIENT_TOLERANCE * scale:
        warnings.warn(
            f"the fit ended with a gradient of {size:.1e}, above {GRADIENT_TOLERANCE:.0e}: "
            "scale the features, or raise lam",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Solution(h.reshape(problem.shape), size, last)


@dataclass(frozen=True)
class Plain:
    """The smallest loss without a penalty, and where: the shortest minimiser, or a point far out on the way to it."""

    h: Array
    value: float
    attained: bool


def solve_plain(rows: Rows, loss: Loss) -> Plain:
    """Minimise the loss alone.

    Of several minimisers the shortest is taken. Where the logistic loss has none (the classes separate), `value` is its
    infimum and `attained` is False.
    """
    if not rows.weight.any():
        return Plain(np.zeros(rows.X.shape[1]), 0.0, True)
    if isinstance(loss, Power) and loss.q == 2:
        root = np.sqrt(rows.weight)
        h = lstsq(_dense(rows.X) * root[:, None], root * rows.y, check_finite=False)[0]
        return Plain(h, rows.loss(loss, h), True)
    squares = rows.X.multiply(rows.X).sum(axis=1) if sp.issparse(rows.X) else np.einsum("ij,ij->i", rows.X, rows.X)
    scale = float(rows.weight @ np.asarray(squares).ravel()) or 1.0
    if not loss.smooth:
        # A piecewise linear loss has an edge at its minimum: a penalty this small does not move it.
        h = solve(Problem([rows], loss, 1e-9 * scale)).h
        return Plain(h, rows.loss(loss, h), True)
    start = None
    for ridge in 10.0 ** np.arange(-2, -15, -2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = solve(Problem([rows], loss, ridge * scale), start).H
        margin = (rows.y * rows.score(start[0]))[rows.weight > 0]
        if margin.min() > 0:
            return Plain(start[0], 0.0, False)
    h = start[0] if start is not None else np.zeros(rows.X.shape[1])
    # Rows that only just separate, and so let h grow without end, show in margins that no finite loss asks for.
    return Plain(h, rows.loss(loss, h), bool(np.abs(margin).max() < _FAR_OUT))


def _dense(X: Any) -> Array:
    return X.toarray() if sp.issparse(X) else X


def _is_wide(problem: Problem) -> bool:
    return problem.shape[1] > sum(rows.X.shape[0] for rows in problem.tasks)


def _solve_wide(problem: Problem) -> Solution:
    """Solve with more features than rows in the span of the rows, where H - C has to lie."""
    stacked = np.vstack([_dense(rows.X) for rows in problem.tasks])
    basis, triangle = qr(stacked.T, mode="economic")
    ends = np.cumsum([rows.X.shape[0] for rows in problem.tasks])[:-1]
    offsets = [rows.score(c) for rows, c in zip(problem.tasks, problem.C, strict=True)]
    tasks = [Rows(X, rows.y, rows.weight) for X, rows in zip(np.split(triangle.T, ends), problem.tasks, strict=True)]
    inner = _interior_point(Problem(tasks, problem.loss, problem.penalty), offsets)
    return Solution(problem.C + inner.H @ basis.T, inner.error)


class _Dual:
    """The piecewise linear problem with weights of mean 1, and its dual over a box.

    Each row's loss is the largest of a (bend - sign <h, x>) over low <= a <= high.
    """

    def __init__(self, problem: Problem, offsets: list[Array] | None = None) -> None:
        self.problem = problem
        self.X = [rows.X for rows in problem.tasks]
        self.sizes = [X.shape[0] for X in self.X]
        kinks = [problem.loss.kinks(rows.y, rows.weight) for rows in problem.tasks]
        self.sign, self.bend, self.low, self.high = (
            np.concatenate([getattr(each, name) for each in kinks]) for name in ("sign", "bend", "low", "high")
        )
        if offsets is not None:
            self.bend = self.bend - self.sign * np.concatenate(offsets)
        self.scale = 1 / float(self.high.mean())
        self.low, self.high = self.low * self.scale, self.high * self.scale
        self.pull = 2 * self.scale * problem.P
        self.loosen = np.linalg.inv(self.pull)

    def parts(self, v: Array) -> list[Array]:
        """Cut a vector over all rows into the tasks'."""
        return np.split(v, np.cumsum(self.sizes)[:-1])

    def score(self, H: Array) -> Array:
        """Return sign <h, x> of every row."""
        return self.sign * np.concatenate([np.asarray(X @ h) for X, h in zip(self.X, H, strict=True)])

    def back(self, a: Array) -> Array:
        """Return the sums of a_i sign_i x_i, a row for each task."""
        return np.stack([np.asarray(X.T @ v) for X, v in zip(self.X, self.parts(self.sign * a), strict=True)])

    def primal_of(self, a: Array) -> Array:
        """Return the H that the multipliers stand for."""
        return self.problem.C + self.loosen @ self.back(a)

    def dual_value(self, a: Array) -> float:
        """Return the dual objective, in the scale of the problem: never above the minimum for `a` in the box."""
        pulled = self.back(a)
        value = a @ (self.bend - self.score(self.problem.C)) - 0.5 * np.vdot(pulled, self.loosen @ pulled)
        return float(value) / self.scale

    def gap(self, H: Array, a: Array) -> float:
        """Return primal minus dual objective, in the scale of the problem."""
        away = H - self.problem.C
        excess = self.bend - self.score(H)
        primal = np.maximum(self.high * excess, self.low * excess).sum() + 0.5 * np.vdot(away, self.pull @ away)
        return float(primal) / self.scale - self.dual_value(a)


def _interior_point(problem: Problem, offsets: list[Array] | None = None) -> Solution:
    """Mehrotra's predictor-corrector on the multipliers' box, then the active set.

    With e = bend - sign <h, x> split into over - under, both at least 0, the conditions are (high - a) over = mu,
    (a - low) under = mu and pull (H - C) = back(a), with mu going to 0.
    """
    if np.prod(problem.shape) > _DENSE_LIMIT:
        raise ValueError(
            f"a piecewise linear loss with {np.prod(problem.shape)} parameters needs a matrix of that many rows: "
            "use a smooth loss (logistic, squared), or fewer features"
        )
    dual = _Dual(problem, offsets)
    H = problem.C.copy()
    a = (dual.low + dual.high) / 2
    excess = dual.bend - dual.score(H)
    over, under = np.maximum(excess, 0) + 1.0, np.maximum(-excess, 0) + 1.0
    active = dual.high > dual.low  # rows without weight say nothing
    n_pairs = 2 * int(active.sum())
    best = (np.inf, H)
    for _ in range(60):
        above = np.where(active, np.maximum(dual.high - a, _TINY), 1.0)
        below = np.where(active, np.maximum(a - dual.low, _TINY), 1.0)
        mu = float((above * over + below * under)[active].sum()) / n_pairs
        if mu < _TRY_ACTIVE_SET:  # the rows on their kink are soon known: no need to go on to the end
            best = min(best, (dual.gap(H, a), H), _polish(dual, a, over, under), key=lambda each: each[0])
            if best[0] <= 0.01 * GAP_TOLERANCE * max(1.0, abs(dual.dual_value(a))) or mu < 1e-18:
                break
        D = np.where(active, 1 / (over / above + under / below), 0.0)
        try:
            newton = _NewtonStep(dual, H, a, over, under, above, below, D)
        except np.linalg.LinAlgError:
            break  # as far as the arithmetic goes
        _, da, d_over, d_under = newton(-above * over, -below * under)
        far = _longest([(above, -da), (below, da), (over, d_over), (under, d_under)], active)
        ahead = (above - far * da) * (over + far * d_over) + (below + far * da) * (under + far * d_under)
        sigma = min(1.0, max(float(ahead[active].sum()), 0.0) / n_pairs / mu) ** 3
        dH, da, d_over, d_under = newton(
            sigma * mu - above * over + da * d_over, sigma * mu - below * under - da * d_under
        )
        far = _longest([(above, -da), (below, da), (over, d_over), (under, d_under)], active)
        far = min(1.0, max(0.995, 1 - mu) * far)
        H, a = H + far * dH, a + far * da
        over, under = np.maximum(over + far * d_over, _TINY), np.maximum(under + far * d_under, _TINY)
    error, H = best
    if not error <= GAP_TOLERANCE * max(1.0, abs(dual.dual_value(a))):
        warnings.warn(
            f"the fit ended with a duality gap of {error:.1e}, above {GAP_TOLERANCE:.0e}: "
            "scale the features, or raise lam",
            ConvergenceWarning,
            stacklevel=4,
        )
    return Solution(H, max(error, 0.0))


class _NewtonStep:
    """The moves that make (high - a) over and (a - low) under what is wanted, to first order, with one factor."""

    def __init__(
        self, dual: _Dual, H: Array, a: Array, over: Array, under: Array, above: Array, below: Array, D: Array
    ) -> None:
        self.dual, self.D = dual, D
        self.over, self.under, self.above, self.below = over, under, above, below
        matrix = dual.problem.gram(dual.parts(D), dual.scale)
        self.factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        self.pulled = dual.back(a) - dual.pull @ (H - dual.problem.C)
        self.off = dual.bend - dual.score(H) - (over - under)

    def __call__(self, to_above: Array, to_below: Array) -> tuple[Array, Array, Array, Array]:
        known = self.off - to_above / self.above + to_below / self.below
        right = self.pulled + self.dual.back(self.D * known)
        dH = cho_solve(self.factor, right.ravel(), check_finite=False).reshape(right.shape)
        da = self.D * (known - self.dual.score(dH))
        return dH, da, (to_above + self.over * da) / self.above, (to_below - self.under * da) / self.below


def _longest(pairs: list[tuple[Array, Array]], active: NDArray[np.bool_]) -> float:
    """Return the longest step, at most 1, that keeps every value at least 0."""
    longest = 1.0
    for value, move in pairs:
        down = active & (move < 0)
        if down.any():
            longest = min(longest, float((-value[down] / move[down]).min()))
    return longest


def _polish(dual: _Dual, a: Array, over: Array, under: Array) -> tuple[float, Array]:
    """Solve for the rows that sit on their kink, the others at an end of their box; return gap and H."""
    above, below = dual.high - a, a - dual.low
    settled = np.where(over > above, dual.high, np.where(under > below, dual.low, np.nan))
    free = np.flatnonzero(np.isnan(settled))
    fixed = np.where(np.isnan(settled), 0.0, settled)
    H = dual.primal_of(fixed)
    if 0 < free.size <= 2 * H.size:
        task = np.repeat(np.arange(len(dual.X)), dual.sizes)[free]
        chosen = dual.parts(np.isnan(settled))
        B = np.vstack([_dense(X[rows]) for X, rows in zip(dual.X, chosen, strict=True)]) * dual.sign[free, None]
        kernel = (B @ B.T) * dual.loosen[np.ix_(task, task)]
        left = dual.bend[free] - dual.score(H)[free]
        try:
            on_kink = cho_solve(cho_factor(kernel, lower=True, check_finite=False), left, check_finite=False)
        except np.linalg.LinAlgError:  # rows that repeat each other
            on_kink = lstsq(kernel, left, check_finite=False)[0]
        fixed[free] = np.clip(on_kink, dual.low[free], dual.high[free])
        H = dual.primal_of(fixed)
    return dual.gap(H, fixed), H
