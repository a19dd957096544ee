"""A section as files: its words and tables as Markdown, its numbers as CSV, its figures as SVG and PNG."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

from gapmin._utils.io import write_atomically
from gapmin.plotting import draw_png, draw_svg

from .html import Section
from .table import Entry, RowGroup, Table

CSV_COLUMNS = ("table", "group", "row", "column", "value", "detail", "printed", "best", "summary")
IN_PARENTHESES = "In parentheses: the value that the paper printed."


def to_markdown(shown: Section | Table, figures: Sequence[str] = ()) -> str:
    r"""Return a section or a table as GitHub's Markdown.

    Parameters
    ----------
    shown : Section or Table
        A section or a table.
    figures : sequence of str
        File names of the section's figures, relative to where the text will be; none leaves their captions alone.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> row = [Entry("a | b"), Entry("6.86", "±0.20", best=True, printed="7.68 ±0.25")]
    >>> print(to_markdown(Table("Errors", ["", "gapBoost"], [row])))
    **Errors**
    <BLANKLINE>
    |  | gapBoost |
    |:---|---:|
    | a \| b | **6.86** ±0.20 (7.68 ±0.25) |
    <BLANKLINE>
    In parentheses: the value that the paper printed.
    <BLANKLINE>
    """
    blocks = _section_blocks(shown, figures) if isinstance(shown, Section) else _table_blocks(shown)
    return "\n\n".join(blocks) + "\n"


def _section_blocks(section: Section, figures: Sequence[str]) -> list[str]:
    if figures and len(figures) != len(section.figures):
        raise ValueError(f"there are {len(figures)} file names for {len(section.figures)} figures: give each its own")
    blocks = [f"## {_escaped(section.heading)}", *map(_escaped, section.text)]
    if section.points:
        blocks.append("\n".join(f"- {_escaped(point)}" for point in section.points))
    for table in section.tables:
        blocks += _table_blocks(table)
    for k, figure in enumerate(section.figures):
        title = _escaped(figure.title)
        blocks += [f"![{title}](<{figures[k]}>)"] if figures else []
        blocks.append(f"**{title}.** {_escaped(figure.caption)}".rstrip())
    return [*blocks, *map(_escaped, section.notes)]


def _table_blocks(table: Table) -> list[str]:
    lines = [
        _line(map(_escaped, table.header)),
        "|" + "|".join(["---:" if table.numeric and k else ":---" for k in range(len(table.header))]) + "|",
    ]
    for part in table.parts:
        if part.heading:
            lines.append(_line([f"**{_escaped(part.heading)}**", *[""] * (len(table.header) - 1)]))
        lines += [_line(map(_entry, row)) for row in part.rows]
        lines += [_summary_line(row) for row in part.summary]
    lines += [_summary_line(row) for row in table.summary]
    notes = [*([IN_PARENTHESES] if table.has_printed else []), *map(_escaped, table.notes)]
    return [f"**{_escaped(table.caption)}**", "\n".join(lines), *notes]


def _line(cells: Sequence[str] | map[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _summary_line(row: Sequence[Entry]) -> str:
    return _line([f"*{_escaped(row[0].text)}*", *map(_entry, row[1:])])


def _entry(entry: Entry) -> str:
    text = _escaped(entry.text)
    text = f"**{text}**" if entry.best and text else text
    text += (" " if entry.detail.startswith("±") else "") + _escaped(entry.detail)
    return text + (f" ({_escaped(entry.printed)})" if entry.printed else "")


def _escaped(text: str) -> str:
    """Write plain text so that Markdown reads it as plain text, on one line."""
    text = re.sub(r"[\\`*<|]|(?<!\w)_|_(?!\w)|\](?=[(\[])", r"\\\g<0>", text)
    return re.sub(r"\s*\n\s*", " ", text)


def to_csv(tables: Table | Sequence[Table]) -> str:
    r"""Return tables as CSV, one line an entry.

    The columns are the table's caption, the group's heading, the names of row and column, value, detail and printed
    value. The last two say whether the entry is the best, and whether its row is a summary of others.

    Parameters
    ----------
    tables : Table
        Tables.

    Returns
    -------
    str
        A header and a line for each entry.

    Examples
    --------
    >>> print(to_csv(Table("Errors", ["", "gapBoost"], [[Entry("a"), Entry("6.86", "±0.20", True, "7.68")]])))
    table,group,row,column,value,detail,printed,best,summary
    Errors,,a,gapBoost,6.86,±0.20,7.68,true,false
    <BLANKLINE>
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in [tables] if isinstance(tables, Table) else tables:
        for part in (*table.parts, RowGroup("", (), table.summary)):
            for rows, is_summary in ((part.rows, "false"), (part.summary, "true")):
                for name, *entries in rows:
                    for column, entry in zip(table.header[1:], entries, strict=True):
                        writer.writerow(
                            [
                                table.caption,
                                part.heading,
                                name.text,
                                column,
                                entry.text,
                                entry.detail,
                                entry.printed,
                                str(entry.best).lower(),
                                is_summary,
                            ]
                        )
    return buffer.getvalue()


def write_section(section: Section, folder: str | os.PathLike[str], name: str) -> list[Path]:
    """Write a section as files, each whole or not at all, and the same to the byte each time.

    These are ``name.md``, ``name.csv`` with all its tables if it has any, and ``name.svg`` and ``name.png`` of its
    figure, or ``name-1.svg``, ``name-2.svg`` and so on of several.

    Parameters
    ----------
    section : Section
        What to write.
    folder : path
        Made if it is not there.
    name : str
        What the files' names start with.

    Returns
    -------
    list of Path
        The files, the Markdown first.
    """
    if not name or name != os.path.basename(name) or name.startswith("."):
        raise ValueError(f"name is {name!r}: give what a file's name may start with, as in 'table2'")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    several = len(section.figures) > 1
    stems = [f"{name}-{k}" if several else name for k in range(1, len(section.figures) + 1)]
    written = []
    for stem, figure in zip(stems, section.figures, strict=True):
        written.append(
            write_atomically('<?xml version="1.0" encoding="utf-8"?>\n' + draw_svg(figure), place / f"{stem}.svg")
        )
        written.append(write_atomically(draw_png(figure), place / f"{stem}.png"))
    if section.tables:
        written.insert(0, write_atomically(to_csv(section.tables), place / f"{name}.csv"))
    # Last, so that all it links to is there.
    text = to_markdown(section, [f"{stem}.svg" for stem in stems])
    return [write_atomically(text, place / f"{name}.md"), *written]


__all__ = ["CSV_COLUMNS", "to_csv", "to_markdown", "write_section"]
