"""Heat maps with their numbers: how tasks relate, how the error depends on two parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.text import format_number

from .displays import INK, PALE, SOURCE_COLOR, TARGET_COLOR, Display, fitted_attribute

_SMALLEST_FONT = 4.5
"""Points: numbers that would be smaller are left out."""

_FEW_CELLS_FONT = 6.5
"""The same for a surface, whose colours say more than its single numbers."""

_TICK_FONT = 9.0

_MAP_KINDS: dict[str, tuple[str, str, str]] = {
    "relation": ("learns from", "task", "weight"),
    "gap": ("loses on the task", "hypothesis of the task", "gap"),
    "affinity": ("teacher", "task", "fall of the error"),
    "covariance": ("", "", "covariance"),
    "correlation": ("", "", "correlation"),
}
"""By kind: the labels of the columns, of the rows and of the colours."""


class RelationDisplay(Display):
    """How tasks relate, as a heat map with its numbers: weights, covariances or gaps.

    Parameters
    ----------
    matrix : array-like of shape (n_tasks, n_tasks)
        Row j: the weight of each task in the loss of task j.
    names : sequence, optional
        Of the tasks; by default their numbers from 0.
    kind : "relation", "gap", "affinity", "covariance" or "correlation", default="relation"
        What the numbers are. The first two start at 0 and go from white to blue; the others are orange below 0 and blue
        above. A covariance is drawn as it is: "correlation" divides it by its diagonal's roots.
    largest : float, optional
        The number of the deepest colour, the same for several that are to be compared; by default the matrix's own.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    image_ : matplotlib's AxesImage
        The cells.
    matrix : ndarray of shape (n_tasks, n_tasks)
        As drawn.

    Examples
    --------
    >>> from gapmin.plotting import RelationDisplay
    >>> display = RelationDisplay(matrix=[[0.75, 0.25], [0.0, 1.0]], names=["MNIST", "USPS"]).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['0.75', '0.25', '0', '1.00']
    """

    def __init__(
        self,
        *,
        matrix: ArrayLike,
        names: Sequence[Any] | None = None,
        kind: str = "relation",
        largest: float | None = None,
    ) -> None:
        _check_kind(kind)
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
        self.largest = largest

    @classmethod
    def from_estimator(cls, estimator: Any, *, kind: str | None = None, ax: Any = None) -> Self:
        """Draw what a fitted multitask model says of its tasks.

        Parameters
        ----------
        estimator : a fitted model with `relation_`, `omega_` or `gap_matrix_`
            A fitted estimator.
        kind : "relation", "gap", "covariance" or "correlation", optional
            None takes `relation_`, and where there is none `omega_` as a correlation.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.
        """
        check_is_fitted(estimator)
        if kind is None:
            kind = "relation" if hasattr(estimator, "relation_") else "correlation"
        _check_kind(kind)
        name = {"relation": "relation_", "gap": "gap_matrix_"}.get(kind, "omega_")
        remedy = "give a TaskWeighting or TaskCovariance model, or draw a matrix with RelationDisplay(matrix=...)"
        matrix = fitted_attribute(estimator, name, remedy)
        return cls(matrix=matrix, names=getattr(estimator, "tasks_", None), kind=kind).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which the names do not overlap."""
        side = max(3.4, 1.2 + 0.4 * len(self.matrix))
        return side + 1.8, side

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        K = len(self.matrix)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        signed = self.kind in ("affinity", "covariance", "correlation")
        own = 1.0 if self.kind == "correlation" else float(np.nanmax(np.abs(self.matrix))) or 1.0
        top = own if self.largest is None else self.largest
        colors = [SOURCE_COLOR, PALE, TARGET_COLOR] if signed else [PALE, TARGET_COLOR]
        cmap = LinearSegmentedColormap.from_list("gapmin", colors)
        self.image_ = ax.imshow(self.matrix, cmap=cmap, vmin=-top if signed else 0.0, vmax=top, aspect="equal")
        cell = min(_points(ax)) / K
        long = max(map(len, self.names)) * 6 > cell
        ax.set_xticks(range(K), self.names, rotation=90 if long else 0)
        ax.set_yticks(range(K), self.names)
        ax.tick_params(length=0, labelsize=min(10.0, 0.9 * cell))
        columns, rows, unit = _MAP_KINDS[self.kind]
        ax.set(xlabel=columns, ylabel=rows)
        _color_bar(ax, self.image_, unit)
        texts = [["0" if value == 0 else _cell(value) for value in row] for row in self.matrix]
        _write_numbers(ax, self.image_, texts, cell, cell)


def _check_kind(kind: str) -> None:
    if kind not in _MAP_KINDS:
        raise ValueError(f"kind is {kind!r}: use {', '.join(map(repr, _MAP_KINDS))}")


def _cell(value: float) -> str:
    """Write a number of a heat map: two digits after the point, or three in all where it is 10 or more."""
    return f"{value:.2f}" if abs(value) < 10 else format_number(value)


class SurfaceDisplay(Display):
    """The mean error by two parameters as a heat map, the lowest marked.

    Parameters
    ----------
    x, y : sequence of float
        Values of the two parameters, ascending.
    errors : array-like of shape (n_y, n_x)
        NaN where nothing was measured.
    xlabel, ylabel : str
        What the horizontal axis shows.
    unit : str
        What the numbers are, beside the colours.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    image_ : matplotlib's AxesImage
        The cells.
    best : (int, int)
        Row and column of the lowest error.

    Examples
    --------
    >>> from gapmin.plotting import SurfaceDisplay
    >>> errors = [[9.5, 8.0, 8.75], [9.0, 7.5, 8.5]]
    >>> display = SurfaceDisplay(x=[0.1, 0.5, 0.9], y=[0.0, 0.2], errors=errors).plot()
    >>> display.best
    (1, 1)
    """

    def __init__(
        self,
        *,
        x: Sequence[float],
        y: Sequence[float],
        errors: ArrayLike,
        xlabel: str = r"$\rho_S$",
        ylabel: str = r"$\rho_T$",
        unit: str = "mean error (%)",
    ) -> None:
        self.x, self.y = list(x), list(y)
        self.errors: NDArray[np.float64] = np.array(errors, dtype=float)
        if self.errors.shape != (len(self.y), len(self.x)):
            raise ValueError(
                f"errors has shape {self.errors.shape}: give one row for each of the {len(self.y)} values of y and one "
                f"column for each of the {len(self.x)} of x"
            )
        if np.isnan(self.errors).all():
            raise ValueError("no error was measured: give at least one that is not NaN")
        row, column = np.unravel_index(np.nanargmin(self.errors), self.errors.shape)
        self.best = int(row), int(column)
        self.xlabel, self.ylabel, self.unit = xlabel, ylabel, unit

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        self.image_ = ax.imshow(self.errors, cmap="cividis", origin="lower", aspect="auto")
        width, height = _points(ax)
        cell = width / len(self.x), height / len(self.y)
        columns, rows = ([f"{value:g}" for value in values] for values in (self.x, self.y))
        apart = math.ceil((0.65 * _TICK_FONT * max(map(len, columns)) + 2) / cell[0])
        ax.set_xticks(range(0, len(columns), apart), columns[::apart])
        apart = math.ceil(1.2 * _TICK_FONT / cell[1])
        ax.set_yticks(range(0, len(rows), apart), rows[::apart])
        ax.tick_params(length=0, labelsize=_TICK_FONT)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        _color_bar(ax, self.image_, self.unit)
        texts = [["" if np.isnan(value) else format_number(value) for value in row] for row in self.errors]
        _write_numbers(ax, self.image_, texts, *cell, smallest=_FEW_CELLS_FONT)
        row, column = self.best
        # Pale within dark: seen on any colour.
        thick = min(2.0, 0.1 * min(cell))
        for color, line in ((INK, 2.25 * thick), (PALE, thick)):
            ax.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=color, linewidth=line, clip_on=False)
            )


def _points(ax: Any) -> tuple[float, float]:
    """Return width and height of the axes in points, as far as they are known before the layout."""
    box, (width, height) = ax.get_position(), ax.figure.get_size_inches()
    return 72 * box.width * width, 72 * box.height * height


def _color_bar(ax: Any, image: Any, unit: str) -> None:
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.set_label(unit)
    bar.outline.set_visible(False)


def _write_numbers(
    ax: Any, image: Any, texts: Sequence[Sequence[str]], width: float, height: float, smallest: float = _SMALLEST_FONT
) -> None:
    """Write into each cell of so many points, in the ink that its colour lets stand out."""
    longest = max(len(text) for row in texts for text in row)
    font = min(10.0, 0.95 * width / (0.6 * longest), 0.6 * height)
    if font < smallest:
        return
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            if text:
                shade = np.array(image.cmap(image.norm(image.get_array()[i, j]))[:3])
                light = float(shade**2.2 @ [0.2126, 0.7152, 0.0722])  # relative luminance
                ink = PALE if light < 0.2 else INK  # there both have the same contrast
                ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=font)


__all__ = ["RelationDisplay", "SurfaceDisplay"]
