"""What was found, in sentences that need no statistics to be read."""

from __future__ import annotations

from collections.abc import Sequence

from gapmin._utils.text import format_number, joined
from gapmin.transfer import Evidence

from .methods import OURS, TARGET_ONLY
from .result import BEYOND, EXTRAPOLATED, NONE, LabelSaving, MethodError

MINUS = "\N{MINUS SIGN}"


def shown(value: float, task: str) -> str:
    """Return an error with its unit.

    Examples
    --------
    >>> shown(12.345, "classification"), shown(0.012345, "regression")
    ('12.3%', '0.0123')
    """
    return f"{value:.1f}%" if task == "classification" else format_number(value)


def signed(value: float, task: str, like: float) -> str:
    """Return a change with its sign: in points of percent, or with the digits of the error that changes.

    Examples
    --------
    >>> signed(-1.25, "classification", 20.0), signed(0.5, "regression", 12.0), signed(0.001, "regression", 3.78)
    ('−1.2', '+0.5', '0.00')
    """
    _, _, decimals = ("", "", "0") if task == "classification" else format_number(like).partition(".")
    if "e" in decimals:  # of a label whose unit is tiny
        return f"{value:+.2e}".replace("-", MINUS)
    size = f"{abs(value):.{len(decimals)}f}"
    return size if float(size) == 0 else f"{MINUS if value < 0 else '+'}{size}"


def headline(evidence: Evidence, methods: Sequence[MethodError]) -> str:
    """Say what the evidence says, and plainly where the nested check does not bear it out."""
    said = evidence.headline()
    entries = {each.method: each for each in methods}
    alone, ours, task = entries.get(TARGET_ONLY), entries.get(OURS), evidence.task
    if not evidence.used or alone is None or ours is None or ours.difference <= 0:
        return said
    low, high = (signed(each, task, alone.error) for each in (ours.difference_low, ours.difference_high))
    points = " points" if task == "classification" else ""
    moved = f"from {shown(alone.error, task)} to {shown(ours.error, task)}"
    return (
        f"{said} But nested cross-validation does not bear this out: there the error rises {moved} "
        f"(95% interval of the change: {low} to {high}{points})."
    )


def labels_sentence(saving: LabelSaving, used: Sequence[str]) -> str:
    """Say how many labels the sources are worth.

    Examples
    --------
    >>> labels_sentence(LabelSaving(20, 50, "within"), ["old"])
    'With old, 20 labelled target rows do what would take about 50 without: about 30 labels more.'
    """
    if not used:
        return "No source clearly helps, so no saving of labels is claimed."
    with_, rows = joined(used), f"{saving.n_rows} labelled target rows"
    if saving.kind == NONE:
        save = "saves" if len(used) == 1 else "save"
        return f"With {rows}, {with_} {save} no labels: the target alone errs as little."
    if saving.kind == BEYOND:
        return (
            f"With {with_}, {rows} do what would take more than {saving.n_needed:,} without, if that is enough at all."
        )
    more = saving.n_needed - saving.n_rows
    how = (
        " (an extrapolation: the curve of the target alone, carried on as a power law)"
        if saving.kind == EXTRAPOLATED
        else ""
    )
    return (
        f"With {with_}, {rows} do what would take about {saving.n_needed:,} without: about {more:,} "
        f"label{'s' * (more != 1)} more{how}."
    )
