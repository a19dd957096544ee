"""Figure 3: rho_S and rho_T together, target rows gaining weight where the auxiliary learners agree, 20 Newsgroups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gapmin.plotting import Figure
from gapmin.plotting.heat_maps import SurfaceDisplay
from gapmin.reporting.html import Section

from .cells import Cell
from .experiment import Experiment, Found, Plan
from .figure2 import SHARES, errors_at
from .tables import verdict
from .transfer import GAPBOOST, NEWSGROUPS

SOURCE = (0.1, 0.3, 0.5, 0.7, 0.9)
TARGET = (1.0, 1.2, 1.5, 2.0, 3.0)
QUICK_SOURCE, QUICK_TARGET = (0.1, 0.5, 0.9), (1.0, 2.0)


def grid(plan: Plan) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return exp(rho_S) and exp(rho_T) of a plan."""
    return (QUICK_SOURCE, QUICK_TARGET) if plan.quick else (SOURCE, TARGET)


def rhos(source: float, target: float) -> dict[str, float]:
    """Return the settings of gapBoost; rho_T = 0 is left unsaid, for then they are those of Figure 2."""
    return {"exp_rho_source": source} | ({} if target == 1 else {"exp_rho_target": target})


def cells(plan: Plan) -> list[Cell]:
    """GapBoost at every pair."""
    sources, targets = grid(plan)
    return [
        cell
        for share in SHARES
        for problem in NEWSGROUPS
        for source in sources
        for target in targets
        for cell in plan.cells("transfer", problem, GAPBOOST, train=share, resample=False, **rhos(source, target))
    ]


def show(found: Found) -> Section:
    """A surface for each share, and one for their mean."""
    sources, targets = grid(found.plan)
    by_share = {
        share: np.array(
            [
                [errors_at(found, share, GAPBOOST, **rhos(source, target)).mean() for source in sources]
                for target in targets
            ]
        )
        for share in SHARES
    }
    surfaces = {f"{share:.0%} of the target trains": surface for share, surface in by_share.items()}
    surfaces["average over the shares"] = np.mean(list(by_share.values()), axis=0)
    figures = [
        Figure(
            SurfaceDisplay(
                x=sources,
                y=targets,
                errors=surface,
                xlabel=r"$\exp(\rho_S)$",
                ylabel=r"$\exp(\rho_T)$",
            ).plot,
            "The bottom row is rho_T = 0, the rule of Figure 2.",
            what,
        )
        for what, surface in surfaces.items()
    ]
    points = [*(_say(what, surface, sources, targets) for what, surface in surfaces.items()), _spread(by_share)]
    return Section("Figure 3: rho_S and rho_T together", TEXT, points, figures=figures)


def _say(what: str, surface: NDArray[np.float64], sources: tuple[float, ...], targets: tuple[float, ...]) -> str:
    row, column = np.unravel_index(int(surface.argmin()), surface.shape)
    # Each against the same rho_S with rho_T = 0: the lowest of many would be lower by chance alone.
    lower = surface[1:] < surface[0]
    return verdict(
        bool(lower.mean() > 0.5),
        f"gapBoost does better with rho_T above 0, {what}. It does in {int(lower.sum())} of {lower.size} comparisons "
        f"at the same rho_S. The lowest is {surface.min():.2f} at exp(rho_S) = {sources[column]:g}, exp(rho_T) = "
        f"{targets[row]:g}; with rho_T = 0, {surface[0].min():.2f}.",
    )


def _spread(surfaces: dict[float, NDArray[np.float64]]) -> str:
    spread = [float(np.ptp(surface)) for surface in surfaces.values()]
    return verdict(
        spread == sorted(spread, reverse=True),
        "gapBoost is less sensitive to rho_S and rho_T as the sample grows. The mean error spans "
        + ", ".join(f"{each:.2f} at {share:.0%}" for share, each in zip(surfaces, spread, strict=True))
        + ".",
    )


TEXT = (
    "The paper: with target rows up-weighted where the auxiliary learners agree (rho_T above 0), gapBoost does better "
    "still, and is less sensitive as the target sample grows. With weights, average of six problems.",
)

EXPERIMENT = Experiment(
    "figure3",
    "rho_S and rho_T together",
    cells,
    show,
    splits=5,
    quick_splits=1,
    needs=("newsgroups",),
    whole_splits=True,
)
