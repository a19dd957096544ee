"""``gapmin demo``: the main job on embedded data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gapmin.cli import _options as options
from gapmin.cli._common import FAILED, INTERRUPTED, check_writable, ending_if_unwritable, refuse_below_one, require
from gapmin.cli._printing import print_comparison
from gapmin.cli.reproduce import print_failures

_NEEDS = ("typer", "rich", "pandas", "matplotlib", "jinja2", "mlxtend")


def demo(
    splits: Annotated[
        int | None, typer.Option(help="Random splits of each problem. [default: 5, with --quick 2]")
    ] = None,
    jobs: options.Jobs = None,
    out: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("gapmin-report.html"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer problems: seconds instead of minutes.")] = False,
) -> None:
    """Show the main job, then the methods of the paper.

    All data is installed: nothing is downloaded.
    """
    refuse_below_one("demo", splits=splits, jobs=jobs)
    check_writable("demo", out)
    require(*_NEEDS, extra="demo")
    try:
        _demo(splits, jobs or -1, out, quick)
    except KeyboardInterrupt:
        typer.echo("gapmin: interrupted, no report written", err=True)
        raise typer.Exit(INTERRUPTED) from None


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: gapmin demo --quick --out report.html")(demo)


def _demo(n_splits: int | None, n_jobs: int, out: Path, quick: bool) -> None:
    from rich.console import Console

    from gapmin._utils.options import on_command_line
    from gapmin._utils.progress import stages_on
    from gapmin.reporting import to_rich, write_html
    from gapmin.reproduce.demo import run_demo
    from gapmin.reproduce.runner import on_this_machine

    with on_command_line(), stages_on(Console(stderr=True), "gapmin demo") as on_progress:
        found = run_demo(on_this_machine(n_jobs), splits=n_splits, quick=quick, n_jobs=n_jobs, on_progress=on_progress)
    console = Console(highlight=False)
    console.print(found.report.lead, markup=False)
    print_comparison(found.comparison)
    for section in found.experiments:
        console.print()
        console.print(to_rich(replace(section, text=())))
    if found.left_out:
        console.print(f"\n{found.left_out}", markup=False, soft_wrap=True)
    console.print(f"\n{found.report.headline}", style="bold", markup=False)
    with ending_if_unwritable("demo", out):
        write_html(found.report, out)
    console.print(f"{found.seconds:.0f} s; figures and protocol: {out}", markup=False, soft_wrap=True)
    print_failures(found.failed)
    if found.failed:
        raise typer.Exit(FAILED)
