"""A fit: some target rows and the rows of some sources, one learner in one form."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from gapmin._utils.parallel import one_thread
from gapmin._utils.typing import Array
from gapmin.boosting.building_blocks import seed_unseeded

from ._likelihood import apply_to_classes, apply_to_values
from .evidence import Sources
from .library import AS_IS, RELEVANT, Learner, column_moments

TARGET, HALF, NATURAL, RECALIBRATED = "target", "half", "natural", "recalibrated"
"""Forms: the target's rows alone; pooled with half of the weight on the target; pooled as rows are; corrected."""


@dataclass(frozen=True)
class Data:
    """Rows of the target and of its sources.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : ndarray
        Numbers, or codes of classes.
    domain : ndarray of int
        Below 0 for the target, else the number of the source.
    n_classes : int
        0 for a regression.
    numeric : bool
        Whether X is numbers that may be scaled; else it reaches the learner as it is.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    n_classes: int
    numeric: bool = True

    @cached_property
    def target(self) -> NDArray[np.intp]:
        """The rows of the target."""
        return np.flatnonzero(self.domain < 0)

    def rows_of(self, sources: Sources) -> NDArray[np.intp]:
        """Return the rows of some sources."""
        return np.flatnonzero(np.isin(self.domain, sources))

    @property
    def label_variance(self) -> float:
        """The variance of the target's labels in a regression."""
        variance = float(np.var(self.y[self.target]))
        return variance if variance > 0 else 1.0

    def losses(self, predicted: Array) -> Array:
        """Return the Brier score or the squared error of each target row, for one set of predictions or several."""
        y = self.y[self.target]
        if not self.n_classes:
            return np.asarray((predicted - y) ** 2)
        return np.asarray(((predicted - (y[:, None] == np.arange(self.n_classes))) ** 2).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Setting:
    """A learner in one of its forms."""

    learner: Learner
    form: str

    def __str__(self) -> str:
        return str(self.learner) if self.form == TARGET else f"{self.learner}, {self.form}"


@dataclass(frozen=True)
class FittedLearner:
    """A fitted learner with the treatment of its columns and the correction of its output.

    Attributes
    ----------
    estimator : estimator
    mean, scale : ndarray or None
        By which columns are centred and divided.
    power : float
    n_classes : int
    correction : tuple of ndarray, or None
        What `correct_values` or `correct_classes` returned.
    """

    estimator: Any
    mean: Array | None
    scale: Array | None
    power: float
    n_classes: int
    correction: tuple[Array, ...] | None = None

    def predict(self, X: Any) -> Array:
        """Return values, or probabilities of all classes."""
        if self.scale is not None:
            X = X.multiply(1 / self.scale).tocsr() if sp.issparse(X) else (X - self.mean) / self.scale
        found = _predict(self.estimator, X, self.n_classes, self.power)
        if self.correction is None:
            return found
        correct = apply_to_classes if self.n_classes else apply_to_values
        return np.asarray(correct(found, *self.correction)[0])


def fit_learner(
    data: Data, learner: Learner, form: str, sources: Sources, train: NDArray[np.intp], seed: int, *, last: bool = False
) -> FittedLearner:
    """Fit a learner to some target rows and all rows of the sources.

    Parameters
    ----------
    data : Data
    learner : Learner
    form : str
        `RECALIBRATED` trains on the sources alone; the correction is not its business.
    sources : tuple of int
    train : ndarray of int
        Rows of the target.
    seed : int
    last : bool
        Whether to use the parameters of the last fit.
    """
    of_sources = data.rows_of(sources) if form != TARGET else np.empty(0, dtype=np.intp)
    of_target = train if form != RECALIBRATED else np.empty(0, dtype=np.intp)
    rows = np.concatenate([of_target, of_sources])
    X, y = _safe_indexing(data.X, rows), data.y[rows]
    mean = scale = None
    if learner.columns != AS_IS:
        # Means and variances of all rows in play, the target's held-out ones too: they hold no labels.
        whole = np.concatenate([data.target, data.rows_of(sources)]) if form != TARGET else data.target
        mean, scale = column_moments(_safe_indexing(data.X, whole))
        if learner.columns == RELEVANT:
            factor = _relevance(_scaled(X, mean, scale), y, data.n_classes)
            scale = scale / np.maximum(factor, 1e-9)
        X = _scaled(X, mean, scale)
    estimator = learner.make(last=last)
    seed_unseeded(estimator, np.random.RandomState(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit_weighted(estimator, X, y, of_target.size, form)
    return FittedLearner(estimator, mean, scale, learner.power, data.n_classes)


def _scaled(X: Any, mean: Array, scale: Array) -> Any:
    return X.multiply(1 / scale).tocsr() if sp.issparse(X) else (X - mean) / scale


def _relevance(X: Any, y: NDArray[Any], n_classes: int) -> Array:
    """Return the size of each column's correlation with the label less what chance gives, in units of the mean one."""
    labels = (y[:, None] == np.unique(y)).astype(float) if n_classes else y[:, None].astype(float)
    centred = labels - labels.mean(axis=0)
    n = len(centred)
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).mean(axis=0)).ravel() - mean**2
    spread = np.maximum(square, 0.0)[:, None] * (centred**2).mean(axis=0)
    joint = np.asarray(X.T @ centred) / n
    squares = np.divide(joint**2, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    found = np.maximum(squares.mean(axis=1) - 1 / max(n - 1, 1), 0.0)
    total = float(np.maximum(square, 0.0) @ found)
    return np.sqrt(found * (np.maximum(square, 0.0).sum() / total)) if total > 0 else np.ones(found.size)


def _fit_weighted(estimator: Any, X: Any, y: NDArray[Any], n_target: int, form: str) -> None:
    """Fit with half of the weight on the first rows, the target's; by repeating them where no weights are taken."""
    n_source = len(y) - n_target
    if form != HALF or not n_source or not n_target:
        estimator.fit(X, y)
        return
    inner = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if has_fit_parameter(inner, "sample_weight"):
        name = f"{estimator.steps[-1][0]}__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
        weight = np.repeat([len(y) / 2 / n_target, len(y) / 2 / n_source], [n_target, n_source])
        estimator.fit(X, y, **{name: weight})
        return
    times = max(round(n_source / n_target), 1)
    rows = np.concatenate([np.tile(np.arange(n_target), times), np.arange(n_target, len(y))])
    estimator.fit(_safe_indexing(X, rows), y[rows])


def _predict(estimator: Any, X: Any, n_classes: int, power: float) -> Array:
    if not n_classes:
        return np.asarray(estimator.predict(X), dtype=np.float64)
    known = np.asarray(estimator.classes_, dtype=np.intp)
    if hasattr(estimator, "predict_proba"):
        own = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    elif hasattr(estimator, "decision_function"):
        margin = np.asarray(estimator.decision_function(X), dtype=np.float64)
        margin = np.column_stack([-margin, margin]) / 2 if margin.ndim == 1 else margin
        own = np.exp(margin - margin.max(axis=1, keepdims=True))
    else:
        own = (np.asarray(estimator.predict(X))[:, None] == known).astype(float)
    if power != 1:
        own = (own / own.max(axis=1, keepdims=True)) ** power
    own = own / own.sum(axis=1, keepdims=True)
    found = np.zeros((len(own), n_classes))
    found[:, known] = own
    return found


def held_out(
    data: Data, learner: Learner, form: str, sources: Sources, test: NDArray[np.intp], seed: int
) -> Array | None:
    """Return predictions of some target rows by a model without them; None where the learner fails.

    With `RECALIBRATED` all target rows are predicted by the model of the sources alone, not corrected.

    Parameters
    ----------
    data : Data
    learner : Learner
    form : str
    sources : tuple of int
    test : ndarray of int
        Positions among the target's rows.
    seed : int
    """
    asked = data.target if form == RECALIBRATED else data.target[test]
    try:
        with one_thread():
            model = fit_learner(data, learner, form, sources, np.delete(data.target, test), seed)
            found = model.predict(_safe_indexing(data.X, asked))
    except (ValueError, FloatingPointError, np.linalg.LinAlgError):
        return None
    return found if np.isfinite(found).all() else None
