"""What rows and columns show before any fit: leaks, other units, constant columns, categories apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from sklearn.utils import _safe_indexing

from gapmin._utils.text import counted, format_number, listed

from ._fitting import Data

_ROWS_COMPARED = 2000
"""Of each table that are looked at."""

_MOST_LEVELS = 20
"""Whole numbers with no more values than these are looked at as categories."""

_FAR_SIZES = 3.0
"""Sizes whose ratio is beyond this, or its inverse, may be of other units."""

_SAME_SHAPE = 0.01
"""A p-value of Kolmogorov and Smirnov's test from which on two distributions agree."""

_CLOSE_SHAPE = 0.15
"""Its distance up to which they agree, however many rows there are."""

_FEWEST_VALUES = 5

_MOST_NAMED = 5


def link_rows(
    data: Data, keys: NDArray[Any], groups: NDArray[Any] | None
) -> tuple[Data, dict[int, int], dict[int, int]]:
    """Find source rows that must not train a model tested on some target row: the same row, or of the same group.

    Parameters
    ----------
    data : Data
    keys : ndarray
        From `row_keys`.
    groups : ndarray or None
        Of all rows.

    Returns
    -------
    Data
        With `links`.
    dict of int to int
        How many rows of each source repeat a target row, label and all.
    dict of int to int
        How many are of a group of the target's.
    """
    found = []
    counts: list[dict[int, int]] = []
    for of_rows in (keys, groups):
        counts.append({})
        if of_rows is None:
            continue
        codes = np.unique(of_rows, return_inverse=True)[1].astype(np.int64)
        linked = (data.domain > 0) & np.isin(codes, codes[data.target])
        if linked.any():
            found.append(codes)
            numbers, sizes = np.unique(data.domain[linked], return_counts=True)
            counts[-1] = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
    return replace(data, links=tuple(found)), counts[0], counts[1]


def row_keys(data: Data) -> NDArray[Any]:
    """Return keys of the rows, the same for the same values and label."""
    if sp.issparse(data.X):
        X = sp.csr_matrix(data.X, copy=True)
        X.sum_duplicates()
        parts = zip(np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), data.y, strict=True)
        return np.array([hash((where.tobytes(), what.tobytes(), y.tobytes())) for where, what, y in parts])
    try:
        values = np.asarray(data.X, dtype=np.float64)
    except (TypeError, ValueError):
        columns = range(data.X.shape[1])
        values = np.column_stack([_value_codes(np.asarray(_safe_indexing(data.X, k, axis=1))) for k in columns])
    table = np.ascontiguousarray(np.column_stack([values, data.y.astype(np.float64)]) + 0.0)
    return table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()


def _value_codes(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return a number for each distinct value of a column of any kind."""
    plain = column.dtype.kind in "biufU"
    values = column if plain else np.array([f"{type(each).__name__} {each}" for each in column.tolist()])
    return np.unique(values, return_inverse=True)[1].astype(np.float64)


def leak_findings(number: int, repeated: dict[int, int], shared: dict[int, int]) -> Iterator[str]:
    """Say of a source which of its rows were kept from testing it."""
    if number in repeated:
        yield f"{counted(repeated[number], 'row')} repeated in the target: {_KEPT_APART} row is tested"
    if number in shared:
        yield f"{counted(shared[number], 'row')} of groups in the target: {_KEPT_APART} group is tested"


_KEPT_APART = "not trained on where that"


def asks_for_correction(finding: str) -> bool:
    """Tell whether there is something to correct: rows that leak are kept apart already."""
    return _KEPT_APART not in finding


def column_findings(data: Data, number: int, names: Sequence[str] | None, seed: int) -> Iterator[str]:
    """Say of a source which columns are constant, in other units or of other categories than the target's."""
    if sp.issparse(data.X):
        return
    random = np.random.default_rng(seed)
    here, there = (
        _safe_indexing(data.X, np.sort(random.permutation(rows)[:_ROWS_COMPARED]))
        for rows in (data.target, np.flatnonzero(data.domain == number))
    )

    def column(table: Any, k: int) -> NDArray[Any]:
        return np.asarray(_safe_indexing(table, k, axis=1))

    names = names if names is not None else [f"column {k + 1}" for k in range(here.shape[1])]
    yield from differing_columns((str(name), column(here, k), column(there, k)) for k, name in enumerate(names))


def differing_columns(columns: Iterable[tuple[str, NDArray[Any], NDArray[Any]]]) -> Iterator[str]:
    """Say which columns differ as `column_findings` does, of names with the values in the target and in a source."""
    found: dict[str, list[str]] = {}
    for name, here, there in columns:
        for said in _differences(here, there):
            found.setdefault(said, []).append(name)
    for said, names in found.items():
        yield f"{said}: {listed(names, _MOST_NAMED)}"


def _differences(here: NDArray[Any], there: NDArray[Any]) -> Iterator[str]:
    if here.dtype.kind not in "biuf":
        levels = [{str(each) for each in column} for column in (here, there)]
        if not levels[0] & levels[1]:
            yield _OTHER_CATEGORIES
        return
    here, there = (column[np.isfinite(column)].astype(np.float64) for column in (here, there))
    if not here.size or not there.size:
        return
    constant = np.ptp(here) == 0, np.ptp(there) == 0
    if constant[0] != constant[1]:
        yield "constant in the source alone" if constant[1] else "constant in the target alone"
        return
    if constant[0] and here[0] != there[0]:
        yield "constant, with another value than in the target"
        return
    ratio = _other_unit(here, there)
    if ratio is not None:
        yield f"the same shape at {format_number(ratio)} times the target's size, perhaps another unit"
        return
    levels = [set(np.unique(column).tolist()) for column in (here, there)]
    if max(map(len, levels)) <= _MOST_LEVELS and not levels[0] & levels[1] and _whole(here) and _whole(there):
        yield _OTHER_CATEGORIES


_OTHER_CATEGORIES = "categories that the target does not have"


def _other_unit(here: NDArray[np.float64], there: NDArray[np.float64]) -> float | None:
    """Return how many times as large values are where nothing else differs, None where that is not so.

    Sizes are compared without their signs: the median of values around zero is no size.
    """
    sizes = [np.abs(column[column != 0]) for column in (here, there)]
    if min(each.size for each in sizes) < _FEWEST_VALUES:
        return None
    ratio = float(np.median(sizes[1]) / np.median(sizes[0]))
    if max(ratio, 1 / ratio) <= _FAR_SIZES or ks_2samp(here, there).pvalue >= _SAME_SHAPE:
        return None
    after = ks_2samp(here * ratio, there)
    return ratio if after.pvalue >= _SAME_SHAPE or after.statistic <= _CLOSE_SHAPE else None


def _whole(column: NDArray[Any]) -> bool:
    return bool((column == np.round(column)).all())
