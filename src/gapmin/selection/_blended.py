"""Fitted models whose predictions are averaged. What a search ends with; it has checked the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from gapmin._utils.parallel import run_parallel
from gapmin._utils.typing import Array
from gapmin.base import fit_with_domains
from gapmin.selection._fitting import inner_model, predict_any


class _Blended(BaseEstimator):
    """The part that classifier and regressor share.

    Parameters
    ----------
    estimators : list of estimators
        Each takes `sample_domain`.
    weights : list of float
        They sum to one.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted; without `sample_weight_`.
    sample_weight_ : ndarray of shape (n_rows,)
        The mean of the members' weights.
    """

    estimators_: list[Any]
    sample_weight_: Array
    classes_: NDArray[Any]

    def __init__(self, estimators: Sequence[Any], *, weights: Sequence[float]) -> None:
        self.estimators = estimators
        self.weights = weights

    def fit(self, X: Any, y: ArrayLike, *, sample_domain: ArrayLike | None = None, n_jobs: int | None = None) -> Self:
        """Fit every member to the same rows, so many at a time."""
        # In threads: trees and BLAS release the interpreter's lock, and the rows are not copied.
        tasks = [(clone(each), X, y, sample_domain) for each in self.estimators]
        self.estimators_ = list(run_parallel(fit_with_domains, tasks, n_jobs, threads=True))
        if isinstance(self, ClassifierMixin):
            self.classes_ = np.unique(np.asarray(y))
        # The members' own are let go: a model of many rows would hold them as often as it has members.
        used = [inner_model(each).__dict__.pop("sample_weight_") for each in self.estimators_]
        self.sample_weight_ = np.average(used, axis=0, weights=self.weights)
        return self

    def _mean(self, X: Any, classes: NDArray[Any] | None) -> Array:
        found = (predict_any(each, X, classes) for each in self.estimators_)
        return np.sum([weight * each for weight, each in zip(self.weights, found, strict=True)], axis=0)


class BlendedClassifier(ClassifierMixin, _Blended):
    """The mean of the members' probabilities."""

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`."""
        return self._mean(X, self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class BlendedRegressor(RegressorMixin, _Blended):
    """The mean of the members' values."""

    def predict(self, X: Any) -> Array:
        """Return the value of each row."""
        return self._mean(X, None)
