"""Table 8: what each part of gapMTNN adds, on Office-31 where it is and on PACS elsewhere."""

from __future__ import annotations

import numpy as np

from gapmin.datasets.catalogue import missing_files
from gapmin.reporting.html import Section
from gapmin.reporting.table import Entry, Table

from . import table5, table6
from .cells import Cell, Value
from .experiment import Experiment, Found, Plan, Series
from .multitask import Tasks, frozen
from .names import ABLATIONS, GAPMTNN, WASSERSTEIN
from .printed import printed
from .tables import AVERAGE, difference, error_entry, holm, verdict

ROWS = {**{name: name for name in ABLATIONS}, "full method": GAPMTNN, "full, Wasserstein critics": WASSERSTEIN}
SHARE = 0.2


def tasks() -> Tasks:
    """Return the data set that is there."""
    return table5.TASKS if missing_files("office31") else table6.TASKS


def cells(plan: Plan) -> list[Cell]:
    """The full method, with means and with critics, and each ablation."""
    problem = tasks().problem
    return [
        cell
        for method in ROWS.values()
        for cell in plan.cells("multitask", problem, method, train=SHARE, epochs=plan.epochs)
    ]


def show(found: Found) -> Section:
    """Errors by ablation and task."""
    at_hand, plan = tasks(), found.plan

    def series(method: str, task: str | None) -> Series:
        setting: dict[str, Value] = {"train": SHARE, "epochs": plan.epochs}
        if task is None:
            return found.series("multitask", at_hand.problem, method, **setting)
        return found.part(task, "multitask", at_hand.problem, method, **setting)

    columns = {**at_hand.rows, AVERAGE: None}
    means = {row: {name: series(method, task) for name, task in columns.items()} for row, method in ROWS.items()}
    rows = []
    for row, of_row in means.items():
        entries = [Entry(row)]
        for column, each in of_row.items():
            lowest = min((of[column].mean for of in means.values() if not np.isnan(of[column].mean)), default=np.nan)
            number = printed("table8", "", row, column) if at_hand is table6.TASKS else None
            entries.append(error_entry(each, "", each.mean == lowest, number))
        rows.append(entries)
    full = means["full method"][AVERAGE]
    tests = {row: difference(full, means[row][AVERAGE]) for row in ROWS if row != "full method"}
    adjusted = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    points = []
    for row, test in tests.items():
        said = f"{means[row][AVERAGE].mean:.2f}, the full method {full.mean:.2f}"
        said += f" (p = {adjusted[row]:.2f} after Holm's correction)." if plan.splits > 1 else "."
        if row in ABLATIONS:
            points.append(verdict(test.mean < 0, f"{row}, the average is worse. {said}"))
        else:
            points.append(f"{row}: {said}")
    table = Table(
        f"Table 8 on {at_hand.problem}, 20% of the rows: error in %, mean over {plan.splits} splits, lowest in bold",
        ["", *columns],
        rows,
        notes=[
            f"{plan.epochs} epochs. Differences are tested by the corrected resampled t-test over the splits.",
            frozen("the convolutions", "splits are random draws of our own"),
        ],
    )
    return Section("Table 8: ablations", _text(at_hand), points, [table])


def _text(at_hand: Tasks) -> list[str]:
    said = [
        "The paper: both marginal and semantic matching improve the result, and distribution matching is crucial. Its "
        "marginal term is that of centroids in the text and adversarial in the ablations, so critics are shown too.",
    ]
    if at_hand is table5.TASKS:
        said.append(
            "The paper's is on Office-31, which is not on this machine; this is on PACS, so no number compares."
        )
    return said


EXPERIMENT = Experiment(
    "table8",
    "what each part of gapMTNN adds",
    cells,
    show,
    splits=10,
    quick_splits=1,
    needs=lambda: ("pacs", "alexnet-features") if missing_files("office31") else ("office31",),
    networks=True,
)
