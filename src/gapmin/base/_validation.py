"""Checks that several parts share."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return one finite, non-negative weight a row, not all zero; ones for None.

    Parameters
    ----------
    sample_weight : array-like or None
        None gives every row the weight 1.
    n_rows : int
        How many rows there are.

    Returns
    -------
    ndarray of shape (n_rows,)
        The weights, as float64.

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


def check_labels(y: Any, *, classes: bool, first_row: int = 0) -> None:
    """Raise an error where a label is missing, or is none: a class among numbers or texts, or a number.

    Parameters
    ----------
    y : array-like, as the user gave it
        In an array of texts it could not be told any more that one was missing. None is left to scikit-learn's checks.
    classes : bool
        Whether these are classes, or numbers to predict.
    first_row : int, default=0
        The position of the first of them, where they are a chunk of all rows.

    Examples
    --------
    >>> check_labels(["a", None], classes=True)
    Traceback (most recent call last):
        ...
    ValueError: y has None at row 1: give every row a label, or leave the row out
    >>> check_labels(["1.5", "high"], classes=False)
    Traceback (most recent call last):
        ...
    ValueError: y has 'high' at row 1, which is no number: give numbers, or use a classifier
    """
    if y is None or sp.issparse(y):
        return
    missing = first_missing(y)
    if missing is not None:
        row, label = missing
        raise ValueError(f"y has {label} at row {first_row + row}: give every row a label, or leave the row out")
    labels = _as_vector(y)
    if labels is None:
        return
    if classes:
        _check_one_kind(labels)
    else:
        _check_numbers(labels, first_row)


def _as_vector(y: Any) -> NDArray[Any] | None:
    """Return the labels as an array; None of what scikit-learn's checks will refuse."""
    try:
        array = np.asarray(y)
    except (TypeError, ValueError):
        return None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return array if array.ndim == 1 else None


def first_missing(y: Any) -> tuple[int, Any] | None:
    """Return position and value of the first label that is None, NaN, or pandas' NA or NaT.

    Parameters
    ----------
    y : array-like
        Labels.

    Returns
    -------
    tuple of (int, object), or None
        None if no label is missing.
    """
    array = _as_vector(y)
    if array is None or array.dtype.kind in "iub" or (array.dtype.kind in "US" and isinstance(y, np.ndarray)):
        return None
    if array.dtype.kind in "fcmM":
        gaps = np.isnat(array) if array.dtype.kind in "mM" else np.isnan(array)
        return (int(np.argmax(gaps)), array[np.argmax(gaps)]) if gaps.any() else None
    # A list of texts and numbers becomes an array of texts, so the list itself is looked at.
    entries = y if isinstance(y, (list, tuple)) and not any(isinstance(each, (list, tuple)) for each in y) else array
    for row, label in enumerate(entries):
        if label is None or type(label).__name__ in ("NAType", "NaTType"):
            return row, label
        if isinstance(label, Number) and label != label:
            return row, label
    return None


def _check_one_kind(labels: NDArray[Any]) -> None:
    if labels.dtype != object:
        return
    texts = np.array([isinstance(label, str) for label in labels])
    if texts.any() and not texts.all():
        text, other = labels[texts.argmax()], labels[texts.argmin()]
        raise ValueError(
            f"y has the text {text!r} and {other!r}, which is none: write all classes as texts or as numbers"
        )


def _check_numbers(labels: NDArray[Any], first_row: int) -> None:
    if labels.dtype.kind not in "OUS":
        return
    for row, label in enumerate(labels.tolist()):
        try:
            float(label)
        except (TypeError, ValueError):
            raise ValueError(
                f"y has {label!r} at row {first_row + row}, which is no number: give numbers, or use a classifier"
            ) from None
