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

from gapmin._utils.typing import Array

_MOST_OF_THE_TARGET, _MOST_OF_THE_SOURCE, _MOST_COLUMNS = 100, 500, 200
_N_ORDERS, _N_OF_ONE_TABLE = 499, 99
_N_DRAWS = 20
"""Of rows of one table, to see how often they show the order to the others."""

_CORRELATED, _SURELY_CORRELATED = 0.05, 0.01
"""P-values."""

_OFTEN = 0.9
"""The share of draws that show an order from which on columns without it are said to be others."""

_KNOWN = 0.5
"""A column must be known in more than this share of the rows, of the target and of the source."""

_FEWEST_COLUMNS, _FEWEST_ROWS = 5, 10
"""Below these no order could be told from the others, or not by the source's rows."""


def look_permuted(X: Any, target: NDArray[np.intp], source: NDArray[np.intp], seed: int) -> bool:
    """Tell whether a source's columns look like those of the target in another order; see `column_match`."""
    return column_match(X, target, source, seed) <= -_OFTEN


def column_match(X: Any, target: NDArray[np.intp], source: NDArray[np.intp], seed: int) -> float:
    """Return how far a source's columns look like those of the target in that order: 1 if surely, below 0 if not.

    It is 1 where their means are more like the target's than in 199 of 200 random orders, or their correlations more
    like them, or more unlike. After a principal component analysis of two tables in one, the correlations in one of
    them are the opposite of those in the other. That is much like the order of the target, not equal to it: two columns
    of many that are exchanged are not found.

    Where neither is so of 39 in 40 orders, it depends on whether it would be. Of as many rows of the source as the
    target has, but no more than half of its own, drawn again and again, some show the order to its other rows. It is -1
    if all do, 0 if none does, for then the columns have too little that is their own. By means it is so only as far as
    halves of the target's rows show each other an order too. Means are shifted easily, and where both were standardised
    by the target's rows, these have none. It is 0 between the two, and where there is nothing to compare.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Columns without numbers, constant, or missing in half of the rows are left out; gaps in others are their means.
    target, source : ndarray of int
        Rows.
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 9)) + np.arange(9)
    >>> X[20:70] = X[20:70, ::-1]
    >>> target, turned, kept = np.split(np.arange(120), [20, 70])
    >>> column_match(X, target, turned, seed=0), column_match(X, target, kept, seed=0)
    (-1.0, 1.0)
    """
    if source.size < _FEWEST_ROWS:
        return 0.0
    random = np.random.default_rng(seed)
    target = random.permutation(target)[:_MOST_OF_THE_TARGET]
    # As many of them as the target has are drawn below, and shall meet as many others as the target does.
    source = random.permutation(source)[: _MOST_OF_THE_TARGET + _MOST_OF_THE_SOURCE]
    table = _numbers(_safe_indexing(X, np.concatenate([target, source])), random)
    here, there = _in_two(table, target.size)
    if here.shape[1] < _FEWEST_COLUMNS:
        return 0.0
    p_value = min(_by_chance(here, there[:_MOST_OF_THE_SOURCE], random))
    if p_value <= _CORRELATED:
        return 1.0 if p_value <= _SURELY_CORRELATED else 0.0
    by_means, by_correlations = _share_that_show(there, min(len(here), len(there) // 2), random)
    if by_means > by_correlations:
        by_means *= _share_that_show(here, len(here) // 2, random)[0]
    return 0.0 - max(by_means, by_correlations)


def _share_that_show(table: Array, size: int, random: np.random.Generator) -> tuple[float, float]:
    """Return how often so many rows, drawn at random, show the order to the others, by means and by correlations."""
    n_shown = np.zeros(2)
    for _ in range(_N_DRAWS):
        drawn = random.permutation(table)
        rest = drawn[size : size + _MOST_OF_THE_SOURCE]
        n_shown += np.less_equal(_by_chance(drawn[:size], rest, random, _N_OF_ONE_TABLE), _CORRELATED)
    by_means, by_correlations = n_shown / _N_DRAWS
    return float(by_means), float(by_correlations)


def _numbers(rows: Any, random: np.random.Generator) -> Array:
    """Return at most two hundred columns as numbers; what is none is NaN."""
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
    return np.where(np.isfinite(table), table, np.nan)


def _as_numbers(column: Any) -> Array:
    """Return a column as numbers, or as missing where it has none."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(len(column), np.nan)


def _in_two(table: Array, n_first: int) -> tuple[Array, Array]:
    """Return the first rows and the others without their gaps, and without columns that say nothing."""
    largest = np.nanmax(np.abs(table), initial=0.0)
    table = table / (largest if largest > 0 else 1.0)  # or sums of huge numbers would be infinite
    known = ~np.isnan(table)
    kept = (known[:n_first].mean(axis=0) > _KNOWN) & (known[n_first:].mean(axis=0) > _KNOWN)
    kept[kept] = np.nanmin(table[:, kept], axis=0) < np.nanmax(table[:, kept], axis=0)
    here, there = (
        np.where(np.isnan(each), np.nanmean(each, axis=0), each) for each in np.split(table[:, kept], [n_first])
    )
    return here, there


def _by_chance(one: Array, other: Array, random: np.random.Generator, n_orders: int = _N_ORDERS) -> tuple[float, float]:
    """Return p-values of columns of two tables being related no more in the order they have than in others.

    By means and by correlations; each is twice what it would be alone.
    """
    own = np.arange(one.shape[1])
    drawn = (random.permutation(own.size) for _ in range(n_orders))
    orders = [own, *(order for order in drawn if (order != own).any())]
    ranks = rankdata(one.mean(axis=0)), rankdata(other.mean(axis=0))
    related = _correlations(one), _correlations(other)
    means = np.array([ranks[0] @ ranks[1][order] for order in orders])
    correlations = np.array([np.vdot(related[0], related[1][np.ix_(order, order)]) for order in orders])
    far = np.abs(correlations - correlations[1:].mean())
    return 2 * _p_value(means), 2 * _p_value(far)


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
