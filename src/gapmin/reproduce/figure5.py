"""Figure 5: the time of one epoch of each method, relative to Uniform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapmin._utils.statistics import TTest, corrected_t_test
from gapmin.datasets.catalogue import missing_files
from gapmin.plotting import BarsDisplay, Figure
from gapmin.reporting import Entry, Section, Table

from .cells import Cell, Measured
from .experiment import Experiment, Found, Plan
from .multitask import OFFICE31, OFFICE_HOME, PACS, TABLE5, TABLE6, TABLE7, WITH_SVHN, WITH_USPS, digits
from .names import NETWORK_METHODS
from .verdicts import HOW, judge, verdict

ALL_METHODS = "all seven"
IMAGE_TABLES = {PACS.problem: TABLE5, OFFICE31.problem: TABLE6, OFFICE_HOME.problem: TABLE7}
ADVERSARIAL = ("Adv.H", "Adv.W", "AMTNN")


def candidates(plan: Plan) -> dict[str, int | float]:
    """Return all data sets of the figure, with the rows or the share of each task that train."""
    n_rows = 300 if plan.quick else 3000
    return {WITH_SVHN.problem: n_rows, WITH_USPS.problem: n_rows, **dict.fromkeys(IMAGE_TABLES, 0.2)}


def problems(plan: Plan) -> dict[str, int | float]:
    """Return those whose data is there."""
    there = {digits().problem} | {
        problem for problem, table in IMAGE_TABLES.items() if not any(map(missing_files, table.data_sets()))
    }
    return {problem: size for problem, size in candidates(plan).items() if problem in there}


def cells(plan: Plan) -> list[Cell]:
    """All methods one after the other in each cell, so that ratios are of one run."""
    return [
        cell
        for problem, size in problems(plan).items()
        for cell in plan.cells("epoch", problem, ALL_METHODS, train=size)
    ]


def show(found: Found) -> Section:
    """Bars of the ratios to Uniform."""
    text = [
        "The paper: gapMTNN is about as fast as Multi-Obj and faster than the adversarial methods, most of all on "
        "Office-Home. Its bars include networks trained whole on a GPU; here images other than digits are features of "
        "a frozen network, so that heads and critics weigh more than they would.",
        HOW,
    ]
    ratios: dict[str, dict[str, float]] = {}
    runs: dict[str, list[Measured]] = {}
    for problem, size in candidates(found.plan).items():
        there = [each for each in found.measured("epoch", problem, ALL_METHODS, train=size) if each is not None]
        if there:
            runs[problem] = there
            ratios[problem] = {
                method: float(np.median([each.parts[method] / each.parts["Uniform"] for each in there]))
                for method in NETWORK_METHODS
            }
    if not ratios:
        return Section("Figure 5: running time", text)
    display = BarsDisplay(values=ratios, unit="time of one epoch, Uniform = 1", baseline=1.0)
    rows = [[Entry(problem), *(Entry(f"{of[each]:.2f}") for each in NETWORK_METHODS)] for problem, of in ratios.items()]
    points = [
        verdict(
            judge([_log_ratio(runs[problem], each) for each in ADVERSARIAL]),
            f"gapMTNN is faster than the adversarial methods on {problem}. gapMTNN {of['gapMTNN']:.2f}, Multi-Obj "
            f"{of['Multi-Obj']:.2f}, " + ", ".join(f"{each} {of[each]:.2f}" for each in ADVERSARIAL) + ".",
        )
        for problem, of in ratios.items()
    ]
    table = Table(
        "Figure 5: processor time of one epoch, Uniform = 1",
        ["", *NETWORK_METHODS],
        rows,
        notes=[f"Medians over {found.plan.splits} runs, one thread, the methods one after the other in each."],
    )
    figure = Figure(display.plot, "Medians of ratios, each of one run.", "time of one epoch", size=display.size)
    return Section("Figure 5: running time", text, points, [table], [figure])


def _log_ratio(runs: Sequence[Measured], other: str) -> TTest:
    """Test the logarithm of gapMTNN's time by another method's, over runs that are independent."""
    return corrected_t_test([np.log(each.parts["gapMTNN"] / each.parts[other]) for each in runs], n_train=1, n_test=0)


FIGURE5 = Experiment(
    "figure5",
    "the time of one epoch of each method",
    cells,
    show,
    splits=5,
    needs=("digits",),
    networks=True,
)
