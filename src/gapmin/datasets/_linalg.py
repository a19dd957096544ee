"""What the loaders that decompose matrices share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fixed_signs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each column so that its entry of largest size is positive: a decomposition leaves the sign to chance."""
    return columns * np.sign(columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])])
