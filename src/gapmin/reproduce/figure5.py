"""Figure 5: the time of one epoch of each method, relative to Uniform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapmin._utils.statistics import TTest, corrected_t_test
from gapmin.plotting import BarsDisplay, Figure
from gapmin.reporting import Entry, Section, Table

from .cells import Cell, Measured, SettingValue
from .experiment import PAPER, Experiment, Found, Plan
from .names import NETWORK_COLUMNS
from .tasks import (
    OFFICE_HOME,
    PACS,
    PACS_RESNET50,
    TEN_CLASSES,
    WHOLE_OFFICE31,
    WHOLE_OFFICE_HOME,
    WHOLE_PACS,
    Tasks,
    about,
    available,
    digits,
    needs_of,
)
from .verdicts import HOW, judge, verdict

ALL_METHODS = "both forms and all others"
ADVERSARIAL = ("Adv.H", "Adv.W", "AMTNN")
ABOUT_AS_FAST = 1.1
"""How many times the time of Multi-Obj still counts as comparable; the paper gives no number."""
EPOCHS_IN_TURN = 5
"""Epochs of each method in a cell, the methods one after the other in each round."""


def parts(protocol: str) -> list[Tasks]:
    """Return the data sets of the figure."""
    if protocol == PAPER:
        return [digits(protocol), WHOLE_PACS, WHOLE_OFFICE31, WHOLE_OFFICE_HOME]
    images = available([PACS, PACS_RESNET50, TEN_CLASSES, OFFICE_HOME])
    return [digits(protocol), *images]


def setting(tasks: Tasks, plan: Plan) -> dict[str, SettingValue]:
    """Return the setting of the cells: the paper's sizes, but for digits fewer where two cores do it."""
    size = 0.2
    if tasks.problem.startswith("Digits"):
        size = 300 if plan.quick else 8000 if plan.protocol == PAPER else 3000
    given = tasks.setting(plan, size)
    del given["epochs"]
    return {**given, "rounds": rounds_of(plan)}


def rounds_of(plan: Plan) -> int:
    """Return how many epochs of each method a cell times."""
    return 2 if plan.quick else EPOCHS_IN_TURN


def cells(plan: Plan) -> list[Cell]:
    """All methods in turn in each cell, so that ratios are of one run."""
    return [
        cell
        for tasks in parts(plan.protocol)
        for cell in plan.cells("epoch", tasks.problem, ALL_METHODS, **setting(tasks, plan))
    ]


def show(found: Found) -> Section:
    """Bars of the ratios to Uniform."""
    runs: dict[str, list[Measured]] = {}
    for tasks in parts(found.plan.protocol):
        every = found.measured("epoch", tasks.problem, ALL_METHODS, **setting(tasks, found.plan))
        if there := [each for each in every if each is not None]:
            runs[tasks.problem] = there
    if not runs:
        return Section("Figure 5: running time", [TIME_CLAIM, HOW])
    ratios = {
        problem: {
            column: [each.parts[method] / each.parts["Uniform"] for each in there] for column, method in TIMED_COLUMNS
        }
        for problem, there in runs.items()
    }
    medians = {
        problem: {column: float(np.median(each)) for column, each in of.items()} for problem, of in ratios.items()
    }
    display = BarsDisplay(values=medians, unit="time of one epoch, Uniform = 1", baseline=1.0)
    rows = [
        [Entry(problem), *(Entry(f"{np.median(each):.2f}", _range(each)) for each in of.values())]
        for problem, of in ratios.items()
    ]
    points = [
        point
        for problem, of in medians.items()
        for form in list(NETWORK_COLUMNS)[-2:]
        for point in (
            verdict(
                judge([_log_ratio(runs[problem], dict(TIMED_COLUMNS)[form], "Multi-Obj", ABOUT_AS_FAST)]),
                f"{form} takes at most a tenth more time than Multi-Obj on {problem}. {form} {of[form]:.2f}, Multi-Obj "
                f"{of['Multi-Obj']:.2f}.",
            ),
            verdict(
                judge([_log_ratio(runs[problem], dict(TIMED_COLUMNS)[form], each) for each in ADVERSARIAL]),
                f"{form} is faster than the adversarial methods on {problem}. {form} {of[form]:.2f}, "
                + ", ".join(f"{each} {of[each]:.2f}" for each in ADVERSARIAL)
                + ".",
            ),
        )
    ]
    table = Table(
        "Figure 5: processor time of one epoch, Uniform = 1",
        ["", *dict(TIMED_COLUMNS)],
        rows,
        notes=[
            f"Median, lowest and highest of {found.plan.splits} runs on one thread. In a run the methods take turns, "
            f"{rounds_of(found.plan)} epochs each, and the median epoch of each counts."
        ],
    )
    figure = Figure(display.plot, "Medians of ratios, each of one run.", "time of one epoch", size=display.size)
    return Section("Figure 5: running time", [TIME_CLAIM, HOW], points, [table], [figure])


def _range(ratios: Sequence[float]) -> str:
    return f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""


def _log_ratio(runs: Sequence[Measured], ours: str, other: str, times: float = 1.0) -> TTest:
    """Test the logarithm of one method's time by so many times another's, over runs that are independent."""
    ratios = [each.parts[ours] / (times * each.parts[other]) for each in runs]
    return corrected_t_test(np.log(ratios).tolist(), n_train=1, n_test=0)


TIMED_COLUMNS = tuple(NETWORK_COLUMNS.items())
TIME_CLAIM = (
    "The paper: gapMTNN is about as fast as Multi-Obj, which is read here as at most a tenth slower, and faster than "
    "the adversarial methods, most of all on Office-Home. Its bars are of networks trained whole on a GPU; on features "
    "of a frozen network heads and critics weigh more than they would."
)

FIGURE5 = Experiment(
    "figure5",
    "the time of one epoch of each method",
    cells,
    show,
    splits=5,
    needs=needs_of(parts),
    networks=True,
    about=about(
        "Digits with 3,000 rows of each task, the others as features of frozen networks.",
        "Digits with 8,000 rows and SVHN, whole networks on the images of the others.",
        50,
        timed=True,
    ),
)
