"""``gapmin tasks``: one table with a column of tasks; which to train together, how, and the model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gapmin._utils.text import counted, format_number, printable
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
from gapmin.cli._printing import print_json, print_notes, print_tables

if TYPE_CHECKING:
    from gapmin.reporting.table import Table
    from gapmin.study.task_model import TaskModel
    from gapmin.study.task_study import TaskScores, TaskStudy
    from gapmin.transfer import Score

_EXAMPLE = "gapmin tasks --file patients.csv --task patient --label score -o model.skops"
_MOST_TASKS = 50


def tasks(
    file: Annotated[Path, typer.Option(metavar="FILE", help="Rows of all tasks: CSV, TSV, Parquet or Excel.")],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="The column that says which task a row belongs to.")],
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict: numbers, or two classes.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write the model. [default: none is written]"),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to draw who can teach whom, such as tasks.png.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="classification or regression. [default: as the labels are]"),
    ] = None,
    drop: options.DroppedColumns = None,
    keep: options.KeptColumns = None,
    na: options.MissingValues = None,
    no_text: options.WithoutText = False,
    no_network: Annotated[bool, typer.Option("--no-network", help="Compare linear methods alone.")] = False,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the files that are there.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Say which tasks of a table to train together, and how.

    Each task's error is reported, and the model is saved.
    """
    refuse_below_one("tasks", jobs=jobs)
    check_seed("tasks", seed)
    for place, option in ((out, "--out"), (figure, "--figure")):
        if place is not None:
            check_not_input("tasks", place, [file], option)
            check_writable("tasks", place, option, force=force)
    if out is not None and not no_network:
        check_writable("tasks", Path(f"{out}.network"), force=force)
    if figure is not None and figure.suffix.lower() not in (".png", ".svg", ".pdf"):
        refuse("tasks", f"--figure is {printable(str(figure))}: name a file that ends in .png, .svg or .pdf")
    require("pandas", "skops", "rich")
    if figure is not None:
        require("matplotlib")
    with errors_in_one_line("tasks", outcome="nothing written"):
        from gapmin.study.task_model import TaskModel
        from gapmin.study.task_study import study_tasks
        from gapmin.study.task_table import read_task_table

        table = read_task_table(
            file, task, label, kind=kind, drop=drop or (), na=na or (), keep=keep or (), text=not no_text
        )
        if not as_json:
            typer.echo(f"table  {printable(str(file))}  {counted(len(table.y), 'row')}")
            print_notes(table.notes)
            n_tasks = len(set(table.task))
            typer.echo(f"\nPredicting {printable(label)} for {counted(n_tasks, 'task')} ...")
        found = study_tasks(
            table, network=not no_network, n_jobs=jobs or -1, random_state=seed, on_progress=_progress(as_json)
        )
        if out is not None:
            with ending_if_unwritable("tasks", out):
                TaskModel.of_study(found).save(out)
        if figure is not None:
            with ending_if_unwritable("tasks", figure):
                found.affinity.plot().figure_.savefig(figure, bbox_inches="tight", dpi=150)
        if as_json:
            print_json(found.to_dict() | {"model": None if out is None else str(out)})
        else:
            _print(found, len(table.notes), out)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=f"Example: {_EXAMPLE}")(tasks)


def _progress(as_json: bool) -> Any:
    shown = not as_json and sys.stderr is not None and sys.stderr.isatty()

    def advance(done: int, total: int) -> None:
        if shown:
            end = "\n" if done == total else ""
            typer.echo(f"\r{done} of {total} fits{end}", err=True, nl=False)

    return advance


def _print(found: TaskStudy, n_told: int, out: Path | None) -> None:
    print_notes(found.notes[n_told:])
    typer.echo()
    typer.echo(printable(found.decision()))
    print_tables(
        [_overall_table(found.overall, found.metric), _task_table(found.by_task, found.metric), _group_table(found)]
    )
    if out is not None:
        typer.echo(f"\n{printable(str(out))}  written")
        typer.echo(f"\nNext:\n  gapmin predict {printable(str(out))} new.csv -o predictions.csv")


def print_task_model(model: TaskModel) -> None:
    """Print what the study of a model found.

    Parameters
    ----------
    model : TaskModel
        Of `load_predictor`.
    """
    from gapmin.study.task_study import scores_from_dict

    about = model.about
    try:
        settings = ", ".join(f"{name}={value:g}" for name, value in about["settings"].items())
        lines = [
            f"method  {printable(about['method'])}{f' ({settings})' if settings else ''}",
            printable(about["decision"]),
        ]
        together = "; ".join(", ".join(map(printable, group)) for group in about["groups"] if len(group) > 1)
        overall, by_task = scores_from_dict(about["overall"]), [scores_from_dict(each) for each in about["tasks"]]
        tables = [_overall_table(overall, about["metric"]), _task_table(by_task, about["metric"])]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError("what it says of its study is wrong: make it again with gapmin tasks") from error
    typer.echo("\n".join(lines))
    print_tables(tables)
    typer.echo(f"\nTasks to train together: {together or 'none stands out'}")


def _overall_table(scores: TaskScores, metric: str) -> Table:
    from gapmin.reporting.table import Entry, Table
    from gapmin.study.task_study import SINGLE

    best = min(scores.scores, key=lambda name: scores.scores[name].value)
    rows = [
        [
            Entry(name),
            Entry(_shown(score.value, metric), _interval(score, metric), best=name == best),
            Entry("-" if name == SINGLE else _change(scores, name, metric)),
        ]
        for name, score in scores.scores.items()
    ]
    caption = f"Held-out {metric} over all rows, with 95% intervals"
    return Table(caption, ["method", "held-out error", "change against single task"], rows)


def _task_table(by_task: list[TaskScores], metric: str) -> Table:
    from gapmin.reporting.table import Entry, Table
    from gapmin.study.task_study import CHOSEN_METHOD, POOLED, SINGLE

    shown = sorted(by_task, key=lambda each: each.changes[CHOSEN_METHOD].value)
    if len(shown) > _MOST_TASKS:
        shown = [*shown[: _MOST_TASKS // 2], *shown[-_MOST_TASKS // 2 :]]
    rows = [
        [
            Entry(printable(each.name)),
            Entry(f"{each.n_rows:,}"),
            *(Entry(_shown(each.scores[name].value, metric)) for name in (SINGLE, POOLED, CHOSEN_METHOD)),
            Entry(_change(each, CHOSEN_METHOD, metric)),
        ]
        for each in shown
    ]
    caption = f"Held-out {metric} by task, those that gain most first"
    if len(shown) < len(by_task):
        caption += f" ({_MOST_TASKS // 2} of either end, of {len(by_task):,}; --json has all)"
    return Table(caption, ["task", "rows", SINGLE, POOLED, CHOSEN_METHOD, "change"], rows)


def _group_table(found: TaskStudy) -> Table:
    from gapmin.reporting.table import Entry, Table

    affinity = found.affinity
    rows = []
    for j, name in enumerate(affinity.tasks):
        for teacher in affinity.helpful_tasks(name)[:3]:
            k = affinity.tasks.index(teacher)
            low, high = 100 * affinity.low[j, k], 100 * affinity.high[j, k]
            gain = Entry(f"{100 * affinity.gain[j, k]:.1f}%", f" ({low:.1f} to {high:.1f})")
            rows.append([Entry(printable(str(name))), Entry(printable(str(teacher))), gain])
    together = [group for group in affinity.groups() if len(group) > 1]
    words = "; ".join(", ".join(printable(str(each)) for each in group) for group in together)
    caption = (
        "Who can teach whom: by how much the squared error of a linear model of the task falls with the teacher's rows "
        "(share of the label's variance, 95% interval over folds). "
        f"Tasks to train together: {words or 'none stands out'}"
    )
    if not rows:
        rows = [[Entry("no pair"), Entry("-"), Entry("no interval is above 0")]]
    return Table(caption, ["task", "teacher", "the error falls by"], rows[:_MOST_TASKS])


def _shown(value: float, metric: str) -> str:
    return f"{100 * value:.1f}%" if metric == "error rate" else format_number(value)


def _interval(score: Score, metric: str) -> str:
    return f" ({_shown(score.low, metric)} to {_shown(score.high, metric)})"


def _change(scores: TaskScores, name: str, metric: str) -> str:
    change = scores.changes[name]
    if metric == "error rate":
        return f"{100 * change.value:+.1f} ({100 * change.low:+.1f} to {100 * change.high:+.1f})"
    return f"{change.value:+.3g} ({change.low:+.3g} to {change.high:+.3g})"
