"""``gapmin compare``: will these other files help to predict that column?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gapmin.cli import _options as options
from gapmin.cli._common import (
    check_not_input,
    check_seed,
    check_writable,
    ending_if_unwritable,
    errors_in_one_line,
    refuse_below_one,
    require,
)
from gapmin.cli._printing import print_json, print_study, print_tables

if TYPE_CHECKING:
    from gapmin.study import StudyComparison, StudyFiles


def compare(
    target: options.TargetFile,
    source: options.SourceFiles,
    label: options.LabelColumn,
    task: options.TaskName = None,
    drop: options.DroppedColumns = None,
    keep: options.KeptColumns = None,
    na: options.MissingValues = None,
    no_text: options.WithoutText = False,
    report: Annotated[Path | None, typer.Option(help="Where to write the report, an HTML page.")] = None,
    as_json: options.AsJson = False,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    max_source_rows: Annotated[
        int | None,
        typer.Option(help="Rows of each source to read. [default: all]"),
    ] = None,
) -> None:
    """Say which of some other files help to predict a column of the target, by how much, and which hurt."""
    refuse_below_one("compare", jobs=jobs, **{"max-source-rows": max_source_rows})
    check_seed("compare", seed)
    if report is not None:
        check_not_input("compare", report, [target, *source], "--report")
        check_writable("compare", report, "--report")
        require("matplotlib", "jinja2", extra="report")
    require("pandas", extra="cli")
    with errors_in_one_line("compare", outcome="no report written" if report else "nothing written"):
        from gapmin.study import StudyFiles

        files = StudyFiles(target, source, label, task, drop or (), max_source_rows, na or (), keep or (), not no_text)
        _compare(files, report, as_json, jobs or -1, seed)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: gapmin compare --target new-shop.csv --source old-shop.csv --source web.parquet "
        "--label price --report report.html"
    )(compare)


def _compare(files: StudyFiles, report: Path | None, as_json: bool, n_jobs: int, seed: int) -> None:
    from rich.console import Console

    from gapmin._utils.progress import progress_on
    from gapmin.reporting.html import write_html
    from gapmin.study import check_study, compare_study
    from gapmin.study.page import study_report

    study = files.read(seed)
    check_study(study)
    if not as_json:
        print_study(study, [files.target, *files.sources], study.notes)
    with progress_on(Console(stderr=True), "gapmin compare") as on_progress:
        comparison = compare_study(study, n_jobs=n_jobs, random_state=seed, on_progress=on_progress)
    if report is not None:
        with ending_if_unwritable("compare", report):
            write_html(study_report(comparison, files), report)
    if as_json:
        print_json(comparison.to_dict() | {"report": None if report is None else str(report)})
    else:
        _print_comparison(comparison, report)


def _print_comparison(comparison: StudyComparison, report: Path | None) -> None:
    from rich.console import Console

    from gapmin.study import OURS, TARGET_ONLY
    from gapmin.study.page_tables import evidence_table, method_table
    from gapmin.study.words import labels_sentence

    print_tables([evidence_table(comparison.evidence), method_table(comparison)])
    console = Console(highlight=False)
    console.print()
    if comparison.entry(OURS).error < comparison.entry(TARGET_ONLY).error:  # else there is nothing to count in labels
        console.print(labels_sentence(comparison.saving, comparison.evidence.used), markup=False)
    where = "" if report is None else f"; figures and protocol: {report}"
    console.print(f"{comparison.seconds:.0f} s{where}", markup=False, soft_wrap=True)
    console.print(f"\n{comparison.headline}", style="bold", markup=False)
