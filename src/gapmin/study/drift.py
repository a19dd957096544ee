"""Why a source differs: the distribution of each column and of the label, file by file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from ._dates import date_text, days_to_years
from .features import words_of

if TYPE_CHECKING:
    from .study import Study

_MOST_LEVELS_DRAWN = 8
_N_BINS = 24
N_DRAWN = 4
"""Distributions that are kept to be drawn: the label's and those of the three columns that differ most."""

MOST_EXAMPLES = 3
MOST_ROWS = 20_000
"""Of each file that are looked at."""


@dataclass(frozen=True)
class ColumnDrift:
    """How far a column of the sources is from that of the target.

    Attributes
    ----------
    name, kind : str
    is_label : bool
    distance : dict of source to float
        From 0, the same, to 1: Kolmogorov and Smirnov's distance of numbers and dates, the share that would have to
        change of categories, and of the words of free text.
    missing : dict of file to float
        The share without a value; empty for the label.
    examples : dict of file to tuple of str
    edges : tuple of float
        Of the bins of numbers, and of dates as years; empty for others, and where nothing is to be drawn.
    levels : tuple of str
        Of categories, or words.
    shares : dict of file to tuple of float
        Of each bin or level.
    """

    name: str
    kind: str
    is_label: bool
    distance: dict[str, float]
    missing: dict[str, float]
    examples: dict[str, tuple[str, ...]]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    shares: dict[str, tuple[float, ...]] | None = None

    @property
    def worst(self) -> float:
        """The largest distance, of values or of shares that are missing."""
        here = next(iter(self.missing.values()), 0.0)
        return max([*self.distance.values(), *(abs(each - here) for each in self.missing.values())], default=0.0)


def measure_drift(study: Study, target: str, sources: tuple[str, ...], seed: int) -> tuple[ColumnDrift, ...]:
    """Return the label first, then the columns, those that differ most first.

    Parameters
    ----------
    study : Study
    target, sources : str and tuple of str
        What the files are called.
    seed : int
        Which rows are looked at in a file of many.
    """
    files = dict(zip((target, *sources), (study.target, *study.sources.values()), strict=True))
    random = np.random.default_rng(seed)
    looked_at: dict[str, tuple[Any, NDArray[Any]]] = {}
    for name, (X, y) in files.items():
        rows = np.sort(random.permutation(len(y))[:MOST_ROWS])
        looked_at[name] = X.iloc[rows], y[rows]
    kind = "category" if study.schema.task == "classification" else "number"
    label = _drift(study.schema.label, kind, {name: y for name, (_, y) in looked_at.items()}, is_label=True)
    columns = [
        _drift(each.name, each.kind, {name: X[each.name].to_numpy() for name, (X, _) in looked_at.items()})
        for each in study.schema.columns
    ]
    return (label, *sorted(columns, key=lambda each: -each.worst))


def _drift(name: str, kind: str, values: Mapping[str, NDArray[Any]], *, is_label: bool = False) -> ColumnDrift:
    import pandas as pd

    there = {file: ~pd.isna(each) for file, each in values.items()}
    missing = {} if is_label else {file: float(1 - each.mean()) for file, each in there.items()}
    known = {file: values[file][there[file]] for file in values}
    shown_as = date_text if kind == "date" else _example
    examples = {file: tuple(shown_as(each) for each in pd.unique(each)[:MOST_EXAMPLES]) for file, each in known.items()}
    if kind in ("number", "date"):
        numbers = {file: each.astype(float) for file, each in known.items()}
        if kind == "date":
            numbers = {file: days_to_years(each) for file, each in numbers.items()}
        edges, shares = _binned(numbers)
        return ColumnDrift(name, kind, is_label, _distances(numbers), missing, examples, edges, (), shares)
    if kind == "text":
        known = {file: np.array([word for text in each for word in words_of(text)]) for file, each in known.items()}
    texts = {file: pd.Series(each, dtype=object).map(str).to_numpy() for file, each in known.items()}
    every = pd.Series(np.concatenate(list(texts.values()))).value_counts().index.tolist()
    counts = {file: _level_shares(each, every) for file, each in texts.items()}
    first, *others = counts
    distance = {file: float(np.abs(counts[file] - counts[first]).sum() / 2) for file in others}
    shown = tuple(every[:_MOST_LEVELS_DRAWN])
    shares = {file: tuple(each[: len(shown)].tolist()) for file, each in counts.items()}
    return ColumnDrift(name, kind, is_label, distance, missing, examples, (), shown, shares)


def _example(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _level_shares(texts: NDArray[Any], levels: list[str]) -> NDArray[np.float64]:
    if not texts.size:
        return np.zeros(len(levels))
    values, counts = np.unique(texts.astype(str), return_counts=True)
    found = dict(zip(values.tolist(), (counts / texts.size).tolist(), strict=True))
    return np.array([found.get(level, 0.0) for level in levels])


def _distances(numbers: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
    first, *others = numbers
    return {
        file: float(ks_2samp(numbers[first], numbers[file]).statistic)
        if numbers[first].size and numbers[file].size
        else 0.0
        for file in others
    }


def _binned(
    numbers: Mapping[str, NDArray[np.float64]],
) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]] | None]:
    """Return bins that hold nearly all values of every file, and the share of each file in them."""
    sized = [each for each in numbers.values() if each.size]
    if not sized:
        return (), None
    low = min(float(np.quantile(each, 0.01)) for each in sized)
    high = max(float(np.quantile(each, 0.99)) for each in sized)
    if not high > low:
        return (), None
    edges = np.linspace(low, high, _N_BINS + 1)
    shares = {
        file: tuple((np.histogram(np.clip(each, low, high), edges)[0] / max(each.size, 1)).tolist())
        for file, each in numbers.items()
    }
    return tuple(edges.tolist()), shares
