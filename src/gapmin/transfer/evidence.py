"""The rule: from held-out log-likelihoods to weights of hypotheses and verdicts on sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import comb, exp, log

import numpy as np
from scipy.special import logsumexp

from gapmin._utils.typing import Array

Sources = tuple[int, ...]
"""A hypothesis: the numbers of the sources that are used, ascending; empty for the target alone."""

ROWS_BEFORE = 5
"""Rows that count as if the models had seen no target row."""

PRIOR_ALONE = 0.5
"""The prior weight of the target alone."""

PERMUTED_FACTOR = 0.05
"""What is left of the prior of a set with a source whose columns look permuted."""

USE_FROM = 19.0
"""The Bayes factor from which on a source is used."""

LEAVE_OUT_TO = 1 / 19
"""The Bayes factor down to which a source is left out."""

USE, LEAVE_OUT, UNDECIDED, NOT_NEEDED = VERDICTS = (
    "use",
    "leave out",
    "no evidence either way",
    "not needed beside the others",
)


def prior_weights(
    sets: Sequence[Sources],
    n_sources: int,
    permuted: Iterable[int] = (),
    odds: Mapping[int, float] | None = None,
) -> Array:
    """Return the prior weight of each set; with all sets of `n_sources` sources they would sum to one.

    Parameters
    ----------
    sets : sequence of tuple of int
        The first is the empty one.
    n_sources : int
    permuted : iterable of int
        Sources whose columns look permuted.
    odds : mapping of int to float, optional
        What the user believes of sources beforehand: a set's prior is multiplied by the odds of each of its sources.

    Examples
    --------
    >>> prior_weights([(), (1,), (2,), (1, 2)], 2).tolist()
    [0.5, 0.125, 0.125, 0.25]
    """
    doubtful = set(permuted)
    weights = np.zeros(len(sets))
    for place, members in enumerate(sets):
        if members:
            weight = (1 - PRIOR_ALONE) / n_sources / comb(n_sources, len(members))
            for each in members:
                weight *= (odds or {}).get(each, 1.0)
            weights[place] = weight * (PERMUTED_FACTOR if doubtful & set(members) else 1.0)
    # What columns take from a set goes to the target alone.
    plain = [
        (1 - PRIOR_ALONE) / n_sources / comb(n_sources, len(members)) for members in sets if doubtful & set(members)
    ]
    weights[0] = PRIOR_ALONE + (1 - PERMUTED_FACTOR) * sum(plain)
    return weights


def posterior_weights(prior: Array, evidence: Array) -> Array:
    """Return weights proportional to prior times exp(evidence), which sum to one.

    Examples
    --------
    >>> posterior_weights(np.array([0.5, 0.5]), np.array([0.0, np.log(3)])).round(6).tolist()
    [0.25, 0.75]
    """
    with np.errstate(divide="ignore"):
        score = np.log(prior) + evidence
    return np.asarray(np.exp(score - logsumexp(score)))


def combine_brackets(with_rows: float, without_rows: float, n_rows: int) -> float:
    """Return the evidence from both brackets: `ROWS_BEFORE` rows count by the second, the others by the first.

    Examples
    --------
    >>> combine_brackets(10.0, -10.0, 20)
    5.0
    """
    share = min(ROWS_BEFORE, n_rows / 2) / n_rows
    return (1 - share) * with_rows + share * without_rows


def bayes_factor(source: int, sets: Sequence[Sources], prior: Array, posterior: Array) -> float:
    """Return the posterior odds over the prior odds, among the sets evaluated, that a source is in the set used."""
    holds = np.array([source in members for members in sets])
    before = prior[holds].sum() / prior[~holds].sum()
    after = posterior[holds].sum() / max(posterior[~holds].sum(), np.finfo(float).tiny)
    return float(after / before)


@dataclass(frozen=True)
class Hypothesis:
    """What the target's rows say about a set of sources.

    Attributes
    ----------
    sources : tuple of int
        Empty for the target alone.
    log_likelihood : float
        Of the target's labels under held-out predictions, in nats.
    with_rows, without_rows : float
        The two brackets of the evidence, against the target alone.
    evidence : float
    evidence_error : float
        Its standard error over the rows.
    prior, weight : float
    errors : dict of str to float
        The held-out error in each metric asked for.
    chosen : dict of str to str
        The setting that each kind of learner was given.
    """

    sources: Sources
    log_likelihood: float
    with_rows: float
    without_rows: float
    evidence: float
    evidence_error: float
    prior: float
    weight: float
    errors: dict[str, float] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceVerdict:
    """What is said of one source, everywhere.

    Attributes
    ----------
    number : int
        In `sample_domain`.
    name : str
    n_rows : int
    verdict : "use", "leave out", "no evidence either way" or "not needed beside the others"
    bayes_factor : float
    evidence : float
        Of the source alone beside the target, in nats.
    weight : float
        Of all sets that hold it.
    findings : tuple of str
        What was noticed about it.
    """

    number: int
    name: str
    n_rows: int
    verdict: str
    bayes_factor: float
    evidence: float
    weight: float
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """Everything that is known about which sources help.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        The target alone first.
    sources : tuple of SourceVerdict
        In the order of their numbers.
    task : "classification" or "regression"
    n_target : int
    findings : tuple of str
        About columns, leaks and the like.
    """

    hypotheses: tuple[Hypothesis, ...]
    sources: tuple[SourceVerdict, ...]
    task: str
    n_target: int
    findings: tuple[str, ...] = ()

    @property
    def transfer_weight(self) -> float:
        """The weight of all hypotheses that use a source."""
        return 1 - self.hypotheses[0].weight

    def __getitem__(self, source: int | str) -> SourceVerdict:
        """Return what is said of a source, by its number or name."""
        for each in self.sources:
            if source in (each.number, each.name):
                return each
        raise KeyError(f"there is no source {source!r}: choose from {[each.name for each in self.sources]}")

    def rows_that_would_tell(self, source: int | str) -> float | None:
        """Return about how many target rows would decide about a source; None where that cannot be told."""
        one = next((each for each in self.hypotheses if each.sources == (self[source].number,)), None)
        if one is None or abs(one.evidence) <= one.evidence_error or one.evidence == 0:
            return None
        return max(self.n_target * log(USE_FROM) / abs(one.evidence), float(self.n_target))


def judge(
    hypotheses: Sequence[Hypothesis], names: Mapping[int, str], sizes: Mapping[int, int], left_out: Mapping[int, str]
) -> tuple[SourceVerdict, ...]:
    """Return the verdict on each source.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        The target alone first, weights and priors filled in.
    names, sizes : mapping of int to str and int
    left_out : mapping of int to str
        Sources that were found unusable before, and why.
    """
    sets = [each.sources for each in hypotheses]
    prior = np.array([each.prior for each in hypotheses])
    weight = np.array([each.weight for each in hypotheses])
    alone = {each.sources[0]: each.evidence for each in hypotheses if len(each.sources) == 1}
    verdicts = []
    for number in sorted(names):
        if number in left_out or not any(number in members for members in sets):
            said = left_out.get(number, "it was not evaluated")
            verdicts.append(SourceVerdict(number, names[number], sizes[number], LEAVE_OUT, 0.0, -np.inf, 0.0, (said,)))
            continue
        factor = bayes_factor(number, sets, prior, weight)
        own = alone.get(number, 0.0)
        if factor >= USE_FROM:
            said = USE
        elif own > 0 and factor < 1:
            said = NOT_NEEDED
        else:
            said = LEAVE_OUT if factor <= LEAVE_OUT_TO else UNDECIDED
        held = float(sum(w for members, w in zip(sets, weight, strict=True) if number in members))
        verdicts.append(SourceVerdict(number, names[number], sizes[number], said, factor, own, held))
    return tuple(verdicts)


def candidate_sets(numbers: Sequence[int]) -> list[Sources]:
    """Return the sets to begin with: none, each source alone, all.

    Examples
    --------
    >>> candidate_sets([1, 2])
    [(), (1,), (2,), (1, 2)]
    """
    singles: list[Sources] = [(number,) for number in numbers]
    whole = tuple(sorted(numbers))
    return list(dict.fromkeys(chain([()], singles, [whole])))


def union_of_helpful(evidence: Mapping[Sources, float]) -> Sources:
    """Return the union of the single sources with positive evidence."""
    return tuple(sorted(each[0] for each, value in evidence.items() if len(each) == 1 and value > 0))


def odds_sentence(evidence: float) -> str:
    """Return evidence in nats with the odds that it stands for.

    Examples
    --------
    >>> odds_sentence(4.2)
    '4.2 nats (odds 67 to 1)'
    """
    odds = exp(min(abs(evidence), 50.0))
    towards = "to 1" if evidence >= 0 else "to 1 against"
    return f"{evidence:.1f} nats (odds {odds:,.0f} {towards})"
