"""How AdaBoost.R2 and its kin measure the error of a row: relative to the largest (Drucker 1997)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapmin._utils.typing import Array
from gapmin.boosting._rows import compute_scalars

ROUND_OFF = 1e-14
"""Differences below this share of the largest value are none: a weighted mean of equal labels is off by as much."""

RELATIVE_LOSSES: dict[str, Callable[[Array], Array]] = {
    "linear": lambda error: error,
    "square": lambda error: error**2,
    "exponential": lambda error: 1 - np.exp(-error),
}


def relative_errors(predicted: Array, y: Array, loss: str) -> Array:
    """Return |h(x) - y| / max |h(x) - y| through `loss`; zeros where every error is 0 but for round-off.

    Examples
    --------
    >>> relative_errors(np.array([1.0, 2.0]), np.array([0.0, 0.0]), "square")
    array([0.25, 1.  ])
    """
    error = np.abs(predicted - y)
    largest, label = compute_scalars(error.max(), np.abs(y).max())
    if largest <= ROUND_OFF * label:
        return np.zeros_like(error)
    return RELATIVE_LOSSES[loss](error / largest)
