"""One table with a column of tasks: which rows and columns of it can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.options import called, option
from gapmin._utils.text import counted, listed, quoted

from ._kinds import choose_columns
from ._labels import plan_labels, target_labels
from ._messages import TableError, did_you_mean
from ._missing import MissingTokens
from ._values import as_texts, is_missing
from .inputs import GivenTable, TableInput, check_asked, check_table, column_names, table_from_frame
from .reading import read_table
from .schema import PREDICTION_TASKS, Schema, conform_values

if TYPE_CHECKING:
    import pandas as pd

FEWEST_TASK_ROWS = 5
"""Of a task: with fewer nothing can be held out and learnt from."""

FEWEST_OF_A_CLASS = 2


@dataclass(frozen=True)
class TaskTable:
    """Rows of several tasks.

    Attributes
    ----------
    X : pandas.DataFrame
        With the columns of the schema; the index is the row of the file, from 0.
    y : ndarray
        Labels.
    task : ndarray of str
        The task of each row.
    task_column : str
        The column that the tasks are from.
    schema : Schema
        The other columns, and the label.
    notes : tuple of str
        What was decided, dropped and changed.
    name : str
        Of the file, without its folder and ending.
    """

    X: pd.DataFrame
    y: NDArray[Any]
    task: NDArray[Any]
    task_column: str
    schema: Schema
    notes: tuple[str, ...]
    name: str


def task_names(frame: pd.DataFrame, column: str, shown: str) -> NDArray[Any]:
    """Return the tasks of a table's rows as texts, None where one is missing."""
    if column not in frame.columns:
        raise TableError(
            f"{shown} has no column {quoted(column)} for the tasks: it has {listed(frame.columns)}"
            f"{did_you_mean(column, frame.columns) or '; name one of them with --task'}"
        )
    values = frame[column]
    missing = is_missing(values)
    names = as_texts(values).astype(object)
    names[missing] = None
    return np.asarray(names)


def read_task_table(
    given: TableInput,
    task_column: str,
    label: str,
    *,
    kind: str | None = None,
    drop: Sequence[str] = (),
    na: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: bool = True,
) -> TaskTable:
    """Read a table with a column of tasks, and find out which rows and columns can be used.

    Rows without a label or a task are dropped; so are tasks of fewer than five rows and, of classes, tasks that have
    fewer than two rows of either class. `TaskTable.notes` says so.

    Parameters
    ----------
    given : path or frame
        The table.
    task_column, label : str
        The columns with the tasks and with what is to be predicted.
    kind : "classification", "regression" or None, default=None
        None looks at the labels. Of classes there must be two.
    drop, na, keep, text
        As in `read_study`.

    Returns
    -------
    TaskTable
        The rows and columns that can be used.

    Raises
    ------
    TableError
        In one line, why the table cannot be used and what to do.
    """
    if kind not in (None, *PREDICTION_TASKS):
        raise TableError(f"kind is {quoted(kind)}: use {' or '.join(PREDICTION_TASKS)}")
    label, task_column = label.strip(), task_column.strip()
    if label == task_column:
        raise TableError(f"column {quoted(label)} is both the label and the task: name two columns")
    drop, keep = column_names(drop, "drop"), column_names(keep, "keep")
    check_asked(label, drop, keep)
    check_asked(task_column, drop, keep, "task")
    check_table(given)
    table = GivenTable("table", str(given), given)
    read = read_table(given, [task_column]) if table.path is not None else table_from_frame(given, "the frame")
    shown = str(given) if table.path is not None else "the frame"
    notes = list(read.notes)
    if label not in read.frame.columns:
        raise TableError(
            f"{shown} has no column {quoted(label)} for the label: it has {listed(read.frame.columns)}"
            f"{did_you_mean(label, read.frame.columns) or '; name one of them with --label'}"
        )
    missing = MissingTokens.parse(column_names(na, "na"), read.frame.columns)
    frame = missing.take_out(read.frame)
    task = task_names(frame, task_column, shown)
    frame, task = _rows_with(
        frame, task, ~is_missing(frame[label]), f"no label in column {quoted(label)}", shown, notes
    )
    named = np.array([each is not None for each in task], dtype=bool)
    frame, task = _rows_with(frame, task, named, f"no task in column {quoted(task_column)}", shown, notes)
    with called(task="kind"):
        plan = plan_labels(frame[label], shown, kind)
        notes.append(f"the kind{plan.note.removeprefix('the task')}")
        if plan.classes is not None and len(plan.classes) > 2:
            raise TableError(
                f"{shown} has {len(plan.classes)} classes in column {quoted(label)} ({listed(plan.classes, 4)}): the "
                f"methods that are compared take two; put them together into two, or use "
                f"{option('task', 'regression')} if they are numbers"
            )
        y = target_labels(frame[label], plan, shown, notes)
    used = _large_enough(task, y, plan.classes, task_column, shown, notes)
    frame, task, y = frame[used], task[used], y[used]
    frames = {"table": frame.drop(columns=[label, task_column])}
    unknown = [name for name in (*drop, *keep) if name not in frames["table"].columns]
    if unknown:
        raise TableError(
            f"column {quoted(unknown[0])}, which was named, is not in {shown}"
            f"{did_you_mean(unknown[0], frames['table'].columns) or ': check its name'}"
        )
    frames["table"] = frames["table"].drop(columns=list(drop))
    n_notes = len(notes)
    columns = choose_columns(frames, list(frames["table"].columns), notes, keep, text=text)
    if not columns:
        why = notes[-1] if len(notes) > n_notes else "there is none beside label and task"
        raise TableError(f"no column is left to predict {quoted(label)} from: {why}; keep or add one")
    schema = Schema(label, plan.task, plan.kind, plan.classes, columns, tuple(sorted(missing.everywhere)))
    X = conform_values(frames["table"], columns, shown, notes, strict=False)
    return TaskTable(X, y, task.astype(str), task_column, schema, tuple(notes), read.name)


def _rows_with(
    frame: pd.DataFrame, task: NDArray[Any], present: NDArray[np.bool_], what: str, shown: str, notes: list[str]
) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Leave out rows that lack something."""
    if not present.any():
        raise TableError(f"{shown}: every row has {what}: fill it in, or name another column")
    if not present.all():
        notes.append(f"{shown}: dropped {int((~present).sum()):,} of {len(frame):,} rows, which have {what}")
        return frame[present], task[present]
    return frame, task


def _large_enough(
    task: NDArray[Any], y: NDArray[Any], classes: Sequence[Any] | None, column: str, shown: str, notes: list[str]
) -> NDArray[np.bool_]:
    """Return which rows belong to tasks that can be learnt; note the others."""
    names, codes, sizes = np.unique(task.astype(str), return_inverse=True, return_counts=True)
    if names.size < 2:
        raise TableError(
            f"{shown} has one task ({quoted(names[0])}) in column {quoted(column)}: name a column with two tasks or "
            "more"
        )
    small = sizes < FEWEST_TASK_ROWS
    if small.all():
        raise TableError(
            f"{shown} has {names.size:,} tasks in {len(task):,} rows, none with {FEWEST_TASK_ROWS} rows: name a column "
            "whose values repeat with --task"
        )
    lopsided = np.zeros(names.size, dtype=bool)
    if classes is not None:
        counts = np.array([np.bincount(codes, weights=y == each, minlength=names.size) for each in classes])
        lopsided = (counts < FEWEST_OF_A_CLASS).any(axis=0) & ~small
    for left_out, why in (
        (small, f"with fewer than {FEWEST_TASK_ROWS} rows"),
        (lopsided, f"with fewer than {FEWEST_OF_A_CLASS} rows of one of the classes"),
    ):
        if left_out.any():
            n_rows = int(sizes[left_out].sum())
            notes.append(
                f"{shown}: left out {counted(int(left_out.sum()), 'task')} {why} ({listed(names[left_out], 3)}), "
                f"{counted(n_rows, 'row')}"
            )
    kept = ~small & ~lopsided
    if kept.sum() < 2:
        raise TableError(
            f"{shown} has {counted(int(kept.sum()), 'task')} that can be learnt in column {quoted(column)}, of "
            f"{names.size}: each needs {FEWEST_TASK_ROWS} rows"
            f"{'' if classes is None else f', {FEWEST_OF_A_CLASS} of each class'}; add rows, or name another column"
        )
    return np.asarray(kept[codes])
