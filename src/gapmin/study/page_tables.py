"""The tables of a comparison of somebody's own files, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapmin._utils.options import option
from gapmin._utils.text import counted
from gapmin.reporting.table import Entry, Table
from gapmin.transfer import Evidence, Score, SourceVerdict
from gapmin.transfer.constants import NOT_NEEDED
from gapmin.transfer.odds import shown_odds
from gapmin.transfer.result import shown as shown_score

from .drift import ColumnDrift
from .methods import BASELINE, TARGET_ONLY
from .metrics import ClassScores
from .result import NESTED, StudyComparison
from .words import MINUS, signed

MOST_COLUMNS_SHOWN = 12
MOST_COLUMNS_LISTED = 100
_NOT_NEEDED = f"{NOT_NEEDED}: helps alone, and adds nothing to the sources that are used, so its odds are against it"


def evidence_table(evidence: Evidence) -> Table:
    """Return a row for each source: its verdict, and what that goes by."""
    errors = {each.sources[0]: each.evidence_error for each in evidence.hypotheses if len(each.sources) == 1}
    rows = [
        [
            Entry(each.name),
            Entry(verdict_shown(evidence, each), best=each.name in evidence.used),
            Entry(f"{each.n_rows:,}"),
            Entry(shown_odds(each.bayes_factor)),
            Entry(_nats(each.evidence, errors.get(each.number))),
            Entry(f"{100 * each.weight:.0f}%"),
        ]
        for each in evidence.sources
    ]
    return Table(
        "Does each source help? The odds weigh it in every set of sources: 19 to 1 mean use, 1 to 19 leave out. Alone: "
        "its evidence as the only source, in nats, ± the standard error. Weight: of all models that train on it",
        ["", "verdict", "rows", "odds", "alone", "weight"],
        rows,
        notes=[
            *(f"{each.name}: {found}" for each in evidence.sources for found in each.findings),
            *([_NOT_NEEDED] if any(verdict_shown(evidence, each) == NOT_NEEDED for each in evidence.sources) else []),
        ],
    )


def verdict_shown(evidence: Evidence, source: SourceVerdict) -> str:
    """Return what is said of a source: its verdict, or that it is used together with others."""
    return "use together" if source.name in evidence.together else source.verdict


def _nats(evidence: float, error: float | None) -> str:
    if not np.isfinite(evidence):
        return "none"
    return _minus(f"{evidence:+.1f}") + ("" if error is None else f" ± {error:.1f}")


def error_table(evidence: Evidence) -> Table:
    """Return the error of the target alone and of the model on the rows that chose the weights."""
    metric = evidence.metrics[0]
    parts = {TARGET_ONLY: evidence.hypotheses[0].scores[metric], "the model": evidence.model[metric]}
    parts[BASELINE] = evidence.baseline[metric]
    return Table(
        f"{metric[:1].upper()}{metric[1:]} in the cross-validation that weighed the sources, on {evidence.n_target:,} "
        "target rows. gapmin compare has the one to quote, from nested cross-validation",
        ["", metric, "95% interval"],
        [[Entry(name), *_score(score, metric)] for name, score in parts.items()],
    )


def _score(score: Score, metric: str) -> list[Entry]:
    value, low, high = (_minus(shown_score(each, metric)) for each in (score.value, score.low, score.high))
    return [Entry(value), Entry(f"{low} to {high}")]


def score_table(comparison: StudyComparison) -> Table:
    """Return a row for each method: the metric, and the difference to the target alone, with their intervals."""
    metric = comparison.metric
    alone = comparison.score_of(TARGET_ONLY).value
    rows = []
    for each in comparison.scores:
        row = [
            Entry(each.method),
            Entry(_minus(metric.shown(each.value))),
            Entry(f"{_minus(metric.shown(each.low))} to {_minus(metric.shown(each.high))}"),
        ]
        if each.method == TARGET_ONLY:
            row += [Entry("")] * 2
        else:
            row += [
                Entry(signed(each.change, metric, alone)),
                Entry(f"{signed(each.change_low, metric, alone)} to {signed(each.change_high, metric, alone)}"),
            ]
        rows.append(row)
    better = "higher" if metric.higher_is_better else "lower"
    how = "nested cross-validation" if comparison.protocol == NESTED else "cross-validation, not nested"
    return Table(
        f"{metric.name[:1].upper()}{metric.name[1:]} on target rows that did not train ({how}; {better} is better), "
        "and the change from the target alone",
        ["", metric.name, "95% interval", "change", "95% interval"],
        rows,
    )


def confusion_table(found: ClassScores) -> Table:
    """Return a row for each true class: what the model says of its rows, recall and precision."""
    rows = [
        [
            Entry(f"true {name}"),
            *(Entry(f"{count:,}") for count in counts),
            Entry(_percent(recall)),
            Entry(_percent(precision)),
        ]
        for name, counts, recall, precision in zip(
            found.classes, found.confusion, found.recall, found.precision, strict=True
        )
    ]
    return Table(
        "What the model says of each class, in rows that did not train",
        ["", *(f"predicted {name}" for name in found.classes), "recall", "precision"],
        rows,
    )


def area_table(found: ClassScores) -> Table | None:
    """Return ROC AUC and average precision beside what a guess has."""
    if found.roc_auc is None or found.average_precision is None or found.average_precision_baseline is None:
        return None
    of = f"of class {found.positive[0]}" if len(found.positive) == 1 else "mean over the classes"
    return Table(
        f"How well the model ranks rows, {of}",
        ["", "the model", "a guess"],
        [
            [Entry("ROC AUC"), Entry(f"{found.roc_auc:.3f}"), Entry("0.500")],
            [
                Entry("average precision"),
                Entry(f"{found.average_precision:.3f}"),
                Entry(f"{found.average_precision_baseline:.3f}"),
            ],
        ],
    )


def drift_table(drift: Sequence[ColumnDrift], target: str) -> Table:
    """Return a row for the label and for the columns that differ most: distances, and shares that are missing."""
    sources = list(drift[0].distance)
    shown = drift[: MOST_COLUMNS_SHOWN + 1]
    gaps = [name for name in (target, *sources) if any(each.missing and each.missing[name] for each in shown)]
    told = "; and the share of rows without a value" if gaps else ""
    rows = [
        [
            Entry(f"{each.name} (the label)" if each.is_label else each.name),
            *(Entry(f"{each.distance[name]:.2f}") for name in sources),
            *(Entry(_percent(each.missing[name]) if each.missing else "") for name in gaps),
        ]
        for each in shown
    ]
    left = len(drift) - len(shown)
    return Table(
        f"How far each column of a source is from the target's: 0 the same, 1 nothing in common{told}",
        ["", *sources, *(f"missing, {name}" for name in gaps)],
        rows,
        notes=[f"{counted(left, 'more column')}, closer to the target; {option('json')} has all."] if left else [],
    )


def data_table(drift: Sequence[ColumnDrift]) -> Table:
    """Return a row for each column and file: its kind, and the first values."""
    shown = drift[:MOST_COLUMNS_LISTED]
    files = list(drift[0].examples)
    rows = [
        [
            Entry(each.name, " label" if each.is_label else ""),
            Entry(each.kind),
            *(Entry(", ".join(_short(value) for value in each.examples[name]) or "no value") for name in files),
        ]
        for each in shown
    ]
    left = len(drift) - len(shown)
    return Table(
        "The columns that are used, with the first values in each file",
        ["", "kind", *files],
        rows,
        numeric=False,
        notes=[f"{counted(left, 'more column')}; {option('json')} has all."] if left else [],
    )


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f}%"


def _minus(text: str) -> str:
    return text.replace("-", MINUS)


__all__ = [
    "area_table",
    "confusion_table",
    "data_table",
    "drift_table",
    "error_table",
    "evidence_table",
    "score_table",
]
