"""What the cells say: what was asked of the rule and what came out, in tables and figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.text import format_number
from gapmin.plotting.drawing import Figure
from gapmin.reporting.html import Section
from gapmin.reporting.table import Entry, RowGroup, Table, shown_name
from gapmin.reproduce.cells import Measured, Outcome

from .measure import ALONE, ALONE_OLD, LEAVE_OUT, OURS, OURS_OLD
from .problems import FEATURES, HONEST, LABELS, SCALED, SHIFTED, VARIANTS, row_name
from .rivals import BOOSTED, DESCRIPTIONS, RIVALS

USE = "use"
METHODS = (OURS, ALONE, *RIVALS, OURS_OLD, ALONE_OLD)
ALONE_OF = {OURS: ALONE, OURS_OLD: ALONE_OLD}
CAPTIONS = {
    HONEST: "The problem's own source",
    LABELS: "Reversed labels",
    FEATURES: "Permuted columns",
    SHIFTED: "Labels plus one standard deviation",
    SCALED: "Labels times three",
}
SMALL_WEIGHT = 0.05
MANY_ROWS = 25
Errors = dict[str, NDArray[np.float64]]
"""The errors of methods in the same seeds."""


@dataclass(frozen=True)
class Mean:
    """A mean over problems with its standard error, not a number where there is none."""

    value: float
    error: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean of some values."""
        n = len(values)
        error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        return cls(float(np.mean(values)) if n else float("nan"), error, n)

    def entry(self, scale: float = 1.0, unit: str = "") -> Entry:
        """Return it for a table."""
        if not self.n:
            return Entry("-")
        spread = f" ±{scale * self.error:.2g}" if self.n > 1 else ""
        return Entry(f"{scale * self.value:+.3g}{unit}", f"{spread} ({self.n})")


class Results:
    """The fits that came to an end, by source, problem, method and seed."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.found: dict[tuple[str, str, str, int], Measured] = {}
        self.rows: dict[str, set[str]] = defaultdict(set)
        for each in outcomes:
            cell = each.cell
            self.rows[row_name(cell.problem)].add(cell.problem)
            if each.measured is not None:
                self.found[str(cell.values["variant"]), cell.problem, cell.method, cell.seed] = each.measured
        self.seeds = sorted({seed for *_, seed in self.found})

    def get(self, variant: str, problem: str, method: str, seed: int) -> Measured | None:
        """Return one fit; the target alone is the same whatever the level of the source's labels."""
        if method in ALONE_OF.values() and variant in (SHIFTED, SCALED):
            variant = HONEST
        return self.found.get((variant, problem, method, seed))

    def errors(self, variant: str, methods: Sequence[str]) -> dict[str, Errors]:
        """Return the errors of methods by row of the tables, in the seeds that all of them have.

        Of a row with several problems the errors of a seed are averaged over those that all methods have.
        """
        table: dict[str, Errors] = {}
        for row, problems in self.rows.items():
            found: dict[str, list[float]] = {method: [] for method in methods}
            for seed in self.seeds:
                fits = [[self.get(variant, each, method, seed) for method in methods] for each in sorted(problems)]
                whole = [[fit.error for fit in group if fit is not None] for group in fits]
                whole = [group for group in whole if len(group) == len(methods)]
                for method, mean in zip(methods, np.mean(whole, axis=0) if whole else (), strict=False):
                    found[method].append(float(mean))
            if found[methods[0]]:
                table[row] = {method: np.array(values) for method, values in found.items()}
        return table

    def fits(self, method: str, variant: str | None = None) -> list[tuple[Measured, Measured]]:
        """Return every fit of a rule with that of its target alone, of one kind of source or of all."""
        pairs = []
        for (source, problem, name, seed), fit in self.found.items():
            alone = self.get(source, problem, ALONE_OF[method], seed)
            if name == method and variant in (None, source) and alone is not None:
                pairs.append((fit, alone))
        return pairs

    def present(self, variant: str) -> list[str]:
        """Return the methods that have cells for a kind of source."""
        names = {name for source, _, name, _ in self.found if source == variant}
        if variant in (SHIFTED, SCALED):
            names |= {ALONE_OF[each] for each in names if each in ALONE_OF}
        return [method for method in METHODS if method in names]


def log_ratio(results: Results, variant: str, method: str, other: str) -> Mean:
    """Return the mean over problems of the logarithm of one mean error over another, on the same seeds."""
    pairs = results.errors(variant, (method, other)).values()
    means = [(each[method].mean(), each[other].mean()) for each in pairs]
    return Mean.of([float(np.log(a / b)) for a, b in means if a > 0 and b > 0])


def regrets(results: Results, variant: str, method: str) -> list[NDArray[np.float64]]:
    """Return for each problem the error less that of the own target alone, as a share of the latter's mean."""
    alone = ALONE_OF[method]
    pairs = results.errors(variant, (method, alone)).values()
    return [(each[method] - each[alone]) / each[alone].mean() for each in pairs if each[alone].mean() > 0]


def near_lowest(results: Results, variant: str, method: str, methods: Sequence[str]) -> list[bool]:
    """Tell for each problem whether a method is lowest, or within a standard error of its difference to the lowest."""
    near = []
    for errors in results.errors(variant, methods).values():
        lowest = min(methods, key=lambda each: float(errors[each].mean()))
        difference = errors[method] - errors[lowest]
        spread = float(difference.std(ddof=1) / np.sqrt(difference.size)) if difference.size > 1 else 0.0
        near.append(bool(difference.mean() <= spread))
    return near


def share(values: Sequence[bool]) -> Entry:
    """Return how many of some are so, for a table."""
    return Entry(f"{100 * np.mean(values):.1f}%", f" of {len(values)}") if len(values) else Entry("-")


def asked_table(results: Results) -> Table:
    """Return what was asked of the new rule, and what it and the old one did."""
    groups = []
    both = (OURS, OURS_OLD)

    def line(name: str, asked: str, entry: Callable[[str], Entry]) -> list[Entry]:
        return [Entry(name), Entry(asked), *map(entry, both)]

    def weights(variant: str, many: bool) -> Callable[[str, Callable[[float], bool]], Entry]:
        def of(method: str, is_so: Callable[[float], bool]) -> Entry:
            fits = [fit for fit, _ in results.fits(method, variant) if (fit.n_train >= MANY_ROWS) == many]
            return share([is_so(float(fit.extra["weight"])) for fit in fits])

        return of

    def regret(variant: str) -> Callable[[str], Entry]:
        return lambda m: Mean.of([float(each.mean()) for each in regrets(results, variant, m)]).entry(100, "%")

    def tenth(method: str) -> Entry:
        found = regrets(results, FEATURES, method)
        return Entry(f"{100 * np.quantile(np.concatenate(found), 0.9):+.3g}%") if found else Entry("-")

    def used(method: str) -> Entry:
        fits = [fit.extra for fit, _ in results.fits(method, FEATURES)]
        return share([each["verdict"] == USE if method == OURS else each["transfers"] for each in fits])

    def near(methods: Sequence[str]) -> Callable[[str], Entry]:
        return lambda m: share(near_lowest(results, HONEST, m, methods)) if m in methods else Entry("-")

    present = results.present(HONEST)
    without_old = [each for each in present if each not in (OURS_OLD, ALONE_OLD)]
    groups.append(
        RowGroup(
            CAPTIONS[HONEST],
            [
                line(
                    "log-ratio of the error to the old rule's",
                    "+0.02 at most",
                    lambda m: log_ratio(results, HONEST, m, OURS_OLD).entry() if m == OURS else Entry("-"),
                ),
                line(
                    "log-ratio to the own target alone",
                    "",
                    lambda m: log_ratio(results, HONEST, m, ALONE_OF[m]).entry(),
                ),
                line("lowest or near, among all", "80%", near(present)),
                line("lowest or near, the old rule not counted", "", near(without_old)),
            ],
        )
    )
    rows = [line("mean regret against the own target alone", "+0.5% at most", regret(LABELS))]
    for many, name, asked in ((True, f"{MANY_ROWS} rows or more", "98%"), (False, "10 rows", "90%")):
        of = weights(LABELS, many)
        rows.append(line(f"weight below a half, {name}", asked, lambda m, of=of: of(m, lambda w: w < 0.5)))
        rows.append(line(f"weight at most 0.05, {name}", "", lambda m, of=of: of(m, lambda w: w <= SMALL_WEIGHT)))
    groups.append(RowGroup(CAPTIONS[LABELS], rows))
    groups.append(
        RowGroup(
            CAPTIONS[FEATURES],
            [
                line("mean regret against the own target alone", "+2% at most, or 2 standard errors", regret(FEATURES)),
                line("where the worst tenth of regrets begins", "", tenth),
                line("verdict “use”", "10% at most", used),
            ],
        )
    )
    for variant in (SHIFTED, SCALED):
        lines = [
            line(
                f"log-ratio to {'the own target alone' if to is None else to}",
                "one standard error below 0",
                lambda m, v=variant, to=to: log_ratio(results, v, m, to or ALONE_OF[m]).entry(),
            )
            for to in (None, BOOSTED)
        ]
        groups.append(RowGroup(CAPTIONS[variant], lines))
    notes = [
        "Means ± standard error over problems, in parentheses their number; a problem's errors are averaged over its "
        "seeds before the ratio is taken. Shares are of fits, “lowest or near” of problems: no further above the "
        "lowest mean error than one standard error of the paired difference.",
        "The weight is that of all hypotheses with the source; of the old rule it is the source's share of the "
        "training weight, and “use” is that it transfers.",
    ]
    return Table("What was asked", ["", "asked", "new rule", "old rule"], groups=groups, notes=notes)


def calibration_table(results: Results) -> Table:
    """Return how often the new rule's verdicts were right on the test rows."""
    groups = []
    for verdict, column in ((USE, "helped"), (LEAVE_OUT, "would have helped")):
        rows = []
        for variant in (None, *VARIANTS):
            fits = [pair for pair in results.fits(OURS, variant) if pair[0].extra["verdict"] == verdict]
            with_source = [fit.error if verdict == USE else fit.extra["error_with_source"] for fit, _ in fits]
            less = [error - alone.error for error, (_, alone) in zip(with_source, fits, strict=True)]
            name = "all" if variant is None else CAPTIONS[variant]
            rows.append([Entry(name), share([each < 0 for each in less]), share([each == 0 for each in less])])
        groups.append(RowGroup(f"Verdict “{verdict}”: the source {column}", rows))
    return Table(
        "Calibration of the verdicts",
        ["", "lower test error with the source", "the same"],
        groups=groups,
        notes=["With the source: the model as it is, or where the verdict is “leave out” the one that is forced to."],
    )


def error_table(results: Results, variant: str) -> Table:
    """Return the mean error of every method on every problem that all of them have."""
    methods = results.present(variant)
    rows = []
    for row, errors in sorted(results.errors(variant, methods).items()):
        lowest = min(float(each.mean()) for each in errors.values())
        entries = [Entry(shown_name(row)), Entry(str(errors[methods[0]].size))]
        for method in methods:
            mean, n = float(errors[method].mean()), errors[method].size
            spread = f" ±{format_number(errors[method].std(ddof=1) / np.sqrt(n), 2)}" if n > 1 else ""
            entries.append(Entry(format_number(mean), spread, mean == lowest))
        rows.append(entries)
    notes = ["Mean ± standard error over seeds; percent wrong of classes, the root mean squared error of numbers."]
    return Table(CAPTIONS[variant], ["", "seeds", *methods], rows, notes=notes)


def ratio_figure(results: Results, variant: str, other: str) -> Figure:
    """Return the ratio of the new rule's error to another's on every problem."""
    pairs = results.errors(variant, (OURS, other))
    ratios = sorted((float(e[OURS].mean() / e[other].mean()), row) for row, e in pairs.items() if e[other].mean() > 0)

    def plot(ax: Any) -> None:
        values, names = zip(*ratios, strict=True)
        ax.axvline(1.0, color="0.6", linewidth=1)
        ax.plot(values, range(len(values)), "o", markersize=4)
        ax.set_yticks(range(len(names)), [shown_name(each) for each in names], fontsize=6)
        ax.set_xlabel(f"error of {OURS} / error of {other}")

    title = f"{CAPTIONS[variant]}: error of {OURS} over that of {other}"
    return Figure(plot, "Left of 1 the new rule is better.", title, (5.2, 1.5 + 0.13 * len(ratios)))


def weight_figure(results: Results) -> Figure:
    """Return how the weight of the source is distributed, by kind of source."""
    weights = {
        variant: sorted(fit.extra["weight"] for fit, _ in results.fits(OURS, variant))
        for variant in VARIANTS
        if results.fits(OURS, variant)
    }

    def plot(ax: Any) -> None:
        for variant, values in weights.items():
            ax.step(values, np.arange(1, len(values) + 1) / len(values), where="post", label=CAPTIONS[variant])
        ax.set_xlabel("weight of the source")
        ax.set_ylabel("share of fits with no more")
        ax.legend(fontsize=7)

    return Figure(plot, "One curve for each kind of source.", "The weight that the new rule gives to the source")


def league_section(outcomes: Sequence[Outcome]) -> Section:
    """Lay out what was asked and found, the losses as plainly as the wins."""
    results = Results(outcomes)
    n_failed = sum(bool(each.failure) for each in outcomes)
    seeds = f"{results.seeds[0]} to {results.seeds[-1]}" if results.seeds else "none"
    present = results.present(HONEST)
    points = [f"{name}: {said}." for name, said in DESCRIPTIONS.items() if name in present]
    counts = {each: near_lowest(results, HONEST, each, present) for each in present} if present else {}
    if any(counts.values()):
        said = ", ".join(f"{each} {sum(near)}" for each, near in sorted(counts.items(), key=lambda item: -sum(item[1])))
        points.append(f"Lowest or near on how many of {len(counts[present[0]])} problems, honest sources: {said}.")
    for method in (OURS, OURS_OLD):
        extras = [fit.extra for (_, _, name, _), fit in results.found.items() if name == method]
        if extras:
            seconds, commits = [each["seconds"] for each in extras], {each["commit"] for each in extras}
            points.append(
                f"{method}: {len(extras)} fits, {np.mean(seconds):.1f} processor seconds a fit in the mean, "
                f"{np.median(seconds):.1f} in the median; commit {', '.join(sorted(commits))}."
            )
    text = [
        f"One split for each seed ({seeds}). {OURS} is TransferClassifierCV or TransferRegressorCV as it comes, "
        f"“{ALONE}” the same without any source; “old” is the rule before. Every seed has the problem's own source and "
        "one of no use. In even seeds its labels are reversed: two classes are exchanged, of more each is put in the "
        "place of the next, numbers are mirrored about their mean. In odd seeds its columns are in another order. "
        "Regressions also have a source of another level: labels plus their standard deviation in even seeds, times "
        "three in odd ones.",
        "A problem of Office-Caltech is two collections of pictures; each seed draws one of its five pairs of classes. "
        "Wine, "
        "Parkinsons and schools have 2,000 source rows at most, drawn anew for each seed. Rows of Parkinsons that "
        "train and that test are visits of the same seven patients, and no such patient is in the source.",
        f"{len(results.found)} fits, {n_failed} failed.",
    ]
    shown = [variant for variant in (HONEST, SHIFTED, SCALED) if results.present(variant)]
    figures = [ratio_figure(results, HONEST, other) for other in (OURS_OLD, ALONE) if {OURS, other} <= set(present)]
    figures += [weight_figure(results)] if OURS in present else []
    tables = [asked_table(results), calibration_table(results), *(error_table(results, each) for each in shown)]
    return Section("The benchmark: transfer with nothing to choose", text, points, tables=tables, figures=figures)
