"""Horizontal bars with their numbers at the ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gapmin._utils.text import format_number

from .displays import INK, PALE, PALETTE, Display

WIDTH = 5.2
_ROW = 0.19
"""Inches from one bar to the next."""


def bars_height(n_bars: int) -> float:
    """Return the inches that so many horizontal bars need with an axis and a legend.

    Parameters
    ----------
    n_bars : int
        How many bars there are.

    Returns
    -------
    float
        Inches.
    """
    return 0.95 + 0.215 * max(n_bars, 3)


class BarsDisplay(Display):
    """Numbers as horizontal bars in groups, one group below the other, a bar of each name in its colour.

    Parameters
    ----------
    values : mapping of group to mapping of name to float
        From the top. A group may lack a name.
    unit : str
        The label of the axis.
    baseline : float, optional
        Where a line stands to compare with.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    bars_ : dict of (group, name) to matplotlib's Rectangle
        The bars, by name.
    size : (float, float)
        Inches that all bars need: the size to give to a `Figure`.

    Examples
    --------
    >>> from gapmin.plotting import BarsDisplay
    >>> seconds = {"Digits": {"Uniform": 1.0, "gapMTNN": 1.25}, "PACS": {"Uniform": 1.0, "gapMTNN": 1.1}}
    >>> display = BarsDisplay(values=seconds, unit="time of an epoch, Uniform = 1", baseline=1).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['Digits', '1.00', '1.25', 'PACS', '1.00', '1.10']
    """

    _grid = "x"

    def __init__(self, *, values: Mapping[str, Mapping[str, float]], unit: str, baseline: float | None = None) -> None:
        self.values: dict[str, dict[str, float]] = {group: dict(each) for group, each in values.items()}
        if not any(self.values.values()):
            raise ValueError("there is no bar to draw: give at least one")
        self.unit = unit
        self.baseline = baseline

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which names and numbers do not overlap."""
        n_rows = sum(1.5 + len(each) for each in self.values.values())
        return WIDTH, 0.6 + _ROW * n_rows

    def _draw(self, ax: Any) -> None:
        names = list(dict.fromkeys(name for each in self.values.values() for name in each))
        colors = {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}
        self.bars_: dict[tuple[str, str], Any] = {}
        row, named = 0.0, []
        for group, each in self.values.items():
            ax.annotate(
                group, (0, row), xycoords=("axes fraction", "data"), va="center", weight="bold", annotation_clip=False
            )
            for name, value in each.items():
                row += 1
                named.append((row, name))
                (self.bars_[group, name],) = ax.barh(row, value, color=colors[name], height=0.8)
                # On a ground of its own, for the baseline may pass there.
                ground = {"facecolor": PALE, "edgecolor": "none", "pad": 0.5}
                at_end(ax, value, row, format_number(value), fontsize=8.5, bbox=ground)
            row += 1.5
        name_rows(ax, [name for _, name in named], [row for row, _ in named])
        ax.tick_params(axis="y", labelsize=8.5)
        ax.set_xlabel(self.unit)
        if self.baseline is not None:
            ax.axvline(self.baseline, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))


def name_rows(ax: Any, names: Sequence[Any], rows: Sequence[float] | None = None) -> None:
    """Name horizontal bars, the first on top, and leave room for what is written at their ends."""
    rows = range(len(names)) if rows is None else rows
    ax.set_yticks(rows, [str(name) for name in names])
    ax.set_ylim(max(rows) + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.16)
    ax.autoscale_view(scaley=False)
    ax.set_xlim(left=0)


def legend_above(ax: Any, handles: Sequence[Any], labels: Sequence[str], side: str, n_columns: int) -> None:
    """Put the legend where no bar can be."""
    ax.legend(
        handles,
        labels,
        loc=f"lower {side}",
        bbox_to_anchor=(float(side == "right"), 1),
        ncols=n_columns,
        frameon=False,
        borderpad=0,
        labelspacing=0.25,
        columnspacing=1.2,
    )


def at_end(ax: Any, x: float, row: float, text: str, **style: Any) -> None:
    """Write to the right of a bar that ends at `x`."""
    ax.annotate(text, (x, row), (4, 0), textcoords="offset points", va="center", annotation_clip=False, **style)


__all__ = ["WIDTH", "BarsDisplay", "at_end", "bars_height", "legend_above", "name_rows"]
