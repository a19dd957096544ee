"""What parameter sharing and task covariance share: a K x K penalty, a gap against pooling, a bound by stability."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.typing import Array
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear._bounds import Form, GivenConstants, check_delta, uniform_bound
from gapmin.linear._exact import solve
from gapmin.linear._losses import Loss
from gapmin.linear._multitask import MultitaskSetting
from gapmin.linear._problem import Problem, WeightedRows


def fit_coupled(tasks: list[WeightedRows], loss: Loss, precision: Array, start: Array | None = None) -> Array:
    """Minimise (1 / K) sum_k L_k(h_k) + tr(H' precision H) over H, a row for each task."""
    shared = [WeightedRows(rows.X, rows.y, rows.weight / len(tasks)) for rows in tasks]
    return solve(Problem(shared, loss, precision), start).H


def single_and_pooled_gap(
    names: list[Any], tasks: list[WeightedRows], X: Any, y: Array, loss: Loss, single: float, pooled: float
) -> PerformanceGap:
    """Return K V_0(h_0) - sum_k V_k(h_k) by task, V_k = L_k + single ||h||^2 and V_0 = mean_k L_k + pooled ||h||^2.

    With Lemmas 30 (`psmlemma`) and 36 (`tcmlemma`): ||h_j*||^2 <= gap / single + ||h_j||^2. Without the loss bound.
    """
    K = len(tasks)
    own = [solve(Problem([rows], loss, single)).h for rows in tasks]
    everything = WeightedRows(X, y, np.concatenate([rows.weight / K for rows in tasks]))
    all_one = solve(Problem([everything], loss, pooled)).h
    parts = {}
    for name, rows, h in zip(names, tasks, own, strict=True):
        together = rows.loss(loss, all_one) + pooled * float(all_one @ all_one)
        parts[name] = max(together - rows.loss(loss, h) - single * float(h @ h), 0.0)
    value = float(sum(parts.values()))
    norm_bound = np.sqrt(value / single + np.array([float(h @ h) for h in own]))
    return PerformanceGap(
        value=value,
        parts=parts,
        minimisers=dict(zip(names, own, strict=True)),
        norm_bound=norm_bound,
        sharp_norm_bound=norm_bound,
        loss_bound=np.full(K, np.nan),
        pooled=all_one,
    )


@dataclass(frozen=True)
class Stability:
    """What a theorem says of task j.

    Attributes
    ----------
    beta : float
        The stability coefficient, divided by rho^2 R^2.
    squared_radius : float
        What bounds ||h_j||^2, divided by the loss at 0.
    lam : float
        The strength of the penalty that a single task would have.
    chosen : str
        What must have been chosen without the sample.
    constants : dict of str to float
        More to report.
    """

    beta: float
    squared_radius: float
    lam: float
    chosen: str
    constants: dict[str, float]


class CoupledTasks(MultitaskSetting):
    """Hypotheses with a common penalty tr(H' Omega^-1 H), a mean loss over the tasks."""

    @abstractmethod
    def _stability(self, j: int, form: Form) -> Stability:
        """Return the setting's theorem for task j."""

    def _radius(self, R: float, Y: float, j: int) -> float:
        return float(np.sqrt(self._loss.at_most(0.0, Y) * self._stability(j, "printed").squared_radius))

    def risk_bound(
        self,
        delta: float = 0.05,
        *,
        task: Any = None,
        form: Form = "printed",
        R: float | None = None,
        Y: float | None = None,
        rho: float | None = None,
        radius: float | None = None,
    ) -> RiskBound:
        """Bound the risk of a task: the setting's theorem.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 - delta.
        task : label, optional
            None bounds the mean risk of all tasks: each theorem at delta / K, averaged.
        form : "printed" or "sharp", default="printed"
            For task covariance the sharp one has Omega_jj where the printed one has the largest eigenvalue; for
            parameter sharing both are the same.
        R, Y, rho : float, optional
            As in `InstanceWeightingClassifier.risk_bound`.
        radius : float, optional
            By default sqrt(loss(0) Omega_jj), which every minimiser obeys; for parameter sharing that is
            sqrt(loss(0) (1 / lam0 + K / lam)).

        Returns
        -------
        RiskBound
            With the terms "empirical", "stability" and "concentration".
        """
        check_is_fitted(self)
        check_delta(delta, form)
        given = GivenConstants(R, Y, rho, radius)
        return self._over_tasks(lambda j, delta: self._bound_of_task(j, delta, form, given), task, delta)

    def _bound_of_task(self, j: int, delta: float, form: Form, given: GivenConstants) -> RiskBound:
        theorem, n = self._stability(j, form), float(self._sizes[j])
        c = self._constants(given, form, theorem.lam, j)
        beta, constants = theorem.beta * c.rho**2 * c.R**2, {"n_tasks": float(len(self.tasks_)), **theorem.constants}
        return uniform_bound(c, float(self._empirical[j]), beta, n, delta, theorem.chosen, **constants)
