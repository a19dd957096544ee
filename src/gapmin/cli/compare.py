"""``gapmin compare``: will these other files help to predict that column?"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gapmin.cli import _options as options
from gapmin.cli._common import (
    check_not_input,
    check_seed,
    check_writable,
    ending_if_unwritable,
    errors_in_one_line,
    refuse,
    refuse_below_one,
    require,
)
from gapmin.cli._printing import print_comparison, print_json, print_study

if TYPE_CHECKING:
    from gapmin.study import Study, StudyComparison, StudyFiles


def compare(
    target: options.TargetFile,
    source: options.SourceFiles,
    label: options.LabelColumn,
    task: options.TaskName = None,
    drop: options.DroppedColumns = None,
    keep: options.KeptColumns = None,
    na: options.MissingValues = None,
    no_text: options.WithoutText = False,
    metric: options.MetricName = None,
    group: options.GroupColumn = None,
    time: options.TimeColumn = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The same verdicts without nested cross-validation and learning curve.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="As --quick, where there is no time for more.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write the report, an HTML page.")] = None,
    as_json: options.AsJson = False,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    max_source_rows: Annotated[
        int | None,
        typer.Option(help="Rows of each source to read. [default: all]"),
    ] = None,
) -> None:
    """Say which other files help to predict a column, and which hurt.

    The column is one of the target. How much the error changes, and how sure all of this is, stands beside it.
    """
    refuse_below_one("compare", jobs=jobs, **{"max-source-rows": max_source_rows})
    check_seed("compare", seed)
    if time_limit is not None and not time_limit > 0:
        refuse("compare", f"--time-limit is {time_limit:g}: give seconds above 0")
    if report is not None:
        check_not_input("compare", report, [target, *source], "--report")
        check_writable("compare", report, "--report")
        require("jinja2", extra="report")
    require("pandas")
    with errors_in_one_line("compare", outcome="no report written" if report else "nothing written"):
        from gapmin.study import StudyFiles

        left_out = (*(drop or ()), *([group] if group else []))
        files = StudyFiles(target, source, label, task, left_out, max_source_rows, na or (), keep or (), not no_text)
        asked = {"scoring": metric, "quick": quick, "time_limit": time_limit}
        _compare(files, report, as_json, asked | {"n_jobs": jobs or -1, "random_state": seed}, group, time)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: gapmin compare --target new-shop.csv --source old-shop.csv --source web.parquet "
        "--label price --report report.html"
    )(compare)


def _compare(
    files: StudyFiles, report: Path | None, as_json: bool, asked: dict[str, Any], group: str | None, time: str | None
) -> None:
    from rich.console import Console

    from gapmin._utils.progress import stages_on
    from gapmin.study import check_study, compare_study, read_division
    from gapmin.study.metrics import read_metric
    from gapmin.study.splits import check_division

    paths = [files.target, *files.sources]
    with stages_on(Console(stderr=True), "gapmin compare") as on_progress:
        on_progress(0.0, "reading files")
        check_division(files.tables()[0], files.label, group, time)
        study = files.read(asked["random_state"])
        check_study(study)
        read_metric(asked["scoring"], study.schema.task)
        division = read_division(study, files.inputs(), group, time)
    if not as_json:
        print_study(study, paths, study.notes)
    with stages_on(Console(stderr=True), "gapmin compare") as on_progress:
        comparison = compare_study(study, division=division, on_progress=on_progress, **asked)
    if report is not None:
        made_so = asked | {"group": group, "time": time}
        _write_report(comparison, study, files, made_so, report)
    if as_json:
        print_json(comparison.to_dict() | {"report": None if report is None else str(report)})
    else:
        print_comparison(comparison, report)


def _write_report(
    comparison: StudyComparison, study: Study, files: StudyFiles, asked: dict[str, Any], out: Path
) -> None:
    from gapmin.reporting.html import write_html
    from gapmin.study.model import study_files
    from gapmin.study.page import study_report

    made_with = study_files(study, files.tables())
    options = {name: asked[name] for name in ("scoring", "group", "time", "quick", "time_limit")}
    # The group is left out as a predictor by itself.
    plain = replace(files, drop=[name for name in files.drop if name != asked["group"]])
    with ending_if_unwritable("compare", out):
        write_html(study_report(comparison, plain, made_with, _command(plain, asked, out), options), out)


def _command(files: StudyFiles, asked: dict[str, Any], report: Path) -> str:
    """Return the command that was typed, less what changes no number."""
    words = ["gapmin", "compare", "--target", files.target]
    words += [word for source in files.sources for word in ("--source", source)]
    words += ["--label", files.label]
    words += [word for name in files.drop for word in ("--drop", name)]
    words += [word for token in files.na for word in ("--na", token)]
    words += [word for name in files.keep for word in ("--keep", name)]
    words += [] if files.text else ["--no-text"]
    given = {"task": files.task, "metric": asked["scoring"], "group": asked["group"], "time": asked["time"]}
    given |= {
        "time-limit": asked["time_limit"],
        "max-source-rows": files.max_source_rows,
        "seed": asked["random_state"],
    }
    words += [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]
    words += ["--quick"] if asked["quick"] else []
    return shlex.join(map(str, [*words, "--report", report]))
