"""``gapmin fit``: a model from somebody's target file and the sources that help it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gapmin._utils.text import format_bytes, printable
from gapmin.cli import _options as options
from gapmin.cli._common import (
    check_not_input,
    check_seed,
    check_writable,
    errors_in_one_line,
    refuse_below_one,
    require,
)
from gapmin.cli._printing import domain_table, print_evidence, print_json, print_study, print_tables

if TYPE_CHECKING:
    from gapmin.study.model import StudyModel

_EXAMPLE = "gapmin fit --target target.csv --source usa.csv --source europe.csv --label mpg -o model.skops"


def fit(
    target: options.TargetFile,
    source: options.SourceFiles,
    label: options.LabelColumn,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the model, such as model.skops.")
    ],
    task: options.TaskName = None,
    drop: options.DroppedColumns = None,
    keep: options.KeptColumns = None,
    na: options.MissingValues = None,
    no_text: options.WithoutText = False,
    metric: options.MetricName = None,
    group: options.GroupColumn = None,
    time: options.TimeColumn = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the model that is there.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Fit a model to the target, with the sources that help.

    It is the model that gapmin compare judged: give the same files and options.
    """
    _check(out, [target, *source], force, jobs, seed)
    require("pandas", "skops", "rich")
    with errors_in_one_line("fit", outcome="no model written"):
        from gapmin.study import StudyFiles
        from gapmin.study.model import fit_study

        left_out = (*(drop or ()), *([group] if group else []))
        model = fit_study(
            StudyFiles(target, source, label, task, left_out, na=na or (), keep=keep or (), text=not no_text),
            n_jobs=jobs or -1,
            random_state=seed,
            scoring=metric,
            group=group,
            time=time,
            verbose=int(sys.stderr is not None and sys.stderr.isatty()),
            on_read=lambda study, notes: None if as_json else print_study(study, [target, *source], notes),
        )
        model.save(out)
        if as_json:
            print_json(_as_dict(model, out))
        else:
            _print_model(model, out)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=f"Example: {_EXAMPLE}")(fit)


def _check(out: Path, inputs: Sequence[Path], force: bool, jobs: int | None, seed: int) -> None:
    refuse_below_one("fit", jobs=jobs)
    check_seed("fit", seed)
    check_not_input("fit", out, inputs)
    check_writable("fit", out, force=force)


def _print_model(model: StudyModel, out: Path) -> None:
    typer.echo()
    print_evidence(model)
    print_tables([domain_table(model, model.explanation.sources)])
    typer.echo(f"\n{printable(str(out))}  {format_bytes(out.stat().st_size)}")
    typer.echo(f"\nNext:\n  gapmin predict {printable(str(out))} new.csv -o predictions.csv")


def _as_dict(model: StudyModel, out: Path) -> dict[str, Any]:
    schema = model.schema
    return {
        "model": str(out),
        "n_bytes": out.stat().st_size,
        "label": schema.label,
        "task": schema.task,
        "classes": None if schema.classes is None else list(schema.classes),
        "columns": [{"name": column.name, "kind": column.kind} for column in schema.columns],
        **model.about(),
    }
