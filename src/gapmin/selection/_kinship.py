"""What the sources' own rows say: whether they and the target are of a kind, and which learner suits them.

Ten target rows can hardly tell whether a source helps, nor with which learner. The sources have many rows, and models
that were not trained on them can be asked about them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gapmin.boosting._rows import Array
from gapmin.selection._data import Data

FEWEST_ROWS = 10
"""Held-out rows of a source below which nothing is known of its kinship: it counts as a stranger."""

_SLOPE = 3.0
_SAME_COLUMNS, _OTHER_COLUMNS = 1.5, 2.0
_PREDICTABLE = 0.3
_MOST_ROWS = 100


def agreement(predicted: Array, y: NDArray[Any], classes: NDArray[Any] | None) -> float:
    """Return how far predictions go with the truth, whatever their scale: a correlation.

    Of probabilities it is the mean over the classes. What does not vary agrees with nothing.

    Examples
    --------
    >>> agreement(np.array([1.0, 2.0, 4.0]), np.array([30.0, 20.0, 0.0]), None)
    -1.0
    >>> agreement(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array(["a", "b"]), np.array(["a", "b"]))
    1.0
    """
    if classes is None:
        return _correlation(predicted, y)
    truth = (y[:, None] == classes).astype(float)
    return float(np.mean([_correlation(*columns) for columns in zip(predicted.T, truth.T, strict=True)]))


def _correlation(one: Array, other: Array) -> float:
    one, other = one - one.mean(), other - other.mean()
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return round(float(one @ other) / size, 12) if size > 0 else 0.0


def kinship(there: ArrayLike, here: ArrayLike, own: ArrayLike) -> float:
    """Return how well source and target predict each other, as a share of how well the source predicts itself.

    Each is the mean over learners, so that one which learns nothing from the source hardly counts. A source that none
    can predict is nobody's kin: the share goes to 0 with an agreement of less than 0.3 with itself.

    Parameters
    ----------
    there : array-like of shape (n_learners,)
        The agreement of each learner's model of the target alone with the source's rows.
    here : array-like of shape (n_learners,)
        That of its model of source and target with target rows that it was not trained on.
    own : array-like of shape (n_learners,)
        That of the same model with source rows that it was not trained on.

    Returns
    -------
    float
        Between -1, labels turned round, and 1, as good as one domain.

    Examples
    --------
    >>> kinship(there=[0.5, 0.3, 0.0], here=[0.6, 0.8, 0.1], own=[0.9, 1.0, 0.1]).__round__(3)
    0.575
    """
    there, here, own = (np.asarray(each, dtype=float) for each in (there, here, own))
    mutual, itself = (there.mean() + here.mean()) / 2, own.mean()
    if itself <= 0:
        return 0.0
    return float(np.clip(mutual / itself, -1, 1) * min(itself / _PREDICTABLE, 1))


def standard_errors_needed(wanted: float, kin: float, columns_match: bool | None = None) -> float:
    """Return by how many standard errors the sources must win to be used: as many as wanted of a stranger.

    Three fewer of one that is as good as the target's own rows, three more of one whose labels are turned round. Two
    more of one whose columns do not match the target's; one and a half fewer where they do, but in all not more than
    three fewer.
    """
    columns = 0.0 if columns_match is None else -_SAME_COLUMNS if columns_match else _OTHER_COLUMNS
    return wanted + max(columns - _SLOPE * kin, -_SLOPE)


class SourceRows:
    """Source rows that were held out, to judge by: how a way of training does on them, next to its loss on the target.

    Parameters
    ----------
    data : Data
    rows : ndarray of int
        Of sources, in the order of the predictions.
    kinship : dict of int to float
        Of each source; see `kinship`.

    Notes
    -----
    All rows together count as their number, at most 100, of target rows; those of each source are discounted by its
    kinship, and below zero do not count. A regression's squared errors are in units of the source's variance.
    """

    def __init__(self, data: Data, rows: NDArray[np.intp], kinship: dict[int, float]) -> None:
        self.kinship = kinship
        self._data = data
        self._rows = rows
        domain = data.domain[rows]
        self._weight = np.zeros(rows.size)
        for number, kin in kinship.items():
            variance = 1.0 if data.classes is not None else float(np.var(data.y[data.domain == number]))
            self._weight[domain == number] = max(kin, 0.0) / (variance if variance > 0 else 1.0)
        self._weight *= min(_MOST_ROWS / rows.size, 1.0) / data.target.size

    def mean_kinship(self, sources: Sequence[int]) -> float:
        """Return the mean kinship of some sources."""
        return float(np.mean([self.kinship[number] for number in sources]))

    def loss(self, predicted: Array) -> float:
        """Return what predictions of the rows add to a mean loss over the target's rows."""
        return float(self._weight @ self._data.row_losses(self._rows, predicted))
