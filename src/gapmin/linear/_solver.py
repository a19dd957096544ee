"""One solver for smooth convex objectives: L-BFGS in the metric of a Cholesky factor that is used again.

With a fresh factor of the Hessian the first step is Newton's. With one from an earlier fit (boosting changes the
weights a little each round) the L-BFGS pairs mend what has changed, for one gradient a step. Where d is too large for a
d x d factor the metric is diagonal and the method is plain L-BFGS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import get_lapack_funcs

from gapmin._utils.typing import Array

_ROWS_OF_A_BLOCK = 512
"""Rows that are scaled at a time."""

_PAIRS = 10
"""How many L-BFGS pairs are kept."""

_SLOW = 5
"""A fit that asks for more metrics than these (some 30 steps) is worth exact ones."""


def weighted_gram(X: Any, weight: Array) -> Array:
    """Return X' diag(weight) X for weights of at least 0, dense; no second X is made."""
    root = np.sqrt(weight)
    if sp.issparse(X):
        scaled = X.multiply(root[:, None]).tocsr()
        return (scaled.T @ scaled).toarray()
    gram = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, X.shape[0], _ROWS_OF_A_BLOCK):
        block = slice(start, start + _ROWS_OF_A_BLOCK)
        scaled = X[block] * root[block, None].astype(X.dtype, copy=False)
        gram += scaled.T @ scaled
    return gram


class Metric(Protocol):
    """A positive definite approximation of the Hessian, as a solve.

    `patience` is the number of steps after which it is worth making it anew: few for the Hessian itself, more for what
    only resembles it.
    """

    patience: int

    def solve(self, gradient: Array) -> Array:
        """Return the inverse of the metric times `gradient`."""

    def get_state(self) -> dict[str, Any]:
        """Return arrays and numbers from which `metric_from_state` makes it again."""


class HasCurvature(Protocol):
    """A problem that knows its curvature; parameters are one flat vector."""

    def metric(self, attempt: int, *, bound: bool = False) -> Metric:
        """Return the curvature at the last point evaluated, or a bound on it at every point.

        `attempt` counts the metrics made before in this fit: where many did not do, a better one is worth its price.
        """


class SmoothObjective(HasCurvature, Protocol):
    """What the solver needs to know of a problem."""

    def evaluate(self, h: Array) -> tuple[float, Array]:
        """Return value and gradient at `h`."""


class GapCheck(Protocol):
    """What tells how far the last point evaluated is above the minimum."""

    def excess(self, gradient: Array) -> float:
        """Return a bound on it from the strength of the penalty alone; what is not penalised counts as settled."""

    def exact_metric(self) -> Metric | None:
        """Return the whole Hessian there in double precision; None where that is too large."""


class CholeskyMetric:
    """A block-diagonal metric, one Cholesky factor for each block of parameters.

    Parameters
    ----------
    blocks : list of ndarray of shape (p, p)
        Positive semi-definite matrices; a ridge too small to matter makes them definite.
    patience : int
    balanced : bool, default=False
        Measure that ridge for each parameter by its own curvature, so that it is too small for features in any units.
    """

    def __init__(self, blocks: list[Array], patience: int, *, balanced: bool = False) -> None:
        self.patience = patience
        self._factors = []
        for block in blocks:
            potrf, self._potrs = get_lapack_funcs(("potrf", "potrs"), (block,))
            if balanced:
                root = np.sqrt(np.diag(block))
                root[~(root > 0)] = 1.0
                block = block / root[:, None] / root
            limits = np.finfo(block.dtype)
            ridge = max(4 * float(limits.eps) * float(np.trace(block)), float(limits.tiny))
            for _ in range(40):
                factor, failed = potrf(block, lower=True, clean=False)
                if not failed:
                    break
                block = block + ridge * np.eye(len(block), dtype=block.dtype)
                ridge *= 10
            self._factors.append(root[:, None] * factor if balanced else factor)

    def solve(self, gradient: Array) -> Array:
        """Return the inverse of the metric times `gradient`, block by block."""
        parts = gradient.reshape(len(self._factors), -1)
        solved = [self._potrs(f, part, lower=True)[0] for f, part in zip(self._factors, parts, strict=True)]
        return np.concatenate(solved)

    def get_state(self) -> dict[str, Any]:
        """Return the factors."""
        return {"patience": self.patience, "factors": self._factors}


class CentredMetric:
    """A metric of features less their `mean`, for outputs that each have coefficients and, last, an intercept.

    With (h, b + <mean, h>) for (h, b) it is that of the features themselves.
    """

    def __init__(self, centred: CholeskyMetric, mean: Array, has_intercept: bool) -> None:
        self.patience = centred.patience
        self._centred, self._mean, self._has_intercept = centred, mean, has_intercept

    def solve(self, gradient: Array) -> Array:
        """Return the inverse of the metric times `gradient`."""
        if not self._has_intercept:
            return self._centred.solve(gradient)
        table: Array = gradient.reshape(-1, self._mean.size + 1).astype(np.float64)
        table[:, :-1] -= table[:, -1:] * self._mean
        table = self._centred.solve(table.ravel()).reshape(table.shape).copy()
        table[:, -1] -= table[:, :-1] @ self._mean
        return table.ravel()

    def get_state(self) -> dict[str, Any]:
        """Return factors of the same matrix."""
        lower = np.tril(self._centred._factors[0])
        if self._has_intercept:
            by_output = lower.reshape(-1, self._mean.size + 1, lower.shape[1])
            by_output[:, :-1] += self._mean[:, None] * by_output[:, -1:]
        return CholeskyMetric([lower @ lower.T], self.patience, balanced=True).get_state()


class DiagonalMetric:
    """A diagonal metric, for problems too large for a factor."""

    patience = 40

    def __init__(self, diagonal: Array) -> None:
        self._diagonal = diagonal

    def solve(self, gradient: Array) -> Array:
        """Return `gradient` divided by the diagonal."""
        return gradient / self._diagonal

    def get_state(self) -> dict[str, Any]:
        """Return the diagonal."""
        return {"diagonal": self._diagonal}


def metric_from_state(state: dict[str, Any], size: int) -> Metric:
    """Return the metric that has this state; raise ValueError where it is not one of `size` parameters."""
    parts = [state["diagonal"]] if "diagonal" in state else state["factors"]
    arrays = isinstance(parts, list) and parts and all(isinstance(each, np.ndarray) for each in parts)
    if not arrays or any(each.dtype.kind != "f" or each.dtype != parts[0].dtype for each in parts):
        raise ValueError("a metric is not made of arrays of numbers")
    if "diagonal" in state:
        if parts[0].shape != (size,):
            raise ValueError(f"a metric has a diagonal of {parts[0].size} entries for {size} parameters")
        return DiagonalMetric(parts[0])
    wide = parts[0].shape[-1]
    if wide * len(parts) != size or any(each.shape != (wide, wide) for each in parts):
        raise ValueError(f"a metric has factors of {[each.shape for each in parts]} for {size} parameters")
    if type(state["patience"]) is not int or state["patience"] < 1:
        raise ValueError(f"a metric has a patience of {state['patience']!r}")
    metric = CholeskyMetric([], state["patience"])
    metric._factors = parts
    (metric._potrs,) = get_lapack_funcs(("potrs",), (parts[0],))
    return metric


@dataclass
class DescentResult:
    """Where the solver ended, and the metric to start the next fit with."""

    h: Array
    gradient_norm: float
    n_iter: int
    metric: Metric | None
    excess: float = 0.0
    """About how far the objective is above its minimum, where that was asked for."""


Descent = Generator[Array, tuple[float, Array], DescentResult]
"""Yields points, is sent value and gradient there, returns where it ended."""


def minimise(
    objective: SmoothObjective, start: Array, *, first: tuple[float, Array] | None = None, **options: Any
) -> DescentResult:
    """Minimise a smooth convex objective with the `options` of `descend`.

    `first` is value and gradient at `start`, where they are known.
    """
    descent = descend(objective, start, **options)
    h = next(descent)
    while True:
        try:
            h = descent.send(objective.evaluate(h) if first is None else first)
            first = None
        except StopIteration as end:
            return end.value


def descend(
    objective: HasCurvature,
    start: Array,
    *,
    metric: Metric | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    gap: GapCheck | None = None,
) -> Descent:
    """Minimise a smooth convex objective until the largest entry of its gradient is at most `tol`.

    Yields each point where value and gradient are wanted, and is sent them, so that several descents can share their
    passes over the rows.

    Parameters
    ----------
    objective : HasCurvature
    start : ndarray of shape (p,)
    metric : Metric, optional
        Curvature of a similar problem; without it the objective is asked for its own.
    tol : float
        On the largest absolute entry of the gradient.
    max_iter : int
    gap : GapCheck, optional
        Go on until the objective is within `tol` of its minimum too: where the curvature is small, a small gradient
        does not say so.

    Returns
    -------
    DescentResult
        With the last metric, for the next fit.
    """
    h = start
    value, gradient = yield h
    size = float(np.abs(gradient).max())
    pairs = deque[tuple[Array, Array, float]](maxlen=_PAIRS)
    n_iter = age = attempt = 0
    bounded = False
    left = excess = 0.0 if gap is None else np.inf
    while n_iter < max_iter:
        if size <= tol and not bounded:
            excess = 0.0 if gap is None else max(gap.excess(gradient), _expected_decrease(gradient, metric))
            exact = gap.exact_metric() if gap is not None and excess > tol else None
            if exact is not None:
                metric, age, attempt = exact, 0, attempt + 1
                pairs.clear()
                excess = _expected_decrease(gradient, metric)
            if excess <= tol:
                break
        if metric is None or age >= metric.patience + attempt:
            exact = gap.exact_metric() if gap is not None and attempt >= _SLOW else None
            metric, age, attempt = exact or objective.metric(attempt), 0, attempt + 1
            pairs.clear()
            if exact is not None:
                last_left, left = left, _expected_decrease(gradient, metric)
                if left <= tol and left > last_left / 4:
                    break  # features so large that round-off alone keeps the gradient above tol
        direction = -_apply_inverse(gradient, pairs, metric)
        slope = float(direction @ gradient)
        if not slope < 0:  # round-off has spoilt the pairs
            pairs.clear()
            direction = -metric.solve(gradient)
            slope = float(direction @ gradient)
        step = yield from _line_search(h, value, gradient, direction, slope)
        if step is None:
            if bounded:
                break  # a bound on the curvature and no descent: this is what the arithmetic can give
            # Where weights sit on rows that are far on one side, the local curvature says nothing.
            metric, age, bounded = objective.metric(attempt, bound=True), 0, True
            pairs.clear()
            continue
        bounded = False
        h_new, value, gradient_new = step
        moved, bent = h_new - h, gradient_new - gradient
        curvature = float(moved @ bent)
        if curvature > 1e-14 * float(np.sqrt((moved @ moved) * (bent @ bent))):
            pairs.append((moved, bent, curvature))
        h, gradient = h_new, gradient_new
        size = float(np.abs(gradient).max())
        age += 1
        n_iter += 1
    if gap is not None and not (size <= tol and excess <= tol):
        # Points of the line search were evaluated since: come back to tell what is left to gain.
        value, gradient = yield h
        exact = gap.exact_metric()
        excess = gap.excess(gradient) if exact is None else _expected_decrease(gradient, exact)
    return DescentResult(h, size, n_iter, metric, excess)


def _expected_decrease(gradient: Array, metric: Metric | None) -> float:
    """Return the gradient times the step that the metric makes of it; nothing is known without one.

    What is left to gain is half of it for a parabola, all of it for a loss that falls off like exp(-t).
    """
    return 0.0 if metric is None else float(gradient @ metric.solve(gradient))


def _apply_inverse(gradient: Array, pairs: deque[tuple[Array, Array, float]], metric: Metric) -> Array:
    """Two-loop recursion of L-BFGS with `metric` where the textbook has the identity."""
    direction = gradient.copy()
    along = []
    for moved, bent, curvature in reversed(pairs):
        share = float(moved @ direction) / curvature
        direction -= share * bent
        along.append(share)
    direction = metric.solve(direction)
    if pairs:
        _, bent, curvature = pairs[-1]
        direction *= curvature / float(bent @ metric.solve(bent))
    for (moved, bent, curvature), share in zip(pairs, reversed(along), strict=True):
        direction += (share - float(bent @ direction) / curvature) * moved
    return direction


def _line_search(
    h: Array, value: float, gradient: Array, direction: Array, slope: float
) -> Generator[Array, tuple[float, Array], tuple[Array, float, Array] | None]:
    """Backtrack until the value falls enough, or until the slope tells that it does where values cannot."""
    length = 1.0
    noise = 8 * np.finfo(np.float64).eps * max(abs(value), 1.0)
    size = np.abs(gradient).max()
    for _ in range(20):
        h_new = h + length * direction
        value_new, gradient_new = yield h_new
        slope_new = float(direction @ gradient_new)
        if value_new <= value + 1e-4 * length * slope:
            return h_new, value_new, gradient_new
        if value_new <= value + noise and abs(slope_new) <= 0.9 * abs(slope) and np.abs(gradient_new).max() < size:
            return h_new, value_new, gradient_new
        # The minimiser of the parabola through what is known, kept within reason.
        bend = value_new - value - length * slope
        shrink = -0.5 * length * slope / bend if np.isfinite(bend) and bend > 0 else 0.1
        length *= float(np.clip(shrink, 0.1, 0.5))
    return None
