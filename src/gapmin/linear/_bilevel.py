"""The framework of Sec. 5, Eq. gapobj1: choose Psi with lam1 times the gap in the objective.

    minimise over Psi    F(Psi) = min_h L(h, Psi) + lam ||h||^2   +   lam1 gap(Psi)   +   lam2 r(Psi)

Psi is whatever a setting leaves to be chosen. `PsiObjective` is all that a setting has to say of it: F with its
derivative, and the nearest allowed Psi. `minimise_psi` does the rest.

    Psi                          objective                                       allowed
    Gamma, weights of rows       `WeightsObjective` here                         a simplex under caps
    Phi, a linear projection     `ProjectionObjective` in `gap_projection`       orthonormal rows
    Xi, weights of hypotheses    `MixtureObjective` in `hypothesis_transfer`     the simplex
    Gamma^j, weights of tasks    `RelationObjective` in `task_weighting`         the simplex
    Omega, task covariance       `CovarianceObjective` in `task_covariance`      a trace, and a floor of the eigenvalues

What is a minimum over h (the fit itself, V_k at its own minimiser) has the derivative of its integrand, by the envelope
theorem. What is measured at the minimiser of *another* objective (V_S(h_T), V_T(h_S)) also moves with that minimiser:
one linear solve with its Hessian, by the implicit function theorem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gapmin._utils.typing import Array
from gapmin.linear._losses import Loss
from gapmin.linear._matrix import largest
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._simplex import project_capped
from gapmin.linear._solver import CholeskyMetric, Metric, minimise

_RESOLVED = 1e-14
"""What can be known of a sum of numbers of about 1."""


class PsiObjective(ABC):
    """F(Psi) for arrays Psi of one shape."""

    width: Any = 1.0
    """What squared distances are divided by: a number, or one for each entry."""
    step: float | None = None
    """The length of a step that never raises F; None has it searched for."""

    @abstractmethod
    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return F and its derivative."""

    @abstractmethod
    def project(self, psi: Array) -> Array:
        """Return the nearest allowed Psi."""


class InnerProblem:
    """One inner problem, sum_i w_i loss_i + ridge ||h||^2 over some rows, solved again and again as weights move."""

    def __init__(self, X: Any, y: Array, loss: Loss, ridge: float, tol: float = 1e-9) -> None:
        self.X, self.y, self.loss, self.ridge = X, y, loss, ridge
        # Not below what the arithmetic can resolve of a gradient: weights sum to one, or a little more in a fold.
        self.tol = max(tol, _RESOLVED * largest(X) * largest(loss.gradient(np.zeros_like(y), y)))
        self.h: Array = np.zeros(X.shape[1])
        self.metric: Metric | None = None

    def fit(self, weight: Array) -> Array:
        """Return the minimiser, from where the last one was."""
        self.problem = Problem([WeightedRows(self.X, self.y, weight)], self.loss, self.ridge)
        found = minimise(self.problem, self.h, metric=self.metric, tol=self.tol, max_iter=200)
        self.h, self.metric = found.h, found.metric
        return self.h

    def pull_back(self, pull: Array, scale: float = 1.0, *, features: bool = False) -> tuple[Array, Array]:
        """Turn a derivative in the last minimiser into those in the weights and, where asked for, in the features.

        At the minimiser sum_i w_i l'_i x_i + 2 ridge h = 0, so that dh = -Hessian^-1 d(sum_i w_i l'_i x_i). The weights
        of the fit are `scale` times those that the derivative is asked for.
        """
        self.metric = CholeskyMetric([self.problem.hessian(self.h[None])], patience=4)
        adjoint = self.metric.solve(pull)
        score, along = np.asarray(self.X @ self.h), np.asarray(self.X @ adjoint)
        slope, weight = self.loss.gradient(score, self.y), self.problem.tasks[0].weight
        by_weight = -(scale * slope * along)
        if not features:
            return by_weight, np.empty((along.size, 0))
        bend = self.loss.curvature(score, self.y)
        return by_weight, -np.outer(weight * bend * along, self.h) - np.outer(weight * slope, adjoint)


@dataclass
class _FoldOfDomain:
    """Rows of source or target that train its minimiser in one fold, and rows to measure the losses on."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    scale: float
    inner: InnerProblem
    X_test: Any = None

    def take(self, X: Any) -> None:
        """Take other features of these rows."""
        self.inner.X = X[self.train]
        self.X_test = self.inner.X if self.train is self.test else X[self.test]


class TwoDomainGap:
    """The performance gap of two domains as a function of the rows' weights and of their features.

    The penalties of V_S and V_T cancel, so that the gap is ``sum_S gamma_i (loss_i(h_T) - loss_i(h_S)) + sum_T gamma_i
    (loss_i(h_S) - loss_i(h_T))``. In sample, every row trains and measures. Cross-fitted, each row is measured with
    minimisers trained on the other folds (their weights scaled up for what is missing). Then h_S does not minimise what
    it is measured on, and the gap may be negative.

    Parameters
    ----------
    X, y : the rows, with the constant feature; labels as numbers
    in_target : ndarray of bool
    loss : Loss
        A smooth one.
    ridge : float
        eta lam, above 0.
    fold : ndarray of int, optional
        The fold of each row; None measures in sample.
    tol : float, default=1e-9
        On the gradients of the inner fits.
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        in_target: NDArray[np.bool_],
        loss: Loss,
        ridge: float,
        fold: NDArray[np.intp] | None = None,
        tol: float = 1e-9,
    ) -> None:
        self.loss, self.y = loss, y
        self.folds: list[list[_FoldOfDomain]] = []
        for number in [None] if fold is None else np.unique(fold):
            pair = []
            for rows in (np.flatnonzero(~in_target), np.flatnonzero(in_target)):
                train, test = (rows, rows) if fold is None else (rows[fold[rows] != number], rows[fold[rows] == number])
                inner = InnerProblem(X[train], y[train], loss, ridge, tol)
                pair.append(_FoldOfDomain(train, test, rows.size / max(train.size, 1), inner))
            self.folds.append(pair)
        self.take(X)

    def take(self, X: Any) -> None:
        """Measure on other features from now on."""
        for pair in self.folds:
            for part in pair:
                part.take(X)

    def evaluate(self, gamma: Array) -> tuple[float, Array]:
        """Return the gap and its derivative in the weights."""
        return self.evaluate_both(gamma)[:2]

    def evaluate_both(self, gamma: Array, *, features: bool = False) -> tuple[float, Array, Array]:
        """Return the gap, its derivative in the weights and, where asked for, in the features."""
        value, by_weight = 0.0, np.zeros_like(gamma)
        by_feature = np.zeros((gamma.size, self.folds[0][0].inner.h.size if features else 0))
        for pair in self.folds:
            h = [part.inner.fit(part.scale * gamma[part.train]) for part in pair]
            pull = [np.zeros_like(h[0]), np.zeros_like(h[0])]  # the derivative of the gap in h_S and in h_T
            for s, part in enumerate(pair):
                X, y, w = part.X_test, self.y[part.test], gamma[part.test]
                own, other = np.asarray(X @ h[s]), np.asarray(X @ h[1 - s])
                worse = self.loss.value(other, y) - self.loss.value(own, y)
                value += float(w @ worse)
                by_weight[part.test] += worse
                slope_own, slope_other = w * self.loss.gradient(own, y), w * self.loss.gradient(other, y)
                pull[s] -= X.T @ slope_own
                pull[1 - s] += X.T @ slope_other
                if features:
                    by_feature[part.test] += np.outer(slope_other, h[1 - s]) - np.outer(slope_own, h[s])
            for s, part in enumerate(pair):
                moved, turned = part.inner.pull_back(pull[s], part.scale, features=features)
                by_weight[part.train] += moved
                if features:
                    by_feature[part.train] += turned
        return value, by_weight, by_feature


@dataclass(frozen=True)
class WeightGroups:
    """Rows that share a weight: gamma_i = theta_group(i) share_i, theta on the simplex under caps."""

    of_row: NDArray[np.intp]
    share: Array
    count: Array
    cap: Array
    totals: list[tuple[NDArray[np.bool_], float]]
    """Which groups share which part of the whole weight."""

    def gamma(self, theta: Array) -> Array:
        """Return the weight of each row."""
        return theta[self.of_row] * self.share

    def back(self, gradient: Array) -> Array:
        """Return the derivative in theta from that in the rows' weights."""
        return np.bincount(self.of_row, gradient * self.share, minlength=self.cap.size).astype(np.float64)

    def project(self, theta: Array) -> Array:
        """Return the nearest allowed theta; distances are measured as ||Gamma||, so that large groups move easily."""
        new = np.empty_like(theta)
        for part, total in self.totals:
            new[part] = project_capped(theta[part], self.cap[part], total, self.count[part])
        return new


class OverGroups(PsiObjective):
    """Psi = Gamma, by groups of rows, for h* fitted under these weights; distances are measured as ||Gamma||."""

    def __init__(self, fit: InnerProblem, groups: WeightGroups) -> None:
        self.fit, self.groups, self.width = fit, groups, groups.count

    def project(self, psi: Array) -> Array:
        """Return the nearest allowed weights."""
        return self.groups.project(psi)

    def fit_under(self, psi: Array) -> tuple[Array, Array, Array]:
        """Return the weight of each row, h* under these weights, and its loss on each row."""
        gamma = self.groups.gamma(psi)
        h = self.fit.fit(gamma)
        return gamma, h, self.fit.loss.value(np.asarray(self.fit.X @ h), self.fit.y)


class WeightsObjective(OverGroups):
    """The training loss under Gamma, the gap, and r = ||Gamma||^2."""

    def __init__(
        self, fit: InnerProblem, gap: TwoDomainGap, groups: WeightGroups, multiplicity: Array, lam1: float, lam2: float
    ) -> None:
        super().__init__(fit, groups)
        self.gap, self.multiplicity, self.lam1, self.lam2 = gap, multiplicity, lam1, lam2

    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return value and derivative; that of the inner minimum is the loss of each row."""
        gamma, h, losses = self.fit_under(psi)
        value = float(gamma @ losses) + self.fit.ridge * float(h @ h)
        gradient = losses
        if self.lam1 > 0:
            gap, slope = self.gap.evaluate(gamma)
            value, gradient = value + self.lam1 * gap, gradient + self.lam1 * slope
        spread = gamma / self.multiplicity
        value += self.lam2 * float(gamma @ spread)
        return value, self.groups.back(gradient + 2 * self.lam2 * spread)


def minimise_psi(objective: PsiObjective, psi: Array, max_iter: int, tol: float) -> tuple[Array, list[float]]:
    """Projected gradient with Barzilai-Borwein steps, shortened until the objective falls: it never rises.

    Parameters
    ----------
    objective : PsiObjective
    psi : ndarray
        Where to start: an allowed one.
    max_iter : int
    tol : float
        Ends where a step of the projected gradient would gain less than this share of the first objective.

    Returns
    -------
    psi : ndarray
    history : list of float
        The objective at the start and after each step.
    """
    width, fixed = objective.width, objective.step
    value, gradient = objective.evaluate(psi)
    history = [value]
    steepest = float(np.abs(gradient - gradient.mean()).max()) * float(np.max(width))
    step = 0.1 / max(steepest, 1e-12) if fixed is None else fixed
    for _ in range(max_iter):
        new = objective.project(psi - step * width * gradient)
        expected = -float(np.vdot(gradient, new - psi))
        if expected <= tol * abs(history[0]):
            break
        for _ in range(12):
            new_value, new_gradient = objective.evaluate(new)
            if new_value <= value + 1e-4 * float(np.vdot(gradient, new - psi)):
                break
            step /= 4
            new = objective.project(psi - step * width * gradient)
        else:
            break  # no descent to be had: as far as the inner fits are exact
        move, bent = new - psi, new_gradient - gradient
        psi, value, gradient = new, new_value, new_gradient
        history.append(value)
        curved = float(np.vdot(move, bent))
        searched = float(np.vdot(move, move / width)) / curved if curved > 0 else 4 * step
        step = searched if fixed is None else fixed
    return psi, history


def assign_folds(domain: NDArray[np.int64], y: Array | None, n_folds: int, random_state: Any) -> NDArray[np.intp]:
    """Return a fold for each row, every domain and class spread over all of them as evenly as can be."""
    random = check_random_state(random_state)
    fold = np.empty(domain.size, dtype=np.intp)
    strata = np.unique(
        np.column_stack([domain, np.zeros(domain.size) if y is None else y]), axis=0, return_inverse=True
    )
    n_assigned = 0
    for each in range(len(strata[0])):
        rows = np.flatnonzero(strata[1].ravel() == each)
        fold[random.permutation(rows)] = (n_assigned + np.arange(rows.size)) % n_folds
        n_assigned += rows.size
    smallest = min(np.unique(fold[part]).size for part in (domain < 0, domain > 0))
    if smallest < 2:
        raise ValueError(
            "a domain has one row: cross-fitting needs two or more in target and source, or gap_data='train'"
        )
    return fold


def optimism(fit: InnerProblem, gamma: Array) -> float:
    """Return what lam2 has to be for lam2 ||Gamma||^2 to be the optimism of the training loss (Takeuchi 1976).

    The training loss of the minimiser is below its risk by about tr(Hessian^-1 sum_i gamma_i^2 g_i g_i'), g_i the
    gradient of row i's loss; it grows with ||Gamma||^2 as weights concentrate.
    """
    h = fit.fit(gamma)
    slope = gamma * fit.loss.gradient(np.asarray(fit.X @ h), fit.y)
    outer = Problem([WeightedRows(fit.X, fit.y, slope**2)], fit.loss, 0.0).gram([slope**2])
    return float(np.trace(np.linalg.solve(fit.problem.hessian(h[None]), outer)) / (gamma @ gamma))
