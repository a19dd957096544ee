"""A table as data, so that the terminal and the HTML page show the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    text : str
        What it shows.
    detail : str
        Shown smaller beside the text: a standard error, a unit.
    best : bool
        Shown in bold.
    printed : str
        The value that the paper printed for this very entry, shown quietly below or beside ours.

    Examples
    --------
    >>> entry = Entry("6.86", "±0.20", best=True, printed="7.68 ±0.25")
    >>> str(entry)
    '6.86±0.20'
    """

    text: str
    detail: str = ""
    best: bool = False
    printed: str = ""

    def __str__(self) -> str:
        return self.text + self.detail


@dataclass(frozen=True)
class RowGroup:
    """Rows of a table under a heading of their own.

    Attributes
    ----------
    heading : str
        What stands above it.
    rows : sequence of sequence of Entry
        The rows.
    summary : sequence of sequence of Entry
        Rows that sum up those above: the group's average.
    """

    heading: str
    rows: Sequence[Sequence[Entry]]
    summary: Sequence[Sequence[Entry]] = ()


_LONG_TEXT = 40


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows; the others hold numbers, or words where `numeric` is False.

    Attributes
    ----------
    caption : str
        What stands below it.
    header : sequence of str
        One name a column.
    rows : sequence of sequence of Entry
        Empty where all rows are in groups.
    summary : sequence of sequence of Entry
        Rows set apart below all others: averages.
    narrow_header : sequence of str
        The names broken into lines, for a terminal; empty takes `header`.
    numeric : bool
        Whether cells are numbers.
    notes : sequence of str
        Lines below the table: how it was measured, what was tested.
    groups : sequence of RowGroup
        Parts of the table with a heading each, below `rows`.

    Examples
    --------
    >>> text = RowGroup("20 Newsgroups", [[Entry("comp vs sci"), Entry("6.86", printed="7.68")]])
    >>> table = Table("Errors", ["", "gapBoost"], groups=[text], notes=["20 splits."])
    >>> [part.heading for part in table.parts], table.has_printed
    (['20 Newsgroups'], True)
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]] = ()
    summary: Sequence[Sequence[Entry]] = ()
    narrow_header: Sequence[str] = ()
    numeric: bool = True
    notes: Sequence[str] = ()
    groups: Sequence[RowGroup] = ()

    def __post_init__(self) -> None:
        for row in self._all_rows():
            if len(row) != len(self.header):
                raise ValueError(
                    f"a row of {self.caption!r} has {len(row)} entries under {len(self.header)} column names: "
                    "give each column one"
                )

    @property
    def parts(self) -> list[RowGroup]:
        """All rows but the table's summary, in groups: those of `rows` in one without a heading."""
        return [*([RowGroup("", self.rows)] if self.rows else []), *self.groups]

    @property
    def has_printed(self) -> bool:
        """Whether any entry has the paper's value beside it."""
        return any(entry.printed for row in self._all_rows() for entry in row)

    @property
    def has_prose(self) -> bool:
        """Whether the second column holds sentences, which want room."""
        return not self.numeric and any(len(row[1].text) > _LONG_TEXT for row in self._all_rows())

    def _all_rows(self) -> Iterator[Sequence[Entry]]:
        for part in self.parts:
            yield from (*part.rows, *part.summary)
        yield from self.summary


def shown_name(problem: str) -> str:
    """Write a problem's name for readers.

    Parameters
    ----------
    problem : str
        The name of a problem.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> shown_name("digits -> mnist")
    'digits → mnist'
    """
    return problem.replace(" -> ", " → ")
