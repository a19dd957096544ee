"""Whether the columns of a source look like those of the target, which can be told without a label.

A file whose columns are in another order has the right number of them, and on ten target rows a model of it may do well
by chance. But columns have their own means, and go together in their own ways. Were those of the source in any order,
a chance order would be as near to the target's as the one they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.utils import _safe_indexing

from gapmin.boosting._rows import Array

_MOST_OF_THE_TARGET, _MOST_OF_THE_SOURCE, _MOST_COLUMNS = 100, 500, 200
_N_ORDERS, _N_OF_THE_SOURCE = 499, 99
_N_DRAWS = 10
"""Of the source's own rows, to see how often they show the order."""

_RELATED, _SURELY_RELATED = 0.05, 0.01
"""P-values."""

_FEWEST_COLUMNS, _FEWEST_ROWS = 5, 10
"""Below these no order could be told from the others."""


def likeness(X: Any, target: NDArray[np.intp], source: NDArray[np.intp], seed: int) -> float:
    """Return how far a source's columns look like those of the target in that order: 1 if surely, below 0 if not.

    It is 1 where their means are more like the target's than in 199 of 200 random orders, or their correlations more
    like them, or more unlike: after a principal component analysis of two tables in one, the correlations in one of
    them are the opposite of those in the other. That is much like the order of the target, not equal to it: two columns
    of many that are exchanged are not found.

    Where neither is so of 39 in 40 orders, it is below 0: less the share of draws of as many of the source's own rows
    as the target has, that are so related to others of its rows. The columns of a source that never shows their order
    itself have too little that is their own, and that the target does not show it says nothing: 0, as it is between the
    two, and where there is nothing to compare.

    Means tell nothing of tables that were standardised in one; there it is the correlations alone.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        What is no number, or missing, is left out.
    target, source : ndarray of int
        Rows.
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 9)) + np.arange(9)
    >>> X[20:70] = X[20:70, ::-1]
    >>> target, turned, kept = np.split(np.arange(120), [20, 70])
    >>> likeness(X, target, turned, seed=0), likeness(X, target, kept, seed=0)
    (-1.0, 1.0)
    """
    random = np.random.default_rng(seed)
    target = random.permutation(target)[:_MOST_OF_THE_TARGET]
    source = random.permutation(source)[: _MOST_OF_THE_TARGET + _MOST_OF_THE_SOURCE]
    table = _numbers(_safe_indexing(X, np.concatenate([target, source])), random)
    if table.shape[1] < _FEWEST_COLUMNS or source.size < _FEWEST_ROWS:
        return 0.0
    here, there = table[: target.size], table[target.size :]
    p_value = _by_chance(here, there[:_MOST_OF_THE_SOURCE], random)
    if p_value <= _RELATED:
        return 1.0 if p_value <= _SURELY_RELATED else 0.0
    few = min(len(here), len(there) // 2)
    n_related = 0
    for _ in range(_N_DRAWS):
        drawn = random.permutation(there)
        rest = drawn[few : few + _MOST_OF_THE_SOURCE]
        n_related += _by_chance(drawn[:few], rest, random, _N_OF_THE_SOURCE) <= _RELATED
    return -n_related / _N_DRAWS


def is_match(likeness: float) -> bool | None:
    """Return whether columns match, as far as it can be said: True, False, or None where there is no telling.

    False where every draw of the source's own rows shows an order that the target's do not.
    """
    return likeness > 0 if abs(likeness) == 1 else None


def _numbers(rows: Any, random: np.random.Generator) -> Array:
    """Return columns of numbers without gaps, at most two hundred of them."""
    columns = np.arange(rows.shape[1])
    if columns.size > _MOST_COLUMNS:
        columns = np.sort(random.choice(columns, _MOST_COLUMNS, replace=False))
    rows = _safe_indexing(rows, columns, axis=1)
    if sp.issparse(rows):
        rows = rows.toarray()
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):  # not all of them are numbers
        table = np.column_stack([_as_numbers(_safe_indexing(rows, k, axis=1)) for k in range(columns.size)])
    return table[:, np.isfinite(table).all(axis=0)]


def _as_numbers(column: Any) -> Array:
    """Return a column as numbers, or as missing where it has none."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(len(column), np.nan)


def _by_chance(one: Array, other: Array, random: np.random.Generator, n_orders: int = _N_ORDERS) -> float:
    """Return the p-value of columns of two tables being related no more in the order they have than in others.

    Twice the smaller of those by means and by correlations.
    """
    own = np.arange(one.shape[1])
    drawn = (random.permutation(own.size) for _ in range(n_orders))
    orders = [own, *(order for order in drawn if (order != own).any())]
    ranks = rankdata(one.mean(axis=0)), rankdata(other.mean(axis=0))
    related = _correlations(one), _correlations(other)
    means = np.array([ranks[0] @ ranks[1][order] for order in orders])
    correlations = np.array([np.vdot(related[0], related[1][np.ix_(order, order)]) for order in orders])
    far = np.abs(correlations - correlations[1:].mean())
    return 2 * min(_p_value(means), _p_value(far))


def _correlations(table: Array) -> Array:
    """Return how the columns are correlated; constant ones are not."""
    largest = np.abs(table).max(axis=0)
    table = table / np.where(largest > 0, largest, 1.0)
    table = table - table.mean(axis=0)
    length = np.linalg.norm(table, axis=0)
    constant = length < 1e-12
    unit = np.where(constant, 0.0, table / np.where(constant, 1.0, length))
    return np.asarray(unit.T @ unit)


def _p_value(values: Array) -> float:
    """Return the share of the values that are as large as the first."""
    return float(np.mean(values >= values[0] - 1e-9 * np.abs(values[0])))
