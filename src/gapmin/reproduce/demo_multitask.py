"""The multitask part of the demonstration: gapMTNN and Uniform on three digit tasks. PyTorch is imported where used."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapmin._utils.parallel import one_thread
from gapmin.datasets import MultitaskProblem, load_digits_multitask
from gapmin.reproduce.demo_multitask_page import GAPMTNN, UNIFORM, MultitaskComparison, MultitaskFit

LEFT_OUT = 'multitask part left out: pip install "gapmin[deep]"'
LR = 1e-3
BATCH_SIZE = 32
METHODS = (UNIFORM, GAPMTNN)


@dataclass(frozen=True)
class MultitaskPlan:
    """What is to be trained, and for how long.

    Attributes
    ----------
    problem : MultitaskProblem
    train_size : int
        Rows of each task that train.
    epochs : int
    """

    problem: MultitaskProblem
    train_size: int
    epochs: int

    def steps(self, split: int) -> list[MultitaskStep]:
        """Return the fits of one split."""
        return [MultitaskStep(self, method, split) for method in METHODS]

    def comparison(self, fits: Sequence[MultitaskFit]) -> MultitaskComparison:
        """Put the fits together with what a reader must know of the problem."""
        split = self.problem.split(0, self.train_size)
        return MultitaskComparison(
            fits=list(fits),
            description=self.problem.description,
            n_train=self.train_size,
            n_test={task: int((split.sample_task_test == task).sum()) for task in self.problem.tasks},
        )

    @property
    def protocol(self) -> str:
        """How the networks are trained, in words."""
        from gapmin.deep import GapMTNNClassifier

        default = GapMTNNClassifier()
        return (
            f"Tasks trained together: LeNet with a head for each task, {self.epochs} epochs in batches of up to "
            f"{BATCH_SIZE} rows of each task at a learning rate of {LR:g}, where the defaults are {default.epochs}, "
            f"{default.batch_size} and {default.lr:g}; all else is the default, for both methods. Each split draws the "
            "rows of every task that train at random; split and seed are the same for both."
        )


@dataclass(frozen=True)
class MultitaskStep:
    """One network to train."""

    plan: MultitaskPlan
    method: str
    split: int

    @property
    def effort(self) -> float:
        """How long it takes, in boostings of two classes or numbers: 0.08 s each."""
        tasks = self.plan.problem.tasks
        n_train = self.plan.train_size * len(tasks)
        n_test = sum(y.size for _, y in tasks.values()) - n_train
        return 0.013 * n_train * self.plan.epochs + 0.005 * n_test


def multitask_plan(quick: bool = False) -> MultitaskPlan | None:
    """Return the plan of the demonstration, or None where PyTorch is missing; `quick` trains very little."""
    try:
        importlib.import_module("gapmin.deep")
    except ImportError:
        return None
    problem = load_digits_multitask()
    if not quick:
        return MultitaskPlan(problem, 300, epochs=6)
    # To predict the thousands of other rows would take longer than to train on so few.
    some = {task: (X[::4], y[::4]) for task, (X, y) in problem.tasks.items()}
    fewer = replace(problem, tasks=some, description=f"every fourth row of {problem.description}")
    return MultitaskPlan(fewer, 100, epochs=5)


def train(step: MultitaskStep) -> MultitaskFit:
    """Train one network, on one thread wherever it runs, so that it is the same everywhere."""
    from gapmin.deep import GapMTNNClassifier, MultitaskClassifier

    plan = step.plan
    split = plan.problem.split(step.split, plan.train_size)
    network: Any = GapMTNNClassifier() if step.method == GAPMTNN else MultitaskClassifier("uniform")
    network.set_params(epochs=plan.epochs, lr=LR, batch_size=BATCH_SIZE, device="cpu", random_state=step.split)
    with one_thread():
        start = time.perf_counter()
        network.fit(split.X, split.y, sample_task=split.sample_task)
        seconds = time.perf_counter() - start
        wrong = network.predict(split.X_test, sample_task=split.sample_task_test) != split.y_test
    names = list(plan.problem.tasks)
    place = np.searchsorted(network.tasks_, names)  # the network sorts the tasks
    relations = None
    if step.method == GAPMTNN:
        relations = np.array([record["relation"] for record in network.history_])[:, place][:, :, place]
    return MultitaskFit(
        step.method,
        step.split,
        errors={task: 100 * float(wrong[split.sample_task_test == task].mean()) for task in names},
        losses=np.array([[record["task_loss"][task] for task in names] for record in network.history_]),
        relations=relations,
        seconds=seconds,
    )


__all__ = ["LEFT_OUT", "MultitaskPlan", "MultitaskStep", "multitask_plan", "train"]
