"""The display of a comparison of methods on one target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from .bar_displays import WIDTH, bars_height
from .displays import PALETTE
from .evidence_displays import IntervalDisplay


class MethodComparisonDisplay(IntervalDisplay):
    """The error of each method, a point with its interval, beside a line at the error of one of them.

    Parameters
    ----------
    errors : mapping of method to (mean, low, high)
        From the top.
    baseline : str
        The method that the others are compared with.
    unit : str
        The label of the axis.
    chosen : str, optional
        The method to be seen first.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    points_, intervals_ : dict of method to matplotlib's Line2D
    size : (float, float)
        Inches that all methods need: the size to give to a `Figure`.

    Examples
    --------
    >>> from gapmin.plotting.method_comparison import MethodComparisonDisplay
    >>> errors = {"target only": (20, 15, 25), "pooled": (17, 14, 20)}
    >>> display = MethodComparisonDisplay(errors=errors, baseline="target only", unit="error (%)").plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['target only', 'pooled']
    """

    def __init__(
        self,
        *,
        errors: Mapping[str, tuple[float, float, float]],
        baseline: str,
        unit: str,
        chosen: str | None = None,
    ) -> None:
        if baseline not in errors:
            raise ValueError(f"baseline is {baseline!r}, which is no method here: use one of {', '.join(errors)}")
        self.errors = dict(errors)
        self.baseline = baseline
        self.unit = unit
        self.chosen = chosen

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which the names do not overlap."""
        return WIDTH, bars_height(len(self.errors))

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = self._axes(ax, self.size, grid="x")
        styles = {name: (PALETTE[4], "D") if name == self.chosen else (PALETTE[1], "o") for name in self.errors}
        self._draw_intervals(ax, self.errors, styles, line=self.errors[self.baseline][0], line_name=self.baseline)
        ax.set_xlabel(self.unit)
        return self


__all__ = ["MethodComparisonDisplay"]
