"""Figure 1: error by the share of the target that trains, 20 Newsgroups."""

from __future__ import annotations

import numpy as np

from gapmin.plotting import Figure
from gapmin.plotting.curve_displays import ErrorCurveDisplay
from gapmin.reporting.html import Section
from gapmin.reporting.table import Entry, RowGroup, Table

from .cells import Cell
from .experiment import Experiment, Found, Plan, Series, average
from .table2 import METHODS, MODES, setting_of
from .tables import error_entry, verdict
from .transfer import BASELINES, GAPBOOST, NEWSGROUPS

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
QUICK_SHARES = (0.02, 0.1, 0.4)
FROM = 0.05
"""Shares from here up: where gapBoost is to be the lowest of the printed methods."""


def shares(plan: Plan) -> tuple[float, ...]:
    """Return the shares of a plan."""
    return QUICK_SHARES if plan.quick else SHARES


def cells(plan: Plan) -> list[Cell]:
    """Every method in both modes at every share."""
    return [
        cell
        for share in shares(plan)
        for problem in NEWSGROUPS
        for resample in MODES.values()
        for method in METHODS
        for cell in plan.cells("transfer", problem, method, **setting_of(method, resample, train=share))
    ]


def show(found: Found) -> Section:
    """Curves on each problem and on average; the averages also as a table."""
    figures, groups, points = [], [], []
    sizes = shares(found.plan)
    for mode, resample in MODES.items():
        curves = {
            problem: {
                method: [
                    found.series("transfer", problem, method, **setting_of(method, resample, train=share))
                    for share in sizes
                ]
                for method in METHODS
            }
            for problem in NEWSGROUPS
        }
        mean = {
            method: [average([curves[problem][method][k] for problem in NEWSGROUPS]) for k in range(len(sizes))]
            for method in METHODS
        }
        figures.append(_figure(f"average of six problems, {mode}", sizes, mean))
        if resample:
            figures += [_figure(f"{problem}, {mode}", sizes, curves[problem]) for problem in NEWSGROUPS]
        groups.append(_group(mode, sizes, mean))
        points += _say(mode, sizes, mean, curves)
    table = Table(
        "Figure 1: error in % by the share of the target that trains, average of six problems, lowest in bold",
        ["", *METHODS],
        groups=groups,
        notes=[f"Mean ± standard error over {found.plan.splits} splits; all else as in Table 2."],
    )
    return Section("Figure 1: size of the target sample", TEXT, points, [table], figures)


def _figure(what: str, sizes: tuple[float, ...], curves: dict[str, list[Series]]) -> Figure:
    errors = {method: np.array([each.errors for each in series]) for method, series in curves.items()}
    return Figure(
        ErrorCurveDisplay(sizes=sizes, errors=errors).plot, "Bars are one standard error over the splits.", what
    )


def _group(mode: str, sizes: tuple[float, ...], mean: dict[str, list[Series]]) -> RowGroup:
    rows = []
    for k, share in enumerate(sizes):
        best = min(METHODS, key=lambda method: mean[method][k].mean)
        rows.append(
            [
                Entry(f"{share:.0%}"),
                *(error_entry(mean[method][k], "", method == best, None) for method in METHODS),
            ]
        )
    return RowGroup(mode, rows)


def _say(
    mode: str,
    sizes: tuple[float, ...],
    mean: dict[str, list[Series]],
    curves: dict[str, dict[str, list[Series]]],
) -> list[str]:
    means = {method: np.array([each.mean for each in series]) for method, series in mean.items()}
    strongest = np.min([means[method] for method in BASELINES], axis=0)
    ahead = strongest - means[GAPBOOST]
    behind = [share for share, each in zip(sizes, ahead, strict=True) if not each > 0]
    n_curves = len(curves) * len(sizes)
    n_lowest = sum(
        all(of[GAPBOOST][k].mean < of[each][k].mean for each in BASELINES)
        for of in curves.values()
        for k in range(len(sizes))
    )
    late = [share for share in behind if share >= FROM]
    return [
        verdict(
            not behind,
            f"gapBoost is the lowest of the five printed curves on average at every share, {mode}"
            + (f". It is not at {_percent(behind)}" if behind else "")
            + (f"; from {FROM:.0%} up it is." if behind and not late else "."),
        ),
        verdict(
            n_lowest == n_curves,
            f"gapBoost is the lowest of the five at every share on every problem, {mode}. It is at {n_lowest} of "
            f"{n_curves} points.",
        ),
        verdict(
            bool((np.diff(ahead) > 0).all()),
            f"gapBoost's lead over the strongest baseline grows with the target sample, {mode}. It is "
            + ", ".join(f"{each:+.2f} at {share:.0%}" for share, each in zip(sizes, ahead, strict=True))
            + ".",
        ),
    ]


def _percent(shares: list[float]) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


TEXT = (
    "The paper: gapBoost consistently outperforms the baselines in all regimes of target sample size, and its "
    "improvement grows with the target sample.",
)

EXPERIMENT = Experiment(
    "figure1",
    "error by the share of the target that trains",
    cells,
    show,
    splits=5,
    quick_splits=1,
    needs=("newsgroups",),
    whole_splits=True,
)
