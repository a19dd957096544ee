"""The problem that every setting poses.

    sum_i w_i loss(<h_task(i), x_i>, y_i) + tr((H - C)' P (H - C))

over H, a row for each task, with a positive definite K x K penalty P that couples the tasks and a centre C to be pulled
to. One task with P = lam is l2-regularised learning; C = <H, Xi> is hypothesis transfer; P = Omega^-1 is task
covariance.

`_exact` solves it. Every solver asks for one kind of matrix: the blocks X_k' D_k X_k with the penalty added, of K d
rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapmin._utils.typing import Array
from gapmin.linear._losses import Loss
from gapmin.linear._solver import CholeskyMetric, DiagonalMetric, Metric, weighted_gram

FACTOR_LIMIT = 1200
"""Above this many parameters smooth losses go without a factor of the Hessian."""


@dataclass(frozen=True)
class WeightedRows:
    """The rows of one task: features (dense or csr), labels, and weights of at least 0."""

    X: Any
    y: Array
    weight: Array

    def score(self, h: Array) -> Array:
        """Return <h, x> of every row."""
        return np.asarray(self.X @ h)

    def loss(self, loss: Loss, h: Array) -> float:
        """Return the weighted loss of `h`."""
        return float(self.weight @ loss.value(self.score(h), self.y))


@dataclass
class Solution:
    """The minimiser, a row for each task, and how exact it is.

    `error` is the largest entry of the gradient for smooth losses, the duality gap for the others.
    """

    H: Array
    error: float

    @property
    def h(self) -> Array:
        """The minimiser of a problem of one task."""
        return self.H[0]


@dataclass
class Problem:
    """Losses of K tasks and the penalty that couples them.

    Parameters
    ----------
    tasks : list of WeightedRows
        All with the same number d of features.
    loss : Loss
    penalty : float or ndarray of shape (K, K)
        A number is that multiple of the identity.
    centre : ndarray of shape (K, d), optional
        What the penalty pulls to; 0 without it.
    """

    tasks: list[WeightedRows]
    loss: Loss
    penalty: Any
    centre: Array | None = None
    _scores: list[Array] = field(default_factory=list, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """K and d."""
        return len(self.tasks), self.tasks[0].X.shape[1]

    @cached_property
    def P(self) -> Array:
        """The penalty as a matrix."""
        return np.atleast_2d(self.penalty) if np.ndim(self.penalty) else self.penalty * np.eye(len(self.tasks))

    @cached_property
    def C(self) -> Array:
        """The centre as a matrix."""
        return np.zeros(self.shape) if self.centre is None else np.asarray(self.centre, dtype=float)

    # What the smooth solver asks for.

    def evaluate(self, flat: Array) -> tuple[float, Array]:
        """Return value and gradient at a flat vector of the rows of H."""
        H = flat.reshape(self.shape)
        away = H - self.C
        pull = self.P @ away
        value, gradient = float(np.vdot(away, pull)), 2 * pull
        self._scores = []
        for k, (rows, h) in enumerate(zip(self.tasks, H, strict=True)):
            score = rows.score(h)
            value += float(rows.weight @ self.loss.value(score, rows.y))
            gradient[k] += rows.X.T @ (rows.weight * self.loss.gradient(score, rows.y))
            self._scores.append(score)
        return value, gradient.ravel()

    def metric(self, attempt: int, *, bound: bool = False) -> Metric:
        """Return the Hessian at the last point evaluated, as a Cholesky factor where that is affordable."""
        weights: list[Array] = []
        for rows, score in zip(self.tasks, self._scores, strict=True):
            curvature = np.full_like(score, self.loss.most_curved) if bound else self.loss.curvature(score, rows.y)
            weights.append(rows.weight * curvature)
        if np.prod(self.shape) > FACTOR_LIMIT:
            return DiagonalMetric(self._diagonal(weights))
        return CholeskyMetric([self.gram(weights)], patience=3)

    def _diagonal(self, weights: list[Array]) -> Array:
        parts = []
        for k, (rows, weight) in enumerate(zip(self.tasks, weights, strict=True)):
            squares = rows.X.power(2) if sp.issparse(rows.X) else rows.X**2
            parts.append(squares.T @ weight + 2 * self.P[k, k])
        return np.concatenate(parts)

    def hessian(self, H: Array) -> Array:
        """Return the matrix of second derivatives at H, of K d rows."""
        pairs = zip(self.tasks, H, strict=True)
        return self.gram([rows.weight * self.loss.curvature(rows.score(h), rows.y) for rows, h in pairs])

    def gram(self, weights: list[Array], scale: float = 1.0) -> Array:
        """Return X_k' diag(weights_k) X_k in blocks, plus `scale` times the penalty's second derivative."""
        K, d = self.shape
        if K == 1:
            matrix = weighted_gram(self.tasks[0].X, weights[0])
            matrix[np.diag_indices(d)] += 2 * scale * self.P[0, 0]
            return matrix
        blocks = np.zeros((K, d, K, d))
        for k, (rows, weight) in enumerate(zip(self.tasks, weights, strict=True)):
            blocks[k, :, k] = weighted_gram(rows.X, weight)
        for feature in range(d):
            blocks[:, feature, :, feature] += 2 * scale * self.P
        return blocks.reshape(K * d, K * d)
