"""Problems whose features are a decomposition of the rows of source and target together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._problem import TransferProblem


def fixed_signs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each column so that its entry of largest size is positive: a decomposition leaves the sign to chance."""
    return columns * np.sign(columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])])


def decomposed_problem(
    X: NDArray[np.float64], labels: NDArray[np.int64], is_target: NDArray[np.bool_], **about: Any
) -> TransferProblem:
    """Return the classification problem of the rows of one target and one source."""
    source = (X[~is_target], labels[~is_target])
    return TransferProblem(target=(X[is_target], labels[is_target]), sources=(source,), task="classification", **about)
