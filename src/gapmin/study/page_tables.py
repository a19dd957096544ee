"""The tables of a comparison of somebody's own files, for the terminal and for the page."""

from __future__ import annotations

import numpy as np

from gapmin._utils.text import joined
from gapmin.reporting.table import Entry, Table
from gapmin.transfer import Evidence, Score
from gapmin.transfer.result import shown as shown_score

from .methods import TARGET_ONLY
from .result import StudyComparison
from .words import MINUS, shown, signed


def evidence_table(evidence: Evidence) -> Table:
    """Return a row for each source: its verdict, and what that goes by."""
    header = ["", "verdict", "rows", "evidence", "Bayes factor", "weight"]
    rows = [
        [
            Entry(each.name),
            Entry(each.verdict, best=each.verdict == "use"),
            Entry(f"{each.n_rows:,}"),
            Entry(_minus(f"{each.evidence:+.1f}") if np.isfinite(each.evidence) else "none"),
            Entry(_factor(each.bayes_factor)),
            Entry(f"{100 * each.weight:.0f}%"),
        ]
        for each in evidence.sources
    ]
    return Table(
        "Does each source help? Evidence in nats, of the source alone beside the target; a Bayes factor of 19 or more "
        "means use, of 1/19 or less leave out; weight of all sets of sources that hold it",
        header,
        rows,
        notes=[f"{each.name}: {found}" for each in evidence.sources for found in each.findings],
        narrow_header=["", "verdict", "rows", "evidence\n(nats)", "Bayes\nfactor", "weight"],
    )


def hypothesis_table(evidence: Evidence) -> Table:
    """Return a row for the target alone, for each set of sources that was tried, and for the model."""
    metric = evidence.metrics[0]
    names = {each.number: each.name for each in evidence.sources}
    rows = [
        [
            Entry(joined([names[number] for number in each.sources]) or "target alone"),
            *_score(each.scores[metric], metric),
            Entry(_minus(f"{each.evidence:+.1f}") if each.sources else ""),
            Entry(f"{100 * each.prior:.0f}%"),
            Entry(f"{100 * each.weight:.0f}%"),
        ]
        for each in evidence.hypotheses
    ]
    rows.append([Entry("the model", best=True), *_score(evidence.model[metric], metric), *[Entry("")] * 3])
    return Table(
        f"Held-out {metric} of the target alone, of each set of sources, and of the model, their weighted mean",
        ["", metric, "95% interval", "evidence", "prior", "weight"],
        rows,
    )


def error_table(evidence: Evidence) -> Table:
    """Return the held-out error of the target alone and of the model."""
    metric = evidence.metrics[0]
    parts = {"target alone": evidence.hypotheses[0].scores[metric], "the model": evidence.model[metric]}
    if evidence.sources:
        parts["change"] = evidence.change[metric]
    return Table(
        f"On {evidence.n_target:,} target rows, each predicted by models without it: {metric}",
        ["", metric, "95% interval"],
        [[Entry(name), *_score(score, metric)] for name, score in parts.items()],
    )


def _score(score: Score, metric: str) -> list[Entry]:
    value, low, high = (_minus(shown_score(each, metric)) for each in (score.value, score.low, score.high))
    return [Entry(value), Entry(f"{low} to {high}")]


def _factor(value: float) -> str:
    """Return a Bayes factor as people say it.

    Examples
    --------
    >>> _factor(42.0), _factor(0.02), _factor(1e9), _factor(0.0)
    ('42', '1/50', 'above 10,000', '0')
    """
    if value >= 10_000:
        return "above 10,000"
    if value <= 1 / 10_000:
        return "0" if value == 0 else "below 1/10,000"
    if value >= 10 or value <= 0.1:
        return f"{value:,.0f}" if value > 1 else f"1/{1 / value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def method_table(comparison: StudyComparison) -> Table:
    """Return a row for each method: error, and difference to the target alone, with their intervals."""
    task = comparison.task
    unit = "% error" if task == "classification" else "RMS error"
    alone = comparison.entry(TARGET_ONLY).error
    best = min(each.error for each in comparison.methods)
    rows = []
    for each in comparison.methods:
        row = [
            Entry(each.method),
            Entry(shown(each.error, task).rstrip("%"), best=each.error == best),
            Entry(f"{shown(each.low, task).rstrip('%')} to {shown(each.high, task).rstrip('%')}"),
        ]
        if each.method == TARGET_ONLY:
            row += [Entry("")] * 3
        else:
            row += [
                Entry(signed(each.difference, task, alone)),
                Entry(f"{signed(each.difference_low, task, alone)} to {signed(each.difference_high, task, alone)}"),
                Entry(_p(each.p_value)),
            ]
        rows.append(row)
    return Table(
        f"{unit} on target rows that did not train, and the difference to the target alone, with 95% intervals; "
        "lowest in bold; p is that of the corrected resampled t-test, after Holm's correction over the methods",
        ["", unit, "95% interval", "difference", "95% interval", "p"],
        rows,
    )


def _minus(text: str) -> str:
    return text.replace("-", MINUS)


def _p(value: float) -> str:
    if np.isnan(value):
        return "unknown"
    return f"{value:.3f}" if value >= 0.001 else "below 0.001"


__all__ = ["error_table", "evidence_table", "hypothesis_table", "method_table"]
