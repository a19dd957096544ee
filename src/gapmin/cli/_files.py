"""What ``fit``, ``predict`` and ``explain`` share: ends in one line, names printed as they are, tables of weights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapmin._utils.text import printable
from gapmin.cli._common import INTERRUPTED, refuse, require

if TYPE_CHECKING:
    from gapmin.reporting.table import Table
    from gapmin.selection.explanation import RowUse, WeightGroup
    from gapmin.study.model import StudyModel

AS_JSON = "Print JSON for other programs, and nothing else."
MOST_GROUPS = 12
_NEEDS = ("pandas", "skops", "rich")


def require_files() -> None:
    """Ask for what reads tables and model files."""
    require(*_NEEDS, extra="cli")


@contextmanager
def ending_in_a_line(command: str, *, left: str) -> Iterator[None]:
    """Turn what is wrong with somebody's files, and Ctrl-C, into a line on standard error and an exit code."""
    import typer

    from gapmin.saved import ModelFileError
    from gapmin.study import TableError

    try:
        yield
    except (TableError, ModelFileError) as error:
        refuse(command, printable(str(error)))
    except KeyboardInterrupt:
        typer.echo(f"gapmin {command}: interrupted, {left}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def refuse_to_lose(command: str, out: Path, inputs: Sequence[Path], option: str = "--out") -> None:
    """Refuse to write over a file that is read."""
    for path in inputs:
        if os.path.realpath(out) == os.path.realpath(path):  # Path.resolve raises where a link points to itself
            refuse(command, f"{option} is {printable(str(out))}, which is read: name another file")


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    import typer

    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # of a file's name that is no UTF-8
        text = json.dumps(content, indent=2, allow_nan=False)
    typer.echo(text)


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables with an empty line before each; names in them are no markup."""
    from rich.console import Console

    from gapmin.reporting.terminal import to_rich

    console = Console(highlight=False, markup=False, emoji=False)
    for table in tables:
        console.print()
        console.print(to_rich(table))


def print_notes(notes: Sequence[str], *, err: bool = False) -> None:
    """Print what was decided on reading files."""
    import typer

    for note in notes:
        typer.echo(f"note: {printable(note)}", err=err)


def domain_table(model: StudyModel, groups: Sequence[WeightGroup]) -> Table:
    """Return the weight of each file."""
    from dataclasses import replace

    from gapmin._utils.text import counted

    table = group_table(
        f"Weight of the target and its {counted(len(groups) - 1, 'source')}", groups, at_most=len(groups)
    )
    roles = [" (target)" if each.role == "target" else "" for each in model.files]
    rows = [[replace(row[0], detail=role), *row[1:]] for row, role in zip(table.rows, roles, strict=True)]
    return replace(table, rows=rows)


def group_table(caption: str, groups: Sequence[WeightGroup], *, at_most: int = MOST_GROUPS) -> Table:
    """Return a table of weights; of many groups, those with the most rows."""
    from gapmin.reporting.table import Entry, Table

    shown = groups
    if len(groups) > at_most:
        shown = sorted(groups, key=lambda each: -each.n_rows)[:at_most]
    rows = [
        [
            Entry(printable(each.name)),
            Entry(f"{each.n_rows:,}"),
            Entry(f"{100 * each.share_of_rows:.1f}%"),
            Entry(f"{100 * each.share_of_weight:.1f}%"),
            Entry(f"{each.ratio:.2f}"),
        ]
        for each in shown
    ]
    notes = [f"{len(groups) - len(shown):,} more with fewer rows"] if len(groups) > len(shown) else []
    return Table(caption, ["", "rows", "of rows", "of weight", "a row weighs"], rows, notes=notes)


def row_table(caption: str, uses: Sequence[RowUse], label: str) -> Table:
    """Return a table of single rows."""
    from gapmin.reporting.table import Entry, Table

    rows = [
        [
            Entry(printable(each.source)),
            Entry(f"{each.row:,}"),
            Entry(shown_label(each.label)),
            Entry(f"{each.ratio:.3g}"),
        ]
        for each in uses
    ]
    return Table(caption, ["", "row", printable(label), "it weighs"], rows)


def shown_label(label: Any) -> str:
    """Return a class, or a number without the digits that no one reads."""
    return f"{label:.6g}" if isinstance(label, float) else printable(str(label))
