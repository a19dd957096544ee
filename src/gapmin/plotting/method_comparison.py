"""Displays of a comparison of methods on one target, and of the weight that each of its sources holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .bar_displays import WIDTH, bars_height
from .displays import INK, PALETTE, TARGET, _Display, _whole_numbers, label_ends
from .ranking_displays import finish_rows

_LONGEST = 24


def figure_names(names: Sequence[str]) -> list[str]:
    r"""Return names as figures can show them: not too long, still different, and a dollar is no formula.

    Examples
    --------
    >>> figure_names(["a", "price in $", "x" * 30])
    ['a', 'price in \\$', 'xxxxxxxxxxxxxxxxxxxxxxx…']
    """
    made: list[str] = []
    for k, name in enumerate(names, start=1):
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        made.append((f"{short[:-4]}… {k}" if short in made else short).replace("$", r"\$"))
    return made


class MethodComparisonDisplay(_Display):
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
        self.points_: dict[str, Any] = {}
        self.intervals_: dict[str, Any] = {}
        ax.axvline(self.errors[self.baseline][0], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        for row, (name, (mean, low, high)) in enumerate(self.errors.items()):
            color, marker = (PALETTE[4], "D") if name == self.chosen else (PALETTE[1], "o")
            (self.intervals_[name],) = ax.plot([low, high], [row, row], color=color, linewidth=1.8)
            (self.points_[name],) = ax.plot([mean], [row], color=color, marker=marker, markersize=7, linestyle="none")
        finish_rows(ax, list(self.errors), line=self.errors[self.baseline][0], line_name=self.baseline)
        ax.set_xlabel(self.unit)
        return self


class DomainMassDisplay(_Display):
    """The share of the weight that the target and each source hold, round by round, by name.

    Parameters
    ----------
    mass : array-like of shape (n_rounds + 1, n_domains)
        The target's first.
    names : sequence of str
        Of the domains, the target's first.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    lines_ : list of matplotlib's Line2D
    """

    def __init__(self, *, mass: ArrayLike, names: Sequence[str]) -> None:
        self.mass = np.asarray(mass, dtype=float)
        self.names = list(names)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = self._axes(ax)
        others = [color for color in PALETTE if color != TARGET]
        colors = [TARGET, *(others[k % len(others)] for k in range(1, len(self.names)))]
        self.lines_ = [
            ax.plot(100 * share, color=color, linewidth=2, marker=".", markersize=5)[0]
            for share, color in zip(self.mass.T, colors, strict=True)
        ]
        ax.set(xlabel="round", ylabel="share of the weight (%)", ylim=(0, 100))
        _whole_numbers(ax)
        label_ends(ax, self.names, colors, [(len(self.mass) - 1, y) for y in 100 * self.mass[-1]])
        return self


__all__ = ["DomainMassDisplay", "MethodComparisonDisplay", "figure_names"]
