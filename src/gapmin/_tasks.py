"""Which task a row belongs to: `sample_task`, checked and numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples


def plain(task: Any) -> Any:
    """Return a label without numpy's name around it."""
    return task.item() if hasattr(task, "item") else task


def check_tasks(sample_task: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """Return one task label a row; one task for None.

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
    missing = np.array([each is None or each != each for each in task.tolist()], dtype=bool)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"sample_task has {task[row]} at row {row}: name the task of every row")
    if task.dtype.kind == "O" and len({isinstance(each, str) for each in task.tolist()}) > 1:
        raise ValueError("sample_task has both text and other values: name the tasks in one way")
    return task


def known_tasks(sample_task: ArrayLike | None, n_rows: int, tasks: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each row the position of its task among those a model was fitted on.

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
                f"sample_task is missing: this model has {tasks.size} tasks ({tasks.tolist()}), "
                "so say which one each row belongs to"
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
            f"this model was fitted on {tasks.tolist()}"
        )
    return at
