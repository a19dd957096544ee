"""Displays of what the theory measures: gaps with their parts, bounds with their terms, relations between tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from gapmin.gap import PerformanceGap, RiskBound

from .displays import PALETTE, SOURCE, TARGET, _Display
from .table import format_number

WIDTH = 5.2
_INK, _PALE = "#1d2126", "#ffffff"
_SMALLEST_FONT = 4.5
"""Points: numbers that would be smaller are left out of a heat map."""


def bars_height(n_bars: int) -> float:
    """Return the inches that so many horizontal bars need with an axis and a legend."""
    return 0.95 + 0.215 * max(n_bars, 3)


class GapDisplay(_Display):
    """Performance gaps as horizontal bars, each with the parts it is the sum of.

    Parameters
    ----------
    parts : mapping of name to mapping of part to float
        One bar a name, from the top, stacked from its parts in their order.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    bars_ : dict of part to list of matplotlib's Rectangle
        From the top; bars that lack the part have none in its list.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingClassifier
    >>> from gapmin.report import GapDisplay
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y, sample_domain = X[:, 0] % 10 > 4, np.repeat([-1, 1], [10, 30])
    >>> clf = InstanceWeightingClassifier(gamma=0.5).fit(X, y, sample_domain=sample_domain)
    >>> display = GapDisplay.from_estimator(clf)
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['source', 'target']
    """

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
        ax : matplotlib's Axes, optional
        """
        gap = _attribute(estimator, "gap_", "give one of the settings of gapmin.linear")
        display = cls(parts={part: {part: value} for part, value in gap.parts.items()})
        display._total = gap.value
        return display.plot(ax)

    @classmethod
    def from_gaps(cls, gaps: Mapping[Any, PerformanceGap], *, ax: Any = None) -> Self:
        """Draw several gaps side by side, a stacked bar for each: those of one target to many sources.

        Parameters
        ----------
        gaps : mapping of name to PerformanceGap
        ax : matplotlib's Axes, optional
        """
        for name, gap in gaps.items():
            if not hasattr(gap, "parts"):
                raise ValueError(f"{name!r} is {type(gap).__name__}, not a PerformanceGap: give the model's gap_")
        return cls(parts={name: gap.parts for name, gap in gaps.items()}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        ax = self._axes(ax, (WIDTH, bars_height(len(self.parts))), grid="x")
        self.bars_: dict[Any, list[Any]] = {}
        several = any(len(each) > 1 for each in self.parts.values())
        colors = _part_colors([part for each in self.parts.values() for part in each], several)
        for row, each in enumerate(self.parts.values()):
            left = 0.0
            for part, value in each.items():
                self.bars_.setdefault(part, []).extend(ax.barh(row, value, left=left, color=colors[part], height=0.7))
                left += value
            _at_end(ax, left, row, format_number(left))
        _name_rows(ax, self.parts)
        ax.set_xlabel("performance gap" + ("" if self._total is None else f": {format_number(self._total)} in all"))
        if several:
            handles = [bars[0] for bars in self.bars_.values()]
            labels = [f"on the {part}" if part in _DOMAINS else str(part) for part in self.bars_]
            _legend_above(ax, handles, labels, "right", n_columns=4)
        return self


class RiskBoundDisplay(_Display):
    """Bounds on the risk as horizontal bars, stacked from the terms of the theorem.

    A mark shows B, above which no row's loss can be: a bound beyond it says nothing that was not known before.

    Parameters
    ----------
    bounds : mapping of name to RiskBound
        One bar each, from the top.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    bars_ : dict of term to list of matplotlib's Rectangle
        From the top; an unknown term has none.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingClassifier
    >>> from gapmin.report import RiskBoundDisplay
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y, sample_domain = X[:, 0] % 10 > 4, np.repeat([-1, 1], [10, 30])
    >>> clf = InstanceWeightingClassifier(gamma=0.5).fit(X, y, sample_domain=sample_domain)
    >>> display = RiskBoundDisplay.from_estimator(clf, form="both", discrepancy=0.2)
    >>> list(display.bars_)
    ['empirical', 'discrepancy', 'stability', 'concentration']
    """

    def __init__(self, *, bounds: Mapping[Any, RiskBound]) -> None:
        if not bounds:
            raise ValueError("there is no bound to draw: give at least one")
        self.bounds = dict(bounds)

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
        delta : float, default=0.05
        form : "printed", "sharp" or "both", default="printed"
        ax : matplotlib's Axes, optional
        **risk_bound : given to the estimator's `risk_bound`
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "risk_bound"):
            raise ValueError(
                f"{type(estimator).__name__} has no risk_bound: give a setting of gapmin.linear or a GapBoostClassifier"
            )
        if form not in ("printed", "sharp", "both"):
            raise ValueError(f"form is {form!r}: use 'printed', 'sharp' or 'both'")
        if form != "printed" and "form" not in signature(estimator.risk_bound).parameters:
            raise ValueError(f"the bound of {type(estimator).__name__} has one form: use form='printed'")
        bounds = {}
        for each in ("printed", "sharp") if form == "both" else (form,):
            which = {} if each == "printed" else {"form": each}  # Proposition 1 has the printed form alone
            bounds[each] = estimator.risk_bound(delta, **which, **risk_bound)
        return cls(bounds=bounds).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        terms = list(dict.fromkeys(term for bound in self.bounds.values() for term in bound.terms))
        for name, bound in self.bounds.items():
            if not np.isfinite(bound.total):
                raise ValueError(f"the {name} bound is {bound.total}: only a finite one can be drawn")
        colors = dict(zip(terms, (PALETTE[k % len(PALETTE)] for k in range(len(terms))), strict=True))
        height = 1.0 + 0.45 * len(self.bounds) + 0.2 * len(terms)
        ax = self._axes(ax, (WIDTH, height), grid="x")
        self.bars_: dict[str, list[Any]] = {}
        for row, bound in enumerate(self.bounds.values()):
            left = 0.0
            for term, value in bound.terms.items():
                if not np.isnan(value):
                    drawn = ax.barh(row, value, left=left, color=colors[term], height=0.6)
                    self.bars_.setdefault(term, []).extend(drawn)
                    left += value
            _at_end(ax, left, row, " + ".join([format_number(bound.total), *(f"{name}?" for name in bound.unknown)]))
            if "B" in bound.constants:
                mark = ax.vlines(bound.constants["B"], row - 0.42, row + 0.42, color=_INK, linewidth=1.6)
        _name_rows(ax, self.bounds)
        deltas = dict.fromkeys(f"{bound.delta:g}" for bound in self.bounds.values())
        ax.set_xlabel(f"bound on the risk, delta = {', '.join(deltas)}")
        from matplotlib.patches import Patch

        handles: list[Any] = [Patch(color=colors[term]) for term in terms]
        labels = [f"{term}: {self._values(term)}" for term in terms]
        for k, term in enumerate(terms):
            if term not in self.bars_:
                handles[k] = Patch(facecolor="none", edgecolor=colors[term], linestyle=":")
        if any("B" in bound.constants for bound in self.bounds.values()):
            handles.append(mark)
            Bs = dict.fromkeys(format_number(b.constants["B"]) for b in self.bounds.values() if "B" in b.constants)
            labels.append(f"B = {', '.join(Bs)}: no loss is larger")
        _legend_above(ax, handles, labels, "left", n_columns=1)
        return self

    def _values(self, term: str) -> str:
        """Write a term's value in every bound, with the bound's name where there are several."""
        values = [(name, bound.terms[term]) for name, bound in self.bounds.items() if term in bound.terms]
        if all(np.isnan(value) for _, value in values):
            return "unknown, left out"
        texts = [(name, "unknown" if np.isnan(value) else format_number(value)) for name, value in values]
        if len({text for _, text in texts}) == 1 and len(values) == len(self.bounds):
            return texts[0][1]
        return ", ".join(f"{text} ({name})" for name, text in texts)


_KINDS: dict[str, tuple[str, str, str]] = {
    "relation": ("learns from", "task", "weight"),
    "gap": ("loses on the task", "hypothesis of the task", "gap"),
    "covariance": ("", "", "covariance"),
    "correlation": ("", "", "correlation"),
}
"""By kind: the labels of the columns, of the rows and of the colours."""


class RelationDisplay(_Display):
    """How tasks relate, as a heat map with its numbers: weights, covariances or gaps.

    Parameters
    ----------
    matrix : array-like of shape (n_tasks, n_tasks)
    names : sequence, optional
        Of the tasks; by default their numbers from 0.
    kind : "relation", "gap", "covariance" or "correlation", default="relation"
        What the numbers are. The first two start at 0 and go from white to blue; the others are orange below 0 and blue
        above. A covariance is drawn as it is: "correlation" divides it by its diagonal's roots.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    image_ : matplotlib's AxesImage
    matrix : ndarray of shape (n_tasks, n_tasks)
        As drawn.

    Examples
    --------
    >>> from gapmin.report import RelationDisplay
    >>> display = RelationDisplay(matrix=[[0.75, 0.25], [0.0, 1.0]], names=["MNIST", "USPS"]).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['0.75', '0.25', '0', '1.00']
    """

    def __init__(self, *, matrix: ArrayLike, names: Sequence[Any] | None = None, kind: str = "relation") -> None:
        if kind not in _KINDS:
            raise ValueError(f"kind is {kind!r}: use {', '.join(map(repr, _KINDS))}")
        self.matrix: NDArray[np.float64] = np.array(matrix, dtype=float)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"matrix has shape {self.matrix.shape}: give one row and one column a task")
        if kind == "correlation":
            diagonal = np.diag(self.matrix)
            if not (diagonal > 0).all():
                raise ValueError(f"matrix has {diagonal.min():g} on its diagonal: variances are above 0")
            self.matrix = self.matrix / np.sqrt(np.outer(diagonal, diagonal))
        self.names = [str(name) for name in (range(len(self.matrix)) if names is None else names)]
        if len(self.names) != len(self.matrix):
            raise ValueError(f"there are {len(self.names)} names for {len(self.matrix)} tasks: give each its own")
        self.kind = kind

    @classmethod
    def from_estimator(cls, estimator: Any, *, kind: str | None = None, ax: Any = None) -> Self:
        """Draw what a fitted multitask model says of its tasks.

        Parameters
        ----------
        estimator : a fitted model with `relation_`, `omega_` or `gap_matrix_`
        kind : "relation", "gap", "covariance" or "correlation", optional
            None takes `relation_`, and where there is none `omega_` as a correlation.
        ax : matplotlib's Axes, optional
        """
        check_is_fitted(estimator)
        if kind is None:
            kind = "relation" if hasattr(estimator, "relation_") else "correlation"
        if kind not in _KINDS:
            raise ValueError(f"kind is {kind!r}: use {', '.join(map(repr, _KINDS))}")
        name = {"relation": "relation_", "gap": "gap_matrix_"}.get(kind, "omega_")
        remedy = "give a TaskWeighting or TaskCovariance model, or draw a matrix with RelationDisplay(matrix=...)"
        matrix = _attribute(estimator, name, remedy)
        return cls(matrix=matrix, names=getattr(estimator, "tasks_", None), kind=kind).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        from matplotlib.colors import LinearSegmentedColormap

        K = len(self.matrix)
        side = max(3.4, 1.2 + 0.4 * K)
        ax = self._axes(ax, (side + 1.8, side))
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        signed = self.kind in ("covariance", "correlation")
        top = 1.0 if self.kind == "correlation" else float(np.nanmax(np.abs(self.matrix))) or 1.0
        colors = [SOURCE, _PALE, TARGET] if signed else [_PALE, TARGET]
        cmap = LinearSegmentedColormap.from_list("gapmin", colors)
        self.image_ = ax.imshow(self.matrix, cmap=cmap, vmin=-top if signed else 0.0, vmax=top, aspect="equal")
        box, (width, height) = ax.get_position(), ax.figure.get_size_inches()
        cell = 72 * min(box.width * width, box.height * height) / K  # points
        long = max(map(len, self.names)) * 6 > cell
        ax.set_xticks(range(K), self.names, rotation=90 if long else 0)
        ax.set_yticks(range(K), self.names)
        ax.tick_params(length=0, labelsize=min(10.0, 0.9 * cell))
        columns, rows, unit = _KINDS[self.kind]
        ax.set(xlabel=columns, ylabel=rows)
        bar = ax.figure.colorbar(self.image_, ax=ax, shrink=0.8, pad=0.02)
        bar.set_label(unit)
        bar.outline.set_visible(False)
        self._write_numbers(ax, cmap, cell)
        return self

    def _write_numbers(self, ax: Any, cmap: Any, cell: float) -> None:
        texts = [["0" if value == 0 else _cell(value) for value in row] for row in self.matrix]
        font = min(10.0, 0.95 * cell / (0.6 * max(len(text) for row in texts for text in row)), 0.6 * cell)
        if font < _SMALLEST_FONT:
            return
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                shade = np.array(cmap(self.image_.norm(self.matrix[i, j]))[:3])
                light = float(shade**2.2 @ [0.2126, 0.7152, 0.0722])  # relative luminance
                ink = _PALE if light < 0.2 else _INK  # there both have the same contrast
                ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=font)


def _cell(value: float) -> str:
    """Write a number of a heat map: two digits after the point, or three in all where it is 10 or more."""
    return f"{value:.2f}" if abs(value) < 10 else format_number(value)


_DOMAINS = {"source": SOURCE, "target": TARGET}


def _part_colors(parts: Sequence[Any], stacked: bool) -> dict[Any, str]:
    """Return a colour for each part: those of source and target, and for tasks in a stack one each."""
    names = list(dict.fromkeys(parts))
    others = [name for name in names if name not in _DOMAINS]
    return {
        name: _DOMAINS[name] if name in _DOMAINS else PALETTE[others.index(name) % len(PALETTE)] if stacked else TARGET
        for name in names
    }


def _name_rows(ax: Any, names: Mapping[Any, Any]) -> None:
    """Name horizontal bars, the first on top, and leave room for what is written at their ends."""
    ax.set_yticks(range(len(names)), [str(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.16)
    ax.autoscale_view(scaley=False)
    ax.set_xlim(left=0)


def _legend_above(ax: Any, handles: Sequence[Any], labels: Sequence[str], side: str, n_columns: int) -> None:
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


def _at_end(ax: Any, x: float, row: int, text: str) -> None:
    ax.annotate(text, (x, row), xytext=(4, 0), textcoords="offset points", va="center", annotation_clip=False)


def _attribute(estimator: Any, name: str, remedy: str) -> Any:
    """Return what a fitted estimator found, or say that it has no such thing."""
    check_is_fitted(estimator)
    if not hasattr(estimator, name):
        raise ValueError(f"{type(estimator).__name__} has no {name}: {remedy}")
    return getattr(estimator, name)


__all__ = ["GapDisplay", "RelationDisplay", "RiskBoundDisplay", "bars_height"]
