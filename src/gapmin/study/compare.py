"""The whole comparison: evidence, methods, learning curve and weights of a study's sources."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.errors import error_of
from gapmin._utils.parallel import one_thread
from gapmin._utils.text import replace_unprintable
from gapmin.base import DomainData
from gapmin.linear.source_gap import measure_gap
from gapmin.transfer import Evidence
from gapmin.transfer.collect import Collected, fit_hypothesis

from ._labels import FEWEST_TARGET_ROWS
from ._messages import TableError, free_name
from .answer import collect, column_names, named, prepared, search_notes
from .curve import curve_sizes, draw_rows, labels_needed
from .folds import Fitted, Fold, WorkItem, draw_folds, measure, run
from .method_comparison import compare_methods, fit_once
from .methods import GAPBOOST, OURS, POOLED, TARGET_ONLY, make_method, method_names
from .result import LabelSaving, LearningCurve, StudyComparison
from .study import Study
from .words import headline

_EFFORT = {OURS: 10.0, GAPBOOST: 2.0, TARGET_ONLY: 3.0}
_EFFORT_OF_THE_ANSWER = 15.0


def compare_study(
    study: Study,
    *,
    n_splits: int = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: int = 0,
    on_progress: Callable[[float, int], object] = lambda share, n_steps: None,
) -> StudyComparison:
    """Find out whether a study's sources help its target, which, and by how much.

    The answer is the evidence that `gapmin fit` finds too, with the same rows and seed. Methods are compared by nested
    cross-validation: a fold's rows neither train nor choose a model that is tested on them. The models of the learning
    curve were chosen once, on all rows, and are trained anew at each size.

    Parameters
    ----------
    study : Study
        From `gapmin.study.read_study`.
    n_splits : int, default=5
        Folds of the target's rows in the comparison of methods.
    n_repeats : int, default=1
        How often these folds are drawn.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, default=0
    on_progress : callable
        Given the share of the work that is done and the number of steps.

    Returns
    -------
    StudyComparison
    """
    start = time.perf_counter()
    check_study(study)
    if n_splits < 2:
        raise ValueError(f"n_splits is {n_splits}: use an integer of at least 2")
    task, names = study.schema.task, _distinct(map(replace_unprintable, study.sources))
    n_target = len(study.target[1])
    n_splits = min(n_splits, n_target // 2)  # two rows at least in each fold
    methods = method_names(task)
    sizes = curve_sizes(n_target - -(-n_target // n_splits))
    n_curve = 3 * len(sizes) * n_splits
    efforts = [_EFFORT.get(method, 1.0) for method in methods for _ in range(n_splits * n_repeats)]
    whole = _EFFORT_OF_THE_ANSWER + 2.0 + sum(efforts) + 0.3 * n_curve
    n_steps, done, reported = len(efforts) + n_curve + 3, 0.0, 0.0

    def report(share: float) -> None:
        nonlocal reported
        reported = max(reported, min(share, 1.0))
        on_progress(reported, n_steps)

    def on_done(effort: float) -> None:
        nonlocal done
        done += effort
        report(done / whole)

    report(0.0)
    frame, y, domain = study.stack()
    prepare, X = prepared(study.schema, frame, domain < 0, random_state)
    del frame
    collected = collect(
        task,
        (X, y, domain),
        random_state,
        n_jobs,
        lambda share: report(share * _EFFORT_OF_THE_ANSWER / whole),
    )
    on_done(_EFFORT_OF_THE_ANSWER)
    evidence = named(collected.evidence, names, column_names(prepare))
    searched = collected.evaluator.data  # all target rows, and at most so many of the sources
    data = DomainData(np.asarray(searched.X), np.asarray(searched.y), searched.domain, np.ones(searched.y.size))
    folds = draw_folds(data, task, n_splits, n_repeats, random_state)
    pairs = [(method, fold) for method in sorted(methods, key=lambda each: -_EFFORT.get(each, 1)) for fold in folds]
    items = [WorkItem(_mass, (data, task, random_state)), WorkItem(_gaps, (data, task, names))]
    items += [WorkItem(fit_once, (data, task, method, fold), _EFFORT.get(method, 1.0)) for method, fold in pairs]
    mass, gaps, *fits = run(items, n_jobs, on_done)
    compared, failures = compare_methods(methods, pairs, fits, n_target, task)
    curve = _curve(data, task, collected, evidence, folds[:n_splits], sizes, n_jobs, on_done)
    report(1.0)
    saving, at_start = (
        labels_needed(sizes, curve.means(TARGET_ONLY), curve.means(OURS)[place], sizes[place])
        if OURS in curve.errors
        else LabelSaving(sizes[place], sizes[place], "none")
        for place in (-1, 0)
    )
    notes = [*map(replace_unprintable, study.notes), *search_notes(study, random_state), *evidence.findings, *failures]
    return StudyComparison(
        headline=headline(evidence, compared),
        target_name=replace_unprintable(study.target_name),
        label=replace_unprintable(study.schema.label),
        task=task,
        n_target=n_target,
        n_columns=len(study.schema.columns),
        n_features=X.shape[1],
        source_sizes={name: int((domain == k).sum()) for k, name in enumerate(names, start=1)},
        evidence=evidence,
        methods=compared,
        gaps=gaps,
        curve=curve,
        saving=saving,
        saving_at_start=at_start,
        mass=mass,
        notes=tuple(notes),
        n_splits=n_splits,
        n_repeats=n_repeats,
        random_state=random_state,
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


def _gaps(data: DomainData, task: str, names: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Return the parts of the performance gap of each source."""
    found = {}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name in enumerate(names, start=1):
            rows = data.in_target | (data.domain == number)
            found[name] = measure_gap(data.X[rows], data.y[rows], data.domain[rows], task)
    return found


def _mass(data: DomainData, task: str, seed: int) -> tuple[tuple[float, ...], ...]:
    """Return the weight that the target and each source hold by round of gapBoost."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster = make_method(GAPBOOST, task, seed)
        booster.fit(data.X, data.y, sample_domain=data.domain)
    order = [int(np.flatnonzero(booster.domains_ < 0)[0])]
    order += [int(np.flatnonzero(booster.domains_ == number)[0]) for number in data.source_numbers]
    return tuple(tuple(map(float, each)) for each in booster.mass_history_[:, order])


def _curve(
    data: DomainData,
    task: str,
    collected: Collected,
    evidence: Evidence,
    folds: list[Fold],
    sizes: tuple[int, ...],
    n_jobs: int | None,
    on_done: Callable[[float], object],
) -> LearningCurve:
    """Return the errors of the models of the target alone, of the heaviest set of sources, and of pooling.

    Sources that are to be left out are in none of them.
    """
    out = {each.number for each in evidence.sources if each.verdict == "leave out"}
    kept = tuple(sorted({each.number for each in evidence.sources} - out))
    with_sources = [each for each in evidence.hypotheses if each.sources and not out & set(each.sources)]
    works: dict[str, tuple[Any, ...]] = {TARGET_ONLY: (_fit_set, (collected.evaluated[()],))}
    if evidence.used and with_sources:
        heaviest = max(with_sources, key=lambda each: each.weight).sources
        works[OURS] = (_fit_set, (collected.evaluated[heaviest],))
    if kept:
        works[POOLED] = (_fit_pooled, (kept,))
    searched, seed = collected.evaluator.data, collected.evaluator.seed
    keys = [(method, size, place) for method in works for size in sizes for place in range(len(folds))]
    items = []
    for method, size, place in keys:
        work, chosen = works[method]
        train, test = _drawn(data, task, folds[place], size), folds[place].test
        items.append(WorkItem(work, (searched if work is _fit_set else data, task, *chosen, train, test, seed), 0.3))
    errors = {key: fitted.error for key, fitted in zip(keys, run(items, n_jobs, on_done), strict=True)}
    # A fold on which a method could not be trained on so few rows is left out for all.
    whole = [
        place
        for place in range(len(folds))
        if all(np.isfinite(errors[method, size, place]) for method in works for size in sizes)
    ]
    return LearningCurve(
        sizes,
        {method: tuple(tuple(errors[method, size, place] for place in whole) for size in sizes) for method in works},
    )


def _drawn(data: DomainData, task: str, fold: Fold, size: int) -> NDArray[np.intp]:
    order = np.random.default_rng(fold.seed).permutation(fold.train)
    return draw_rows(data.y, size, order, task == "classification")


def _fit_pooled(
    data: DomainData, task: str, sources: tuple[int, ...], train: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> Fitted:
    return measure(data, task, make_method(POOLED, task, seed), train, test, sources)


def _fit_set(
    data: Any, task: str, evaluated: Any, train: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> Fitted:
    """Fit the models that a set of sources was given to some target rows, and return the error on others."""
    rows = np.sort(np.concatenate([train, np.flatnonzero(np.isin(data.domain, evaluated.sources))]))
    try:
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = fit_hypothesis(data.take(rows), evaluated, seed)
            predicted = np.mean([model.predict(data.X[test]) for model in models], axis=0)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        return Fitted(np.nan, str(error).split("\n")[0])
    return Fitted(error_of(task, data.y[test], predicted.argmax(axis=1) if task == "classification" else predicted))
