"""The one carrier of rows between an estimator's checks and what trains on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from gapmin._utils.typing import Array


@dataclass
class DomainData:
    """Rows of a target and of its sources, checked.

    Attributes
    ----------
    X : array, sparse matrix or data frame
        The rows.
    y : ndarray
        Labels, or for classifiers the number of each row's class.
    domain : ndarray of int
        The sign convention of `gapmin.domains`.
    weight : ndarray of float
        The user's sample_weight, a multiplicity: a row of weight 2 stands for two.

    Examples
    --------
    >>> data = DomainData(np.zeros((3, 1)), np.array([0, 1, 0]), np.array([-1, 2, 2]), np.ones(3))
    >>> len(data), data.in_target, data.source_numbers
    (3, array([ True, False, False]), array([2]))
    >>> len(data.take(np.flatnonzero(data.in_target)))
    1
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    weight: Array

    def __len__(self) -> int:
        return len(self.y)

    @property
    def in_target(self) -> NDArray[np.bool_]:
        """Which rows are the target's."""
        return self.domain < 0

    @cached_property
    def source_numbers(self) -> NDArray[np.int64]:
        """The sources, by the number the user gave them."""
        return np.unique(self.domain[self.domain > 0])

    def take(self, index: NDArray[np.intp]) -> Self:
        """Return some of the rows.

        Parameters
        ----------
        index : ndarray of int or bool
            Which rows.
        """
        return type(self)(_safe_indexing(self.X, index), self.y[index], self.domain[index], self.weight[index])
