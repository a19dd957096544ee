"""From what users have, numpy arrays, tensors or datasets of images, to rows that can be trained on."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data
from torch import Tensor

from gapmin._utils.text import counted
from gapmin.base import check_labels
from gapmin.deep.batches import Indices, TaskRows
from gapmin.deep.engine import Engine


def is_dataset(X: Any) -> bool:
    """Tell a map-style dataset, whose items are read one by one, from an array."""
    return isinstance(X, torch.utils.data.Dataset)


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a float32 tensor without a copy where none is needed; a dataset as it is.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and the like.
    X : array-like or Tensor of shape (rows, features) or (rows, channels, height, width), or Dataset
    reset : bool
        Whether this is the fit.
    """
    if is_dataset(X):
        if not hasattr(X, "__len__"):
            raise ValueError(f"{type(X).__name__} has no length: give a map-style dataset, whose items have numbers")
        if len(X) == 0:
            raise ValueError("the dataset has 0 rows: give at least one")
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):  # of a former fit on a table
                estimator.__dict__.pop(name, None)
        return X
    if isinstance(X, Tensor):
        X = X.detach().cpu().float().numpy() if X.dtype == torch.bfloat16 else X.detach().cpu().numpy()
    array = validate_data(estimator, X, reset=reset, dtype=np.float32, allow_nd=True, order="C")
    if array.ndim not in (2, 4):
        raise ValueError(
            f"X has shape {array.shape}: give rows (n, features) or images (n, channels, height, width); "
            "X[:, None] adds the channel of grey images"
        )
    return as_tensor(array)


def as_tensor(array: NDArray[Any]) -> Tensor:
    """Return a tensor on the array's own memory."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")  # nothing here writes into it
        return torch.from_numpy(array)


def row_shape(rows: Any) -> tuple[int, ...]:
    """Return the shape of one row."""
    if isinstance(rows, Tensor):
        return tuple(rows.shape[1:])
    item = rows[0]
    item = item[0] if isinstance(item, (tuple, list)) else item
    if not isinstance(item, Tensor) or not item.is_floating_point():
        kind = item.dtype if isinstance(item, Tensor) else type(item).__name__
        raise ValueError(f"the dataset's first item is a {kind}: give items that are float tensors")
    return tuple(item.shape)


def labels_of(X: Any, y: ArrayLike | None, *, classes: bool) -> ArrayLike:
    """Return y; of a dataset without one its `targets`, as torchvision's have them. A missing label is an error."""
    targets = getattr(X, "targets", None) if y is None else y
    if targets is None:
        raise ValueError(
            f"a {'classifier' if classes else 'regressor'} requires y to be passed, but the target y is None: give a "
            "label for each row, or a dataset that has `targets`"
        )
    check_labels(targets, classes=classes)
    return np.asarray(targets) if y is None else y


class FitRows(NamedTuple):
    """Rows with labels and tasks as a fit has them.

    Attributes
    ----------
    x : Tensor or Dataset
    y : ndarray
        Classes as integers from 0, or numbers to predict as floats.
    bins : ndarray, optional
        Of numbers to predict: the quantile bin of each.
    task : ndarray
        The number of each row's task.
    weight : ndarray, optional
    """

    x: Any
    y: NDArray[Any]
    bins: NDArray[Any] | None
    task: NDArray[Any]
    weight: NDArray[Any] | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """The class of each row; of numbers to predict, their bin."""
        return self.y if self.bins is None else self.bins

    def arrays(self) -> tuple[Any, ...]:
        """Return the parts, tensors as arrays."""
        return (self.x.numpy() if isinstance(self.x, Tensor) else self.x, *self[1:])

    def rows_of(self, tasks: Sequence[Indices], channels_last: bool, num_workers: int = 0) -> TaskRows:
        """Return the chosen rows of each task."""
        y, bins, weight = (None if each is None else as_tensor(each) for each in (self.y, self.bins, self.weight))
        x = as_tensor(self.x) if isinstance(self.x, np.ndarray) else self.x
        assert y is not None
        return TaskRows(x, y, tasks, channels_last, weight=weight, bins=bins, num_workers=num_workers)

    def by_task(self, n_tasks: int, channels_last: bool, num_workers: int = 0) -> TaskRows:
        """Return all rows."""
        return self.rows_of([np.flatnonzero(self.task == k) for k in range(n_tasks)], channels_last, num_workers)


def without_rows(rows: Any, used: Indices) -> Any:
    """Return the rows of these numbers."""
    if isinstance(rows, Tensor):
        return rows[torch.from_numpy(used)]
    return torch.utils.data.Subset(rows, used.tolist())


def digest(rows: FitRows, *, with_x: bool = True) -> str:
    """Return a fingerprint of the data; of a dataset the labels alone."""
    seen = hashlib.sha256()
    for array in (rows.y, rows.task, rows.weight):
        if array is not None:
            seen.update(np.ascontiguousarray(array).tobytes())
    if with_x and isinstance(rows.x, Tensor):
        seen.update(np.ascontiguousarray(rows.x.numpy()).data)
    return seen.hexdigest()[:16]


def check_same_rows(engine: Engine, rows: FitRows, seed: int) -> int:
    """Return the seed of process 0, having made sure that all processes were given the same rows."""
    if engine.size == 1:
        return seed
    mine = digest(rows, with_x=False)
    firsts, seed = engine.on_rank_zero(lambda: (mine, seed))
    others = int(engine.sum_over_processes(np.array([float(mine != firsts)]))[0])
    if others:
        raise ValueError(
            f"{others} of {engine.size} processes have other rows than process 0: give every process all rows in "
            "the same order; each takes its share of a batch"
        )
    return seed


def set_aside(
    tasks: Sequence[Indices],
    y: NDArray[Any],
    share: float,
    seed: int,
    names: Sequence[Any] | None = None,
    *,
    of_every_task: bool = True,
) -> tuple[list[Indices], list[Indices]]:
    """Take a share of each task's rows aside, classes in proportion: what is left, and what was taken.

    At least one row of a task is taken, and at least one of each of its classes is left. A task that has one row of
    each class can spare none: it is an error, unless rows of other tasks are enough.

    Examples
    --------
    >>> left, aside = set_aside([np.arange(10)], np.repeat([0, 1], 5), share=0.2, seed=0)
    >>> len(left[0]), len(aside[0])
    (8, 2)
    """
    left, aside = [], []
    can_spare = [np.unique(y[rows]).size < len(rows) for rows in tasks]
    for k, rows in enumerate(tasks):
        if not can_spare[k] and any(can_spare) and not of_every_task:
            left.append(rows)
            aside.append(rows[:0])
            continue
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k, 7)))
        mixed = rng.permutation(rows)
        by_class = [mixed[y[mixed] == c] for c in np.unique(y[rows])]
        sizes = np.array([len(each) for each in by_class])
        if not can_spare[k]:
            raise ValueError(
                f"task {k if names is None else names[k]!r} has {counted(len(rows), 'row')}, one of each class: none "
                "can be set aside; give more rows, or set validation_fraction, early_stopping and relation_data so "
                "that none are needed"
            )
        wanted = share * sizes
        counts = np.minimum(wanted.astype(int), sizes - 1)
        # What rounding down left out goes to the classes that it cost most, in random order among equals.
        order = rng.permutation(len(sizes))
        order = order[np.argsort(-(wanted - counts)[order], kind="stable")]
        missing = max(round(share * len(rows)), 1) - counts.sum()
        for c in order[(counts < sizes - 1)[order]][: max(missing, 0)]:
            counts[c] += 1
        chosen = np.sort(np.concatenate([each[:n] for each, n in zip(by_class, counts, strict=True)]))
        aside.append(chosen)
        left.append(rows[~np.isin(rows, chosen)])
    return left, aside
