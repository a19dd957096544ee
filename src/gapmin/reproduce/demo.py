"""The demonstration as plain results: boosters on embedded problems, the gap of each source, tasks trained together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import call
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from gapmin._utils.parallel import run_parallel
from gapmin.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.datasets import (
    TransferProblem,
    embedded_problems,
    load_digits_transfer,
    load_thirds,
    make_friedman_transfer,
)
from gapmin.gap import gap_test
from gapmin.reporting.results import Cell
from gapmin.reproduce.demo_multitask import MultitaskPlan, train
from gapmin.reproduce.demo_page import BOTH, GAPBOOST, GAPBOOST_SOFT, TARGET_ONLY, Comparison, ProblemFacts, Trace
from gapmin.reproduce.demo_source_gaps import SourceGap
from gapmin.selection._gaps import gap_setting

CURVE_SIZES = (20, 50, 125, 320)
N_PERMUTATIONS = 99
TITLE = "gapmin: learning from other people's data"
PROTOCOL = (
    "Every method boosts 20 rounds. Base learners are the defaults: a logistic regression with a weighted loss "
    "(penalty 0.01) for classes, regression trees of depth 6 for numbers.",
    "gapBoost is as printed in the paper: weights, the hard vote, every row with the same weight to start. "
    "gapBoost soft starts with 80% of the weight on the target and votes with the learners' margins. "
    "Nothing is tuned by problem.",
    "Several sources are pooled into one, as in the paper's tables.",
    "The gap of a source is that of instance weighting with half of the weight on the target (penalty 0.01, eta 0.25), "
    "between the target's training rows of the first split and all rows of that source, features standardised on both "
    "together, numbers to predict by the target's training rows. Of three thirds, source 1 is the lower of the other "
    "two.",
    "Each split draws the target rows that train at random, in a classification again until every class is there; "
    "split and seed are the same for all methods, and the results the same for any number of processes.",
)


@dataclass(frozen=True)
class Method:
    """A booster and the name it goes by; `effort` is its learners per round, for the time left."""

    label: str
    estimator: Any
    effort: float = 1


CLASSIFIERS = (
    Method(TARGET_ONLY, AdaBoostClassifier(train_on="target"), 0.1),
    Method(BOTH, AdaBoostClassifier(train_on="both")),
    Method("TrAdaBoost", TrAdaBoostClassifier()),
    Method("TransferBoost", TransferBoostClassifier()),
    Method(GAPBOOST, GapBoostClassifier(), 2),
    Method(GAPBOOST_SOFT, GapBoostClassifier(target_share=0.8, vote="soft"), 2),
)
REGRESSORS = (
    Method(TARGET_ONLY, AdaBoostRegressor(train_on="target"), 0.1),
    Method(BOTH, AdaBoostRegressor(train_on="both")),
    Method("TrAdaBoost", TrAdaBoostRegressor()),
    Method(GAPBOOST, GapBoostRegressor(), 2),
)


@dataclass(frozen=True)
class _Task:
    """One fit to make; `n_target` is None by the problem's own protocol."""

    problem: TransferProblem
    method: Method
    split: int
    n_target: int | None = None

    @property
    def effort(self) -> float:
        n_classes = np.unique(self.problem.y_target).size if self.problem.task == "classification" else 2
        return self.method.effort * (2 * n_classes if n_classes > 2 else 1)


@dataclass(frozen=True)
class _GapTask:
    """One source of a problem whose gap to the target is to be measured."""

    problem: TransferProblem
    source: int
    n_permutations: int

    @property
    def n_classes(self) -> int:
        return np.unique(self.problem.y_target).size if self.problem.task == "classification" else 0

    @property
    def effort(self) -> float:
        # A boosting of two classes or numbers is one: that takes as long as ten gaps of so few rows.
        fits = 1 + self.n_permutations if self.n_classes <= 2 else self.n_classes
        rows = self.problem.sources[self.source - 1][1].size
        return 0.1 * fits * (0.1 + rows / 2000)


def demo_problems(quick: bool = False) -> list[TransferProblem]:
    """Return the problems of the demonstration; `quick` leaves out all that take long."""
    if not quick:
        return embedded_problems()
    return [
        load_digits_transfer("digits", binary=True),
        load_digits_transfer("mnist", binary=True),
        load_thirds("autompg")[0],
        make_friedman_transfer(),
    ]


def curve_problems(problems: Sequence[TransferProblem]) -> list[TransferProblem]:
    """Return those to be run with several numbers of target rows: of two classes, for ten take too long."""
    return [each for each in problems if each.task == "classification" and np.unique(each.y_target).size == 2]


def run_demo(
    problems: Sequence[TransferProblem],
    *,
    curve: Sequence[TransferProblem] = (),
    curve_sizes: Sequence[int] = CURVE_SIZES,
    gaps: Sequence[TransferProblem] = (),
    n_permutations: int = N_PERMUTATIONS,
    multitask: MultitaskPlan | None = None,
    n_splits: int = 5,
    n_jobs: int | None = -1,
    on_progress: Callable[[float, int], object] = lambda share, n_steps: None,
) -> Comparison:
    """Fit every method on every split of every problem, measure the gap of every source, train tasks together.

    Parameters
    ----------
    problems : sequence of TransferProblem
        With names of their own.
    curve : sequence of TransferProblem
        Classification problems to be run with several numbers of target rows.
    curve_sizes : sequence of int
        Those numbers.
    gaps : sequence of TransferProblem
        Problems whose sources are to be measured, each alone: those above before their sources were pooled.
    n_permutations : int, default=99
        How often the rows are dealt out again to see which gap chance makes.
    multitask : MultitaskPlan, optional
        Networks to train on tasks together; needs PyTorch.
    n_splits : int, default=5
    n_jobs : int, default=-1
        Processes; the result does not depend on it.
    on_progress : callable
        Told after each fit and each gap which share of the work is done, and how many there are of both.

    Returns
    -------
    Comparison
    """
    start = time.perf_counter()
    gap_tasks = [
        _GapTask(problem, source, n_permutations) for problem in gaps for source in range(1, len(problem.sources) + 1)
    ]
    steps: list[tuple[str, Callable[[Any], Any], Any]] = [("gaps", _measure, task) for task in gap_tasks]
    # Split by split, so that what is left looks like what is done.
    for split in range(n_splits):
        steps += [("multitask", train, step) for step in (multitask.steps(split) if multitask else ())]
        steps += [("cells", _run, _Task(problem, each, split)) for problem in problems for each in _methods(problem)]
        steps += [
            ("curve", _run, _Task(problem, method, split, size))
            for problem in curve
            for size in curve_sizes
            for method in _methods(problem)
        ]
    found: dict[str, list[Any]] = {"gaps": [], "multitask": [], "cells": [], "curve": []}
    done, whole = 0.0, sum(task.effort for _, _, task in steps)
    results = run_parallel(call, [(work, task) for _, work, task in steps], n_jobs, batch_size=1)
    for (part, _, task), result in zip(steps, results, strict=True):
        found[part].append(result)
        done += task.effort
        on_progress(done / whole, len(steps))
    return Comparison(
        cells=[cell for cell, _ in found["cells"]],
        curve=[cell for cell, _ in found["curve"]],
        traces=[trace for _, trace in found["cells"] if trace is not None],
        problems=[_facts(problem) for problem in problems],
        n_splits=n_splits,
        n_jobs=effective_n_jobs(n_jobs),
        seconds=time.perf_counter() - start,
        gaps=found["gaps"],
        multitask=multitask.comparison(found["multitask"]) if multitask else None,
    )


def _methods(problem: TransferProblem) -> tuple[Method, ...]:
    return CLASSIFIERS if problem.task == "classification" else REGRESSORS


def _run(task: _Task) -> tuple[Cell, Trace | None]:
    """Make one fit, on one thread wherever it runs, so that it is the same everywhere."""
    problem, method = task.problem, task.method
    with threadpool_limits(1):
        split = problem.split(task.split, task.n_target)
        booster = clone(method.estimator).set_params(random_state=task.split)
        start = time.perf_counter()
        booster.fit(split.X, split.y, sample_domain=split.sample_domain)
        seconds = time.perf_counter() - start
        predicted = booster.predict(split.X_test)
    error = problem.error(split.y_test, predicted)
    n_target = int((split.sample_domain < 0).sum())
    trace = None
    if method.label == GAPBOOST and problem.task == "classification" and task.split == 0 and task.n_target is None:
        trace = Trace(problem.name, method.label, booster.mass_history_, booster.domains_, booster.gap_history_)
    return Cell(problem.name, method.label, task.split, error, seconds, n_target), trace


def _measure(task: _GapTask) -> SourceGap:
    """Measure the gap between one source and the target's training rows of the first split, and test it."""
    problem = task.problem
    split = problem.split(0)
    used = (split.sample_domain < 0) | (split.sample_domain == task.source)
    y, sample_domain = split.y[used], split.sample_domain[used]
    with threadpool_limits(1):
        model, X, targets = gap_setting(split.X[used], y, sample_domain, problem.task)
        gaps = [clone(model).fit(X, each, sample_domain=sample_domain).gap_ for each in targets]
        parts = {part: float(np.mean([gap.parts[part] for gap in gaps])) for part in ("source", "target")}
        found = SourceGap(problem.name, problem.task, task.source, len(problem.sources), parts, task.n_classes)
        if len(targets) > 1:
            return found
        tested = gap_test(
            model, X, targets[0], sample_domain=sample_domain, n_permutations=task.n_permutations, random_state=0
        )
    return replace(found, by_chance=float(np.median(tested.null)), p_value=tested.p_value)


def _facts(problem: TransferProblem) -> ProblemFacts:
    split = problem.split(0)
    return ProblemFacts(
        problem.name,
        problem.task,
        problem.description,
        n_train=int((split.sample_domain < 0).sum()),
        n_test=split.y_test.size,
        source_sizes=tuple(y.size for _, y in problem.sources),
        n_features=problem.X_target.shape[1],
    )


__all__ = ["CLASSIFIERS", "REGRESSORS", "Method", "curve_problems", "demo_problems", "run_demo"]
