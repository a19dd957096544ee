"""Checks that several parts share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return one finite, non-negative weight a row, not all zero; ones for None.

    Examples
    --------
    >>> check_sample_weight([1, -2], 2)
    Traceback (most recent call last):
        ...
    ValueError: sample_weight has -2.0 at row 1: weights count rows, so give numbers of at least 0
    """
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight is not numeric: give one number of at least 0 for each row") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1D array or scalar, got {weight.ndim}D: give one number a row")
    if weight.shape[0] != n_rows:
        raise ValueError(f"sample_weight has {weight.shape[0]} entries for {n_rows} rows: give one number for each row")
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight has {weight[row]} at row {row}: weights count rows, so give numbers of at least 0"
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight sums to infinity: divide it by its largest value")
    if not weight.any():
        raise ValueError("every sample_weight is zero: give the rows to learn from a positive weight")
    return weight
