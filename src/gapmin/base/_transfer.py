"""What every estimator around a base learner shares: the learner, and the checks of rows, labels and domains."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, _num_samples, check_is_fitted, column_or_1d, validate_data

from gapmin._utils.typing import Array
from gapmin.base._constraints import InheritedConstraints
from gapmin.base._data import DomainData
from gapmin.base._validation import check_labels, check_sample_weight
from gapmin.domains import check_domains


class TransferMetaEstimator(InheritedConstraints, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """An estimator that trains a base learner on rows of several domains."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_domain": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _data_class: ClassVar[type[DomainData]] = DomainData
    """What the checked rows are handed on as."""

    estimator: Any
    n_jobs: int | None
    random_state: Any
    classes_: NDArray[Any]

    def _used_rows(self, domain: NDArray[np.int64], weight: Array) -> NDArray[np.bool_]:
        return weight > 0

    @abstractmethod
    def _default_learner(self) -> BaseEstimator:
        """Return the base learner used where the user names none."""

    def _template(self) -> Any:
        return self._default_learner() if self.estimator is None else self.estimator

    def _validate_training_data(
        self, X: Any, y: ArrayLike, sample_domain: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[np.bool_]]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._validate_X(X, reset=True)
        check_labels(y, classes=isinstance(self, ClassifierMixin))
        labels = column_or_1d(y, warn=True)
        if isinstance(self, ClassifierMixin):
            check_classification_targets(labels)
        else:
            labels = _check_y(labels, y_numeric=True).astype(np.float64, copy=False)
        n = _num_samples(X)
        if labels.shape[0] != n:
            raise ValueError(f"y has {labels.shape[0]} labels for {n} rows of X: give one label a row")
        weight = check_sample_weight(sample_weight, n)
        domain = check_domains(sample_domain, n)
        used = self._used_rows(domain, weight)
        if not (domain[used] < 0).any():
            raise ValueError(
                f"no target rows of positive weight among {n}: give some target rows a positive sample_weight"
            )
        data = self._data_class(X, labels, domain, weight)
        if not used.all():
            data = data.take(np.flatnonzero(used))
        if isinstance(self, ClassifierMixin):
            self.classes_, data.y = np.unique(data.y, return_inverse=True)
            self._check_target_classes(data.y[data.in_target])
        return data, used

    def _check_target_classes(self, codes: NDArray[np.intp]) -> None:
        if np.ptp(codes) == 0:
            raise ValueError(
                f"the target has one class ({self.classes_[codes[0]]}) among its {codes.size} rows; "
                f"{type(self).__name__} needs two classes: add target rows of another class"
            )

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """Check what can be checked without changing what the base learner is given."""
        if getattr(self._template(), "takes_checked_floats", False):
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        # A foreign learner knows best what it takes: a pipeline that imputes does not say so in its tags.
        if not hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if _num_samples(X) == 0:
            raise ValueError("X has 0 rows: give at least one (found array with 0 sample(s))")
        return X

    def _checked(self, X: Any) -> Any:
        """Return the rows to predict, checked."""
        check_is_fitted(self)
        return self._validate_X(X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = get_tags(self._template())
        tags.input_tags.sparse = learner.input_tags.sparse
        tags.input_tags.allow_nan = learner.input_tags.allow_nan
        return tags


class TrainsOnRows(TransferMetaEstimator):
    """One that hands its learner weighted rows, or bootstraps of them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"resample": ["boolean"]}

    resample: bool

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to rows of the target and of its sources.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of the target and of the sources together. Frames reach the base learner as they are.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_domain : array-like of int of shape (n_rows,), optional
            Positive for a source (its number), negative for the target. None makes every row target.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplicities: a row of weight 2 is a row given twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        rows, used = self._validate_training_data(X, y, sample_domain, sample_weight)
        self._fit(rows, used)
        return self

    @abstractmethod
    def _fit(self, rows: Any, used: NDArray[np.bool_]) -> None:
        """Fit to checked rows; `used` says which of the rows given these are."""
