"""Least squares and ridge regression from one pass: weighted sums of x x' and x y for each domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Ridge

from gapmin._utils.typing import Array
from gapmin.dask._chunks import gather_chunks, sum_chunks
from gapmin.dask._fits import Job
from gapmin.dask._rows import DaskPart, DaskRows
from gapmin.linear.solvers import dense, weighted_gram

_ROWS_OF_A_PRODUCT = 4096
"""Rows that are multiplied at a time."""


class LeastSquaresOnDask:
    """Fits of `Ridge` or `LinearRegression` to parts of the rows."""

    def __init__(self, template: Any, rows: DaskRows) -> None:
        if template.positive:
            raise ValueError(f"{type(template).__name__}(positive=True) has no closed form: use positive=False on Dask")
        self.template = template
        self.rows = rows
        self._shift: Array | None = None

    def fit(self, jobs: list[Job]) -> list[Any]:
        """Return a learner for each job."""
        if len({job.log_weight.name for job in jobs}) == 1:  # parts are made of domains, and so are their sums
            return self._fit_together(jobs)
        return [self._fit_together([job])[0] for job in jobs]

    def _fit_together(self, jobs: list[Job]) -> list[Any]:
        """Return the learners of jobs that have their weights in common, after one pass."""
        rows = self.rows
        largest = max(job.log_mass for job in jobs)
        sums = sum_chunks(
            _moments,
            rows.X,
            rows.y,
            rows.domain,
            jobs[0].log_weight,
            domains=rows.domains,
            shift=self._origin(),
            log_scale=largest,
        )
        return [self._solve(job.part, sum(sums[k] for k in job.part.columns), job.log_mass - largest) for job in jobs]

    def _origin(self) -> Array:
        """Return a point among the rows: sums around it do not cancel when they are centred."""
        if self._shift is None:
            y: Any = self.rows.y
            first = int(np.argmax(np.array(self.rows.sizes) > 0))
            (self._shift,) = gather_chunks(_column_means, self.rows.X.blocks[first], y.blocks[first])
        return self._shift

    def _solve(self, part: DaskPart, moments: Array, log_mass: float) -> Any:
        """Minimise sum_i w_i (y_i - <h, x_i> - b)^2 + alpha ||h||^2 with weights that sum to the number of rows."""
        learner = clone(self.template)
        d = self.rows.X.shape[1]
        moments = moments * (part.count / np.exp(log_mass))
        origin = self._origin()
        mean = np.zeros(d + 1)
        if learner.fit_intercept:
            mean = moments[-1, :-1] / moments[-1, -1]
            moments = moments[:-1, :-1] - np.outer(mean, mean) * moments[-1, -1]
            mean = mean + origin
        else:
            moments = _shift_back(moments, origin)
        gram, cross = moments[:d, :d], moments[:d, d]
        if isinstance(learner, Ridge) and learner.alpha > 0:
            coef = scipy.linalg.solve(gram + learner.alpha * np.eye(d), cross, assume_a="pos")
        else:
            # Of columns of unit length only what depends on others is cut off, not what is measured in kilometres.
            length = np.sqrt(np.where(gram.diagonal() > 0, gram.diagonal(), 1.0))
            coef = scipy.linalg.lstsq(gram / np.outer(length, length), cross / length, cond=1e-13)[0] / length
        learner.coef_ = coef.astype(self.rows.X.dtype)
        learner.intercept_ = float(mean[d] - mean[:d] @ coef) if learner.fit_intercept else 0.0
        learner.n_features_in_ = d
        return learner


def _shift_back(moments: Array, origin: Array) -> Array:
    """Return sums around 0 from sums around `origin`."""
    total_weight, first = moments[-1, -1], moments[-1, :-1]
    crossed = np.outer(first, origin)
    return moments[:-1, :-1] + crossed + crossed.T + total_weight * np.outer(origin, origin)


def _column_means(X: Any, y: Array) -> Array:
    return np.append(np.asarray(X.mean(axis=0), dtype=np.float64).ravel(), y.mean())


def _moments(
    X: Any,
    y: Array,
    domain: NDArray[Any],
    log_weight: Array,
    domains: list[int],
    shift: Array,
    log_scale: float,
) -> list[Any]:
    """Return for each domain the sum of w z z' with z = (x, y) - shift and a 1 behind it."""
    weight = np.exp(log_weight - log_scale)
    results: list[Any] = []
    for number in domains:
        chosen = np.flatnonzero(domain == number)
        if chosen.size == 0:
            results.append(None)
            continue
        results.append(_sum_of_squares(X[chosen], y[chosen], weight[chosen], shift))
    return results


def _sum_of_squares(X: Any, y: Array, weight: Array, shift: Array) -> Array:
    size = X.shape[1] + 2
    result = np.zeros((size, size))
    for start in range(0, y.size, _ROWS_OF_A_PRODUCT):
        rows = slice(start, start + _ROWS_OF_A_PRODUCT)
        z = np.empty((y[rows].size, size))
        z[:, :-2] = dense(X[rows])
        z[:, -2] = y[rows]
        z[:, :-1] -= shift
        z[:, -1] = 1.0
        result += weighted_gram(z, weight[rows])
    return result
