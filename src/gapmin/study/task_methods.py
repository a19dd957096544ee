"""The ways to learn many tasks that compete: each task by itself, all as one, the linear settings, the network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from gapmin._utils.extras import how_to_install
from gapmin._utils.parallel import one_thread
from gapmin._utils.typing import Array
from gapmin.linear import (
    ParameterSharingClassifier,
    ParameterSharingRegressor,
    TaskCovarianceClassifier,
    TaskCovarianceRegressor,
    TaskWeightingClassifier,
    TaskWeightingRegressor,
)

SINGLE, POOLED, WEIGHTING, SHARING, COVARIANCE, NETWORK = (
    "single task",
    "pooled",
    "TaskWeighting",
    "ParameterSharing",
    "TaskCovariance",
    "network (gapMTNN)",
)
CHOSEN_METHOD = "chosen"

_STRENGTHS = (0.1, 0.01, 0.001)
_MOST_TASKS_OF_COVARIANCE = 20
_MOST_TASKS_OF_WEIGHTING = 20
_NETWORK: dict[str, Any] = {
    "head_hidden": 0,
    "batch_size": 32,
    "lr": 3e-3,
    "early_stopping": True,
    "patience": 30,
    "device": "cpu",
}
_NETWORK_STEPS = 2000


@dataclass(frozen=True)
class Candidate:
    """A method with settings.

    Attributes
    ----------
    method : str
    settings : tuple of (str, float)
    """

    method: str
    settings: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class FittedTasks:
    """A fitted method: coefficients of each task, or a network.

    Attributes
    ----------
    tasks : list of str
    coef : ndarray of shape (n_tasks, n_features) or None
    intercept : ndarray of shape (n_tasks,) or None
    network : MultitaskClassifier, MultitaskRegressor or None
    level, unit : float
        Of numbers: what is predicted is ``level + unit * output``.
    classes : bool
        Whether the second of two classes is predicted, and not a number.
    """

    tasks: list[str]
    coef: Array | None
    intercept: Array | None
    network: Any
    level: float
    unit: float
    classes: bool

    def predict(self, X: Array, task: NDArray[Any]) -> Array:
        """Return a number for each row: of classes the probability of the second one."""
        if self.network is not None:
            if self.classes:
                return np.asarray(self.network.predict_proba(X, sample_task=task)[:, 1], dtype=np.float64)
            return self.level + self.unit * np.asarray(self.network.predict(X, sample_task=task))
        assert self.coef is not None
        assert self.intercept is not None
        at = np.searchsorted(self.tasks, task)
        score = np.einsum("ij,ij->i", X, self.coef[at]) + self.intercept[at]
        return expit(score) if self.classes else self.level + self.unit * score


def candidates(n_tasks: int, *, network: bool, notes: list[str]) -> list[Candidate]:
    """Return what competes; note what is left out."""
    found = [Candidate(name, (("lam", lam),)) for name in (SINGLE, POOLED) for lam in _STRENGTHS]
    found += [Candidate(SHARING, (("lam0", lam0), ("lam", lam))) for lam0 in (0.01, 0.001) for lam in _STRENGTHS]
    for name, most in ((WEIGHTING, _MOST_TASKS_OF_WEIGHTING), (COVARIANCE, _MOST_TASKS_OF_COVARIANCE)):
        if n_tasks <= most:
            found += [Candidate(name, (("lam", lam),)) for lam in _STRENGTHS]
        else:
            notes.append(f"{name} is left out: it is for up to {most} tasks here, and there are {n_tasks}")
    if network and find_spec("torch") is None:
        notes.append(f"the network is left out: it needs PyTorch: {how_to_install('deep')}")
    elif network:
        found.append(Candidate(NETWORK))
    else:
        notes.append("the network is left out, as asked")
    return found


def fit_tasks(
    candidate: Candidate, X: Array, y: NDArray[Any], task: NDArray[Any], classes: bool, seed: int
) -> FittedTasks:
    """Fit a method to rows of several tasks; y is 0 or 1 for two classes."""
    tasks = np.unique(task).tolist()
    level, unit = (0.0, 1.0) if classes else (float(y.mean()), float(y.std()) or 1.0)
    target = y.astype(np.int64) if classes else (y - level) / unit
    if candidate.method == NETWORK:
        from gapmin.deep import MultitaskClassifier, MultitaskRegressor

        kind: Any = MultitaskClassifier if classes else MultitaskRegressor
        with one_thread():
            steps = -(-int(np.unique(task, return_counts=True)[1].max()) // _NETWORK["batch_size"])
            epochs = -(-_NETWORK_STEPS // steps)
            network = kind("gapmtnn", epochs=epochs, random_state=seed, **_NETWORK).fit(X, target, sample_task=task)
        return FittedTasks(tasks, None, None, network, level, unit, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # held-out rows say how good it is
        model = _linear(candidate, task, classes).fit(X, target, sample_task=task)
    intercept = np.broadcast_to(model.intercept_, len(tasks)).astype(float)
    return FittedTasks(tasks, np.asarray(model.coef_), intercept, None, level, unit, classes)


def _linear(candidate: Candidate, task: NDArray[Any], classes: bool) -> Any:
    settings: dict[str, Any] = dict(candidate.settings)
    weighting: Any = TaskWeightingClassifier if classes else TaskWeightingRegressor
    if candidate.method in (SINGLE, POOLED):
        sizes = np.unique(task, return_counts=True)[1]
        pooled = np.tile(sizes / sizes.sum(), (sizes.size, 1))
        settings["relation"] = np.eye(sizes.size) if candidate.method == SINGLE else pooled
        return weighting(**settings)
    if candidate.method == WEIGHTING:
        return weighting(relation="learn", **settings)
    if candidate.method == SHARING:
        return (ParameterSharingClassifier if classes else ParameterSharingRegressor)(**settings)
    return (TaskCovarianceClassifier if classes else TaskCovarianceRegressor)(**settings)


def row_losses(predicted: Array, y: NDArray[Any], classes: bool) -> Array:
    """Return what settings and methods are chosen by: the log loss of two classes, the squared error of numbers."""
    if not classes:
        return np.asarray((predicted - y) ** 2)
    share = np.clip(np.where(y == 1, predicted, 1 - predicted), 1e-6, 1.0)
    return -np.log(share)


def choose_by_other_folds(losses: Array, fold: NDArray[np.intp], allowed: Sequence[int]) -> NDArray[np.intp]:
    """Return for each row the candidate that the rows of the other folds choose: no row chooses what predicts it.

    Parameters
    ----------
    losses : ndarray of shape (n_candidates, n_rows)
    fold : ndarray of shape (n_rows,)
    allowed : sequence of int
        The candidates that may be chosen.

    Examples
    --------
    The rows of fold 1 prefer candidate 0, so those of fold 0 get it:

    >>> losses = np.array([[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0]])
    >>> choose_by_other_folds(losses, np.array([0, 0, 1, 1]), [0, 1])
    array([0, 0, 1, 1])
    """
    chosen = np.empty(losses.shape[1], dtype=np.intp)
    for each in np.unique(fold):
        means = losses[:, fold != each].mean(axis=1)
        chosen[fold == each] = min(allowed, key=lambda c: means[c])
    return chosen
