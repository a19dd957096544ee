"""Figures drawn to text or bytes: the same ones in the page and in files, and the same to the byte each time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gapmin._utils.extras import install_hint

PNG_DPI = 160
FIGURE_SIZE = (5.2, 3.4)
"""Inches: half the width of a wide page."""


@dataclass(frozen=True)
class Figure:
    """A figure and what to see in it.

    Attributes
    ----------
    draw : callable
        Draws on the matplotlib Axes it is given: ``display.plot``.
    caption : str
        What stands below it.
    title : str
        What is shown, in a few words; also what a screen reader says.
    size : (float, float)
        Width and height in inches.

    Examples
    --------
    >>> from gapmin.plotting import EpochDisplay, Figure, draw_svg
    >>> display = EpochDisplay(curves={"gapMTNN": [3.0, 2.0, 1.5]}, unit="loss")
    >>> figure = Figure(display.plot, "The loss falls.", "Loss by epoch")
    >>> "<svg" in draw_svg(figure)
    True
    """

    draw: Callable[[Any], Any]
    caption: str
    title: str
    size: tuple[float, float] = FIGURE_SIZE


def draw_svg(figure: Figure, *, transparent: bool = False) -> str:
    """Draw a figure as an SVG element whose text stays text, to be read aloud, searched and copied.

    Parameters
    ----------
    figure : Figure
        What to draw.
    transparent : bool, default=False
        Draw no white ground: whoever shows it brings one.

    Returns
    -------
    str
        The element.
    """
    from html import escape

    buffer = io.StringIO()
    with _drawn(figure) as canvas:
        canvas.savefig(buffer, format="svg", transparent=transparent, bbox_inches="tight", pad_inches=0.04)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)  # it holds the date
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.title)}" ', 1).strip() + "\n"


def draw_png(figure: Figure) -> bytes:
    """Draw a figure as a PNG file on white.

    Parameters
    ----------
    figure : Figure
        What to draw.

    Returns
    -------
    bytes
        The file.
    """
    buffer = io.BytesIO()
    with _drawn(figure) as canvas:
        canvas.savefig(
            buffer, format="png", dpi=PNG_DPI, bbox_inches="tight", pad_inches=0.04, metadata={"Software": None}
        )
    return buffer.getvalue()


@contextmanager
def _drawn(figure: Figure) -> Iterator[Any]:
    """Draw on a canvas of matplotlib's that no window and no global state knows of."""
    with install_hint("report", "figures are drawn with matplotlib"):
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    # The salt makes the ids of two drawings the same.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gapmin", "font.size": 10}):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        FigureCanvasAgg(canvas)
        figure.draw(canvas.subplots())
        yield canvas
