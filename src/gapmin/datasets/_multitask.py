"""A multitask problem: several tasks on rows of one shape, and the split that its protocol asks for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._problem import LabelledRows, check_rows, count_rows, draw_rows, read_only

Stacked = tuple[NDArray[Any], NDArray[Any], NDArray[np.str_]]
TRAIN_SHARE = 0.1
"""Of each task of images, as in the paper."""


class MultitaskSplit(NamedTuple):
    """Rows of every task to train on, and rows of every task to test on, each task by task.

    Parameters
    ----------
    X : ndarray
        Training rows of all tasks.
    y : ndarray
        Their labels.
    sample_task : ndarray
        Their tasks.
    X_test : ndarray
        Test rows of all tasks.
    y_test : ndarray
        Their labels.
    sample_task_test : ndarray
        Their tasks.

    Examples
    --------
    >>> from gapmin.datasets import load_digits_multitask
    >>> split = load_digits_multitask().split(0)
    >>> sorted(set(split.sample_task.tolist()))
    ['digits', 'mnist', 'mnist_m']
    """

    X: NDArray[Any]
    y: NDArray[Any]
    sample_task: NDArray[np.str_]
    X_test: NDArray[Any]
    y_test: NDArray[Any]
    sample_task_test: NDArray[np.str_]


@dataclass(frozen=True, eq=False, repr=False)
class MultitaskProblem:
    """Classification tasks with little labelled data each, to be learnt together.

    Every array that a problem hands out is read-only, so that problems can be cached and shared.

    Parameters
    ----------
    name : str
        What the problem is called.
    tasks : mapping of str to (X, y)
        Rows (N, d) or images (N, C, H, W), of one shape in all tasks; y are classes.
    train_size : int or float
        How much of each task trains in the problem's protocol: a number of rows, or a share between 0 and 1.
    test : mapping of str to (X, y), optional
        The published test set of each task. Without it the rows of `tasks` that do not train test.
    description : str, default=""
        Where the rows come from.
    every_class : bool, default=True
        Whether the rows of a task that train are drawn again until every class of the task is among them. Small
        shares of many classes cannot be drawn so.

    Examples
    --------
    >>> from gapmin.datasets import MultitaskProblem
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> problem = MultitaskProblem("tiny", {"left": (X, y), "right": (X, y)}, train_size=2)
    >>> problem
    <MultitaskProblem 'tiny': left 4, right 4 rows of 1>
    >>> split = problem.split(0)
    >>> split.sample_task.tolist()
    ['left', 'left', 'right', 'right']
    >>> split.X_test.shape
    (4, 1)
    """

    name: str
    tasks: Mapping[str, LabelledRows]
    train_size: int | float
    test: Mapping[str, LabelledRows] | None = None
    description: str = ""
    every_class: bool = True

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError(f"{self.name!r} has no tasks: give at least one name with its (X, y)")
        unnamed = [task for task in self.tasks if not isinstance(task, str)]
        if unnamed:
            raise ValueError(f"{self.name!r} has a task called {unnamed[0]!r}: give every task a string as name")
        object.__setattr__(self, "tasks", _read_only_tasks(self.tasks, f"of {self.name!r}"))
        if self.test is not None:
            if set(self.test) != set(self.tasks):
                raise ValueError(
                    f"{self.name!r} has the tasks {', '.join(self.tasks)} but test sets for "
                    f"{', '.join(map(str, self.test)) or 'none'}: give one for each task, or no test at all"
                )
            in_order = {task: self.test[task] for task in self.tasks}
            test = _read_only_tasks(in_order, f"of the test sets of {self.name!r}", self._row_shape)
            object.__setattr__(self, "test", test)
        self._counts(None)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{task} {y.size}" for task, (_, y) in self.tasks.items())
        return f"<MultitaskProblem {self.name!r}: {sizes} rows of {' x '.join(map(str, self._row_shape))}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Built anew, the arrays are read-only again; a mapping proxy could not be pickled at all.
        test = None if self.test is None else dict(self.test)
        return type(self), (self.name, dict(self.tasks), self.train_size, test, self.description, self.every_class)

    def stack(self) -> Stacked:
        """Return X, y and `sample_task` of all rows of `tasks`, task by task."""
        return _stack(self.tasks)

    def splits(
        self, n_splits: int, train_size: int | float | None = None, random_state: int = 0
    ) -> Iterator[MultitaskSplit]:
        """Iterate over random draws of the rows of each task to train on.

        With `every_class`, the rows of a task are drawn again until every class of it is among them. What split k
        draws from a task depends on `random_state`, k and the task's name alone, not on `n_splits` or the other tasks.

        Parameters
        ----------
        n_splits : int
            How many divisions.
        train_size : int, float or None, default=None
            A number or a share of the rows of each task; None takes the problem's own.
        random_state : int, default=0
            Seed.

        Returns
        -------
        iterator of MultitaskSplit
            One for each seed.
        """
        self._counts(train_size)
        return (self.split(k, train_size, random_state) for k in range(n_splits))

    def split(self, k: int, train_size: int | float | None = None, random_state: int = 0) -> MultitaskSplit:
        """Return the k-th of the random splits that `splits` iterates over.

        Parameters
        ----------
        k : int
            The number of the split.
        train_size : int or float, optional
            How much of each task trains; None takes the problem's own.
        random_state : int, default=0
            Seed.
        """
        train: dict[str, LabelledRows] = {}
        rest: dict[str, LabelledRows] = {}
        for (task, (X, y)), size in zip(self.tasks.items(), self._counts(train_size), strict=True):
            rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(k, zlib.crc32(task.encode()))))
            drawn = draw_rows(y, size, rng, self._whose_rows(task), self.every_class)
            train[task] = X[drawn], y[drawn]
            if self.test is None:
                rest[task] = X[~drawn], y[~drawn]
        return MultitaskSplit(*_stack(train), *(_stack(rest) if self.test is None else self._stacked_test))

    @cached_property
    def _stacked_test(self) -> Stacked:
        return _stack(self.test or {})

    @property
    def _row_shape(self) -> tuple[int, ...]:
        return next(iter(self.tasks.values()))[0].shape[1:]

    def _counts(self, train_size: int | float | None) -> list[int]:
        """Return how many rows of each task train, with one for each class and some left to test on."""
        asked = self.train_size if train_size is None else train_size
        return [
            count_rows(asked, y, self._whose_rows(task), self.every_class, leave=self.test is None)
            for task, (_, y) in self.tasks.items()
        ]

    def _whose_rows(self, task: str) -> str:
        return f"rows of task {task!r} of {self.name!r}"


def _read_only_tasks(
    tasks: Mapping[str, tuple[ArrayLike, ArrayLike]], owner: str, row_shape: tuple[int, ...] | None = None
) -> Mapping[str, LabelledRows]:
    """Check the tasks; without `row_shape` the first one's rows set the shape for all."""
    checked: dict[str, LabelledRows] = {}
    for task, pair in tasks.items():
        X, y = check_rows(pair, f"task {task!r} {owner}", "(N, d) or (N, C, H, W)", dimensions=(2, 4))
        if not y.size:
            raise ValueError(f"task {task!r} {owner} has no rows: give it some, or leave the task out")
        row_shape = row_shape or X.shape[1:]
        if X.shape[1:] != row_shape:
            raise ValueError(
                f"task {task!r} {owner} has rows of shape {X.shape[1:]}, the first task {row_shape}: "
                "give every task rows of one shape"
            )
        checked[task] = X, y
    return MappingProxyType(checked)


def _stack(tasks: Mapping[str, LabelledRows]) -> Stacked:
    X, y = (read_only(np.concatenate(parts)) for parts in zip(*tasks.values(), strict=True))
    return X, y, read_only(np.repeat(list(tasks), [labels.size for _, labels in tasks.values()]))
