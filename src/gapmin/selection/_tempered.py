"""Classifiers that are made surer of themselves, or less sure, than their learner left them."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.typing import Array


class TemperedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are raised to a power and made to sum to one again.

    A mean of models goes with the surest of them where they differ. A forest's shares of votes are less sure than it
    has reason to be, and boosted trees are sure of what they know by heart: each is corrected before the mean.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`.
    power : float, default=1
        Above 1 for surer, below for less sure; the class that is predicted stays the same.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = TemperedClassifier(DummyClassifier(), power=2).fit([[0], [0], [0]], [0, 0, 1])
    >>> model.predict_proba([[0]]).round(3).tolist()
    [[0.8, 0.2]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "power": [Interval(Real, 0, None, closed="neither")],
    }

    estimator_: Any
    classes_: NDArray[Any]

    def __init__(self, estimator: Any, *, power: float = 1.0) -> None:
        self.estimator = estimator
        self.power = power

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to the rows."""
        self._validate_params()
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of features seen in `fit`."""
        return int(self.estimator_.n_features_in_)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        own: Array = self.estimator_.predict_proba(X)
        raised = (own / own.max(axis=1, keepdims=True)) ** self.power
        return raised / raised.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))
