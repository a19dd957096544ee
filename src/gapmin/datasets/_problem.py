"""A transfer problem: one target, one or more sources, and the split that its protocol asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gapmin._utils.errors import error_of
from gapmin.domains import stack_domains

LabelledRows = tuple[NDArray[Any], NDArray[Any]]

MAX_DRAWS = 100_000


class Split(NamedTuple):
    """Training rows of the target with all source rows, and the rest of the target to test on.

    Parameters
    ----------
    X : ndarray
        Training rows of the target, then all rows of the sources.
    y : ndarray
        Their labels.
    sample_domain : ndarray of int
        -1 for the target, 1, 2, ... for the sources.
    X_test : ndarray
        The other rows of the target.
    y_test : ndarray
        Their labels.

    Examples
    --------
    >>> from gapmin.datasets import load_digits_transfer
    >>> problem = load_digits_transfer("digits")
    >>> split = problem.split(0)
    >>> split.X.shape[0] == split.sample_domain.size
    True
    """

    X: NDArray[Any]
    y: NDArray[Any]
    sample_domain: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class TransferProblem:
    """A target with little labelled data to train on, and the sources that may help it.

    Every array that a problem hands out is read-only, so that problems can be cached and shared.

    Parameters
    ----------
    name : str
        What the problem is called.
    target : (X, y)
        The domain that a model is wanted for.
    sources : tuple of (X, y)
        At least one, with the columns of the target.
    task : "classification" or "regression"
        Whether labels are classes or numbers.
    train_size : int or float
        How much of the target trains in the problem's protocol: a number of rows, or a share between 0 and 1.
    description : str, default=""
        Where the rows come from.

    Examples
    --------
    >>> from gapmin.datasets import TransferProblem
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> problem = TransferProblem("tiny", (X, y), ((X, y), (X, y)), task="classification", train_size=2)
    >>> problem
    <TransferProblem 'tiny': target 4 x 1, sources 4 + 4>
    >>> split = next(problem.splits(1))
    >>> split.sample_domain
    array([-1, -1,  1,  1,  1,  1,  2,  2,  2,  2])
    >>> split.y_test.size
    2
    """

    name: str
    target: LabelledRows
    sources: tuple[LabelledRows, ...]
    task: Literal["classification", "regression"]
    train_size: int | float
    description: str = ""

    def __post_init__(self) -> None:
        if self.task not in ("classification", "regression"):
            raise ValueError(f"task is {self.task!r}: use 'classification' or 'regression'")
        if not len(self.sources):
            raise ValueError(f"{self.name!r} has no sources: give at least one (X, y)")
        target = check_rows(self.target, f"the target of {self.name!r}")
        sources = tuple(
            check_rows(source, f"source {k} of {self.name!r}") for k, source in enumerate(self.sources, start=1)
        )
        for k, (X, _) in enumerate(sources, start=1):
            if X.shape[1] != target[0].shape[1]:
                raise ValueError(
                    f"source {k} of {self.name!r} has {X.shape[1]} columns, the target {target[0].shape[1]}: "
                    "give every domain the same columns"
                )
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "sources", sources)
        self._count(None)

    def __repr__(self) -> str:
        rows, columns = self.X_target.shape
        noun = "source" if len(self.sources) == 1 else "sources"
        sizes = " + ".join(str(y.size) for _, y in self.sources)
        return f"<TransferProblem {self.name!r}: target {rows} x {columns}, {noun} {sizes}>"

    @property
    def X_target(self) -> NDArray[Any]:
        """The rows of the target."""
        return self.target[0]

    @property
    def y_target(self) -> NDArray[Any]:
        """The labels of the target."""
        return self.target[1]

    @cached_property
    def X_source(self) -> NDArray[Any]:
        """The rows of all sources, one source after the other."""
        return _pool([X for X, _ in self.sources])

    @cached_property
    def y_source(self) -> NDArray[Any]:
        """The labels of all sources, in the order of `X_source`."""
        return _pool([y for _, y in self.sources])

    def stack(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """Return X, y and `sample_domain` of all rows: the target's first (-1), then source 1, 2, …"""
        X, y, sample_domain = stack_domains(target=self.target, sources=self.sources)
        return read_only(X), read_only(y), read_only(sample_domain)

    def pooled(self) -> TransferProblem:
        """Return the same problem with its sources merged into one."""
        return replace(self, sources=((self.X_source, self.y_source),))

    def splits(self, n_splits: int, train_size: int | float | None = None, random_state: int = 0) -> Iterator[Split]:
        """Iterate over random splits of the target into rows to train on and rows to test on.

        All source rows train. In a classification the training rows are drawn again until every class of the
        target is among them. Split k depends on `random_state` and k alone, not on `n_splits`.

        Parameters
        ----------
        n_splits : int
            How many divisions.
        train_size : int, float or None, default=None
            A number or a share of target rows; None takes the problem's own.
        random_state : int, default=0
            Seed.

        Returns
        -------
        iterator of Split
            One for each seed.
        """
        self._count(train_size)
        return (self.split(k, train_size, random_state) for k in range(n_splits))

    def split(self, k: int, train_size: int | float | None = None, random_state: int = 0) -> Split:
        """Return the k-th of the random splits that `splits` iterates over.

        Parameters
        ----------
        k : int
            The number of the split.
        train_size : int or float, optional
            How much of the target trains; None takes the problem's own.
        random_state : int, default=0
            Seed.
        """
        X, y = self.target
        rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(k,)))
        train = draw_rows(y, self._count(train_size), rng, self._whose_rows, self.task == "classification")
        stacked = stack_domains(target=(X[train], y[train]), sources=self.sources)
        return Split(*map(read_only, (*stacked, X[~train], y[~train])))

    def error(self, y: ArrayLike, predicted: ArrayLike) -> float:
        """Return the error of predictions: percent wrong of classes, the root of the mean squared error of numbers.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Their labels.
        predicted : array-like of shape (n_rows,)
            The predictions.
        """
        return error_of(self.task, y, predicted)

    @property
    def _whose_rows(self) -> str:
        return f"target rows of {self.name!r}"

    def _count(self, train_size: int | float | None) -> int:
        asked = self.train_size if train_size is None else train_size
        return count_rows(asked, self.y_target, self._whose_rows, self.task == "classification")


def count_rows(train_size: int | float, y: NDArray[Any], whose_rows: str, every_class: bool, leave: bool = True) -> int:
    """Return a number or share of rows as a number, with one row for each class and, to `leave`, one to test on."""
    size = int(train_size) if isinstance(train_size, Integral) else round(train_size * y.size)
    fewest = np.unique(y).size if every_class else 1
    if not fewest <= size <= y.size - leave:
        raise ValueError(
            f"train_size={train_size} is {size} of the {y.size} {whose_rows}: "
            f"take at least {fewest}{', one for each class,' if every_class else ''} and "
            + ("leave at least one to test on" if leave else f"at most {y.size}")
        )
    return size


def draw_rows(
    y: NDArray[Any], size: int, rng: np.random.Generator, whose_rows: str, every_class: bool
) -> NDArray[np.bool_]:
    """Return which rows train: a random draw, drawn again until every class is among them if that is asked for."""
    n_classes = np.unique(y).size if every_class else 0
    drawn = np.zeros(y.size, dtype=bool)
    for _ in range(MAX_DRAWS):
        rows = rng.choice(y.size, size, replace=False)
        if not every_class or np.unique(y[rows]).size == n_classes:
            drawn[rows] = True
            return drawn
    raise ValueError(
        f"none of {MAX_DRAWS} draws of {size} of the {y.size} {whose_rows} held all of {n_classes} classes: "
        "raise train_size"
    )


def read_only(array: ArrayLike) -> NDArray[Any]:
    """Return a view that cannot be written to; the caller's own array stays as it was."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view


def check_rows(
    rows: tuple[ArrayLike, ArrayLike], who: str, shapes: str = "(N, d)", dimensions: tuple[int, ...] = (2,)
) -> LabelledRows:
    """Return (X, y) as read-only arrays with a label for each row."""
    X, y = map(read_only, rows)
    if X.ndim not in dimensions or y.ndim != 1 or X.shape[0] != y.shape[0]:
        raise ValueError(
            f"{who} has X of shape {X.shape} and y of shape {y.shape}: give X as {shapes} and y one label for each row"
        )
    return X, y


def _pool(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else read_only(np.concatenate(parts))
