"""Rows of several domains together: the one carrier of training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class DomainData:
    """Rows of a target and its sources.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : ndarray
        Labels, or for classes the number of each row's class.
    domain : ndarray of int
        The sign convention of `gapmin.domains`.
    weight : ndarray of float
        The user's sample_weight: a row of weight 2 stands for two.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    weight: NDArray[np.float64]

    @property
    def target(self) -> NDArray[np.intp]:
        """The indices of the target's rows."""
        return np.flatnonzero(self.domain < 0)

    @property
    def source_numbers(self) -> NDArray[np.int64]:
        """The sources, by the number the user gave them."""
        return np.unique(self.domain[self.domain > 0])
