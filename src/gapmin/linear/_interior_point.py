"""Exact minimisation of a penalised piecewise linear loss: an interior point method, then the active set.

Each row's loss is the largest of a (bend - sign <h, x>) over low <= a <= high, so the multipliers `a` of the dual live
in a box. Mehrotra's predictor-corrector brings them near; which rows sit on their kink is soon clear, and with these
the solution is one linear system away. The duality gap then is round-off.
"""

from __future__ import annotations

import warnings
from operator import itemgetter

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning

from gapmin._utils.typing import Array
from gapmin.linear._matrix import dense
from gapmin.linear._problem import Problem, Solution

GAP_TOLERANCE = 1e-12
"""The duality gap that a fit may end with, relative to an objective above 1; it aims a hundred times lower."""

_DENSE_LIMIT = 12_000
"""Above this many parameters the matrix of a step would take more than a gigabyte."""

_TRY_ACTIVE_SET = 1e-2
_MOST_ON_KINK = 2000
_TINY = 1e-200
_SIDES = np.array([[-1.0], [1.0]])
"""How `a` moves the room above and below it."""


class Dual:
    """The problem with weights of mean 1, and its dual over a box.

    Parameters
    ----------
    problem : Problem
        With a piecewise linear loss, and weights above 0.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.X = [rows.X for rows in problem.tasks]
        self.ends = np.cumsum([X.shape[0] for X in self.X])[:-1]
        kinks = [problem.loss.kinks(rows.y, rows.weight) for rows in problem.tasks]
        self.sign, self.bend, self.low, self.high = (
            np.concatenate([getattr(each, name) for each in kinks]) for name in ("sign", "bend", "low", "high")
        )
        self.scale = 1 / float(self.high.mean())
        self.low, self.high = self.low * self.scale, self.high * self.scale
        self.hessian = 2 * self.scale * problem.P
        self.inverse = np.linalg.inv(self.hessian)
        self.centre_score = self.score(problem.C)
        self.value = 0.0

    def parts(self, v: Array) -> list[Array]:
        """Cut a vector over all rows into the tasks'."""
        return [v] if len(self.X) == 1 else np.split(v, self.ends)

    def score(self, H: Array) -> Array:
        """Return sign <h, x> of every row."""
        if len(self.X) == 1:
            return self.sign * (self.X[0] @ H[0])
        return self.sign * np.concatenate([np.asarray(X @ h) for X, h in zip(self.X, H, strict=True)])

    def back(self, a: Array) -> Array:
        """Return the sums of a_i sign_i x_i, a row for each task."""
        if len(self.X) == 1:
            return np.asarray(self.X[0].T @ (self.sign * a))[None]
        return np.stack([np.asarray(X.T @ v) for X, v in zip(self.X, self.parts(self.sign * a), strict=True)])

    def gap(self, H: Array, score: Array, a: Array, sums: Array) -> float:
        """Return primal minus dual objective in the scale of the problem, for score(H) and sums = back(a)."""
        away = H - self.problem.C
        excess = self.bend - score
        primal = np.maximum(self.high * excess, self.low * excess).sum() + 0.5 * np.vdot(away, self.hessian @ away)
        dual = a @ (self.bend - self.centre_score) - 0.5 * np.vdot(sums, self.inverse @ sums)
        self.value = float(dual) / self.scale
        return float(primal - dual) / self.scale


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def interior_point(problem: Problem) -> Solution:
    """Minimise, over rows of positive weight.

    With e = bend - sign <h, x> split into over - under, both at least 0, the conditions are (high - a) over = mu,
    (a - low) under = mu and hessian (H - C) = back(a), with mu going to 0. `room` holds high - a and a - low, `slack`
    over and under.
    """
    if np.prod(problem.shape) > _DENSE_LIMIT:
        raise ValueError(
            f"a piecewise linear loss with {np.prod(problem.shape)} parameters needs a matrix of that many rows: "
            "use a smooth loss (logistic, squared), or fewer features"
        )
    dual = Dual(problem)
    H, score, a, slack = _start(dual)
    sums = dual.back(a)
    n_pairs = 2 * a.size
    best, try_below = (np.inf, H), _TRY_ACTIVE_SET
    for _ in range(80):
        room = np.maximum(np.stack([dual.high - a, a - dual.low]), _TINY)
        products = room * slack
        mu = float(products.sum()) / n_pairs
        if mu < try_below:  # the rows on their kink are soon known: no need to go on to the end
            best = min(best, active_set(dual, room, slack, last=mu < 1e-9), key=itemgetter(0))
            try_below = 0.1 * mu
            if mu < 1e-9:
                # Measured anew: what is carried along from step to step drifts.
                inside = np.clip(a, dual.low, dual.high)
                best = min(best, (dual.gap(H, dual.score(H), inside, dual.back(inside)), H), key=itemgetter(0))
            if best[0] <= 0.01 * GAP_TOLERANCE * max(1.0, abs(dual.value)) or mu < 1e-18:
                break
        D = 1 / np.maximum((slack / room).sum(axis=0), _TINY)
        factor, failed = dpotrf(problem.gram(dual.parts(D), dual.scale), lower=1, overwrite_a=1, clean=0)
        if failed:
            break  # as far as the arithmetic goes
        residual = sums - dual.hessian @ (H - problem.C)
        off = dual.bend - score - (slack[0] - slack[1])

        def newton(
            wanted: Array, D: Array = D, factor: Array = factor, residual: Array = residual, off: Array = off,
            room: Array = room, slack: Array = slack,
        ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
            """Return the moves that make room * slack what is wanted, to first order."""
            ratio = wanted / room
            known = off - ratio[0] + ratio[1]
            dH = dpotrs(factor, (residual + dual.back(D * known)).ravel(), lower=1)[0].reshape(residual.shape)
            d_score = dual.score(dH)
            da = D * (known - d_score)
            return dH, d_score, da, ratio - _SIDES * (slack * da) / room

        _, _, da, d_slack = newton(-products)
        far = _longest(room, _SIDES * da, slack, d_slack)
        ahead = float(((room + far * _SIDES * da) * (slack + far * d_slack)).sum())
        sigma = min(1.0, max(ahead, 0.0) / (n_pairs * mu)) ** 3
        dH, d_score, da, d_slack = newton(sigma * mu - products - _SIDES * da * d_slack)
        far = min(1.0, max(0.995, 1 - mu) * _longest(room, _SIDES * da, slack, d_slack))
        H, score, a = H + far * dH, score + far * d_score, a + far * da
        sums = sums + far * (dual.hessian @ dH - residual)  # back(da), by the equation that dH solves
        slack = np.maximum(slack + far * d_slack, _TINY)
    error, H = best
    if not error <= GAP_TOLERANCE * max(1.0, abs(dual.value)):
        warnings.warn(
            f"the fit ended with a duality gap of {error:.1e}, above {GAP_TOLERANCE:.0e}: "
            "bring the features to one scale",
            ConvergenceWarning,
            stacklevel=4,
        )
    return Solution(H, max(error, 0.0))


def _start(dual: Dual) -> tuple[Array, Array, Array, Array]:
    """Return H, its score, multipliers and slacks well inside: those of least squares to the bends."""
    problem = dual.problem
    weight = (dual.high - dual.low) / 2
    factor, failed = dpotrf(problem.gram(dual.parts(weight), dual.scale), lower=1, overwrite_a=1, clean=0)
    H, score = problem.C, dual.centre_score
    if not failed:
        right = dual.back(weight * (dual.bend - score))
        dH = dpotrs(factor, right.ravel(), lower=1)[0].reshape(right.shape)
        H, score = H + dH, score + dual.score(dH)
    excess = dual.bend - score
    typical = float(np.mean(np.abs(excess))) or 1.0
    a = (dual.low + dual.high) / 2 + 0.5 * weight * np.tanh(excess / (2 * typical))
    return H, score, a, np.maximum(np.stack([excess, -excess]), 0) + 2 * typical


def _longest(room: Array, d_room: Array, slack: Array, d_slack: Array) -> float:
    """Return the longest step, at most 1, that keeps room and slack at least 0."""
    shrink = min(float(np.min(d_room / room)), float(np.min(d_slack / np.maximum(slack, _TINY))))
    return min(1.0, -1 / shrink) if shrink < 0 else 1.0


def active_set(dual: Dual, room: Array, slack: Array, last: bool) -> tuple[float, Array]:
    """Guess which rows sit on their kink, solve for these, and mend the guess; return the best gap and its H.

    A row with more slack than room on one side has its multiplier at that end of the box. Solving for the others may
    push some out of the box (they then stay at its end) and rows across their kink (they then join). Before the `last`
    calls it gives up where the guess does not get better at once.
    """
    settled = np.where(slack[0] > room[0], dual.high, np.where(slack[1] > room[1], dual.low, np.nan))
    best = (np.inf, dual.problem.C)
    task = np.repeat(np.arange(len(dual.X)), [X.shape[0] for X in dual.X])
    for _ in range(6):
        on_kink = np.isnan(settled)
        free = np.flatnonzero(on_kink)
        if free.size > (_MOST_ON_KINK if last else dual.problem.C.size):
            break  # more than there are parameters: too early, or rows that repeat each other
        a = np.where(on_kink, 0.0, settled)
        solved: Array = np.empty(0)
        if free.size:
            parts = zip(dual.X, np.split(on_kink, dual.ends), strict=True)
            B = np.vstack([dense(X[rows]) for X, rows in parts]) * dual.sign[free, None]
            kernel = (B @ B.T) * dual.inverse[np.ix_(task[free], task[free])]
            left = dual.bend[free] - dual.score(dual.problem.C + dual.inverse @ dual.back(a))[free]
            found = _solve_symmetric(kernel, left, last)
            if found is None:
                break
            solved = found
            a[free] = np.clip(solved, dual.low[free], dual.high[free])
        sums = dual.back(a)
        H = dual.problem.C + dual.inverse @ sums
        score = dual.score(H)
        gap = dual.gap(H, score, a, sums)
        better = gap < 0.5 * best[0]
        best = min(best, (gap, H), key=itemgetter(0))
        excess = dual.bend - score
        crossed = ~on_kink & np.where(settled == dual.high, excess < -1e-12, excess > 1e-12)
        outside = (solved > dual.high[free]) | (solved < dual.low[free])
        if not better or not (crossed.any() or outside.any()):
            break
        settled[crossed] = np.nan
        settled[free[outside]] = a[free[outside]]
    return best


def _solve_symmetric(kernel: Array, right: Array, last: bool) -> Array | None:
    factor, failed = dpotrf(kernel, lower=1, clean=0)
    if not failed:
        return dpotrs(factor, right, lower=1)[0]
    return lstsq(kernel, right, check_finite=False)[0] if last else None
