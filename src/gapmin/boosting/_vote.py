"""From learners to predictions: the vote of classifiers, the mean and the median of regressors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils._param_validation import StrOptions

from gapmin._utils.typing import Array
from gapmin.boosting._base import BaseBoosting
from gapmin.boosting._loss import RELATIVE_LOSSES
from gapmin.linear import WeightedLogisticRegression
from gapmin.linear.solvers import margin_probabilities


class VotingClassifierMixin(ClassifierMixin, BaseBoosting):
    """f(x) = sum_k alpha_k h_k(x), where h_k votes with its label or, softly, with its probabilities.

    With two classes h_k is -1 or 1 (softly tanh of half its log-odds) and f has one column; otherwise f has one for
    each class, and h_k gives its class 1 and the others 0.
    """

    vote: str = "hard"

    def _default_learner(self) -> BaseEstimator:
        return WeightedLogisticRegression()

    def decision_function(self, X: Any) -> Array:
        """Return f(x): of shape (n_rows,) for two classes, its sign the decision; else (n_rows, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._margin(self._tally(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._decide(self.decision_function(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the share of the vote that each class has, in the order of `classes_`.

        A learner with a negative weight votes for the classes it does not name.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._share(self._tally(X), self._voters(len(self.estimators_)))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield `decision_function` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        for tally, _ in self._staged_tally(X):
            yield self._margin(tally)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        for margin in self.staged_decision_function(X):
            yield self._decide(margin)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield `predict_proba` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        for tally, voters in self._staged_tally(X):
            yield self._share(tally, voters)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.
        """
        for predicted in self.staged_predict(X):
            yield accuracy_score(y, predicted, sample_weight=sample_weight)

    def _tally(self, X: Any) -> Array:
        """Return the weighted votes for each class, of shape (n_rows, n_classes)."""
        X = self._checked(X)
        voters = self._voters(len(self.estimators_))
        return self._count(self._votes(X, voters), voters)

    def _staged_tally(self, X: Any) -> Iterator[tuple[Array, slice]]:
        X = self._checked(X)
        votes = list(self._votes(X, slice(None)))
        for voters in self._stages():
            yield self._count(votes[voters], voters), voters

    def _count(self, votes: Iterable[Array], voters: slice) -> Array:
        tally: Any = 0.0
        for alpha, vote in zip(self.estimator_weights_[voters], votes, strict=True):
            tally = tally + alpha * vote
        return tally

    def _votes(self, X: Any, voters: slice) -> Iterator[Array]:
        """Yield what each learner gives to each class."""
        for learner in self.estimators_[voters]:
            # For our own learner X has been checked, and need not be again by each; a foreign one checks for itself.
            with config_context(assume_finite=isinstance(learner, WeightedLogisticRegression)):
                if self.vote == "soft":
                    own = class_shares(learner, X)
                else:
                    own = np.asarray(learner.predict(X))[:, None] == learner.classes_
            if own.shape[1] == self.classes_.size:
                yield own
            else:
                vote = np.zeros((len(own), self.classes_.size))
                vote[:, np.searchsorted(self.classes_, learner.classes_)] = own
                yield vote

    def _margin(self, tally: Array) -> Array:
        return tally[:, 1] - tally[:, 0] if self.classes_.size == 2 else tally

    def _decide(self, margin: Array) -> NDArray[Any]:
        winner = (margin > 0).astype(np.intp) if margin.ndim == 1 else margin.argmax(axis=1)
        return self.classes_[winner]

    def _share(self, tally: Array, voters: slice) -> Array:
        alpha = self.estimator_weights_[voters]
        against = float(-alpha[alpha < 0].sum())
        total = float(alpha[alpha > 0].sum()) + against * (self.classes_.size - 1)
        if total == 0:
            return np.full(tally.shape, 1 / self.classes_.size)
        return (tally + against) / total


def class_shares(learner: Any, X: Any) -> Array:
    """Return a learner's probabilities, or what its decision values come to as log-odds."""
    if hasattr(learner, "predict_proba"):
        return learner.predict_proba(X)
    return margin_probabilities(learner.decision_function(X))


@dataclass(eq=False, repr=False, kw_only=True)
class CombiningRegressorMixin(RegressorMixin, BaseBoosting):
    """A combination of the learners' values, weighted by their vote weights: their mean or their median."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions(set(RELATIVE_LOSSES))]}
    combine: ClassVar[str] = "median"

    loss: str = "linear"

    def _default_learner(self) -> BaseEstimator:
        return DecisionTreeRegressor(max_depth=6)

    def predict(self, X: Any) -> Array:
        """Return the combined value.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        values = self._values(self._checked(X))
        return self._combine(values, self._voters(len(self.estimators_)))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        values = self._values(self._checked(X))
        for voters in self._stages():
            yield self._combine(values, voters)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the R2 score after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.
        """
        for predicted in self.staged_predict(X):
            yield r2_score(y, predicted, sample_weight=sample_weight)

    def _values(self, X: Any) -> Array:
        return np.array([learner.predict(X) for learner in self.estimators_])

    def _combine(self, values: Array, voters: slice) -> Array:
        alpha, values = self.estimator_weights_[voters], values[voters]
        if self.combine == "mean":
            return np.average(values, axis=0, weights=alpha)
        return weighted_median(values, alpha)


def weighted_median(values: Array, weight: Array) -> Array:
    """Return for each column the smallest value with at least half of the weight at or below it.

    Examples
    --------
    >>> weighted_median(np.array([[1.0], [2.0], [10.0]]), np.array([1.0, 1.0, 3.0]))
    array([10.])
    """
    order = np.argsort(values, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0)
    middle = np.argmax(below >= 0.5 * below[-1], axis=0)
    columns = np.arange(values.shape[1])
    return values[order[middle, columns], columns]
