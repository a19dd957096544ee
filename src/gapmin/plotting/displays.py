"""Displays in scikit-learn's style: ``from_estimator`` computes and draws, ``plot`` draws again elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.extras import install_hint

from .drawing import FIGURE_SIZE

# Okabe & Ito (2008): told apart by readers of every colour vision. Its yellow is too pale for a line on white.
TARGET_COLOR, SOURCE_COLOR = "#0072B2", "#D55E00"
PALETTE = ("#595959", "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, PALE = "#1d2126", "#ffffff"
_LINE_HEIGHT = 11.5
"""Points between the labels at the ends of lines."""


class Display(ABC):
    """Axes to draw on, and what they all look like."""

    ax_: Any
    figure_: Any
    lines_: list[Any]

    _grid = "y"
    """The axis whose grid lines are drawn."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return FIGURE_SIZE

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        self
            The display.
        """
        if ax is None:
            with install_hint("report", "displays are drawn with matplotlib"):
                import matplotlib.pyplot as plt
            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis=self._grid, color="#e4e4e4", linewidth=0.8)
        ax.set_axisbelow(True)
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on axes that look like those of all displays."""

    def _draw_lines(
        self, ax: Any, names: Sequence[str], curves: Iterable[NDArray[np.float64]], colors: Sequence[str], start: int
    ) -> None:
        """Draw a line for each curve over whole numbers from `start`, with its name at its end."""
        self.lines_ = []
        for k, (curve, color) in enumerate(zip(curves, colors, strict=True)):
            x, marker = np.arange(start, start + len(curve)), MARKERS[k % len(MARKERS)]
            self.lines_ += ax.plot(x, curve, color=color, linewidth=1.8, marker=marker, markersize=4.5)
        ax.set_ylim(bottom=0)
        _whole_numbers(ax)
        label_ends(ax, names, colors, [(line.get_xdata()[-1], line.get_ydata()[-1]) for line in self.lines_])


class WeightMassDisplay(Display):
    """The share of the weight that target and sources hold, round by round.

    Parameters
    ----------
    mass : array-like of shape (n_rounds + 1, n_domains)
        Before each round and at the end: `mass_history_` of a booster.
    domains : array-like of int of shape (n_domains,)
        Negative for the target, positive for a source: `domains_`.
    names : sequence of str, optional
        Of the domains; sources with a name have a colour each.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    lines_ : list of matplotlib's Line2D
        The lines, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import GapBoostClassifier
    >>> from gapmin.plotting import WeightMassDisplay
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y, sample_domain = (X[:, 0] % 10 > 4).astype(int), np.repeat([-1, 1], [10, 30])
    >>> display = WeightMassDisplay.from_estimator(GapBoostClassifier().fit(X, y, sample_domain=sample_domain))
    >>> display.ax_.get_xlabel()
    'round'
    """

    def __init__(self, *, mass: ArrayLike, domains: ArrayLike, names: Sequence[str] | None = None) -> None:
        self.mass = np.asarray(mass, dtype=float)
        self.domains = np.asarray(domains)
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the weights of a fitted booster.

        Parameters
        ----------
        estimator : a fitted booster of `gapmin.boosting`
            A fitted estimator.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.
        """
        check_is_fitted(estimator, "mass_history_")
        return cls(mass=estimator.mass_history_, domains=estimator.domains_).plot(ax)

    def _draw(self, ax: Any) -> None:
        several = (self.domains > 0).sum() > 1
        names = ["target" if each < 0 else f"source {each}" if several else "source" for each in self.domains]
        others = [SOURCE_COLOR] if self.names is None else [color for color in PALETTE if color != TARGET_COLOR]
        colors = [TARGET_COLOR if each < 0 else others[k % len(others)] for k, each in enumerate(self.domains)]
        ax.set(xlabel="round", ylabel="share of the weight (%)", ylim=(0, 100))
        self._draw_lines(ax, self.names or names, 100 * self.mass.T, colors, start=0)


class DisagreementDisplay(Display):
    """The weight of the rows on which the learners of source and target disagree, round by round.

    Parameters
    ----------
    disagreement : array-like of shape (n_rounds, 2)
        On source and on target rows: `gap_history_` of gapBoost.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    lines_ : list of matplotlib's Line2D
        The lines, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import GapBoostClassifier
    >>> from gapmin.plotting import DisagreementDisplay
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y, sample_domain = (X[:, 0] % 10 > 4).astype(int), np.repeat([-1, 1], [10, 30])
    >>> display = DisagreementDisplay.from_estimator(GapBoostClassifier().fit(X, y, sample_domain=sample_domain))
    >>> display.ax_.get_xlabel()
    'round'
    """

    def __init__(self, *, disagreement: ArrayLike) -> None:
        self.disagreement = np.asarray(disagreement, dtype=float)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the disagreement that a fitted `GapBoostClassifier` or `GapBoostRegressor` met.

        Parameters
        ----------
        estimator : a fitted gapBoost
            A fitted estimator.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.
        """
        remedy = "disagreement is what gapBoost measures, so give a GapBoostClassifier or a GapBoostRegressor"
        return cls(disagreement=fitted_attribute(estimator, "gap_history_", remedy)).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.set(xlabel="round", ylabel="weight in disagreement (%)")
        colors = [SOURCE_COLOR, TARGET_COLOR]
        self._draw_lines(ax, ["source", "target"], 100 * self.disagreement.T, colors, start=1)


class EpochDisplay(Display):
    """Numbers by epoch of training, one line each.

    Parameters
    ----------
    curves : mapping of name to array of shape (n_epochs,)
        Values by epoch, by name of the curve.
    unit : str
        The label of the axis: what the numbers are.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    lines_ : list of matplotlib's Line2D
        The lines, by name.

    Examples
    --------
    >>> from gapmin.plotting import EpochDisplay
    >>> display = EpochDisplay(curves={"gapMTNN": [3.0, 2.0, 1.5], "Uniform": [3.0, 2.5, 2.0]}, unit="loss").plot()
    >>> display.ax_.get_ylabel()
    'loss'
    """

    def __init__(self, *, curves: Mapping[str, ArrayLike], unit: str) -> None:
        self.curves: dict[str, NDArray[np.float64]] = {name: np.asarray(each, float) for name, each in curves.items()}
        self.unit = unit

    def _draw(self, ax: Any) -> None:
        ax.set(xlabel="epoch", ylabel=self.unit)
        colors = [PALETTE[k % len(PALETTE)] for k in range(len(self.curves))]
        self._draw_lines(ax, list(self.curves), self.curves.values(), colors, start=1)


def _whole_numbers(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))


def label_ends(ax: Any, names: Sequence[str], colors: Sequence[str], ends: Sequence[tuple[float, float]]) -> None:
    """Write each line's name to the right of its end, apart from the others."""
    ax.autoscale_view()
    height = ax.get_position().height * ax.figure.get_figheight() * 72
    low, high = ax.get_ylim()
    wanted = [(y - low) / (high - low) for _, y in ends]
    places = _spread(wanted, _LINE_HEIGHT / height, within=(0, 1))
    for name, color, end, y in zip(names, colors, ends, places, strict=True):
        ax.annotate(
            name,
            xy=end,
            xytext=(1.04, y),
            textcoords="axes fraction",
            color=color,
            va="center",
            annotation_clip=False,
            # From the middle of the name's left edge: other ways lead through other names.
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def _spread(
    wanted: Sequence[float], gap: float, within: tuple[float, float] = (-np.inf, np.inf)
) -> NDArray[np.float64]:
    """Move places apart until they are `gap` from each other, each as little as may be, and inside if there is room.

    Least squares under an order: the means of runs that overlap, as in isotonic regression, clipped to the bounds.

    Examples
    --------
    >>> _spread([0.5, 0.5, 0.0], 0.2).round(2).tolist()
    [0.4, 0.6, 0.0]
    >>> _spread([0.9, 0.9], 0.4, within=(0, 1)).round(2).tolist()
    [0.6, 1.0]
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    runs: list[tuple[float, int]] = []
    for place in np.asarray(wanted)[order] - steps:
        mean, count = float(place), 1
        while runs and runs[-1][0] > mean:
            before, n_before = runs.pop()
            mean, count = (before * n_before + mean * count) / (n_before + count), n_before + count
        runs.append((mean, count))
    places = np.empty(len(wanted))
    low, high = within
    means = np.clip([mean for mean, _ in runs], low, max(low, high - gap * (len(wanted) - 1)))
    places[order] = np.repeat(means, [count for _, count in runs]) + steps
    return places


def fitted_attribute(estimator: Any, name: str, remedy: str) -> Any:
    """Return what a fitted estimator found, or say that it has no such thing."""
    check_is_fitted(estimator)
    if not hasattr(estimator, name):
        raise ValueError(f"{type(estimator).__name__} has no {name}: {remedy}")
    return getattr(estimator, name)
