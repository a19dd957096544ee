"""The whole comparison: one answer about a study's sources, and how well the model that it leads to does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.parallel import run_parallel
from gapmin._utils.text import replace_unprintable
from gapmin.transfer.importance import rank_columns

from ._labels import FEWEST_TARGET_ROWS
from ._messages import TableError, free_name
from .answer import MAX_SEARCH_ROWS, gather, is_of_one_class, named, prepared, search_notes, transfer_model
from .curve import LabelSaving, curve_sizes, labels_needed
from .drift import measure_drift
from .findings import source_findings
from .methods import MODEL, TARGET_ONLY
from .metrics import (
    StudyMetric,
    class_scores,
    mean_details,
    read_metric,
    score,
    score_methods,
    score_warnings,
    scoring_of,
    value_scores,
)
from .nested import MOST_SHUFFLED, HeldOut, NestedData, from_evidence, joined, run_fold
from .result import NESTED, SHARED_ROWS, LearningCurve, StudyComparison
from .splits import OuterFold, RowDivision, outer_folds
from .study import Study
from .words import summarise

if TYPE_CHECKING:
    import pandas as pd

QUICK = (
    "Scores come from the cross-validation that also weighs the sources, not from a nested one: they may be a little "
    "too good.",
    "No learning curve, and no importance of columns.",
)
"""What a quick comparison leaves out."""

_COST_OF_FOLD = 1.5
"""Seconds of a nested fold beside those of the answer, with the curve and the importance of columns."""


def compare_study(
    study: Study,
    *,
    scoring: str | None = None,
    division: RowDivision | None = None,
    quick: bool = False,
    time_limit: float | None = None,
    n_splits: int = 5,
    n_jobs: int | None = None,
    random_state: int = 0,
    on_progress: Callable[[float, str], object] = lambda share, stage: None,
) -> StudyComparison:
    """Find out whether a study's sources help its target, which, and by how much.

    The answer is the evidence that `gapmin fit` finds too, with the same rows and seed. Its scores come from nested
    cross-validation: all that `gapmin fit` does is done anew without the rows of a fold, which are then predicted.

    Parameters
    ----------
    study : Study
        From `gapmin.study.read_study`.
    scoring : str or None, default=None
        What is reported, such as "roc_auc" or "mean_absolute_error", and by what settings within a kind of learner
        are chosen, as `Transfer*CV` does; None takes the error rate or the root mean squared error.
    division : RowDivision or None, default=None
        Groups of rows that stay together, or the time of the target's rows; from `gapmin.study.read_division`.
    quick : bool, default=False
        Without nested cross-validation, learning curve and importance of columns. The verdicts are the same.
    time_limit : float or None, default=None
        Seconds. Where the nested cross-validation would take longer, the comparison is a quick one, and says so.
    n_splits : int, default=5
        Folds of the target's rows in the nested cross-validation.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, default=0
        Seed.
    on_progress : callable
        Given the share of the work that is done and what is being done.

    Returns
    -------
    StudyComparison
        The verdicts, the scores and the notes.
    """
    start = time.perf_counter()
    check_study(study)
    asked = read_metric(scoring, study.schema.task)
    if n_splits < 2:
        raise ValueError(f"n_splits is {n_splits}: use an integer of at least 2")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit}: give seconds above 0, or None")
    division = division or RowDivision()
    names = _distinct(map(replace_unprintable, study.sources))
    target_name = free_name(replace_unprintable(study.target_name), names)
    report = _Progress(on_progress)
    report(0.0, "preparing columns")
    rows = _stacked(study, division)
    _, X = prepared(study.schema, rows.frame, rows.domain < 0, random_state)
    model = transfer_model(
        study.schema.task,
        random_state,
        scoring=scoring_of(asked, rows.y[rows.domain < 0]),
        cv=division.inner_cv(),
        time_limit=time_limit,
        n_jobs=n_jobs,
    )
    part = 0.95 if quick else 0.15
    found = gather(
        model,
        (X, rows.y, rows.domain),
        rows.groups,
        lambda share: report(part * share, "weighing the sources on held-out target rows"),
    )
    evidence = named(found.evidence, names, source_findings(study, random_state))
    classes = study.schema.classes or ()
    codes = _codes(rows.y, classes)
    n_splits = min(n_splits, len(study.target[1]) // 2)
    took = time.perf_counter() - start
    simplified = list(QUICK) if quick else []
    if time_limit is not None and not quick and took * (1 + _COST_OF_FOLD * n_splits) > time_limit:
        simplified = [f"The time limit of {time_limit:g} s leaves no time for more.", *QUICK]
    held_out = from_evidence(model, found, classes)
    if not simplified:
        data, folds = _nested(
            study, rows, codes, division, asked, n_splits, random_state, with_curve=bool(evidence.used)
        )
        nested, failure = _run_folds(
            data,
            folds,
            n_jobs,
            lambda share, n_done: report(
                part + (0.95 - part) * share, f"{_STAGE}, {n_done} of {len(folds)} folds done"
            ),
        )
        held_out = nested or held_out
        if nested is None:
            simplified = [f"A fold could not be fitted ({replace_unprintable(failure)}).", *QUICK]
    report(0.95, "comparing columns")
    y = codes[held_out.rows]
    drift = measure_drift(study, target_name, names, random_state)
    curve, saving = (None, None) if simplified else _curve(held_out, y, asked, data, len(classes))
    scores = score_methods(
        asked, {key: each for (key, size), each in held_out.predicted.items() if size == 0}, y, len(classes)
    )
    of_model = held_out.predicted[MODEL, 0]
    details = mean_details(
        [
            class_scores(each, y, classes) if classes else value_scores(each, y, random_state)
            for each in (of_model if simplified else of_model[None])
        ]
    )
    notes = [*map(replace_unprintable, study.notes), *search_notes(study, random_state)]
    notes += [said for said in evidence.findings if not is_of_one_class(said)]
    report(1.0, "done")
    return StudyComparison(
        summary=summarise(evidence, asked, scores, details),
        warnings=tuple(score_warnings(details, scores, asked)),
        target_name=target_name,
        label=replace_unprintable(study.schema.label),
        task=study.schema.task,
        n_target=len(study.target[1]),
        n_columns=len(study.schema.columns),
        n_features=X.shape[1],
        source_sizes=dict(zip(names, (len(y) for _, y in study.sources.values()), strict=True)),
        evidence=evidence,
        protocol=SHARED_ROWS if simplified else NESTED,
        simplified=tuple(simplified),
        metric=asked,
        scores=scores,
        details=details,
        importance=() if held_out.rise is None else rank_columns(data.columns, held_out.rise),
        curve=curve,
        saving=saving,
        drift=drift,
        notes=tuple(notes),
        n_splits=n_splits,
        random_state=random_state,
        seconds=time.perf_counter() - start,
    )


_STAGE = "nested cross-validation"


class _Progress:
    """Passes progress on, and lets it only rise."""

    def __init__(self, on_progress: Callable[[float, str], object]) -> None:
        self.on_progress = on_progress
        self.reported = 0.0

    def __call__(self, share: float, stage: str) -> None:
        self.reported = max(self.reported, min(share, 1.0))
        self.on_progress(self.reported, stage)


class _StackedTables:
    """The rows of a study in the order in which they are divided."""

    def __init__(self, frame: pd.DataFrame, y: NDArray[Any], domain: NDArray[np.int64], groups: Any) -> None:
        self.frame, self.y, self.domain, self.groups = frame, y, domain, groups


def _stacked(study: Study, division: RowDivision) -> _StackedTables:
    frame, y, domain = study.stack()
    if division.time is not None:
        order = division.order(len(y))
        frame, y = frame.iloc[order], y[order]
    return _StackedTables(frame, y, domain, division.sorted_groups(len(y)))


def _codes(y: NDArray[Any], classes: tuple[Any, ...]) -> NDArray[Any]:
    if not classes:
        return y
    place = {each: k for k, each in enumerate(classes)}
    return np.array([place[each] for each in y.tolist()])


def _nested(
    study: Study,
    rows: _StackedTables,
    codes: NDArray[Any],
    division: RowDivision,
    metric: StudyMetric,
    n_splits: int,
    seed: int,
    *,
    with_curve: bool,
) -> tuple[NestedData, list[OuterFold]]:
    """Return what the folds need: all target rows, and as many source rows as the evidence uses."""
    schema = study.schema
    folds = outer_folds(
        rows.frame, codes, rows.domain, division, n_splits, seed, classes=schema.task == "classification"
    )
    sources = np.flatnonzero(rows.domain > 0)
    if sources.size > MAX_SEARCH_ROWS:
        kept = np.random.default_rng(seed).choice(sources, MAX_SEARCH_ROWS, replace=False)
        folds = [OuterFold(f.train[(rows.domain[f.train] < 0) | np.isin(f.train, kept)], f.test) for f in folds]
    n_train = min(int((rows.domain[each.train] < 0).sum()) for each in folds)
    # By time each fold trains on another number of rows; and where no source is used there is no saving to read off.
    sizes = curve_sizes(n_train) if division.time is None and with_curve else ()
    columns = tuple(column.name for column in schema.columns)[:MOST_SHUFFLED]
    data = NestedData(
        rows.frame, codes, rows.domain, rows.groups, schema, division.inner_cv(), sizes, columns, metric, seed
    )
    return data, folds


def _run_folds(
    data: NestedData, folds: list[OuterFold], n_jobs: int | None, on_done: Callable[[float, int], object]
) -> tuple[HeldOut | None, str]:
    on_done(0.0, 0)
    parts: list[HeldOut] = []
    for each in run_parallel(run_fold, [(data, fold) for fold in folds], n_jobs, batch_size=1):
        parts.append(each)
        on_done(len(parts) / len(folds), len(parts))
    failures = [each.failure for each in parts if each.failure]
    return (None, failures[0]) if failures else (joined(parts), "")


def _curve(
    held_out: HeldOut, y: NDArray[Any], metric: StudyMetric, data: NestedData, n_classes: int
) -> tuple[LearningCurve | None, LabelSaving | None]:
    """Return the scores by the number of target rows; its end is what the table of scores says."""
    if len(data.sizes) < 2:
        return None, None
    scores: dict[str, list[Any]] = {TARGET_ONLY: [], MODEL: []}
    for size in (*data.sizes[:-1], 0):
        found = score(metric, {method: held_out.predicted[method, size] for method in scores}, y, n_classes)
        for method, entries in scores.items():
            entries.append(found[method])
    curve = LearningCurve(data.sizes, {method: tuple(each) for method, each in scores.items()})
    alone, ours = ([metric.loss(each.value) for each in scores[method]] for method in (TARGET_ONLY, MODEL))
    return curve, labels_needed(data.sizes, alone, ours[-1], data.sizes[-1])


def check_study(study: Study) -> None:
    """Raise a `TableError` where a target has too few rows to say anything.

    Parameters
    ----------
    study : Study
        The tables as they were read.
    """
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
    """Return names that are all different, and different from that of the target.

    Examples
    --------
    >>> _distinct(["a", "target", "a", "a"])
    ('a', 'target (2)', 'a (2)', 'a (3)')
    """
    found = ["target"]
    for name in names:
        found.append(free_name(name, found))
    return tuple(found[1:])
