"""The odds for or against each source, and how figures show names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Any, Self

from .bar_displays import WIDTH, bars_height
from .displays import INK, PALETTE, Display

VERDICT_STYLES = {
    "use": (PALETTE[3], "o"),
    "not enough evidence": (PALETTE[0], "s"),
    "not needed beside the others": (PALETTE[1], "D"),
    "leave out": (PALETTE[4], "X"),
}
"""Colour and shape of each verdict, which is also written beside the point."""

CLEAR_ODDS = 19.0
"""From which on a source is used, or left out if they are against it."""

WIDEST_ODDS = 10_000.0
"""Odds beyond this are drawn as this."""

_LONGEST = 24


def figure_names(names: Sequence[str]) -> list[str]:
    r"""Return names as figures can show them: not too long, still different, and a dollar is no formula.

    Parameters
    ----------
    names : sequence of str
        The names.

    Returns
    -------
    list of str
        In the order given.

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


class EvidenceDisplay(Display):
    """The odds for or against each source, a point with a line from even odds, and the verdict beside it.

    Dashed lines stand at odds of 19 to 1 against a source and for it: there verdicts change.

    Parameters
    ----------
    odds : mapping of name to float
        From the top: the Bayes factor of each source, above 1 if the rows speak for it. Odds beyond 10,000 to 1 are
        drawn as these. What is not finite is not drawn.
    verdicts : mapping of name to str
        "use", "leave out", "not enough evidence" or "not needed beside the others".

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    points_, bars_ : dict of name to matplotlib's Line2D
        The points and the lines from even odds, by name.
    size : (float, float)
        Inches that all sources need: the size to give to a `Figure`.

    Examples
    --------
    >>> from gapmin.plotting import EvidenceDisplay
    >>> verdicts = {"north": "use", "south": "not enough evidence"}
    >>> display = EvidenceDisplay(odds={"north": 400.0, "south": 0.4}, verdicts=verdicts).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['use', 'not enough evidence']
    """

    _grid = "x"

    def __init__(self, *, odds: Mapping[str, float], verdicts: Mapping[str, str]) -> None:
        if not odds:
            raise ValueError("there is no source to draw: give at least one")
        for name in odds:
            if verdicts.get(name) not in VERDICT_STYLES:
                known = ", ".join(map(repr, VERDICT_STYLES))
                raise ValueError(f"the verdict of {name!r} is {verdicts.get(name)!r}: use one of {known}")
        self.odds = dict(odds)
        self.verdicts = dict(verdicts)

    @classmethod
    def from_evidence(cls, evidence: Any, *, ax: Any = None) -> Self:
        """Draw the sources of an `Evidence`, in their order.

        Parameters
        ----------
        evidence : Evidence
            What `evidence_` of an estimator or `rank_sources` has.
        ax : matplotlib's Axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        EvidenceDisplay
            What was drawn.
        """
        names = figure_names([each.name for each in evidence.sources])
        odds = {name: each.bayes_factor for name, each in zip(names, evidence.sources, strict=True)}
        verdicts = {name: each.verdict for name, each in zip(names, evidence.sources, strict=True)}
        return cls(odds=odds, verdicts=verdicts).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which the names do not overlap."""
        return WIDTH, bars_height(len(self.odds))

    def _draw(self, ax: Any) -> None:
        ax.set_xscale("log")
        self.points_: dict[str, Any] = {}
        self.bars_: dict[str, Any] = {}
        for row, (name, odds) in enumerate(self.odds.items()):
            color, marker = VERDICT_STYLES[self.verdicts[name]]
            place = min(max(odds, 1 / WIDEST_ODDS), WIDEST_ODDS) if isfinite(odds) else nan
            (self.bars_[name],) = ax.plot([1, place], [row, row], color=color, linewidth=1.8)
            (self.points_[name],) = ax.plot([place], [row], color=color, marker=marker, markersize=7, linestyle="none")
            ax.annotate(
                self.verdicts[name],
                (1.02, row),  # outside, where no line can pass
                xycoords=("axes fraction", "data"),
                va="center",
                color=color,
                annotation_clip=False,
            )
        for line, style in ((1, "-"), (1 / CLEAR_ODDS, (0, (4, 3))), (CLEAR_ODDS, (0, (4, 3)))):
            ax.axvline(line, color=INK, linewidth=0.9, linestyle=style, zorder=1)
        ax.set_yticks(range(len(self.odds)), list(self.odds))
        ax.set_ylim(len(self.odds) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlim(1 / (2 * WIDEST_ODDS), 2 * WIDEST_ODDS)
        ax.set_xticks([1e-3, 1, 1e3], ["1:1000", "1:1", "1000:1"])
        ax.minorticks_off()
        ax.set_xlabel("odds for the source; dashed: 19 to 1")


__all__ = ["EvidenceDisplay", "figure_names"]
