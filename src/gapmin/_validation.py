"""Checks that several parts share."""

from __future__ import annotations

from typing import Any

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


def check_class_names(labels: NDArray[Any]) -> None:
    """Raise an error where labels of any type have gaps, or are of types that have no order.

    Examples
    --------
    >>> check_class_names(np.array(["a", None], dtype=object))
    Traceback (most recent call last):
        ...
    ValueError: y has None at row 1: give every row a label, or leave the row out
    """
    if labels.dtype != object:
        return
    for row, label in enumerate(labels):
        if label is None or label != label:
            raise ValueError(f"y has {label} at row {row}: give every row a label, or leave the row out")
    texts = np.array([isinstance(label, str) for label in labels])
    if texts.any() and not texts.all():
        text, other = labels[texts.argmax()], labels[texts.argmin()]
        raise ValueError(
            f"y has the text {text!r} and {other!r}, which is none: write all classes as texts or as numbers"
        )


def check_numbers(labels: NDArray[Any]) -> None:
    """Raise an error where a label is a text that is no number.

    Examples
    --------
    >>> check_numbers(np.array(["1.5", "high"]))
    Traceback (most recent call last):
        ...
    ValueError: y has 'high' at row 1, which is no number: give numbers, or use a classifier
    """
    if labels.dtype.kind not in "OUS":
        return
    for row, label in enumerate(labels.tolist()):
        try:
            float(label)
        except (TypeError, ValueError):
            raise ValueError(
                f"y has {label!r} at row {row}, which is no number: give numbers, or use a classifier"
            ) from None
