"""A small grid of settings for each network, chosen on validation rows: the same budget for every method.

Four settings a method, at the smallest size of the ten classes of Office-31, on one draw that no table has. What was
chosen is written down in `CHOSEN_SETTING`, and the page of Table 6 shows the whole grid and the errors with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gapmin.reporting import Entry, Table

from .cells import Cell, SettingValue, cell
from .experiment import Found, Plan
from .names import DEFAULT, NETWORK_COLUMNS, PRINTED
from .tasks import TEN_CLASSES

Changes = Mapping[str, SettingValue]

SEED = 1_000
"""Of the draw; those of the tables have the seed of the run, 0 where the user does not say."""


def _with_own(name: str, other: float) -> tuple[Changes, ...]:
    """Return the setting of the tables, another value of the method's own, and both with a higher rate."""
    own: Changes = {f"objective.{name}": other}
    return {}, own, {"lr": 1e-3}, {**own, "lr": 1e-3}


_RATES: tuple[Changes, ...] = ({}, {"lr": 1e-4}, {"lr": 5e-4}, {"lr": 1e-3})
GRID: dict[str, tuple[Changes, ...]] = {
    "Uniform": _RATES,
    "Weighted": _with_own("temperature", 0.3),
    "Adv.H": _with_own("adversary", 0.01),
    "Adv.W": _with_own("adversary", 0.01),
    "Multi-Obj": _RATES,
    "AMTNN": _with_own("distance", 0.01),
    PRINTED: _with_own("lambda_semantic", 0.01),
    DEFAULT: _with_own("lambda_relation", 0.5),
}
"""What differs from the setting of the tables. Methods without a setting of their own have four learning rates."""

CHOSEN_SETTING: dict[str, int] = {
    "Uniform": 1,
    "Weighted": 3,
    "Adv.H": 0,
    "Adv.W": 0,
    "Multi-Obj": 1,
    "AMTNN": 1,
    PRINTED: 3,
    DEFAULT: 1,
}
"""Which of its four settings each method chose: the first of those with the lowest validation error."""


def grid_cells(plan: Plan) -> dict[str, list[Cell]]:
    """Return the cells of each method, one for each of its settings."""
    fixed = TEN_CLASSES.setting(plan, next(iter(TEN_CLASSES.sizes.values())))
    return {
        method: [
            cell("validation", TEN_CLASSES.problem, method, 0, SEED, **{**fixed, **setting}) for setting in settings
        ]
        for method, settings in GRID.items()
    }


def chosen_setting(method: str) -> Changes:
    """Return what a method chose; that of the tables where it chose nothing."""
    return GRID[method][CHOSEN_SETTING.get(method, 0)]


def errors(found: Found) -> dict[str, list[float]]:
    """Return the validation error of each setting by method; NaN where it was not run."""

    def error(one: Cell) -> float:
        outcome = found.store.get(one)
        return float("nan") if outcome is None or outcome.measured is None else outcome.measured.error

    return {method: [error(one) for one in cells] for method, cells in grid_cells(found.plan).items()}


def lowest(of_method: list[float]) -> int | None:
    """Return which setting has the lowest validation error, the first of equals; None where one was not run.

    Examples
    --------
    >>> lowest([3.0, 2.0, 2.0, 4.0]), lowest([3.0, float("nan"), 2.0, 4.0])
    (1, None)
    """
    return None if np.isnan(of_method).any() else int(np.argmin(of_method))


def table(found: Found) -> Table:
    """Lay out the grid, the lowest of each method in bold."""
    rows = []
    for column, method in NETWORK_COLUMNS.items():
        of_method = errors(found)[method]
        entries = [
            Entry("not run" if np.isnan(error) else f"{error:.2f}", f" ({_text(setting)})", k == lowest(of_method))
            for k, (setting, error) in enumerate(zip(GRID[method], of_method, strict=True))
        ]
        rows.append([Entry(column), *entries])
    return Table(
        "Four settings a method: error in % on validation rows, lowest of each method in bold",
        ["", "first", "second", "third", "fourth"],
        rows,
        notes=[
            f"One draw (seed {SEED}, none of the table's) at {next(iter(TEN_CLASSES.sizes))}. These rows neither train "
            "nor test in any draw."
        ],
    )


def _text(setting: Changes) -> str:
    shown = [f"{name.removeprefix('objective.')} {value:g}" for name, value in setting.items()]
    return ", ".join(shown) or "as in the table above"
