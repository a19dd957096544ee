"""Which tasks of a table to train together, and how: held-out errors by task, and the model that is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.parallel import run_parallel
from gapmin._utils.typing import Array
from gapmin.transfer import Score
from gapmin.transfer.scoring import make_scoring

from .affinity import TaskAffinity, draw_task_folds, task_affinity
from .preprocessing import preprocessor
from .task_methods import (
    CHOSEN_METHOD,
    POOLED,
    SINGLE,
    Candidate,
    FittedTasks,
    candidates,
    choose_by_other_folds,
    fit_tasks,
    row_losses,
)
from .task_table import TaskTable

N_FOLDS = 5


@dataclass(frozen=True)
class TaskScores:
    """Held-out scores of one task, or of all rows.

    Attributes
    ----------
    name : str
    n_rows : int
    scores : dict of method to Score
        The error rate or the root mean squared error, with 95% intervals over rows.
    changes : dict of method to Score
        The score less that of each task alone.
    """

    name: str
    n_rows: int
    scores: dict[str, Score]
    changes: dict[str, Score]


@dataclass(frozen=True, eq=False)
class TaskStudy:
    """What a comparison of ways to learn many tasks found.

    Attributes
    ----------
    table : TaskTable
        The rows.
    method : Candidate
        What is kept: the method with the lowest held-out loss over all rows, if the interval of `loss_change` is below
        0, else each task alone.
    lowest : Candidate
        The method with the lowest held-out loss over all rows.
    loss_change : Score
        The mean held-out loss of methods that other folds choose, less that of each task alone.
    metric : str
        The name of the error that is reported.
    overall : TaskScores
        Over all rows.
    by_task : list of TaskScores
        Of each task.
    affinity : TaskAffinity
        Who can teach whom.
    prepare : ColumnTransformer
        Fitted on all rows.
    model : FittedTasks
        `method` on all rows.
    notes : tuple of str
        What was decided and left out.
    """

    table: TaskTable
    method: Candidate
    lowest: Candidate
    loss_change: Score
    metric: str
    overall: TaskScores
    by_task: list[TaskScores]
    affinity: TaskAffinity
    prepare: Any
    model: FittedTasks
    notes: tuple[str, ...]

    def decision(self) -> str:
        """Return in a sentence or two which tasks to train together, and how."""
        loss = self.loss
        by = _shown(self.loss_change, loss)
        if self.lowest.method == SINGLE:
            return (
                f"Train each task alone: no method that lets tasks learn from each other has a lower held-out {loss}."
            )
        if self.method.method == SINGLE:
            return (
                "Train each task alone: no evidence that training together helps. The lowest held-out "
                f"{loss} is that of {self.lowest.method}, but where the other folds choose the method, it changes by "
                f"{by}."
            )
        error = _shown(self.overall.changes[CHOSEN_METHOD], self.metric)
        return (
            f"Train the tasks together, by {self.method.method}: where the other folds choose the method, the held-out "
            f"{loss} changes by {by}, the {self.metric} by {error}."
        )

    @property
    def loss(self) -> str:
        """The name of the loss that methods are chosen by."""
        return "log loss" if self.table.schema.task == "classification" else "mean squared error"

    def to_dict(self) -> dict[str, Any]:
        """Return all but the models as JSON has it."""
        frame = self.affinity.to_frame()
        finite = np.isfinite(frame[["low", "high"]].to_numpy()).all(axis=1)
        pairs = frame[finite].to_dict("records")
        return {
            "task_column": self.table.task_column,
            "label": self.table.schema.label,
            "kind": self.table.schema.task,
            "method": self.method.method,
            "settings": dict(self.method.settings),
            "lowest": self.lowest.method,
            "loss": self.loss,
            "loss_change": _score_to_dict(self.loss_change),
            "metric": self.metric,
            "decision": self.decision(),
            "groups": self.affinity.groups(),
            "overall": _scores_to_dict(self.overall),
            "tasks": [_scores_to_dict(each) for each in self.by_task],
            "affinity": pairs,
            "notes": list(self.notes),
        }


def study_tasks(
    table: TaskTable,
    *,
    network: bool = True,
    n_jobs: int | None = None,
    random_state: int = 0,
    on_progress: Callable[[int, int], object] = lambda done, total: None,
) -> TaskStudy:
    """Let ways to learn many tasks compete on held-out rows, and fit the best one to all rows.

    Columns are prepared anew in each fold. For the rows of a fold the other folds choose the settings of each method,
    and the method: no row chooses what predicts it. Where the loss of what is chosen so is not lower than that of each
    task alone, by a 95% interval, each task alone is kept.

    Parameters
    ----------
    table : TaskTable
        Of `read_task_table`.
    network : bool, default=True
        Whether the network competes, where PyTorch is installed.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, default=0
        Seed of folds and networks.
    on_progress : callable
        Given the number of fits done and of all.

    Returns
    -------
    TaskStudy
        How each way did, and the fitted model.
    """
    notes = list(table.notes)
    classes = table.schema.task == "classification"
    y = np.asarray(table.y == table.schema.classes[1], dtype=float) if table.schema.classes else table.y.astype(float)
    names, codes = np.unique(table.task, return_inverse=True)
    every = candidates(names.size, network=network, notes=notes)
    (folds,) = draw_task_folds(codes, y.astype(np.intp) if classes else None, N_FOLDS, 1, random_state)
    matrices = [_prepared(table, train, random_state) for train, _ in folds]
    jobs = [(c, f) for c in range(len(every)) for f in range(len(folds))]
    predicted, fold = np.full((len(every), y.size), np.nan), np.zeros(y.size, dtype=np.intp)
    work = ((every[c], matrices[f], y, table.task, folds[f][0], folds[f][1], classes, random_state) for c, f in jobs)
    results = run_parallel(_predict_fold, work, n_jobs)
    for number, ((c, f), values) in enumerate(zip(jobs, results, strict=True), start=1):
        predicted[c, folds[f][1]], fold[folds[f][1]] = values, f
        on_progress(number, len(jobs))
    losses = np.stack([row_losses(each, y, classes) for each in predicted])
    shown: dict[str, Array] = {}
    for name in dict.fromkeys(each.method for each in every):
        mine = [i for i, each in enumerate(every) if each.method == name]
        shown[name] = predicted[choose_by_other_folds(losses, fold, mine), np.arange(y.size)]
    shown[CHOSEN_METHOD] = predicted[choose_by_other_folds(losses, fold, range(len(every))), np.arange(y.size)]
    means = losses.mean(axis=1)
    lowest = every[int(np.argmin(means))]
    together, alone = (row_losses(shown[name], y, classes) for name in (CHOSEN_METHOD, SINGLE))
    change = _mean_with_interval(together - alone)
    helps = lowest.method == SINGLE or change.high < 0
    best = (
        lowest
        if helps
        else every[min((i for i, each in enumerate(every) if each.method == SINGLE), key=lambda i: means[i])]
    )
    metric, overall = _score("all tasks", shown, y, classes)
    by_task = [_score(str(name), _rows(shown, codes == k), y[codes == k], classes)[1] for k, name in enumerate(names)]
    prepare = preprocessor(table.schema).fit(table.X)
    X = np.asarray(prepare.transform(table.X), dtype=np.float64)
    model = fit_tasks(best, X, y, table.task, classes, random_state)
    affinity = task_affinity(X, table.y if classes else y, table.task, random_state=random_state)
    return TaskStudy(table, best, lowest, change, metric, overall, by_task, affinity, prepare, model, tuple(notes))


def _prepared(table: TaskTable, train: NDArray[Any], seed: int) -> Array:
    prepare = preprocessor(table.schema).fit(table.X.iloc[train])
    return np.asarray(prepare.transform(table.X), dtype=np.float64)


def _predict_fold(
    candidate: Candidate,
    X: Array,
    y: Array,
    task: NDArray[Any],
    train: NDArray[Any],
    test: NDArray[Any],
    classes: bool,
    seed: int,
) -> Array:
    return fit_tasks(candidate, X[train], y[train], task[train], classes, seed).predict(X[test], task[test])


def _rows(shown: dict[str, Array], here: NDArray[np.bool_]) -> dict[str, Array]:
    return {name: each[here] for name, each in shown.items()}


def _score(name: str, shown: dict[str, Array], y: Array, classes: bool) -> tuple[str, TaskScores]:
    """Score held-out predictions, with each task alone as what others are compared with."""
    codes = np.arange(2) if classes else None
    scoring = make_scoring(None, codes, codes, None)
    (metric,) = scoring.metrics
    labels = y.astype(np.intp) if classes else y
    given: dict[Any, Array] = {
        None if method == SINGLE else method: (np.stack([1 - each, each], axis=1) if classes else each)[None]
        for method, each in shown.items()
    }
    found = scoring.score(metric, given, labels)
    scores = {SINGLE if key is None else key: found[key] for key in given}
    changes = {key: found[key, "change"] for key in given if key is not None}
    return metric, TaskScores(name, len(y), scores, changes)


def _mean_with_interval(values: Array) -> Score:
    """Return the mean over rows with its 95% interval."""
    mean, half = float(values.mean()), 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5
    return Score(mean, mean - half, mean + half)


def _score_to_dict(score: Score) -> dict[str, float | None]:
    values = {"value": score.value, "low": score.low, "high": score.high}
    return {name: float(each) if np.isfinite(each) else None for name, each in values.items()}


def _scores_to_dict(given: TaskScores) -> dict[str, Any]:
    return {
        "name": given.name,
        "n_rows": given.n_rows,
        "scores": {name: _score_to_dict(each) for name, each in given.scores.items()},
        "changes": {name: _score_to_dict(each) for name, each in given.changes.items()},
    }


def scores_from_dict(given: dict[str, Any]) -> TaskScores:
    """Return the scores that an entry of `TaskStudy.to_dict` holds."""

    def score(values: dict[str, float | None]) -> Score:
        value, low, high = (np.nan if (each := values[key]) is None else each for key in ("value", "low", "high"))
        return Score(float(value), float(low), float(high))

    scores, changes = ({name: score(each) for name, each in given[key].items()} for key in ("scores", "changes"))
    return TaskScores(str(given["name"]), int(given["n_rows"]), scores, changes)


def _shown(change: Score, metric: str) -> str:
    """Return a change with its interval, error rates in points."""
    values = (change.value, change.low, change.high)
    if metric == "error rate":
        value, low, high = (f"{100 * each:+.1f}" for each in values)
        return f"{value} points (95% interval {low} to {high})"
    value, low, high = (f"{each:+.3g}" for each in values)
    return f"{value} (95% interval {low} to {high})"


__all__ = ["CHOSEN_METHOD", "POOLED", "SINGLE", "TaskScores", "TaskStudy", "study_tasks"]
