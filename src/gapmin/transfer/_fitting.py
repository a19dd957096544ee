"""A fit: some target rows and the rows of some sources, one learner in one form."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from gapmin._utils.parallel import one_thread
from gapmin._utils.text import one_line
from gapmin._utils.typing import Array
from gapmin.base import fit_with_domains
from gapmin.boosting.building_blocks import seed_unseeded

from ._likelihood import apply_to_classes, apply_to_values, correct_classes, correct_values
from .constants import RECALIBRATED, Sources
from .library import AS_IS, BINNED, FEW_ROWS, RELEVANT, Learner, bin_edges, column_moments

WITHOUT_SOURCES, HALF, NATURAL, METHOD = "target", "half", "natural", "by domain"
"""Forms, besides `RECALIBRATED`: the target's rows alone; pooled with half of the weight on the target; pooled as rows
are; a transfer method that is told which row comes from where."""

TargetFold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Positions among the target's rows that train, and that are tested."""


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
    links : tuple of ndarray of int
        Codes of all rows. A source row with the code of a target row must not train a model that is tested on it: it
        is the same row, or of the same group.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    n_classes: int
    numeric: bool = True
    links: tuple[NDArray[np.int64], ...] = ()

    @cached_property
    def target(self) -> NDArray[np.intp]:
        """The rows of the target."""
        return np.flatnonzero(self.domain < 0)

    def rows_of(self, sources: Sources, test: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """Return the rows of some sources that may train where `test`, or else every target row, is predicted."""
        rows = np.flatnonzero(np.isin(self.domain, sources))
        for codes in self.links:
            rows = rows[~np.isin(codes[rows], codes[self.target if test is None else self.target[test]])]
        return rows

    def take(self, rows: NDArray[np.intp]) -> Data:
        """Return some of the rows."""
        links = tuple(codes[rows] for codes in self.links)
        return replace(self, X=_safe_indexing(self.X, rows), y=self.y[rows], domain=self.domain[rows], links=links)

    @property
    def label_variance(self) -> float:
        """The variance of the target's labels in a regression."""
        variance = float(np.var(self.y[self.target]))
        return variance if variance > 0 else 1.0

    def losses(self, predicted: Array, y: NDArray[Any]) -> Array:
        """Return the Brier score or the squared error of each row."""
        if not self.n_classes:
            return np.asarray((predicted - y) ** 2)
        return np.asarray(((predicted - (y[:, None] == np.arange(self.n_classes))) ** 2).sum(axis=-1))


@dataclass(frozen=True)
class Setting:
    """A learner in one of its forms; two are equal if they are of one learner, not only of an equal one."""

    learner: Learner
    form: str

    def __str__(self) -> str:
        return str(self.learner) if self.form == WITHOUT_SOURCES else f"{self.learner}, {self.form}"


@dataclass(frozen=True)
class FittedLearner:
    """A fitted learner with the treatment of its columns and the correction of its output.

    Attributes
    ----------
    estimator : estimator
    form, columns : str
        See `Setting` and `Learner`.
    mean, scale : ndarray or None
        By which columns are centred and divided.
    edges : ndarray or None
        By which columns are binned.
    power : float
    n_classes : int
    correction : tuple of ndarray, or None
        What `correct_values` or `correct_classes` returned.
    weight : float
        Its share of its hypothesis.
    """

    estimator: Any
    form: str
    columns: str
    mean: Array | None
    scale: Array | None
    edges: Array | None
    power: float
    n_classes: int
    correction: tuple[Array, ...] | None = None
    weight: float = 1.0

    def predict(self, X: Any) -> Array:
        """Return values, or probabilities of all classes."""
        found = _predict(self.estimator, _treated(X, self.mean, self.scale, self.edges), self.n_classes, self.power)
        if self.correction is None:
            return found
        correct = apply_to_classes if self.n_classes else apply_to_values
        return np.asarray(correct(found, *self.correction)[0])


def _treated(X: Any, mean: Array | None, scale: Array | None, edges: Array | None) -> Any:
    """Return columns as the learner takes them."""
    if edges is not None:
        return np.column_stack([np.searchsorted(edge, column) for edge, column in zip(edges.T, X.T, strict=True)])
    if scale is None:
        return X
    return X.multiply(1 / scale).tocsr() if sp.issparse(X) else (X - mean) / scale


@dataclass(frozen=True)
class Preparation:
    """How the columns of a hypothesis reach a learner; it holds no labels, and is the same for every fold.

    Attributes
    ----------
    X : array, sparse matrix or data frame
        All rows, treated.
    mean, scale, edges : ndarray or None
        See `FittedLearner`.
    """

    X: Any
    mean: Array | None = None
    scale: Array | None = None
    edges: Array | None = None


def prepare(data: Data, learner: Learner, form: str, sources: Sources) -> Preparation:
    """Treat the columns by moments or quantiles of all rows in play, the target's held-out ones too."""
    if learner.columns == AS_IS:
        return Preparation(data.X)
    of_sources = data.X[np.isin(data.domain, sources)] if form != WITHOUT_SOURCES else data.X[:0]
    if learner.columns == BINNED:
        edges = bin_edges(data.X[data.target], of_sources)
        return Preparation(_treated(data.X, None, None, edges), edges=edges)
    stack: Any = sp.vstack if sp.issparse(data.X) else np.concatenate
    mean, scale = column_moments(stack([data.X[data.target], of_sources]))
    return Preparation(_treated(data.X, mean, scale, None), mean, scale)


def fit_learner(
    data: Data,
    learner: Learner,
    form: str,
    sources: Sources,
    fold: TargetFold | None,
    seed: int,
    ready: Preparation | None = None,
    aside: NDArray[np.intp] | None = None,
) -> FittedLearner:
    """Fit a learner to some target rows and the rows of the sources.

    Parameters
    ----------
    data : Data
    learner : Learner
    form : str
        `RECALIBRATED` trains on the sources alone; the correction is not its business.
    sources : tuple of int
    fold : tuple of ndarray, or None
        None for the last fit: every row trains, with the parameters of the last fit.
    seed : int
    ready : Preparation, optional
        From `prepare`, where it is used again.
    aside : ndarray of int, optional
        Rows of the sources that do not train.
    """
    ready = ready or prepare(data, learner, form, sources)
    of_target = data.target if fold is None else data.target[fold[0]]
    of_sources = data.rows_of(sources, None if fold is None or form == RECALIBRATED else fold[1])
    if form == WITHOUT_SOURCES:
        of_sources = of_sources[:0]
    elif form == RECALIBRATED:
        of_target = of_target[:0]
    if aside is not None:
        of_sources = np.setdiff1d(of_sources, aside, assume_unique=True)
    rows = np.concatenate([of_target, of_sources])
    X, y = _safe_indexing(ready.X, rows), data.y[rows]
    scale = ready.scale
    if learner.columns == RELEVANT:
        factor = np.maximum(_relevance(X, y, data.n_classes), 1e-9)
        X = X.multiply(factor).tocsr() if sp.issparse(X) else X * factor
        scale = scale / factor
    estimator = learner.make(last=fold is None)
    seed_unseeded(estimator, np.random.RandomState(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form == METHOD:
            fit_with_domains(estimator, X, y, data.domain[rows])
        else:
            _fit_weighted(estimator, X, y, of_target.size, form)
    power = learner.power if rows.size < FEW_ROWS else 1.0
    return FittedLearner(estimator, form, learner.columns, ready.mean, scale, ready.edges, power, data.n_classes)


def correct(model: FittedLearner, data: Data, fold: TargetFold | None) -> FittedLearner:
    """Return a model of the sources alone with its output corrected on the target rows that train."""
    rows = data.target if fold is None else data.target[fold[0]]
    whole = np.ones((1, rows.size), dtype=bool)
    fit: Any = correct_classes if data.n_classes else correct_values
    return replace(model, correction=fit(model.predict(_safe_indexing(data.X, rows)), data.y[rows], whole, slope=True))


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
    data: Data,
    learner: Learner,
    form: str,
    sources: Sources,
    folds: Sequence[TargetFold],
    seeds: Sequence[int],
    asides: Sequence[NDArray[np.intp]],
) -> list[Array | str]:
    """Return predictions of the rows that folds test, by models without them; what the learner says where it fails.

    With `RECALIBRATED` all target rows are predicted by one model of the sources alone, not corrected.

    Parameters
    ----------
    data : Data
    learner : Learner
    form : str
    sources : tuple of int
    folds : sequence of tuple of ndarray
    seeds : sequence of int
        One for each fold.
    asides : sequence of ndarray of int
        Source rows that do not train in a fold, and are predicted after those that it tests.
    """
    found: list[Array | str] = []
    with one_thread():
        ready = prepare(data, learner, form, sources)
        for fold, seed, aside in zip(folds, seeds, asides, strict=True):
            asked = data.target if form == RECALIBRATED else np.concatenate([data.target[fold[1]], aside])
            try:
                model = fit_learner(data, learner, form, sources, fold, seed, ready, aside)
                predicted = model.predict(_safe_indexing(data.X, asked))
            except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
                found.append(one_line(error))
            else:
                found.append(predicted if np.isfinite(predicted).all() else "it predicts what is no number")
    return found
