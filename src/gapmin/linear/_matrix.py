"""Rows of numbers, dense or sparse: what every part of the linear settings asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapmin._utils.typing import Array

MOST_FEATURES = 4000
"""Of a setting that needs a matrix with a row and a column for each."""


def dense(X: Any) -> Array:
    """Return an array for an array or a sparse matrix."""
    return X.toarray() if sp.issparse(X) else X


def stack(parts: Sequence[Any]) -> Any:
    """Return the rows of all parts; sparse where one of them is."""
    return sp.vstack(parts, format="csr") if any(sp.issparse(X) for X in parts) else np.vstack(parts)


def with_constant(X: Any) -> Any:
    """Append the constant feature whose coefficient is the intercept."""
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def squared_norms(X: Any) -> Array:
    """Return ||x||^2 of every row."""
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)


def largest(values: Any) -> float:
    """Return the largest size of a number, dense or sparse; 0 of none.

    Examples
    --------
    >>> largest(np.array([[1.0, -3.0]]))
    3.0
    """
    entries = values.data if sp.issparse(values) else values
    return max(float(entries.max()), -float(entries.min())) if entries.size else 0.0


def unit(size: float, ordinary: float = 1e6) -> float:
    """Return the power of two below `size`, to divide by at no cost in digits; 1 for ordinary sizes, and for 0.

    The tolerances of the solvers are made for numbers of about 1, and squares of large numbers overflow.

    Examples
    --------
    >>> unit(300.0), unit(1e9), unit(1e9) == 2.0**29
    (1.0, 536870912.0, True)
    """
    if not 0 < size < np.inf or 1 / ordinary <= size <= ordinary:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(size)[1]) - 1))


def in_unit(values: Any, by: float) -> Any:
    """Return the values divided by a unit; themselves, not a copy, where that is 1."""
    return values if by == 1 else values / by


def away_from_zero(x: Any) -> Any:
    """Return `x`, at least 1e-200, to divide by."""
    return np.maximum(x, 1e-200)


def scale_rows(X: Any, by: Array) -> Any:
    """Return every row multiplied by its own number."""
    return sp.diags(by) @ X if sp.issparse(X) else by[:, None] * X
