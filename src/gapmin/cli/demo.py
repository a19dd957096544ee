"""``gapmin demo``: the main job on embedded data."""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gapmin.cli._common import INTERRUPTED, check_writable, ending_if_unwritable, refuse_below_one, require

if TYPE_CHECKING:
    import typer

_NEEDS = ("typer", "rich", "matplotlib", "jinja2", "mlxtend")


def add_to(app: "typer.Typer") -> None:
    """Add the command."""
    import typer

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
        refuse_below_one("demo", splits=splits, jobs=jobs)
        check_writable("demo", out)
        require(*_NEEDS)
        n_splits = splits or (2 if quick else 5)
        try:
            _demo(n_splits, jobs or -1, out, quick)
        except KeyboardInterrupt:
            typer.echo("gapmin: interrupted, no report written", err=True)
            raise typer.Exit(INTERRUPTED) from None


def _demo(n_splits: int, n_jobs: int, out: Path, quick: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gapmin._utils.progress import progress_on
    from gapmin.reporting.html import write_html
    from gapmin.reporting.terminal import to_rich
    from gapmin.reproduce.demo import (
        CURVE_SIZES,
        N_PERMUTATIONS,
        PROTOCOL,
        TITLE,
        curve_problems,
        demo_problems,
        run_demo,
    )
    from gapmin.reproduce.demo_multitask import LEFT_OUT, multitask_plan
    from gapmin.reproduce.demo_multitask_page import multitask_findings, multitask_tables
    from gapmin.reproduce.demo_page import (
        comparison_report,
        findings,
        headline,
        source_gap_findings,
        source_gap_tables,
        tables,
    )

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
    with ending_if_unwritable("demo", out):
        write_html(comparison_report(comparison, TITLE, protocol), out)
    console.print(f"{comparison.seconds:.0f} s; figures and protocol: {out}", markup=False, soft_wrap=True)
