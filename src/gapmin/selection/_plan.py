"""The order of a search: what is cheap first, then what may be better around the best of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapmin.selection._candidates import GAP_WEIGHTING, GAPBOOST, POOLING, Candidate, Kit, Learner, boosting_learners
from gapmin.selection._search import Search, Trial

_WIDEST_FOR_GAPS = 1000


def run(search: Search, kit: Kit, learners: Sequence[Learner], methods: Iterable[str]) -> list[Trial[Candidate]]:
    """Try the cheap candidates, then others around the best of them; return who took part to the end.

    Target only takes part whatever the methods; without sources nothing else does.
    """
    wanted = set(methods) if kit.sources else set()
    first = [kit.target_only(learner) for learner in learners]
    if POOLING in wanted or GAP_WEIGHTING in wanted:
        first += [each for learner in learners for each in kit.pooling(learner)]
    trials = search.start(first)
    # Which source is kin to the target is asked of each by itself, with the best learner of every kind: the last one.
    plain = {each.candidate.learner.name: each.candidate for each in sorted(trials, key=_loss)[::-1] if _is_plain(each)}
    trials = [*trials, *search.start(single for each in plain.values() for single in kit.single_sources(each))]
    search.look_at_sources()
    pooled = [trial for trial in trials if not trial.is_target_only]
    if pooled:
        best = min(pooled, key=search.merit)
        # With all rows alike they have been tried.
        more = kit.single_sources(best.candidate) if POOLING in wanted and not _is_plain(best) else []
        if GAP_WEIGHTING in wanted and _has_numbers(search.data.X):
            more += kit.gap_weighting(best.candidate)
        search.start(more)
        if POOLING not in wanted:  # it has shown which learner to weigh the sources for
            search.trials = [trial for trial in search.trials if trial.candidate.method != POOLING]
    if GAPBOOST in wanted:
        _boost(search, kit, boosting_learners(kit.regression, learners), trials)
    return search.go_on()


def _boost(search: Search, kit: Kit, learners: Sequence[Learner], trials: Sequence[Trial[Candidate]]) -> None:
    """Try gapBoost with the learner that did best without it, and around its best settings if these lead."""

    def without(learner: Learner) -> float:
        return min((trial.mean_loss for trial in trials if trial.candidate.learner is learner), default=np.inf)

    started = search.start(kit.gapboost_starts(min(learners, key=without)))
    best = min(started, key=lambda trial: trial.mean_loss)
    if best is min(search.trials, key=lambda trial: trial.mean_loss):
        search.start(kit.gapboost_around(best.candidate))


def _loss(trial: Trial[Candidate]) -> float:
    return trial.mean_loss


def _is_plain(trial: Trial[Candidate]) -> bool:
    return trial.candidate.method == POOLING and trial.candidate.settings["target_share"] is None


def _has_numbers(X: Any) -> bool:
    return (sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiu")) and X.shape[1] <= _WIDEST_FOR_GAPS
