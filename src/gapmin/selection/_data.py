"""The rows of a search, and what a prediction of them costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.typing import Array


@dataclass(frozen=True)
class Data:
    """The rows of a search.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : ndarray
    domain : ndarray of int
    classes : ndarray or None
        None for a regression.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    classes: NDArray[Any] | None

    @property
    def target(self) -> NDArray[np.intp]:
        """The rows of the target."""
        return np.flatnonzero(self.domain < 0)

    @property
    def position(self) -> NDArray[np.intp]:
        """The place of each row among those of the target; -1 for a source's."""
        return np.where(self.domain < 0, np.cumsum(self.domain < 0) - 1, -1)

    @property
    def sources(self) -> list[int]:
        """The sources' numbers."""
        return np.unique(self.domain[self.domain > 0]).tolist()

    def shown_error(self, errors: Sequence[Array]) -> float:
        """Return what people read: the share of wrong classes, or the root of the mean squared error."""
        mean = float(np.mean(errors))
        return mean if self.classes is not None else float(np.sqrt(mean))

    def losses(self, predicted: Array) -> tuple[Array, Array]:
        """Return the smooth loss of each target row and its plain error, of one repeat or of several.

        The loss is half the Brier score of the probabilities, or the squared error in units of the target's variance;
        the error is 1 for a wrong class, or the squared error.
        """
        y, losses = self.y[self.target], self.row_losses(self.target, predicted)
        if self.classes is None:
            variance = float(np.var(y))
            return losses / (variance if variance > 0 else 1.0), losses
        right = self.classes[predicted.argmax(axis=-1)] == y
        return losses, (~right).astype(float)

    def row_losses(self, rows: NDArray[np.intp], predicted: Array) -> Array:
        """Return the squared error of any rows' values, or half the Brier score of their probabilities."""
        y = self.y[rows]
        if self.classes is None:
            return np.asarray((predicted - y) ** 2)
        truth = y[:, None] == self.classes
        return np.asarray(((predicted - truth) ** 2).sum(axis=-1) / 2)
