"""How AdaBoost.R2 and its kin measure the error of a row: relative to the largest (Drucker 1997)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapmin.boosting._rows import Array

LOSSES: dict[str, Callable[[Array], Array]] = {
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
    largest = error.max()
    if largest <= 1e-12 * np.abs(y).max():
        return np.zeros_like(error)
    return LOSSES[loss](error / largest)
