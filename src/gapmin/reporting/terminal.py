"""Tables and sections in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .html import Section
from .table import Entry, Table

if TYPE_CHECKING:
    import rich.table
    from rich.console import Console, ConsoleOptions, Group, RenderResult
    from rich.text import Text


def to_rich(shown: Table | Section) -> Group:
    """Turn a table, or a section with its words and tables, into what rich prints.

    The best is in bold; what the paper printed stands dim below. Where the terminal is too narrow for all columns of
    numbers, they are shown in blocks, one below the other.

    Parameters
    ----------
    shown : Table or Section
        Figures of a section are left out.

    Returns
    -------
    rich.console.Group
        What `rich.print` takes.

    Examples
    --------
    >>> from rich.console import Console
    >>> table = Table("Errors", ["", "gapBoost"], [[Entry("a to b"), Entry("6.86", "±0.20", printed="7.68 ±0.25")]])
    >>> Console(width=60).print(to_rich(table))
    Errors
              gapBoost
    ──────────────────
    a to b   6.86±0.20
      paper  7.68±0.25
    """
    from rich.console import Group

    if isinstance(shown, Section):
        return Group(*_section_parts(shown))
    from rich.text import Text

    # Not as rich's title, which would be broken to the width of a narrow table.
    return Group(
        Text(shown.caption, style="bold"), _FittedTable(shown), *(Text(note, style="dim") for note in shown.notes)
    )


def _section_parts(section: Section) -> list[Text | rich.table.Table | Group]:
    import rich.table
    from rich.text import Text

    parts: list[Text | rich.table.Table | Group] = [Text(section.heading, style="bold underline")]
    parts += [Text(paragraph) for paragraph in section.text]
    bullets = rich.table.Table.grid(padding=(0, 1))
    for point in section.points:
        bullets.add_row("-", Text(point))
    for table in section.tables:
        parts += [Text(), to_rich(table)]
    # What was found comes last: a long table would scroll it out of sight.
    parts += [Text(), bullets] if section.points else []
    return [*parts, *(Text(note, style="dim") for note in section.notes)]


_WIDEST_NAME = 30  # characters; longer names of rows are broken into lines


class _FittedTable:
    """A table that knows only when it is printed how wide it may be."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        n_columns, wide = len(self.table.header) - 1, options.update(width=10_000)
        # Words are broken into lines instead.
        most = n_columns if self.table.numeric else 1
        for n_blocks in range(1, max(most, 1) + 1):
            ends = [1 + k * n_columns // n_blocks for k in range(n_blocks + 1)]
            blocks = [_rich_table(self.table, slice(*each)) for each in pairwise(ends)]
            if all(Measurement.get(console, wide, block).minimum <= options.max_width for block in blocks):
                break
        for k, block in enumerate(blocks):
            yield from ([""] if k else [])
            yield block


def _rich_table(table: Table, columns: slice) -> rich.table.Table:
    """Return some columns of a table, always with the names of the rows."""
    import rich.box
    import rich.table
    from rich.text import Text

    shown = rich.table.Table(
        box=rich.box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="",
    )
    header = table.narrow_header or table.header
    for k in (0, *range(columns.start, columns.stop)):
        is_number = table.numeric and k > 0
        # Said to rich, which takes the longest word for the least width, even where nothing may be broken into lines.
        widest = _width(table, header[k], k)
        shown.add_column(
            Text(header[k]),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            vertical="bottom",
            overflow="fold",
            max_width=_WIDEST_NAME if k == 0 and _longest_word(table) > _WIDEST_NAME else None,
            min_width=None if not table.numeric else widest if is_number else min(widest, _WIDEST_NAME),
        )

    def add(rows: Sequence[Sequence[Entry]]) -> None:
        for row in rows:
            entries = row[columns]
            shown.add_row(_text(row[0]), *map(_text, entries))
            if any(entry.printed for entry in entries):
                shown.add_row(Text("  paper", style="dim"), *map(_printed, entries))

    for k, part in enumerate(table.parts):
        if k > 0:
            shown.add_section()
        if part.heading:
            shown.add_row(Text(part.heading, style="bold italic"))
        add(part.rows)
        add(part.summary)
    if table.summary:
        shown.add_section()
    add(table.summary)
    return shown


def _entries(table: Table, column: int) -> list[Entry]:
    rows = [row for part in table.parts for row in (*part.rows, *part.summary)]
    return [row[column] for row in (*rows, *table.summary)]


def _longest_word(table: Table) -> int:
    """Return the width of the longest word among the names of the rows."""
    from rich.cells import cell_len

    return max((cell_len(word) for entry in _entries(table, 0) for word in str(entry).split()), default=0)


def _width(table: Table, name: str, column: int) -> int:
    """Return the width of the longest line of a column."""
    from rich.cells import cell_len

    entries = _entries(table, column)
    lines = [*name.splitlines(), *map(str, entries), *(_printed(entry).plain for entry in entries)]
    return max(map(cell_len, lines), default=0)


def _text(entry: Entry) -> Text:
    """Return rich's text of an entry; names are never read as markup."""
    from rich.text import Text

    return Text.assemble((entry.text, "bold" if entry.best else ""), (entry.detail, "dim"))


def _printed(entry: Entry) -> Text:
    """Return the paper's value written as ours: no space before the standard error."""
    from rich.text import Text

    return Text(entry.printed.replace(" ±", "±"), style="dim")
