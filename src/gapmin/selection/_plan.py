"""The order of a search: what is cheap first, then what may be better around the best of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapmin.selection._candidates import GAP_WEIGHTING, GAPBOOST, POOLING, Candidate, Kit, Learner, boosting_learners
from gapmin.selection._held_out import Trial
from gapmin.selection._search import Search
from gapmin.selection._witnesses import HALF, Pair, Witnesses, best_of_each_kind

_WIDEST_FOR_GAPS = 1000


def look(search: Search, kit: Kit, learners: Sequence[Learner], methods: Iterable[str]) -> list[Trial[Candidate]]:
    """Try what is cheap, and let what it says of the sources be heard.

    Target only takes part whatever the methods; without sources nothing else does.
    """
    wanted = set(methods) if kit.sources else set()
    first = [kit.target_only(learner) for learner in learners]
    if POOLING in wanted or GAP_WEIGHTING in wanted:
        first += [each for learner in learners for each in kit.pooling(learner)]
    trials = search.start(first)
    search.hear(_witnesses(search, kit, trials))
    return trials


def go_further(
    search: Search, kit: Kit, learners: Sequence[Learner], methods: Iterable[str], trials: Sequence[Trial[Candidate]]
) -> None:
    """Try others around the best of what was tried first."""
    wanted = set(methods) if kit.sources else set()
    pooled = [trial for trial in trials if not trial.is_target_only]
    if pooled:
        best = min(pooled, key=search.merit)
        tried = [trial.candidate for trial in search.trials]
        singles = kit.single_sources(best.candidate) if POOLING in wanted else []
        more = [each for each in singles if not each.is_among(tried)]
        if GAP_WEIGHTING in wanted and _has_numbers(search.data.X):
            more += kit.gap_weighting(best.candidate)
        search.start(more)
        if POOLING not in wanted:  # it has shown which learner to weigh the sources for
            search.trials = [trial for trial in search.trials if trial.candidate.method != POOLING]
    if GAPBOOST in wanted:
        _boost(search, kit, boosting_learners(kit.regression, learners), trials)


def _boost(search: Search, kit: Kit, learners: Sequence[Learner], trials: Sequence[Trial[Candidate]]) -> None:
    """Try gapBoost with the learner that did best without it, and around its best settings if these lead."""

    def without(learner: Learner) -> float:
        return min((trial.mean_loss for trial in trials if trial.candidate.learner is learner), default=np.inf)

    started = search.start(kit.gapboost_starts(min(learners, key=without)))
    best = min(started, key=lambda trial: trial.mean_loss)
    if best is min(search.trials, key=lambda trial: trial.mean_loss):
        search.start(kit.gapboost_around(best.candidate))


def _witnesses(search: Search, kit: Kit, trials: Sequence[Trial[Candidate]]) -> list[Witnesses]:
    """Return the same learners with and without all sources; where there are several, with each by itself too."""
    alone = [trial for trial in trials if trial.is_target_only]
    halves = [trial for trial in trials if trial.candidate.settings.get("target_share") == HALF]
    pairs = best_of_each_kind(alone, halves)
    if not pairs:
        return []
    singles = [(k,) for k in kit.sources if kit.single_sources(pairs[0][1].candidate)]
    if not singles:
        return [_heard_alone_too(search, kit.sources, pairs)]
    # Of all together no more is asked than whether they help: who is close is asked of each.
    return [Witnesses(kit.sources, tuple(pairs)), *(_of_sources(search, kit, pairs, each) for each in singles)]


def _of_sources(search: Search, kit: Kit, pairs: Sequence[Pair], sources: tuple[int, ...]) -> Witnesses:
    """Return the same witnesses with some of the sources."""
    started = search.start(kit.of_sources(half.candidate, sources) for _, half in pairs)
    return _heard_alone_too(search, sources, list(zip([alone for alone, _ in pairs], started, strict=True)))


def _heard_alone_too(search: Search, sources: tuple[int, ...], pairs: Sequence[Pair]) -> Witnesses:
    """Return witnesses and the same learners on the sources alone."""
    return Witnesses(sources, tuple(pairs), tuple(search.on_sources_alone([a.candidate for a, _ in pairs], sources)))


def _has_numbers(X: Any) -> bool:
    return (sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiu")) and X.shape[1] <= _WIDEST_FOR_GAPS
