"""The columns that a model was made with, and whether new rows have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.json_values import to_json
from gapmin._utils.text import counted, listed, quoted

from ._messages import FEW_NOTES, TableError, at_row, did_you_mean, name_columns
from ._missing import MissingTokens, without_tokens
from ._values import (
    LARGEST,
    MOSTLY,
    as_days,
    as_numbers,
    as_texts,
    as_truths,
    is_missing,
    kind_of_dtype,
    number_blocks,
    with_decimal_points,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Schema"]

KINDS = ("number", "boolean", "category", "date", "text")
_EXPECTED = {"number": "a number", "boolean": "true or false", "date": "a date"}
_NOT_READ = {"number": "no number", "boolean": "neither true nor false", "date": "no date"}
PREDICTION_TASKS = ("classification", "regression")
LABEL_KINDS = ("text", "integer", "number", "boolean")
_CELLS_TO_COPY = 10_000_000


@dataclass(frozen=True)
class Column:
    """A column of X.

    Attributes
    ----------
    name : str
        The name in the table.
    kind : "number", "boolean", "category", "date" or "text"
        What the column holds.
    levels : tuple of str
        Of a category, the most common first; empty for the others.
    missing : tuple of str
        Texts and numbers that stand for a missing value in this column, in small letters.
    day_first : bool
        Of dates, whether 02.01.2020 is the second of January.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    day_first: bool = False


@dataclass(frozen=True)
class Schema:
    """What a model knows about its table.

    Attributes
    ----------
    label : str
        The column that is predicted.
    task : "classification" or "regression"
        Whether labels are classes or numbers.
    label_kind : "text", "integer", "number" or "boolean"
        What the labels are.
    classes : tuple or None
        The target's classes, in order; None in a regression.
    columns : tuple of Column
        In the order in which the model takes them.
    missing : tuple of str
        Texts and numbers that stand for a missing value in every column, the label too, in small letters.

    Examples
    --------
    >>> schema = Schema("price", "regression", "number", None, (Column("rooms", "number"),))
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    label: str
    task: str
    label_kind: str
    classes: tuple[Any, ...] | None
    columns: tuple[Column, ...]
    missing: tuple[str, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of the columns of a kind, in order.

        Parameters
        ----------
        kind : str
            The kind.
        """
        return [column.name for column in self.columns if column.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold."""
        return to_json(asdict(self))

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote, or raise a `ValueError` that says what is wrong with it.

        Parameters
        ----------
        given : dict
            What `to_dict` returned.
        """
        parts = _fields(given, "the schema", {"label", "task", "label_kind", "classes", "columns", "missing"})
        _is_text(parts["label"], "the schema's label")
        _is_among(parts["task"], PREDICTION_TASKS, "the schema's task")
        _is_among(parts["label_kind"], LABEL_KINDS, "the schema's label_kind")
        return cls(
            parts["label"],
            parts["task"],
            parts["label_kind"],
            _classes(parts["classes"], parts["task"], parts["label_kind"]),
            _columns(parts["columns"], parts["label"]),
            _texts(parts["missing"], "the schema's missing values"),
        )

    def conform(self, frame: pd.DataFrame, file_name: str = "the table") -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return new rows as the model takes them, and notes; the frame given is not changed.

        Parameters
        ----------
        frame : pandas.DataFrame
            The rows of a new file.
        file_name : str
            For messages.

        Returns
        -------
        frame : pandas.DataFrame
            The schema's columns in its order: numbers and booleans as float64, dates as days since 1970,
            categories and free text as text, NaN where missing.
        notes : tuple of str
            What was changed.

        Raises
        ------
        TableError
            When a column is missing, or one of numbers is not one.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema("price", "regression", "number", None, (Column("rooms", "number"),))
        >>> rows, notes = schema.conform(pd.DataFrame({"rooms": ["3", "4"], "street": ["a", "b"]}), "new.csv")
        >>> rows["rooms"].tolist(), notes
        ([3.0, 4.0], ("new.csv has 1 column that the model does not use: 'street'",))
        """
        frame = frame.rename(columns=lambda name: str(name).strip())
        present, known = set(frame.columns), set(self.names)
        missing = [name for name in self.names if name not in present]
        if missing:
            spare = [name for name in frame.columns if name not in known]
            raise TableError(
                f"{file_name} lacks {name_columns(missing)}, which the model was made with: add or rename"
                f"{did_you_mean(missing[0], spare)}"
            )
        repeated = [name for name in frame.columns[frame.columns.duplicated()].unique() if name in known]
        if repeated:
            raise TableError(f"{file_name} has more than one {name_columns(repeated)}: rename or remove all but one")
        notes = []
        extra = [name for name in frame.columns if name not in known and name != self.label]
        if extra:
            notes.append(
                f"{file_name} has {counted(len(extra), 'column')} that the model does not use: {listed(extra)}"
            )
        rows = MissingTokens(frozenset(self.missing)).take_out(frame[list(self.names)])
        made = conform_values(rows, self.columns, file_name, notes, strict=True)
        return made, tuple(notes)


_READ: dict[str, Callable[[pd.Series, Column], NDArray[np.float64]]] = {
    "number": lambda values, column: as_numbers(values),
    "boolean": lambda values, column: as_truths(values),
    "date": lambda values, column: as_days(values, column.day_first),
}


def conform_values(
    frame: pd.DataFrame, columns: Sequence[Column], file_name: str, notes: list[str], *, strict: bool
) -> pd.DataFrame:
    """Turn each column into its kind; values that are none are noted, with `strict` new levels too."""
    import pandas as pd

    read_as = dict(zip(frame.columns, map(kind_of_dtype, frame.dtypes), strict=True))
    stray: list[str] = []
    new: list[str] = []
    beyond_in: dict[str, Any] = {}
    made: dict[str, Any] = {}
    plain = [each.name for each in columns if each.kind == read_as[each.name] == "number" and not each.missing]
    for names, block in number_blocks(frame, plain):
        made.update(zip(names, np.array(block.T, order="C"), strict=True))
    for column in columns:
        values = None if column.name in made else without_tokens(frame[column.name], column.missing)
        if column.kind in ("category", "text"):
            made[column.name] = pd.Series(as_texts(values), index=frame.index, dtype=object)
            new += _new_levels(column, made[column.name], file_name) if strict and column.kind == "category" else []
            continue
        if values is not None:
            values = with_decimal_points(values)[0] if column.kind == "number" else values
            made[column.name] = _READ[column.kind](values, column)
            stray += _unreadable_values(column, values, np.isnan(made[column.name]), file_name, strict=strict)
        numbers = made[column.name]
        beyond = np.abs(numbers) > LARGEST
        if beyond.any():
            beyond_in[column.name] = numbers[beyond]
            numbers[beyond] = np.nan
    notes += [*stray[:FEW_NOTES], *new[:FEW_NOTES]]
    n_more = len(stray[FEW_NOTES:]) + len(new[FEW_NOTES:])
    if n_more:
        notes.append(f"{file_name}: the same in {counted(n_more, 'more column')}")
    if beyond_in:
        values = np.concatenate(list(beyond_in.values()))
        size = "infinite value" if np.isinf(values).all() else f"value beyond {LARGEST:g}"
        what = counted(values.size, size, size.replace("value", "values"))
        notes.append(f"{file_name} has {what} in {name_columns(list(beyond_in))}: taken as missing")
    whole = pd.DataFrame({column.name: made.pop(column.name) for column in columns}, index=frame.index, copy=False)
    # A frame of thousands of single columns is slow to work with; a big one is not copied.
    return whole.copy() if whole.size < _CELLS_TO_COPY else whole


def _unreadable_values(column: Column, values: pd.Series, lost: Any, file_name: str, *, strict: bool) -> list[str]:
    """Say which values of a column of numbers or booleans are none; with `strict`, raise when they are too many."""
    present = ~is_missing(values)
    lost = lost & present
    if not lost.any():
        return []
    row = int(np.argmax(lost))
    n_lost, n_present = int(lost.sum()), int(present.sum())
    example = f"{quoted(values.iloc[row])} at {at_row(values.index[row])}"
    if strict and n_lost > (1 - MOSTLY) * n_present + 1e-9:
        raise TableError(
            f"{file_name} has {example} in column {quoted(column.name)}, where the model expects "
            f"{_EXPECTED[column.kind]} ({n_lost:,} of {n_present:,} values are none): mend the column"
        )
    what = "1 value is" if n_lost == 1 else f"{n_lost:,} values are"
    return [f"{file_name}, column {quoted(column.name)}: {what} {_NOT_READ[column.kind]} ({example}): taken as missing"]


def _new_levels(column: Column, texts: pd.Series, file_name: str) -> list[str]:
    known = set(column.levels)
    new = [level for level in texts.dropna().unique() if level not in known]
    if not new:
        return []
    values = "a value" if len(new) == 1 else f"{len(new):,} values"
    return [
        f"{file_name}, column {quoted(column.name)}: {values} that the model has not seen ({listed(new, 3)}): "
        "taken as unknown"
    ]


def _classes(given: Any, task: str, label_kind: str) -> tuple[Any, ...] | None:
    if task == "regression":
        if given is not None:
            raise ValueError(f"the schema's classes are {given!r} in a regression: expected null")
        return None
    types: tuple[type, ...] = {"text": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}[
        label_kind
    ]
    fits = isinstance(given, list | tuple) and len(given) >= 2 and len(set(map(repr, given))) == len(given)
    if not fits or not all(isinstance(each, types) and isinstance(each, bool) == (bool in types) for each in given):
        raise ValueError(f"the schema's classes are {given!r}: expected a list of two or more of kind {label_kind}")
    return tuple(given)


def _columns(given: Any, label: str) -> tuple[Column, ...]:
    if not isinstance(given, list | tuple) or not given:
        raise ValueError(f"the schema's columns are {given!r}: expected a list of one or more")
    columns = []
    for place, each in enumerate(given):
        what = f"column {place + 1} of the schema"
        parts = _fields(each, what, {"name", "kind", "levels", "missing", "day_first"})
        _is_text(parts["name"], f"the name of {what}")
        _is_among(parts["kind"], KINDS, f"the kind of {what}")
        levels = _texts(parts["levels"], f"the levels of {what}")
        missing = _texts(parts["missing"], f"the missing values of {what}")
        if not isinstance(parts["day_first"], bool):
            raise ValueError(f"the day_first of {what} is {parts['day_first']!r}: expected true or false")
        columns.append(Column(parts["name"], parts["kind"], levels, missing, parts["day_first"]))
    names = [column.name for column in columns]
    if len(set(names)) < len(names) or label in names:
        raise ValueError("the schema names a column twice, or its label among the columns: expected each name once")
    return tuple(columns)


def _fields(given: Any, what: str, expected: set[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} is {type(given).__name__}: expected an object with {listed(sorted(expected))}")
    if set(given) != expected:
        raise ValueError(f"{what} has the fields {listed(given)}: expected {listed(sorted(expected))}")
    return given


def _texts(given: Any, what: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise ValueError(f"{what} are {given!r}: expected a list of texts")
    return tuple(given)


def _is_text(given: Any, what: str) -> None:
    if not isinstance(given, str) or not given:
        raise ValueError(f"{what} is {given!r}: expected a text")


def _is_among(given: Any, allowed: tuple[str, ...], what: str) -> None:
    if given not in allowed:
        raise ValueError(f"{what} is {given!r}: expected one of {', '.join(allowed)}")
