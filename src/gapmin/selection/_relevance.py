"""Columns in proportion to what they say of the label, for learners that treat all columns alike."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from gapmin.boosting._rows import Array


class RelevanceScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Multiplies every column by the size of its correlation with the label, less what chance gives.

    The factor of column j is the root of :math:`\max(r_j^2 - 1/(n-1), 0)`, up to a constant that keeps the sum of the
    columns' variances: 1/(n-1) is what the square of a correlation comes to in the mean where there is none. Of classes
    :math:`r_j^2` is the mean over the classes, each 1 or 0. Where no column goes with the label, all stay as they are.

    A penalty on coefficients, and a distance, treat columns alike: of a hundred scaled to unit variance, those that say
    nothing drown the few that do. Rows count alike here, whatever their weight in the fit that follows: what a
    column says is better learnt from many rows than from the few that matter most.

    Parameters
    ----------
    of_classes : bool, default=True
        Whether labels are classes; else they are numbers.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        The factors.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> RelevanceScaler().fit(X, ["yes", "no", "yes", "no"]).scale_.round(3).tolist()
    [1.414, 0.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"of_classes": ["boolean"]}

    scale_: Array

    def __init__(self, of_classes: bool = True) -> None:
        self.of_classes = of_classes

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the factors."""
        self._validate_params()
        kinds = [np.float64, np.float32]
        X, given = validate_data(self, X, y, accept_sparse="csc", dtype=kinds, y_numeric=not self.of_classes)
        labels = given[:, None] == np.unique(given) if self.of_classes else given[:, None]
        centred = labels - labels.mean(axis=0, dtype=np.float64)
        variance, covariance = _moments(X, centred)
        spread = variance[:, None] * np.mean(centred**2, axis=0)
        squares = np.divide(covariance**2, spread, out=np.zeros_like(spread), where=spread > 0)
        relevance = np.maximum(squares.mean(axis=1) - 1 / max(len(centred) - 1, 1), 0.0)
        left = float(variance @ relevance)
        if left > 0:
            self.scale_ = np.sqrt(relevance * (variance.sum() / left)).astype(X.dtype)
        else:
            self.scale_ = np.ones(X.shape[1], dtype=X.dtype)
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns, each multiplied by its factor."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return sp.csr_array(X.multiply(self.scale_)) if sp.issparse(X) else X * self.scale_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _moments(X: Any, centred: NDArray[Any]) -> tuple[Array, Array]:
    """Return the variance of each column, and its covariance with each of some labels that sum to 0."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
        return np.maximum(variance, 0.0), np.asarray(X.T @ centred) / X.shape[0]
    # A column at a time: no second table of the size of X.
    mean = X.mean(axis=0, dtype=np.float64)
    parts = (column - m for column, m in zip(X.T, mean, strict=True))
    found = [(part @ part, part @ centred) for part in parts]
    variance, covariance = (np.array(each) / X.shape[0] for each in zip(*found, strict=True))
    return variance, covariance
