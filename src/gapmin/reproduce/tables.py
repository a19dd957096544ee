"""Tables and curves of errors, the paper's beside ours, and one paired test everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapmin._utils.statistics import TTest, corrected_t_test, holm
from gapmin.plotting import ErrorCurveDisplay, Figure
from gapmin.reporting import Entry, RowGroup, Table, shown_name

from .cells import Cell, SettingValue
from .experiment import Found, Plan, Series, average
from .names import POOLING
from .printed import Printed, printed
from .verdicts import judge, judge_most, verdict

AVERAGE = "avg."
SIGNIFICANCE_LEVEL = 0.05
FEW_SPLITS = 5
WORSE, BETTER = "▲", "▼"


@dataclass(frozen=True)
class Block:
    """Rows that are averaged together: a part of a table.

    Attributes
    ----------
    heading : str
        As the paper names the part; empty where the table has one part only.
    rows : mapping of row to mapping of method to Series
    """

    heading: str
    rows: Mapping[str, Mapping[str, Series]]

    def average(self, method: str) -> Series:
        """Return the mean over the rows, split by split."""
        return average([row[method] for row in self.rows.values()])

    def means(self, row: str) -> dict[str, float]:
        """Return the mean error of each method; the row may be `AVERAGE`."""
        methods = next(iter(self.rows.values()))
        return {each: (self.average(each) if row == AVERAGE else self.rows[row][each]).mean for each in methods}

    def lowest(self, row: str, among: Sequence[str]) -> str:
        """Return the method with the lowest mean error, of those that have one."""
        means = self.means(row)
        return min(among, key=lambda method: (np.isnan(means[method]), means[method]))


@dataclass(frozen=True)
class TransferGrid:
    """Methods on transfer problems, all with one setting: the cells of a block, and the block.

    Attributes
    ----------
    heading : str
        Of the block.
    problems, methods : sequence of str
    setting : mapping of str to value
        Weighted pooling is one regression with nothing to resample: "resample" is left out of its cells.
    """

    heading: str
    problems: Sequence[str]
    methods: Sequence[str]
    setting: Mapping[str, SettingValue]

    def cells(self, plan: Plan) -> list[Cell]:
        """Return the cells of every method on every problem."""
        return [
            cell
            for problem in self.problems
            for method in self.methods
            for cell in plan.cells("transfer", problem, method, **self._setting(method))
        ]

    def block(self, found: Found) -> Block:
        """Return what was found in these cells."""
        return Block(
            self.heading,
            {
                problem: {
                    method: found.series("transfer", problem, method, **self._setting(method))
                    for method in self.methods
                }
                for problem in self.problems
            },
        )

    def _setting(self, method: str) -> dict[str, SettingValue]:
        return {name: value for name, value in self.setting.items() if name != "resample" or method not in POOLING}


@dataclass(frozen=True)
class Comparison:
    """The method of the paper against others on a block.

    Attributes
    ----------
    block : Block
    ours : str
    others : sequence of str
    """

    block: Block
    ours: str
    others: Sequence[str]

    def by_row(self) -> dict[tuple[str, str], str]:
        """Mark, by row and method, who differs from ours, after Holm's correction over the whole block."""
        pairs = [(row, other) for row in self.block.rows for other in self.others]
        tests = [difference(self.block.rows[row][self.ours], self.block.rows[row][other]) for row, other in pairs]
        adjusted = holm([test.p_value for test in tests])
        return {
            pair: (WORSE if test.mean < 0 else BETTER)
            for pair, test, p in zip(pairs, tests, adjusted, strict=True)
            if p < SIGNIFICANCE_LEVEL
        }

    def on_average(self) -> list[tuple[str, TTest, float]]:
        """Test the difference of the averages: each other method, the test, and p after Holm's correction."""
        tests = [difference(self.block.average(self.ours), self.block.average(other)) for other in self.others]
        adjusted = holm([test.p_value for test in tests])
        return list(zip(self.others, tests, map(float, adjusted), strict=True))

    def tests(self) -> list[TTest]:
        """Test the difference of the averages to each other method."""
        return [test for _, test, _ in self.on_average()]

    def lower_on(self, other: str) -> int:
        """On how many rows our mean error is the lower."""
        return sum(row[self.ours].mean < row[other].mean for row in self.block.rows.values())


def difference(ours: Series, theirs: Series) -> TTest:
    """Test ours less theirs over the splits that both have."""
    differences = ours.errors - theirs.errors
    differences = differences[~np.isnan(differences)]
    if not differences.size:
        return TTest(np.nan, np.nan, np.nan, np.nan, 0)
    return corrected_t_test(differences, max(ours.n_train, 1), ours.n_test)


def error_table(
    caption: str,
    table: str | None,
    blocks: Sequence[Block],
    methods: Sequence[str],
    ours: str,
    *,
    notes: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
) -> Table:
    """Lay out mean and standard error by row and method, the paper's beside ours, the lowest of a row in bold.

    Parameters
    ----------
    caption : str
    table : str or None
        The paper's, for its numbers; None where there are none.
    blocks : sequence of Block
    methods : sequence of str
    ours : str
        The method that the others are tested against.
    notes : sequence of str
        Below the table.
    names : mapping of str to str
        What a row is called in print, where that differs.
    """
    others = [method for method in methods if method != ours]

    def group(block: Block) -> RowGroup:
        marks = Comparison(block, ours, others).by_row()

        def row(name: str, series: Mapping[str, Series]) -> list[Entry]:
            best = block.lowest(name, methods)
            in_print = (names or {}).get(name, name)
            return [
                Entry(shown_name(name)),
                *(
                    error_entry(
                        series[method],
                        marks.get((name, method), ""),
                        method == best,
                        printed(table, block.heading, in_print, method) if table else None,
                    )
                    for method in methods
                ),
            ]

        return RowGroup(
            block.heading,
            [row(name, series) for name, series in block.rows.items()],
            [row(AVERAGE, {method: block.average(method) for method in methods})] if len(block.rows) > 1 else [],
        )

    n_splits = next(iter(next(iter(blocks[0].rows.values())).values())).errors.size
    several = [
        f"{WORSE} higher, {BETTER} lower than {ours}: corrected resampled t-test over the splits, p below "
        f"{SIGNIFICANCE_LEVEL} after Holm's correction over the rows and columns of the part."
    ]
    return Table(
        f"{caption}: mean{' ± standard error' * (n_splits > 1)} over {n_splits} split{'s' * (n_splits > 1)}, "
        "lowest in bold",
        ["", *methods],
        groups=[group(block) for block in blocks],
        notes=[*(several if n_splits > 1 else []), *notes],
    )


def error_curves(title: str, caption: str, sizes: Sequence[float], rows: Sequence[Mapping[str, Series]]) -> Figure:
    """Draw the error of each method by the size of the target sample, from a row of series for each size."""
    errors = {method: np.array([row[method].errors for row in rows]) for method in rows[0]}
    return Figure(ErrorCurveDisplay(sizes=sizes, errors=errors).plot, caption, title)


def error_entry(series: Series, mark: str, best: bool, in_print: Printed | None) -> Entry:
    """Write mean and standard error of a series, what is marked of it, and the paper's number."""
    there = int((~np.isnan(series.errors)).sum())
    if not there:
        return Entry("failed", printed=as_printed(in_print))
    spread = "" if np.isnan(series.standard_error) else f"±{series.standard_error:.2f}"
    lacking = "" if there == series.errors.size else f" ({there} of {series.errors.size})"
    return Entry(f"{series.mean:.2f}", f"{spread}{mark}{lacking}", best, as_printed(in_print))


def as_printed(number: Printed | None) -> str:
    """Write a number of the paper with its standard error, to as many decimals as the number has."""
    if number is None:
        return ""
    decimals = len(number.text.partition(".")[2])
    return number.text + ("" if number.error is None else f" ±{number.error:.{decimals}f}")


def difference_table(caption: str, comparisons: Sequence[Comparison]) -> Table:
    """Lay out the differences between averages with intervals and p-values."""
    header = ["", "difference", "95% interval", "p", "p, Holm", "lower on"]
    groups = []
    for comparison in comparisons:
        rows = []
        for other, test, adjusted in comparison.on_average():
            low, high = test.interval(0.95)
            rows.append(
                [
                    Entry(f"less {other}"),
                    Entry("" if np.isnan(test.mean) else f"{test.mean:+.2f}"),
                    Entry("" if np.isnan(low) else f"{low:+.2f} to {high:+.2f}"),
                    Entry(_p(test.p_value)),
                    Entry(_p(adjusted), best=adjusted < SIGNIFICANCE_LEVEL),
                    Entry(f"{comparison.lower_on(other)} of {len(comparison.block.rows)}"),
                ]
            )
        groups.append(RowGroup(comparison.block.heading, rows))
    ratios = {each.block.heading: _test_rows_per_training_row(each) for each in comparisons}
    notes = [
        "Corrected resampled t-test (Nadeau & Bengio 2003) on the average of the rows, split by split; Holm's "
        "correction over the lines of a part; below 0.05 in bold. “Lower on” counts rows by their means.",
    ]
    n_splits = comparisons[0].block.average(comparisons[0].ours).errors.size
    if n_splits < FEW_SPLITS:
        notes.append(f"Over {n_splits} splits a test says little, in either direction.")
    if max(ratios.values()) > 1:
        shown = ", ".join(
            f"{ratio:.1f} {f'({heading})' if heading else ''}".strip() for heading, ratio in ratios.items()
        )
        notes.append(
            f"Test rows for each that trains: {shown}. The more there are, the more the correction allows for, since "
            "random splits of one data set share rows; it then takes a difference several times the standard errors "
            "shown to pass it. Where rows are drawn anew from many, it is more cautious than it need be."
        )
    return Table(caption, header, groups=groups, notes=notes)


def _test_rows_per_training_row(comparison: Comparison) -> float:
    ours = comparison.block.average(comparison.ours)
    return ours.n_test / max(ours.n_train, 1)


def _p(value: float) -> str:
    if np.isnan(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def lowest_on_most(block: Block, ours: str, others: Sequence[str], of_what: str) -> str:
    """Judge whether a method has lower errors than all others on most rows of a block."""
    times = sum(all(of[ours].mean < of[each].mean for each in others) for of in block.rows.values())  # no ties
    return verdict(
        judge_most([[difference(of[ours], of[each]) for each in others] for of in block.rows.values()]),
        f"{ours} has the lowest error on most {of_what}. By means it has on {times} of {len(block.rows)}.",
    )


def at_most_printed(table: str, block: Block, ours: str, where: str) -> str:
    """Judge whether our average is below the printed one, by the interval of ours; the print has none."""
    series, in_print = block.average(ours), printed(table, block.heading, AVERAGE, ours)
    if in_print is None:
        raise ValueError(f"{table} prints no average of {ours} in {block.heading!r}")
    test = difference(series, replace(series, errors=np.full_like(series.errors, in_print.value)))
    return verdict(
        judge([test]),
        f"the average of {ours} on {where} is at most the printed one. {series.mean:.2f}, in print {in_print.text}"
        f"{interval_text(test)}.",
    )


def interval_text(test: TTest) -> str:
    """Say the difference and its 95% interval; nothing where one split leaves it unknown.

    Examples
    --------
    >>> interval_text(corrected_t_test([1, 2, 3, 4, 5], n_train=80, n_test=20))
    ' (difference +3.00, 95% interval +0.06 to +5.94)'
    """
    low, high = test.interval(0.95)
    return "" if np.isnan(low) else f" (difference {test.mean:+.2f}, 95% interval {low:+.2f} to {high:+.2f})"
