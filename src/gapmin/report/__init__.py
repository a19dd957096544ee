"""What a run found, shown: displays (matplotlib), tables in the terminal (rich), a self-contained HTML page (jinja2).

Nothing here is imported by ``import gapmin``; it comes with the extra ``report``, the terminal's part with ``cli``.
"""

from __future__ import annotations

from .displays import DisagreementDisplay, EpochDisplay, ErrorCurveDisplay, WeightMassDisplay
from .gap_displays import GapDisplay, RelationDisplay, RiskBoundDisplay
from .html import Figure, Report, Section, render_html, write_html
from .results import Cell, Duel, Results
from .table import Entry, Table

__all__ = [
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
    "Section",
    "Table",
    "WeightMassDisplay",
    "render_html",
    "write_html",
]
