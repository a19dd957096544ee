"""Figure 3: rho_S and rho_T together, target rows gaining weight where the auxiliary learners agree, 20 Newsgroups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gapmin.plotting import Figure, SurfaceDisplay
from gapmin.reporting import Section

from .cells import Cell
from .experiment import Experiment, Found, Plan
from .figure2 import TARGET_SHARES, gapboost_grid, spread_verdict
from .names import GAPBOOST
from .tables import TransferGrid, verdict


def axes(plan: Plan) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return exp(rho_S) and exp(rho_T) of a plan."""
    return ((0.1, 0.5, 0.9), (1.0, 2.0)) if plan.quick else ((0.1, 0.3, 0.5, 0.7, 0.9), (1.0, 1.2, 1.5, 2.0, 3.0))


def grid_at(share: float, source: float, target: float) -> TransferGrid:
    """Return gapBoost at one point; rho_T = 0 is left unsaid, for then the cells are those of Figure 2."""
    return gapboost_grid(share, exp_rho_source=source, **({} if target == 1 else {"exp_rho_target": target}))


def cells(plan: Plan) -> list[Cell]:
    """GapBoost at every pair."""
    sources, targets = axes(plan)
    return [
        cell
        for share in TARGET_SHARES
        for source in sources
        for target in targets
        for cell in grid_at(share, source, target).cells(plan)
    ]


def show(found: Found) -> Section:
    """A surface for each share, and one for their mean."""
    sources, targets = axes(found.plan)

    def mean(share: float, source: float, target: float) -> float:
        return float(grid_at(share, source, target).block(found).average(GAPBOOST).errors.mean())

    by_share = {
        share: np.array([[mean(share, source, target) for source in sources] for target in targets])
        for share in TARGET_SHARES
    }
    surfaces = {f"{share:.0%} of the target trains": surface for share, surface in by_share.items()}
    surfaces["average over the shares"] = np.mean(list(by_share.values()), axis=0)
    labels = {"xlabel": r"$\exp(\rho_S)$", "ylabel": r"$\exp(\rho_T)$"}
    figures = [
        Figure(
            SurfaceDisplay(x=sources, y=targets, errors=surface, **labels).plot,
            "The bottom row is rho_T = 0, the rule of Figure 2.",
            what,
        )
        for what, surface in surfaces.items()
    ]
    text = (
        "The paper: with target rows up-weighted where the auxiliary learners agree (rho_T above 0), gapBoost does "
        "better still, and is less sensitive as the target sample grows. With weights, average of six problems."
    )
    points = [_target_verdict(what, surface, sources, targets) for what, surface in surfaces.items()]
    spread = spread_verdict(
        "gapBoost is less sensitive to rho_S and rho_T as the sample grows. The mean error spans ", by_share
    )
    return Section("Figure 3: rho_S and rho_T together", [text], [*points, spread], figures=figures)


def _target_verdict(
    what: str, surface: NDArray[np.float64], sources: tuple[float, ...], targets: tuple[float, ...]
) -> str:
    row, column = np.unravel_index(int(surface.argmin()), surface.shape)
    # Each against the same rho_S with rho_T = 0: the lowest of many would be lower by chance alone.
    lower = surface[1:] < surface[0]
    return verdict(
        bool(lower.mean() > 0.5),
        f"gapBoost does better with rho_T above 0, {what}. It does in {int(lower.sum())} of {lower.size} comparisons "
        f"at the same rho_S. The lowest is {surface.min():.2f} at exp(rho_S) = {sources[column]:g}, exp(rho_T) = "
        f"{targets[row]:g}; with rho_T = 0, {surface[0].min():.2f}.",
    )


FIGURE3 = Experiment(
    "figure3",
    "rho_S and rho_T together",
    cells,
    show,
    splits=5,
    needs=("newsgroups",),
    whole_splits=True,
)
