"""What commands print: JSON, notes, tables of what models train on; names in them are shown as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from gapmin._utils.text import counted, printable

if TYPE_CHECKING:
    from pathlib import Path

    from gapmin.reporting.table import Table
    from gapmin.study import Study, StudyComparison
    from gapmin.study.model import StudyModel
    from gapmin.transfer import Evidence
    from gapmin.transfer.explanation import RowUse, WeightGroup

_MOST_GROUPS = 12


def print_json(content: Any) -> None:
    """Print one JSON value."""
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


def print_listing(
    columns: Sequence[str], rows: Iterable[Sequence[str]], after: str, *, number: str, unbroken: Sequence[str] = ()
) -> None:
    """Print rows of text under column names, one of which is of numbers; and after them what else to run."""
    import rich.box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=rich.box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    for column in columns:
        table.add_column(column, justify="right" if column == number else "left", no_wrap=column in unbroken)
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"\n{after}", markup=False)


def print_notes(notes: Sequence[str], *, err: bool = False) -> None:
    """Print what was decided on reading files."""
    for note in notes:
        typer.echo(f"note: {printable(note)}", err=err)


def print_study(study: Study, paths: Sequence[object], notes: Sequence[str]) -> None:
    """Print which files were read, what was decided, and what is predicted from what."""
    sizes = [len(y) for _, y in (study.target, *study.sources.values())]
    for k, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        typer.echo(f"{'source' if k else 'target'}  {printable(str(path))}  {counted(size, 'row')}")
    print_notes(notes)
    kinds = [("number", "numbers"), ("boolean", "booleans"), ("category", "categories")]
    kinds += [("date", "dates"), ("text", "texts")]
    by_kind = [counted(n, *kind) for kind in kinds if (n := len(study.schema.of_kind(kind[0])))]
    columns = counted(len(study.schema.columns), "column")
    typer.echo(f"\nPredicting {printable(study.schema.label)} from {columns} ({', '.join(by_kind)}) ...")


def print_comparison(comparison: StudyComparison, report: Path | None = None) -> None:
    """Print the answer last, where it is seen, after the tables that it rests on."""
    from rich.console import Console

    from gapmin.study.metrics import ClassScores
    from gapmin.study.page_tables import area_table, confusion_table, evidence_table, score_table
    from gapmin.study.words import labels_sentence, weighed_undecided

    tables = [evidence_table(comparison.evidence), score_table(comparison)]
    found = comparison.details
    if isinstance(found, ClassScores):
        tables += [confusion_table(found), *([areas] if (areas := area_table(found)) else [])]
    print_tables(tables)
    console = Console(highlight=False, markup=False, emoji=False)
    console.print()
    if comparison.saving is not None and comparison.evidence.used:
        evidence = comparison.evidence
        console.print(labels_sentence(comparison.saving, evidence.used, weighed_undecided(evidence)))
    for each in comparison.simplified:
        console.print(f"simplified: {each}")
    for each in comparison.warnings:
        console.print(f"warning: {each}")
    where = "" if report is None else f"; figures and protocol: {report}"
    console.print(f"{comparison.seconds:.0f} s{where}", soft_wrap=True)
    summary = comparison.summary
    console.print(f"\nDecision: {summary.decision}\nEffect: {summary.effect}", style="bold")
    for each in summary.next_steps:
        console.print(f"Next: {each}")


def print_evidence(model: StudyModel) -> None:
    """Print what the evidence says of the sources, and the errors."""
    from gapmin.study.page_tables import error_table, evidence_table

    typer.echo(printable(model.evidence.decision()))
    print_tables([evidence_table(model.evidence), error_table(model.evidence)])
    print_notes(model.evidence.findings)


def domain_table(model: StudyModel, groups: Sequence[WeightGroup]) -> Table:
    """Return how much of the training each file is."""
    caption = f"What the model trains on: the target and its {counted(len(groups) - 1, 'source')}"
    table = group_table(caption, groups, at_most=len(groups))
    roles = [" (target)" if each.role == "target" else "" for each in model.files]
    rows = [[replace(row[0], detail=role), *row[1:]] for row, role in zip(table.rows, roles, strict=True)]
    return replace(table, rows=rows, notes=[*table.notes, *([_CORRECTED] if _is_corrected(model.evidence) else [])])


_CORRECTED = "models of the sources alone are corrected by the target's rows as well, which is not counted here"


def _is_corrected(evidence: Evidence) -> bool:
    """Whether the model relies on learners that train on the sources alone and are corrected for the target."""
    from gapmin.transfer.constants import RECALIBRATED, SMALLEST_WEIGHT

    used = [each for each in evidence.hypotheses if each.weight >= SMALLEST_WEIGHT]
    return any(setting.endswith(f", {RECALIBRATED}") for each in used for setting in each.chosen.values())


def group_table(caption: str, groups: Sequence[WeightGroup], *, at_most: int = _MOST_GROUPS) -> Table:
    """Return a table of shares of the training; of many groups, those with the most rows."""
    shown = groups if len(groups) <= at_most else sorted(groups, key=lambda each: -each.n_rows)[:at_most]
    rows = [
        [
            printable(each.name),
            f"{each.n_rows:,}",
            f"{100 * each.share_of_rows:.1f}%",
            f"{100 * each.share_of_weight:.1f}%",
            f"{each.ratio:.2f}",
        ]
        for each in shown
    ]
    notes = [f"{len(groups) - len(shown):,} more with fewer rows"] if len(groups) > len(shown) else []
    return _table(caption, ["", "rows", "of rows", "of training", "a row counts"], rows, notes)


def row_table(caption: str, uses: Sequence[RowUse], label: str) -> Table:
    """Return a table of single rows."""

    def shown(value: Any) -> str:  # a number without the digits that no one reads
        return f"{value:.6g}" if isinstance(value, float) else printable(str(value))

    rows = [[printable(each.source), f"{each.row:,}", shown(each.label), f"{each.ratio:.3g}"] for each in uses]
    return _table(caption, ["", "row", printable(label), "it counts"], rows)


def _table(caption: str, header: list[str], rows: list[list[str]], notes: Sequence[str] = ()) -> Table:
    from gapmin.reporting.table import Entry, Table

    return Table(caption, header, [list(map(Entry, row)) for row in rows], notes=notes)
