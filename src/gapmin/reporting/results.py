"""Errors of methods on problems over splits, and what can be said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from gapmin._utils.text import format_number
from gapmin.reporting.table import quoted_problems

from .table import Entry, Table, shown_name


@dataclass(frozen=True)
class Cell:
    """One fit: a method on one split of a problem.

    Attributes
    ----------
    problem, method : str
    split : int
    error : float
        On the target rows that did not train: percent wrong, or the root of the mean squared error.
    seconds : float
        Of the fit alone.
    n_target : int
        Target rows that trained.
    """

    problem: str
    method: str
    split: int
    error: float
    seconds: float
    n_target: int = 0


class Duel(NamedTuple):
    """How one method did against another, problem by problem and over the same splits.

    Attributes
    ----------
    problems, wins, losses : int
        Problems that both were run on, and on how many of them the first has the lower or the higher mean error.
    clear_wins, clear_losses : tuple of str or None
        Problems where the mean difference over the splits is more than two of its standard errors; None with one split.
    """

    ours: str
    theirs: str
    problems: int
    wins: int
    losses: int
    clear_wins: tuple[str, ...] | None
    clear_losses: tuple[str, ...] | None

    def __str__(self) -> str:
        said = f"{self.ours} beats {self.theirs} on {self.wins} of {self.problems} problems"
        if self.clear_wins is None or self.clear_losses is None:
            return said
        where = f": {quoted_problems(self.clear_losses)}" if self.clear_losses else ""
        return f"{said} (clearly better on {len(self.clear_wins)}, clearly worse on {len(self.clear_losses)}{where})"


class Results:
    """The cells of an experiment, by problem and method in the order of their first appearance.

    Parameters
    ----------
    cells : iterable of Cell

    Examples
    --------
    >>> ours = [Cell("a", "ours", split=0, error=1.0, seconds=0.1), Cell("a", "ours", 1, 3.0, 0.1)]
    >>> results = Results([*ours, Cell("a", "theirs", 0, 4.0, 0.1)])
    >>> results.mean("a", "ours"), results.standard_error("a", "ours")
    (2.0, 1.0)
    >>> results.best("a")
    ['ours']
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells = list(cells)
        self.problems = list(dict.fromkeys(cell.problem for cell in self.cells))
        self.methods = list(dict.fromkeys(cell.method for cell in self.cells))
        self._cells: dict[tuple[str, str], list[Cell]] = {}
        for cell in sorted(self.cells, key=lambda cell: cell.split):
            self._cells.setdefault((cell.problem, cell.method), []).append(cell)

    def has(self, problem: str, method: str) -> bool:
        """Whether the method was run on the problem."""
        return (problem, method) in self._cells

    def errors(self, problem: str, method: str) -> NDArray[np.float64]:
        """Errors by split."""
        return np.array([cell.error for cell in self._cells[problem, method]])

    def mean(self, problem: str, method: str) -> float:
        """Mean error over the splits."""
        return float(self.errors(problem, method).mean())

    def standard_error(self, problem: str, method: str) -> float:
        """Standard error of the mean over the splits; NaN with one."""
        errors = self.errors(problem, method)
        return float(errors.std(ddof=1) / np.sqrt(errors.size)) if errors.size > 1 else float("nan")

    def seconds(self, method: str) -> float:
        """Mean seconds of one fit of the method."""
        return float(np.mean([cell.seconds for cell in self.cells if cell.method == method]))

    def best(self, problem: str) -> list[str]:
        """Return the method of the lowest mean error, or more where they are equal."""
        means = {method: self.mean(problem, method) for method in self.methods if self.has(problem, method)}
        return [method for method, mean in means.items() if mean == min(means.values())]

    def times_best(self) -> Counter[str]:
        """On how many problems each method has the lowest mean error."""
        return Counter(method for problem in self.problems for method in self.best(problem))

    def duel(self, ours: str, theirs: str) -> Duel:
        """Compare two methods over the problems and splits that both were run on."""
        shared = [problem for problem in self.problems if self.has(problem, ours) and self.has(problem, theirs)]
        differences = [_paired(self._cells[problem, ours], self._cells[problem, theirs]) for problem in shared]
        means = np.array([difference.mean() for difference in differences])
        clear_wins = clear_losses = None
        if all(difference.size > 1 for difference in differences):
            spread = np.array([difference.std(ddof=1) / np.sqrt(difference.size) for difference in differences])
            clear_wins = tuple(compress(shared, means < -2 * spread))
            clear_losses = tuple(compress(shared, means > 2 * spread))
        return Duel(ours, theirs, means.size, int((means < 0).sum()), int((means > 0).sum()), clear_wins, clear_losses)

    def average(self, method: str) -> float:
        """Mean over the problems of the mean error: for errors in one unit."""
        return float(np.mean([self.mean(problem, method) for problem in self.problems]))

    def ratio(self, method: str, to: str) -> float:
        """Geometric mean over the problems of the error as a multiple of another method's: for errors in any unit."""
        logs = [np.log(self.mean(problem, method) / self.mean(problem, to)) for problem in self.problems]
        return float(np.exp(np.mean(logs)))

    def rank(self, method: str) -> float:
        """Mean rank of the method among all, 1 the lowest error."""
        means = [[self.mean(problem, each) for each in self.methods] for problem in self.problems]
        return float(rankdata(means, axis=1).mean(axis=0)[self.methods.index(method)])

    def table(self, caption: str, *, ratio_to: str | None = None, narrow_header: Sequence[str] = ()) -> Table:
        """Lay out mean and standard error by problem and method, the lowest mean in bold.

        Parameters
        ----------
        caption : str
        ratio_to : str, optional
            Average the errors as multiples of this method's instead of as they are: for errors in different units.
        narrow_header : sequence of str
            See `Table`.
        """
        summary = [
            self._summary("average", [self.average(method) for method in self.methods])
            if ratio_to is None
            else self._summary(
                f"average, {ratio_to} = 1", [self.ratio(method, ratio_to) for method in self.methods], "{:.2f}"
            ),
            self._summary("average rank", [self.rank(method) for method in self.methods], "{:.1f}"),
        ]
        rows = [
            [Entry(shown_name(problem)), *(self._entry(problem, method) for method in self.methods)]
            for problem in self.problems
        ]
        return Table(caption, ["", *self.methods], rows, summary, narrow_header)

    def _entry(self, problem: str, method: str) -> Entry:
        mean, spread = format_number(self.mean(problem, method)), self.standard_error(problem, method)
        decimals = len(mean.partition(".")[2])
        detail = "" if np.isnan(spread) else f"±{spread:.{decimals}f}"
        return Entry(mean, detail, method in self.best(problem))

    def _summary(self, name: str, values: list[float], form: str | None = None) -> list[Entry]:
        texts = [format_number(value) if form is None else form.format(value) for value in values]
        return [
            Entry(name),
            *(Entry(text, "", value == min(values)) for text, value in zip(texts, values, strict=True)),
        ]


def _paired(ours: list[Cell], theirs: list[Cell]) -> NDArray[np.float64]:
    """Error differences over the splits that both have."""
    other = {cell.split: cell.error for cell in theirs}
    return np.array([cell.error - other[cell.split] for cell in ours if cell.split in other])
