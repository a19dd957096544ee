"""Columns in proportion to what they say of the label, for learners that treat all columns alike."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from gapmin._utils.typing import Array


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
        size, variance, covariance = _moments(X, centred)
        spread = variance[:, None] * np.mean(centred**2, axis=0)
        squares = np.divide(covariance**2, spread, out=np.zeros_like(spread), where=spread > 0)
        relevance = np.maximum(squares.mean(axis=1) - 1 / max(len(centred) - 1, 1), 0.0)
        variance = np.ldexp(variance, 2 * (size - size.max()))
        left = float(variance @ relevance)
        self.scale_ = np.sqrt(relevance * (variance.sum() / left)) if left > 0 else np.ones(X.shape[1])
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns, each multiplied by its factor."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        scaled = sp.csr_array(X.multiply(self.scale_)) if sp.issparse(X) else X * self.scale_
        return scaled.astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _moments(X: Any, centred: NDArray[Any]) -> tuple[NDArray[Any], Array, Array]:
    """Return for each column an exponent, its variance, and its covariance with each of some labels that sum to 0.

    Variance and covariance are those of the column divided by two to the power of the exponent: the squares of large
    numbers are more than a number can hold, and those of small ones nothing.
    """
    if sp.issparse(X):
        return _sparse_moments(X, centred)
    # A column at a time: no second table of the size of X.
    mean = X.mean(axis=0, dtype=np.float64)
    found = []
    for column, m in zip(X.T, mean, strict=True):
        part = column - m
        exponent = np.frexp(np.abs(part).max())[1]
        part = np.ldexp(part, -exponent)
        found.append((exponent, part @ part / part.size, part @ centred / part.size))
    sizes, variance, covariance = map(np.array, zip(*found, strict=True))
    return sizes, variance, covariance


def _sparse_moments(X: Any, centred: NDArray[Any]) -> tuple[NDArray[Any], Array, Array]:
    (n_rows, n_columns), n_stored = X.shape, np.diff(X.indptr)
    place = np.repeat(np.arange(n_columns), n_stored)
    largest = np.zeros(n_columns)
    np.maximum.at(largest, place, np.abs(X.data))
    size = np.frexp(largest)[1]
    stored = np.ldexp(X.data.astype(np.float64), -size[place])
    mean = np.bincount(place, stored, n_columns) / n_rows
    squares = np.bincount(place, (stored - mean[place]) ** 2, n_columns) + (n_rows - n_stored) * mean**2
    scaled = sp.csc_array((stored, X.indices, X.indptr), X.shape)
    return size, squares / n_rows, np.asarray(scaled.T @ centred) / n_rows
