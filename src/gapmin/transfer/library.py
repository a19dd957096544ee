"""The kinds of learners that compete, and their settings, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid

from gapmin._utils.typing import Array
from gapmin.boosting import (
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.linear import GapWeightingClassifier, GapWeightingRegressor, WeightedLogisticRegression

from .kernel import KernelClassifier, KernelRegressor

AS_IS, SCALED, RELEVANT, BINNED = "as they are", "scaled", "scaled by relevance", "binned"
"""How columns reach a learner: unchanged; with unit variance; each by the size of its correlation with the label; as
the number of the quantile."""

METHODS = {
    "gapBoost": (GapBoostClassifier, GapBoostRegressor),
    "GapWeighting": (GapWeightingClassifier, GapWeightingRegressor),
    "TrAdaBoost": (TrAdaBoostClassifier, TrAdaBoostRegressor),
    "TransferBoost": (TransferBoostClassifier, None),
}
"""The paper's methods that a user can add, for classes and for numbers."""

_N_EDGES = 63
"""Of the bins: half of them are quantiles of the target, half of the sources."""

_MOST_LEAVES = 2000
"""About so many leaves has a tree of the last forest at most: with many rows, leaves hold several."""

_MANY_COLUMNS = 30
"""From so many on, learners that treat columns alike are also tried with columns scaled by relevance."""

FEW_ROWS = 400
"""A fit to fewer raises the probabilities of trees to the power of their learner."""

_FAR = 100.0
"""Columns whose mean is further from 0 than so many standard deviations are always scaled."""

_MOST_BOOSTED_CLASSES = 4
"""With more classes boosting is left out: each stage has a tree for every class."""


@dataclass(frozen=True, eq=False)
class Learner:
    """A learner with settings.

    Attributes
    ----------
    kind : str
        "linear", "kernel", "forest", "boosting", or the class of the user's own.
    estimator : estimator
        Unfitted.
    columns : str
        How columns reach it: `AS_IS`, `SCALED`, `RELEVANT` or `BINNED`.
    final : mapping
        Parameters of the last fit, where they differ from those of the search.
    power : float
        To which its probabilities are raised after a fit to few rows: above 1 for surer.
    by_domain : bool
        Whether it is a transfer method, which is told which row comes from where.
    """

    kind: str
    estimator: Any
    columns: str = AS_IS
    final: Mapping[str, Any] = field(default_factory=dict)
    power: float = 1.0
    by_domain: bool = False

    def make(self, *, last: bool) -> Any:
        """Return the estimator for a fit of the search, or for the last one."""
        made = clone(self.estimator)
        return made.set_params(**self.final) if last and self.final else made

    def __str__(self) -> str:
        shown = " ".join(repr(self.estimator).split())
        return shown if self.columns == AS_IS else f"{shown}, columns {self.columns}"


def default_learners(regression: bool, X: Any, n_classes: int) -> list[Learner]:
    """Return what competes where the user names no learner.

    Parameters
    ----------
    regression : bool
    X : array or sparse matrix of shape (n_rows, n_features)
        All rows, numbers.
    n_classes : int
    """
    ways = _columns(regression, X)
    learners = [
        Learner("linear", estimator, way, final)
        for way in ways
        for estimator, final in (_linear_regressors() if regression else _linear_classifiers())
    ]
    learners.append(_forest(regression, X.shape[0]))
    if sp.issparse(X):
        return learners
    if n_classes <= _MOST_BOOSTED_CLASSES:
        learners.append(_boosting(regression))
    kernel: Any = KernelRegressor if regression else KernelClassifier
    for way in ways:
        for gamma, alpha in ((0.3, 0.3),) if way == RELEVANT else ((1.0, 0.1), (0.3, 0.3)):
            learners.append(Learner("kernel", kernel(gamma, alpha, n_landmarks=300), way, {"n_landmarks": 1000}))
    return learners


def own_learners(estimator: Any, param_grid: Any) -> list[Learner]:
    """Return the user's learner with each setting of its grid."""
    settings = ParameterGrid({} if param_grid is None else param_grid)
    return [Learner(type(estimator).__name__, clone(estimator).set_params(**each)) for each in settings]


def added_methods(names: Sequence[str], regression: bool, n_classes: int, estimator: Any = None) -> list[Learner]:
    """Return the transfer methods that the user adds: around the user's learner, or on scaled columns."""
    learners = []
    for name in names:
        if name not in METHODS:
            raise ValueError(f"methods has {name!r}: choose from {', '.join(METHODS)}")
        kind = METHODS[name][regression]
        if kind is None:
            raise ValueError(f"methods has {name!r}, which is for classes: leave it out for a regression")
        if name == "GapWeighting" and n_classes > 2:
            raise ValueError(f"methods has {name!r}, which is for two classes, and there are {n_classes}: leave it out")
        if name == "GapWeighting" and estimator is not None:
            raise ValueError(f"methods has {name!r}, which is linear: leave it out, or give no estimator")
        made, columns = (kind(), SCALED) if estimator is None else (kind(clone(estimator)), AS_IS)
        learners.append(Learner(name, made, columns, by_domain=True))
    return learners


def _columns(regression: bool, X: Any) -> list[str]:
    """Return the ways in which columns reach linear and kernel learners."""
    ways = [SCALED]
    if not regression:
        mean, scale = column_moments(X)
        if sp.issparse(X) or float(np.max(np.abs(mean) / scale)) <= _FAR:
            alike = scale.max() <= 2 * scale.min() and scale.min() > 0.1 and scale.max() < 10
            ways = [AS_IS] if alike else [AS_IS, SCALED]
    return [*ways, RELEVANT] if X.shape[1] >= _MANY_COLUMNS else ways


def column_moments(X: Any) -> tuple[Any, Any]:
    """Return mean and standard deviation of each column; 1 for a constant one, and mean 0 of a sparse matrix."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        scale = np.sqrt(np.maximum(square - mean**2, 0.0))
        return np.zeros_like(mean), np.where(scale > 0, scale, 1.0)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    constant = scale <= 1e-12 * np.maximum(np.abs(mean), np.abs(X).max(axis=0, initial=0.0))
    return mean, np.where(constant, 1.0, scale)


def _linear_classifiers() -> list[tuple[Any, dict[str, Any]]]:
    return [(WeightedLogisticRegression(lam, tol=1e-5), {"tol": 1e-8}) for lam in (0.1, 0.01, 0.001)]


def _linear_regressors() -> list[tuple[Any, dict[str, Any]]]:
    return [(Ridge(alpha), {}) for alpha in (100.0, 10.0, 1.0, 0.1)]


def bin_edges(target: Array, sources: Array) -> Array:
    """Return quantiles of the target's and of the sources' columns, a column of ascending edges for each."""
    parts = [each for each in (target, sources) if len(each)]
    counts = [_N_EDGES] if len(parts) == 1 else [_N_EDGES // 2, _N_EDGES - _N_EDGES // 2]
    quantiles = [
        np.quantile(part, np.linspace(0, 1, count + 2)[1:-1], axis=0) for part, count in zip(parts, counts, strict=True)
    ]
    return np.sort(np.concatenate(quantiles), axis=0)


def _forest(regression: bool, n_rows: int) -> Learner:
    leaf = max(n_rows // _MOST_LEAVES, 1)
    final: dict[str, Any] = {"n_estimators": 75, "min_samples_leaf": max(leaf, 2 if regression else 1)}
    if regression:
        return Learner("forest", ExtraTreesRegressor(15, min_samples_leaf=2), AS_IS, final)
    trees = ExtraTreesClassifier(15, max_features=0.3)
    return Learner("forest", trees, AS_IS, final, 2.0)


def _boosting(regression: bool) -> Learner:
    # Binned beforehand, or with weights scikit-learn takes forty times as long to find its bins as to grow its trees.
    kind: Any = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    booster = kind(
        max_iter=30,
        learning_rate=0.15,
        max_depth=4,
        max_features=0.3,
        min_samples_leaf=3,
        max_bins=_N_EDGES + 1,
        early_stopping=False,
    )
    return Learner("boosting", booster, BINNED, {"max_iter": 120, "learning_rate": 0.04}, 0.5)
