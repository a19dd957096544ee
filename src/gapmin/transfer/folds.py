"""Folds of the target's rows: our own, or those of a splitter of the user's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from ._fitting import Data, TargetFold

N_PARTS = 10
"""A source's rows are set aside in so many parts, one for each fold."""


def draw_folds(
    data: Data, n_splits: int, n_repeats: int, seed: int, groups: NDArray[Any] | None = None
) -> list[list[TargetFold]]:
    """Return the folds of each repeat; classes keep their shares, and groups stay together."""
    return draw_row_folds(data.y[data.target], bool(data.n_classes), n_splits, n_repeats, seed, groups)


def draw_row_folds(
    y: NDArray[Any],
    classes: bool,
    n_splits: int,
    n_repeats: int,
    seed: int,
    groups: NDArray[Any] | None = None,
) -> list[list[TargetFold]]:
    """Return the folds of rows with these labels, for each repeat; where they are classes, in proportion."""
    states = [int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0]) for repeat in range(n_repeats)]
    return [row_folds(y, classes, n_splits, state, groups) for state in states]


def row_folds(
    y: NDArray[Any], classes: bool, n_splits: int, state: int, groups: NDArray[Any] | None = None
) -> list[TargetFold]:
    """Return the folds of rows with these labels.

    There are no more than groups, nor than rows of the most frequent class; where each class has one row, the classes
    are in no proportion.
    """
    if classes:
        most = int(np.unique(y, return_counts=True)[1].max())
        classes, n_splits = most > 1, min(n_splits, most) if most > 1 else n_splits
    kind: Any = StratifiedKFold if classes else KFold
    if groups is not None:
        n_groups = np.unique(groups).size
        if n_groups < 2:
            raise ValueError("every target row is of one group: give groups of which two or more are in the target")
        kind, n_splits = StratifiedGroupKFold if classes else GroupKFold, min(n_splits, n_groups)
    splitter = kind(n_splits, shuffle=True, random_state=state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        return [(train, test) for train, test in splitter.split(np.zeros((y.size, 1)), y, groups) if test.size]


def folds_of(cv: Any, data: Data, labels: NDArray[Any], groups: NDArray[Any] | None) -> list[list[TargetFold]]:
    """Return the folds that a splitter of the user's makes of the target's rows, as repeats that test a row once."""
    splitter = check_cv(cv, labels, classifier=bool(data.n_classes))
    repeats: list[list[TargetFold]] = []
    tested = np.ones(labels.size, dtype=bool)
    for train, test in splitter.split(np.zeros((labels.size, 1)), labels, groups):
        if np.intersect1d(train, test).size:
            raise ValueError("cv tests rows that it trains on: give a splitter that keeps them apart")
        if groups is not None and (divided := np.intersect1d(groups[train], groups[test])).size:
            raise ValueError(
                f"cv divides the group {divided[0]!r} between training and testing: give GroupKFold or the like"
            )
        if tested[test].any():
            tested[:] = False
            repeats.append([])
        tested[test] = True
        repeats[-1].append((np.asarray(train), np.asarray(test)))
    if not repeats:
        raise ValueError("cv makes no split of the target's rows")
    rows = [np.sort(np.concatenate([test for _, test in folds])) for folds in repeats]
    if any(not np.array_equal(each, rows[0]) for each in rows):
        raise ValueError(
            "cv tests some rows more often than others: use KFold, GroupKFold, TimeSeriesSplit or the like"
        )
    if min(map(len, repeats)) < 2:
        raise ValueError("cv tests the rows in one fold: give a splitter with two folds or more")
    return repeats


def draw_asides(
    data: Data, numbers: Sequence[int], n_folds: int, seed: int, keys: NDArray[Any]
) -> list[NDArray[np.intp]]:
    """Return for each fold of the target's rows a tenth of the rows of each source, to judge learners by.

    With more than ten folds it is one part in as many. Rows with one key, the same row or one group, stay together,
    also those of two sources. Of a source with fewer keys than parts none are drawn for its own sake; rows that are
    linked to the target never are.
    """
    n_parts = max(N_PARTS, n_folds)
    rows_of = [data.rows_of((number,)) for number in numbers]
    rows = np.concatenate([np.empty(0, dtype=np.intp), *rows_of])
    codes, part = _numbered(keys[rows]), np.full(rows.size, -1)
    of_source = np.repeat(np.arange(len(rows_of)), [each.size for each in rows_of])
    for place in range(len(rows_of)):
        own = np.unique(codes[of_source == place])
        if own.size < n_parts:
            continue
        new = own[part[own] < 0]  # the others are in the part where a source before has them
        part[new] = np.random.default_rng([seed, place]).permutation(new.size) % n_parts
    return [np.sort(rows[part[codes] == k]) for k in range(n_folds)]


def _numbered(keys: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for each key, in the order in which keys come."""
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
