"""What Tables 4 to 7 share: networks of seven methods on the tasks of a data set, with several sizes of the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gapmin.reporting.html import Section

from .cells import Cell
from .experiment import Experiment, Found, Plan
from .names import GAPMTNN, METHODS
from .printed import printed
from .tables import AVERAGE, Block, Comparison, duel_table, error_table, verdict


@dataclass(frozen=True)
class Tasks:
    """A multitask data set as a table of the paper shows it.

    Attributes
    ----------
    problem : str
        As `networks.setup` knows it.
    rows : mapping of str to str
        The paper's name of each task, and ours.
    sizes : mapping of str to int or float
        The paper's name of each size of the sample, and the rows or the share of each task that train.
    is_as_printed : bool
        Whether the tasks are the paper's, so that averages compare.
    """

    problem: str
    rows: Mapping[str, str]
    sizes: Mapping[str, int | float]
    is_as_printed: bool = True


def cells(plan: Plan, tasks: Tasks, methods: Sequence[str] = METHODS) -> list[Cell]:
    """Every method at every size; quick takes the smallest."""
    return [
        cell
        for size in sizes(plan, tasks).values()
        for method in methods
        for cell in plan.cells("multitask", tasks.problem, method, train=size, epochs=plan.epochs)
    ]


def sizes(plan: Plan, tasks: Tasks) -> dict[str, int | float]:
    """Return the sizes of a plan by the paper's names."""
    names = list(tasks.sizes)[: 1 if plan.quick else None]
    return {name: tasks.sizes[name] for name in names}


def section(found: Found, table: str, heading: str, tasks: Tasks, text: Sequence[str], notes: Sequence[str]) -> Section:
    """Lay out errors by task, and gapMTNN against each of the others."""
    plan = found.plan
    blocks = [
        Block(
            name,
            {
                row: {
                    method: found.part(task, "multitask", tasks.problem, method, train=size, epochs=plan.epochs)
                    for method in METHODS
                }
                for row, task in tasks.rows.items()
            },
        )
        for name, size in sizes(plan, tasks).items()
    ]
    caption = f"{heading.split(':')[0]}, error in %"
    names = {} if tasks.is_as_printed else {AVERAGE: ""}
    trained = f"{plan.epochs} epochs, where the paper has 120." if plan.epochs != 120 else "120 epochs."
    others = [method for method in METHODS if method != GAPMTNN]
    return Section(
        heading,
        text,
        [_say(table, block, tasks) for block in blocks],
        [
            error_table(caption, table, blocks, METHODS, GAPMTNN, notes=[trained, *notes], names=names),
            duel_table(
                f"{GAPMTNN} against each, average of the tasks", [Comparison(each, GAPMTNN, others) for each in blocks]
            ),
        ],
    )


def _say(table: str, block: Block, tasks: Tasks) -> str:
    means, best = block.means(AVERAGE), block.lowest(AVERAGE, METHODS)
    in_print = printed(table, block.heading, AVERAGE, GAPMTNN)
    averages = ", ".join(f"{method} {means[method]:.2f}" for method in METHODS)
    beside = f" (in print {in_print.text})" if in_print and tasks.is_as_printed else ""
    times = sum(block.lowest(row, METHODS) == GAPMTNN for row in block.rows)
    return verdict(
        best == GAPMTNN,
        f"{GAPMTNN} has the lowest average at {block.heading}. {averages}{beside}; it is the lowest on {times} of "
        f"{len(block.rows)} tasks.",
    )


CLAIM = "The paper: gapMTNN has the lowest average error at every size, and the lowest error on most tasks."


def frozen(network: str, splits: str) -> str:
    """Say that a table is not the paper's protocol."""
    return (
        f"Not the paper's protocol: {network} stay as ImageNet left them and one shared layer of 512 units is trained "
        f"on their features, where the paper trains the whole network; {splits}. Compare columns, not levels."
    )


def experiment(
    table: str,
    heading: str,
    tasks: Tasks,
    title: str,
    notes: Sequence[str],
    needs: tuple[str, ...],
) -> Experiment:
    """Make the experiment of a data set of images."""
    return Experiment(
        table,
        title,
        lambda plan: cells(plan, tasks),
        lambda found: section(found, table, heading, tasks, [CLAIM], notes),
        splits=10,
        quick_splits=1,
        needs=needs,
        networks=True,
    )
