"""Exact solutions: with the penalty, and of the loss alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq, qr
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning

from gapmin._utils.typing import Array
from gapmin.linear._interior_point import interior_point
from gapmin.linear._losses import Loss, Power
from gapmin.linear._matrix import dense, in_unit, largest, unit
from gapmin.linear._problem import FACTOR_LIMIT, Problem, Solution, WeightedRows
from gapmin.linear._solver import Metric, minimise, weighted_gram

GRADIENT_TOLERANCE = 1e-8
"""The gradient that a smooth fit may end with; it aims lower."""

_WORTH_REDUCING = 200
"""Below this many parameters a smooth fit is as fast with all of its features."""

_NEAR, _ROUND_OFF = 1e-9, 1e-15
"""Where the quasi-Newton solver hands over to Newton's method, and where that ends."""

_NOTHING = 1e-14
"""The share of an objective that round-off alone may seem to leave to gain."""

_ORDINARY_LABEL = 1e4
"""Labels are measured in another unit where the largest is above this, or below its inverse."""

LEAST_PENALTY = 1e-10
"""With features of about 1 a penalty this small does not move a minimum without it: see `solve_unpenalised`."""


def solve(problem: Problem, start: Array | None = None) -> Solution:
    """Minimise, exactly: gradient below 1e-8 for a smooth loss, duality gap below 1e-12 for a piecewise linear one.

    Parameters
    ----------
    problem : Problem
    start : ndarray of shape (K, d), optional
        Where to begin, with a smooth loss.
    """
    if not any(rows.weight.any() for rows in problem.tasks):
        return Solution(problem.C, 0.0)  # nothing to learn from
    in_units = _in_units(problem)
    if in_units is not None:
        easier, times = in_units
        same = solve(easier, None if start is None else start / times)
        return Solution(same.H * times, same.error)
    if _is_wide(problem):
        return _solve_wide(problem, start)
    if not problem.loss.smooth:
        kept = [(rows, rows.weight > 0) for rows in problem.tasks]
        tasks = [
            rows if all_.all() else WeightedRows(rows.X[all_], rows.y[all_], rows.weight[all_]) for rows, all_ in kept
        ]
        return interior_point(Problem(tasks, problem.loss, problem.penalty, problem.centre))
    h: Array = (problem.C if start is None else start).ravel().astype(np.float64)
    quadratic = isinstance(problem.loss, Power) and problem.loss.q == 2
    value, gradient = problem.evaluate(h)
    size = float(np.abs(gradient).max())
    small = h.size <= FACTOR_LIMIT
    # What the arithmetic can resolve of a gradient that is the difference of large forces.
    force = max(size, 2 * float(np.abs(problem.P).max()) * float(np.abs(problem.C).max()))
    tol, accepted = max(_NEAR, 1e-14 * force), max(GRADIENT_TOLERANCE, 1e-13 * force)
    last: Metric | None = None
    if not (quadratic and small):
        # With a factor at hand Newton's method finishes what jitters near the end of the quasi-Newton one.
        found = minimise(problem, h, tol=tol, max_iter=100 if small else 1000)
        h, size, last = found.h, found.gradient_norm, found.metric
        value, gradient = problem.evaluate(h)
    for attempt in range(20 if small else 0):
        # A step of Newton's squares what is left of the error, down to what the arithmetic gives.
        if size <= max(_ROUND_OFF, 1e-17 * force):
            break
        last = last if quadratic and attempt else problem.metric(0)
        assert last is not None
        closer = h - last.solve(gradient)
        new_value, new_gradient = problem.evaluate(closer)
        smaller = float(np.abs(new_gradient).max())
        if not smaller < size:
            break
        h, size, value, gradient = closer, smaller, new_value, new_gradient
    # Large features leave a large gradient where there is nothing left to gain.
    if size > accepted and not (small and last and float(gradient @ last.solve(gradient)) <= _NOTHING * abs(value)):
        warnings.warn(
            f"the fit ended with a gradient of {size:.1e}, above {accepted:.0e}: bring the features to one scale",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Solution(h.reshape(problem.shape), size)


def _in_units(problem: Problem) -> tuple[Problem, float] | None:
    """Return the same problem with features and labels of about 1, and what to multiply its solution by.

    The tolerances are made for such; None where the problem is one already. With x / s and y / t for x and y, a loss
    that grows like |r|^q has H s / t for a solution under the penalty P t^(2 - q) / s^2.
    """
    loss = problem.loss
    s = unit(max(largest(rows.X) for rows in problem.tasks))
    t = unit(max(largest(rows.y) for rows in problem.tasks), _ORDINARY_LABEL) if isinstance(loss, Power) else 1.0
    if s == 1 and t == 1:
        return None
    P = problem.P / s / s * t ** (2 - loss.q if isinstance(loss, Power) else 0)
    if not loss.smooth:
        P = P * max(1.0, LEAST_PENALTY / max(float(np.abs(P).max()), np.finfo(float).tiny))
    if not np.isfinite(P).all():
        return None
    tasks = [WeightedRows(in_unit(rows.X, s), in_unit(rows.y, t), rows.weight) for rows in problem.tasks]
    return Problem(tasks, loss, P, problem.C * (s / t)), t / s


def _is_wide(problem: Problem) -> bool:
    """Whether the rows span much less than there are features, so that it pays to go there."""
    K, d = problem.shape
    n_rows = sum(rows.X.shape[0] for rows in problem.tasks)
    return d > n_rows + K and (not problem.loss.smooth or K * d > _WORTH_REDUCING)


def _solve_wide(problem: Problem, start: Array | None) -> Solution:
    """Solve with more features than rows in the span of rows and centre, where every h has to lie."""
    stacked = np.vstack([*(dense(rows.X) for rows in problem.tasks), problem.C])
    basis, triangle = qr(stacked.T, mode="economic")
    parts = np.split(triangle.T, np.cumsum([rows.X.shape[0] for rows in problem.tasks]))
    tasks = [WeightedRows(X, rows.y, rows.weight) for X, rows in zip(parts, problem.tasks, strict=False)]
    inner = Problem(tasks, problem.loss, problem.penalty, parts[-1])
    found = solve(inner, None if start is None else start @ basis)
    return Solution(found.H @ basis.T, found.error)


@dataclass(frozen=True)
class UnpenalisedMinimum:
    """The smallest loss without a penalty, and where: a minimiser, or a point far out on the way to the infimum."""

    h: Array
    value: float
    attained: bool


def solve_unpenalised(rows: WeightedRows, loss: Loss) -> UnpenalisedMinimum:
    """Minimise the loss alone.

    Of several minimisers one near the shortest is taken. Where the logistic loss has none (the classes separate),
    `value` is its infimum and `attained` is False.
    """
    if not rows.weight.any():
        return UnpenalisedMinimum(np.zeros(rows.X.shape[1]), 0.0, True)
    if isinstance(loss, Power) and loss.q == 2:
        h = _least_squares(rows)
        return UnpenalisedMinimum(h, rows.loss(loss, h), True)
    # With every column of size 1, and the loss too, one penalty is small for all.
    squares = rows.X.multiply(rows.X).T @ rows.weight if sp.issparse(rows.X) else (rows.X**2).T @ rows.weight
    total = float(rows.weight.sum())
    size = np.sqrt(np.maximum(squares / total, 0.0))
    size[size == 0] = 1.0
    X = rows.X @ sp.diags(1 / size, format="csr") if sp.issparse(rows.X) else rows.X / size
    even = WeightedRows(X, rows.y, rows.weight / total)
    if loss.smooth:
        found = _logistic_infimum(even, loss)
        return UnpenalisedMinimum(found.h / size, total * found.value, found.attained)
    # A piecewise linear loss has an edge at its minimum: a penalty this small does not move it.
    t = unit(largest(rows.y), _ORDINARY_LABEL) if isinstance(loss, Power) else 1.0
    h = solve(Problem([WeightedRows(even.X, even.y / t, even.weight)], loss, LEAST_PENALTY)).h * (t / size)
    return UnpenalisedMinimum(h, rows.loss(loss, h), True)


def _least_squares(rows: WeightedRows) -> Array:
    """Return the shortest least squares solution: by the normal equations where they are safe."""
    root = np.sqrt(rows.weight)
    gram = weighted_gram(rows.X, rows.weight) if rows.X.shape[1] <= FACTOR_LIMIT else np.zeros((1, 1))
    factor, failed = dpotrf(gram, lower=1)
    if not failed and dpocon(factor, np.linalg.norm(gram, 1), uplo="L")[0] > 1e-8:
        h = np.zeros(rows.X.shape[1])
        for _ in range(3):  # refined, to the precision of the data rather than of their squares
            h = h + dpotrs(factor, np.asarray(rows.X.T @ (rows.weight * (rows.y - rows.score(h)))), lower=1)[0]
        return h
    return lstsq(dense(rows.X) * root[:, None], root * rows.y, check_finite=False)[0]


def _logistic_infimum(rows: WeightedRows, loss: Loss) -> UnpenalisedMinimum:
    """Follow the minimiser as the penalty goes to 0, until the rows are separated or it no longer moves."""
    start: Any = None
    length = 0.0
    for ridge in 10.0 ** np.arange(-2, -15, -3):
        length = 0.0 if start is None else float(np.linalg.norm(start))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = solve(Problem([rows], loss, ridge), start).H
        margin = (rows.y * rows.score(start[0]))[rows.weight > 0]
        if margin.min() > 0:
            return UnpenalisedMinimum(start[0], 0.0, False)
    # Where rows only just separate, h grows without end, by as much for each power of the penalty.
    now = float(np.linalg.norm(start))
    return UnpenalisedMinimum(start[0], rows.loss(loss, start[0]), now - length <= 1e-3 * now)
