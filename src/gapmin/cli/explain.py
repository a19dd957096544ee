"""``gapmin explain``: what a model made of its sources, and which of their rows it uses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gapmin._utils.text import printable
from gapmin.cli import _options as options
from gapmin.cli._common import errors_in_one_line, refuse, require
from gapmin.cli._printing import (
    domain_table,
    group_table,
    print_evidence,
    print_json,
    print_notes,
    print_tables,
    row_table,
)
from gapmin.cli.tasks import print_task_model

if TYPE_CHECKING:
    from gapmin.study.model import StudyModel
    from gapmin.transfer import Explanation

_EXAMPLE = "gapmin explain model.skops --by cylinders --target target.csv --source usa.csv --source europe.csv"


def explain(
    model: options.ModelFile,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Break the weights down by it; once for each. Needs the files."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The target that the model was made with.")
    ] = None,
    source: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A source that it was made with; once for each.")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many of the most used and most dropped rows to show.")] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Say what a model made of its sources, and why.

    What weighs how much: each file, each class, single rows.

    Of a model of gapmin tasks: which tasks were trained together, and their errors.
    """
    if rows < 0:
        refuse("explain", f"--rows is {rows}: take 0 or more")
    if (target is None) != (not source):
        refuse("explain", "--target and --source go together: give all files that the model was made with, or none")
    if by and target is None:
        refuse("explain", "--by needs the files that the model was made with: add --target and --source")
    require("pandas", "skops", "rich")
    with errors_in_one_line("explain", outcome="nothing changed"):
        from gapmin.study.explaining import explain_files
        from gapmin.study.model import KEPT_ROWS
        from gapmin.study.task_model import TaskModel, load_predictor

        fitted = load_predictor(model)
        if isinstance(fitted, TaskModel):
            if target is not None:
                refuse("explain", f"{printable(str(model))} was made by gapmin tasks: leave --target and --source out")
            if as_json:
                print_json({"model": str(model), **fitted.about})
            else:
                print_task_model(fitted)
            return
        if target is not None:
            found = explain_files(fitted, target, source or [], by=by or [], n_rows=rows)
        else:
            found = fitted.explanation
            if max(len(found.used), len(found.dropped)) == KEPT_ROWS < rows:
                note = f"a model keeps {KEPT_ROWS} rows of each kind: give --target and --source to see more"
                print_notes([note], err=True)
        found = replace(found, used=found.used[:rows], dropped=found.dropped[:rows])
        if as_json:
            about = {key: value for key, value in fitted.about().items() if key != "explanation"}
            print_json({"model": str(model), "label": fitted.schema.label, **about, **found.to_dict()})
        else:
            _print_explanation(fitted, found, rows)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=f"Example: {_EXAMPLE}")(explain)


def _print_explanation(model: StudyModel, found: Explanation, n_rows: int) -> None:
    print_evidence(model)
    label = printable(model.schema.label)
    tables = [domain_table(model, found.sources), group_table(f"Rows of the sources by {label}", found.classes)]
    tables += [group_table(f"Rows of the sources by {printable(name)}", each) for name, each in found.columns.items()]
    if found.used:
        tables.append(row_table("Rows of the sources that are used most", found.used, label))
        tables.append(row_table("Rows of the sources that are dropped most", found.dropped, label))
    print_tables(tables)
    typer.echo("\nA row counts 1 where all count alike, and 0 where it is dropped.")
    if found.used:
        typer.echo("Rows are counted from 1 below the header of their file.")
    elif n_rows:
        typer.echo("All rows of a source count the same: none stands out.")
