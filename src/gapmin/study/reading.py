"""Read somebody's table: CSV, TSV, Parquet or Excel, as it comes."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapmin._utils.text import counted, listed, quoted

from ._limits import check_regular
from ._messages import TableError, free_name, import_pandas, name_columns
from ._missing import MISSING_MARKS
from ._text import TextFormat, inspect_text
from ._values import as_numbers, is_missing, kind_of_dtype

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableError", "TableFile", "read_table", "read_tables"]

TEXT_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""By ending, as gapmin writes it; of a file that is read the separator is found out."""
PARQUET_ENDINGS = (".parquet", ".pq")
EXCEL_ENDINGS = (".xlsx",)
TABLE_ENDINGS = (*TEXT_SEPARATORS, *(f"{each}.gz" for each in TEXT_SEPARATORS), *PARQUET_ENDINGS)
_CELLS_AT_ONCE = 1_000_000
_MOST_CELLS_LOOKED_AT = 2_000_000
"""For what stands in cells that were read as missing."""


@dataclass(frozen=True)
class TableFile:
    """A file, or a frame, and what was in it.

    Attributes
    ----------
    path : Path or None
        None for a frame.
    name : str
        Of the file, without its folder and ending.
    frame : pandas.DataFrame
        Rows numbered from 0 in the order of the file.
    notes : tuple of str
        What was done to read it that its owner may not expect.
    """

    path: Path | None
    name: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


def read_table(path: str | os.PathLike[str], as_text: Collection[str] = ()) -> TableFile:
    r"""Read a table from a CSV, TSV, Parquet or Excel file; the file is not changed.

    The separator of a text file (comma, semicolon, tab, pipe), its encoding (UTF-8, else Windows-1252 or Latin-1) and
    its decimal mark are found out. Of a workbook the first sheet is read. A column without a name is dropped if it only
    numbers the rows.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .txt, any of these and .gz, .parquet, .pq or .xlsx.
    as_text : collection of str
        Columns of a text file whose values are kept as they are written, 01 as 01; those that it has not do not matter.

    Returns
    -------
    TableFile
        The frame and where it is from.

    Raises
    ------
    TableError
        In one line, what is wrong with the file and what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "flats.csv"
    ...     _ = path.write_text("rooms;price\n3;1,5\n4;2,25\n")
    ...     table = read_table(path)
    >>> table.name, table.frame["price"].tolist()
    ('flats', [1.5, 2.25])
    """
    place, notes = Path(path), list[str]()
    stem, ending, compressed = split_ending(place)
    import_pandas()
    try:
        check_regular(place)
        if ending not in (*TEXT_SEPARATORS, *PARQUET_ENDINGS, *EXCEL_ENDINGS):
            known = ", ".join((*TABLE_ENDINGS, *EXCEL_ENDINGS))
            raise TableError(f"{place} has the ending {quoted(ending)}, which is not known: save it as one of {known}")
        with open(place, "rb"):
            pass
        if ending in PARQUET_ENDINGS:
            from ._parquet import read_parquet

            frame = read_parquet(place, notes)
        elif ending in EXCEL_ENDINGS:
            from ._excel import read_excel

            frame = read_excel(place, notes)
        else:
            frame = _read_text(place, compressed, as_text, notes)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TableError(f"{place} is not there: check the name and the folder") from error
    except PermissionError as error:
        raise TableError(f"{place} may not be read (permission denied): ask its owner, or chmod u+r it") from error
    except OSError as error:
        raise TableError(f"{place} cannot be read ({error.strerror or error}): copy it to another place") from error
    except MemoryError as error:
        raise TableError(f"{place} does not fit into memory: give fewer rows or columns") from error
    if len(frame) == 0:
        raise TableError(f"{place} has a header but no rows: give a file with rows below the header")
    frame = name_table_columns(place, frame, notes)
    return TableFile(place, stem, frame, tuple(notes))


def read_tables(paths: Sequence[str | os.PathLike[str]]) -> list[TableFile]:
    """Read several tables; of files with the same name, each is told apart by its folder or by a number.

    Parameters
    ----------
    paths : sequence of path
        The files.

    Returns
    -------
    list of TableFile
        In the order given.
    """
    names = distinct_names(paths)
    return [replace(read_table(path), name=name) for path, name in zip(paths, names, strict=True)]


def distinct_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return a name for each path, none twice.

    Examples
    --------
    >>> distinct_names(["old/cars.csv", "new/cars.parquet", "bikes.csv.gz", "old/cars.tsv"])
    ['old/cars', 'new/cars', 'bikes', 'old/cars (2)']
    """
    stems = [split_ending(Path(path))[0] for path in paths]
    twice = {stem for stem, n in Counter(stems).items() if n > 1}
    names: list[str] = []
    for path, stem in zip(paths, stems, strict=True):
        folder = Path(path).absolute().parent.name
        names.append(free_name(f"{folder}/{stem}" if stem in twice else stem, names))
    return names


def split_ending(path: Path) -> tuple[str, str, bool]:
    """Return the stem, the ending in small letters, and whether the text is compressed."""
    name, compressed = path.name, path.suffix.lower() == ".gz"
    if compressed:
        name = name[: -len(".gz")]
    inner = Path(name)
    ending = inner.suffix.lower()
    if compressed and ending not in TEXT_SEPARATORS:
        return inner.stem, f"{ending}.gz", False
    return inner.stem, ending, compressed


def _read_text(path: Path, compressed: bool, as_text: Collection[str], notes: list[str]) -> pd.DataFrame:
    form = inspect_text(path, compressed=compressed)
    notes += form.notes
    _check_unique(path, [name for name in form.names if name])
    if form.n_rows == 0:
        raise TableError(f"{path} has a header but no rows: give a file with rows below the header")
    # Names are given as numbers, so that pandas renames none; the header's own come afterwards.
    asked = {place for place, name in enumerate(form.names) if name in as_text}
    try:
        frame = _read_chunks(path, form, compressed, form.other_marks | asked)
    except import_pandas().errors.ParserError as error:
        problem = str(error).strip().rsplit("error: ", 1)[-1]
        if problem == "out of memory":
            raise MemoryError from error
        raise TableError(f"{path} cannot be parsed ({problem}): look for a quote that is never closed there") from error
    notes += _swallowed_notes(path, form, compressed, frame)
    for place in form.other_marks - asked:
        numbers = as_numbers(frame[place])
        if not np.isnan(numbers[~is_missing(frame[place])]).any():
            frame[place] = numbers
    if form.decimal != "." or form.thousands is not None:
        for place in set(range(len(form.names))) - form.other_marks - asked:
            if kind_of_dtype(frame[place].dtype) == "text":
                frame[place] = _with_points(frame[place], form)
    frame.columns = list(form.names)
    return frame


def _swallowed_notes(path: Path, form: TextFormat, compressed: bool, frame: pd.DataFrame) -> list[str]:
    """Say which texts, such as NA, pandas took as missing; of a long file, those of its first rows."""
    gaps = {place: frame[place].isna().to_numpy() for place in frame.columns if frame[place].hasnans}
    if not gaps:
        return []
    columns: dict[str, list[str]] = {}
    n_read = 0
    for chunk in text_chunks(path, form, compressed, gaps, str, na_filter=False):
        for place, gone in gaps.items():
            written = chunk[place].to_numpy()[gone[n_read : n_read + len(chunk)]]
            for text in dict.fromkeys(each.strip() for each in written):
                names = columns.setdefault(text, [])
                names += [form.names[place]] if form.names[place] not in names else []
        n_read += len(chunk)
        if n_read * len(gaps) > _MOST_CELLS_LOOKED_AT:
            break
    columns.pop("", None)
    return [f"{path} has {quoted(text)} in {name_columns(names)}: taken as missing" for text, names in columns.items()]


def _with_points(column: pd.Series, form: TextFormat) -> pd.Series:
    """Return a column in which words stand among numbers with the numbers written as Python writes them."""
    written = {text: form.with_point(text) for text in column.dropna().unique()}
    changed = column.map(written, na_action="ignore")
    present = ~is_missing(changed)
    numbers = as_numbers(changed[present])
    words = np.isnan(numbers) & ~changed[present].str.strip().str.lower().isin(MISSING_MARKS).to_numpy()
    return changed if 2 * np.count_nonzero(words) < present.sum() else column


def text_chunks(
    path: Path, form: TextFormat, compressed: bool, columns: Any, dtype: Any, na_filter: bool = True
) -> Iterator[pd.DataFrame]:
    """Yield some rows of a text file at a time; columns are named by their place, and so is what is asked for."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        with pd.read_csv(
            path,
            sep=form.separator,
            encoding=form.encoding,
            decimal=form.decimal,
            thousands=form.thousands,
            header=0,
            names=list(range(len(form.names))),
            usecols=list(columns),
            index_col=False,
            skiprows=form.lines_before_header,
            skipinitialspace=True,
            dtype=dtype,
            na_filter=na_filter,
            engine="c",
            low_memory=False,
            compression="gzip" if compressed else None,
            chunksize=max(1000, _CELLS_AT_ONCE // form.width),
        ) as parts:
            yield from parts


class _ColumnInPieces:
    """A column that comes in chunks: numbers go to one array of the whole length, anything else is kept in pieces.

    Pieces of numbers that are joined in the end would for a while take twice their memory, and leave it torn.
    """

    def __init__(self, n_rows: int) -> None:
        self._numbers = np.empty(n_rows, dtype=np.bool_)  # the smallest: takes on the kind of what comes
        self._filled = 0
        self._pieces: list[Any] = []

    def add(self, piece: Any) -> None:
        until = self._filled + len(piece)
        if self._pieces or piece.dtype.kind not in "iuf" or until > self._numbers.size:
            self._to_pieces()
            self._pieces.append(piece.copy())  # a view would keep the whole chunk
            return
        kind = np.asarray(piece).dtype
        kind = np.result_type(self._numbers.dtype, kind) if self._filled else kind
        self._numbers = self._numbers.astype(kind, copy=False)
        self._numbers[self._filled : until] = piece
        self._filled = until

    def _to_pieces(self) -> None:
        import pandas as pd

        if self._filled:
            self._pieces.append(pd.Series(self._numbers[: self._filled]).array)
        self._numbers, self._filled = self._numbers[:0], 0

    def whole(self) -> Any:
        """Return the column, or None when some of it is words and some is not."""
        if not self._pieces:
            return self._numbers[: self._filled]
        pieces, self._pieces = self._pieces, []
        return _concatenate(pieces)


def _read_chunks(path: Path, form: TextFormat, compressed: bool, as_text: Collection[int]) -> pd.DataFrame:
    """Read chunks and put them together column by column, so that no second copy is held."""
    import pandas as pd

    columns = {place: _ColumnInPieces(form.n_rows) for place in range(len(form.names))}
    for chunk in text_chunks(path, form, compressed, columns, dict.fromkeys(as_text, str)):
        if len(chunk) == form.n_rows:
            return chunk
        for place, column in columns.items():
            column.add(chunk[place].array)
        del chunk
    joined = {place: column.whole() for place, column in columns.items()}
    torn = [place for place, whole in joined.items() if whole is None]
    if torn:  # numbers in one chunk and words in another: read again, so that text is as it was written
        texts = pd.concat(list(text_chunks(path, form, compressed, torn, str)), ignore_index=True)
        joined.update({place: texts[place].array for place in torn})
    return pd.DataFrame(joined, copy=False)


def _concatenate(pieces: list[Any]) -> Any:
    """Return the pieces of a column as one, or None when some are words and others are not."""
    import pandas as pd

    kinds = {piece.dtype.kind if piece.dtype.kind in "iuf" else str(piece.dtype) for piece in pieces}
    if kinds <= {"i", "u", "f"}:
        return np.concatenate([np.asarray(piece) for piece in pieces])
    full = [piece for piece in pieces if not piece.isna().all()]
    if len({str(piece.dtype) for piece in full}) > 1 or any(piece.dtype == object for piece in full):
        return None
    dtype = full[0].dtype
    if dtype.kind == "b":
        return np.concatenate(pieces) if len(full) == len(pieces) else None
    return pd.concat([pd.Series(piece).astype(dtype) for piece in pieces], ignore_index=True).array


def _check_unique(path: object, names: Sequence[str]) -> None:
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(f"{path} has more than one column called {listed(twice)}: rename or remove all but one")


def name_table_columns(shown: object, frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return a frame without the unnamed columns that are empty or number the rows; others are named by their place.

    The frame given may be changed; `shown` is what it is called in messages.
    """
    names = [str(name).strip() for name in frame.columns]
    numbering, empty, unnamed = [], [], []
    for place, name in enumerate(names):
        if name and not name.startswith(("Unnamed: ", "__index_level_")):
            continue
        values = frame.iloc[:, place]
        if values.isna().all():
            empty.append(place)
        elif values.dtype.kind in "iu" and values.is_unique:
            numbering.append(place)
        else:
            names[place] = f"column {place + 1}"
            unnamed.append(names[place])
    if numbering:
        notes.append(f"{shown} has a column without a name that numbers the rows: dropped")
    if empty:
        notes.append(f"{shown} has {counted(len(empty), 'column')} without a name and without values: dropped")
    if unnamed:
        notes.append(f"{shown} has {counted(len(unnamed), 'column')} without a name: called {name_columns(unnamed)}")
    _check_unique(shown, [name for name in names if name])
    frame.columns = names
    gone = {*numbering, *empty}
    return frame.iloc[:, [place for place in range(len(names)) if place not in gone]] if gone else frame
