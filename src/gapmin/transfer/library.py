"""The kinds of learners that compete, and their settings, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid

from gapmin.linear import WeightedLogisticRegression
from gapmin.transfer.kernel import KernelClassifier, KernelRegressor

AS_IS, SCALED, RELEVANT = "as they are", "scaled", "scaled by relevance"
"""How columns reach a learner: unchanged; with unit variance; each by the size of its correlation with the label."""

_MANY_COLUMNS = 30
"""From so many on, learners that treat columns alike are also tried with columns scaled by relevance."""

_FEW_ROWS = 400
"""Below so many, boosted trees take smaller steps, and the probabilities of trees are tempered."""

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
        How columns reach it: `AS_IS`, `SCALED` or `RELEVANT`.
    final : mapping
        Parameters of the last fit, where they differ from those of the search.
    power : float
        To which its probabilities are raised: above 1 for surer.
    """

    kind: str
    estimator: Any
    columns: str = AS_IS
    final: Mapping[str, Any] = field(default_factory=dict)
    power: float = 1.0

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
    learners.append(_forest(regression, len_rows(X)))
    if sp.issparse(X):
        return learners
    if n_classes <= _MOST_BOOSTED_CLASSES:
        learners.append(_boosting(regression, *X.shape))
    kernel: Any = KernelRegressor if regression else KernelClassifier
    for way in ways:
        for gamma, alpha in ((0.3, 0.3),) if way == RELEVANT else ((1.0, 0.1), (0.3, 0.3)):
            learners.append(Learner("kernel", kernel(gamma, alpha, n_landmarks=300), way, {"n_landmarks": 1000}))
    return learners


def own_learners(estimator: Any, param_grid: Any) -> list[Learner]:
    """Return the user's learner with each setting of its grid."""
    settings = ParameterGrid({} if param_grid is None else param_grid)
    return [Learner(type(estimator).__name__, clone(estimator).set_params(**each)) for each in settings]


def len_rows(X: Any) -> int:
    """Return the number of rows."""
    return int(X.shape[0])


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


def _forest(regression: bool, n_rows: int) -> Learner:
    final = {"n_estimators": 200}
    if regression:
        return Learner("forest", ExtraTreesRegressor(20, min_samples_leaf=2), AS_IS, final)
    return Learner(
        "forest", ExtraTreesClassifier(20, max_features=0.3), AS_IS, final, 2.0 if n_rows < _FEW_ROWS else 1.0
    )


def _boosting(regression: bool, n_rows: int, n_columns: int) -> Learner:
    # Not scikit-learn's histogram kind: with weights, finding its bins takes forty times as long as these trees.
    kind: Any = GradientBoostingRegressor if regression else GradientBoostingClassifier
    few = n_rows < _FEW_ROWS
    step = 0.6 if few else 1.0
    booster = kind(
        n_estimators=30,
        learning_rate=0.2 * step,
        max_depth=4,
        max_features=min(16, max(1, round(0.3 * n_columns))),
        subsample=min(1.0, 1000 / n_rows),
    )
    final = {"n_estimators": 150, "learning_rate": 0.05 * step, "subsample": min(1.0, 20_000 / n_rows)}
    return Learner("boosting", booster, AS_IS, final, 0.5 if few and not regression else 1.0)
