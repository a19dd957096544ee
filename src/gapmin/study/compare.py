"""The whole comparison: ranking, methods, verdict, learning curve and weights of a study's sources."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from gapmin._utils.parallel import one_thread
from gapmin._utils.text import replace_unprintable
from gapmin.base import DomainData
from gapmin.selection import SourceRanking, TransferVerdict, rank_sources

from ._labels import FEWEST_TARGET_ROWS
from ._messages import TableError, free_name
from .curve import curve_sizes, draw_rows, labels_needed
from .folds import Fitted, Fold, WorkItem, draw_folds, measure, run
from .method_comparison import compare_methods, fit_once
from .methods import (
    GAPBOOST,
    OURS,
    POOLED,
    TARGET_ONLY,
    QuickTransferClassifier,
    QuickTransferRegressor,
    make_method,
    method_names,
)
from .preprocessing import preprocessor
from .result import LabelSaving, LearningCurve, StudyComparison
from .study import Study
from .words import headline

FOLD_SEARCH_ROWS = 300
"""Source rows in the search that each fold makes anew."""

_FEW_ROWS = 1000
"""Source rows up to which the folds are drawn twice."""
_LEAST_RATIO = 0.1
_EFFORT = {OURS: 12.0, GAPBOOST: 2.0, TARGET_ONLY: 2.0}


def compare_study(
    study: Study,
    *,
    n_splits: int = 5,
    n_repeats: int | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    max_search_rows: int = 1000,
    on_progress: Callable[[float, int], object] = lambda share, n_steps: None,
) -> StudyComparison:
    """Find out whether a study's sources help its target, which, and by how much.

    Columns become numbers once, by the study's preprocessing fitted on all rows without their labels. Everything else
    is cross-validated on the target's rows: a fold's rows train no model that is tested on them. Where methods are
    compared they have no part in its choice either; the models of the learning curve were chosen once, on all rows.

    Parameters
    ----------
    study : Study
        From `gapmin.study.read_study`.
    n_splits : int, default=5
        Folds of the target's rows.
    n_repeats : int or None, default=None
        How often the folds are drawn. None draws them twice with up to 1,000 source rows, and once with more.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, default=0
    max_search_rows : int, default=1000
        Source rows that the search for the recommended model uses; its last fit has all.
    on_progress : callable
        Given the share of the work that is done and the number of steps.

    Returns
    -------
    StudyComparison
    """
    start = time.perf_counter()
    data, names = _prepared(study, n_splits)
    task, n_target = study.schema.task, int(data.in_target.sum())
    n_source = len(data) - n_target
    n_repeats = n_repeats or (2 if n_source <= _FEW_ROWS else 1)
    n_splits = min(n_splits, n_target // 2)  # two rows at least in each fold
    folds = draw_folds(data, task, n_splits, n_repeats, random_state)
    methods = method_names(task)
    sizes = curve_sizes(min(fold.train.size for fold in folds))
    curve_methods = (TARGET_ONLY, OURS, POOLED)

    fold_search_rows = min(FOLD_SEARCH_ROWS, max_search_rows)
    first = [
        WorkItem(_choose, (data, task, max_search_rows, random_state), 30.0),
        WorkItem(_rank, (data, task, names, random_state), 5.0),
        WorkItem(_mass, (data, task, random_state), 3.0),
    ]
    pairs = [(method, fold) for method in sorted(methods, key=lambda each: -_EFFORT.get(each, 1)) for fold in folds]
    first += [
        WorkItem(fit_once, (data, task, method, fold, fold_search_rows), _EFFORT.get(method, 1.0))
        for method, fold in pairs
    ]
    n_curve = len(sizes) * n_splits * len(curve_methods)
    whole, n_steps, done = sum(item.effort for item in first) + 0.3 * n_curve, len(first) + n_curve, 0.0

    def on_done(effort: float) -> None:
        nonlocal done
        done += effort
        on_progress(min(done / whole, 1.0), n_steps)

    on_progress(0.0, n_steps)
    choice, ranking, mass, *fits = run(first, n_jobs, on_done)
    compared, failures = compare_methods(methods, pairs, fits, n_target, task)
    models = {
        TARGET_ONLY: choice.alone,
        **({OURS: choice.model} if choice.verdict.transfers else {}),
        POOLED: make_method(POOLED, task, random_state, max_search_rows=fold_search_rows),
    }
    curve = _curve(data, task, models, folds[:n_splits], sizes, n_jobs, on_done)
    on_progress(1.0, n_steps)

    used = tuple(names[number - 1] for number in choice.sources)
    # A blend may leave some weight to a source that by itself clearly hurts: nobody is told to use that one.
    hurting = {each.name for each in ranking.sources if each.verdict == "hurts"}
    recommended = tuple(name for name in used if name not in hurting) or used
    alone = curve.means(TARGET_ONLY)
    saving, at_start = (
        labels_needed(sizes, alone, curve.means(OURS)[place], sizes[place])
        if OURS in curve.errors
        else LabelSaving(sizes[place], sizes[place], "none")
        for place in (-1, 0)
    )
    return StudyComparison(
        headline=headline(choice.verdict, recommended, ranking, compared),
        target_name=replace_unprintable(study.target_name),
        label=replace_unprintable(study.schema.label),
        task=task,
        n_target=n_target,
        n_columns=len(study.schema.columns),
        n_features=data.X.shape[1],
        source_sizes={name: int((data.domain == k).sum()) for k, name in enumerate(names, start=1)},
        ranking=ranking,
        methods=compared,
        verdict=choice.verdict,
        recommended=recommended,
        weights={
            "target" if number < 0 else names[number - 1]: share for number, share in sorted(choice.weights.items())
        },
        curve=curve,
        saving=saving,
        saving_at_start=at_start,
        mass=mass,
        notes=tuple(map(replace_unprintable, study.notes)) + tuple(ranking.notes) + tuple(failures),
        n_splits=n_splits,
        n_repeats=n_repeats,
        random_state=random_state,
        max_search_rows=max_search_rows,
        fold_search_rows=fold_search_rows,
        seconds=time.perf_counter() - start,
    )


def check_study(study: Study) -> None:
    """Raise a `TableError` where a target has too few rows to say anything."""
    y = study.target[1]
    if y.size < FEWEST_TARGET_ROWS:
        raise TableError(
            f"{study.target_name} has {y.size} labelled rows: a comparison needs {FEWEST_TARGET_ROWS} or more, "
            "so label more rows of the target"
        )
    if study.schema.task == "classification":
        classes, counts = np.unique(y.astype(str), return_counts=True)
        # Two classes of two rows: else a fold has one class to train on or none to test.
        if counts.size < 2 or np.sort(counts)[-2] < 2:
            few = replace_unprintable(str(classes[np.argmin(counts)]))
            raise TableError(
                f"{study.target_name} has one row of class {few!r}, and no two classes with two rows or more: label "
                "more rows of the target"
            )
    elif np.ptp(y) == 0:
        raise TableError(f"every label of {study.target_name} is {y[0]}: there is nothing to predict")


def _prepared(study: Study, n_splits: int) -> tuple[DomainData, tuple[str, ...]]:
    """Return the rows as numbers, labels of classes as codes, and the names of the sources."""
    check_study(study)
    if n_splits < 2:
        raise ValueError(f"n_splits is {n_splits}: use an integer of at least 2")
    frame, y, domain = study.stack()
    X = np.ascontiguousarray(preprocessor(study.schema).fit_transform(frame), dtype=np.float64)
    if study.schema.task == "classification":
        y = np.unique(np.asarray(y), return_inverse=True)[1]
    else:
        y = np.asarray(y, dtype=np.float64)
    return DomainData(X, y, np.asarray(domain), np.ones(y.size)), _distinct(map(replace_unprintable, study.sources))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of which none is there twice, and none is that of the target.

    Examples
    --------
    >>> _distinct(["a", "target", "a", "a"])
    ('a', 'target (2)', 'a (2)', 'a (3)')
    """
    found = ["target"]
    for name in names:
        found.append(free_name(name, found))
    return tuple(found[1:])


@dataclass(frozen=True)
class _Choice:
    """What `Transfer*CV` chose on all rows, unfitted, and the best without sources."""

    verdict: TransferVerdict
    model: Any
    alone: Any
    sources: tuple[int, ...]
    weights: dict[int, float]


def _choose(data: DomainData, task: str, max_search_rows: int, seed: int) -> _Choice:
    search: Any = QuickTransferClassifier if task == "classification" else QuickTransferRegressor
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = search(check_columns=False, max_search_rows=max_search_rows, random_state=seed).fit(
            data.X, data.y, sample_domain=data.domain
        )
    return _Choice(
        verdict=found.transfer_verdict_,
        model=clone(found.best_estimator_),
        alone=found.target_only_estimator_,
        sources=used_sources(found.domain_weight_, data.domain) if found.transfer_verdict_.transfers else (),
        weights=found.domain_weight_,
    )


def used_sources(weights: Mapping[int, float], domain: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the sources that a model trusts: a row of theirs weighs at least a tenth of a row on average.

    Examples
    --------
    >>> used_sources({-1: 0.5, 1: 0.5, 2: 1e-9}, np.repeat([-1, 1, 2], [2, 4, 4]))
    (1,)
    """
    numbers, counts = np.unique(domain, return_counts=True)
    rows = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    return tuple(
        number
        for number, share in sorted(weights.items())
        if number > 0 and share * domain.size >= _LEAST_RATIO * rows[number]
    )


def _rank(data: DomainData, task: str, names: tuple[str, ...], seed: int) -> SourceRanking:
    def part(number: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        mine = data.in_target if number == 0 else data.domain == number
        return data.X[mine], data.y[mine]

    sources = {name: part(k) for k, name in enumerate(names, start=1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranking = rank_sources(part(0), sources, task=task, random_state=seed)
    # Labels are codes here: what is said of them means nothing to the reader.
    return replace(ranking, notes=tuple(note for note in ranking.notes if "classes" not in note))


def _mass(data: DomainData, task: str, seed: int) -> tuple[tuple[float, ...], ...]:
    """Return the weight that the target and each source hold by round of gapBoost."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster = make_method(GAPBOOST, task, seed, max_search_rows=1)
        booster.fit(data.X, data.y, sample_domain=data.domain)
    order = [int(np.flatnonzero(booster.domains_ < 0)[0])]
    order += [int(np.flatnonzero(booster.domains_ == number)[0]) for number in data.source_numbers]
    return tuple(tuple(map(float, each)) for each in booster.mass_history_[:, order])


def _curve(
    data: DomainData,
    task: str,
    models: dict[str, Any],
    folds: list[Fold],
    sizes: tuple[int, ...],
    n_jobs: int | None,
    on_done: Callable[[float], object],
) -> LearningCurve:
    keys = [(method, size, place) for method in models for size in sizes for place in range(len(folds))]
    items = [
        WorkItem(_curve_fit, (data, task, models[method], folds[place], size), 0.3) for method, size, place in keys
    ]
    errors = {key: fitted.error for key, fitted in zip(keys, run(items, n_jobs, on_done), strict=True)}
    # A fold on which a method could not be trained on so few rows is left out for all.
    whole = [
        place
        for place in range(len(folds))
        if all(np.isfinite(errors[method, size, place]) for method in models for size in sizes)
    ]
    return LearningCurve(
        sizes,
        {method: tuple(tuple(errors[method, size, place] for place in whole) for size in sizes) for method in models},
    )


def _curve_fit(data: DomainData, task: str, model: Any, fold: Fold, size: int) -> Fitted:
    order = np.random.default_rng(fold.seed).permutation(fold.train)
    train = draw_rows(data.y, size, order, task == "classification")
    return measure(data, task, clone(model), train, fold.test)
