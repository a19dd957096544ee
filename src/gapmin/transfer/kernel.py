"""Kernel ridge regression with weights, for values and for classes: the smooth learner among those a search tries."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from gapmin._utils.typing import Array

_JITTER = 1e-8
"""Added to the kernel's diagonal, which is 1: landmarks may be equal rows."""

_SMALLEST_SPREAD = 1e-300
"""Below that rows are taken as equal: its inverse is more than a number can hold."""

_BLOCK = 4_000_000
"""Entries of the kernel that are held at a time."""


class _KernelRidge(BaseEstimator):
    r"""Minimises :math:`\sum_i w_i (f(x_i) - y_i)^2 + \alpha \|f\|^2` over mean plus a function of the Gaussian kernel.

    The kernel is :math:`\exp(-\gamma d^2 / s)`, where s is the sum of the features' variances: half the mean squared
    distance of two rows. Of many rows, some that are drawn by weight span the functions (Nyström's method).

    Parameters
    ----------
    gamma : float, default=1
        How narrow the kernel is.
    alpha : float, default=0.1
        How strong the penalty is, in rows of weight one.
    n_landmarks : int, default=500
        Rows that span the functions.
    random_state : int, RandomState instance or None, default=None
        For the landmarks, where there are more rows.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Less the mean.
    coef_ : ndarray of shape (n_landmarks, n_outputs)
    intercept_ : ndarray of shape (n_outputs,)
        The weighted mean.
    width_ : float
        gamma / s.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    mean_: Array
    landmarks_: Array
    coef_: Array
    intercept_: Array
    width_: float

    def __init__(
        self, gamma: float = 1.0, alpha: float = 0.1, *, n_landmarks: int = 500, random_state: Any = None
    ) -> None:
        self.gamma = gamma
        self.alpha = alpha
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def _validate(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> tuple[Array, NDArray[Any], Array]:
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, **checks)
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        used = weight > 0
        return (X, y, weight) if used.all() else (X[used], y[used], weight[used])

    def _solve(self, X: Array, Y: Array, weight: Array) -> None:
        share = weight / weight.sum()
        self.mean_ = share @ X
        spread = sum(float(share @ (column - mean) ** 2) for column, mean in zip(X.T, self.mean_, strict=True))
        self.width_ = self.gamma / spread if spread > _SMALLEST_SPREAD else 1.0
        self.intercept_ = share @ Y
        chosen: Any = slice(None)
        if len(X) > self.n_landmarks:
            random = check_random_state(self.random_state)
            chosen = np.sort(random.choice(len(X), self.n_landmarks, replace=False, p=share))
        self.landmarks_ = X[chosen] - self.mean_
        inner = rbf_kernel(self.landmarks_, gamma=self.width_)
        inner.flat[:: len(inner) + 1] += _JITTER
        root = cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
        # In these coordinates the penalty is that of a ridge regression.
        gram, moment = self.alpha * np.eye(len(root)), np.zeros((len(root), Y.shape[1]))
        for rows, kernel in self._kernels(X):
            features = solve_triangular(root, kernel.T, lower=True, overwrite_b=True, check_finite=False)
            weighted = features * weight[rows]
            gram += weighted @ features.T
            moment += weighted @ (Y[rows] - self.intercept_)
        solved = cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), moment, check_finite=False)
        self.coef_ = solve_triangular(root, solved, lower=True, trans="T", check_finite=False)

    def _kernels(self, X: Array) -> Iterator[tuple[slice, Array]]:
        """Yield the kernel of rows with the landmarks, some rows at a time."""
        size = max(_BLOCK // len(self.landmarks_), 1)
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            # Distances are differences of squares: about the mean, or features far from 0 would drown them.
            yield rows, rbf_kernel(X[rows] - self.mean_, self.landmarks_, gamma=self.width_)

    def _values(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.concatenate([kernel @ self.coef_ for _, kernel in self._kernels(X)]) + self.intercept_


class KernelRegressor(RegressorMixin, _KernelRidge):
    """Kernel ridge regression; parameters and attributes are those of `_KernelRidge`.

    Examples
    --------
    >>> x = np.linspace(0, 3, 30)
    >>> model = KernelRegressor(alpha=0.01).fit(x[:, None], np.sin(2 * x))
    >>> bool(abs(model.predict(x[:, None]) - np.sin(2 * x)).max() < 0.05)
    True
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the rows."""
        X, y, weight = self._validate(X, y, sample_weight, y_numeric=True)
        self._solve(X, np.asarray(y, dtype=np.float64)[:, None], weight)
        return self

    def predict(self, X: Any) -> Array:
        """Return the value of each row."""
        return self._values(X)[:, 0]


class KernelClassifier(ClassifierMixin, _KernelRidge):
    """Kernel ridge regression of the classes, each 1 or 0.

    Parameters and attributes are those of `_KernelRidge`, and `classes_`.

    Examples
    --------
    >>> x = np.linspace(0, 3, 30)
    >>> y = np.where(abs(x - 1) < 0.5, "in", "out")
    >>> float((KernelClassifier().fit(x[:, None], y).predict(x[:, None]) == y).mean())
    1.0
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the rows."""
        X, y, weight = self._validate(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self._solve(X, (y[:, None] == self.classes_).astype(np.float64), weight)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class: the square of its value, those below zero left out, as a share.

        The values sum to one, but the penalty draws them towards each other: on rows that did not train, their squares
        are nearer to the truth.
        """
        squares = np.maximum(self._values(X), 0.0) ** 2
        return squares / squares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        probability = self.predict_proba(X)
        return self.classes_[probability.argmax(axis=1)]
