"""Read the first sheet of an Excel workbook (.xlsx): its values alone, no formulas, macros or links."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapmin._utils.extras import how_to_install
from gapmin._utils.text import one_line, quoted

from ._limits import BYTES_AT_ONCE, check_width, check_workbook_size
from ._messages import TableError, import_pandas

if TYPE_CHECKING:
    import pandas as pd

_ERRORS = frozenset({"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#GETTING_DATA"})
_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")
_FEWEST_CELLS = 2**22
"""A workbook may have so many cells whatever its size: a cell far to the right makes empty ones before it."""


def read_excel(path: Path, notes: list[str]) -> pd.DataFrame:
    """Return the first sheet; its first row that is not empty has the names of the columns."""
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(f"{path} is read with openpyxl, which is not installed: {how_to_install('excel')}") from error
    try:
        most_cells = max(_FEWEST_CELLS, _check_archive(path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and the like that openpyxl does not know
            book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
            try:
                sheet = book.worksheets[0]
                if len(book.worksheets) > 1:
                    notes.append(f"{path} has {len(book.worksheets)} sheets: read {quoted(sheet.title)}, the first")
                sheet.reset_dimensions()  # which some programs write wrongly: cells beyond them would be lost
                rows = list(_rows(path, sheet, most_cells))
            finally:
                book.close()
    except (TableError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook can fail in any way
        if getattr(error, "errno", None):
            raise
        raise TableError(
            f"{path} is no whole Excel workbook ({one_line(error)}): save it again as .xlsx, or as CSV"
        ) from error
    if not rows:
        raise TableError(f"{path} is empty: give a file with a header line and rows below it")
    return _to_frame(path, rows)


def _check_archive(path: Path) -> int:
    """Refuse an archive that inflates too far, and XML that declares entities; return the bytes that it inflates to."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        inflated = sum(member.file_size for member in members)  # no more than that is read of a member
        check_workbook_size(path, path.stat().st_size, inflated)
        for member in members:
            if member.filename.lower().endswith((".xml", ".rels")):
                with archive.open(member) as stream:
                    _check_xml(path, stream)
    return inflated


def _check_xml(path: Path, stream: Any) -> None:
    before = b""
    while piece := stream.read(BYTES_AT_ONCE):
        window = before + piece
        if any(each in window for each in _DECLARATIONS) or b"\0" in piece:
            raise TableError(f"{path} has XML that Excel does not write: open it in Excel and save it again")
        before = piece[-16:]


def _rows(path: Path, sheet: Any, most_cells: int) -> Iterator[list[Any]]:
    """Yield the rows that are not empty, without the empty cells at their end."""
    n_cells = 0
    for row in sheet.iter_rows(values_only=True):
        n_cells += 1 + len(row)
        if n_cells > most_cells:
            raise TableError(
                f"{path} has more than {most_cells:,} cells, most of them empty: delete empty columns and rows"
            )
        values = [_value(each) for each in row]
        while values and values[-1] is None:
            values.pop()
        if values:
            yield values


def _value(cell: Any) -> Any:
    if isinstance(cell, str):
        cell = cell.strip()
        return None if not cell or cell in _ERRORS else cell
    return cell


def _to_frame(path: Path, rows: list[list[Any]]) -> pd.DataFrame:
    pandas = import_pandas()
    header, *body = rows
    width = max(map(len, rows))
    check_width(path, width)
    names = ["" if place >= len(header) or header[place] is None else str(header[place]) for place in range(width)]
    columns = {
        place: pandas.Series([row[place] if place < len(row) else None for row in body]) for place in range(width)
    }
    frame = pandas.DataFrame(columns)
    frame.columns = names
    return frame
