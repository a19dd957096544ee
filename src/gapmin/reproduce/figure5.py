"""Figure 5: the time of one epoch of each method, relative to Uniform."""

from __future__ import annotations

import numpy as np

from gapmin.datasets.catalogue import missing_files
from gapmin.plotting import Figure
from gapmin.plotting.bar_displays import BarsDisplay
from gapmin.reporting.html import Section
from gapmin.reporting.table import Entry, Table

from . import table4, table5, table6, table7
from .cells import Cell
from .experiment import Experiment, Found, Plan
from .names import METHODS
from .tables import verdict

ALL = "all seven"
ROWS = 3000
QUICK_ROWS = 300
SHARE = 0.2


def candidates(plan: Plan) -> dict[str, int | float]:
    """Return all data sets of the figure, with the rows or the share of each task that train."""
    rows = QUICK_ROWS if plan.quick else ROWS
    digits = {tasks.problem: rows for tasks in (table4.WITH_SVHN, table4.WITH_USPS)}
    return digits | {other.TASKS.problem: SHARE for other in (table5, table6, table7)}


def problems(plan: Plan) -> dict[str, int | float]:
    """Return those whose data is there."""
    there = {table4.tasks().problem} | {
        other.TASKS.problem
        for other in (table5, table6, table7)
        if not any(map(missing_files, other.EXPERIMENT.data_sets()))
    }
    return {problem: size for problem, size in candidates(plan).items() if problem in there}


def cells(plan: Plan) -> list[Cell]:
    """All methods one after the other in each cell, so that ratios are of one run."""
    return [cell for problem, size in problems(plan).items() for cell in plan.cells("epoch", problem, ALL, train=size)]


def show(found: Found) -> Section:
    """Bars of the ratios to Uniform."""
    ratios: dict[str, dict[str, float]] = {}
    for problem, size in candidates(found.plan).items():
        there = [each for each in found.measured("epoch", problem, ALL, train=size) if each is not None]
        if there:
            ratios[problem] = {
                method: float(np.median([each.parts[method] / each.parts["Uniform"] for each in there]))
                for method in METHODS
            }
    if not ratios:
        return Section("Figure 5: running time", TEXT)
    display = BarsDisplay(values=ratios, unit="time of one epoch, Uniform = 1", baseline=1.0)
    rows = [[Entry(problem), *(Entry(f"{of[each]:.2f}") for each in METHODS)] for problem, of in ratios.items()]
    points = [
        verdict(
            of["gapMTNN"] < min(of[each] for each in ADVERSARIAL),
            f"gapMTNN is faster than the adversarial methods on {problem}. gapMTNN {of['gapMTNN']:.2f}, Multi-Obj "
            f"{of['Multi-Obj']:.2f}, " + ", ".join(f"{each} {of[each]:.2f}" for each in ADVERSARIAL) + ".",
        )
        for problem, of in ratios.items()
    ]
    table = Table(
        "Figure 5: processor time of one epoch, Uniform = 1",
        ["", *METHODS],
        rows,
        notes=[f"Medians over {found.plan.splits} runs, one thread, the methods one after the other in each."],
    )
    figure = Figure(display.plot, "Medians of ratios, each of one run.", "time of one epoch", size=display.size)
    return Section("Figure 5: running time", TEXT, points, [table], [figure])


ADVERSARIAL = ("Adv.H", "Adv.W", "AMTNN")
TEXT = (
    "The paper: gapMTNN is about as fast as Multi-Obj and faster than the adversarial methods, most of all on "
    "Office-Home. Its bars include networks trained whole on a GPU; here images other than digits are features of a "
    "frozen network, so that heads and critics weigh more than they would.",
)

EXPERIMENT = Experiment(
    "figure5",
    "the time of one epoch of each method",
    cells,
    show,
    splits=5,
    quick_splits=1,
    needs=("digits",),
    networks=True,
)
