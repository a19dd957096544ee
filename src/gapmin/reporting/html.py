"""One self-contained HTML page: headings, text, tables and figures, no file beside it and nothing loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gapmin._utils.extras import install_hint
from gapmin._utils.io import write_atomically
from gapmin.plotting import Figure, draw_svg

from .charts import Chart
from .table import Table

if TYPE_CHECKING:
    from markupsafe import Markup

_FEW_SECTIONS = 4
"""A page with more has a table of contents."""


@dataclass(frozen=True)
class Section:
    """A heading with text, tables, figures and notes under it, in that order.

    Attributes
    ----------
    heading : str
        What stands above it.
    text : sequence of str
        Paragraphs.
    points : sequence of str
        A list below the text.
    tables : sequence of Table
        The tables.
    figures : sequence of Figure
        The figures.
    notes : sequence of str
        Small, below all else: how it was run.
    code : str
        Lines of a program, below the figures.
    charts : sequence of Chart
        Above the tables.
    terms : sequence of (str, str)
        Words and what they mean, below the figures.
    """

    heading: str
    text: Sequence[str] = ()
    points: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    code: str = ""
    charts: Sequence[Chart] = ()
    terms: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Report:
    """What a page shows.

    Attributes
    ----------
    title : str
        What stands above it.
    headline : str
        The result in a sentence.
    sections : sequence of Section
        The parts, from the top.
    summary : sequence of (str, sequence of str)
        A box in place of the headline: what each part is about, and its sentences.
    warnings : sequence of str
        Below the box.
    lead : str
        Above the box: what was asked.
    """

    title: str
    headline: str
    sections: Sequence[Section] = field(default_factory=list)
    summary: Sequence[tuple[str, Sequence[str]]] = ()
    warnings: Sequence[str] = ()
    lead: str = ""


def render_html(report: Report) -> str:
    """Return the page.

    Text is escaped; figures are drawn as inline SVG. A Content-Security-Policy forbids scripts, and loading anything.

    Parameters
    ----------
    report : Report
        The page.

    Returns
    -------
    str
        A whole HTML page.

    Examples
    --------
    >>> page = render_html(Report("A <b>title</b>", "All is well."))
    >>> "<h1>A &lt;b&gt;title&lt;/b&gt;</h1>" in page
    True
    """
    with install_hint("report", "the report is made with jinja2"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    numbers = iter(range(1, 1_000_000))
    environment = Environment(
        loader=PackageLoader("gapmin.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["svg"] = lambda figure: inline_svg(figure, f"fig{next(numbers)}")
    anchors = _anchors([section.heading for section in report.sections])
    return environment.get_template("report.html").render(
        report=report, anchors=anchors, has_contents=len(anchors) > _FEW_SECTIONS
    )


def _anchors(headings: Sequence[str]) -> list[str]:
    """Return an id for each heading, made of its words.

    Examples
    --------
    >>> _anchors(["Table 2: errors", "Über all", "Table 2, errors"])
    ['section-table-2-errors', 'section-über-all', 'section-table-2-errors-2']
    """
    anchors: list[str] = []
    for heading in headings:
        anchor = base = "-".join(["section", *re.findall(r"\w+", heading.lower())])
        again = 1
        while anchor in anchors:
            again += 1
            anchor = f"{base}-{again}"
        anchors.append(anchor)
    return anchors


def write_html(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write the page, whole or not at all.

    Parameters
    ----------
    report : Report
        The page.
    path : path
        An existing file there is replaced once the new one is complete.

    Returns
    -------
    Path
        Where the page is.
    """
    return write_atomically(render_html(report), path)


def inline_svg(figure: Figure, name: str) -> Markup:
    """Draw a figure as an SVG element to put into a page.

    Parameters
    ----------
    figure : Figure
    name : str
        Put before every id, for ids must differ between the figures of one page.
    """
    from markupsafe import Markup

    svg = draw_svg(figure, transparent=True)
    return Markup(re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg).strip())
