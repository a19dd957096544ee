"""Which tasks can teach which, and by how much: what adding one task's rows does to another's held-out error."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from gapmin._utils.text import listed
from gapmin._utils.typing import Array
from gapmin.base import check_labels, check_tasks, first_missing, plain
from gapmin.transfer.folds import draw_row_folds

if TYPE_CHECKING:
    import pandas as pd

_PENALTIES = (1.0, 10.0, 100.0)
"""Of squared coefficients, in rows of standardised columns."""


@dataclass(frozen=True, eq=False)
class TaskAffinity:
    """Who can teach whom, by how much, with intervals over folds.

    Attributes
    ----------
    tasks : list
        Sorted; the order of all rows and columns.
    gain : ndarray of shape (n_tasks, n_tasks)
        Entry (j, k): how much lower the held-out squared error of task j is when a model of its rows also has those of
        task k. It is a share of the variance of task j's label. Above 0 means that k can teach j. 0 on the diagonal.
        0 in the row of a task whose rows all have one label: there is nothing to learn.
    low, high : ndarray of shape (n_tasks, n_tasks)
        The 95% interval over folds of each entry by itself: among many pairs, one in forty is above 0 by chance.
    own_error : ndarray of shape (n_tasks,)
        The held-out squared error of each task's own model, as a share of its variance: 1 is as good as the mean. 0
        for a task whose rows all have one label.
    """

    tasks: list[Any]
    gain: Array
    low: Array
    high: Array
    own_error: Array

    def helpful_tasks(self, task: Any) -> list[Any]:
        """Return the tasks whose rows help a task, the most helpful first: those whose interval is above 0.

        Parameters
        ----------
        task : label
            The task that learns.
        """
        if task not in self.tasks:
            raise ValueError(f"task is {task!r}, which is none of {listed(self.tasks, 5)}")
        j = self.tasks.index(task)
        order = np.argsort(-self.gain[j], kind="stable")
        return [self.tasks[k] for k in order if k != j and self.low[j, k] > 0]

    def groups(self) -> list[list[Any]]:
        """Return the tasks to train together: linked where one helps the other, and is not hurt by it."""
        helps, hurts = self.low > 0, self.high < 0
        linked = (helps & ~hurts.T) | (helps.T & ~hurts)
        left, found = list(range(len(self.tasks))), []
        while left:
            group, new = [], [left[0]]
            while new:
                group += new
                left = [k for k in left if k not in new]
                new = [k for k in left if linked[group, k].any()]
            found.append([self.tasks[k] for k in sorted(group)])
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each pair: the task that learns, the one that teaches, the gain and its interval."""
        import pandas as pd

        K = len(self.tasks)
        pairs = [(j, k) for j in range(K) for k in range(K) if j != k]
        return pd.DataFrame(
            {
                "task": [self.tasks[j] for j, _ in pairs],
                "teacher": [self.tasks[k] for _, k in pairs],
                **{name: [float(getattr(self, name)[pair]) for pair in pairs] for name in ("gain", "low", "high")},
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the gains as a heat map: a row for each task that learns, a column for each that teaches.

        Parameters
        ----------
        ax : matplotlib's Axes, optional
            By default a new figure's.

        Returns
        -------
        TaskAffinityDisplay
            What was drawn.
        """
        from gapmin.plotting import RelationDisplay

        return RelationDisplay(matrix=self.gain, names=self.tasks, kind="affinity").plot(ax)


def task_affinity(
    X: ArrayLike,
    y: ArrayLike,
    sample_task: ArrayLike,
    *,
    n_splits: int = 5,
    n_repeats: int = 2,
    random_state: int = 0,
) -> TaskAffinity:
    """Measure for each two tasks how much the rows of one help a model of the other.

    Models are linear, by least squares on standardised columns with one penalty for all; classes are predicted as
    numbers 0 and 1. A model of two tasks may put their labels on different levels. No network is needed, and the
    K * K models of a fold are solved from K matrices.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Numbers.
    y : array-like of shape (n_rows,)
        Classes or numbers.
    sample_task : array-like of shape (n_rows,)
        Tasks of two rows or more.
    n_splits, n_repeats : int, default=5 and 2
        Folds of the rows, tasks and classes in proportion; fewer where no task has so many rows of a class.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    TaskAffinity
        The gain of each pair with its interval.

    Examples
    --------
    Two tasks that agree, and one whose labels are reversed:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 20)), np.repeat(["a", "b", "c"], 30)
    >>> y = X @ np.linspace(0, 7, 20) * np.where(task == "c", -1, 1) + 10 * rng.normal(size=90)
    >>> affinity = task_affinity(X, y, task)
    >>> affinity.helpful_tasks("a"), affinity.helpful_tasks("c"), affinity.groups()
    (['b'], [], [['a', 'b'], ['c']])
    """
    for name, value, least in (
        ("n_splits", n_splits, 2),
        ("n_repeats", n_repeats, 1),
        ("random_state", random_state, 0),
    ):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} is {value!r}: give a whole number of at least {least}")
    rows = check_array(X, dtype=np.float64)
    if y is None:
        raise ValueError("y is None: give a label for each row")
    if (missing := first_missing(y)) is not None:
        raise ValueError(f"y has {missing[1]} at row {missing[0]}: give every row a label, or leave the row out")
    check_labels(y, classes=np.asarray(y).dtype.kind not in "iuf")
    classes = type_of_target(y) != "continuous" and not _many_numbers(y)
    labels = column_or_1d(y)
    check_consistent_length(rows, labels)
    task = check_tasks(sample_task, len(labels))
    tasks, task = np.unique(task, return_inverse=True)
    sizes = np.bincount(task)
    if tasks.size < 2:
        raise ValueError(f"sample_task has one task ({plain(tasks[0])!r}): give rows of two or more")
    if sizes.min() < 2:
        few = plain(tasks[np.argmin(sizes)])
        raise ValueError(f"task {few!r} has one row: leave out tasks of fewer than two rows")
    codes = np.unique(labels, return_inverse=True)[1] if classes else None
    targets = np.eye(codes.max() + 1)[codes] if codes is not None else np.asarray(labels, dtype=np.float64)[:, None]
    repeats = draw_task_folds(task, codes, n_splits, n_repeats, random_state)
    n_splits = len(repeats[0])
    spread = np.array([targets[task == j].var(axis=0).sum() for j in range(tasks.size)])
    spread[spread <= (1e-12 * np.abs(targets).max()) ** 2] = np.inf  # one label: nothing is to be gained
    found: dict[float, list[Array]] = {penalty: [] for penalty in _PENALTIES}
    for train, test in (fold for folds in repeats for fold in folds):
        mean, scale = rows[train].mean(axis=0), rows[train].std(axis=0)
        scaled = np.column_stack([(rows - mean) / np.where(scale > 0, scale, 1.0), np.ones(len(rows))])
        for penalty in _PENALTIES:
            found[penalty].append(_fold(scaled, targets, task, tasks.size, train, test, penalty) / spread[:, None])
    own = {penalty: np.nanmean([np.diag(each) for each in folds], axis=0).mean() for penalty, folds in found.items()}
    errors = np.stack(found[min(own, key=lambda penalty: own[penalty])])  # (folds, K, K)
    gains = np.diagonal(errors, axis1=1, axis2=2)[:, :, None] - errors
    seen = np.isfinite(gains).sum(axis=0)
    gain = np.nanmean(gains, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.nansum((gains - gain) ** 2, axis=0) / np.maximum(seen - 1, 1)
        # Folds share their training rows: of Nadeau and Bengio, the variance is that of one fold by 1/n + test/train.
        half = stats.t.ppf(0.975, np.maximum(seen - 1, 1)) * np.sqrt(variance * (1 / seen + 1 / (n_splits - 1)))
    half = np.where(seen > 1, half, np.inf)
    np.fill_diagonal(half, 0.0)
    own_error = np.nanmean(np.diagonal(errors, axis1=1, axis2=2), axis=0)
    return TaskAffinity(tasks.tolist(), gain, gain - half, gain + half, own_error)


def draw_task_folds(
    task: NDArray[np.intp], codes: NDArray[np.intp] | None, n_splits: int, n_repeats: int, seed: int
) -> list[list[tuple[NDArray[Any], NDArray[Any]]]]:
    """Return folds of rows, tasks and classes in proportion, for each repeat; fewer folds where rows are few.

    Parameters
    ----------
    task : ndarray of int
        Tasks of two rows or more.
    codes : ndarray of int, optional
        Classes.
    n_splits, n_repeats, seed : int
    """
    strata = task if codes is None else task * (codes.max() + 1) + codes
    if np.bincount(strata).max() < 2:
        strata = task
    return draw_row_folds(strata, True, n_splits, n_repeats, seed)


def _many_numbers(y: ArrayLike) -> bool:
    """Tell whole numbers that are no classes: more than twenty of them."""
    labels = np.asarray(y)
    return labels.dtype.kind in "iuf" and np.unique(labels).size > 20


def _fold(
    X: Array, targets: Array, task: NDArray[np.intp], K: int, train: NDArray[Any], test: NDArray[Any], penalty: float
) -> Array:
    """Return the mean squared errors (j, k) on task j's held-out rows of models with the rows of j and k."""
    d = X.shape[1]
    ridge = penalty * np.eye(d + 1)
    ridge[d - 1, d - 1] = 1e-8 * penalty  # the level of the task itself
    grams, products = [], []
    for j in range(K):
        rows = train[task[train] == j]
        grams.append(X[rows].T @ X[rows])
        products.append(X[rows].T @ targets[rows])
    errors = np.full((K, K), np.nan)
    for j in range(K):
        held = test[task[test] == j]
        if not held.size or not grams[j][-1, -1]:
            continue
        systems = np.zeros((K, d + 1, d + 1))
        sides = np.zeros((K, d + 1, targets.shape[1]))
        for k in range(K):
            systems[k, :d, :d], sides[k, :d] = grams[j], products[j]
            if k != j:
                systems[k, :d, :d] += grams[k]
                sides[k, :d] += products[k]
                # The other task's rows have a level of their own.
                systems[k, d, :d] = systems[k, :d, d] = grams[k][-1]
                systems[k, d, d] = grams[k][-1, -1]
                sides[k, d] = products[k][-1]
        beta = np.linalg.solve(systems + ridge, sides)[:, :d]
        predicted = X[held] @ beta  # (K, rows, targets)
        errors[j] = ((predicted - targets[held]) ** 2).sum(axis=2).mean(axis=1)
    return errors
