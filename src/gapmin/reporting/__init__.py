"""Tables, sections and pages: as HTML, in the terminal, as Markdown and CSV. Knows no study and no experiment."""

from __future__ import annotations

from .files import to_csv, to_markdown, write_section
from .html import Report, Section, render_html, write_html
from .results import Cell, Duel, Results
from .table import Entry, RowGroup, Table, error_caption, shown_name
from .terminal import to_rich

__all__ = [
    "Cell",
    "Duel",
    "Entry",
    "Report",
    "Results",
    "RowGroup",
    "Section",
    "Table",
    "error_caption",
    "render_html",
    "shown_name",
    "to_csv",
    "to_markdown",
    "to_rich",
    "write_html",
    "write_section",
]
