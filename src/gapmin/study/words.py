"""What was found, in sentences that need no statistics to be read."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gapmin._utils.text import counted, format_number, joined
from gapmin.transfer import Evidence, SourceVerdict
from gapmin.transfer.constants import LEAVE_OUT, NOT_NEEDED, UNDECIDED, USE, USE_FROM, VERDICTS

from .curve import BEYOND, EXTRAPOLATED, NONE, LabelSaving
from .methods import BASELINE, MODEL, TARGET_ONLY
from .metrics import PERCENT, MethodScore, StudyMetric
from .result import Summary

MINUS = "\N{MINUS SIGN}"


def signed(value: float, metric: StudyMetric, like: float) -> str:
    """Return a change with its sign: in points of percent, or with the digits of the score that changes.

    Examples
    --------
    >>> rate, rmse = StudyMetric("error rate"), StudyMetric("root mean squared error")
    >>> signed(-0.0125, rate, 0.2), signed(0.5, rmse, 12.0), signed(0.001, rmse, 3.78)
    ('−1.2', '+0.5', '0.00')
    """
    if metric.name in PERCENT:
        value, decimals = 100 * value, "0"
    else:
        _, _, decimals = format_number(like).partition(".")
    if "e" in decimals:  # of a label whose unit is tiny
        return f"{value:+.2e}".replace("-", MINUS)
    size = f"{abs(value):.{len(decimals)}f}"
    return size if float(size) == 0 else f"{MINUS if value < 0 else '+'}{size}"


def summarise(evidence: Evidence, metric: StudyMetric, scores: Sequence[MethodScore]) -> Summary:
    """Say what the verdicts say, how sure that is, what it brings, and what to do next."""
    by_method = {each.method: each for each in scores}
    model, alone, guess = by_method[MODEL], by_method[TARGET_ONLY], by_method[BASELINE]
    worse = metric.loss(model.value) > metric.loss(alone.value)
    return Summary(
        decision(evidence, worse),
        "; ".join(f"{each.name}: {odds(each.bayes_factor)}" for each in evidence.sources)
        + f". Odds of {USE_FROM:.0f} to 1 decide.",
        _effect(metric, model, alone, guess),
        tuple(_next_steps(evidence, worse)),
    )


def decision(evidence: Evidence, worse: bool) -> str:
    """Say what to do with each source, from the verdicts alone.

    Where the error does not fall although the evidence is for a source, the word "use" does not stand: the source makes
    the true labels more probable, and that is all there is to say.
    """
    named = {said: [each.name for each in evidence.sources if each.verdict == said] for said in VERDICTS}
    parts = []
    if named[USE]:
        fits = "fits" if len(named[USE]) == 1 else "fit"
        parts.append(
            f"{joined(named[USE])} {fits} the target, but the error does not fall"
            if worse
            else f"Use {joined(named[USE])}"
        )
    if named[UNDECIDED]:
        parts.append(f"No evidence either way about {joined(named[UNDECIDED])}")
    if named[LEAVE_OUT]:
        parts.append(f"Leave out {joined(named[LEAVE_OUT])}")
    if named[NOT_NEEDED]:
        parts.append(f"Not needed beside the others: {joined(named[NOT_NEEDED])}")
    return ". ".join(parts) + "."


def odds(bayes_factor: float) -> str:
    """Return a Bayes factor as odds for or against.

    Examples
    --------
    >>> odds(40.0), odds(0.2), odds(1e9), odds(0.0)
    ('40 to 1 for it', '5.0 to 1 against it', 'more than 10,000 to 1 for it', 'more than 10,000 to 1 against it')
    """
    side = "for it" if bayes_factor >= 1 else "against it"
    size = bayes_factor if bayes_factor >= 1 else (1 / bayes_factor if bayes_factor > 0 else float("inf"))
    if size > 10_000:
        return f"more than 10,000 to 1 {side}"
    return f"{size:,.0f} to 1 {side}" if size >= 10 else f"{size:.1f} to 1 {side}"


def _effect(metric: StudyMetric, model: MethodScore, alone: MethodScore, guess: MethodScore) -> str:
    name = f"{metric.name[:1].upper()}{metric.name[1:]}"
    low, high = (signed(each, metric, alone.value) for each in (model.change_low, model.change_high))
    points = " points" if metric.name in PERCENT else ""
    return (
        f"{name} on rows that did not train: {metric.shown(model.value)} for the model, {metric.shown(alone.value)} "
        f"for the target alone (95% interval of the change: {low} to {high}{points}), {metric.shown(guess.value)} "
        "for the baseline."
    )


def _next_steps(evidence: Evidence, worse: bool) -> list[str]:
    steps = [labels_that_would_tell(evidence, each) for each in evidence.sources if each.verdict == UNDECIDED]
    for each in evidence.sources:
        if each.verdict == LEAVE_OUT and each.findings:
            steps.append(f"Check {each.name}: {each.findings[0]}.")
    if evidence.used and not worse:
        steps.append("Fit the model with the same files: gapmin fit.")
    elif evidence.used:
        steps.append("Label more target rows before you rely on it.")
    elif not steps:
        steps.append("Work with the target alone, or look for other sources.")
    return steps


def labels_that_would_tell(evidence: Evidence, source: SourceVerdict) -> str:
    """Say about how many more labelled target rows would decide about a source."""
    rows = evidence.rows_that_would_tell(source.number)
    if rows is None:
        return f"{source.name}: how many labels would decide cannot be told."
    more = ceil(rows - evidence.n_target)
    if more <= 0:
        return f"{source.name}: close to a decision; a few more labelled target rows should tell."
    return f"{source.name}: about {counted(more, 'more labelled target row')} would tell."


def labels_sentence(saving: LabelSaving, used: Sequence[str]) -> str:
    """Say how many labels the sources are worth.

    Examples
    --------
    >>> labels_sentence(LabelSaving(20, 50, "within"), ["old"])
    'With old, 20 labelled target rows do what would take about 50 without: about 30 labels more.'
    """
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
