"""Task weighting (Sec. 4.2.1): Definition 21, Lemma 24 (`lemmatwm`), Theorem 22 (`twmtheorem`).

With a representation, Corollary 26 (`twrlmcor1`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.typing import Array
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear._bounds import Form, GivenConstants, check_delta, weighted_terms
from gapmin.linear._exact import solve
from gapmin.linear._multitask import MultitaskClassifierMixin, MultitaskRegressorMixin, MultitaskSetting
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._simplex import project_simplex
from gapmin.linear.feature_transfer import PHI_LEARNT, Representation
from gapmin.linear.instance_weighting import DomainObjective

_ALTERNATIONS = 200


@dataclass(eq=False, repr=False)
class TaskWeighting(Representation, MultitaskSetting):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "relation": [StrOptions({"uniform", "learn"}), "array-like", None],
        "eta": [Interval(Real, 0, 1, closed="left")],
        "lam1": [Interval(Real, 0, None, closed="left")],
        "lam3": [Interval(Real, 0, None, closed="neither")],
        "relation_cost": [StrOptions({"excess", "printed"})],
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
    fit_intercept: bool = True

    relation_: Array = field(init=False)
    gap_matrix_: Array = field(init=False)
    objective_history_: Array = field(init=False)

    def _solve(self, tasks: list[WeightedRows], X: Any, y: Array) -> Array:
        sides = [DomainObjective(rows, self._loss, self.eta * self.lam) for rows in tasks]
        losses = np.array([[rows.loss(self._loss, side.h) for side in sides] for rows in tasks])  # L_k(h_j)
        values = losses + np.array([side.ridge * float(side.h @ side.h) for side in sides])
        # Entry j, k: what the minimiser of task j loses on task k.
        self.gap_matrix_ = np.maximum(values - np.diag(values)[:, None], 0.0).T
        weight = [rows.weight for rows in tasks]

        def fit(relation: Array) -> Array:
            shares = [np.concatenate([g * w for g, w in zip(row, weight, strict=True)]) for row in relation]
            return np.vstack([solve(Problem([WeightedRows(X, y, share)], self._loss, self.lam)).H for share in shares])

        if isinstance(self.relation, str) and self.relation == "learn":
            own = np.diag(losses) if self.relation_cost == "excess" else np.zeros(len(tasks))
            H, self.relation_, history = self._alternate(tasks, own, fit)
        else:
            self.relation_, history = self._given(len(tasks)), []
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

    def _alternate(self, tasks: list[WeightedRows], own: Array, fit: Any) -> tuple[Array, Array, list[float]]:
        """Minimise sum_k gamma_k (L_k(h_j) - own_k) + lam ||h_j||^2 + lam1 gap_j + lam3 ||gamma||^2, for each task j.

        Given the hypotheses every term is linear in Gamma^j but the last, so its minimiser is a projection on the
        simplex; neither step can raise the objective.
        """
        relation = np.full((len(tasks), len(tasks)), 1 / len(tasks))
        history: list[float] = []
        for _ in range(_ALTERNATIONS):
            H = fit(relation)
            cost = np.array([[rows.loss(self._loss, h) for rows in tasks] for h in H]) - own
            cost += self.lam1 * self.gap_matrix_
            relation = project_simplex(-cost / (2 * self.lam3))
            penalty = self.lam * float(np.vdot(H, H)) + self.lam3 * float(np.vdot(relation, relation))
            history.append(float(np.vdot(relation, cost)) + penalty)
            if len(history) > 1 and history[-2] - history[-1] <= 1e-12 * abs(history[0]):
                break
        return fit(relation), relation, history

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
        task : label, optional
            None bounds the mean risk of all tasks: each theorem at delta / K, averaged.
        form : "printed" or "sharp", default="printed"
        discrepancy : None, float, "estimate", "wasserstein", Discrepancy, or a mapping of these by the other task
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
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_features)
    intercept_ : ndarray of shape (n_tasks,)
    tasks_ : ndarray of shape (n_tasks,)
        The tasks, in the order of the rows of `coef_`.
    gap_ : PerformanceGap
        With a part for each task.
    relation_ : ndarray of shape (n_tasks, n_tasks)
        Gamma.
    gap_matrix_ : ndarray of shape (n_tasks, n_tasks)
        Entry j, k: what the hypothesis of task j alone loses on task k against task k's own.
    objective_history_ : ndarray
        By alternation, for learnt relations.
    transformer_ : transformer
        Phi, where one was given.
    classes_ : ndarray of shape (2,)

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
class TaskWeightingRegressor(MultitaskRegressorMixin, TaskWeighting):
    r"""Linear regressions, each trained on a weighted mix of all tasks (Sec. 4.2.1).

    For each task j minimises :math:`\sum_k \gamma^j_k L_{S_k}(h) + \lambda \|h\|^2` with weights that sum to one.

    Parameters and attributes are those of `TaskWeightingClassifier`, but for `classes_` and
    the loss: "squared" or "absolute", default="squared".

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
