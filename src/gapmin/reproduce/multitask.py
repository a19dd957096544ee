"""Tables 4 to 7: networks of all methods on the tasks of a data set, with several sizes of the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gapmin.reporting import Section

from . import tuning
from .cells import Cell
from .experiment import PAPER, Experiment, Found, Plan, Series
from .names import DEFAULT, GAPMTNN, NETWORK_BASELINES, NETWORK_COLUMNS, OUR_COLUMN
from .printed import printed
from .tables import AVERAGE, Block, Comparison, difference_table, error_table, lowest_on_most
from .tasks import (
    DEVELOPED,
    LENET,
    OFFICE_HOME,
    ON_FEATURES,
    PACS,
    PACS_RESNET50,
    TEN_CLASSES,
    WHOLE_OFFICE31,
    WHOLE_OFFICE_HOME,
    WHOLE_PACS,
    WITH_8K,
    Tasks,
    about,
    available,
    digits,
    needs_of,
)
from .verdicts import HOW, MOST, judge, verdict


def columns_of(found: Found, tasks: Tasks) -> dict[str, str]:
    """Return the columns of a table, without our default where it was not run at every size."""
    there = all(tasks.measured(found, DEFAULT, size) for size in tasks.sizes_of(found.plan).values())
    return {column: method for column, method in NETWORK_COLUMNS.items() if there or method != DEFAULT}


def _section(found: Found, table: str, heading: str, parts: Sequence[Tasks]) -> Section:
    """Lay out errors by task, and both forms of gapMTNN against each of the others."""
    points, tables = [], []
    for tasks in parts:
        columns = columns_of(found, tasks)
        blocks = tasks.blocks(found, columns)
        forms = [form for form in (GAPMTNN, OUR_COLUMN) if form in columns]
        where = f", {tasks.problem}" if len(parts) > 1 or not tasks.is_as_printed else ""
        points += _verdicts(table, blocks, tasks, forms, where)
        caption = f"{heading.split(':')[0]}{where}, error in %"
        names = {} if tasks.is_as_printed else {AVERAGE: ""}
        ours = OURS_IS if OUR_COLUMN in columns else f"{OUR_COLUMN} has not been run here."
        fixed = f"{FIXED} {DEVELOPED}" if OUR_COLUMN in columns else FIXED
        notes = [f"{PRINTED_IS} {ours} {fixed}", *filter(None, [tasks.note, _absent(found, tasks)])]
        in_print = table if tasks.has_print else None
        tables.append(error_table(caption, in_print, blocks, list(columns), GAPMTNN, notes=notes, names=names))
        tables += [
            difference_table(
                f"{form}{where} against each, average of the tasks",
                [Comparison(block, form, NETWORK_BASELINES) for block in blocks],
            )
            for form in forms
        ]
    claim = "The paper: gapMTNN has the lowest average error at every size, and the lowest error on most tasks."
    return Section(heading, [claim, f"{HOW} {MOST}"], points, tables)


PRINTED_IS = "gapMTNN is `GapMTNN.printed()`, the paper's objective as printed."
OURS_IS = f"{OUR_COLUMN} is `GapMTNN()`."
FIXED = (
    "No setting was tuned on this table: Adam at 2e-4 decaying by 5% every 5 epochs, weights of the objectives as in "
    "docs/fidelity.md."
)


def _verdicts(table: str, blocks: Sequence[Block], tasks: Tasks, forms: Sequence[str], where: str) -> list[str]:
    return [
        point
        for form in forms
        for block in blocks
        for point in (
            _lowest_verdict(table, block, tasks, form, where),
            lowest_on_most(block, form, NETWORK_BASELINES, f"tasks at {block.heading}{where}"),
        )
    ]


def _lowest_verdict(table: str, block: Block, tasks: Tasks, form: str, where: str) -> str:
    means, methods = block.means(AVERAGE), [*NETWORK_BASELINES, form]
    in_print = printed(table, block.heading, AVERAGE, form)
    averages = ", ".join(f"{method} {means[method]:.2f}" for method in methods)
    beside = f" (in print {in_print.text})" if in_print and tasks.is_as_printed else ""
    return verdict(
        judge(Comparison(block, form, NETWORK_BASELINES).tests()),
        f"{form} has the lowest average at {block.heading}{where}. {averages}{beside}.",
    )


def _absent(found: Found, tasks: Tasks) -> str:
    """Say how many classes no training row has, where some have none."""
    unseen = []
    for name, size in tasks.sizes_of(found.plan).items():
        there = tasks.measured(found, NETWORK_BASELINES[0], size)
        means = {
            row: float(np.mean([each.extra.get("absent", {}).get(task, 0) for each in there]))
            for row, task in tasks.rows.items()
            if there
        }
        unseen += [f"{row} {mean:.1f} at {name}" for row, mean in means.items() if mean]
    return f"Classes without a row that trains, mean over the draws: {', '.join(unseen)}." if unseen else ""


def _cells(parts: Sequence[Tasks], plan: Plan) -> list[Cell]:
    return [cell for tasks in parts for cell in tasks.cells(plan, list(NETWORK_COLUMNS.values()))]


def _experiment(
    number: int,
    name: str,
    parts: Callable[[str], Sequence[Tasks]],
    about_plan: Callable[[Plan], str],
    quick_epochs: int = 3,
) -> Experiment:
    table, heading = f"table{number}", f"Table {number}: {name}"
    return Experiment(
        table,
        f"gapMTNN and its baselines on {name}",
        lambda plan: _cells(parts(plan.protocol), plan),
        lambda found: _section(found, table, heading, parts(found.plan.protocol)),
        splits=10,
        needs=needs_of(parts),
        networks=True,
        quick_epochs=quick_epochs,
        optional=lambda cell: cell.method == DEFAULT,
        about=about_plan,
    )


TABLE4 = _experiment(4, "Digits", lambda protocol: [digits(protocol)], about(LENET, WITH_8K, 50), quick_epochs=1)
TABLE5 = _experiment(
    5,
    "PACS",
    lambda protocol: [WHOLE_PACS] if protocol == PAPER else available([PACS, PACS_RESNET50]),
    about(ON_FEATURES, WHOLE_PACS.note, 450),
)


def _office31(protocol: str) -> list[Tasks]:
    return [WHOLE_OFFICE31] if protocol == PAPER else [TEN_CLASSES]


def _tuned_cells(plan: Plan) -> list[Cell]:
    """Return the grid that settings are chosen on, and the cells of those chosen."""
    if plan.protocol == PAPER:
        return []
    grid = [cell for cells in tuning.grid_cells(plan).values() for cell in cells]
    return [*grid, *(cell for method in tuning.CHOSEN_SETTING for cell in _chosen_tasks(method).cells(plan, [method]))]


def _chosen_tasks(method: str) -> Tasks:
    return replace(TEN_CLASSES, given=tuning.chosen_setting(method))


def _show_table6(found: Found) -> Section:
    section = _section(found, "table6", "Table 6: Office-31", _office31(found.plan.protocol))
    if found.plan.protocol == PAPER:
        return section
    points, tables = [*section.points], [*section.tables]
    if not np.isnan([error for of_method in tuning.errors(found).values() for error in of_method]).all():
        tables.append(tuning.table(found))
    columns = {column: method for column, method in NETWORK_COLUMNS.items() if _was_run(found, method)}
    if columns.keys() >= {*NETWORK_BASELINES, GAPMTNN}:
        by_column = {
            column: _chosen_tasks(method).blocks(found, {column: method}) for column, method in columns.items()
        }
        blocks = [
            Block(parts[0].heading, {row: _joined(part.rows[row] for part in parts) for row in parts[0].rows})
            for parts in zip(*by_column.values(), strict=True)
        ]
        forms = [form for form in (GAPMTNN, OUR_COLUMN) if form in columns]
        where = ", each method with the setting that it chose"
        points += _verdicts("table6", blocks, TEN_CLASSES, forms, where)
        caption = f"Table 6{where}, error in %"
        tables.append(error_table(caption, None, blocks, list(columns), GAPMTNN))
    return replace(section, points=points, tables=tables)


def _was_run(found: Found, method: str) -> bool:
    """Tell whether a method chose a setting and was run with it at every size."""
    tasks = _chosen_tasks(method)
    return method in tuning.CHOSEN_SETTING and all(
        tasks.measured(found, method, size) for size in tasks.sizes_of(found.plan).values()
    )


def _is_chosen(cell: Cell) -> bool:
    return "lr" in cell.values or any(name.startswith("objective.") for name in cell.values)


def _joined(parts: Iterable[Mapping[str, Series]]) -> dict[str, Series]:
    return {column: series for part in parts for column, series in part.items()}


TABLE6 = replace(
    _experiment(6, "Office-31", _office31, about(ON_FEATURES, f"All 31 classes. {WHOLE_OFFICE31.note}", 550)),
    cells=lambda plan: [*_cells(_office31(plan.protocol), plan), *_tuned_cells(plan)],
    show=_show_table6,
    optional=lambda cell: cell.method == DEFAULT or cell.kind == "validation" or _is_chosen(cell),
)
TABLE7 = _experiment(
    7,
    "Office-Home",
    lambda protocol: [WHOLE_OFFICE_HOME if protocol == PAPER else OFFICE_HOME],
    about(ON_FEATURES, WHOLE_OFFICE_HOME.note, 1_200),
)
