"""Tables, sections and pages: as HTML, in the terminal, as Markdown and CSV. Knows no study and no experiment."""

from __future__ import annotations

from .files import to_csv, to_markdown, write_section
from .html import Report, Section, render_html, write_html
from .table import Entry, RowGroup, Table, shown_name
from .terminal import to_rich

__all__ = [
    "Entry",
    "Report",
    "RowGroup",
    "Section",
    "Table",
    "render_html",
    "shown_name",
    "to_csv",
    "to_markdown",
    "to_rich",
    "write_html",
    "write_section",
]
