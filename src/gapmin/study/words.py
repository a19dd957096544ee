"""What was found, in sentences that need no statistics to be read."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

from gapmin._utils.options import fitting, option
from gapmin._utils.text import counted, format_number, joined
from gapmin.transfer import Evidence, SourceVerdict
from gapmin.transfer.constants import LEAVE_OUT, NOT_NEEDED, UNDECIDED, USE_FROM
from gapmin.transfer.findings import asks_for_correction
from gapmin.transfer.odds import shown_odds

from .curve import BEYOND, EXTRAPOLATED, NONE, LabelSaving
from .methods import BASELINE, MODEL, TARGET_ONLY
from .metrics import (
    OF_PROBABILITIES,
    PERCENT,
    RANKED,
    ClassScores,
    MethodScore,
    StudyMetric,
    ValueScores,
    ranks_better_than_a_guess,
)
from .result import Summary

MINUS = "\N{MINUS SIGN}"
THRESHOLD = f"A decision takes odds of {USE_FROM:.0f} to 1, for or against."


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


def summarise(
    evidence: Evidence,
    metric: StudyMetric,
    scores: Sequence[MethodScore],
    details: ClassScores | ValueScores | None = None,
) -> Summary:
    """Say what the verdicts say, how sure that is, what it brings, and what to do next."""
    by_method = {each.method: each for each in scores}
    model, alone, guess = by_method[MODEL], by_method[TARGET_ONLY], by_method[BASELINE]
    worse = metric.loss(model.value) > metric.loss(alone.value)
    useless = min(map(metric.loss, (model.value, alone.value))) >= metric.loss(guess.value)
    return Summary(
        evidence.decision(worse, useless),
        f"{'; '.join(odds_lines(evidence))}. {THRESHOLD}",
        _effect(evidence, metric, (model, alone, guess), is_relied_on=not (worse or useless)),
        tuple(_next_steps(evidence, worse, _instead_of_useless(evidence, metric, details) if useless else "")),
    )


def odds_lines(evidence: Evidence) -> list[str]:
    """Return the odds of each source, and of those that help together."""
    lines = [
        f"{each.name}: {odds(each.bayes_factor)}{' beside the others' * (each.verdict == NOT_NEEDED)}"
        for each in evidence.sources
    ]
    if evidence.together:
        whole = odds(evidence.bayes_factor).replace("for it", "for them")
        lines.append(f"{joined(evidence.together)} together: {whole}")
    return lines


def odds(bayes_factor: float) -> str:
    """Return a Bayes factor as odds for or against.

    Examples
    --------
    >>> odds(40.0), odds(0.2), odds(1e9)
    ('40 to 1 for it', '5.0 to 1 against it', '10,000+ to 1 for it')
    """
    if bayes_factor >= 1:
        return f"{shown_odds(bayes_factor)} for it"
    return f"{shown_odds(1 / max(bayes_factor, 1e-300))} against it"


def _effect(
    evidence: Evidence, metric: StudyMetric, scores: tuple[MethodScore, MethodScore, MethodScore], *, is_relied_on: bool
) -> str:
    """Say what the model, the target alone and the baseline reach."""
    model, alone, guess = scores
    name = f"{metric.name[:1].upper()}{metric.name[1:]}"
    low, high = (signed(each, metric, alone.value) for each in (model.change_low, model.change_high))
    points = " points" if metric.name in PERCENT else ""
    better = "above" if metric.higher_is_better else "below"
    with_what = f" with {joined(evidence.used)}" if evidence.used else ""
    with_what += _beside(weighed_undecided(evidence))
    beside = f"{metric.shown(guess.value)} for always predicting {_constant(evidence, metric)}."
    if all(each.verdict == LEAVE_OUT for each in evidence.sources) and model.change_low == model.change_high == 0:
        left_out = joined([each.name for each in evidence.sources])
        return (
            f"{name} on held-out target rows: {metric.shown(model.value)} for the model, {beside} The model leaves "
            f"{left_out} out, so it is that of the target alone."
        )
    sentence = (
        f"{name} on held-out target rows: {metric.shown(model.value)} for the model{with_what}, "
        f"{metric.shown(alone.value)} for the target alone (95% interval of the change: {low} to {high}{points}; "
        f"{better} zero is better), {beside}"
    )
    if all(each.verdict == LEAVE_OUT for each in evidence.sources):
        sentence += f" The model leaves {joined([each.name for each in evidence.sources])} out."
    elif evidence.used and is_relied_on and model.change_low < 0 < model.change_high:
        sentence += " The interval holds zero, so the error alone does not decide. The odds do: they compare how "
        sentence += "probable the models made each held-out label."
    return sentence


def _constant(evidence: Evidence, metric: StudyMetric) -> str:
    """Name the prediction that needs no model."""
    if evidence.task == "regression":
        return "the mean label"
    return "the shares of the classes" if metric.name in OF_PROBABILITIES else "the most frequent class"


def _undecided(evidence: Evidence) -> list[SourceVerdict]:
    """Return the sources of which nothing is known, neither alone nor together with others."""
    return [each for each in evidence.sources if each.verdict == UNDECIDED and each.name not in evidence.used]


def weighed_undecided(evidence: Evidence) -> list[str]:
    """Return the sources of which nothing is known and that have a share in the model all the same, with it."""
    shares = [(each.name, _percent(each.weight)) for each in _undecided(evidence)]
    return [f"{name} at {share}" for name, share in shares if share != "0%"]


def _beside(undecided: Sequence[str]) -> str:
    return f" (undecided: {joined(undecided)})" if undecided else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _instead_of_useless(evidence: Evidence, metric: StudyMetric, details: ClassScores | ValueScores | None) -> str:
    """Say what to do where no model is better than the baseline; a rare class may be ranked well all the same."""
    constant = f"a constant, {_constant(evidence, metric)}"
    if isinstance(details, ClassScores) and metric.name not in RANKED and ranks_better_than_a_guess(details):
        return (
            f"By {metric.name}, no model here does better than {constant}. But the model ranks rows better than a "
            f"guess (ROC AUC {details.roc_auc:.3f}): compare again with {option('metric', 'roc_auc')}."
        )
    return f"No model here does better than {constant}: label more target rows, or look for better columns."


def _next_steps(evidence: Evidence, worse: bool, instead: str) -> list[str]:
    """Return the steps; `instead` says what to do in place of relying on a model that a constant beats."""
    undecided = _undecided(evidence)
    steps = [*([instead] if instead else []), *labels_that_would_tell(evidence)]
    n_checks = len(steps)
    for each in evidence.sources:
        noticed = next(filter(asks_for_correction, each.findings), "")
        if noticed:
            steps.append(f"Check {each.name}: {noticed}. After a correction, compare again.")
    if instead:
        return steps
    if evidence.used and not worse:
        steps.append(f"Fit the model: {fitting()}.")
    elif evidence.used:
        steps.append("Label more target rows before you rely on it.")
    elif undecided:
        names = joined([each.name for each in undecided])
        files = "its file" if len(undecided) == 1 else "their files"
        steps.append(
            "Label more target rows, or look for other sources. The model can be fitted meanwhile; to do without "
            f"{names}, leave {files} out."
        )
    else:
        then = "Until then, work" if len(steps) > n_checks else "Work"
        steps.append(f"{then} with the target alone, or look for other sources.")
    return steps


def labels_that_would_tell(evidence: Evidence) -> list[str]:
    """Say about how many more labelled target rows would decide, and what the model does until then."""
    told: dict[int, list[SourceVerdict]] = {}
    for each in _undecided(evidence):
        rows = evidence.rows_that_would_tell(each.number)
        more = 0 if rows is None else max(ceil(rows - evidence.n_target), 1)
        told.setdefault(more, []).append(each)
    said: list[str] = []
    for more, sources in sorted(told.items(), key=lambda each: each[0] or inf):
        names = joined([each.name for each in sources])
        n_rows = counted(more, "more labelled target row") if more else "how many more labelled target rows"
        start = f"About {n_rows} like these would" if more else f"It cannot be told {n_rows} would"
        weights = joined([_percent(each.weight) for each in sources])
        have = (
            f"their weights in the model are {weights}" if len(sources) > 1 else f"its weight in the model is {weights}"
        )
        prior = ", by these odds and a prior that favours the target alone" * (not said)
        said.append(f"{start} decide about {names}. For now {have}{prior}.")
    return said


def labels_sentence(saving: LabelSaving, used: Sequence[str], undecided: Sequence[str] = ()) -> str:
    """Say how many labels the sources are worth; `undecided` ones have a share in that, see `weighed_undecided`.

    Examples
    --------
    >>> labels_sentence(LabelSaving(20, 50, "within"), ["old"])
    'With old, 20 labelled target rows do what would take about 50 without: about 30 labels more.'
    """
    with_, rows = joined(used) + _beside(undecided), f"{saving.n_rows} labelled target rows"
    if saving.kind == NONE:
        save = "saves" if len(used) == 1 else "save"
        return f"With {rows}, {with_} {save} no labels: the target alone has no higher error."
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
