"""Which sources help a target: gap, change of the cross-validated error, what gapBoost keeps, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from gapmin._utils.parallel import one_thread
from gapmin.boosting import GapBoostClassifier, GapBoostRegressor
from gapmin.linear.source_gap import measure_gap
from gapmin.selection._ranking_inputs import RankingData, check_inputs
from gapmin.selection._ranking_result import HELPS, HURTS, NEUTRAL, TOGETHER, Change, RankedSource, SourceRanking
from gapmin.selection._trials import (
    TARGET_ONLY,
    Sources,
    SubsetStep,
    Trials,
    default_classifier,
    default_learner,
    draw_folds,
    forward_search,
    n_folds,
)

__all__ = ["Change", "RankedSource", "SourceRanking", "SubsetStep", "rank_sources"]


def rank_sources(
    target: tuple[Any, Any],
    sources: Mapping[Any, tuple[Any, Any]] | Sequence[tuple[Any, Any]],
    *,
    task: str | None = None,
    estimator: Any = None,
    preprocessor: Any = None,
    target_share: float | None = 0.5,
    n_splits: int = 5,
    n_repeats: int = 5,
    level: float = 0.9,
    max_source_rows: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> SourceRanking:
    """Say of each source whether it helps to predict the target, by how much, and how sure that is.

    The target is cross-validated `n_repeats` times, alone and with each source, on the same folds; with a source, the
    target keeps `target_share` of the weight. Order and verdict go by a smooth loss, half the Brier score or the
    squared error, because a probability says more of a fold with few rows than a label; the error is shown beside it.

    Parameters
    ----------
    target : (X, y)
        The labelled rows of the domain that a model is wanted for: 10 or more, for the verdict to mean much.
    sources : mapping of name to (X, y), or sequence of (X, y)
        Arrays, sparse matrices or data frames with the target's columns. Those of a sequence are called "source 1", …
    task : "classification", "regression" or None, default=None
        None goes by scikit-learn's `type_of_target` of all labels.
    estimator : estimator or None, default=None
        What is trained. None takes `WeightedLogisticRegression` or `Ridge` on standardised features.
    preprocessor : transformer or None, default=None
        Fitted on all rows without their labels, it turns X into numbers for everything else.
    target_share : float in (0, 1) or None, default=0.5
        The target's share of the weight beside sources; None gives every row the same weight.
    n_splits, n_repeats : int, default=5
        Folds, and how often they are drawn. A target with few rows has fewer folds.
    level : float, default=0.9
        Of the intervals.
    max_source_rows : int or None, default=None
        Use at most so many rows of each source, drawn at random.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    SourceRanking

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.selection.ranking import rank_sources
    >>> rng = np.random.default_rng(0)
    >>> X, X_old = rng.normal(size=(40, 10)), rng.normal(size=(300, 10))
    >>> weight = np.ones(10)
    >>> ranking = rank_sources(
    ...     (X, X @ weight > 0), {"flipped": (X_old, X_old @ weight < 0), "old": (X_old, X_old @ weight > 0)},
    ...     random_state=0,
    ... )
    >>> [(source.name, source.verdict) for source in ranking.sources]
    [('old', 'helps'), ('flipped', 'hurts')]
    >>> ranking.best_subset
    ('old',)
    """
    _check_settings(target_share, n_splits, n_repeats, level)
    fold_seed, row_seed, boost_seed = check_random_state(random_state).randint(2**31 - 1, size=3).tolist()
    data = check_inputs(
        target,
        sources,
        task=task,
        estimator=estimator,
        preprocessor=preprocessor,
        max_source_rows=max_source_rows,
        seed=row_seed,
    )
    notes = list(data.notes)
    n_used = n_folds(data, n_splits)
    if n_used < n_splits:
        notes.append(f"{n_used} folds, not {n_splits}: the target has too few rows for more")
    learner = default_learner(data) if estimator is None else estimator
    trials = Trials(data, learner, target_share, draw_folds(data, n_used, n_repeats, fold_seed), n_jobs, verbose)
    each = [frozenset([k]) for k in range(1, len(data.names) + 1)]
    everything = frozenset(range(1, len(data.names) + 1))
    trials.run([TARGET_ONLY, *each, everything], "sources")
    path = forward_search(trials)
    kept = _kept_weights(data, estimator, boost_seed)
    ranked = [_ranked(data, trials, level, kept, one) for one in each]
    error, loss = trials.mean(TARGET_ONLY)
    return SourceRanking(
        sources=tuple(sorted(ranked, key=lambda one: one.loss_change.mean)),
        together=replace(_ranked(data, trials, level, kept, everything), name=TOGETHER),
        best_subset=tuple(step.added for step in path if step.kept),
        subset_path=path,
        target_error=error,
        target_loss=loss,
        task=data.task,
        level=float(level),
        n_target=data.n_target,
        notes=tuple(notes),
    )


def _check_settings(target_share: Any, n_splits: Any, n_repeats: Any, level: Any) -> None:
    if target_share is not None and not _is_share(target_share):
        raise ValueError(f"target_share is {target_share!r}: give a number above 0 and below 1, or None for equal rows")
    if not (isinstance(n_splits, Integral) and int(n_splits) >= 2):
        raise ValueError(f"n_splits is {n_splits!r}: use an integer of at least 2")
    if not (isinstance(n_repeats, Integral) and int(n_repeats) >= 1):
        raise ValueError(f"n_repeats is {n_repeats!r}: use an integer of at least 1")
    if not _is_share(level):
        raise ValueError(f"level is {level!r}: give a number above 0 and below 1, such as 0.9")


def _is_share(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < 1


def _ranked(data: RankingData, trials: Trials, level: float, kept: tuple[Any, Any], sources: Sources) -> RankedSource:
    error_test, loss_test = trials.compare(sources)
    loss_change = Change.of(loss_test, level)
    numbers = sorted(sources)
    parts = None
    if data.numbers is not None:
        rows = np.concatenate([np.flatnonzero(data.domain < 0), data.rows(numbers)])
        with one_thread():
            parts = measure_gap(data.numbers[rows], data.y[rows], data.domain[rows], data.task)
    error, loss = trials.mean(sources)
    before, after = (mass[[number - 1 for number in numbers]].sum() for mass in kept)
    return RankedSource(
        name=data.names[numbers[0] - 1],
        n_rows=data.rows(numbers).size,
        gap=None if parts is None else sum(parts.values()),
        gap_parts=parts,
        error=error,
        error_change=Change.of(error_test, level),
        loss=loss,
        loss_change=loss_change,
        kept_weight=float(after / before),
        verdict=HELPS if loss_change.high < 0 else HURTS if loss_change.low > 0 else NEUTRAL,
    )


def _kept_weights(data: RankingData, estimator: Any, seed: int) -> tuple[Any, Any]:
    """Return the mass of each source before the first round of gapBoost and after its last."""
    X, classes = data.X, data.task == "classification"
    if estimator is None:
        X = StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X)
        estimator = default_classifier() if classes else None
    kind = GapBoostClassifier if classes else GapBoostRegressor
    with one_thread():
        booster = kind(estimator, random_state=seed).fit(X, data.y, sample_domain=data.domain)
    return booster.mass_history_[0, 1:], booster.mass_history_[-1, 1:]
