"""Which task a row belongs to: `sample_task`, checked and numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from gapmin.base._validation import first_missing


def plain(task: Any) -> Any:
    """Return a label without numpy's name around it.

    Parameters
    ----------
    task : any
        The label of a task.

    Returns
    -------
    object
        The label.
    """
    return task.item() if hasattr(task, "item") else task


def check_tasks(sample_task: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """Return one task label a row; one task for None.

    Parameters
    ----------
    sample_task : array-like or None
        The task of each row; None is one task for all.
    n_rows : int
        How many rows there are.

    Returns
    -------
    ndarray of shape (n_rows,)
        The tasks.

    Examples
    --------
    >>> check_tasks(["a", "b"], 3)
    Traceback (most recent call last):
        ...
    ValueError: sample_task has 2 entries for 3 rows: give one task for each row
    """
    if sample_task is None:
        return np.zeros(n_rows, dtype=np.intp)
    task = np.asarray(sample_task)
    if task.ndim != 1:
        raise ValueError(f"sample_task has {task.ndim} dimensions: give one task for each row")
    if _num_samples(task) != n_rows:
        raise ValueError(f"sample_task has {task.size} entries for {n_rows} rows: give one task for each row")
    refuse_unnamed("sample_task", sample_task, "name the task of every row")
    return task


def known_tasks(sample_task: ArrayLike | None, n_rows: int, tasks: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each row the position of its task among those a model was fitted on.

    Parameters
    ----------
    sample_task : array-like or None
        The task of each row.
    n_rows : int
        How many rows there are.
    tasks : ndarray
        The tasks of the fit.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        The positions.

    Examples
    --------
    >>> known_tasks(["usps", "mnist"], 2, np.array(["mnist", "usps"]))
    array([1, 0])
    >>> known_tasks(["svhn"], 1, np.array(["mnist", "usps"]))
    Traceback (most recent call last):
        ...
    ValueError: sample_task has the unknown task 'svhn' at row 0: this model was fitted on ['mnist', 'usps']
    """
    if sample_task is None:
        if tasks.size > 1:
            raise ValueError(
                f"sample_task is missing: this model has {tasks.size} tasks ({_some(tasks)}), so say which one each "
                "row belongs to; to scorers of scikit-learn gapmin.deep.task_scorer hands it on"
            )
        return np.zeros(n_rows, dtype=np.intp)
    task = check_tasks(sample_task, n_rows)
    at = np.full(n_rows, -1)
    for k, each in enumerate(tasks):
        at[task == each] = k
    if (at < 0).any():
        row = int(np.argmin(at))
        raise ValueError(
            f"sample_task has the unknown task {plain(task[row])!r} at row {row}: "
            f"this model was fitted on {_some(tasks)}"
        )
    return at


def _some(tasks: NDArray[Any], at_most: int = 10) -> str:
    """Return the names of tasks, the first ten and how many more."""
    more = tasks.size - at_most
    return f"{tasks[:at_most].tolist()}{f' and {more:,} more' if more > 0 else ''}"


def refuse_unnamed(name: str, values: ArrayLike, remedy: str) -> None:
    """Raise an error where labels are missing or partly text, which numpy would turn into text without a word.

    Parameters
    ----------
    name : str
        The argument.
    values : any
        What was given.
    remedy : str
        What to do.

    Examples
    --------
    >>> refuse_unnamed("y", ["a", None], "label every row")
    Traceback (most recent call last):
        ...
    ValueError: y has None at row 1: label every row
    """
    missing = first_missing(values)
    if missing is not None:
        raise ValueError(f"{name} has {missing[1]} at row {missing[0]}: {remedy}")
    entries = values if isinstance(values, (list, tuple)) else np.asarray(values).tolist()
    if len({isinstance(each, str) for each in entries}) > 1:
        raise ValueError(f"{name} has both text and other values: name all in one way")
