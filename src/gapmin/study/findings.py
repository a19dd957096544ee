"""What the columns of a source show before any fit, as they stand in the files: other units, codes, constant values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kruskal, spearmanr

from gapmin.transfer.findings import differing_columns

if TYPE_CHECKING:
    from .study import LabelledFrame, Study

_MOST_ROWS = 2000
"""Of each file that are looked at."""

_RELATED = 0.01
"""A p-value up to which a column has to do with the label."""


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
    target, *sources = (_drawn(each, random) for each in (study.target, *study.sources.values()))
    return tuple(tuple(differing_columns(_columns(study, target, source))) for source in sources)


def _drawn(table: LabelledFrame, random: np.random.Generator) -> LabelledFrame:
    X, y = table
    rows = np.sort(random.permutation(len(y))[:_MOST_ROWS])
    return X.iloc[rows], y[rows]


def _columns(
    study: Study, target: LabelledFrame, source: LabelledFrame
) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield the columns that can be compared by value, without those that are constant where it does not matter."""
    classes = study.schema.task == "classification"
    for column in study.schema.columns:
        if column.kind in ("date", "text"):  # another time is no fault, and texts are seldom the same
            continue
        there = [X[column.name].notna().to_numpy() for X, _ in (target, source)]
        values = [X[column.name].to_numpy()[known] for (X, _), known in zip((target, source), there, strict=True)]
        if not all(each.size for each in values):
            continue
        if column.kind != "category":
            varies = [bool(np.ptp(each)) for each in values]
            where = int(varies[1])
            labels = (target, source)[where][1][there[where]]
            if not all(varies) and not (any(varies) and _is_related(values[where], labels, classes=classes)):
                continue
        yield column.name, values[0], values[1]


def _is_related(values: NDArray[Any], labels: NDArray[Any], *, classes: bool) -> bool:
    """Tell whether a column has to do with the label, by a rank test."""
    if not classes:
        return bool(spearmanr(values, labels).pvalue <= _RELATED)
    groups = [values[labels == each] for each in set(labels.tolist())]
    return len(groups) > 1 and bool(kruskal(*groups).pvalue <= _RELATED)


__all__ = ["source_findings"]
