"""Displays of what the theory measures: gaps with their parts, bounds with their terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Literal, Self

import numpy as np

from gapmin._utils.text import format_number
from gapmin.gap import PerformanceGap, RiskBound

from .bar_displays import WIDTH, at_end, bars_height, legend_above, name_rows
from .displays import INK, PALETTE, SOURCE_COLOR, TARGET_COLOR, Display, fitted_attribute


class GapDisplay(Display):
    """Performance gaps as horizontal bars, each with the parts it is the sum of.

    Parameters
    ----------
    parts : mapping of name to mapping of part to float
        One bar a name, from the top, stacked from its parts in their order.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    bars_ : dict of part to list of matplotlib's Rectangle
        From the top; bars that lack the part have none in its list.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingClassifier
    >>> from gapmin.plotting import GapDisplay
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y, sample_domain = X[:, 0] % 10 > 4, np.repeat([-1, 1], [10, 30])
    >>> clf = InstanceWeightingClassifier(gamma=0.5).fit(X, y, sample_domain=sample_domain)
    >>> display = GapDisplay.from_estimator(clf)
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['source', 'target']
    """

    _grid = "x"

    def __init__(self, *, parts: Mapping[Any, Mapping[Any, float]]) -> None:
        if not parts:
            raise ValueError("there is no gap to draw: give at least one")
        self.parts: dict[Any, dict[Any, float]] = {name: dict(each) for name, each in parts.items()}
        self._total: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the gap of a fitted linear setting, a bar for each part: source and target, or the tasks.

        Parameters
        ----------
        estimator : a fitted setting of `gapmin.linear`
            A fitted estimator.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.
        """
        gap = fitted_attribute(estimator, "gap_", "give one of the settings of gapmin.linear")
        display = cls(parts={part: {part: value} for part, value in gap.parts.items()})
        display._total = gap.value
        return display.plot(ax)

    @classmethod
    def from_gaps(cls, gaps: Mapping[Any, PerformanceGap], *, ax: Any = None) -> Self:
        """Draw several gaps side by side, a stacked bar for each: those of one target to many sources.

        Parameters
        ----------
        gaps : mapping of name to PerformanceGap
            Gaps by name.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.
        """
        for name, gap in gaps.items():
            if not hasattr(gap, "parts"):
                raise ValueError(f"{name!r} is {type(gap).__name__}, not a PerformanceGap: give the model's gap_")
        return cls(parts={name: gap.parts for name, gap in gaps.items()}).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which the names do not overlap."""
        return WIDTH, bars_height(len(self.parts))

    def _draw(self, ax: Any) -> None:
        self.bars_: dict[Any, list[Any]] = {}
        several = any(len(each) > 1 for each in self.parts.values())
        colors = _part_colors([part for each in self.parts.values() for part in each], several)
        for row, each in enumerate(self.parts.values()):
            left = 0.0
            for part, value in each.items():
                self.bars_.setdefault(part, []).extend(ax.barh(row, value, left=left, color=colors[part], height=0.7))
                left += value
            at_end(ax, left, row, format_number(left))
        name_rows(ax, list(self.parts))
        ax.set_xlabel("performance gap" + ("" if self._total is None else f": {format_number(self._total)} in all"))
        if several:
            handles = [bars[0] for bars in self.bars_.values()]
            labels = [f"on the {part}" if part in _DOMAIN_COLORS else str(part) for part in self.bars_]
            legend_above(ax, handles, labels, "right", n_columns=4)


class RiskBoundDisplay(Display):
    """Bounds on the risk as horizontal bars, stacked from the terms of the theorem.

    A mark shows B, above which no row's loss can be: a bound beyond it says nothing that was not known before.

    Parameters
    ----------
    bounds : mapping of name to RiskBound
        One bar each, from the top.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    bars_ : dict of term to list of matplotlib's Rectangle
        From the top; an unknown term has none.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingClassifier
    >>> from gapmin.plotting import RiskBoundDisplay
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y, sample_domain = X[:, 0] % 10 > 4, np.repeat([-1, 1], [10, 30])
    >>> clf = InstanceWeightingClassifier(gamma=0.5).fit(X, y, sample_domain=sample_domain)
    >>> display = RiskBoundDisplay.from_estimator(clf, form="both", discrepancy=0.2)
    >>> list(display.bars_)
    ['empirical', 'discrepancy', 'stability', 'concentration']
    """

    _grid = "x"

    def __init__(self, *, bounds: Mapping[Any, RiskBound]) -> None:
        if not bounds:
            raise ValueError("there is no bound to draw: give at least one")
        for name, bound in bounds.items():
            if not np.isfinite(bound.total):
                raise ValueError(f"the {name} bound is {bound.total}: only a finite one can be drawn")
        self.bounds = dict(bounds)
        self._terms = list(dict.fromkeys(term for bound in bounds.values() for term in bound.terms))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        delta: float = 0.05,
        *,
        form: Literal["printed", "sharp", "both"] = "printed",
        ax: Any = None,
        **risk_bound: Any,
    ) -> Self:
        """Draw the theorem of a fitted setting.

        Parameters
        ----------
        estimator : a fitted estimator with a `risk_bound`
            A fitted estimator.
        delta : float, default=0.05
            The bound holds with probability 1 - delta.
        form : "printed", "sharp" or "both", default="printed"
            As printed, sharper, or both.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.
        **risk_bound : given to the estimator's `risk_bound`
            Further arguments of the estimator's `risk_bound`.
        """
        bound_of = fitted_attribute(estimator, "risk_bound", "give a setting of gapmin.linear or a GapBoostClassifier")
        if form not in ("printed", "sharp", "both"):
            raise ValueError(f"form is {form!r}: use 'printed', 'sharp' or 'both'")
        if form != "printed" and "form" not in signature(bound_of).parameters:
            raise ValueError(f"the bound of {type(estimator).__name__} has one form: use form='printed'")
        bounds = {}
        for each in ("printed", "sharp") if form == "both" else (form,):
            which = {} if each == "printed" else {"form": each}  # Proposition 38 has no other
            bounds[each] = bound_of(delta, **which, **risk_bound)
        return cls(bounds=bounds).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which bars and legend do not overlap."""
        return WIDTH, 1.0 + 0.45 * len(self.bounds) + 0.2 * len(self._terms)

    def _draw(self, ax: Any) -> None:
        colors = {term: PALETTE[k % len(PALETTE)] for k, term in enumerate(self._terms)}
        self.bars_: dict[str, list[Any]] = {}
        for row, bound in enumerate(self.bounds.values()):
            left = 0.0
            for term, value in bound.terms.items():
                if not np.isnan(value):
                    drawn = ax.barh(row, value, left=left, color=colors[term], height=0.6)
                    self.bars_.setdefault(term, []).extend(drawn)
                    left += value
            at_end(ax, left, row, " + ".join([format_number(bound.total), *(f"{name}?" for name in bound.unknown)]))
            if "B" in bound.constants:
                mark = ax.vlines(bound.constants["B"], row - 0.42, row + 0.42, color=INK, linewidth=1.6)
        name_rows(ax, list(self.bounds))
        deltas = dict.fromkeys(f"{bound.delta:g}" for bound in self.bounds.values())
        ax.set_xlabel(f"bound on the risk, delta = {', '.join(deltas)}")
        from matplotlib.patches import Patch

        handles: list[Any] = [Patch(color=colors[term]) for term in self._terms]
        labels = [f"{term}: {self._values(term)}" for term in self._terms]
        for k, term in enumerate(self._terms):
            if term not in self.bars_:
                handles[k] = Patch(facecolor="none", edgecolor=colors[term], linestyle=":")
        if any("B" in bound.constants for bound in self.bounds.values()):
            handles.append(mark)
            Bs = dict.fromkeys(format_number(b.constants["B"]) for b in self.bounds.values() if "B" in b.constants)
            labels.append(f"B = {', '.join(Bs)}: no loss is larger")
        legend_above(ax, handles, labels, "left", n_columns=1)

    def _values(self, term: str) -> str:
        """Write a term's value in every bound, with the bound's name where there are several."""
        values = [(name, bound.terms[term]) for name, bound in self.bounds.items() if term in bound.terms]
        if all(np.isnan(value) for _, value in values):
            return "unknown, left out"
        texts = [(name, "unknown" if np.isnan(value) else format_number(value)) for name, value in values]
        if len({text for _, text in texts}) == 1 and len(values) == len(self.bounds):
            return texts[0][1]
        return ", ".join(f"{text} ({name})" for name, text in texts)


_DOMAIN_COLORS = {"source": SOURCE_COLOR, "target": TARGET_COLOR}


def _part_colors(parts: Sequence[Any], stacked: bool) -> dict[Any, str]:
    """Return a colour for each part: those of source and target, and for tasks in a stack one each."""
    names = list(dict.fromkeys(parts))
    tasks = [name for name in names if name not in _DOMAIN_COLORS]
    colors = {name: PALETTE[k % len(PALETTE)] if stacked else TARGET_COLOR for k, name in enumerate(tasks)}
    return {name: (_DOMAIN_COLORS | colors)[name] for name in names}


__all__ = ["GapDisplay", "RiskBoundDisplay"]
