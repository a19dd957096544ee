"""An experiment: which cells a table or figure of the paper is made of, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .cells import Cell, Measured, SettingValue, cell
from .store import Outcomes

if TYPE_CHECKING:
    from gapmin.reporting import Section

SMALL, PAPER = "small", "paper"
"""The protocols of the networks: what two cores manage, and Appendix C."""


@dataclass(frozen=True)
class Plan:
    """How much of an experiment to run.

    Attributes
    ----------
    splits : int
        Random splits of each problem; of a network, draws of rows and first weights.
    seed : int
    quick : bool
        Fewer settings too, where an experiment sweeps over many.
    epochs : int
        Of networks.
    protocol : "small" or "paper"
        Of networks: features of frozen ones, or Appendix C.
    device : str
        Where networks of the paper's protocol are trained.
    """

    splits: int
    seed: int = 0
    quick: bool = False
    epochs: int = 120
    protocol: str = SMALL
    device: str = "cpu"

    def cells(self, kind: str, problem: str, method: str, /, **setting: SettingValue) -> list[Cell]:
        """Return a cell for each split."""
        return [cell(kind, problem, method, split, self.seed, **setting) for split in range(self.splits)]


@dataclass(frozen=True)
class Series:
    """The errors of a method on a problem, split by split.

    Attributes
    ----------
    errors : ndarray of shape (n_splits,)
        NaN where a cell failed or was not run.
    n_train, n_test : float
        Rows that trained and that tested in a split.
    """

    errors: NDArray[np.float64]
    n_train: float
    n_test: float

    @property
    def mean(self) -> float:
        """Mean over the splits there are; NaN where there are none."""
        there = self.errors[~np.isnan(self.errors)]
        return float(there.mean()) if there.size else float("nan")

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN with fewer than two splits."""
        there = self.errors[~np.isnan(self.errors)]
        return float(there.std(ddof=1) / np.sqrt(there.size)) if there.size > 1 else float("nan")


def average(series: Sequence[Series]) -> Series:
    """Return the mean over several problems, split by split."""
    return Series(
        np.mean([each.errors for each in series], axis=0),
        float(np.mean([each.n_train for each in series])),
        float(np.mean([each.n_test for each in series])),
    )


class Found:
    """What a plan found: outcomes by what was asked for.

    Parameters
    ----------
    store : Outcomes
    plan : Plan
    splits : iterable of int, optional
        Look at these only; by default at all of the plan.
    """

    def __init__(self, store: Outcomes, plan: Plan, splits: Iterable[int] | None = None) -> None:
        self.store = store
        self.plan = plan
        self.splits = frozenset(range(plan.splits) if splits is None else splits)

    def whole(self, cells: Iterable[Cell]) -> Found:
        """Return what was found on the splits none of whose cells failed or is missing."""
        return Found(self.store, self.plan, self.splits - {each.split for each in cells if not self._there(each)})

    def lost(self, cells: Iterable[Cell]) -> list[tuple[str, str]]:
        """Return method and problem of each series of cells that has no result at all."""
        by_series: dict[tuple[str, ...], list[Cell]] = {}
        for each in cells:
            by_series.setdefault(each.series, []).append(each)
        return list(
            dict.fromkeys(
                (group[0].method, group[0].problem) for group in by_series.values() if not any(map(self._there, group))
            )
        )

    def _there(self, cell: Cell) -> bool:
        outcome = self.store.get(cell)
        return outcome is not None and outcome.measured is not None

    def measured(self, kind: str, problem: str, method: str, /, **setting: SettingValue) -> list[Measured | None]:
        """Return what each split found; None where it failed or was not run."""
        cells = (each for each in self.plan.cells(kind, problem, method, **setting) if each.split in self.splits)
        outcomes = (self.store.get(each) for each in cells)
        return [None if outcome is None else outcome.measured for outcome in outcomes]

    def series(self, kind: str, problem: str, method: str, /, **setting: SettingValue) -> Series:
        """Return the errors of a method on a problem."""
        found = self.measured(kind, problem, method, **setting)
        return _series([None if each is None else (each.error, each.n_train, each.n_test) for each in found])

    def part(self, name: str, kind: str, problem: str, method: str, /, **setting: SettingValue) -> Series:
        """Return the errors on one of the parts that the error of a problem is the mean of."""
        found = self.measured(kind, problem, method, **setting)
        return _series([None if each is None else (each.parts[name], *each.extra["rows"][name]) for each in found])


def _series(found: Sequence[tuple[float, float, float] | None]) -> Series:
    """Put together error, training rows and test rows of each split."""
    rows = [(n_train, n_test) for _, n_train, n_test in filter(None, found)]
    n_train, n_test = np.mean(rows, axis=0).tolist() if rows else (0.0, 0.0)
    return Series(np.array([np.nan if each is None else each[0] for each in found]), n_train, n_test)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or a section of the demo.

    Attributes
    ----------
    name : str
        As typed on the command line: "table2".
    title : str
    cells : callable
        From a plan to the cells to run; `grid` has each of them once.
    show : callable
        From what a plan found to a section of the report.
    splits, quick_splits : int
        How many, where the user does not say.
    needs : tuple of str, or callable from the protocol to one
        Names of data sets in the catalogue.
    networks : bool
        Whether PyTorch is needed.
    epochs, quick_epochs : int
        Of networks, where the user does not say.
    whole_splits : bool
        Show only splits on which no cell failed: for curves, whose points must be of the same splits.
    optional : callable
        From a cell to whether all others are judged without it.
    about : callable
        From a plan to what its page says of the protocol.
    """

    name: str
    title: str
    cells: Callable[[Plan], list[Cell]]
    show: Callable[[Found], Section]
    splits: int
    quick_splits: int = 1
    needs: tuple[str, ...] | Callable[[str], tuple[str, ...]] = ()
    networks: bool = False
    epochs: int = 120
    quick_epochs: int = 3
    whole_splits: bool = False
    optional: Callable[[Cell], bool] = lambda cell: False
    about: Callable[[Plan], str] = lambda plan: "The two protocols are the same here: there is no network."

    def data_sets(self, protocol: str = SMALL) -> tuple[str, ...]:
        """Return the names of the data sets that are needed."""
        return self.needs(protocol) if callable(self.needs) else self.needs

    def grid(self, plan: Plan) -> list[Cell]:
        """Return the cells of a plan, each once: parts of a table may share some."""
        return list(dict.fromkeys(self.cells(plan)))

    def section(self, store: Outcomes, plan: Plan) -> Section:
        """Show what a plan found."""
        from gapmin.reporting import Section

        found = Found(store, plan)
        lost = found.lost([each for each in self.grid(plan) if not self.optional(each)])
        if lost:
            # Tables show what there is; nothing is said of who is best when somebody is missing.
            method, problem = lost[0]
            reason = f"Not judged: there is no result of {method} on {problem}"
            more = f", nor of {len(lost) - 1} others" if len(lost) > 1 else ""
            shown = Section(self.title) if self.whole_splits else self.show(found)
            return replace(shown, points=[f"{reason}{more}."])
        if self.whole_splits:
            found = found.whole(self.grid(plan))
            if not found.splits:
                return Section(self.title, points=["On every split some cell failed or is missing: nothing to draw."])
        return self.show(found)

    def plan(
        self,
        *,
        splits: int | None = None,
        seed: int = 0,
        quick: bool = False,
        epochs: int | None = None,
        protocol: str = SMALL,
        device: str = "cpu",
    ) -> Plan:
        """Return how much to run."""
        return Plan(
            splits or (self.quick_splits if quick else self.splits),
            seed,
            quick,
            epochs or (self.quick_epochs if quick else self.epochs),
            protocol if self.networks else SMALL,
            device if self.networks else "cpu",
        )
