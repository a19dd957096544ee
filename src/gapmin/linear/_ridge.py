"""Ridge regression, also of numbers whose squares overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.linear_model import Ridge
from sklearn.utils.validation import validate_data

from gapmin._utils.typing import Array
from gapmin.linear._matrix import dense, largest, unit

_MOST_ENTRIES = 50_000_000
"""A sparse X of huge numbers is made dense up to so many."""


class RidgeOfAnyScale(Ridge):
    """scikit-learn's `Ridge`, whose `fit` also does for numbers up to 1e300; it returns a plain `Ridge`.

    The objective is the same. Where squares may overflow or vanish, it is minimised over columns and labels each in a
    unit of its own, the penalty of a coefficient in that of its column.
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Ridge:
        """Return a fitted `Ridge`."""
        plain = Ridge(**self.get_params())
        if np.ndim(self.alpha) or self.positive:
            return plain.fit(X, y, sample_weight)
        features, labels = validate_data(
            plain, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True, multi_output=True
        )
        safe = float(np.finfo(features.dtype).max) ** 0.25
        sizes = [largest(features), largest(labels)]
        if labels.ndim > 1 or all(size == 0 or 1 / safe <= size <= safe for size in sizes):
            return plain.fit(X, y, sample_weight)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        plain.coef_, plain.intercept_ = _solve(features, labels, weight, float(self.alpha), bool(self.fit_intercept))
        plain.n_iter_, plain.solver_ = None, "cholesky"
        return plain


def _solve(X: Any, y: Array, weight: Array, alpha: float, fit_intercept: bool) -> tuple[Array, float]:
    """Return coefficients and intercept that minimise sum_i w_i (<h, x_i> + b - y_i)^2 + alpha ||h||^2."""
    n, d = X.shape
    if sp.issparse(X) and n * d > _MOST_ENTRIES:
        raise ValueError(
            f"X is sparse and has numbers up to {largest(X):.3g}: bring its columns to one scale (MaxAbsScaler)"
        )
    sizes = np.asarray(abs(X).max(axis=0).toarray()).ravel() if sp.issparse(X) else np.abs(X).max(axis=0)
    s, t = np.array([unit(float(size), 1.0) for size in sizes]), unit(largest(y), 1.0)
    A, b = dense(X).astype(np.float64) / s, np.asarray(y, dtype=np.float64) / t
    mean, middle = np.zeros(d), 0.0
    if fit_intercept:
        mean, middle = np.average(A, axis=0, weights=weight), float(np.average(b, weights=weight))
    root = np.sqrt(weight)
    A, b = root[:, None] * (A - mean), root * (b - middle)
    with np.errstate(over="ignore"):
        gram = A.T @ A
        gram[np.diag_indices(d)] += alpha / s / s
    # A coefficient that the penalty of its unit holds at 0 has an infinite diagonal, one of no variance none.
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0] = 1.0
    values, V = np.linalg.eigh(np.nan_to_num(gram / scale[:, None] / scale))
    kept = values > max(n, d) * np.finfo(np.float64).eps * values[-1]
    g = (V[:, kept] @ ((V[:, kept].T @ (A.T @ b / scale)) / values[kept])) / scale
    with np.errstate(over="ignore"):
        coef = g / s * t if t < 1 else g * t / s
    lost = (np.abs(coef) < np.finfo(np.float64).tiny) & (np.abs(g) > 1e-9 * np.abs(g).max())
    if not np.isfinite(coef).all() or lost.any():
        column = int(np.argmax(lost | ~np.isfinite(coef)))
        raise ValueError(
            f"the coefficient of column {column} is too {'small' if lost[column] else 'large'} for a number: "
            f"X has values up to {sizes[column]:.3g} there and y up to {largest(y):.3g}, so divide each by its size"
        )
    return coef, t * (middle - float(mean @ g))
