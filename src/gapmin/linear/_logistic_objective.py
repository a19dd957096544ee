"""The weighted logistic loss with its curvature, of rows at hand or as a sum over chunks of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gapmin._utils.typing import Array
from gapmin.linear._losses import log_loss
from gapmin.linear._matrix import dense
from gapmin.linear._solver import CentredMetric, CholeskyMetric, DiagonalMetric, Metric, weighted_gram

_MOST_FACTORED = 500
"""Above this many features a d x d factor costs more than it saves."""

_COUPLED_LIMIT, _COUPLED_LIMIT_WHEN_SLOW = 150, 1500
"""Above this many parameters the classes of a multinomial fit get a factor each instead of one for all."""

_COUPLED_ROWS = 1 << 14
"""Rows of the coupled Hessian at a time: more than a sample has."""

_EXACT_ROWS = 1 << 11
"""Rows of the Hessian in double precision at a time."""

_EVERY_STEP = 1 << 20
"""More metrics than a fit asks for: one that is made anew after every step."""

_PRODUCT_ROWS = 1 << 12
"""Rows of a product in two precisions at a time."""

_SAMPLE_PER_FEATURE = 30
"""Rows of the Hessian's sample for each feature: enough for a metric within about 20 percent."""


@dataclass(eq=False, repr=False)
class LogisticObjective:
    """sum_i w_i loss_i + lam ||h||^2 over the rows of X, the intercept not penalised.

    One output for two classes, one for each class otherwise. Parameters are one flat vector: for each output its
    coefficients, then its intercept. The margins of the last point evaluated are kept.

    With `in_blocks`, products of X in single precision with numbers in double are taken over some rows at a time: no
    copy of X in double precision is made.
    """

    X: Any
    codes: NDArray[np.intp]
    n_classes: int
    lam: float
    fit_intercept: bool
    _: KW_ONLY
    in_blocks: bool = False

    def __post_init__(self) -> None:
        self.binary = self.n_classes == 2
        self.n_outputs = 1 if self.binary else self.n_classes
        self.dtype = self.X.dtype
        self.sign: Array = (2 * self.codes - 1).astype(self.dtype)
        self.weight: Array = np.empty(0)
        self._at: Array | None = None
        self._margin: Array = np.empty(0)
        self._curvature: Array = np.empty(0)

    @property
    def n_parameters(self) -> int:
        """How many numbers the flat vector has."""
        return self.n_outputs * (self.X.shape[1] + self.fit_intercept)

    def margins(self, h: Array) -> Array:
        """Return the outputs of every row, of shape (n, n_outputs); no pass over X where they are known."""
        if self._at is None or not np.array_equal(self._at, h):
            coef, intercept = self.split(h)
            self._margin = np.asarray(self.X @ coef.T.astype(self.dtype, copy=False)) + intercept
            self._at = h.copy()
        return self._margin

    def split(self, h: Array) -> tuple[Array, Array]:
        """Return coefficients of shape (n_outputs, d) and intercepts of shape (n_outputs,)."""
        table = h.reshape(self.n_outputs, -1)
        if self.fit_intercept:
            return table[:, :-1], table[:, -1]
        return table, np.zeros(self.n_outputs, dtype=h.dtype)

    def evaluate(self, h: Array) -> tuple[float, Array]:
        """Return value and gradient at `h`."""
        margin = self.margins(h)
        loss, residual = self._binary(margin) if self.binary else self._multinomial(margin)
        coef, _ = self.split(h)
        gradient = np.empty((self.n_outputs, h.size // self.n_outputs))
        d = self.X.shape[1]
        gradient[:, :d] = self._transposed_product(self.X, residual).T
        gradient[:, :d] += 2 * self.lam * coef
        if self.fit_intercept:
            gradient[:, d] = residual.sum(axis=0)
        return loss + self.lam * float(np.vdot(coef, coef)), gradient.ravel()

    def _transposed_product(self, X: Any, values: Array) -> Array:
        """Return X' values."""
        if not self.in_blocks or sp.issparse(X) or X.dtype == values.dtype:
            return X.T @ values
        result: Array = np.zeros((X.shape[1], *values.shape[1:]))
        for start in range(0, X.shape[0], _PRODUCT_ROWS):
            rows = slice(start, start + _PRODUCT_ROWS)
            result += X[rows].T @ values[rows]
        return result

    def _binary(self, margin: Array) -> tuple[float, Array]:
        loss, wrong = log_loss(self.sign * margin[:, 0])
        self._curvature = wrong[:, None]
        return float(self.weight @ loss), -(self.weight * self.sign * wrong)[:, None]

    def _multinomial(self, margin: Array) -> tuple[float, Array]:
        rows = np.arange(len(margin))
        below = margin - margin.max(axis=1, keepdims=True)
        residual = np.exp(below)
        total = residual.sum(axis=1, keepdims=True)
        loss = np.log(total[:, 0]) - below[rows, self.codes]
        residual /= total
        self._curvature = residual.copy()
        residual[rows, self.codes] -= 1
        residual *= self.weight[:, None]
        return float(self.weight @ loss), residual

    def metric(self, attempt: int, *, bound: bool = False) -> Metric:
        """Return the curvature at the last point evaluated: the Hessian, its blocks or its diagonal, by size.

        With `bound`, what it is nowhere above: p (1 - p) <= 1/4 for two classes, diag(p) - p p' <= 1/2 for more.
        """
        probability = self._curvature
        own = self._own_curvature(bound)
        if self.X.shape[1] > _MOST_FACTORED:
            return DiagonalMetric(np.concatenate([self._diagonal(column) for column in own.T]))
        affordable = _COUPLED_LIMIT if attempt < 3 else _COUPLED_LIMIT_WHEN_SLOW
        if bound or self.binary or self.n_parameters > affordable:
            patience = 4 if self.binary and not bound else 12
            return CholeskyMetric([self._gram(*self._sample(column)) for column in own.T], patience)
        rows, share = self._sample(own.sum(axis=1), per_feature=_SAMPLE_PER_FEATURE // 3)
        share = share / own[rows].sum(axis=1) * self.weight[rows]
        return CholeskyMetric([self._penalised(self._coupled(self.X[rows], share, probability[rows]))], patience=4)

    def excess(self, gradient: Array) -> float:
        """Return ||gradient||^2 / (4 lam): the objective is no further above its minimum, but for the intercept."""
        size = float(np.linalg.norm(self.split(gradient)[0]))
        return (size / (2 * np.sqrt(self.lam))) ** 2 if self.lam > 0 else np.inf if size > 0 else 0.0

    def exact_metric(self) -> Metric | None:
        """Return the whole Hessian at the last point evaluated, in double precision; None where that is too large.

        Of features less their mean, where there is an intercept: those far from 0 leave no digits for how they vary.
        """
        n, d = self.X.shape
        if d > _MOST_FACTORED or self.n_parameters > _COUPLED_LIMIT_WHEN_SLOW:
            return None
        own = self._own_curvature(bound=False).sum(axis=1, dtype=np.float64)
        total = float(own.sum())
        mean = np.zeros(d)
        if self.fit_intercept and total > 0:
            mean = np.asarray(self.X.T @ (own / total), dtype=np.float64)
        table: Array = np.zeros((self.n_parameters, self.n_parameters))
        for start in range(0, n, _EXACT_ROWS):
            rows = slice(start, start + _EXACT_ROWS)
            probability = self._curvature[rows].astype(np.float64)
            table += self._coupled(dense(self.X[rows]) - mean, self.weight[rows], probability, np.float64)
        return CentredMetric(CholeskyMetric([self._penalised(table)], 4, balanced=True), mean, self.fit_intercept)

    def _own_curvature(self, bound: bool) -> Array:
        """Return the curvature of each row's loss in each output, of shape (n, n_outputs)."""
        if bound:
            return np.repeat(self.weight[:, None] * (0.25 if self.binary else 0.5), self.n_outputs, axis=1)
        return self.weight[:, None] * self._curvature * (1 - self._curvature)

    def curvature_sums(self, *, bound: bool = False) -> list[Array]:
        """Return the curvature at the last point evaluated (see `metric`) from every row: sums that add up over chunks.

        One matrix for all outputs, one for each, or one diagonal for each where there are many features.
        """
        own = self._own_curvature(bound)
        if self.X.shape[1] > _MOST_FACTORED:
            return [self._diagonal(column) for column in own.T]
        if bound or self.binary or self.n_parameters > _COUPLED_LIMIT_WHEN_SLOW:
            return [self._gram(slice(None), column) for column in own.T]
        table: Array = np.zeros((self.n_parameters, self.n_parameters))
        for start in range(0, max(self.X.shape[0], 1), _COUPLED_ROWS):
            rows = slice(start, start + _COUPLED_ROWS)
            table += self._coupled(self.X[rows], self.weight[rows], self._curvature[rows])
        return [self._penalised(table)]

    def _sample(self, curvature: Array, per_feature: int = _SAMPLE_PER_FEATURE) -> tuple[Any, Array]:
        """Pick rows and what each stands for: all of them, or where there are many, a few that tell as much.

        Systematic sampling in proportion to curvature needs no random numbers and misses no heavy row.
        """
        n, d = self.X.shape
        wanted = max(per_feature * (d + 1), 1000)
        cumulative = np.cumsum(curvature, dtype=np.float64)
        if n <= 2 * wanted or not cumulative[-1] > 0:
            kept = np.flatnonzero(curvature)
            return (slice(None), curvature) if kept.size == n else (kept, curvature[kept])
        at = np.searchsorted(cumulative, (np.arange(wanted) + 0.5) * (cumulative[-1] / wanted))
        rows, times = np.unique(np.minimum(at, n - 1), return_counts=True)
        return rows, times * (cumulative[-1] / wanted)

    def _gram(self, rows: Any, share: Array) -> Array:
        """X' diag(share) X + 2 lam I with the intercept's border."""
        X, d = self.X[rows], self.X.shape[1]
        hessian = np.empty((d + self.fit_intercept, d + self.fit_intercept))
        hessian[:d, :d] = weighted_gram(X, share)
        hessian[np.arange(d), np.arange(d)] += 2 * self.lam
        if self.fit_intercept:
            hessian[d, :d] = hessian[:d, d] = self._transposed_product(X, share)
            hessian[d, d] = share.sum()
        return hessian

    def _coupled(self, X: Any, share: Array, probability: Array, dtype: Any = np.float32) -> Array:
        """Return the whole Hessian of the loss: diag(p) - p p' between the classes, X' X within.

        One product, in single precision where it is for a metric only.
        """
        size = self.n_parameters // self.n_outputs
        with_ones = np.ones((share.size, size), dtype=dtype)
        with_ones[:, : X.shape[1]] = dense(X)
        root = np.sqrt(share).astype(dtype)[:, None]
        by_class = probability.astype(dtype)[:, :, None] * (root * with_ones)[:, None, :]
        by_class = by_class.reshape(share.size, self.n_parameters)
        hessian = -(by_class.T @ by_class).reshape(self.n_outputs, size, self.n_outputs, size).astype(np.float64)
        for a in range(self.n_outputs):
            hessian[a, :, a] += by_class[:, a * size : (a + 1) * size].T @ (root * with_ones)
        if self.fit_intercept and not self.binary:
            # Shifting all intercepts alike changes nothing: give that direction some curvature.
            hessian[:, -1, :, -1] += share.sum() / self.n_outputs**2
        return hessian.reshape(self.n_parameters, self.n_parameters)

    def _penalised(self, table: Array) -> Array:
        """Add the penalty's second derivative, which the intercepts do not have."""
        diagonal = np.full((self.n_outputs, self.n_parameters // self.n_outputs), 2 * self.lam)
        if self.fit_intercept:
            diagonal[:, -1] = 0.0
        table[np.diag_indices_from(table)] += diagonal.ravel()
        return table

    def _diagonal(self, curvature: Array) -> Array:
        """Diagonal of the block above."""
        if sp.issparse(self.X):
            diagonal = self.X.power(2).T @ curvature
        else:
            diagonal = np.einsum("ij,ij,i->j", self.X, self.X, curvature)
        diagonal = diagonal + 2 * self.lam
        if not self.fit_intercept:
            return diagonal
        return np.append(diagonal, max(float(curvature.sum()), np.finfo(np.float64).tiny ** 0.5))


class SummedLogistic:
    """The same objective from sums over chunks of rows, to which it adds the penalty: that of no rows.

    A chunk is a `LogisticObjective` with lam=0. Each pass brings loss, gradient and the whole Hessian at one point, so
    that every step is Newton's: where rows are read from far away, passes count more than products.

    Parameters
    ----------
    n_features : int
    n_classes : int
    lam : float
    fit_intercept : bool
    dtype : dtype
        Of the rows.
    bound : callable
        Returns the sums of `LogisticObjective.curvature_sums(bound=True)`; seldom asked for.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        lam: float,
        fit_intercept: bool,
        dtype: Any,
        bound: Callable[[], list[Array]],
    ) -> None:
        nothing, none = np.empty((0, n_features), dtype=dtype), np.empty(0, dtype=np.intp)
        self.penalty = LogisticObjective(nothing, none, n_classes, lam, fit_intercept)
        self._bound = bound
        self._sums: list[Array] = []

    def receive(self, h: Array, loss: float, gradient: Array, curvature: list[Array]) -> tuple[float, Array]:
        """Return value and gradient at `h` from the sums there."""
        value, slope = self.penalty.evaluate(h)
        self._sums = curvature
        return value + loss, slope + gradient

    def excess(self, gradient: Array) -> float:
        """Return how far the objective is above its minimum at most, but for the intercept."""
        return self.penalty.excess(gradient)

    def exact_metric(self) -> Metric | None:
        """Return the Hessian at the last point received where it was summed whole and in the rows' precision."""
        return self.metric(_EVERY_STEP) if self.penalty.binary and self._sums[0].ndim == 2 else None

    def metric(self, attempt: int, *, bound: bool = False) -> Metric:
        """Return the curvature at the last point received, or a bound on it at every point."""
        sums = self._bound() if bound else self._sums
        blocks: list[Array] = [a + b for a, b in zip(sums, self.penalty.curvature_sums(bound=bound), strict=True)]
        if blocks[0].ndim == 1:
            return DiagonalMetric(np.concatenate(blocks))
        # The Hessian is made anew after every step; what only resembles it is mended for some.
        whole = not bound and (self.penalty.binary or len(blocks) == 1)
        return CholeskyMetric(blocks, patience=-attempt if whole else 12)
