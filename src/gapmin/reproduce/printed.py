"""Every number that the paper prints in its Tables 1-8, as printed, and what to know before comparing with them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

__all__ = ["Note", "Printed", "notes", "printed", "printed_table"]

PrintedKey = tuple[str, str, str]  # block, row, column


@dataclass(frozen=True)
class Printed:
    """One number of the paper.

    Attributes
    ----------
    value : float
        The number; in Table 1, 1 for a tick and 0 for a cross.
    error : float or None
        The standard error printed after the ±; averages have none.
    bold : bool
        Printed in bold, as the best of its row.
    text : str
        The number with the digits that the paper gives it: "8.00", not "8.0".
    """

    value: float
    error: float | None
    bold: bool
    text: str


@dataclass(frozen=True)
class Note:
    """Something odd in print, and the cell it is about.

    Attributes
    ----------
    table, block, row, column : str
        The cell, named as for `printed`; an empty row or column means all of them.
    text : str
        What is odd.
    """

    table: str
    block: str
    row: str
    column: str
    text: str

    @property
    def cell(self) -> PrintedKey:
        """Block, row and column."""
        return self.block, self.row, self.column


def printed(table: str, block: str, row: str, column: str) -> Printed | None:
    """Return the number that the paper prints in a cell, or None if it has no such cell.

    Parameters
    ----------
    table : str
        "table1" to "table8".
    block : str
        The part of the table: "20 Newsgroups" or "Office-Caltech" in Table 2, the size of the training sample ("3K",
        "10%") in Tables 4-7, and "" in Tables 1, 3 and 8.
    row : str
        As printed, in plain text: "comp vs sci", "A -> C", "MNIST_M", "Ar.", "avg.", "w/o cvx opt.".
    column : str
        The method ("gapBoost", "AdaBoost_T&S"); "Rule 1" to "Rule 4" in Table 1; the task or "avg." in Table 8.

    Examples
    --------
    >>> from gapmin.reproduce.printed import printed
    >>> printed("table2", "20 Newsgroups", "comp vs sci", "gapBoost")
    Printed(value=7.68, error=0.25, bold=True, text='7.68')
    >>> printed("table2", "20 Newsgroups", "comp vs sci", "XGBoost") is None
    True
    """
    return _known(table).get((block, row, column))


def printed_table(table: str) -> dict[PrintedKey, Printed]:
    """Return every number of a table, by (block, row, column), in the order of print.

    Examples
    --------
    >>> from gapmin.reproduce.printed import printed_table
    >>> [number.text for (_, row, _), number in printed_table("table3").items() if row == "avg."]
    ['20.82', '19.62', '18.52', '15.42']
    """
    return dict(_known(table))


def notes(table: str | None = None) -> tuple[Note, ...]:
    """Return what is odd in print, in one table or in all: misprints, and claims that the numbers do not bear out.

    Examples
    --------
    >>> from gapmin.reproduce.printed import notes
    >>> for note in notes("table4"):
    ...     print(note.block, note.row, note.column, "|", note.text)
    3K avg. AMTNN | Printed 15.07; the printed rows average 15.057, or 15.06. Rounding cannot explain it.
    8K avg. Multi-Obj | Printed 16.27; the printed rows average 16.257, or 16.26. Rounding cannot explain it.
    """
    if table is not None:
        _known(table)
    # Rounding alone moves a printed average at most 0.01 from the mean of the printed rows: 0.005 from the rows' own
    # rounding and 0.005 from the average's.
    return tuple(Note(**line) for line in _lines("paper-notes.csv") if table in (None, line["table"]))


def _known(table: str) -> MappingProxyType[PrintedKey, Printed]:
    tables = _tables()
    if table not in tables:
        raise ValueError(f"the paper has no {table!r}: give one of {', '.join(tables)}")
    return tables[table]


@cache
def _tables() -> MappingProxyType[str, MappingProxyType[PrintedKey, Printed]]:
    tables: dict[str, dict[PrintedKey, Printed]] = {}
    for line in _lines("paper.csv"):
        tables.setdefault(line["table"], {})[line["block"], line["row"], line["column"]] = Printed(
            value=float(line["value"]),
            error=float(line["error"]) if line["error"] else None,
            bold=line["bold"] == "1",
            text=line["value"],
        )
    return MappingProxyType({name: MappingProxyType(cells) for name, cells in tables.items()})


def _lines(name: str) -> Iterator[dict[str, str]]:
    """Read a file of the package, line by line."""
    return csv.DictReader(files("gapmin.reproduce").joinpath(name).read_text(encoding="utf-8").splitlines())
