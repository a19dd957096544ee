"""The gap of each source beside what the source did to the error: a table, a figure and what can be said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from gapmin._utils.text import format_number
from gapmin.plotting import Figure
from gapmin.reporting.table import quoted_problems

from ..plotting.bar_displays import WIDTH, bars_height
from ..plotting.gap_displays import GapDisplay
from ..reporting.html import Section
from ..reporting.results import Results
from ..reporting.table import Entry, Table, shown_name

LEVEL = 0.05
"""Below this p-value a gap is called larger than chance."""


@dataclass(frozen=True)
class SourceGap:
    """The performance gap between the target's training rows and one source.

    Attributes
    ----------
    problem, task : str
    source : int
        Its number, from 1.
    n_sources : int
        Of the problem.
    parts : dict of str to float
        On the source and on the target; of several classes the means over the classes, each against the rest.
    n_classes : int
        0 for a regression.
    by_chance : float
        The median gap after the rows were dealt out again at random; NaN where that was not done.
    p_value : float
        The share of those gaps that are at least as large; NaN where that was not done.
    """

    problem: str
    task: str
    source: int
    n_sources: int
    parts: dict[str, float]
    n_classes: int
    by_chance: float = float("nan")
    p_value: float = float("nan")

    @property
    def value(self) -> float:
        """The gap, the sum of its parts."""
        return sum(self.parts.values())

    @property
    def name(self) -> str:
        """For readers: the problem, with the source's number where it has several."""
        return shown_name(self.problem) + (f", source {self.source}" if self.n_sources > 1 else "")


def gap_table(gaps: Sequence[SourceGap], results: Results, with_source: str, without: str) -> Table:
    """Lay out every gap, and how many times the error without sources is the error with all of them.

    Parameters
    ----------
    gaps : sequence of SourceGap
    results : Results
    with_source, without : str
        The methods whose errors are compared.
    """
    header = ["", "gap", "on the source", "on the target", "by chance", "p", "error with / without"]
    narrow = ["", "gap", "on the\nsource", "on the\ntarget", "by\nchance", "p", "error with\n/ without"]
    rows = [
        [
            Entry(gap.name),
            *(Entry(f"{value:.2f}") for value in (gap.value, gap.parts["source"], gap.parts["target"])),
            Entry(_known(gap.by_chance)),
            Entry(_known(gap.p_value), best=gap.p_value <= LEVEL),
            Entry(_known(_ratio(gap.problem, results, with_source, without)) if gap.source == 1 else ""),
        ]
        for gap in gaps
    ]
    shown = f"p up to {LEVEL:g} in bold" if any(row[5].best for row in rows) else f"no p is as low as {LEVEL:g}"
    return Table(f"Performance gap of each source, first split; {shown}", header, rows, narrow_header=narrow)


def gap_findings(gaps: Sequence[SourceGap], results: Results, with_source: str, without: str) -> list[str]:
    """Say how many gaps are larger than chance, and whether they go with the harm that the sources do."""
    points = []
    tested = [gap for gap in gaps if not np.isnan(gap.p_value)]
    if tested:
        large = sum(gap.p_value <= LEVEL for gap in tested)
        points.append(
            f"The gap is larger than chance (p up to {LEVEL:g}) for {large} of the {len(tested)} sources tested; "
            f"without any difference it would be for about {format_number(LEVEL * len(tested), 2)}."
        )
    for task in dict.fromkeys(gap.task for gap in gaps):
        points += _together([gap for gap in gaps if gap.task == task], task, results, with_source, without)
    return points


def _together(gaps: Sequence[SourceGap], task: str, results: Results, with_source: str, without: str) -> list[str]:
    """Say in a sentence whether large gaps and harm meet; gaps of one kind of problem are in one unit."""
    problems = [
        each
        for each in dict.fromkeys(gap.problem for gap in gaps)
        if not np.isnan(_ratio(each, results, with_source, without))
    ]
    ratio = [_ratio(each, results, with_source, without) for each in problems]
    mean = [float(np.mean([gap.value for gap in gaps if gap.problem == each])) for each in problems]
    if not problems:
        return []
    if len(problems) < 5:
        hurt = [each for each, times in zip(problems, ratio, strict=True) if times > 1]
        widest = int(np.argmax(mean))
        name = quoted_problems([problems[widest]])
        return [
            f"{task.capitalize()}: the error of {with_source} is above that of {without} on "
            f"{quoted_problems(hurt) if hurt else 'no problem'}; the largest gap is that of {name}, where "
            f"the first error is {ratio[widest]:.2f} times the second."
        ]
    if len(set(mean)) == 1 or len(set(ratio)) == 1:
        return []  # nothing to rank
    rank, p = spearmanr(mean, ratio)
    verdict = (
        "do not clearly go together"
        if p > LEVEL
        else "go together"
        if rank > 0
        else "go opposite ways: where the gap is large the sources help more"
    )
    return [
        f"{task.capitalize()}, {len(problems)} problems: the mean gap of a problem's sources and the error with over "
        f"without them {verdict} (rank correlation {rank:.2f}, p = {p:.2f})."
    ]


def gap_section(gaps: Sequence[SourceGap], results: Results, with_source: str, without: str) -> Section:
    """Lay out the gaps of the sources with a figure for each kind of problem."""
    text = [
        "The performance gap asks how much worse the best linear model of one domain does on the other: the part on "
        "the source is what the target's model loses there against the source's own, the part on the target what the "
        "source's model loses on the target's training rows. It is 0 where one model serves both.",
        "Few rows make a gap too, for models of 25 rows differ by accident. “By chance” is the median gap after all "
        "rows of the two were dealt out again at random, and p the share of such gaps that are at least as large: a "
        "gap near chance says that these rows cannot tell the domains apart, not that they are the same.",
        f"The last column is the error of {with_source} over that of {without}, with all sources of the problem pooled "
        "and over all splits: above 1 the sources hurt when they are used plainly.",
    ]
    averaged = sorted({gap.n_classes for gap in gaps if gap.n_classes > 2})
    if averaged:
        text.append(
            f"With {' or '.join(map(str, averaged))} classes the gap is the mean over the classes of one against the "
            "rest, and is not tested, for that takes long."
        )
    figures = []
    for task, unit in (("classification", "logistic loss"), ("regression", "squared loss, labels standardised")):
        of_task = [gap for gap in gaps if gap.task == task]
        if of_task:
            smallest, largest = (pick(of_task, key=lambda gap: gap.value) for pick in (min, max))
            said = f"Smallest for {smallest.name} ({format_number(smallest.value)})"
            said += f", largest for {largest.name} ({format_number(largest.value)})." if largest != smallest else "."
            figures.append(
                Figure(
                    GapDisplay(parts={gap.name: gap.parts for gap in of_task}).plot,
                    said,
                    f"{task.capitalize()}: the gap of each source ({unit})",
                    (WIDTH, bars_height(len(of_task))),
                )
            )
    return Section(
        "The gap of each source",
        text,
        gap_findings(gaps, results, with_source, without),
        [gap_table(gaps, results, with_source, without)],
        figures,
    )


def _ratio(problem: str, results: Results, with_source: str, without: str) -> float:
    if not (results.has(problem, with_source) and results.has(problem, without)):
        return float("nan")
    alone = results.mean(problem, without)
    return results.mean(problem, with_source) / alone if alone > 0 else float("nan")


def _known(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}"
