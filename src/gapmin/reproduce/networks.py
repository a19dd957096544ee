"""Multitask problems and networks by name: what Tables 4 to 8, Figures 4 and 5 and the demo are made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from gapmin.datasets import (
    MultitaskProblem,
    MultitaskSplit,
    frozen_features,
    load_digits_multitask,
    load_office31,
    load_office_home,
    load_pacs,
    load_pacs_features,
    load_resnet50_features,
)
from gapmin.datasets.catalogue import data_set, search_folders
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
from gapmin.deep.images import IMAGENET_MEAN, IMAGENET_STD

from .cells import Cell, Measured
from .experiment import PAPER, SMALL
from .names import (
    ABLATIONS,
    DEFAULT,
    EXTRACTOR,
    NETWORK_COLUMNS,
    NETWORK_METHODS,
    PRINTED,
    PRINTED_ABLATIONS,
    PRINTED_CRITICS,
    TWO_AND_A_STRANGER,
)

PACS_SIZE = 222
"""Pixels of a side in the paper's protocol: what the commands of the cited work (Carlucci et al. 2019) ask for."""
OFFICE_SIZE = 224
VALIDATION_SHARE = 0.1
"""Of the rows of each task, where no validation part is published."""
PREDICTED_AT_ONCE = 500


def printed_ablation(name: str) -> GapMTNN:
    """Return an ablation of the printed objective: what `GapMTNN.ablation` changes in ours is changed in that."""
    ours, default = GapMTNN.ablation(name), GapMTNN()
    off: dict[str, Any] = {each: 0.0 for each in ("lambda_semantic", "lambda_marginal") if getattr(ours, each) == 0}
    relation: dict[str, Any] = {
        each: getattr(ours, each)
        for each in ("learn_relation", "initial_relation")
        if getattr(ours, each) != getattr(default, each)
    }
    return GapMTNN.printed(**off, **relation)


NETWORK_OBJECTIVES: dict[str, Callable[..., Objective]] = {
    **dict(zip(NETWORK_METHODS, (Uniform, Weighted, AdvH, AdvW, MultiObjective, AMTNN, GapMTNN), strict=True)),
    DEFAULT: GapMTNN,
    **{name: partial(GapMTNN.ablation, name) for name in ABLATIONS},
    PRINTED: GapMTNN.printed,
    **{ours: partial(printed_ablation, name) for name, ours in PRINTED_ABLATIONS.items()},
    PRINTED_CRITICS: partial(GapMTNN.printed, marginal="wasserstein"),
    EXTRACTOR: partial(GapMTNN, relation_cost="excess", centroid_space="extractor"),
}


class Setup(NamedTuple):
    """A multitask problem with the network that goes with it.

    Attributes
    ----------
    problem : MultitaskProblem
    extractor : str or callable
        The name of a network, or what makes one: its first weights are then those that PyTorch's seed gives.
    batch_size : int
    validation : mapping of str to (X, y), optional
        Rows of each task that neither train nor test. None where tests have rows of their own: what a draw leaves of
        those to train from is then free.
    """

    problem: MultitaskProblem
    extractor: str | Callable[[], nn.Module]
    batch_size: int
    validation: Mapping[str, Any] | None = None


class Pixels(nn.Module):
    """Bytes to what networks with ImageNet's weights were trained on."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", 255 * torch.tensor(IMAGENET_MEAN).view(1, 3, 1, 1))
        self.register_buffer("std", 255 * torch.tensor(IMAGENET_STD).view(1, 3, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return images of about zero mean and unit variance."""
        return (x - self.mean) / self.std


@cache
def setup(name: str, protocol: str = SMALL) -> Setup:
    """Return a multitask problem by name; images other than digits as features of a frozen network, or as they are."""
    if protocol == PAPER and name in _WHOLE_SETUPS:
        return _WHOLE_SETUPS[name]()
    if name == "Digits with USPS":
        return Setup(load_digits_multitask("published"), "lenet", 64)
    if name == "Digits":
        return Setup(load_digits_multitask("paper"), "lenet", 64)
    if name == "PACS":
        return _on_features(load_pacs_features(), 64)
    if name == "PACS, ResNet-50":
        return _on_features(load_resnet50_features("pacs"), 64)
    if name == "Office-31, ten classes":
        return _on_features(load_resnet50_features("office"), 16)
    if name == "Office-Home":
        return _on_features(frozen_features(load_office_home()), 24)
    if name == TWO_AND_A_STRANGER:
        return Setup(_two_and_a_stranger(load_digits_multitask()), "lenet", 32)
    raise ValueError(f"there is no multitask problem {name!r}")


def _two_and_a_stranger(problem: MultitaskProblem) -> MultitaskProblem:
    """Return MNIST in two halves, and the UCI digits with each called by the name of the next: there a 3 is a 4."""
    X, y = problem.tasks["mnist"]
    others, labels = problem.tasks["digits"]
    tasks = {"first": (X[::2], y[::2]), "second": (X[1::2], y[1::2]), "stranger": (others, (labels + 1) % 10)}
    return replace(problem, name=TWO_AND_A_STRANGER, tasks=tasks)


def check(name: str, protocol: str = SMALL) -> None:
    """Raise a `FileNotFoundError` that says what to do where images or weights that a problem needs cannot be had."""
    if protocol == PAPER and name == "PACS":
        archive = data_set("pacs").files[0]
        if not any((folder / path).is_dir() for folder in search_folders() for path in archive.instead):
            raise FileNotFoundError(
                f"the paper's protocol needs the published images of PACS, of 227 x 227 pixels, and {archive.path} has "
                f"128 x 128: unpack them to {' or '.join(archive.instead)} in {search_folders()[0]}"
            )
    if name.startswith("Office-Home") or (protocol == PAPER and name.startswith("Office")):
        pretrained("resnet18")
    if protocol == PAPER and name == "PACS":
        pretrained("alexnet")


def prepare(name: str, protocol: str = SMALL) -> None:
    """Compute what takes long and is kept in the user's cache, once for all workers: the features of images."""
    if not name.startswith("Digits") and protocol == SMALL:
        setup(name)


def _on_features(problem: MultitaskProblem, batch_size: int) -> Setup:
    X, _ = next(iter(problem.tasks.values()))
    left, validation = _set_aside(problem)
    return Setup(left, partial(MLP, X.shape[1], (512,)), batch_size, validation)


def _set_aside(problem: MultitaskProblem) -> tuple[MultitaskProblem, Mapping[str, Any]]:
    """Take the validation rows out of a problem, the same for every draw."""
    drawn = problem.split(0, 1 - VALIDATION_SHARE, random_state=0)
    left = {task: (drawn.X[drawn.sample_task == task], drawn.y[drawn.sample_task == task]) for task in problem.tasks}
    aside = {
        task: (drawn.X_test[drawn.sample_task_test == task], drawn.y_test[drawn.sample_task_test == task])
        for task in problem.tasks
    }
    return replace(problem, tasks=left), aside


def _whole(name: str) -> nn.Module:
    return nn.Sequential(Pixels(), pretrained(name))


def _whole_pacs() -> Setup:
    # The published test lists hold every image. What is neither validation nor drawn to train tests.
    problem = load_pacs(PACS_SIZE, splits="published")
    return Setup(replace(problem, test=None), partial(_whole, "alexnet"), 64, problem.test)


def _whole_office(load: Callable[[int], MultitaskProblem], batch_size: int) -> Setup:
    left, validation = _set_aside(load(OFFICE_SIZE))
    return Setup(left, partial(_whole, "resnet18"), batch_size, validation)


_WHOLE_SETUPS: dict[str, Callable[[], Setup]] = {
    "PACS": _whole_pacs,
    "Office-31": partial(_whole_office, load_office31, 16),
    "Office-Home": partial(_whole_office, load_office_home, 24),
}


def _setup_of(cell: Cell) -> Setup:
    return setup(cell.problem, str(cell.values.get("protocol", SMALL)))


def classifier(cell: Cell, **options: Any) -> MultitaskClassifier:
    """Make the unfitted network of a cell; its first weights are those of the cell's seed."""
    _, extractor, batch_size, *_ = _setup_of(cell)
    if callable(extractor):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(cell.random_state)
            extractor = extractor()
    if "lr" in cell.values:
        options["lr"] = cell.values["lr"]
    prefix = "objective."
    given = {name.removeprefix(prefix): value for name, value in cell.values.items() if name.startswith(prefix)}
    return MultitaskClassifier(
        NETWORK_OBJECTIVES[cell.method](**given),
        extractor=extractor,
        batch_size=batch_size,
        device=str(cell.values.get("device", "cpu")),
        random_state=cell.random_state,
        **options,
    )


def draw(cell: Cell) -> MultitaskSplit:
    """Return the rows of a cell that train, and those that test."""
    train_size: Any = cell.values["train"]
    return _setup_of(cell).problem.split(cell.split, train_size, random_state=cell.seed)


def measure(cell: Cell) -> Measured:
    """Train a network on one draw of rows; the error is the mean over tasks."""
    return _measured(cell, draw(cell))


def measure_validation(cell: Cell) -> Measured:
    """Train on one draw of rows and test on the validation rows: for choosing a setting, no row that tests is read."""
    drawn, validation = draw(cell), _setup_of(cell).validation
    if validation is None:
        raise ValueError(f"{cell.problem!r} has no validation rows: settings can be chosen on the others")
    X, y = (np.concatenate(parts) for parts in zip(*validation.values(), strict=True))
    sample_task = np.repeat(list(validation), [labels.size for _, labels in validation.values()])
    return _measured(cell, drawn._replace(X_test=X, y_test=y, sample_task_test=sample_task))


def _measured(cell: Cell, split: MultitaskSplit) -> Measured:
    clf = classifier(cell, epochs=cell.values["epochs"])
    clf.fit(split.X, split.y, sample_task=split.sample_task)
    wrong = _predict(clf, split) != split.y_test
    rows, errors, absent = {}, {}, {}
    for task in map(str, dict.fromkeys(split.sample_task)):
        trains, tests = split.sample_task == task, split.sample_task_test == task
        rows[task] = int(trains.sum()), int(tests.sum())
        errors[task] = 100 * float(wrong[tests].mean())
        absent[task] = len({*split.y_test[tests]} - {*split.y[trains]})
    extra: dict[str, Any] = {"rows": rows}
    if any(absent.values()):
        extra["absent"] = absent
    if hasattr(clf, "relation_"):
        place = np.searchsorted(clf.tasks_, list(errors))  # the network sorts the tasks
        extra["relation"] = clf.relation_[np.ix_(place, place)].tolist()
    return Measured(float(np.mean(list(errors.values()))), errors, len(split.y), len(split.y_test), extra)


def _predict(clf: MultitaskClassifier, split: MultitaskSplit) -> Any:
    """Predict the rows that test; images of bytes in parts, for a network takes them as floats."""
    step = PREDICTED_AT_ONCE if split.X_test.dtype == np.uint8 else len(split.X_test)
    return np.concatenate(
        [
            clf.predict(split.X_test[start : start + step], sample_task=split.sample_task_test[start : start + step])
            for start in range(0, len(split.X_test), step)
        ]
    )


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
    """Time an epoch of every method on the same rows, the methods in turn, so that ratios are of one run.

    Each method is fitted anew in each round, for two epochs. Parts are the medians over the rounds of the processor
    seconds of the second epoch: the first also pays for what is allocated once. The error is that of printed gapMTNN
    as a multiple of Uniform's.
    """
    split, rounds = draw(cell), int(cell.values["rounds"] or 1)
    methods = list(NETWORK_COLUMNS.values())
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name in methods:
            one = Cell(cell.kind, cell.problem, name, cell.setting, cell.split, cell.seed)
            clf = classifier(one, epochs=2, callbacks=[_Clock()])
            clf.fit(split.X, split.y, sample_task=split.sample_task)
            seconds[name].append(clf.callbacks_[0].seconds[-1])
    parts = {name: float(np.median(each)) for name, each in seconds.items()}
    return Measured(parts[PRINTED] / parts["Uniform"], parts, len(split.y), extra={"seconds": seconds})
