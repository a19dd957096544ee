"""Task weighting (Sec. 4.2.1): Definition 21, Lemma 24 (`lemmatwm`), Theorem 22 (`twmtheorem`).

With a representation, Corollary 26 (`twrlmcor1`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear._bilevel import InnerProblem, PsiObjective, minimise_psi
from gapmin.linear._bound_weights import check_bound_loss, simplex_groups, weigh_by_bound
from gapmin.linear._bounds import Form, GivenConstants, check_delta, distance, weighted_terms
from gapmin.linear._exact import solve
from gapmin.linear._losses import Loss
from gapmin.linear._multitask import MultitaskClassifierMixin, MultitaskRegressorMixin, MultitaskSetting
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._simplex import project_simplex
from gapmin.linear.feature_transfer import PHI_LEARNT, Representation
from gapmin.linear.instance_weighting import DomainObjective

_RELATION_STEPS = 200


class RelationObjective(PsiObjective):
    """Psi = Gamma, a row for each task j, in the framework of Sec. 5.

    sum_j  min_h sum_k gamma_k (L_k(h) - own_k) + lam ||h||^2  +  lam1 gap_j  +  lam3 ||gamma||^2

    The gap is linear in Gamma, for its minimisers are each task's own, and so is every term at given hypotheses, but
    the last. So the minimum over h is concave in Gamma, and a gradient step of length 1 / (2 lam3) never raises the
    objective: it is the projection of -cost / (2 lam3) on the simplex.

    Parameters
    ----------
    tasks : list of WeightedRows
    loss : Loss
    fit : callable
        From Gamma to the minimisers, a row for each task.
    own : ndarray of shape (n_tasks,)
        What is subtracted from the loss on each task.
    gaps : ndarray of shape (n_tasks, n_tasks)
        Entry j, k: V_k at the minimiser of V_j, less its minimum.
    lam, lam1, lam3 : float
    """

    def __init__(
        self,
        tasks: list[WeightedRows],
        loss: Loss,
        fit: Any,
        own: Array,
        gaps: Array,
        lam: float,
        lam1: float,
        lam3: float,
    ) -> None:
        self.tasks, self.loss, self.fit, self.own, self.gaps = tasks, loss, fit, own, gaps
        self.lam, self.lam1, self.lam3, self.step = lam, lam1, lam3, 1 / (2 * lam3)

    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return the objective and its derivative."""
        H = self.fit(psi)
        cost = (
            np.array([[rows.loss(self.loss, h) for rows in self.tasks] for h in H]) - self.own + self.lam1 * self.gaps
        )
        value = float(np.vdot(psi, cost)) + self.lam * float(np.vdot(H, H)) + self.lam3 * float(np.vdot(psi, psi))
        return value, cost + 2 * self.lam3 * psi

    def project(self, psi: Array) -> Array:
        """Return the nearest point of the simplex to each row."""
        return project_simplex(psi)


@dataclass(eq=False, repr=False)
class TaskWeighting(Representation, MultitaskSetting):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "relation": [StrOptions({"uniform", "learn"}), "array-like", None],
        "eta": [Interval(Real, 0, 1, closed="left")],
        "lam1": [Interval(Real, 0, None, closed="left")],
        "lam3": [Interval(Real, 0, None, closed="neither")],
        "relation_cost": [StrOptions({"excess", "printed"})],
        "weights": [StrOptions({"bound"}), None],
        "discrepancy": [StrOptions({"estimate", "wasserstein"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    relation: Any = None
    _: KW_ONLY
    loss: str = "logistic"
    lam: float = 0.01
    eta: float = 0.25
    transformer: Any = None
    lam1: float = 1.0
    lam3: float = 0.25
    relation_cost: str = "excess"
    weights: str | None = None
    discrepancy: Any = "estimate"
    delta: float = 0.05
    fit_intercept: bool = True

    relation_: Array = field(init=False)
    gap_matrix_: Array = field(init=False)
    objective_history_: Array = field(init=False)

    def _solve(self, tasks: list[WeightedRows], X: Any, y: Array) -> Array:
        if self.weights == "bound":
            check_bound_loss(self._loss, self.loss, self._numeric_labels)
            if self.relation is not None:
                raise ValueError("relation with weights='bound': both say how to weigh the tasks; leave relation out")
        sides = [DomainObjective(rows, self._loss, self.eta * self.lam) for rows in tasks]
        losses = np.array([[rows.loss(self._loss, side.h) for side in sides] for rows in tasks])  # L_k(h_j)
        values = losses + np.array([side.ridge * float(side.h @ side.h) for side in sides])
        # Entry j, k: what the minimiser of task j loses on task k.
        self.gap_matrix_ = np.maximum(values - np.diag(values)[:, None], 0.0).T
        weight = [rows.weight for rows in tasks]

        def fit(relation: Array) -> Array:
            shares = [np.concatenate([g * w for g, w in zip(row, weight, strict=True)]) for row in relation]
            return np.vstack([solve(Problem([WeightedRows(X, y, share)], self._loss, self.lam)).H for share in shares])

        history: list[float] = []
        if self.weights == "bound":
            self.relation_ = self._relation_by_bound(tasks, X, y)
        elif isinstance(self.relation, str) and self.relation == "learn":
            own = np.diag(losses) if self.relation_cost == "excess" else np.zeros(len(tasks))
            objective = RelationObjective(tasks, self._loss, fit, own, self.gap_matrix_, self.lam, self.lam1, self.lam3)
            uniform = np.full((len(tasks), len(tasks)), 1 / len(tasks))
            self.relation_, history = minimise_psi(objective, uniform, _RELATION_STEPS, 1e-12)
        else:
            self.relation_ = self._given(len(tasks))
        H = fit(self.relation_)
        self.objective_history_ = np.array(history)
        gaps = (self.relation_ * self.gap_matrix_).sum(axis=1)
        norm_bound = np.sqrt(gaps / (self.lam * (1 - self.eta)) + np.array([float(side.h @ side.h) for side in sides]))
        names = self.tasks_.tolist()
        self.gap_ = PerformanceGap(
            value=float(gaps.sum()),
            parts=dict(zip(names, gaps.tolist(), strict=True)),
            minimisers={name: side.h for name, side in zip(names, sides, strict=True)},
            norm_bound=norm_bound,
            sharp_norm_bound=norm_bound,
            loss_bound=np.full(len(tasks), np.nan),
            attained=all(side.attained for side in sides),
        )
        weighted = np.array([[rows.loss(self._loss, h) for rows in tasks] for h in H])
        self._weighted_loss = (self.relation_ * weighted).sum(axis=1)
        return H

    def _relation_by_bound(self, tasks: list[WeightedRows], X: Any, y: Array) -> Array:
        """Gamma^j by Theorem 22, for each task j."""
        K, c = len(tasks), self._worst_case(tasks, self.lam)
        apart = np.zeros((K, K))
        if not isinstance(self.discrepancy, str):
            given = np.asarray(self.discrepancy, dtype=np.float64)
            if given.shape not in ((), (K, K)) or not (given >= 0).all():
                raise ValueError(
                    f"discrepancy has shape {given.shape} for {K} tasks: give a number of at least 0, or one row and "
                    "column a task"
                )
            apart += given
        else:
            for j in range(K):
                for k in range(j):
                    found, _ = distance(self.discrepancy, k, tasks[j], tasks[k], self.loss, c)
                    apart[j, k] = apart[k, j] = found
        np.fill_diagonal(apart, 0.0)
        of_row = np.repeat(np.arange(K), [rows.y.size for rows in tasks])
        groups = simplex_groups(of_row, np.concatenate([rows.weight for rows in tasks]))
        groups = replace(groups, count=self._sizes)  # a step in the weight of a task is as long as it moves ||Gamma||
        fit = InnerProblem(X, y, self._loss, self.lam)
        by_rows = self._sizes / self._sizes.sum()
        starts = [np.full(K, 1 / K), by_rows]
        return np.vstack(
            [weigh_by_bound(fit, groups, apart[j], c, self.delta, [*starts, np.eye(K)[j]]) for j in range(K)]
        )

    def _given(self, K: int) -> Array:
        if self.relation is None or isinstance(self.relation, str):
            return np.full((K, K), 1 / K)
        relation = np.asarray(self.relation, dtype=np.float64)
        if relation.shape != (K, K):
            raise ValueError(f"relation has shape {relation.shape} for {K} tasks: give one row and column a task")
        if not (np.isfinite(relation).all() and (relation >= 0).all()):
            raise ValueError(
                f"relation has the entry {relation.ravel()[np.argmin(relation)]}: give weights of at least 0"
            )
        off = np.abs(relation.sum(axis=1) - 1)
        if off.max() > 1e-8:
            row = int(np.argmax(off))
            raise ValueError(f"row {row} of relation sums to {relation[row].sum():.6g}: make every row sum to 1")
        return relation

    def risk_bound(
        self,
        delta: float = 0.05,
        *,
        task: Any = None,
        form: Form = "printed",
        discrepancy: Any = None,
        R: float | None = None,
        Y: float | None = None,
        rho: float | None = None,
        radius: float | None = None,
    ) -> RiskBound:
        """Bound the risk of a task: Theorem 22 (with a transformer, Corollary 26).

        Tasks of unequal sizes enter with the weight gamma_k / N_k of each of their rows.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 - delta.
        task : label, optional
            None bounds the mean risk of all tasks: each theorem at delta / K, averaged.
        form : "printed" or "sharp", default="printed"
            As printed, sharper, or both.
        discrepancy : None, float, "estimate", "wasserstein", Discrepancy, or a mapping of these by the other task
            How far the domains are from each other: how to measure it, or the distance.
        R, Y, rho, radius : float, optional
            As in `InstanceWeightingClassifier.risk_bound`.

        Returns
        -------
        RiskBound
            With the terms "empirical", "discrepancy", "stability" and "concentration".
        """
        check_is_fitted(self)
        check_delta(delta, form)
        if task is None and isinstance(discrepancy, Mapping) and len(self.tasks_) > 1:
            raise ValueError("discrepancy by name says how far the other tasks are from one: say which with task=…")
        given = GivenConstants(R, Y, rho, radius)
        return self._over_tasks(lambda j, delta: self._bound_of_task(j, delta, form, discrepancy, given), task, delta)

    def _bound_of_task(self, j: int, delta: float, form: Form, discrepancy: Any, given: GivenConstants) -> RiskBound:
        c = self._constants(given, form, self.lam, j)
        names = self.tasks_.tolist()
        others = {name: float(self.relation_[j, k]) for k, name in enumerate(names) if k != j}
        apart, assumptions = self._weighted_discrepancy(c, discrepancy, names[j], others)
        largest = float((self.relation_[j] * self._heaviest).max())
        squares = float(self.relation_[j] ** 2 @ (1 / self._sizes))
        stable = weighted_terms(c, largest, squares, self._n_rows, delta, form)
        learnt = (
            "; here they were learnt from it" if isinstance(self.relation, str) and self.relation == "learn" else ""
        )
        if self.weights == "bound":
            learnt = "; here they minimise this bound on it"
        assumptions.append(f"the relations were chosen without looking at this sample{learnt}")
        if self._phi_learnt:
            assumptions.append(PHI_LEARNT)
        return RiskBound(
            terms={"empirical": float(self._weighted_loss[j]), "discrepancy": apart, **stable},
            delta=delta,
            assumptions=tuple(assumptions),
            constants=c.as_dict(beta=largest * c.change, n_rows=self._n_rows, n_tasks=float(len(names))),
        )


class TaskWeightingClassifier(MultitaskClassifierMixin, TaskWeighting):
    r"""Linear classifiers, each trained on a weighted mix of all tasks (Sec. 4.2.1).

    For each task j minimises :math:`\sum_k \gamma^j_k L_{S_k}(h) + \lambda \|h\|^2` with weights that sum to one.

    Parameters
    ----------
    relation : array-like of shape (n_tasks, n_tasks), "uniform", "learn" or None, default=None
        Gamma, row j for task j; None is uniform. "learn" fits the hypotheses and projects
        -cost / (2 lam3) on the simplex in turn, cost_jk = L_k(h_j) + lam1 (V_k(h_j alone) - V_k(h_k alone)).
    loss : "logistic" or "hinge", default="logistic"
        What a wrong prediction costs.
    lam : float, default=0.01
        Strength of the penalty.
    eta : float in [0, 1), default=0.25
        The share of the penalty that each task alone has in the gap.
    transformer : scikit-learn transformer or None, default=None
        Phi (Corollary 26), as in `FeatureTransferClassifier`.
    lam1, lam3 : float, default=1.0 and 0.25
        For learnt relations: the weight of the gap, and of ||Gamma^j||^2.
    relation_cost : "excess" or "printed", default="excess"
        For learnt relations: "excess" subtracts from the loss on each task what that task's own hypothesis has there,
        so that a hard task does not lose its weight to easy ones.
    weights : "bound" or None, default=None
        "bound" chooses Gamma^j for each task j so that the bound of Theorem 22 is smallest, in its sharp form. It is a
        stationary point, not above the bound of uniform weights, of weights by rows, or of the task alone. For the
        smooth losses.
    discrepancy : "estimate", "wasserstein", float, or array-like of shape (n_tasks, n_tasks), default="estimate"
        For weights="bound": how far the tasks are apart, as in `risk_bound`.
    delta : float in (0, 1), default=0.05
        For weights="bound": each bound holds with probability 1 - delta.
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
    relation_ : ndarray of shape (n_tasks, n_tasks)
        Gamma.
    gap_matrix_ : ndarray of shape (n_tasks, n_tasks)
        Entry j, k: what the hypothesis of task j alone loses on task k against task k's own.
    objective_history_ : ndarray
        By step, for learnt relations.
    transformer_ : transformer
        Phi, where one was given.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    >>> slope = np.where(task == "c", -1.0, 1.0)
    >>> clf = TaskWeightingClassifier("learn").fit(X, slope * X[:, 0] > 0, sample_task=task)
    >>> (clf.relation_[0, 1] > 0.3, clf.relation_[0, 2])  # a learns from b, not from c
    (np.True_, np.float64(0.0))
    """


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(TaskWeightingClassifier)
class TaskWeightingRegressor(MultitaskRegressorMixin, TaskWeighting):
    r"""Linear regressions, each trained on a weighted mix of all tasks (Sec. 4.2.1).

    For each task j minimises :math:`\sum_k \gamma^j_k L_{S_k}(h) + \lambda \|h\|^2` with weights that sum to one.

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
    >>> model = TaskWeightingRegressor("learn").fit(X, slope * X[:, 0], sample_task=task)
    >>> model.relation_.round(2)
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    loss: str = "squared"
