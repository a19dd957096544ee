"""Table 8: what each part of gapMTNN adds, on Office-31, or on what features there are of it and of PACS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gapmin.reporting import Entry, RowGroup, Section, Table

from .cells import Cell, SettingValue
from .experiment import PAPER, Experiment, Found, Plan, Series
from .names import ABLATIONS, DEFAULT, PRINTED, PRINTED_ABLATIONS, PRINTED_CRITICS
from .printed import printed
from .tables import AVERAGE, difference, error_entry, interval_text
from .tasks import (
    DEVELOPED,
    ON_FEATURES,
    PACS,
    PACS_RESNET50,
    TEN_CLASSES,
    WHOLE_OFFICE31,
    Tasks,
    about,
    available,
    needs_of,
)
from .verdicts import HOW, judge, verdict

FULL, CRITICS = "full method", "full, Wasserstein critics"
FORMS = {
    "as printed": {
        **{name: PRINTED_ABLATIONS.get(name, name) for name in ABLATIONS},
        FULL: PRINTED,
        CRITICS: PRINTED_CRITICS,
    },
    "ours": {**{name: name for name in ABLATIONS}, FULL: DEFAULT},
}
"""The method of each row."""
SIZE = 0.2


def parts(protocol: str) -> list[Tasks]:
    """Return the data sets of the table."""
    return [WHOLE_OFFICE31] if protocol == PAPER else available([TEN_CLASSES, PACS_RESNET50, PACS])


def ours() -> tuple[str, ...]:
    """Return the methods of our form alone."""
    return tuple(set(FORMS["ours"].values()) - set(FORMS["as printed"].values()))


def cells(plan: Plan) -> list[Cell]:
    """Both forms of the full method and of each ablation."""
    return [
        cell
        for tasks in parts(plan.protocol)
        for rows in FORMS.values()
        for method in rows.values()
        for cell in plan.cells("multitask", tasks.problem, method, **_setting(tasks, plan))
    ]


def _setting(tasks: Tasks, plan: Plan) -> dict[str, SettingValue]:
    return tasks.setting(plan, SIZE)


def show(found: Found) -> Section:
    """Errors by ablation and task, a table for each data set with both forms."""
    points, tables = [], []
    for tasks in parts(found.plan.protocol):
        forms = {form: _series(found, tasks, rows) for form, rows in FORMS.items()}
        there = {form: of for form, of in forms.items() if form == "as printed" or not np.isnan(of[FULL][AVERAGE].mean)}
        points += [point for form, of in there.items() for point in _verdicts(form, of, tasks, found.plan.splits)]
        tables.append(_table(found, tasks, there))
    return Section("Table 8: ablations", [ABLATION_CLAIM, HOW], points, tables)


def _series(found: Found, tasks: Tasks, rows: Mapping[str, str]) -> dict[str, dict[str, Series]]:
    """Return, by row and column, the errors of one form."""
    setting = _setting(tasks, found.plan)
    return {
        row: {
            **{
                name: found.part(task, "multitask", tasks.problem, method, **setting)
                for name, task in tasks.rows.items()
            },
            AVERAGE: found.series("multitask", tasks.problem, method, **setting),
        }
        for row, method in rows.items()
    }


def _table(found: Found, tasks: Tasks, forms: Mapping[str, Mapping[str, Mapping[str, Series]]]) -> Table:
    columns = [*tasks.rows, AVERAGE]
    groups = []
    for form, of_form in forms.items():
        lowest = {column: _lowest([of[column] for of in of_form.values()]) for column in columns}
        groups.append(
            RowGroup(
                form,
                [
                    [
                        Entry(row),
                        *(
                            error_entry(
                                of[column],
                                "",
                                of[column].mean == lowest[column],
                                printed("table8", "", row, column)
                                if tasks is WHOLE_OFFICE31 and form == "as printed"
                                else None,
                            )
                            for column in columns
                        ),
                    ]
                    for row, of in of_form.items()
                ],
            )
        )
    notes = [
        f"{found.plan.epochs} epochs. Differences are tested by the corrected resampled t-test over the draws.",
        tasks.note,
    ]
    notes.append(DEVELOPED if len(forms) == len(FORMS) else "Our form has not been run here.")
    return Table(
        f"Table 8 on {tasks.problem}, {SIZE:.0%} of the rows: error in %, mean over {found.plan.splits} draws, lowest "
        "of a form in bold",
        ["", *columns],
        groups=groups,
        notes=notes,
    )


def _lowest(series: Sequence[Series]) -> float:
    return min((each.mean for each in series if not np.isnan(each.mean)), default=np.nan)


def _verdicts(form: str, of: Mapping[str, Mapping[str, Series]], tasks: Tasks, n_splits: int) -> list[str]:
    full, points = of[FULL][AVERAGE], []
    for row, columns in of.items():
        if row == FULL:
            continue
        test = difference(full, columns[AVERAGE])
        means = f"{columns[AVERAGE].mean:.2f}, the full method {full.mean:.2f}"
        means += f"{interval_text(test)}." if n_splits > 1 else "."
        where = f"{tasks.problem}, {form}"
        if row in ABLATIONS:
            points.append(verdict(judge([test]), f"{row}, the average is worse ({where}). {means}"))
        else:
            points.append(f"{row} ({where}): {means}")
    return points


ABLATION_CLAIM = (
    "The paper: both marginal and semantic matching improve the result, and distribution matching is crucial. Its "
    "marginal term is that of centroids in the text and adversarial in the ablations, so critics are shown too. The "
    "paper's table is on Office-31 with whole networks."
)

TABLE8 = Experiment(
    "table8",
    "what each part of gapMTNN adds",
    cells,
    show,
    splits=10,
    needs=needs_of(parts),
    networks=True,
    optional=lambda cell: cell.method in ours(),
    about=about(ON_FEATURES, f"All 31 classes of Office-31. {WHOLE_OFFICE31.note}", 470),
)
