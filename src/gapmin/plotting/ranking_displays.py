"""Displays of what adding each source does to the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from .bar_displays import WIDTH, bars_height
from .displays import INK, PALETTE, _Display

VERDICT_STYLES = {"helps": (PALETTE[3], "o"), "neutral": (PALETTE[0], "s"), "hurts": (PALETTE[4], "X")}
"""Colour and shape of each verdict, which is also written beside the point."""

_UNITS = {
    ("classification", "loss"): "change of half the target's Brier score",
    ("classification", "error"): "change of the target's error, in percentage points",
    ("regression", "loss"): "change of the target's squared error, its variance = 1",
    ("regression", "error"): "change of the target's root mean squared error",
}


class IntervalDisplay(_Display):
    """Rows of points with intervals, from the top, beside a vertical line that they are read against."""

    def _draw_intervals(
        self,
        ax: Any,
        rows: Mapping[str, tuple[float, float, float]],
        styles: Mapping[str, tuple[str, str]],
        line: float,
        line_name: str,
    ) -> None:
        """Draw mean, low and high of each row in its colour and marker, and name the rows and the line."""
        self.points_: dict[str, Any] = {}
        self.intervals_: dict[str, Any] = {}
        ax.axvline(line, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        for row, (name, (mean, low, high)) in enumerate(rows.items()):
            color, marker = styles[name]
            (self.intervals_[name],) = ax.plot([low, high], [row, row], color=color, linewidth=1.8)
            (self.points_[name],) = ax.plot([mean], [row], color=color, marker=marker, markersize=7, linestyle="none")
        ax.set_yticks(range(len(rows)), list(map(str, rows)))
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.margins(x=0.06)
        ax.annotate(
            line_name,
            (line, 1),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontsize=8.5,
            annotation_clip=False,
        )


class RankingDisplay(IntervalDisplay):
    """The change that each source makes, a point with its interval, beside a line where nothing changes.

    Parameters
    ----------
    changes : mapping of name to (mean, low, high)
        From the top; below 0 is better.
    verdicts : mapping of name to "helps", "neutral" or "hurts"
    unit : str, default=""
        The label of the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    points_, intervals_ : dict of name to matplotlib's Line2D

    Examples
    --------
    >>> from gapmin.plotting.ranking_displays import RankingDisplay
    >>> changes = {"north": (-0.2, -0.3, -0.1), "south": (0.1, -0.1, 0.3)}
    >>> display = RankingDisplay(changes=changes, verdicts={"north": "helps", "south": "neutral"}).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['helps', 'neutral', 'no change']
    """

    def __init__(
        self, *, changes: Mapping[str, tuple[float, float, float]], verdicts: Mapping[str, str], unit: str = ""
    ) -> None:
        if not changes:
            raise ValueError("there is no source to draw: give at least one")
        for name in changes:
            if verdicts.get(name) not in VERDICT_STYLES:
                raise ValueError(
                    f"the verdict of {name!r} is {verdicts.get(name)!r}: use 'helps', 'neutral' or 'hurts'"
                )
        self.changes = dict(changes)
        self.verdicts = dict(verdicts)
        self.unit = unit

    @classmethod
    def from_ranking(cls, ranking: Any, *, quantity: Literal["loss", "error"] = "loss", ax: Any = None) -> Self:
        """Draw the sources of a ranking, best first, and below them all sources together if there are several.

        Parameters
        ----------
        ranking : SourceRanking
        quantity : "loss" or "error", default="loss"
            The verdicts go by the loss, so with "error" an interval may contradict its verdict.
        ax : matplotlib's Axes, optional
        """
        if quantity not in ("loss", "error"):
            raise ValueError(f"quantity is {quantity!r}: use 'loss' or 'error'")
        shown = [*ranking.sources, *([ranking.together] if len(ranking.sources) > 1 else [])]
        changes = {}
        for each in shown:
            change = getattr(each, f"{quantity}_change")
            changes[each.name] = (change.mean, change.low, change.high)
        unit = f"{_UNITS[ranking.task, quantity]} ({100 * ranking.level:g}% interval)"
        return cls(changes=changes, verdicts={each.name: each.verdict for each in shown}, unit=unit).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = self._axes(ax, (WIDTH, bars_height(len(self.changes))), grid="x")
        styles = {name: VERDICT_STYLES[self.verdicts[name]] for name in self.changes}
        for row, name in enumerate(self.changes):
            # Outside, where no interval can pass.
            ax.annotate(
                self.verdicts[name],
                (1.02, row),
                xycoords=("axes fraction", "data"),
                va="center",
                color=styles[name][0],
                annotation_clip=False,
            )
        self._draw_intervals(ax, self.changes, styles, line=0, line_name="no change")
        ax.set_xlabel(self.unit)
        return self


__all__ = ["RankingDisplay"]
