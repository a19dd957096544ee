"""How a study's rows may be divided: at random, with groups kept together, or by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import TimeSeriesSplit

from gapmin._utils.options import option
from gapmin._utils.text import listed, quoted
from gapmin.transfer.folds import row_folds

from ._dates import days_come_first, is_year_last
from ._messages import TableError, at_row, did_you_mean
from ._values import as_numbers, is_missing, kind_of_dtype
from .inputs import GivenTable, TableInput, given_tables
from .study import Study

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[np.intp]

MOST_INNER_FOLDS = 5
FEWEST_ROWS_BY_TIME = 30


@dataclass(frozen=True, eq=False)
class RowDivision:
    """What must be respected where rows are divided into those that train and those that test.

    Attributes
    ----------
    groups : ndarray or None
        A code for each row of `Study.stack()`. Rows with one code are never on both sides.
    time : ndarray or None
        When each target row was taken, as a number. Later rows test, earlier ones train.
    """

    groups: NDArray[np.int64] | None = None
    time: NDArray[np.float64] | None = None

    def order(self, n_rows: int) -> Rows:
        """Return the stacked rows with those of the target sorted by time.

        Parameters
        ----------
        n_rows : int
            How many rows there are.
        """
        rows = np.arange(n_rows)
        if self.time is not None:
            rows[: self.time.size] = np.argsort(self.time, kind="stable")
        return rows

    def inner_cv(self) -> Any:
        """Return the splitter of `Transfer*CV` for rows in this order; None for its own folds."""
        return None if self.time is None else TimeSeriesSplit(MOST_INNER_FOLDS)

    def sorted_groups(self, n_rows: int) -> NDArray[np.int64] | None:
        """Return the groups of the rows in the order of `order`.

        Parameters
        ----------
        n_rows : int
            How many rows there are.
        """
        return None if self.groups is None else self.groups[self.order(n_rows)]


@dataclass(frozen=True, eq=False)
class OuterFold:
    """Stacked rows that train, the sources' among them, and target rows that are tested."""

    train: Rows
    test: Rows


def outer_folds(
    frame: pd.DataFrame,
    y: NDArray[Any],
    domain: NDArray[np.int64],
    division: RowDivision,
    n_splits: int,
    seed: int,
    *,
    classes: bool,
) -> list[OuterFold]:
    """Divide the target's rows, which are sorted by time where there is one, into folds.

    All source rows train but those of a group that is tested, and copies of tested rows.
    """
    import pandas as pd

    target, sources = np.flatnonzero(domain < 0), np.flatnonzero(domain > 0)
    groups = division.sorted_groups(len(y))
    whole = frame.reset_index(drop=True).assign(**{"\0label": y})
    marks = [pd.util.hash_pandas_object(whole, index=False).to_numpy()]
    if groups is not None:
        marks.append(groups)
    folds = []
    for train, test in _divide(
        y[target], None if groups is None else groups[target], division, n_splits, seed, classes
    ):
        kept = sources
        for codes in marks:
            kept = kept[~np.isin(codes[kept], codes[target[test]])]
        folds.append(OuterFold(np.concatenate([target[train], kept]), target[test]))
    return folds


def _divide(
    y: NDArray[Any], groups: NDArray[Any] | None, division: RowDivision, n_splits: int, seed: int, classes: bool
) -> list[tuple[Rows, Rows]]:
    if division.time is None:
        return row_folds(y.astype(str) if classes else y, classes, n_splits, seed, groups)
    # The first half trains every fold: a model of a handful of rows says nothing about one of all.
    return list(TimeSeriesSplit(n_splits, test_size=max(y.size // (2 * n_splits), 1)).split(y))


def read_division(
    study: Study, tables: Sequence[TableInput], group: str | None = None, time: str | None = None
) -> RowDivision:
    """Read the columns that say how a study's rows may be divided.

    Parameters
    ----------
    study : Study
        The tables as they were read.
    tables : sequence of path or frame
        Its target, then its sources.
    group : str, optional
        A column, such as a patient or a day. A source without it has no row of a group of the target's.
    time : str, optional
        A column of the target with dates or numbers.

    Returns
    -------
    RowDivision
        Groups and times of the rows.

    Raises
    ------
    TableError
        Where a column is not in the target, has no value in a row, or is no time.
    """
    given = given_tables(tables[0], tables[1:])
    check_division(given[0], study.schema.label, group, time)
    frames = [study.target[0], *(X for X, _ in study.sources.values())]
    groups = None if group is None else _group_codes(frames, given, group.strip())
    when = None
    if time is not None:
        when = _times(_values(frames[0], given[0], time.strip(), "time"), given[0].shown, time.strip())
    return RowDivision(groups, when)


def check_division(target: GivenTable, label: str, group: str | None = None, time: str | None = None) -> None:
    """Raise a `TableError` where the target has no such columns, or they cannot divide its rows."""
    asked = [(name.strip(), asked_for) for name, asked_for in ((group, "group"), (time, "time")) if name is not None]
    if not asked:
        return
    if len(asked) == 2:
        raise TableError(
            f"{option('group')} and {option('time')} are given together: later rows of a group would be tested by "
            "models of its earlier ones; give one of them"
        )
    if asked[0][0] == label.strip():
        raise TableError(f"{option(asked[0][1])} names the label {quoted(asked[0][0])}: give another column")
    columns = target.read().frame.columns
    for name, asked_for in asked:
        if name not in columns:
            raise TableError(
                f"{target.shown} has no column {quoted(name)} for {option(asked_for)}: it has {listed(columns)}"
                f"{did_you_mean(name, columns)}"
            )


def _values(X: pd.DataFrame, table: GivenTable, name: str, asked_for: str) -> pd.Series:
    """Return a column of the target's file, of the rows that are used."""
    frame = table.read().frame
    values = frame.loc[X.index, name]
    missing = is_missing(values)
    if missing.any():
        row = values.index[int(np.argmax(missing))]
        raise TableError(
            f"{table.shown} has no value in column {quoted(name)} at {at_row(row)}: "
            f"{option(asked_for)} needs one in each row"
        )
    return values


def _group_codes(frames: Sequence[pd.DataFrame], tables: Sequence[GivenTable], name: str) -> NDArray[np.int64]:
    texts = [_values(frames[0], tables[0], name, "group").astype(str).to_numpy()]
    if np.unique(texts[0]).size < 2:
        raise TableError(
            f"every row of {tables[0].shown} has {quoted(texts[0][0])} in column {quoted(name)}: "
            f"{option('group')} needs two or more"
        )
    for k, (X, table) in enumerate(zip(frames[1:], tables[1:], strict=True), start=1):
        frame = table.read().frame
        own = np.array([f"\0{k} {row}" for row in range(len(X))])  # rows of no group are groups of their own
        if name in frame.columns:
            values = frame.loc[X.index, name]
            own = np.where(is_missing(values), own, values.astype(str).to_numpy())
        texts.append(own)
    return np.unique(np.concatenate(texts), return_inverse=True)[1].astype(np.int64)


def _times(values: pd.Series, shown: str, name: str) -> NDArray[np.float64]:
    import pandas as pd

    if len(values) < FEWEST_ROWS_BY_TIME:
        raise TableError(
            f"{shown} has {len(values)} labelled rows: {option('time')} needs {FEWEST_ROWS_BY_TIME} or more, so that "
            f"the first half can train; leave {option('time')} out, or label more rows"
        )
    if kind_of_dtype(values.dtype) == "number":
        return as_numbers(values)
    texts = values.astype(str)
    day_first, _ = days_come_first(texts.tolist())
    is_day_first = day_first and any(map(is_year_last, texts))  # pandas would turn 2024-01-02 around as well
    parsed = pd.to_datetime(texts, errors="coerce", format="mixed", utc=True, dayfirst=is_day_first)
    wrong = parsed.isna().to_numpy()
    if wrong.any():
        row = values.index[int(np.argmax(wrong))]
        raise TableError(
            f"{shown} has {quoted(values[row])} in column {quoted(name)} at {at_row(row)}, which is no date: write "
            f"dates as 2024-03-31, or give {option('time')} a column of numbers"
        )
    return parsed.astype("int64").to_numpy().astype(np.float64)
