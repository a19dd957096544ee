"""Our logistic regression on rows in chunks: the learners of one round share every pass over X."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from gapmin._utils.typing import Array
from gapmin.dask._chunks import sum_chunks
from gapmin.dask._fits import Job
from gapmin.dask._rows import DaskRows, select
from gapmin.linear import WeightedLogisticRegression
from gapmin.linear.solvers import DescentResult, LogisticObjective, SummedLogistic, descend, tolerance, write_into


@dataclass(frozen=True)
class LossRequest:
    """What one learner asks of a pass: loss, gradient and curvature at `h`, or with `bound` a bound on the last."""

    members: tuple[int, ...] | None
    classes: NDArray[np.intp]
    log_mass: float
    h: Array
    fit_intercept: bool
    bound: bool = False


class LogisticsOnDask:
    """Fits of our logistic regression to parts of the rows, each started where the last to the same part ended."""

    def __init__(self, template: WeightedLogisticRegression, rows: DaskRows, classes: NDArray[Any]) -> None:
        self.template = template
        self.rows = rows
        self.classes = classes
        self._last: dict[str, Array] = {}

    def fit(self, jobs: list[Job]) -> list[Any]:
        """Return a learner for each job."""
        wanted = [
            LossRequest(job.part.members, job.part.classes, job.log_mass, np.empty(0), self.template.fit_intercept)
            for job in jobs
        ]
        log_weights = [job.log_weight for job in jobs]
        parts = [job.part for job in jobs]
        objectives, descents, points = [], [], []
        for k, part in enumerate(parts):
            objective = SummedLogistic(
                self.rows.X.shape[1],
                part.classes.size,
                self.template.lam,
                self.template.fit_intercept,
                self.rows.X.dtype,
                partial(self._bound, k, wanted[k], log_weights),
            )
            start = self._last.get(part.name, np.zeros(objective.penalty.n_parameters))
            tol = tolerance(self.template, objective.penalty)
            descent = descend(objective, start, tol=tol, max_iter=self.template.max_iter, gap=objective)
            objectives.append(objective)
            descents.append(descent)
            points.append(next(descent))
        solutions: dict[int, DescentResult] = {}
        while len(solutions) < len(parts):
            going = [k for k in range(len(parts)) if k not in solutions]
            sums = self._pass({k: replace(wanted[k], h=points[k]) for k in going}, log_weights)
            for k in going:
                try:
                    points[k] = descents[k].send(objectives[k].receive(points[k], *sums[k]))
                except StopIteration as end:
                    solutions[k] = end.value
        for k, part in enumerate(parts):
            self._last[part.name] = solutions[k].h
        return [
            write_into(clone(self.template), objectives[k].penalty, solutions[k], self.classes[part.classes])
            for k, part in enumerate(parts)
        ]

    def _bound(self, k: int, wanted: LossRequest, log_weights: list[Any]) -> list[Array]:
        return self._pass({k: replace(wanted, bound=True)}, log_weights)[k][2]

    def _pass(self, wanted: dict[int, LossRequest], log_weights: list[Any]) -> dict[int, Any]:
        """One pass over X; `log_weights` are one for each part, mostly the same."""
        rows = self.rows
        different = {each.name: each for each in log_weights}
        places = {k: list(different).index(log_weights[k].name) for k in wanted}
        sums = sum_chunks(
            logistic_sums,
            rows.X,
            rows.y,
            rows.domain,
            *different.values(),
            wanted=list(wanted.values()),
            places=list(places.values()),
        )
        return dict(zip(wanted, sums, strict=True))


def logistic_sums(
    X: Any,
    codes: NDArray[Any],
    domain: NDArray[Any],
    *log_weights: Array,
    wanted: list[LossRequest],
    places: list[int],
) -> list[Any]:
    """Return for each learner the sums over a chunk: loss, gradient, curvature."""
    results: list[Any] = []
    for each, place in zip(wanted, places, strict=True):
        chosen = select(domain, each.members)
        own_codes = np.searchsorted(each.classes, codes[chosen])
        if own_codes.size == 0:
            results.append(None)
            continue
        # A chunk has no penalty: that is added once, to the sum.
        objective = LogisticObjective(X[chosen], own_codes, each.classes.size, 0.0, each.fit_intercept, in_blocks=True)
        objective.weight = np.exp(log_weights[place][chosen] - each.log_mass).astype(objective.dtype)
        if each.bound:
            results.append([0.0, 0.0, objective.curvature_sums(bound=True)])
            continue
        loss, gradient = objective.evaluate(each.h)
        results.append([loss, gradient, objective.curvature_sums()])
    return results
