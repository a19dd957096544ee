"""The error that people read."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def error_of(task: str, y: ArrayLike, predicted: ArrayLike) -> float:
    """Return percent wrong of classes, the root of the mean squared error of numbers.

    Examples
    --------
    >>> error_of("classification", ["a", "b"], ["a", "a"]), error_of("regression", [0.0, 0.0], [3.0, 3.0])
    (50.0, 3.0)
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    if task == "classification":
        return 100 * float(np.mean(predicted != y))
    return float(np.sqrt(np.mean((predicted - y) ** 2)))
