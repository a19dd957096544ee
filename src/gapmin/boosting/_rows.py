"""The training rows, and the parts of them that learners are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

Array = NDArray[np.float64]


class Part:
    """Some of the training rows: everything, the target, one source.

    Rows that stand together are a view, not a copy.
    """

    def __init__(self, rows: Rows, index: NDArray[np.intp]) -> None:
        self._rows = rows
        together = index.size > 0 and index[-1] - index[0] + 1 == index.size
        self.index: Any = slice(int(index[0]), int(index[-1]) + 1) if together else index
        self.size = index.size

    @cached_property
    def X(self) -> Any:
        """The rows' features."""
        if isinstance(self.index, slice) and self.size == len(self._rows):
            return self._rows.X
        if isinstance(self.index, slice) and isinstance(self._rows.X, np.ndarray):
            return self._rows.X[self.index]
        index = np.arange(self.index.start, self.index.stop) if isinstance(self.index, slice) else self.index
        return _safe_indexing(self._rows.X, index)

    @cached_property
    def y(self) -> NDArray[Any]:
        """The rows' labels, or their class numbers."""
        return self._rows.y[self.index]

    @cached_property
    def count(self) -> float:
        """How many rows these are, those of weight 2 counted twice."""
        return float(self._rows.multiplicity[self.index].sum())


@dataclass
class Rows:
    """All training rows of positive weight.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : ndarray
        Labels, or for classifiers the number of each row's class.
    domain : ndarray of int
        The sign convention of `gapmin.domains`.
    multiplicity : ndarray of float
        The user's sample_weight: a row of weight 2 stands for two.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    multiplicity: Array

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def both(self) -> Part:
        """Every row."""
        return Part(self, np.arange(len(self)))

    @cached_property
    def target(self) -> Part:
        """The rows of the target."""
        return Part(self, np.flatnonzero(self.domain < 0))

    @cached_property
    def source_numbers(self) -> NDArray[np.int64]:
        """The sources, by the number the user gave them."""
        return np.unique(self.domain[self.domain > 0])

    @cached_property
    def sources(self) -> list[Part]:
        """The rows of each source."""
        return [Part(self, np.flatnonzero(self.domain == k)) for k in self.source_numbers]

    @cached_property
    def each_source_with_target(self) -> list[Part]:
        """For each source, its rows and the target's."""
        return [Part(self, np.flatnonzero((self.domain == k) | (self.domain < 0))) for k in self.source_numbers]

    def initial_log_weight(self, target_share: float | None = None) -> Array:
        """D_1: each row 1 / N, or with the target's rows sharing `target_share` of the mass."""
        weight = self.multiplicity / self.multiplicity.sum()
        if target_share is not None and self.sources:
            in_target = self.domain < 0
            mass = float(weight[in_target].sum())
            weight = weight * np.where(in_target, target_share / mass, (1 - target_share) / (1 - mass))
        return np.log(weight)

    def mass(self, log_weight: Array) -> Array:
        """Return the mass of the target and of each source."""
        weight = np.exp(log_weight)
        return np.array([weight[part.index].sum() for part in [self.target, *self.sources]])
