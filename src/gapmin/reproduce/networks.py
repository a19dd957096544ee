"""Multitask problems and networks by name: what Tables 4 to 8, Figures 4 and 5 and the demo are made of."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from gapmin.datasets import (
    MultitaskProblem,
    frozen_features,
    load_digits_multitask,
    load_office31,
    load_office_home,
    load_pacs_features,
)
from gapmin.deep import (
    AMTNN,
    MLP,
    AdvH,
    AdvW,
    Callback,
    GapMTNN,
    MultiObjective,
    MultitaskClassifier,
    Objective,
    Uniform,
    Weighted,
    pretrained,
)

from .cells import Cell, Measured
from .names import ABLATIONS, EMBEDDED_DIGITS, EXTRACTOR, FEWER_DIGITS, NETWORK_METHODS, PRINTED, WASSERSTEIN

NETWORK_OBJECTIVES: dict[str, Callable[..., Objective]] = {
    **dict(zip(NETWORK_METHODS, (Uniform, Weighted, AdvH, AdvW, MultiObjective, AMTNN, GapMTNN), strict=True)),
    **{name: partial(GapMTNN.ablation, name) for name in ABLATIONS},
    PRINTED: GapMTNN.printed,
    EXTRACTOR: partial(GapMTNN, relation_cost="excess", centroid_space="extractor"),
    WASSERSTEIN: partial(GapMTNN, relation_cost="excess", marginal="wasserstein"),
}


class Setup(NamedTuple):
    """A multitask problem with the network that goes with it."""

    problem: MultitaskProblem
    extractor: Any
    batch_size: int


@cache
def setup(name: str) -> Setup:
    """Return a multitask problem by name; images other than digits as features of a frozen network."""
    if name == "Digits with USPS":
        return Setup(load_digits_multitask("published"), "lenet", 64)
    if name == "Digits":
        return Setup(load_digits_multitask("paper"), "lenet", 64)
    if name == "PACS":
        return _on_features(load_pacs_features(), 64)
    if name == "Office-31":
        return _on_features(frozen_features(load_office31()), 16)
    if name == "Office-Home":
        return _on_features(frozen_features(load_office_home()), 24)
    if name in (EMBEDDED_DIGITS, FEWER_DIGITS):
        # To predict all other rows of a task takes longer than to train on a few.
        step = 4 if name == FEWER_DIGITS else 1
        problem = load_digits_multitask()
        tasks = {task: (X[::step], y[::step]) for task, (X, y) in problem.tasks.items()}
        return Setup(replace(problem, tasks=tasks), "lenet", 32)
    raise ValueError(f"there is no multitask problem {name!r}")


def check_weights(name: str) -> None:
    """Raise a `FileNotFoundError` that says what to do where published weights that a problem needs cannot be had."""
    if name.startswith("Office"):
        pretrained("resnet18")


def prepare(name: str) -> None:
    """Compute what takes long and is kept in the user's cache, once for all workers: the features of images."""
    if not name.startswith("Digits"):
        setup(name)


def _on_features(problem: MultitaskProblem, batch_size: int) -> Setup:
    X, _ = next(iter(problem.tasks.values()))
    return Setup(problem, MLP(X.shape[1], (512,)), batch_size)


def classifier(cell: Cell, **options: Any) -> MultitaskClassifier:
    """Make the unfitted network of a cell."""
    _, extractor, batch_size = setup(cell.problem)
    if "lr" in cell.values:
        options["lr"] = cell.values["lr"]
    return MultitaskClassifier(
        NETWORK_OBJECTIVES[cell.method](),
        extractor=extractor,
        batch_size=batch_size,
        device="cpu",
        random_state=cell.random_state,
        **options,
    )


def measure(cell: Cell) -> Measured:
    """Train a network on one draw of rows; the error is the mean over tasks."""
    train_size: Any = cell.values["train"]
    split = setup(cell.problem).problem.split(cell.split, train_size, random_state=cell.seed)
    clf = classifier(cell, epochs=cell.values["epochs"])
    clf.fit(split.X, split.y, sample_task=split.sample_task)
    wrong = clf.predict(split.X_test, sample_task=split.sample_task_test) != split.y_test
    tasks = setup(cell.problem).problem.tasks
    rows = {
        str(task): (int((split.sample_task == task).sum()), int((split.sample_task_test == task).sum()))
        for task in tasks
    }
    errors = {str(task): 100 * float(wrong[split.sample_task_test == task].mean()) for task in tasks}
    extra: dict[str, Any] = {"rows": rows}
    if hasattr(clf, "relation_"):
        place = np.searchsorted(clf.tasks_, list(errors))  # the network sorts the tasks
        extra["relation"] = clf.relation_[np.ix_(place, place)].tolist()
    return Measured(float(np.mean(list(errors.values()))), errors, len(split.y), len(split.y_test), extra)


class _Clock(Callback):
    """Processor seconds of each epoch."""

    def begin(self, trainer: Any) -> None:
        self.seconds: list[float] = []
        self._start = time.process_time()

    def epoch(self, trainer: Any, record: dict[str, Any]) -> None:
        now = time.process_time()
        self.seconds.append(now - self._start)
        self._start = now


def measure_epoch(cell: Cell) -> Measured:
    """Time one epoch of every method, one after the other on the same rows, so that ratios are of one run.

    Parts are processor seconds of the second epoch: the first also pays for what is allocated once. The error is that
    of gapMTNN as a multiple of Uniform's.
    """
    train_size: Any = cell.values["train"]
    split = setup(cell.problem).problem.split(cell.split, train_size, random_state=cell.seed)
    seconds = {}
    for name in NETWORK_METHODS:
        one = Cell(cell.kind, cell.problem, name, cell.setting, cell.split, cell.seed)
        clf = classifier(one, epochs=2, callbacks=[_Clock()])
        clf.fit(split.X, split.y, sample_task=split.sample_task)
        seconds[name] = clf.callbacks_[0].seconds[-1]
    return Measured(seconds["gapMTNN"] / seconds["Uniform"], seconds, len(split.y))
