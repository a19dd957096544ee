"""What a run found, shown: displays (matplotlib), tables in the terminal (rich), a self-contained HTML page (jinja2).

Nothing here is imported by ``import gapmin``; it comes with the extra ``report``, the terminal's part with ``cli``.
"""

from __future__ import annotations

from .bar_displays import BarsDisplay
from .curve_displays import ErrorCurveDisplay, SensitivityDisplay
from .displays import DisagreementDisplay, EpochDisplay, WeightMassDisplay
from .files import to_csv, to_markdown, write_section
from .gap_displays import GapDisplay, RiskBoundDisplay
from .heat_maps import RelationDisplay, SurfaceDisplay
from .html import Figure, Report, Section, render_html, write_html
from .results import Cell, Duel, Results
from .table import Entry, RowGroup, Table

__all__ = [
    "BarsDisplay",
    "Cell",
    "DisagreementDisplay",
    "Duel",
    "Entry",
    "EpochDisplay",
    "ErrorCurveDisplay",
    "Figure",
    "GapDisplay",
    "RelationDisplay",
    "Report",
    "Results",
    "RiskBoundDisplay",
    "RowGroup",
    "Section",
    "SensitivityDisplay",
    "SurfaceDisplay",
    "Table",
    "WeightMassDisplay",
    "render_html",
    "to_csv",
    "to_markdown",
    "write_html",
    "write_section",
]
