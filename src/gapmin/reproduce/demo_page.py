"""The report of a comparison on transfer and multitask problems: what the numbers say, in words, tables and figures."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.text import format_number
from gapmin.plotting import Figure
from gapmin.reporting.table import quoted_problems

from ..plotting.curve_displays import ErrorCurveDisplay
from ..plotting.displays import DisagreementDisplay, WeightMassDisplay
from ..reporting.html import Report, Section
from ..reporting.results import Cell, Results
from ..reporting.table import Entry, Table, error_caption, shown_name
from .demo_multitask_page import MultitaskComparison, multitask_headline, multitask_section, multitask_timing
from .demo_source_gaps import SourceGap, gap_findings, gap_section, gap_table

TARGET_ONLY, BOTH = "AdaBoost on target", "AdaBoost on both"
GAPBOOST, GAPBOOST_SOFT = "gapBoost", "gapBoost soft"
BASELINES = (TARGET_ONLY, BOTH)

_NARROW = {
    TARGET_ONLY: "AdaBoost\ntarget",
    BOTH: "AdaBoost\nboth",
    "TrAdaBoost": "TrAda-\nBoost",
    "TransferBoost": "Transfer-\nBoost",
    GAPBOOST_SOFT: "gapBoost\nsoft",
}
_UNITS = {"classification": "% error", "regression": "RMS error"}


@dataclass(frozen=True)
class ProblemFacts:
    """What a reader must know of a problem."""

    name: str
    task: str
    description: str
    n_train: int
    n_test: int
    source_sizes: tuple[int, ...]
    n_features: int


@dataclass(frozen=True)
class Trace:
    """What gapBoost recorded on the first split of a problem."""

    problem: str
    method: str
    mass: NDArray[np.float64]
    domains: NDArray[np.int64]
    disagreement: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What a comparison found, however it will be shown.

    Attributes
    ----------
    cells : list of Cell
        Every method on every split of every problem, by the problem's own protocol.
    curve : list of Cell
        The same by number of target rows, on some problems.
    traces : list of Trace
        Of gapBoost, by problem.
    problems : list of ProblemFacts
    n_splits, n_jobs : int
    seconds : float
        From start to end.
    gaps : list of SourceGap
        Of every source of the problems, before they are pooled.
    multitask : MultitaskComparison, optional
        Networks of many tasks; None where none were trained.
    """

    cells: list[Cell]
    curve: list[Cell]
    traces: list[Trace]
    problems: list[ProblemFacts]
    n_splits: int
    n_jobs: int
    seconds: float
    gaps: list[SourceGap] = field(default_factory=list)
    multitask: MultitaskComparison | None = None

    def results(self, task: str | None = None) -> Results:
        """Return the cells of the problems of one kind, or of all."""
        names = {problem.name for problem in self.problems if task in (None, problem.task)}
        return Results(cell for cell in self.cells if cell.problem in names)


def tables(comparison: Comparison) -> list[Table]:
    """Return a table for each kind of problem."""
    out = []
    for task, unit in _UNITS.items():
        results = comparison.results(task)
        if not results.cells:
            continue
        header = ["", *(_NARROW.get(method, method) for method in results.methods)]
        caption = error_caption(task.capitalize(), unit, comparison.n_splits)
        ratio_to = BOTH if task == "regression" else None
        out.append(results.table(caption, ratio_to=ratio_to, narrow_header=header))
    return out


def source_gap_tables(comparison: Comparison) -> list[Table]:
    """Return the table of the gaps, if any were measured."""
    return [gap_table(comparison.gaps, comparison.results(), BOTH, TARGET_ONLY)] if comparison.gaps else []


def source_gap_findings(comparison: Comparison) -> list[str]:
    """Say what the gaps say, and whether they go with the harm that the sources do."""
    return gap_findings(comparison.gaps, comparison.results(), BOTH, TARGET_ONLY)


def headline(comparison: Comparison) -> str:
    """Say how gapBoost did against the two ways of doing without it, and gapMTNN against Uniform."""
    results = comparison.results()
    both, alone = (results.duel(GAPBOOST, baseline) for baseline in (BOTH, TARGET_ONLY))
    said = (
        f"gapBoost errs less than AdaBoost on source and target together on {both.wins} of {both.problems} problems, "
        f"and less than AdaBoost on the target alone on {alone.wins} of {alone.problems}."
    )
    return said if comparison.multitask is None else f"{said} {multitask_headline(comparison.multitask)}"


def findings(comparison: Comparison) -> list[str]:
    """Say who beats whom, and where transfer does not pay."""
    results = comparison.results()
    points = [
        f"{results.duel(GAPBOOST, other)}." for other in results.methods if other not in (GAPBOOST, GAPBOOST_SOFT)
    ]
    if GAPBOOST_SOFT in results.methods:
        points += [f"{results.duel(GAPBOOST_SOFT, other)}." for other in (*BASELINES, GAPBOOST)]
    times = results.times_best().most_common()
    points.append("Lowest mean error: " + ", ".join(f"{method} on {count}" for method, count in times) + ".")
    for baseline in BASELINES:
        won = [problem for problem in results.problems if baseline in results.best(problem)]
        if won:
            points.append(f"A plain baseline, {baseline}, has the lowest mean error on {quoted_problems(won)}.")
    return points


def comparison_report(comparison: Comparison, title: str, protocol: Sequence[str] = ()) -> Report:
    """Lay out a comparison as a page.

    Parameters
    ----------
    comparison : Comparison
    title : str
    protocol : sequence of str
        How it was run, beyond what every comparison shares.
    """
    errors = Section(
        "Errors",
        ["Measured on the target rows that did not train, after training on all source rows and a few of the target."],
        tables=tables(comparison),
    )
    words = Section("Who beats whom", _what_clearly_means(comparison), findings(comparison))
    sections = [errors, words]
    if comparison.gaps:
        sections.append(gap_section(comparison.gaps, comparison.results(), BOTH, TARGET_ONLY))
    if comparison.curve:
        sections.append(_curve_section(comparison))
    if comparison.traces:
        sections.append(_trace_section(comparison))
    if comparison.multitask is not None:
        sections.append(multitask_section(comparison.multitask))
    sections += [_problem_section(comparison), _protocol_section(comparison, protocol)]
    return Report(title, headline(comparison), sections)


def _what_clearly_means(comparison: Comparison) -> list[str]:
    if comparison.n_splits == 1:
        return ["By mean error. One split cannot say which differences are clear."]
    return [
        "By mean error over the same splits. “Clearly” means that the mean difference is more than two of its "
        f"standard errors; {comparison.n_splits} splits that share rows make that a rough guide, not a test."
    ]


def _curve_section(comparison: Comparison) -> Section:
    figures = []
    for problem in dict.fromkeys(cell.problem for cell in comparison.curve):
        cells = [cell for cell in comparison.curve if cell.problem == problem]
        sizes = sorted({cell.n_target for cell in cells})
        by_size = {size: Results(cell for cell in cells if cell.n_target == size) for size in sizes}
        methods = by_size[sizes[0]].methods
        errors = {method: np.array([by_size[n].errors(problem, method) for n in sizes]) for method in methods}
        best = [" and ".join(by_size[n].best(problem)) for n in (sizes[0], sizes[-1])]
        figures.append(
            Figure(
                ErrorCurveDisplay(sizes=sizes, errors=errors).plot,
                f"Lowest with {sizes[0]} target rows: {best[0]}; with {sizes[-1]}: {best[1]}. "
                + ("Bars are one standard error." if comparison.n_splits > 1 else ""),
                f"{shown_name(problem)}: error by number of target rows",
            )
        )
    text = (
        f"{TARGET_ONLY} has only the target rows to learn from; {BOTH} is ruled by the source until they are many. "
        "A method that knows what to let go of should follow the lower of the two all the way."
    )
    return Section("More target rows", [text], figures=figures)


def _trace_section(comparison: Comparison) -> Section:
    results = comparison.results()

    def harm(trace: Trace) -> float:
        return results.mean(trace.problem, BOTH) - results.mean(trace.problem, TARGET_ONLY)

    worst, *_, gentlest = (ordered := sorted(comparison.traces, key=harm, reverse=True)) * 2
    figures = []
    for trace in [worst] if len(ordered) == 1 else [worst, gentlest]:
        both, alone = (format_number(results.mean(trace.problem, method)) for method in (BOTH, TARGET_ONLY))
        effect = "hurts" if harm(trace) > 0 else "helps"
        (start, end), name = (100 * trace.mass[[0, -1], 0]), shown_name(trace.problem)
        figures += [
            Figure(
                WeightMassDisplay(mass=trace.mass, domains=trace.domains).plot,
                f"Plain use of the source {effect} here: the error of AdaBoost is {both} with it and {alone} without. "
                f"The target starts with {start:.0f}% of the weight and ends with {end:.0f}%.",
                f"{name}: who holds the weight",
            ),
            Figure(
                DisagreementDisplay(disagreement=trace.disagreement).plot,
                "Weight of the rows on which a learner of the source and one of the target disagree; on the source it "
                f"goes from {100 * trace.disagreement[0, 0]:.0f}% to {100 * trace.disagreement[-1, 0]:.0f}%.",
                f"{name}: where source and target disagree",
            ),
        ]
    text = (
        f"{worst.method}, first split. Every round it takes weight from source rows on which the two disagree, "
        "and gives weight to rows that it gets wrong; where those are the same rows, the second undoes the first."
    )
    return Section("What gapBoost does with the source", [text], figures=figures)


def _problem_section(comparison: Comparison) -> Section:
    header = ["problem", "what it is", "target rows: train / test", "source rows", "features"]
    rows = [
        [
            Entry(shown_name(facts.name)),
            Entry(facts.description),
            Entry(f"{facts.n_train} / {facts.n_test}"),
            Entry(" + ".join(map(str, facts.source_sizes))),
            Entry(str(facts.n_features)),
        ]
        for facts in comparison.problems
    ]
    return Section("The problems", tables=[Table("Rows and columns of each problem", header, rows, numeric=False)])


def _protocol_section(comparison: Comparison, protocol: Sequence[str]) -> Section:
    timing = "; ".join(
        f"{task}: " + ", ".join(f"{method} {results.seconds(method):.2f} s" for method in results.methods)
        for task in _UNITS
        if (results := comparison.results(task)).cells
    )
    multitask = comparison.multitask
    if multitask is not None:
        timing += f"; {multitask_timing(multitask)}"
    packages = ["gapmin", "numpy", "scipy", "scikit-learn", "matplotlib", *(["torch"] if multitask else [])]
    versions: dict[str, Any] = {"Python": platform.python_version()} | {name: version(name) for name in packages}
    points = [
        *protocol,
        f"{len(comparison.cells) + len(comparison.curve) + (len(multitask.fits) if multitask else 0)} fits"
        + (f" and {len(comparison.gaps)} gaps" if comparison.gaps else "")
        + f" in {comparison.seconds:.0f} s "
        f"with {comparison.n_jobs} processes, one thread each. Mean time of a fit in the tables, {timing}.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
    ]
    return Section("Protocol", points=points)
