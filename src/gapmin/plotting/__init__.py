"""Displays: figures drawn with matplotlib from arrays, frames or gap results.

They know no estimator, so that whatever has numbers can be drawn. Needs the extra ``report``.
"""

from __future__ import annotations

from .bar_displays import BarsDisplay
from .curve_displays import ErrorCurveDisplay, SensitivityDisplay
from .displays import DisagreementDisplay, EpochDisplay, WeightMassDisplay
from .drawing import Figure, draw_png, draw_svg
from .gap_displays import GapDisplay, RiskBoundDisplay
from .heat_maps import RelationDisplay, SurfaceDisplay
from .method_comparison import MethodComparisonDisplay
from .ranking_displays import RankingDisplay

__all__ = [
    "BarsDisplay",
    "DisagreementDisplay",
    "EpochDisplay",
    "ErrorCurveDisplay",
    "Figure",
    "GapDisplay",
    "MethodComparisonDisplay",
    "RankingDisplay",
    "RelationDisplay",
    "RiskBoundDisplay",
    "SensitivityDisplay",
    "SurfaceDisplay",
    "WeightMassDisplay",
    "draw_png",
    "draw_svg",
]
