"""Task covariance (Sec. 4.2.3): Definition 33, Lemma 36 (`tcmlemma`), Theorem 34 (`tcmtheorem`)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.gap import PerformanceGap
from gapmin.linear._bilevel import PsiObjective, minimise_psi
from gapmin.linear._bounds import Form
from gapmin.linear._coupled import CoupledTasks, Stability, fit_coupled, single_and_pooled_gap
from gapmin.linear._exact import solve
from gapmin.linear._losses import Loss
from gapmin.linear._matrix import largest, unit
from gapmin.linear._multitask import MultitaskClassifierMixin, MultitaskRegressorMixin
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._simplex import project_capped, project_simplex

_ALTERNATIONS = 200
_CAPS = 8
"""So many caps on the largest eigenvalue are tried, from none to that of the identity."""

_FLOOR = 1e-3
"""A learnt Omega has no eigenvalue below this share of their mean."""


def learn_omega(H: Array, trace: float) -> Array:
    """Return the Omega of the given trace with the smallest tr(H' Omega^-1 H): Zhang & Yeung's closed form.

    It is proportional to the square root of H H'. Eigenvalues are held above a share of their mean, and the rest of the
    trace goes to the others in proportion, which is the minimiser under that floor too.

    Examples
    --------
    >>> learn_omega(np.array([[1.0, 0.0], [0.0, 3.0]]), trace=8.0).round(6)
    array([[2., 0.],
           [0., 6.]])
    """
    H = H / unit(largest(H))
    values, vectors = np.linalg.eigh(H @ H.T)
    roots = np.sqrt(np.maximum(values, 0.0))
    floor = _FLOOR * trace / len(roots)
    free = np.ones(len(roots), dtype=bool)
    sizes = np.full(len(roots), floor)
    while True:
        left, weight = trace - floor * (~free).sum(), roots[free].sum()
        sizes[free] = left * roots[free] / weight if weight > 0 else left / free.sum()
        low = free & (sizes < floor)
        if not low.any():
            return (vectors * sizes) @ vectors.T
        sizes[low], free = floor, free & ~low


def project_eigenvalues(omega: Array, trace: float, cap: float = np.inf) -> Array:
    """Return the nearest matrix of the given trace whose eigenvalues are above their floor, and at most `cap`."""
    values, vectors = np.linalg.eigh((omega + omega.T) / 2)
    floor = _FLOOR * trace / len(values)
    left = trace - floor * len(values)
    if cap < trace:
        room = np.full(len(values), max(cap, trace / len(values)) - floor)
        sizes = floor + project_capped(values - floor, room, left)
    else:
        sizes = floor + left * project_simplex((values - floor) / left)
    return (vectors * sizes) @ vectors.T


class CovarianceObjective(PsiObjective):
    """Psi = Omega / trace in the framework of Sec. 5, its eigenvalues at most a cap.

    min_H (1 / K) sum_k L_k(h_k) + tr(H' Omega^-1 H)  +  lam1 (K min V_0 - sum_k min V_k)

    Omega sets the penalties of the gap: 1' Omega^-1 1 of V_0, and K / sigma_max of V_k. The largest eigenvalue has no
    derivative where it is a multiple one, and there the minimum often is; so the cap stands for it, and is varied from
    outside. Every other term is a minimum over hypotheses, with the derivative of its integrand:
    -Omega^-1 H H' Omega^-1, and -K ||h_0||^2 Omega^-1 11' Omega^-1.

    Parameters
    ----------
    tasks : list of WeightedRows
    X, y : the rows of all tasks
    loss : Loss
    trace : float
        Of Omega.
    lam1 : float
    cap : float
        The largest eigenvalue of Psi, from 1 / K (the identity alone) to 1.
    """

    def __init__(
        self, tasks: list[WeightedRows], X: Any, y: Array, loss: Loss, trace: float, lam1: float, cap: float
    ) -> None:
        K = len(tasks)
        self.tasks, self.loss, self.trace, self.lam1, self.cap = tasks, loss, trace, lam1, cap
        self.everything = WeightedRows(X, y, np.concatenate([rows.weight / K for rows in tasks]))
        single = K / (cap * trace)
        self.single_minima = 0.0
        for rows in tasks:
            h = solve(Problem([rows], loss, single)).h
            self.single_minima += rows.loss(loss, h) + single * float(h @ h)
        self.start: Array | None = None

    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return the objective and its derivative."""
        K, precision = len(self.tasks), np.linalg.inv(psi) / self.trace
        self.start = H = fit_coupled(self.tasks, self.loss, precision, self.start)
        pull, sums = precision @ H, precision.sum(axis=1)
        pooled = float(sums.sum())
        h = solve(Problem([self.everything], self.loss, pooled)).h
        squares = float(h @ h)
        value = sum(rows.loss(self.loss, each) for rows, each in zip(self.tasks, H, strict=True)) / K
        value += float(np.vdot(H, pull))
        together = K * (self.everything.loss(self.loss, h) + pooled * squares)
        value += self.lam1 * (together - self.single_minima)
        return value, -self.trace * (pull @ pull.T + self.lam1 * K * squares * np.outer(sums, sums))

    def project(self, psi: Array) -> Array:
        """Return the nearest matrix of trace 1 with eigenvalues between their floor and the cap."""
        return project_eigenvalues(psi, 1.0, self.cap)


def gap_under(
    names: list[Any], tasks: list[WeightedRows], X: Any, y: Array, loss: Loss, omega: Array
) -> PerformanceGap:
    """Return the gap of Definition 33 under `omega`."""
    single, pooled = len(tasks) / np.linalg.eigvalsh(omega)[-1], np.linalg.inv(omega).sum()
    return single_and_pooled_gap(names, tasks, X, y, loss, float(single), float(pooled))


@dataclass(eq=False, repr=False)
class TaskCovariance(CoupledTasks):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "omega": ["array-like", None],
        "lam1": [Interval(Real, 0, None, closed="left")],
    }

    omega: Any = None
    _: KW_ONLY
    lam: float = 0.01
    lam1: float = 0.0
    loss: str = "logistic"
    fit_intercept: bool = True

    omega_: Array = field(init=False)
    objective_history_: Array = field(init=False)

    def _solve(self, tasks: list[WeightedRows], X: Any, y: Array) -> Array:
        K = len(tasks)
        if self.omega is None:
            H = self._alternate(tasks)
            if self.lam1 > 0:
                H = self._descend(tasks, X, y, self.omega_)
        else:
            self.omega_, self.objective_history_ = self._given(K), np.empty(0)
            H = fit_coupled(tasks, self._loss, np.linalg.inv(self.omega_))
        self.gap_ = gap_under(self.tasks_.tolist(), tasks, X, y, self._loss, self.omega_)
        return H

    def _descend(self, tasks: list[WeightedRows], X: Any, y: Array, found: Array) -> Array:
        """Minimise with the gap under each of a few caps, from the Omega found without it; return the hypotheses."""
        K = len(tasks)
        trace = K**2 / self.lam
        psi, tried = found / trace, []
        for cap in np.geomspace(1, 1 / K, _CAPS):
            objective = CovarianceObjective(tasks, X, y, self._loss, trace, self.lam1, cap)
            psi, history = minimise_psi(objective, objective.project(psi), _ALTERNATIONS, 1e-7)
            tried.append((psi, history))
        psi, history = min(tried, key=lambda each: each[1][-1])
        self.omega_, self.objective_history_ = trace * psi, np.array(history)
        return fit_coupled(tasks, self._loss, np.linalg.inv(self.omega_))

    def _alternate(self, tasks: list[WeightedRows]) -> Array:
        """Fit and learn Omega in turn, its trace K^2 / lam, to the minimum of an objective that is convex in both.

        The closed form alone creeps where an eigenvalue goes to its floor, so the move is tried at growing lengths; no
        step raises the objective.
        """
        K = len(tasks)
        trace = K**2 / self.lam

        def fit(omega: Array, start: Array | None) -> tuple[float, Array]:
            precision = np.linalg.inv(omega)
            H = fit_coupled(tasks, self._loss, precision, start)
            losses = sum(rows.loss(self._loss, h) for rows, h in zip(tasks, H, strict=True)) / K
            return losses + float(np.vdot(H, precision @ H)), H

        self.omega_, length = np.eye(K) * trace / K, 1.0
        value, H = fit(self.omega_, None)
        history, gained = [value], 0.0
        for _ in range(_ALTERNATIONS):
            closed_form = learn_omega(H, trace)
            tried = [1.0, length] if length > 1 else [1.0]
            candidates = []
            for each in tried:
                omega = project_eigenvalues(self.omega_ + each * (closed_form - self.omega_), trace)
                candidates.append((*fit(omega, H), omega, each))
            new, H_new, omega, best_length = min(candidates, key=lambda each: each[0])
            length = 2 * best_length if best_length == length else max(length / 4, 1.0)
            if not new < value:
                break
            gained, value, H, self.omega_ = value - new, new, H_new, omega
            history.append(value)
            if gained <= 1e-9 * abs(history[0]) and best_length == 1.0:
                break
        if len(history) > _ALTERNATIONS and gained > 1e-6 * abs(history[0]):
            warnings.warn(
                f"Omega was still moving after {_ALTERNATIONS} alternations (the last gained {gained:.1e})",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.objective_history_ = np.array(history)
        return H

    def _given(self, K: int) -> Array:
        omega = np.asarray(self.omega, dtype=np.float64)
        if omega.shape != (K, K):
            raise ValueError(f"omega has shape {omega.shape} for {K} tasks: give one row and column a task")
        if not np.isfinite(omega).all():
            raise ValueError("omega has NaN or infinity: give a positive definite matrix")
        if not np.allclose(omega, omega.T, rtol=1e-10, atol=0):
            raise ValueError(
                f"omega is not symmetric (it differs from its transpose by up to {np.abs(omega - omega.T).max():.3g}): "
                "give (omega + omega.T) / 2"
            )
        smallest = float(np.linalg.eigvalsh(omega)[0])
        if not smallest > 1e-14 * float(np.trace(omega)):
            raise ValueError(
                f"omega is not positive definite (smallest eigenvalue {smallest:.3g}): add a multiple of the identity"
            )
        return omega

    def _stability(self, j: int, form: Form) -> Stability:
        """Theorem 34: beta = sigma_max rho^2 R^2 / (K N); sharp, with Omega_jj for sigma_max."""
        own, largest = float(self.omega_[j, j]), float(np.linalg.eigvalsh(self.omega_)[-1])
        K, n = len(self.tasks_), float(self._sizes[j])
        learnt = "; here it was learnt from it" if self.omega is None else ""
        return Stability(
            beta=(own if form == "sharp" else largest) / (K * n),
            squared_radius=own,
            lam=K / largest,
            chosen=f"Omega was chosen without looking at this sample{learnt}",
            constants={"sigma_max": largest, "omega_jj": own},
        )


class TaskCovarianceClassifier(MultitaskClassifierMixin, TaskCovariance):
    r"""Linear classifiers coupled by a covariance of the tasks (Sec. 4.2.3).

    Minimises :math:`\frac1K \sum_k L_{S_k}(h_k) + \mathrm{tr}(H^\top \Omega^{-1} H)`.

    Parameters
    ----------
    omega : array-like of shape (n_tasks, n_tasks) or None, default=None
        A positive definite matrix; None learns it by the closed form of Zhang & Yeung (2010) with the trace
        n_tasks^2 / lam, so that lam means what it means for a single task.
    lam : float, default=0.01
        Sets the trace of a learnt omega; not used with a given one.
    lam1 : float, default=0.0
        For a learnt omega: the weight of the gap in its objective (Sec. 5). Above 0 it is not convex: the best of the
        stationary points under eight caps on the largest eigenvalue.
    loss : "logistic" or "hinge", default="logistic"
        What a wrong prediction costs.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_features)
        The coefficients.
    intercept_ : ndarray of shape (n_tasks,)
        The constant.
    tasks_ : ndarray of shape (n_tasks,)
        The tasks, in the order of the rows of `coef_`.
    gap_ : PerformanceGap
        With a part for each task.
    omega_ : ndarray of shape (n_tasks, n_tasks)
        The covariance between tasks.
    objective_history_ : ndarray
        By alternation, for a learnt omega; with `lam1` above 0 by step, under the cap that was best.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    >>> slope = np.where(task == "c", -1.0, 1.0)
    >>> clf = TaskCovarianceClassifier().fit(X, slope * X[:, 0] > 0, sample_task=task)
    >>> np.sign(clf.omega_)
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    """


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(TaskCovarianceClassifier)
class TaskCovarianceRegressor(MultitaskRegressorMixin, TaskCovariance):
    r"""Linear regressions coupled by a covariance of the tasks (Sec. 4.2.3).

    Minimises :math:`\frac1K \sum_k L_{S_k}(h_k) + \mathrm{tr}(H^\top \Omega^{-1} H)`.

    Parameters
    ----------
    loss : "squared" or "absolute", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    >>> slope = np.where(task == "c", -1.0, 1.0)
    >>> model = TaskCovarianceRegressor(np.eye(3) * 300).fit(X, slope * X[:, 0], sample_task=task)
    >>> model.coef_.round(1)[:, 0]
    array([ 1.,  1., -1.])
    """

    loss: str = "squared"
