"""What the league says: its tables, and in words what holds and what does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.statistics import TTest, corrected_t_test, holm
from gapmin._utils.text import format_number
from gapmin.reporting.html import Section
from gapmin.reporting.table import Entry, RowGroup, Table, quoted_problems, shown_name
from gapmin.reproduce.cells import Outcome

from .problems import METHODS, OURS, row_name
from .problems import TARGET_ONLY as ALONE

LEVEL = 0.05
_DROPPED = 0.05
"""A source with no more than this share of the weight counts as dropped."""


@dataclass(frozen=True)
class Row:
    """One problem: the errors of every method over the splits, and what `TransferCV` did."""

    problem: str
    errors: dict[str, NDArray[np.float64]]
    n_train: float
    n_test: float
    dropped: NDArray[np.bool_]
    is_regression: bool

    def best_but(self, method: str) -> str:
        """Return which of the others has the lowest mean error."""
        return min((each for each in METHODS if each in self.errors and each != method), key=self.mean)

    def mean(self, method: str) -> float:
        """Return the mean error."""
        return float(self.errors[method].mean())

    def standard_error(self, method: str) -> float:
        """Return the standard error of the mean over the splits."""
        errors = self.errors[method]
        return float(errors.std(ddof=1) / np.sqrt(errors.size)) if errors.size > 1 else 0.0

    def is_near_best(self, method: str = OURS) -> bool:
        """Whether a method is no further above the best of the others than that one's standard error."""
        best = self.best_but(method)
        return method in self.errors and self.mean(method) <= self.mean(best) + self.standard_error(best)

    @property
    def is_level_with_best(self) -> bool:
        """Whether ours is no further above the best of the others than the standard error of their difference."""
        test = corrected_t_test(self.errors[OURS] - self.errors[self.best_but(OURS)], self.n_train, n_test=0)
        return test.mean <= (test.standard_error if len(self.errors[OURS]) > 1 else 0.0)

    def against_alone(self, method: str = OURS, *, corrected: bool = True) -> TTest:
        """Test a method against the target alone: the corrected resampled t-test, or the ordinary paired one."""
        return corrected_t_test(self.errors[method] - self.errors[ALONE], self.n_train, self.n_test if corrected else 0)

    @property
    def regret(self) -> NDArray[np.float64]:
        """The error of ours less that of the target alone in each split, as a share of the latter's mean."""
        difference, size = self.errors[OURS] - self.errors[ALONE], self.mean(ALONE)
        return difference / size if size > 0 else np.zeros_like(difference)


def rows_of(outcomes: Sequence[Outcome], poisoned: bool, row_of: Callable[[str], str] = row_name) -> list[Row]:
    """Gather the outcomes of the honest or of the poisoned league, row by row; only complete splits count.

    Of a row with several problems the errors are averaged split by split, and every fit is asked what it dropped.
    """
    rows = (_row(name, group) for name, group in _groups(outcomes, poisoned, row_of).items())
    return [row for row in rows if row is not None]


def _groups(outcomes: Sequence[Outcome], poisoned: bool, row_of: Callable[[str], str]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for each in outcomes:
        if (each.cell.values["poison"] != "none") == poisoned:
            groups.setdefault(row_of(each.cell.problem), []).append(each)
    return groups


def _row(name: str, outcomes: Sequence[Outcome]) -> Row | None:
    """Return the row of some problems, None where no split has a result of every method on every problem."""
    found = {
        (each.cell.problem, each.cell.method, each.cell.split): each.measured for each in outcomes if each.measured
    }
    problems = list(dict.fromkeys(each.cell.problem for each in outcomes))
    methods = [method for method in METHODS if any(each.cell.method == method for each in outcomes)]
    splits = [
        split
        for split in sorted({each.cell.split for each in outcomes})
        if all((problem, method, split) in found for problem in problems for method in methods)
    ]
    if not {OURS, ALONE} <= set(methods) or not splits:
        return None

    def values(method: str, of: Callable[[Any], float]) -> NDArray[Any]:
        """Return something of every fit of a method: a row for each problem, a column for each split."""
        return np.array([[of(found[problem, method, split]) for split in splits] for problem in problems])

    return Row(
        name,
        {method: values(method, attrgetter("error")).mean(axis=0) for method in methods},
        n_train=float(values(OURS, attrgetter("n_train")).mean()),
        n_test=float(values(OURS, attrgetter("n_test")).mean()),
        dropped=values(OURS, lambda measured: measured.extra["source_weight"] <= _DROPPED).ravel(),
        is_regression="TransferBoost" not in methods,
    )


def pairs_of(outcomes: Sequence[Outcome], poisoned: bool) -> list[Row]:
    """Return a row for every problem that has only a part of a row of the league."""
    return [row for row in rows_of(outcomes, poisoned, row_of=str) if row_name(row.problem) != row.problem]


def significantly_worse(rows: Sequence[Row]) -> list[str]:
    """Return the problems on which ours is worse than the target alone, after Holm's correction over all problems."""
    return _differing(rows, OURS, corrected=True)[0]


def _differing(rows: Sequence[Row], method: str, *, corrected: bool) -> tuple[list[str], list[str]]:
    """Return the problems on which a method is significantly worse, and better, than the target alone."""
    asked = [row for row in rows if method in row.errors]
    tests = [row.against_alone(method, corrected=corrected) for row in asked]
    adjusted = holm([test.p_value for test in tests])
    clear = [(row.problem, test.mean > 0) for row, test, p in zip(asked, tests, adjusted, strict=True) if p < LEVEL]
    worse, better = ([name for name, is_worse in clear if is_worse == wanted] for wanted in (True, False))
    return worse, better


def _plainly(rows: Sequence[Row]) -> str:
    """Say what the ordinary t-test finds, which takes the splits as independent."""
    counts = {
        method: tuple(map(len, _differing(rows, method, corrected=False))) for method in METHODS if method != ALONE
    }
    worse, better = counts.pop(OURS)
    others = ", ".join(f"{method} {n_worse} and {n_better}" for method, (n_worse, n_better) in counts.items())
    return (
        "The corrected test hardly finds anything where so many more rows test than train, of any method; the ordinary "
        f"paired t-test, for which the splits are independent, finds {OURS} worse than the target alone on {worse} and "
        f"better on {better} (Holm again); {others}."
    )


def _mean_regret(rows: Sequence[Row]) -> str:
    """Say by how much ours is below or above the target alone, with a standard error where all have the same splits."""
    regret = 100 * float(np.mean([row.regret.mean() for row in rows]))
    n_digits = 1 if abs(regret) >= 1 else 2 if abs(regret) >= 0.005 else 3
    spread = ""
    if len(sizes := {row.regret.size for row in rows}) == 1 and (n_splits := sizes.pop()) > 1:
        by_split = 100 * np.mean([row.regret for row in rows], axis=0)
        spread = f" (standard error over the splits {by_split.std(ddof=1) / np.sqrt(n_splits):.{n_digits}f})"
    return f"{abs(regret):.{n_digits}f}%{spread} {'below' if regret <= 0 else 'above'}"


def findings(rows: Sequence[Row], poisoned: bool) -> list[str]:
    """Say in sentences what the league asks of `TransferCV`, and what came of it."""
    n = len(rows)
    worse = significantly_worse(rows)
    near = [row for row in rows if row.is_near_best()]
    far = [row.problem for row in rows if not row.is_near_best()]
    level = sum(row.is_level_with_best for row in rows)
    behind = [row for row in rows if row.mean(OURS) > row.mean(ALONE)]
    said = [
        f"Significantly worse than the target alone (corrected resampled t-test, Holm over {n} problems) on "
        f"{len(worse)} of {n} problems{': ' + quoted_problems(worse) if worse else ''}.",
        f"Its error is {_mean_regret(rows)} that of the target alone in the mean over the problems; its mean error is "
        f"higher on {len(behind)} of them"
        + (f": {quoted_problems([row.problem for row in behind])}." if behind else "."),
        _plainly(rows),
        f"Within one standard error of the best of all others on {len(near)} of {n} problems "
        f"({100 * len(near) / n:.0f}%; if that is the standard error of the difference on the same splits and not that "
        f"of the best itself, on {level})" + (f"; not on {quoted_problems(far)}." if far else "."),
    ]
    if poisoned:
        share = 100 * float(np.mean(np.concatenate([row.dropped for row in rows])))
        kept = [row.problem for row in rows if row.dropped.mean() <= 0.5]
        said.append(
            f"The poisoned source is dropped (at most {100 * _DROPPED:.0f}% of the weight) in {share:.0f}% of the fits"
            + (
                f"; not in most of those on {quoted_problems(kept)}."
                if kept
                else ", and in most of those on every problem."
            )
        )
    else:
        others = {method: sum(row.is_near_best(method) for row in rows) for method in METHODS if method != OURS}
        said.append(
            f"The same asked of each of the others, with {OURS} among their rivals: "
            + ", ".join(f"{method} {count}" for method, count in sorted(others.items(), key=lambda item: -item[1]))
            + f" of {n}."
        )
    return said


def league_table(rows: Sequence[Row], caption: str, poisoned: bool) -> Table:
    """Return the errors of every method on every problem."""
    last = "source dropped" if poisoned else "near the best"
    header = ["", *METHODS, "less target only", last]
    groups = []
    for heading, regression in (("Error in %", False), ("Root mean squared error", True)):
        part = [row for row in rows if row.is_regression == regression]
        if part:
            groups.append(RowGroup(heading, [_entries(row, poisoned) for row in part]))
    sizes = sorted({row.errors[OURS].size for row in rows})
    n_splits = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    notes = [
        f"Mean ± standard error over {n_splits} splits, the lowest in bold. “Less target only” is {OURS}'s error less "
        "that of the target alone, with the p-value of the corrected resampled t-test before Holm's correction.",
        "“Near the best”: no further above the best of the others than the standard error of that one's mean."
        if not poisoned
        else f"“Source dropped”: in how many of the fits {OURS} left the poisoned source at most 5% of the weight.",
    ]
    return Table(caption, header, groups=groups, notes=notes)


def _entries(row: Row, poisoned: bool) -> list[Entry]:
    lowest = min(map(row.mean, row.errors))
    entries = [Entry(shown_name(row.problem))]
    for method in METHODS:
        if method not in row.errors:
            entries.append(Entry("-"))
            continue
        mean = row.mean(method)
        entries.append(Entry(format_number(mean), f" ±{format_number(row.standard_error(method), 2)}", mean == lowest))
    test = row.against_alone()
    difference = f"{'+' if test.mean > 0 else ''}{format_number(test.mean)}"
    entries.append(Entry(difference, f" p={test.p_value:.2f}" if np.isfinite(test.p_value) else ""))
    if poisoned:
        return [*entries, Entry(f"{int(row.dropped.sum())} of {row.dropped.size}")]
    return [*entries, Entry("yes" if row.is_near_best() else "no")]


def _of_pairs(pairs: Sequence[Row], poisoned: bool) -> str:
    """Say what the league asks of each pair of classes by itself."""
    n, worse = len(pairs), significantly_worse(pairs)
    said = (
        f"Each pair of classes of Office-Caltech by itself: significantly worse than the target alone (Holm over {n}) "
        f"on {len(worse)} of {n}{': ' + quoted_problems(worse) if worse else ''}, a higher mean error on "
        f"{sum(row.mean(OURS) > row.mean(ALONE) for row in pairs)}, within one standard error of the best of all "
        f"others on {sum(row.is_near_best() for row in pairs)}"
    )
    kept = sum(row.dropped.mean() <= 0.5 for row in pairs)
    return said + (f", and the source not dropped in most of the fits on {kept}." if poisoned else ".")


def league_section(outcomes: Sequence[Outcome]) -> Section:
    """Lay out both leagues, the losses as plainly as the wins."""
    text = [
        f"{OURS} is TransferClassifierCV or TransferRegressorCV as it comes: nothing was set. “Target only” is the "
        "same search without any source: the best learners by cross-validation on the target, averaged. Pooled and "
        "weighted pooling are one logistic regression (lam 0.01 and 0.001) or ridge regression on all rows, the target "
        "with its own share or with 0.8 (0.5 in regressions) of the weight; the boosters have their defaults; gradient "
        "boosting is scikit-learn's HistGradientBoosting on target and source together.",
        "Poisoned: in every second split the source's labels are turned (two classes exchanged, of more each put in "
        "the place of the next, numbers mirrored about their mean), in the others its columns are put in a new order.",
        "A problem of Office-Caltech is, as in Table 2 of the paper, the mean over five pairs of classes; the pairs "
        "by themselves are in the last tables.",
    ]
    points, tables, last = [], [], []
    for poisoned, opening, caption in (
        (False, "With the problem's own source", "The problem's own source"),
        (True, "With a poisoned source", "A poisoned source"),
    ):
        rows, pairs = rows_of(outcomes, poisoned), pairs_of(outcomes, poisoned)
        if rows:
            said = findings(rows, poisoned) + ([_of_pairs(pairs, poisoned)] if pairs else [])
            missing = [
                name for name in _groups(outcomes, poisoned, row_name) if name not in {row.problem for row in rows}
            ]
            said += (
                [f"Not counted, for some fits failed in every split: {quoted_problems(missing)}."] if missing else []
            )
            points += [f"{opening}: {each[0].lower()}{each[1:]}" for each in said]
            tables.append(league_table(rows, caption, poisoned))
        if pairs:
            last.append(league_table(pairs, f"{caption}, each pair of classes", poisoned))
    return Section("The league: transfer with nothing to choose", text, points, tables=[*tables, *last])
