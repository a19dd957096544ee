"""Displays of points with intervals: the evidence for each source, and what other figures share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, log, nan
from typing import Any, Self

from .bar_displays import WIDTH, bars_height
from .displays import INK, PALETTE, _Display

VERDICT_STYLES = {
    "use": (PALETTE[3], "o"),
    "no evidence either way": (PALETTE[0], "s"),
    "not needed beside the others": (PALETTE[1], "D"),
    "leave out": (PALETTE[4], "X"),
}
"""Colour and shape of each verdict, which is also written beside the point."""

CLEAR_EVIDENCE = log(19)
"""Nats from which on a source is used, or left out if they are against it."""

STANDARD_ERRORS = 1.96
DASHES = (0, (4, 3))
_LONGEST = 24


def figure_names(names: Sequence[str]) -> list[str]:
    r"""Return names as figures can show them: not too long, still different, and a dollar is no formula.

    Parameters
    ----------
    names : sequence of str
        The names.

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


class IntervalDisplay(_Display):
    """Rows of points with intervals, from the top, beside a vertical line that they are read against."""

    def _draw_intervals(
        self,
        ax: Any,
        rows: Mapping[str, tuple[float, float, float]],
        styles: Mapping[str, tuple[str, str]],
        line: float | None = None,
        line_name: str = "",
    ) -> None:
        """Draw mean, low and high of each row in its colour and marker, and name the rows and the line, if any."""
        self.points_: dict[str, Any] = {}
        self.intervals_: dict[str, Any] = {}
        for row, (name, (mean, low, high)) in enumerate(rows.items()):
            color, marker = styles[name]
            (self.intervals_[name],) = ax.plot([low, high], [row, row], color=color, linewidth=1.8)
            (self.points_[name],) = ax.plot([mean], [row], color=color, marker=marker, markersize=7, linestyle="none")
        ax.set_yticks(range(len(rows)), list(map(str, rows)))
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.margins(x=0.06)
        if line is None:
            return
        ax.axvline(line, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1)
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


class EvidenceDisplay(IntervalDisplay):
    """The evidence for each source, a point with its interval, and the verdict beside it.

    Dashed lines stand at odds of 19 to 1 against a source and for it.

    Parameters
    ----------
    evidence : mapping of name to (nats, low, high)
        From the top; above 0 speaks for the source. What is not finite is not drawn.
    verdicts : mapping of name to str
        "use", "leave out", "no evidence either way" or "not needed beside the others".

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
        The axes and the figure that hold it.
    points_, intervals_ : dict of name to matplotlib's Line2D
        The points and the lines, by name.
    size : (float, float)
        Inches that all sources need: the size to give to a `Figure`.

    Examples
    --------
    >>> from gapmin.plotting.evidence_displays import EvidenceDisplay
    >>> evidence = {"north": (6.0, 4.0, 8.0), "south": (-1.0, -3.0, 1.0)}
    >>> verdicts = {"north": "use", "south": "no evidence either way"}
    >>> display = EvidenceDisplay(evidence=evidence, verdicts=verdicts).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['use', 'no evidence either way']
    """

    def __init__(self, *, evidence: Mapping[str, tuple[float, float, float]], verdicts: Mapping[str, str]) -> None:
        if not evidence:
            raise ValueError("there is no source to draw: give at least one")
        for name in evidence:
            if verdicts.get(name) not in VERDICT_STYLES:
                known = ", ".join(map(repr, VERDICT_STYLES))
                raise ValueError(f"the verdict of {name!r} is {verdicts.get(name)!r}: use one of {known}")
        self.evidence = dict(evidence)
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
        """
        errors = {each.sources: each.evidence_error for each in evidence.hypotheses}
        names = figure_names([each.name for each in evidence.sources])
        found = {}
        for name, each in zip(names, evidence.sources, strict=True):
            half = STANDARD_ERRORS * errors.get((each.number,), 0.0)
            found[name] = (each.evidence, each.evidence - half, each.evidence + half)
        verdicts = {name: each.verdict for name, each in zip(names, evidence.sources, strict=True)}
        return cls(evidence=found, verdicts=verdicts).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which the names do not overlap."""
        return WIDTH, bars_height(len(self.evidence))

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; None makes a figure.
        """
        ax = self._axes(ax, self.size, grid="x")
        styles = {name: VERDICT_STYLES[self.verdicts[name]] for name in self.evidence}
        rows = {
            name: values if all(map(isfinite, values)) else (nan, nan, nan) for name, values in self.evidence.items()
        }
        for row, name in enumerate(rows):
            # Outside, where no interval can pass.
            ax.annotate(
                self.verdicts[name],
                (1.02, row),
                xycoords=("axes fraction", "data"),
                va="center",
                color=styles[name][0],
                annotation_clip=False,
            )
        self._draw_intervals(ax, rows, styles)
        ax.axvline(0, color=INK, linewidth=0.9)
        for threshold in (-CLEAR_EVIDENCE, CLEAR_EVIDENCE):
            ax.axvline(threshold, color=INK, linewidth=0.9, linestyle=DASHES)
        ax.set_xlabel("evidence in nats, 95% interval; dashed: odds of 19 to 1")
        return self


__all__ = ["EvidenceDisplay", "IntervalDisplay", "figure_names"]
