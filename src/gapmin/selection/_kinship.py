"""What the sources' own rows say: whether they and the target are of a kind, and which learner suits them.

Ten target rows can hardly tell whether a source helps, nor with which learner. The sources have many rows: models of
them alone can be asked about every target row, and all models about source rows that were held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gapmin._utils.typing import Array
from gapmin.selection._data import Data

FEWEST_ROWS = 10
"""Held-out rows of a source below which nothing is known of its kinship: by itself it counts as a stranger."""

BY_CHANCE = 0.1
"""Likeness of columns below 0 that may be chance, and costs nothing."""

# Standard errors, by which closeness and columns move what is asked of a source: see `credit` and what follows it.
_SLOPE = 10.0
_SAME_COLUMNS, _OTHER_COLUMNS = 3.0, 10.0
_MOST_CREDIT, _MOST_FEWER = 9.0, 4.0
_FEW_TARGET_ROWS, _LEAST_FACTOR = 10, 0.5
# Likeness below 0 from which on columns are others.
_UNLIKE = 0.5
# Closeness below 0 from which on labels contradict, agreement from which on they make sense.
_CONTRADICTS, _PREDICTABLE = 0.2, 0.3
_MOST_ROWS = 100
_ROUNDING = 1e-12


def agreement(predicted: Array, y: NDArray[Any], classes: NDArray[Any] | None) -> float:
    """Return how far predictions go with the truth, whatever their scale: a correlation.

    Of probabilities it is the mean over the classes, of which some rows are and others not. What does not vary agrees
    with nothing.

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
    varies = np.ptp(truth, axis=0) > 0
    if not varies.any():
        return 0.0
    return float(
        np.mean([_correlation(*columns) for columns in zip(predicted.T[varies], truth.T[varies], strict=True)])
    )


def _correlation(one: Array, other: Array) -> float:
    # Asked before anything is subtracted: the mean of equal values need not round to them.
    if any(np.ptp(each) <= _ROUNDING * np.abs(each).max() for each in (one, other)):
        return 0.0
    one, other = one - one.mean(), other - other.mean()
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return round(float(one @ other) / size, 12) if size > 0 else 0.0


class Kinship(NamedTuple):
    """How close a source is to the target.

    Attributes
    ----------
    closeness : float
        How well models of the source alone predict the target, as a share of how well they predict the source, times
        the sense: between -1, labels turned round, and 1, as good as one domain.
    sense : float
        Between 0, where the source's labels cannot be predicted from its columns at all, and 1.
    """

    closeness: float
    sense: float


UNKNOWN = Kinship(0.0, 0.0)
"""Of a source with too few rows to say, or of which its own models know nothing: a stranger that makes no sense."""


def kinship(here: ArrayLike, own: ArrayLike) -> Kinship:
    """Return how close a source is to the target, by what models of the source alone make of both.

    Each is the mean over learners, so that one which learns nothing from the source hardly counts. A source that none
    can predict is nobody's kin: with an agreement of less than 0.3 with itself, sense and closeness go to 0.

    Parameters
    ----------
    here : array-like of shape (n_learners,)
        The agreement of each learner's models of the source alone with the target's rows.
    own : array-like of shape (n_learners,)
        That of the same models with source rows that they were not trained on.

    Returns
    -------
    Kinship

    Examples
    --------
    >>> kinship(here=[0.6, 0.3, 0.0], own=[0.9, 0.6, 0.0])
    Kinship(closeness=0.6, sense=1.0)
    """
    target, itself = (float(np.asarray(each, dtype=float).mean()) for each in (here, own))
    if itself <= 0:
        return UNKNOWN
    sense = min(itself / _PREDICTABLE, 1.0)
    return Kinship(round(float(np.clip(target / itself, -1, 1)) * sense, 12), sense)


def together(of_sources: Sequence[Kinship], *, one_by_one: bool) -> Kinship:
    """Return what is known of several sources together, of those that have enough rows; a stranger where none has.

    The least where each was asked by itself: one that contradicts the target is not made good by others that do not.
    Where models of all were asked about each, these say little of it, and the mean counts.
    """
    if not of_sources:
        return UNKNOWN
    combine = min if one_by_one else np.mean
    return Kinship(*(float(combine(each)) for each in zip(*of_sources, strict=True)))


def credit(kin: Kinship, column_likeness: float, n_target: int) -> float:
    """Return how many standard errors of gain closeness and columns are worth; below 0 where they speak against.

    Ten times the closeness, and so ten less for labels that are turned round. Where the columns' likeness is below 0,
    up to ten less with ten target rows, and half of that with forty: nothing down to -0.1, which may be chance, and
    all of it from -0.5 on, where half of the draws show an order that the target has not. Three more where the columns
    surely match and the labels make sense and do not contradict the target's, as they do from a closeness of -0.2 on:
    the right columns say nothing of labels. In all not more than nine: how far the target's labels are shifted is seen
    in the gain alone.
    """
    if column_likeness < 0:
        unlike = float(np.clip((-column_likeness - BY_CHANCE) / (_UNLIKE - BY_CHANCE), 0, 1))
        columns = -_OTHER_COLUMNS * unlike * _for_so_few(n_target)
    else:
        columns = _SAME_COLUMNS * column_likeness * kin.sense * float(np.clip(1 + kin.closeness / _CONTRADICTS, 0, 1))
    return min(_SLOPE * kin.closeness + columns, _MOST_CREDIT)


def standard_errors_needed(wanted: float, worth: float, n_target: int) -> float:
    """Return by how many standard errors the sources must win to be used: as many as wanted, less their credit.

    Not more than four fewer with ten target rows and two with forty.
    """
    return wanted - min(worth, _MOST_FEWER * _for_so_few(n_target))


def _for_so_few(n_target: int) -> float:
    """Return 1 with ten target rows, down to a half with forty: the more they are, the better they speak themselves."""
    return float(max(min(_FEW_TARGET_ROWS / n_target, 1.0) ** 0.5, _LEAST_FACTOR))


class SourceRows:
    """Source rows that were held out, to judge by: how a way of training does on them, next to its loss on the target.

    Parameters
    ----------
    data : Data
    rows : ndarray of int
        Of sources, in the order of the predictions.
    kinship : dict of int to Kinship
        Of each source.

    Notes
    -----
    All rows together count as their number, at most 100, of target rows, but those of a source whose labels make no
    sense do not. A regression's squared errors are in units of the source's variance.
    """

    def __init__(self, data: Data, rows: NDArray[np.intp], kinship: dict[int, Kinship]) -> None:
        self.kinship = kinship
        self._data = data
        self._rows = rows
        domain = data.domain[rows]
        self._weight = np.zeros(rows.size)
        for number, kin in kinship.items():
            variance = 1.0 if data.classes is not None else float(np.var(data.y[data.domain == number]))
            self._weight[domain == number] = kin.sense / (variance if variance > 0 else 1.0)
        self._weight *= min(_MOST_ROWS / rows.size, 1.0) / data.target.size

    def loss(self, predicted: Array) -> float:
        """Return what predictions of the rows add to a mean loss over the target's rows."""
        return float(self._weight @ self._data.row_losses(self._rows, predicted))
