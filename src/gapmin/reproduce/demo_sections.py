"""The sections of the demo, each an experiment on embedded data: boosters, gaps of sources, tasks trained together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gapmin._utils.text import counted, format_number, joined
from gapmin.datasets import TransferProblem
from gapmin.plotting import WIDTH, DisagreementDisplay, Figure, GapDisplay, WeightMassDisplay, bars_height
from gapmin.reporting import Entry, Section, Table, shown_name

from . import transfer
from .cells import Cell, Measured, SettingValue
from .experiment import Experiment, Found, Plan
from .names import BASELINES, GAPBOOST, GAPMTNN, REGRESSORS, SOFT, TWO_AND_A_STRANGER
from .tables import AVERAGE, SIGNIFICANCE_LEVEL, Block, Comparison, TransferGrid, error_curves, error_table
from .tasks import Tasks

BOOSTERS = (*BASELINES, GAPBOOST, SOFT)
ON_TARGET, ON_BOTH = BASELINES[:2]
QUICK_PROBLEMS = ("digits -> mnist, odd", "mnist -> digits, odd", "autompg low", "friedman")


def problems(plan: Plan, task: str) -> list[TransferProblem]:
    """Return the problems of one kind, their sources apart; quick leaves out those that take long."""
    every = [problem for problem in transfer.embedded().values() if problem.task == task]
    return [problem for problem in every if not plan.quick or problem.name in QUICK_PROBLEMS]


def grids(plan: Plan, task: str) -> list[TransferGrid]:
    """Return the errors of one kind of problem; of numbers a block for each data set, for their units differ."""
    names = [problem.name for problem in problems(plan, task)]
    if task == "classification":
        return [TransferGrid("", names, BOOSTERS, {"resample": False})]
    by_set: dict[str, list[str]] = {}
    for name in names:
        by_set.setdefault(name.split()[0], []).append(name)
    setting = {"resample": False, "max_depth": 6}
    return [TransferGrid(each.capitalize(), of_set, REGRESSORS, setting) for each, of_set in by_set.items()]


PROBLEM_KINDS = {
    "classification": ("error in %", BOOSTERS, (GAPBOOST, SOFT)),
    "regression": ("root mean squared error", REGRESSORS, REGRESSORS[-1:]),
}
"""By kind of problem: what the error is, the methods, and those that are compared with the others."""


def error_cells(plan: Plan) -> list[Cell]:
    """Every booster on every problem."""
    return [cell for task in PROBLEM_KINDS for grid in grids(plan, task) for cell in grid.cells(plan)]


def show_errors(found: Found) -> Section:
    """Mean errors by problem and method, and on how many problems ours are lower."""
    tables, points, summary = [], [], []
    for task, (unit, methods, ours) in PROBLEM_KINDS.items():
        blocks = [grid.block(found) for grid in grids(found.plan, task)]
        n_problems = counted(sum(len(block.rows) for block in blocks), f"{task} problem")
        tables.append(error_table(f"{task.capitalize()}, {unit}", None, blocks, methods, ours[0]))
        summary.append(f"{ours[0]} than {methods[1]} on {_lower_on(blocks, ours[0], methods[1])} of {n_problems}")
        lowest = [block.lowest(row, methods) for block in blocks for row in block.rows]
        counts = [f"{method} on {lowest.count(method)}" for method in methods if method in lowest]
        points.append(f"Of {n_problems}, the lowest mean error has {joined(counts)}.")
    points.insert(0, f"Lower mean error: {joined(summary)}.")
    text = (
        "Boosting methods on target rows that did not train, after training on all source rows and a few of the "
        f"target. {ON_TARGET} and AdaBoost.R2_T train on the target alone, {ON_BOTH} and AdaBoost.R2_T&S on target "
        "and sources as one. The others weigh the rows of the sources; gapBoost and gapBoostR are the paper's."
    )
    return Section("Errors", [text], points, tables)


def _lower_on(blocks: Sequence[Block], ours: str, other: str) -> int:
    return sum(Comparison(block, ours, [other]).lower_on(other) for block in blocks)


def curve_grids(plan: Plan) -> dict[int, TransferGrid]:
    """Return the classifiers by the number of target rows, on two classes: ten take long."""
    names = [problem.name for problem in problems(plan, "classification") if np.unique(problem.y_target).size == 2]
    sizes = (20, 320) if plan.quick else (20, 50, 125, 320)
    return {size: TransferGrid("", names, BOOSTERS, {"resample": False, "train": size}) for size in sizes}


def show_curves(found: Found) -> Section:
    """A figure for each problem."""
    blocks = {size: grid.block(found) for size, grid in curve_grids(found.plan).items()}
    first, *_, last = blocks
    figures = []
    for name in blocks[first].rows:
        lowest = [f"with {size} {blocks[size].lowest(name, BOOSTERS)}" for size in (first, last)]
        bars = " Bars are one standard error." if found.plan.splits > 1 else ""
        caption = f"Lowest mean error by number of target rows: {joined(lowest)}.{bars}"
        rows = [block.rows[name] for block in blocks.values()]
        figures.append(error_curves(f"{shown_name(name)}: error by number of target rows", caption, list(blocks), rows))
    text = f"{ON_TARGET} trains on the target rows alone, {ON_BOTH} on these and all source rows."
    return Section("More target rows", [text], figures=figures)


def gap_settings(plan: Plan, problem: TransferProblem) -> dict[str, dict[str, SettingValue]]:
    """Return the setting of the cell of each source, by the name that the source is shown with."""
    n_permutations = 19 if plan.quick else 99
    several, numbers = len(problem.sources) > 1, range(1, len(problem.sources) + 1)
    return {
        shown_name(problem.name) + f", source {k}" * several: {"source": k, "n_permutations": n_permutations}
        for k in numbers
    }


def gap_cells(plan: Plan) -> list[Cell]:
    """Every source of every problem, on the first split."""
    return [
        cell
        for task in PROBLEM_KINDS
        for problem in problems(plan, task)
        for setting in gap_settings(plan, problem).values()
        for cell in replace(plan, splits=1).cells("gap", problem.name, "gap", **setting)
    ]


def show_gaps(found: Found) -> Section:
    """Each gap with its parts and its test, and what pooling the sources does to the error."""
    rows, figures = [], []
    for task, (_, (alone, pooled, *_), _) in PROBLEM_KINDS.items():
        blocks = [grid.block(found).rows for grid in grids(found.plan, task)]
        ratios = {name: row[pooled].mean / row[alone].mean for block in blocks for name, row in block.items()}
        gaps: dict[str, Measured] = {}
        for problem in problems(found.plan, task):
            ratio = ratios[problem.name]
            for name, setting in gap_settings(found.plan, problem).items():
                measured = found.measured("gap", problem.name, "gap", **setting)[0]
                if measured is not None:
                    gaps[name] = measured
                    rows.append(_gap_row(name, measured, ratio))
                    ratio = float("nan")  # once for each problem: its sources are pooled
        figures += [_gap_figure(task, gaps)] if gaps else []
    caption = f"Performance gap of each source, first split; p up to {SIGNIFICANCE_LEVEL:g} in bold"
    narrow = ["", "gap", "on the\nsource", "on the\ntarget", "by\nchance", "p", "error with\n/ without"]
    table = Table(caption, [name.replace("\n", " ") for name in narrow], rows, narrow_header=narrow)
    p_values = [row[5] for row in rows if row[5].text]
    point = (
        f"The gap is larger than chance (p up to {SIGNIFICANCE_LEVEL:g}) for {sum(each.best for each in p_values)} of "
        f"the {len(p_values)} sources tested."
    )
    text = [
        "The performance gap is how much worse the best linear model of one domain does on the other. The part on the "
        "source is what the target's model loses there against the source's own; the part on the target is what the "
        "source's model loses on the target's training rows. It is 0 where one model serves both.",
        "“By chance” is the median gap after all rows of the two were dealt out again at random, and p the share of "
        "such gaps that are at least as large. A gap near chance says that these rows cannot tell the domains apart, "
        "not that they are the same. With more than two classes the gap is the mean over the classes, each against the "
        "rest, and is not tested.",
        "The last column is the error of AdaBoost on the target and all its sources over that of AdaBoost on the "
        "target alone, means over the splits: above 1 the sources hurt when they are pooled.",
    ]
    return Section("The gap of each source", text, [point], [table], figures)


def _gap_row(name: str, gap: Measured, ratio: float) -> list[Entry]:
    p_value = gap.extra.get("p_value", np.nan)
    values = (gap.error, gap.parts["source"], gap.parts["target"], gap.extra.get("by_chance", np.nan), p_value, ratio)
    return [
        Entry(name),
        *(
            Entry("" if np.isnan(value) else f"{value:.2f}", best=value is p_value and value <= SIGNIFICANCE_LEVEL)
            for value in values
        ),
    ]


def _gap_figure(task: str, gaps: Mapping[str, Measured]) -> Figure:
    ends = [pick(gaps, key=lambda name: gaps[name].error) for pick in (min, max)]
    smallest, largest = (f"{name} ({format_number(gaps[name].error)})" for name in ends)
    loss = "logistic loss" if task == "classification" else "squared loss, labels standardised"
    return Figure(
        GapDisplay(parts={name: gap.parts for name, gap in gaps.items()}).plot,
        f"Smallest for {smallest}, largest for {largest}.",
        f"{task.capitalize()}: the gap of each source ({loss})",
        (WIDTH, bars_height(len(gaps))),
    )


def weight_cells(plan: Plan) -> list[Cell]:
    """GapBoost on the problems of two classes, on the first split."""
    names = next(iter(curve_grids(plan).values())).problems
    first = replace(plan, splits=1)
    return [cell for name in names for cell in first.cells("weights", name, GAPBOOST, resample=False)]


def show_weights(found: Found) -> Section:
    """Who holds the weight, and where source and target disagree, round by round."""
    figures = []
    for cell in weight_cells(found.plan):
        measured = found.measured("weights", cell.problem, GAPBOOST, resample=False)[0]
        if measured is None:
            continue
        name = shown_name(cell.problem)
        mass, disagreement = (np.array(measured.extra[key]) for key in ("mass", "disagreement"))
        start, end = 100 * mass[[0, -1], 0]
        figures += [
            Figure(
                WeightMassDisplay(mass=mass, domains=measured.extra["domains"]).plot,
                f"The target starts with {start:.0f}% of the weight and ends with {end:.0f}%.",
                f"{name}: weight of source and target",
            ),
            Figure(
                DisagreementDisplay(disagreement=disagreement).plot,
                "Weight of the rows on which a learner of the source and one of the target disagree; on the source it "
                f"goes from {100 * disagreement[0, 0]:.0f}% to {100 * disagreement[-1, 0]:.0f}%.",
                f"{name}: where source and target disagree",
            ),
        ]
    text = (
        "gapBoost, first split. Every round it takes weight from source rows on which the two learners disagree, and "
        "gives weight to rows that it gets wrong. Where these are the same rows, the second undoes the first."
    )
    return Section("What gapBoost does with the weights", [text], figures=figures)


def tasks(plan: Plan) -> Tasks:
    """Return three digit tasks, of which two are of one kind."""
    rows = {"MNIST, first half": "first", "MNIST, second half": "second", "the stranger": "stranger"}
    return Tasks(TWO_AND_A_STRANGER, rows, {"": 100}, lr=1e-3)


def show_tasks(found: Found) -> Section:
    """Errors by task, and the relation that gapMTNN learns."""
    digits, methods = tasks(found.plan), ("Uniform", GAPMTNN)
    (block,), (size,) = digits.blocks(found, methods), digits.sizes.values()
    means, n_lower = block.means(AVERAGE), _lower_on([block], GAPMTNN, "Uniform")
    figures, points = [], []
    if there := digits.measured(found, GAPMTNN, size):
        figure, own = digits.relation_figure(there, "Gamma: what each task learns from")
        figures.append(figure)
        points.append(f"In Gamma a task gives this share of its weight to itself: {own}.")
        relation = np.mean([each.extra["relation"] for each in there], axis=0)
        names = list(there[0].parts)
        halves, stranger = [names.index(each) for each in ("first", "second")], names.index("stranger")
        points.append(
            f"The halves give {relation[halves[0], halves[1]]:.2f} and {relation[halves[1], halves[0]]:.2f} of their "
            f"weight to each other, and {relation[halves, stranger].mean():.2f} to the stranger, which gives them "
            f"{relation[stranger, halves].sum():.2f}."
        )
    table = error_table(f"Tasks trained together, {size} rows of each, error in %", None, [block], methods, GAPMTNN)
    text = (
        "Three tasks of reading digits. Two are halves of MNIST: what helps one helps the other. The third is a "
        "stranger: UCI digits of which each is called by the name of the next, so that a 3 is labelled 4. One network "
        "serves them all, with a head for each. Uniform trains every head on the rows of its own task. gapMTNN trains "
        "it on the rows of tasks that can teach it too, with the weights of a relation Gamma that it solves for anew "
        "after every epoch. It is not told which tasks are related: it should find the halves, and leave the stranger."
    )
    return Section(
        "Tasks trained together",
        [text],
        [
            f"{GAPMTNN} has lower mean error than Uniform on {n_lower} of {len(block.rows)} tasks; averages: {GAPMTNN} "
            f"{means[GAPMTNN]:.2f}%, Uniform {means['Uniform']:.2f}%.",
            *points,
        ],
        [table],
        figures,
    )


def _section(
    name: str, title: str, cells: Callable[[Plan], list[Cell]], show: Callable[[Found], Section], networks: bool = False
) -> Experiment:
    return Experiment(
        f"demo-{name}", title, cells, show, splits=5, quick_splits=2, networks=networks, epochs=20, quick_epochs=20
    )


DEMO = (
    _section("errors", "Errors", error_cells, show_errors),
    _section("gaps", "The gap of each source", gap_cells, show_gaps),
    replace(
        _section(
            "curves",
            "More target rows",
            lambda plan: [cell for grid in curve_grids(plan).values() for cell in grid.cells(plan)],
            show_curves,
        ),
        whole_splits=True,
    ),
    _section("weights", "What gapBoost does with the weights", weight_cells, show_weights),
    _section(
        "tasks",
        "Tasks trained together",
        lambda plan: tasks(plan).cells(plan, ("Uniform", GAPMTNN)),
        show_tasks,
        networks=True,
    ),
)
"""The sections of the demo."""
