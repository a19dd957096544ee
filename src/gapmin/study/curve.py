"""Error by the number of target rows, and how many more labels it would take without the sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log

import numpy as np
from numpy.typing import NDArray

WITHIN, EXTRAPOLATED, BEYOND, NONE = "within", "extrapolated", "beyond", "none"
FEWEST_CURVE_ROWS = 10
N_SIZES = 5
MOST_TIMES = 10
"""Beyond so many times the rows that are there, a number would be a guess."""


@dataclass(frozen=True)
class LabelSaving:
    """How many labelled target rows it would take without the sources to err as little as with them.

    Attributes
    ----------
    n_rows : int
        Labelled target rows that were there with the sources.
    n_needed : int
        Rows that would be needed without; of "beyond" those that would not be enough.
    kind : "none", "within", "extrapolated" or "beyond"
        No rows are saved; read off the curve; a power law carried on beyond the curve's end; more than ten times the
        rows, where no more is said.
    """

    n_rows: int
    n_needed: int
    kind: str


def curve_sizes(n_train: int) -> tuple[int, ...]:
    """Return numbers of target rows from 10 to all that train, evenly on a log scale.

    Examples
    --------
    >>> curve_sizes(80), curve_sizes(24), curve_sizes(8)
    ((10, 17, 28, 48, 80), (10, 12, 15, 19, 24), (8,))
    """
    if n_train <= FEWEST_CURVE_ROWS:
        return (n_train,)
    return tuple(sorted({round(float(size)) for size in np.geomspace(FEWEST_CURVE_ROWS, n_train, N_SIZES)}))


def draw_rows(y: NDArray[np.generic], size: int, order: NDArray[np.intp], classes: bool) -> NDArray[np.intp]:
    """Return the first rows in an order; of classes, each keeps its share and two rows are of different ones.

    A smaller size draws a part of what a larger one does, where there are no classes; with them nearly so.
    """
    if not classes or size >= order.size:
        return np.sort(order[:size])
    # Row k of n in its class comes at (k + 1/2) / n: taken in that order every class has its share at any size.
    labels = y[order]
    place = np.empty(order.size)
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        place[mine] = (np.arange(mine.size) + 0.5) / mine.size
    taken = np.argsort(place, kind="stable")[:size]
    if np.unique(labels[taken]).size == 1 and np.unique(labels).size > 1:
        taken[-1] = np.flatnonzero(labels != labels[taken[0]])[0]
    return np.sort(order[taken])


def labels_needed(sizes: Sequence[int], alone: Sequence[float], reached: float, at: int) -> LabelSaving:
    """Say how many rows the target alone needs for an error that the sources reach with `at` rows.

    Between the sizes of the curve the error is taken as a line over the log of the rows. Beyond, it is taken as a power
    law fitted to all of the curve, up to ten times the largest size.

    Parameters
    ----------
    sizes : sequence of int
        Ascending.
    alone : sequence of float
        The mean error of the target alone at each size.
    reached : float
    at : int

    Examples
    --------
    >>> labels_needed([10, 20, 40], [32, 16, 8], reached=16, at=10)
    LabelSaving(n_rows=10, n_needed=20, kind='within')
    >>> labels_needed([10, 20, 40], [32, 16, 8], reached=4, at=40)
    LabelSaving(n_rows=40, n_needed=80, kind='extrapolated')
    >>> labels_needed([10, 20, 40], [32, 31, 32], reached=4, at=40).kind
    'beyond'
    """
    # More rows do not hurt on average: what says so is chance.
    falling = np.minimum.accumulate(np.asarray(alone, dtype=float))
    here = float(np.interp(log(at), np.log(sizes), falling))
    if reached >= here:
        return LabelSaving(at, at, NONE)
    if falling[-1] <= reached:
        after = int(np.argmax(falling <= reached))
        low, high = falling[after], falling[after - 1]
        share = (high - reached) / (high - low)
        found = log(sizes[after - 1]) + share * (log(sizes[after]) - log(sizes[after - 1]))
        return LabelSaving(at, max(ceil(exp(found) - 1e-9), at), WITHIN)
    most = MOST_TIMES * sizes[-1]
    if reached <= 0 or len(sizes) < 3 or min(alone) <= 0:
        return LabelSaving(at, most, BEYOND)
    slope, level = np.polyfit(np.log(sizes), np.log(np.asarray(alone, dtype=float)), 1)
    if slope >= 0:
        return LabelSaving(at, most, BEYOND)
    found = (log(reached) - level) / slope
    if found >= log(most):
        return LabelSaving(at, most, BEYOND)
    # The fit need not pass through the end of the curve, which is known not to be enough.
    return LabelSaving(at, max(ceil(exp(found) - 1e-9), sizes[-1] + 1), EXTRAPOLATED)
