"""The rule: from held-out log-likelihoods to weights of hypotheses and verdicts on sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import comb, prod

import numpy as np
from scipy.special import logsumexp

from gapmin._utils.typing import Array

from .constants import (
    LEAVE_OUT,
    LEAVE_OUT_TO,
    NOT_NEEDED,
    PERMUTED_FACTOR,
    PRIOR_ALONE,
    ROWS_BEFORE,
    UNDECIDED,
    USE,
    USE_FROM,
    Sources,
)
from .result import SMALLEST_SHARE, Hypothesis, SourceVerdict


def prior_weights(
    sets: Sequence[Sources],
    n_sources: int,
    permuted: Iterable[int] = (),
    odds: Mapping[int, float] | None = None,
) -> Array:
    """Return the prior weight of each set; with all sets of `n_sources` sources they would sum to one.

    The user's odds move weight between the sets given, and leave its sum.

    Parameters
    ----------
    sets : sequence of tuple of int
        The first is the empty one.
    n_sources : int
    permuted : iterable of int
        Sources whose columns look permuted.
    odds : mapping of int to float, optional
        What the user believes of sources beforehand: a set's prior is multiplied by the odds of each of its sources,
        then all by one number.

    Examples
    --------
    >>> prior_weights([(), (1,), (2,), (1, 2)], 2).round(3).tolist()
    [0.6, 0.1, 0.1, 0.2]
    """
    doubtful = set(permuted)
    weights = np.array(
        [(1 - PRIOR_ALONE) / n_sources / comb(n_sources, len(each)) if each else PRIOR_ALONE for each in sets]
    )
    lowered = np.array([bool(doubtful & set(members)) for members in sets])
    # What columns take from a set goes to the target alone.
    weights[0] += (1 - PERMUTED_FACTOR) * weights[lowered].sum()
    weights[lowered] *= PERMUTED_FACTOR
    if odds:
        total = weights.sum()
        weights *= [prod(odds.get(each, 1.0) for each in members) for members in sets]
        weights *= total / weights.sum()
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
    """Return the posterior odds over the prior odds, among the sets evaluated, that a source is in the set used.

    It is 0 for a source that no set with a prior holds.
    """
    holds = np.array([source in members for members in sets])
    if not prior[holds].sum():
        return 0.0
    before = prior[holds].sum() / prior[~holds].sum()
    after = posterior[holds].sum() / max(posterior[~holds].sum(), SMALLEST_SHARE)
    return float(after / before)


def judge(
    hypotheses: Sequence[Hypothesis], names: Mapping[int, str], sizes: Mapping[int, int]
) -> tuple[SourceVerdict, ...]:
    """Return the verdict on each source.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        The target alone first, weights and priors filled in.
    names, sizes : mapping of int to str and int
    """
    sets = [each.sources for each in hypotheses]
    prior = np.array([each.prior for each in hypotheses])
    weight = np.array([each.weight for each in hypotheses])
    alone = {each.sources[0]: each.evidence for each in hypotheses if len(each.sources) == 1}
    verdicts = []
    for number in sorted(names):
        factor = bayes_factor(number, sets, prior, weight)
        own = alone.get(number, 0.0)
        held = float(sum(w for members, w in zip(sets, weight, strict=True) if number in members))
        others = float(sum(w for members, w in zip(sets, weight, strict=True) if members and number not in members))
        if factor >= USE_FROM:
            verdict = USE
        elif own > 0 and 0 < factor < 1 and others > 0.5:
            verdict = NOT_NEEDED
        else:
            verdict = LEAVE_OUT if factor <= LEAVE_OUT_TO else UNDECIDED
        verdicts.append(SourceVerdict(number, names[number], sizes[number], verdict, factor, own, held))
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
