"""What the settings with one target share: `sample_domain` at fit, one row of coefficients."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from gapmin._utils.typing import Array
from gapmin.domains import check_domains
from gapmin.linear._setting import BinaryLabels, LinearSetting, is_logistic


class TransferSetting(LinearSetting):
    """A setting with one target: `sample_domain` at fit, one row of coefficients."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_domain": True}

    sample_weight_: Array

    @abstractmethod
    def _solve(self, X: Any, y: Array, domain: NDArray[np.int64], weight: Array) -> Array:
        """Fit h*; set the gap; return the weight that each row had."""

    def fit(
        self, X: Any, y: ArrayLike, *, sample_domain: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit h* and measure the gap.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows of the target and of the sources together; hypothesis transfer leaves the sources' out.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_domain : array-like of int of shape (n_rows,), optional
            Positive for a source, negative for the target. None makes every row target.
        sample_weight : array-like of shape (n_rows,), optional
            In instance weighting Gamma, up to a factor (with `gamma`, each domain's rows in proportion to it);
            elsewhere multiplicities: a row of weight 2 is a row given twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels, domain, weight, used = self._check_transfer(X, y, sample_domain, sample_weight)
        with np.errstate(over="ignore"):  # a bound that overflows is infinite
            gamma = self._solve(rows, labels, domain, weight)
        self.sample_weight_ = np.zeros(used.size)
        self.sample_weight_[used] = gamma
        return self

    def _score(self, X: Any) -> Array:
        return self._scores(X)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._decide(self._score(X))

    def _check_transfer(
        self, X: Any, y: ArrayLike, sample_domain: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, Array, NDArray[np.int64], Array, NDArray[np.bool_]]:
        """Validate; return the rows of positive weight, and which these are."""
        features, labels, weight = self._check_rows(X, y, sample_weight)
        domain = check_domains(sample_domain, labels.size)
        if not (weight[domain < 0] > 0).any():
            raise ValueError("every target row has sample_weight 0: give the rows of the target a positive weight")
        used = weight > 0
        if not used.all():
            features, labels, domain, weight = features[np.flatnonzero(used)], labels[used], domain[used], weight[used]
        return features, labels, domain, weight, used


class TransferClassifierMixin(BinaryLabels):
    """Scores and probabilities for the transfer settings."""

    def decision_function(self, X: Any) -> Array:
        """Return the score <h, x> of each row; above 0 is the second class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._score(X)

    @available_if(is_logistic)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the two classes, in the order of `classes_`."""
        return self._probability(self.decision_function(X))
