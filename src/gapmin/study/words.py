"""What was found, in sentences that need no statistics to be read."""

from __future__ import annotations

from collections.abc import Sequence

from gapmin._utils.text import format_number, joined
from gapmin.selection import RankedSource, SourceRanking, TransferVerdict

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


def headline(
    verdict: TransferVerdict,
    recommended: Sequence[str],
    ranking: SourceRanking,
    methods: Sequence[MethodError],
) -> str:
    """Say in one sentence which sources to use and which to leave out, with the figures."""
    entries = {each.method: each for each in methods}
    alone, ours, task = entries[TARGET_ONLY], entries.get(OURS), ranking.task
    if not verdict.transfers or not recommended:
        said = f"Use the target alone: no source clearly lowers its error of {shown(alone.error, task)}"
    else:
        said = f"Use {joined(recommended)}{_how_sure(verdict, ours, len(recommended))}: {_gain(alone, ours, task)}"
    others = [each for each in ranking.sources if each.name not in recommended]
    return "; ".join([said, *_left_out(others, task, verdict.transfers)]) + "."


def _how_sure(verdict: TransferVerdict, ours: MethodError | None, n_sources: int) -> str:
    """Return nothing where both the choice and its check are clear, else how much to make of it."""
    if verdict.high < 0 and ours is not None and ours.difference_high < 0:
        return ""
    if ours is not None and ours.difference >= 0:
        return ", which may help"
    return ", which probably help" + "s" * (n_sources == 1)


def _gain(alone: MethodError, ours: MethodError | None, task: str) -> str:
    if ours is None:
        return f"the error of the target alone is {shown(alone.error, task)}"
    points = " points" if task == "classification" else ""
    change, low, high = (
        signed(each, task, alone.error) for each in (ours.difference, ours.difference_low, ours.difference_high)
    )
    interval = f"95% interval {low} to {high}{points}"
    before, after = shown(alone.error, task), shown(ours.error, task)
    where = "the error on target rows not seen before"
    if before == after:
        return f"{where} stays at {before} ({interval} of the change)"
    moved = f"from {before} to {after} (a change of {change}{points}, {interval.removesuffix(points)})"
    if ours.difference < 0:
        return f"{where} falls {moved}"
    return f"{where} rises {moved}, though the search prefers it"


def _left_out(others: Sequence[RankedSource], task: str, transfers: bool) -> list[str]:
    hurting = [each for each in others if each.verdict == "hurts"]
    helping = [each.name for each in others if each.verdict == "helps"]
    neutral = [each.name for each in others if each.verdict == "neutral"]
    parts = []
    if hurting:
        costs = [_cost(each, task) for each in hurting]
        parts.append(f"leave out {joined(costs)}")
    if helping:
        one = len(helping) == 1
        if transfers:
            parts.append(f"{joined(helping)} would help too, but {'adds' if one else 'add'} nothing to that")
        else:
            parts.append(f"{joined(helping)} {'helps' if one else 'help'} a simple model, but not the best one")
    if neutral and transfers:
        parts.append(f"{joined(neutral)} {'makes' if len(neutral) == 1 else 'make'} no clear difference")
    return parts


def _cost(source: RankedSource, task: str) -> str:
    change = source.error_change.mean
    if change <= 0:
        return f"{source.name} (it makes the predictions less sure)"
    points = " points" if task == "classification" else ""
    return f"{source.name} (adding it raises the error by {shown(change, task).rstrip('%')}{points})"


def labels_sentence(saving: LabelSaving, recommended: Sequence[str]) -> str:
    """Say how many labels the sources are worth.

    Examples
    --------
    >>> labels_sentence(LabelSaving(20, 50, "within"), ["old"])
    'With old, 20 labelled target rows do what would take about 50 without: about 30 labels more.'
    """
    if not recommended:
        return "No source is used, so none saves any labels."
    with_, rows = joined(recommended), f"{saving.n_rows} labelled target rows"
    if saving.kind == NONE:
        save = "saves" if len(recommended) == 1 else "save"
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
