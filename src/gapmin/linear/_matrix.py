"""Rows of numbers, dense or sparse: what every part of the linear settings asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapmin.linear._losses import Array


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
