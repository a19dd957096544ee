"""Figure 1: error by the share of the target that trains, 20 Newsgroups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gapmin._utils.statistics import TTest
from gapmin.reporting import Entry, Section, Table

from .cells import Cell
from .experiment import Experiment, Found, Plan
from .names import BASELINES, GAPBOOST
from .table2 import AS_DEMO, CLASSIFIERS, PRINTED_METHODS, PROTOCOLS
from .tables import AVERAGE, Block, Comparison, TransferGrid, difference, error_curves, error_entry
from .transfer import NEWSGROUPS
from .verdicts import HOW, judge, verdict

FROM = 0.05
"""Shares from here up: where gapBoost is to be the lowest of the printed methods."""


SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
DEMO_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Those of the authors' public demo."""


def methods(mode: str) -> tuple[str, ...]:
    """Return the curves of one mode."""
    return PRINTED_METHODS if mode == AS_DEMO else CLASSIFIERS


def grids(plan: Plan, mode: str) -> dict[float, TransferGrid]:
    """Return the cells of one mode by the share of the target that trains."""
    shares = (0.02, 0.1, 0.4) if plan.quick else DEMO_SHARES if mode == AS_DEMO else SHARES
    return {
        share: TransferGrid(f"{share:.0%}", NEWSGROUPS, methods(mode), {**PROTOCOLS[mode], "train": share})
        for share in shares
    }


def cells(plan: Plan) -> list[Cell]:
    """Every method in every mode at every share."""
    return [cell for mode in PROTOCOLS for grid in grids(plan, mode).values() for cell in grid.cells(plan)]


def show(found: Found) -> Section:
    """Curves on each problem and on average; the averages also as a table."""
    caption = "Bars are one standard error over the splits."
    figures, tables, points = [], [], []
    for mode in PROTOCOLS:
        blocks = {share: grid.block(found) for share, grid in grids(found.plan, mode).items()}
        averages = [{method: block.average(method) for method in methods(mode)} for block in blocks.values()]
        figures.append(error_curves(f"average of six problems, {mode}", caption, list(blocks), averages))
        if mode == "resampled":
            figures += [
                error_curves(
                    f"{problem}, {mode}", caption, list(blocks), [block.rows[problem] for block in blocks.values()]
                )
                for problem in NEWSGROUPS
            ]
        tables.append(_table(mode, list(blocks.values()), len(found.splits)))
        points += _verdicts(mode, blocks)
    claim = (
        "The paper: gapBoost consistently outperforms the baselines in all regimes of target sample size, and its "
        "improvement grows with the target sample."
    )
    return Section("Figure 1: size of the target sample", [claim, HOW], points, tables, figures)


def _table(mode: str, blocks: Sequence[Block], n_splits: int) -> Table:
    return Table(
        f"Figure 1, {mode}: error in % by the share of the target that trains, average of six problems, lowest in bold",
        ["", *methods(mode)],
        [_row(block, methods(mode)) for block in blocks],
        notes=[f"Mean ± standard error over {n_splits} splits; all else as in Table 2."],
    )


def _row(block: Block, among: Sequence[str]) -> list[Entry]:
    best = block.lowest(AVERAGE, among)
    entries = [error_entry(block.average(method), "", method == best, None) for method in among]
    return [Entry(block.heading), *entries]


def _verdicts(mode: str, blocks: dict[float, Block]) -> list[str]:
    means = [block.means(AVERAGE) for block in blocks.values()]
    ahead = np.array([min(of[each] for each in BASELINES) - of[GAPBOOST] for of in means])
    behind = [share for share, each in zip(blocks, ahead, strict=True) if not each > 0]
    points = [row for block in blocks.values() for row in block.rows.values()]
    n_lowest = sum(all(row[GAPBOOST].mean < row[each].mean for each in BASELINES) for row in points)
    late = [share for share in behind if share >= FROM]
    return [
        verdict(
            judge([test for block in blocks.values() for test in Comparison(block, GAPBOOST, BASELINES).tests()]),
            f"gapBoost is the lowest of the five printed curves on average at every share, {mode}"
            + (f". By means it is not at {_percent(behind)}" if behind else ". By means it is")
            + (f"; from {FROM:.0%} up it is." if behind and not late else "."),
        ),
        verdict(
            judge([difference(row[GAPBOOST], row[each]) for row in points for each in BASELINES]),
            f"gapBoost is the lowest of the five at every share on every problem, {mode}. By means it is at "
            f"{n_lowest} of {len(points)} points.",
        ),
        verdict(
            judge(_lead_tests(list(blocks.values()))),
            f"gapBoost's lead over the strongest baseline grows with the target sample, {mode}. It is "
            + ", ".join(f"{each:+.2f} at {share:.0%}" for share, each in zip(blocks, ahead, strict=True))
            + ".",
        ),
    ]


def _lead_tests(blocks: Sequence[Block]) -> list[TTest]:
    """Test from each share to the next: the lead over the baseline that is strongest there, less the next lead."""
    leads = []
    for block in blocks:
        ours, best = block.average(GAPBOOST), block.average(block.lowest(AVERAGE, BASELINES))
        leads.append(replace(ours, errors=best.errors - ours.errors))
    return [difference(now, following) for now, following in pairwise(leads)]


def _percent(shares: Sequence[float]) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


FIGURE1 = Experiment(
    "figure1",
    "error by the share of the target that trains",
    cells,
    show,
    splits=20,
    needs=("newsgroups",),
    whole_splits=True,
)
