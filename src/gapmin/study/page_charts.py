"""The charts of a comparison's page."""

from __future__ import annotations

from math import log

from gapmin._utils.text import format_number
from gapmin.reporting.charts import BarChart, Chart, ChartLine, IntervalChart, IntervalRow, LineChart
from gapmin.transfer import Evidence
from gapmin.transfer.constants import USE_FROM

from .drift import N_DRAWN, ColumnDrift
from .methods import MODEL, TARGET_ONLY
from .metrics import ClassScores, ValueScores
from .page_tables import verdict_shown
from .result import StudyComparison
from .words import MINUS

_LARGEST_EVIDENCE = log(10_000)
MOST_BARS = 12


def evidence_chart(evidence: Evidence) -> IntervalChart:
    """Draw the odds for or against each source."""
    rows = []
    for each in evidence.sources:
        place = log(each.bayes_factor) if each.bayes_factor > 0 else -_LARGEST_EVIDENCE
        place = min(max(place, -_LARGEST_EVIDENCE), _LARGEST_EVIDENCE)
        rows.append(
            IntervalRow(
                each.name,
                place,
                min(place, 0.0),
                max(place, 0.0),
                verdict_shown(evidence, each),
                each.name in evidence.used,
            )
        )
    line = log(USE_FROM)
    return IntervalChart(
        "The odds for each source",
        rows,
        [(-line, "19 to 1 against"), (line, "19 to 1 for")],
        "Beyond a dashed line the odds decide; between the two they do not.",
    )


def score_chart(comparison: StudyComparison) -> IntervalChart:
    """Draw the metric of each method with its interval."""
    metric = comparison.metric
    rows = [
        IntervalRow(each.method, each.value, each.low, each.high, metric.shown(each.value), each.method == MODEL)
        for each in comparison.scores
    ]
    better = "right" if metric.higher_is_better else "left"
    name = f"{metric.name[:1].upper()}{metric.name[1:]}"
    caption = f"Further to the {better} is better; bars are 95% intervals."
    return IntervalChart(name, rows, caption=caption, from_zero=False)


def importance_chart(comparison: StudyComparison) -> IntervalChart:
    """Draw how much worse the model is when a column is shuffled."""
    rows = [
        IntervalRow(
            each.name,
            each.increase,
            each.low,
            each.high,
            f"{each.increase:+.3g}".replace("-", MINUS),
            each.low > 0,
        )
        for each in comparison.importance[:MOST_BARS]
    ]
    loss = "Brier score" if comparison.task == "classification" else "squared error"
    return IntervalChart(
        f"Rise of the {loss} when a column is shuffled",
        rows,
        [(0.0, "no use")],
        "Marked: those whose 95% interval is above 0.",
    )


def curve_chart(comparison: StudyComparison) -> LineChart | None:
    """Draw the metric by the number of target rows."""
    curve = comparison.curve
    if curve is None:
        return None
    series = [
        ChartLine(name, [(log(size), each.value) for size, each in zip(curve.sizes, curve.scores[name], strict=True)])
        for name in (TARGET_ONLY, MODEL)
    ]
    ends = ", ".join(f"{name} {comparison.metric.shown(curve.scores[name][-1].value)}" for name in (TARGET_ONLY, MODEL))
    return LineChart(
        f"{comparison.metric.name[:1].upper()}{comparison.metric.name[1:]} by labelled target rows",
        series,
        "target rows that train",
        comparison.metric.name,
        [(log(size), f"{size:,}") for size in curve.sizes],
        caption=f"With {curve.sizes[-1]:,} rows: {ends}.",
    )


def calibration_chart(found: ClassScores) -> LineChart:
    """Draw the share that is true by predicted probability."""
    of = f"class {found.positive[0]}" if len(found.positive) == 1 else "the class that it names"
    ticks = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
    return LineChart(
        "Are its probabilities right?",
        [
            ChartLine("the model", [(predicted, true) for predicted, true, _ in found.calibration]),
            ChartLine("right", [(0.0, 0.0), (1.0, 1.0)], dots=False, quiet=True),
        ],
        f"predicted probability of {of}",
        "share that is true",
        ticks,
        ticks,
        "On the dashed line probabilities are as they should be.",
    )


def scatter_chart(found: ValueScores, label: str) -> LineChart:
    """Draw predicted against actual values, and the band that holds nine of ten."""
    values = [value for point in found.points for value in point]
    low, high = min(values), max(values)
    return LineChart(
        "Predicted against actual",
        [
            ChartLine("a held-out row", found.points, line=False),
            ChartLine("right", [(low, low), (high, high)], dots=False, quiet=True),
            *(
                ChartLine("band", [(low, low + side), (high, high + side)], dots=False, quiet=True)
                for side in (-found.half_width, found.half_width)
            ),
        ],
        f"actual {label}",
        f"predicted {label}",
        caption=f"Nine of ten rows are within {format_number(found.half_width)} of their prediction: the outer lines.",
    )


def drift_charts(comparison: StudyComparison) -> list[Chart]:
    """Draw the label and the three columns that differ most, file by file."""
    return [chart for each in comparison.drift[:N_DRAWN] if (chart := _distribution(each)) is not None]


def _distribution(drift: ColumnDrift) -> Chart | None:
    title = f"{drift.name} (the label)" if drift.is_label else drift.name
    if drift.shares is None:
        return None
    if drift.levels:
        groups = [(level, [each[k] for each in drift.shares.values()]) for k, level in enumerate(drift.levels)]
        return BarChart(title, list(drift.shares), groups)
    series = []
    for name, shares in drift.shares.items():
        points = []
        for left, right, share in zip(drift.edges, drift.edges[1:], shares, strict=False):
            points += [(left, 100 * share), (right, 100 * share)]
        series.append(ChartLine(name, points, dots=False))
    return LineChart(title, series, title, "% of rows")
