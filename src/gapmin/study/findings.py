"""What the columns of a source show before any fit, as they stand in the files: other units, codes, constant values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kruskal, spearmanr

from gapmin.transfer.findings import differing_columns

from ._left_out import FEWEST_COUNTED

if TYPE_CHECKING:
    import pandas as pd

    from .study import LabelledFrame, Study

_MOST_ROWS = 2000
"""Of each file that are looked at."""

_RELATED = 0.01
"""A p-value up to which a column has to do with the label."""

_FEWEST_RANKED = 5

_Known = tuple[NDArray[Any], NDArray[Any]]
"""The values of a column of a file, and the labels of their rows."""


def source_findings(study: Study, seed: int) -> tuple[tuple[str, ...], ...]:
    """Return for each source what is worth a look in its columns: units, categories, constants that matter.

    Parameters
    ----------
    study : Study
        The tables as they were read, with the columns as their owners know them.
    seed : int
        Which rows are looked at in a file of many.
    """
    random = np.random.default_rng(seed)
    tables = [_drawn(each, random) for each in (study.target, *study.sources.values())]
    found: list[list[tuple[str, NDArray[Any], NDArray[Any]]]] = [[] for _ in study.sources]
    for column in study.schema.columns:
        if column.kind in ("date", "text"):  # another time is no fault, and texts are seldom the same
            continue
        files = [_known(X[column.name], y) for X, y in tables]
        constant = [column.kind != "category" and bool(values.size) and np.ptp(values) == 0 for values, _ in files]
        varying = [each for each, one in zip(files, constant, strict=True) if not one]
        told = not any(constant) or _has_to_do_with_label(varying, classes=study.schema.task == "classification")
        for k, pairs in enumerate(found, start=1):
            if min(files[0][0].size, files[k][0].size) >= FEWEST_COUNTED and (told or not (constant[0] or constant[k])):
                pairs.append((column.name, files[0][0], files[k][0]))
    return tuple(tuple(differing_columns(pairs)) for pairs in found)


def _drawn(table: LabelledFrame, random: np.random.Generator) -> LabelledFrame:
    X, y = table
    rows = np.sort(random.permutation(len(y))[:_MOST_ROWS])
    return X.iloc[rows], y[rows]


def _known(column: pd.Series, y: NDArray[Any]) -> _Known:
    there = column.notna().to_numpy()
    return column.to_numpy()[there], y[there]


def _has_to_do_with_label(files: Sequence[_Known], *, classes: bool) -> bool:
    """Tell whether a rank test finds that a column has to do with the label in any of the files where it varies."""
    return any(_p_value(values, y, classes=classes) <= _RELATED / len(files) for values, y in files)


def _p_value(values: NDArray[Any], y: NDArray[Any], *, classes: bool) -> float:
    """Return the p-value of a rank test; 1 where there is nothing to test."""
    groups = [values[y == each] for each in set(y.tolist())] if classes else [values, y]
    if len(groups) < 2 or values.size < _FEWEST_RANKED:
        return 1.0
    found = kruskal(*groups) if classes else spearmanr(values, y)
    return float(found.pvalue)


__all__ = ["source_findings"]
