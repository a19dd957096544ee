"""The tables of a comparison of somebody's own files, for the terminal and for the page."""

from __future__ import annotations

import numpy as np

from gapmin._utils.text import format_number
from gapmin.reporting.table import Entry, Table

from .methods import TARGET_ONLY
from .result import StudyComparison
from .words import MINUS, shown, signed


def ranking_table(comparison: StudyComparison) -> Table:
    """Return a row for the target alone, for each source and for all of them."""
    ranking, task = comparison.ranking, comparison.task
    everything = [*ranking.sources, *([ranking.together] if len(ranking.sources) > 1 else [])]
    unit = "% error" if task == "classification" else "RMS error"
    header = ["", "verdict", "rows", unit, "change", "change of loss", "gap", "kept by gapBoost"]
    rows = [
        [
            Entry("target alone"),
            Entry(""),
            Entry(f"{ranking.n_target:,}"),
            Entry(shown(ranking.target_error, task)),
            *[Entry("")] * 4,
        ]
    ]
    for each in everything:
        loss = each.loss_change
        rows.append(
            [
                Entry(each.name),
                Entry(each.verdict, best=each.name in comparison.recommended),
                Entry(f"{each.n_rows:,}"),
                Entry(shown(each.error, task)),
                Entry(signed(each.error_change.mean, task, ranking.target_error)),
                Entry(_minus(f"{loss.mean:+.3f}"), _minus(f" ({loss.low:+.3f} to {loss.high:+.3f})")),
                Entry("" if each.gap is None else format_number(each.gap)),
                Entry(f"{100 * each.kept_weight:.0f}%"),
            ]
        )
    return Table(
        f"The target with one source added at a time, best first (in bold: used by the recommended model; in brackets: "
        f"the {100 * ranking.level:g}% interval)",
        header,
        rows,
        narrow_header=["", "verdict", "rows", unit.replace(" ", "\n"), "change", "change\nof loss", "gap", "kept"],
    )


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


__all__ = ["method_table", "ranking_table"]
