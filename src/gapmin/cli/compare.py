"""``gapmin compare``: will these other files help to predict that column?"""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gapmin.cli._common import INTERRUPTED, check_writable, ending_if_unwritable, refuse, refuse_below_one, require
from gapmin.cli._files import refuse_to_lose

if TYPE_CHECKING:
    import typer
    from rich.console import Console

    from gapmin.study import StudyComparison
    from gapmin.study.page import StudyFiles

SOURCE_ROWS = 20_000
"""Of all sources together, where the user says nothing."""


def add_to(app: "typer.Typer") -> None:
    """Add the command."""
    import typer

    @app.command(
        epilog="Example: gapmin compare --target new-shop.csv --source old-shop.csv --source web.parquet "
        "--label price --report report.html"
    )
    def compare(
        target: Annotated[Path, typer.Option(help="The file of rows like those to predict: CSV, TSV or Parquet.")],
        source: Annotated[list[Path], typer.Option(help="Another file with that label; may be given several times.")],
        label: Annotated[str, typer.Option(help="The column to predict, which every file has.")],
        task: Annotated[str | None, typer.Option(help="classification or regression. [default: by the labels]")] = None,
        drop: Annotated[
            list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be given several times.")
        ] = None,
        report: Annotated[Path | None, typer.Option(help="Where to write the report, an HTML page.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
        jobs: Annotated[int | None, typer.Option(help="Processes. [default: one a core]")] = None,
        seed: Annotated[int, typer.Option(help="Of everything that is drawn at random.")] = 0,
        max_source_rows: Annotated[
            int | None,
            typer.Option(help=f"Rows of each source to use. [default: {SOURCE_ROWS:,} shared by all sources]"),
        ] = None,
    ) -> None:
        """Say which of some other files help to predict a column of the target, by how much, and which hurt."""
        refuse_below_one("compare", jobs=jobs, **{"max-source-rows": max_source_rows})
        if not 0 <= seed < 2**32:
            refuse("compare", f"--seed is {seed}: take a number from 0 to {2**32 - 1:,}")
        if report is not None:
            refuse_to_lose("compare", report, [target, *source], "--report")
            check_writable("compare", report, "--report")
            require("matplotlib", "jinja2", extra="report")
        require("pandas", extra="cli")
        from gapmin.study.page import StudyFiles

        files = StudyFiles(
            str(target),
            tuple(map(str, source)),
            label,
            task,
            tuple(drop or ()),
            max_source_rows or max(SOURCE_ROWS // len(source), 1),
        )
        try:
            _compare(files, report, as_json, jobs or -1, seed)
        except KeyboardInterrupt:
            typer.echo("gapmin compare: interrupted" + (", no report written" if report else ""), err=True)
            raise typer.Exit(INTERRUPTED) from None


def _compare(files: "StudyFiles", report: Path | None, as_json: bool, n_jobs: int, seed: int) -> None:
    import typer
    from rich.console import Console

    from gapmin._utils.progress import progress_on
    from gapmin.reporting.html import write_html
    from gapmin.study import TableError, compare_study, read_study
    from gapmin.study.compare import check_study
    from gapmin.study.page import study_report

    try:
        study = read_study(
            files.target,
            files.sources,
            files.label,
            task=files.task,
            drop=files.drop,
            max_source_rows=files.max_source_rows,
            random_state=seed,
        )
    except TableError as error:
        refuse("compare", _one_line(error))
    try:
        check_study(study)
    except ValueError as error:
        refuse("compare", _one_line(error))
    console = Console(highlight=False)
    if not as_json:
        _say_what_was_read(console, study)
    with progress_on(Console(stderr=True), "gapmin compare") as on_progress:
        comparison = compare_study(study, n_jobs=n_jobs, random_state=seed, on_progress=on_progress)
    if report is not None:
        with ending_if_unwritable("compare", report):
            write_html(study_report(comparison, files), report)
    if as_json:
        written = None if report is None else str(report)
        typer.echo(json.dumps(comparison.to_dict() | {"report": written}, indent=2, allow_nan=False))
        return
    _show(console, comparison, report)


def _one_line(error: Exception) -> str:
    from gapmin._utils.text import replace_unprintable

    return replace_unprintable(" ".join(str(error).split()))


def _say_what_was_read(console: "Console", study: Any) -> None:
    from gapmin._utils.text import replace_unprintable

    lines = [f"{replace_unprintable(study.target_name)}, the target: {len(study.target[1]):,} labelled rows"]
    lines += [f"{replace_unprintable(name)}: {len(y):,} rows" for name, (_, y) in study.sources.items()]
    n_columns = len(study.schema.columns)
    lines.append(
        f"{n_columns:,} column{'s' * (n_columns != 1)} to predict {replace_unprintable(study.schema.label)!r} from"
    )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    for note in study.notes:
        console.print(f"- {replace_unprintable(note)}", markup=False, soft_wrap=True, style="dim")


def _show(console: "Console", comparison: "StudyComparison", report: Path | None) -> None:
    from gapmin.reporting.terminal import to_rich
    from gapmin.study import OURS, TARGET_ONLY
    from gapmin.study.page_tables import league_table, ranking_table
    from gapmin.study.words import labels_sentence

    for table in (ranking_table(comparison), league_table(comparison)):
        console.print()
        console.print(to_rich(table))
    console.print()
    if comparison.entry(OURS).error < comparison.entry(TARGET_ONLY).error:  # else there is nothing to count in labels
        console.print(labels_sentence(comparison.saving, comparison.recommended), markup=False)
    where = "" if report is None else f"; figures and protocol: {report}"
    console.print(f"{comparison.seconds:.0f} s{where}", markup=False, soft_wrap=True)
    console.print(f"\n{comparison.headline}", style="bold", markup=False)
