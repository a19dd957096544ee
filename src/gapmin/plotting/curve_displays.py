"""Displays of errors over splits by something that was varied: the target's size, a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .displays import MARKERS, PALETTE, Display, label_ends

_SIDE_BY_SIDE = 1.03
"""Bars of one size stand so many times its size apart, and less where the sizes are close to each other."""


class ErrorCurveDisplay(Display):
    """Error by the size of the target, one line a method, bars of one standard error.

    Parameters
    ----------
    sizes : sequence of int or float
        Ascending. Numbers of rows, or shares of the target if all are below 1.
    errors : mapping of method to array of shape (n_sizes, n_splits)
        Of each method, by size and split, in percent.
    unit : str
        The label of the error's axis.
    xlabel : str, optional
        By default, what `sizes` are.
    xticklabels : sequence of str, optional
        By default rows as they are and shares in percent. Those that would overlap are left out.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    lines_ : list of matplotlib's Line2D
        The lines, by name.

    Examples
    --------
    >>> from gapmin.plotting import ErrorCurveDisplay
    >>> errors = {"AdaBoost": [[30, 32], [12, 14]], "gapBoost": [[20, 21], [11, 12]]}
    >>> display = ErrorCurveDisplay(sizes=[0.01, 0.8], errors=errors).plot()
    >>> [tick.get_text() for tick in display.ax_.get_xticklabels()]
    ['1%', '80%']
    """

    def __init__(
        self,
        *,
        sizes: Sequence[float],
        errors: Mapping[str, ArrayLike],
        unit: str = "error (%)",
        xlabel: str | None = None,
        xticklabels: Sequence[str] | None = None,
    ) -> None:
        self.sizes = np.asarray(sizes)
        self.errors: dict[str, NDArray[np.float64]] = {name: np.asarray(each, float) for name, each in errors.items()}
        self.unit = unit
        are_shares = bool((self.sizes < 1).all())
        what = "share of the target that trains" if are_shares else "target rows that train"
        self.xlabel = f"{what} (log scale)" if xlabel is None else xlabel
        written = [f"{100 * size:g}%" if are_shares else f"{size:g}" for size in self.sizes]
        self.xticklabels = written if xticklabels is None else list(xticklabels)
        if len(self.xticklabels) != len(self.sizes):
            raise ValueError(
                f"there are {len(self.xticklabels)} xticklabels for {len(self.sizes)} sizes: give each one"
            )

    def _draw(self, ax: Any) -> None:
        self.lines_ = []
        colors = [PALETTE[k % len(PALETTE)] for k in range(len(self.errors))]
        ends = []
        n_methods = len(self.errors)
        step = min([_SIDE_BY_SIDE, *(self.sizes[1:] / self.sizes[:-1]) ** (0.5 / n_methods)])
        for k, (errors, color) in enumerate(zip(self.errors.values(), colors, strict=True)):
            x = self.sizes * step ** (k - (n_methods - 1) / 2)
            self.lines_.append(_curve(ax, x, errors, color, MARKERS[k % len(MARKERS)]))
            ends.append((x[-1], errors[-1].mean()))
        ax.set_xscale("log")
        label_ends(ax, list(self.errors), colors, ends)
        ax.set_xticks(self.sizes, self._readable(ax))
        ax.set_xticks([], minor=True)
        ax.set(xlabel=self.xlabel, ylabel=self.unit)

    def _readable(self, ax: Any) -> list[str]:
        """Return the labels of the sizes without those that would run into the last or into one before."""
        low, high = np.log(ax.get_xlim())
        names = max(map(len, self.errors)) * 5.5 + 60  # points that the names of lines and errors take
        width = ax.figure.get_figwidth() * 72 - names
        places = width * (np.log(self.sizes) - low) / (high - low)
        half = [3.2 * len(label) + 2 for label in self.xticklabels]
        last = len(places) - 1
        shown: list[int] = []
        for k in range(len(places)):
            neighbours = [*shown[-1:], *([last] if k < last else [])]
            if k in (0, last) or all(abs(places[k] - places[r]) > half[k] + half[r] for r in neighbours):
                shown.append(k)
        return [label if k in shown else "" for k, label in enumerate(self.xticklabels)]


class SensitivityDisplay(Display):
    """The error of one method by a parameter, with bars of one standard error, and what others reach without it.

    Parameters
    ----------
    values : sequence of float
        Of the parameter, ascending.
    errors : array-like of shape (n_values, n_splits)
        By value and split, in percent.
    baselines : mapping of method to float or array-like of float
        Horizontal lines at the mean errors of other methods.
    name : str
        Of the method.
    xlabel : str
        The parameter.
    unit : str
        The label of the error's axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    line_ : matplotlib's Line2D
        The method's.
    baseline_lines_ : list of matplotlib's Line2D
        The lines of the baselines, by name.

    Examples
    --------
    >>> from gapmin.plotting import SensitivityDisplay
    >>> errors = [[12, 13], [9, 11], [14, 15]]
    >>> display = SensitivityDisplay(values=[0.1, 0.5, 0.9], errors=errors, baselines={"AdaBoost": 14.2}).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['AdaBoost', 'gapBoost']
    """

    def __init__(
        self,
        *,
        values: Sequence[float],
        errors: ArrayLike,
        baselines: Mapping[str, ArrayLike] | None = None,
        name: str = "gapBoost",
        xlabel: str = r"exp($\rho_S$)",
        unit: str = "error (%)",
    ) -> None:
        self.values = np.asarray(values, dtype=float)
        self.errors: NDArray[np.float64] = np.asarray(errors, dtype=float).reshape(len(self.values), -1)
        self.baselines = {
            method: float(np.mean(np.asarray(each, dtype=float))) for method, each in (baselines or {}).items()
        }
        self.name, self.xlabel, self.unit = name, xlabel, unit

    def _draw(self, ax: Any) -> None:
        # The colours that the methods have in an `ErrorCurveDisplay` of the same order.
        colors = [PALETTE[k % len(PALETTE)] for k in range(len(self.baselines) + 1)]
        self.baseline_lines_ = [
            ax.axhline(error, color=color, linewidth=1.4, linestyle=(0, (5, 2 + k)))
            for k, (error, color) in enumerate(zip(self.baselines.values(), colors, strict=False))
        ]
        self.line_ = _curve(ax, self.values, self.errors, colors[-1], "o")
        last = ax.get_xlim()[1]
        ends = [*((last, error) for error in self.baselines.values()), (self.values[-1], self.errors[-1].mean())]
        label_ends(ax, [*self.baselines, self.name], colors, ends)
        ax.set_xlim(right=last)
        ax.set(xlabel=self.xlabel, ylabel=self.unit)


def _curve(ax: Any, x: NDArray[np.float64], errors: NDArray[np.float64], color: str, marker: str) -> Any:
    """Draw the mean over the splits with its standard error, where there are several."""
    n_splits = errors.shape[1]
    bars = errors.std(axis=1, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else None
    line = ax.errorbar(
        x, errors.mean(axis=1), bars, color=color, marker=marker, markersize=4.5, linewidth=1.6, elinewidth=1
    )
    return line.lines[0]


__all__ = ["ErrorCurveDisplay", "SensitivityDisplay"]
