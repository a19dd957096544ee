"""Displays: figures drawn with matplotlib from arrays, frames or gap results.

They know no estimator, so that whatever has numbers can be drawn. Needs the extra ``report``.
"""

from __future__ import annotations

from .bar_displays import WIDTH, BarsDisplay, bars_height
from .curve_displays import ErrorCurveDisplay, SensitivityDisplay
from .displays import DisagreementDisplay, EpochDisplay, WeightMassDisplay
from .drawing import Figure, draw_png, draw_svg
from .evidence_displays import EvidenceDisplay, figure_names
from .gap_displays import GapDisplay, RiskBoundDisplay
from .heat_maps import RelationDisplay, SurfaceDisplay

__all__ = [
    "WIDTH",
    "BarsDisplay",
    "DisagreementDisplay",
    "EpochDisplay",
    "ErrorCurveDisplay",
    "EvidenceDisplay",
    "Figure",
    "GapDisplay",
    "RelationDisplay",
    "RiskBoundDisplay",
    "SensitivityDisplay",
    "SurfaceDisplay",
    "WeightMassDisplay",
    "bars_height",
    "draw_png",
    "draw_svg",
    "figure_names",
]
