"""The command line: ``gapmin demo``, ``gapmin --version``."""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
import importlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from gapmin._version import __version__

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
_DEMO_NEEDS = ("typer", "rich", "matplotlib", "jinja2", "mlxtend")


def main() -> None:
    """Run the command line: 0 when done, 1 when something is missing, 2 for wrong usage, 130 after Ctrl-C."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int | str:
    """Return the exit code, or what to say on standard error when an extra is missing."""
    try:
        require("typer", "rich")
        import typer

        try:
            return int(_app()(arguments, prog_name="gapmin", standalone_mode=False) or 0)
        except typer.Abort:
            return INTERRUPTED
        except Exception as error:
            # What the parser raises knows how to say itself in a line; anything else is a bug and keeps its traceback.
            if not hasattr(error, "format_message"):
                raise
            sys.stderr.write(f"gapmin: {error.format_message().rstrip('.')} (see gapmin --help)\n")
            return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except MissingExtraError as error:
        return f"gapmin: {error}"


class MissingExtraError(ImportError):
    """A package that comes with an extra is not installed."""


def require(*names: str) -> None:
    """Raise an error that says what to install if one of the packages is missing."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise MissingExtraError(f'{", ".join(missing)} missing: run pip install "gapmin[demo]"')


def _app() -> "typer.Typer":
    import typer

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Learn from other people's data without being hurt by it.",
        epilog="Example: gapmin demo --splits 3 --out report.html",
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"gapmin {__version__}")
            raise typer.Exit

    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    @app.command(epilog="Example: gapmin demo --quick --out report.html")
    def demo(
        splits: Annotated[
            int | None, typer.Option(help="Random splits of each problem. [default: 5, with --quick 2]")
        ] = None,
        jobs: Annotated[int | None, typer.Option(help="Processes. [default: one a core]")] = None,
        out: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("gapmin-report.html"),
        quick: Annotated[bool, typer.Option("--quick", help="Fewer problems: seconds instead of minutes.")] = False,
    ) -> None:
        """Compare gapBoost and gapMTNN with baselines and measure the gap of each source, on data that is installed."""
        if splits is not None and splits < 1:
            _refuse(f"--splits is {splits}: take at least 1")
        if jobs is not None and jobs < 1:
            _refuse(f"--jobs is {jobs}: take at least 1")
        _check_writable(out)
        require(*_DEMO_NEEDS)
        n_splits = splits or (2 if quick else 5)
        try:
            _demo(n_splits, jobs or -1, out, quick)
        except KeyboardInterrupt:
            typer.echo("gapmin: interrupted, no report written", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return app


def _demo(n_splits: int, n_jobs: int, out: Path, quick: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gapmin._demo_multitask import LEFT_OUT, multitask_plan
    from gapmin._progress import progress_on
    from gapmin.demo import CURVE_SIZES, N_PERMUTATIONS, PROTOCOL, TITLE, curve_problems, demo_problems, run_demo
    from gapmin.report.comparison import (
        comparison_report,
        findings,
        headline,
        source_gap_findings,
        source_gap_tables,
        tables,
    )
    from gapmin.report.html import write_html
    from gapmin.report.multitask import multitask_findings, multitask_tables
    from gapmin.report.terminal import to_rich

    problems = demo_problems(quick)
    pooled = [problem.pooled() for problem in problems]
    plan = multitask_plan(quick)
    with progress_on(Console(stderr=True), "gapmin demo") as on_progress:
        comparison = run_demo(
            pooled,
            curve=curve_problems(pooled),
            curve_sizes=CURVE_SIZES[::3] if quick else CURVE_SIZES,
            gaps=problems,
            n_permutations=19 if quick else N_PERMUTATIONS,
            multitask=plan,
            n_splits=n_splits,
            n_jobs=n_jobs,
            on_progress=on_progress,
        )
    console = Console(highlight=False)
    parts = [
        (tables(comparison), findings(comparison)),
        (source_gap_tables(comparison), source_gap_findings(comparison)),
    ]
    if comparison.multitask is not None:
        parts.append((multitask_tables(comparison.multitask), multitask_findings(comparison.multitask)))
    for found, said in parts:
        console.print()
        for table in found:
            console.print(to_rich(table))
        bullets = Table.grid(padding=(0, 1))
        for finding in said:
            bullets.add_row("-", Text(finding))
        console.print(bullets)
    if plan is None:
        console.print(f"\n{LEFT_OUT}", markup=False, soft_wrap=True)
    console.print(f"\n{headline(comparison)}", style="bold", markup=False)
    protocol = [*PROTOCOL, LEFT_OUT if plan is None else plan.protocol]
    write_html(comparison_report(comparison, TITLE, protocol), out)
    console.print(f"{comparison.seconds:.0f} s; figures and protocol: {out}", markup=False, soft_wrap=True)


def _check_writable(out: Path) -> None:
    """Refuse a place that cannot be written to, before any work is done."""
    if out.is_dir():
        _refuse(f"--out is {out}, a folder: name a file")
    if not out.parent.is_dir():
        _refuse(f"--out is {out}, but there is no folder {out.parent}: make it first")
    try:
        tempfile.TemporaryFile(dir=out.parent).close()
    except OSError as error:
        _refuse(f"--out is {out}, but {out.parent} cannot be written to: {error.strerror}")


def _refuse(message: str) -> NoReturn:
    import typer

    typer.echo(f"gapmin demo: {message}", err=True)
    raise typer.Exit(2)
