"""What a study is made of: files and data frames, each with a name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapmin._utils.extras import how_to_install
from gapmin._utils.text import quoted

from ._limits import check_regular
from ._messages import TableError, free_name, import_pandas, name_columns
from .reading import TableFile, distinct_names, name_table_columns, read_table

if TYPE_CHECKING:
    import pandas as pd

FilePath = str | os.PathLike[str]
TableInput = Any
"""A path, a pandas frame or a polars frame."""


@dataclass(frozen=True)
class GivenTable:
    """A file or a frame that is part of a study.

    Attributes
    ----------
    name : str
        What it is called in tables; no two of a study are called alike.
    shown : str
        What it is called in messages: the path of a file.
    given : path or frame
    """

    name: str
    shown: str
    given: TableInput

    @property
    def path(self) -> Path | None:
        """Where the file is; None for a frame."""
        return Path(self.given) if is_path(self.given) else None

    def sha256(self) -> str:
        """Return the SHA-256 of the file, or of the values of the frame."""
        if self.path is not None:
            return file_sha256(self.path)
        hashes = import_pandas().util.hash_pandas_object(self.read().frame.astype(str), index=False)
        return hashlib.sha256(hashes.to_numpy().tobytes()).hexdigest()

    def read(self, as_text: Collection[str] = ()) -> TableFile:
        """Return the table; of a text file, some columns as they are written."""
        if self.path is not None:
            return replace(read_table(self.path, as_text), name=self.name)
        return table_from_frame(self.given, self.shown)


def file_sha256(path: FilePath) -> str:
    """Return the SHA-256 of a regular file, read piece by piece."""
    check_regular(Path(path))
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def given_tables(target: TableInput, sources: Mapping[str, TableInput] | Sequence[TableInput]) -> list[GivenTable]:
    """Return the target and its sources with their names, or raise a `TableError` that says what is wrong with them."""
    if is_path(sources) or _is_frame(sources):
        what = quoted(sources) if is_path(sources) else "a frame"
        raise TableError(f"sources is {what}: give a list of files or frames, or a dictionary of them by name")
    given_names = [str(name).strip() for name in sources] if isinstance(sources, Mapping) else None
    every = [target, *(sources.values() if isinstance(sources, Mapping) else sources)]
    if len(every) == 1:
        raise TableError(f"no source was given beside {_shown(target, 'the target')}: give at least one other file")
    for each in every:
        check_table(each)
    _check_once(every)
    names: list[str] = []
    of_paths = iter(distinct_names([each for each in every if is_path(each)]))
    for place, each in enumerate(every):
        name = next(of_paths) if is_path(each) else "target" if place == 0 else f"source {place}"
        if given_names is not None and place:
            name = given_names[place - 1]
        names.append(free_name(name, names))
    return [GivenTable(name, _shown(each, name), each) for name, each in zip(names, every, strict=True)]


def table_from_frame(frame: Any, name: str) -> TableFile:
    """Return a pandas or polars frame as a table; rows are numbered from 0 and the frame is not changed.

    Examples
    --------
    >>> import pandas as pd
    >>> table_from_frame(pd.DataFrame({"a ": [1, 2]}, index=["x", "y"]), "flats").frame.to_dict("list")
    {'a': [1, 2]}
    """
    pandas = import_pandas()
    notes: list[str] = []
    made = frame if isinstance(frame, pandas.DataFrame) else _from_polars(frame)
    if made.columns.nlevels > 1:
        raise TableError(f"{name} has columns of {made.columns.nlevels} levels: give each column one name")
    if len(made) == 0:
        raise TableError(f"{name} has no rows: give a frame with rows")
    made = made.reset_index(drop=True)
    nested = [column for place, column in enumerate(made.columns) if _is_nested(made.iloc[:, place])]
    if nested:
        notes.append(f"{name} has lists, records, bytes or complex numbers in {name_columns(nested)}: dropped")
        made = made.drop(columns=nested)
    return TableFile(None, name, name_table_columns(name, made, notes), tuple(notes))


def _from_polars(frame: Any) -> pd.DataFrame:
    frame = frame.collect() if hasattr(frame, "collect") else frame
    try:
        made: pd.DataFrame = frame.to_pandas()
    except ImportError as error:
        raise ImportError(
            f"polars frames are read with pyarrow, which is not installed: {how_to_install('cli')}"
        ) from (error)
    return made


def column_names(given: Sequence[str], what: str) -> list[str]:
    """Return the names in a list of them, without spaces around; refuse one name that is no list."""
    if isinstance(given, str):
        raise TableError(f"{what} is {quoted(given)}: give a list, such as [{quoted(given)}]")
    return [name.strip() for name in given]


def check_asked(label: str, drop: Sequence[str], keep: Sequence[str], what: str = "label") -> None:
    """Refuse columns that are to be dropped and needed."""
    if label in drop:
        raise TableError(f"the {what} {quoted(label)} is also to be dropped: take it out of one of the two")
    both = [name for name in keep if name in drop]
    if both:
        raise TableError(f"column {quoted(both[0])} is to be kept and to be dropped: take it out of one of the two")


def check_table(given: Any) -> None:
    """Refuse what is neither a path nor a frame."""
    if not is_path(given) and not _is_frame(given):
        raise TableError(
            f"{type(given).__name__} is no table: give the path of a file, a pandas frame or a polars frame"
        )


def is_path(given: Any) -> bool:
    """Whether a table is given by the path of its file."""
    return isinstance(given, str | os.PathLike)


def _is_frame(given: Any) -> bool:
    """Whether a value is a frame of pandas or polars, without importing either."""
    return type(given).__module__.partition(".")[0] in ("pandas", "polars") and (
        type(given).__name__ in ("DataFrame", "LazyFrame")
    )


def _is_nested(column: pd.Series) -> bool:
    """Whether a column holds lists, records, bytes or complex numbers."""
    if column.dtype != object:
        return bool(column.dtype.kind == "c")
    first = next((value for value in column if not _is_gap(value)), None)
    return isinstance(first, list | tuple | dict | set | bytes | bytearray | np.ndarray)


def _is_gap(value: Any) -> bool:
    return value is None or value is import_pandas().NA or (isinstance(value, float) and value != value)


def _shown(given: TableInput, name: str) -> str:
    return str(Path(given)) if is_path(given) else name


def _check_once(every: Sequence[TableInput]) -> None:
    """Refuse a file or a frame that is there twice."""
    seen: dict[Any, int] = {}
    for place, each in enumerate(every):
        key = os.path.realpath(each) if is_path(each) else id(each)
        if key in seen:
            role = "both the target and a source" if seen[key] == 0 else "a source twice"
            raise TableError(
                f"{_shown(each, 'one frame')} is {role}: its rows would count double; give each table once"
            )
        seen[key] = place
