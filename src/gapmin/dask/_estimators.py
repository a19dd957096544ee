"""The boosters of `gapmin.boosting` on Dask collections."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gapmin import boosting
from gapmin._utils.docstrings import described_as
from gapmin.boosting.building_blocks import BaseBoosting, compute_scalars
from gapmin.dask._chunks import chunked_matrix
from gapmin.dask._cluster import on_cluster
from gapmin.dask._input import as_matrix, as_vector, feature_names, make_rows
from gapmin.dask._learners import DaskLearners
from gapmin.linear import WeightedLogisticRegression


@dataclass(eq=False, repr=False, kw_only=True)
class OnDask(BaseBoosting):
    """What a booster does otherwise on a cluster: where rows come from, who trains, and what predictions are.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster to work on. None takes the current client, and where there is none Dask's threads in this process.
    checkpoint_dir : path, default=None
        A folder that keeps each round. A fit that was killed goes on after its last one.
    resample : bool, default=False
        Train on weighted bootstraps. They depend on `random_state` and on the chunks: not those of the local booster.
    n_jobs : None
        Not used: the cluster has workers.

    Attributes
    ----------
    sample_weight_ : dask array
        The last distribution, in the order of the rows given. It lives on the cluster.
    estimators_ : list
        The learners, plain ones: `to_local` makes a plain booster of them.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"client": [object]}

    client: Any = None

    @property
    def local_class(self) -> Any:
        """The class of `gapmin.boosting` whose rounds these are."""
        return next(each for each in type(self).__mro__ if not issubclass(each, OnDask))

    def __sklearn_clone__(self) -> Self:
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        return type(self)(client=client, **{name: clone(each, safe=False) for name, each in settings.items()})

    def __getstate__(self) -> dict[str, Any]:
        """Leave the cluster behind: the client, and the weights that live there."""
        state = {name: value for name, value in super().__getstate__().items() if name != "sample_weight_"}
        return {**state, "client": None}

    def fit(self, X: Any, y: Any, *, sample_domain: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows of the target and of its sources that live on a cluster.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_rows, n_features)
            Rows of the target and of the sources together: numbers, in dense or sparse blocks. It is read at every
            pass and never kept, so that it may be larger than the memory of all workers; persist it first if it is not.
        y : dask array or Series of shape (n_rows,)
            Their labels.
        sample_domain : dask array or Series of int of shape (n_rows,), optional
            Positive for a source (its number), negative for the target. None makes every row target.
        sample_weight : dask array or Series of shape (n_rows,), optional
            Multiplicities: a row of weight 2 is a row given twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        with on_cluster(self):
            finite = isinstance(self._template(), WeightedLogisticRegression | Ridge)
            rows = make_rows(self, X, y, sample_domain, sample_weight, finite=finite)
            self._fit(rows, None)  # type: ignore[arg-type]
        return self

    def _learners(self, rows: Any) -> DaskLearners:
        classes = self.classes_ if isinstance(self, ClassifierMixin) else None
        return DaskLearners(self._template(), classes, self.resample, check_random_state(self.random_state), rows)

    def to_local(self) -> Any:
        """Return the fitted booster as one for arrays, which needs no Dask.

        It has everything but `sample_weight_`, which is as long as the training rows and stays with them.
        """
        check_is_fitted(self)
        settings = self.get_params(deep=False)
        del settings["client"]
        local = self.local_class(**settings)
        fitted = {name: value for name, value in vars(self).items() if name not in settings and name != "client"}
        fitted.pop("sample_weight_", None)
        local.__dict__.update(fitted)
        return local

    def _on_chunks(self, method: str, X: Any, stage: int | None = None) -> Any:
        """Return what a method of the local booster, or of its first rounds, makes of each chunk of X."""
        local = self.to_local()
        local.estimators_ = local.estimators_[:stage]
        local.estimator_weights_ = local.estimator_weights_[:stage]
        self._check_columns(X)
        local.__dict__.pop("feature_names_in_", None)  # they were compared, and blocks are arrays
        X = as_matrix(X, self.local_class.__name__)
        n_classes = len(getattr(self, "classes_", ()))
        by_class = method.endswith("proba") or (method == "decision_function" and n_classes > 2)
        n_columns = n_classes if by_class else 1
        dtype = self.classes_.dtype if method == "predict" and n_classes else np.dtype(np.float64)
        settings = {"booster": local, "method": method, "width": n_columns, "dtype_": dtype}
        table = chunked_matrix(_predict_block, X.chunks[0], n_columns, dtype, X, **settings)
        return table if by_class else table[:, 0]

    def _check_columns(self, X: Any) -> None:
        names, own = feature_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and own is not None and not np.array_equal(names, own):
            raise ValueError(f"X has columns {list(names)}, and at fit it had {list(own)}: give those, in that order")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input: give the columns of the fit"
            )

    def predict(self, X: Any, _stage: int | None = None) -> Any:
        """Return the class with the most votes, or the combined value, as a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._on_chunks("predict", X, _stage)

    @abstractmethod
    def score(self, X: Any, y: Any, sample_weight: Any = None, _stage: int | None = None) -> float:
        """Return a number, for which the cluster is asked at once."""

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Yield `predict` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return (self.predict(X, stage) for stage in self._stage_numbers())

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield `score` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.
        """
        return (self.score(X, y, sample_weight, stage) for stage in self._stage_numbers())

    def _stage_numbers(self) -> range:
        check_is_fitted(self)
        return range(1, len(self.estimators_) + 1)


class ClassifierOnDask(OnDask):
    """Votes as Dask arrays.

    Parameters
    ----------
    estimator : estimator, default=None
        None is `gapmin.linear.WeightedLogisticRegression(lam=0.01)`; else one of these, or a classifier with a fit of
        Dask's, such as `xgboost.dask.DaskXGBClassifier`.
    """

    def predict_proba(self, X: Any, _stage: int | None = None) -> Any:
        """Return the share of the vote that each class has, as a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._on_chunks("predict_proba", X, _stage)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`, as a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._on_chunks("predict_log_proba", X)

    def decision_function(self, X: Any, _stage: int | None = None) -> Any:
        """Return f(x) as a Dask array: of shape (n_rows,) for two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._on_chunks("decision_function", X, _stage)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Yield `predict_proba` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return (self.predict_proba(X, stage) for stage in self._stage_numbers())

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Yield `decision_function` after each round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return (self.decision_function(X, stage) for stage in self._stage_numbers())

    def score(self, X: Any, y: Any, sample_weight: Any = None, _stage: int | None = None) -> float:
        """Return the accuracy: a number, for which the cluster is asked at once.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.
        """
        with on_cluster(self):
            y, weight, predicted = _in_same_chunks(y, sample_weight, self.predict(X, _stage))
            right, whole = compute_scalars((weight * (predicted == y)).sum(), weight.sum())
        return right / whole


class RegressorOnDask(OnDask):
    """Means and medians as Dask arrays.

    Parameters
    ----------
    estimator : estimator, default=None
        None is `Ridge()`; else another `Ridge`, a `LinearRegression` (each from one pass of sums for all learners of a
        round), or a regressor with a fit of Dask's, such as `xgboost.dask.DaskXGBRegressor`.
    """

    def _default_learner(self) -> BaseEstimator:
        return Ridge()

    def score(self, X: Any, y: Any, sample_weight: Any = None, _stage: int | None = None) -> float:
        """Return the R2 score: a number, for which the cluster is asked at once.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.
        """
        with on_cluster(self):
            y, weight, predicted = _in_same_chunks(y, sample_weight, self.predict(X, _stage))
            mean = (weight * y).sum() / weight.sum()
            left, spread = compute_scalars((weight * (y - predicted) ** 2).sum(), (weight * (y - mean) ** 2).sum())
        return 1 - left / spread if spread else float(left == 0)


def _predict_block(X: Any, booster: Any, method: str, width: int, dtype_: Any) -> Any:
    if X.shape[0] == 0:
        return np.empty((0, width), dtype=dtype_)
    return np.asarray(getattr(booster, method)(X)).reshape(X.shape[0], width)


def _in_same_chunks(y: Any, sample_weight: Any, predicted: Any) -> tuple[Any, Any, Any]:
    """Return labels, weights and predictions in the same chunks."""
    y = as_vector(y, "y")
    if y.chunks != predicted.chunks and not np.isnan([*y.chunks[0], *predicted.chunks[0]]).any():
        y = y.rechunk(predicted.chunks)
    weight = da.ones_like(y, dtype=np.float64) if sample_weight is None else as_vector(sample_weight, "sample_weight")
    return y, weight, predicted


@described_as(ClassifierOnDask, OnDask, boosting.GapBoostClassifier, without=())
@dataclass(eq=False, repr=False, kw_only=True)
class DaskGapBoostClassifier(ClassifierOnDask, boosting.GapBoostClassifier):
    """gapBoost on Dask arrays and DataFrames: the rounds of `gapmin.GapBoostClassifier`, on rows that live in chunks.

    X is read anew at every pass and may be larger than memory; weights, errors and disagreement stay with the workers,
    and only sums travel. A round takes about as many passes as Newton's method takes steps, most of the time five to
    eight; its learners share them.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(X / X.std(axis=0), chunks=(200, 30)), da.from_array(y, chunks=200)
    >>> sample_domain = da.where(X[:, 0] > 4, -1, 1)  # large tumours are the target, small ones the source
    >>> clf = DaskGapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    >>> clf.predict(X)
    dask.array<getitem, shape=(569,), dtype=int64, chunksize=(200,), chunktype=numpy.ndarray>
    >>> clf.score(X, y) > 0.9
    True
    """


@described_as(RegressorOnDask, OnDask, boosting.GapBoostRegressor)
@dataclass(eq=False, repr=False, kw_only=True)
class DaskGapBoostRegressor(RegressorOnDask, boosting.GapBoostRegressor):
    """gapBoostR on Dask collections: as `gapmin.GapBoostRegressor`, where rows live as for `DaskGapBoostClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(60, 3), chunks=(20, 3))
    >>> y, sample_domain = X[:, 0], da.where(da.arange(60, chunks=20) < 30, -1, 1)
    >>> DaskGapBoostRegressor(n_estimators=2).fit(X, y, sample_domain=sample_domain).score(X, y) > 0.7
    True
    """


@described_as(ClassifierOnDask, OnDask, boosting.AdaBoostClassifier, without=())
@dataclass(eq=False, repr=False, kw_only=True)
class DaskAdaBoostClassifier(ClassifierOnDask, boosting.AdaBoostClassifier):
    """`gapmin.AdaBoostClassifier` on Dask collections.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(60, 3), chunks=(20, 3))
    >>> y, sample_domain = X[:, 0] > 0, da.where(da.arange(60, chunks=20) < 30, -1, 1)
    >>> DaskAdaBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain).score(X, y) > 0.7
    True
    """


@described_as(RegressorOnDask, OnDask, boosting.AdaBoostRegressor)
@dataclass(eq=False, repr=False, kw_only=True)
class DaskAdaBoostRegressor(RegressorOnDask, boosting.AdaBoostRegressor):
    """`gapmin.AdaBoostRegressor` on Dask collections.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(60, 3), chunks=(20, 3))
    >>> y, sample_domain = X[:, 0], da.where(da.arange(60, chunks=20) < 30, -1, 1)
    >>> DaskAdaBoostRegressor(n_estimators=2).fit(X, y, sample_domain=sample_domain).score(X, y) > 0.7
    True
    """


@described_as(ClassifierOnDask, OnDask, boosting.TrAdaBoostClassifier, without=())
@dataclass(eq=False, repr=False, kw_only=True)
class DaskTrAdaBoostClassifier(ClassifierOnDask, boosting.TrAdaBoostClassifier):
    """`gapmin.TrAdaBoostClassifier` on Dask collections.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(60, 3), chunks=(20, 3))
    >>> y, sample_domain = X[:, 0] > 0, da.where(da.arange(60, chunks=20) < 30, -1, 1)
    >>> DaskTrAdaBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain).score(X, y) > 0.7
    True
    """


@described_as(RegressorOnDask, OnDask, boosting.TrAdaBoostRegressor)
@dataclass(eq=False, repr=False, kw_only=True)
class DaskTrAdaBoostRegressor(RegressorOnDask, boosting.TrAdaBoostRegressor):
    """`gapmin.TrAdaBoostRegressor` on Dask collections.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(60, 3), chunks=(20, 3))
    >>> y, sample_domain = X[:, 0], da.where(da.arange(60, chunks=20) < 30, -1, 1)
    >>> DaskTrAdaBoostRegressor(n_estimators=2).fit(X, y, sample_domain=sample_domain).score(X, y) > 0.7
    True
    """


@described_as(ClassifierOnDask, OnDask, boosting.TransferBoostClassifier, without=())
@dataclass(eq=False, repr=False, kw_only=True)
class DaskTransferBoostClassifier(ClassifierOnDask, boosting.TransferBoostClassifier):
    """`gapmin.TransferBoostClassifier` on Dask collections.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(60, 3), chunks=(20, 3))
    >>> y, sample_domain = X[:, 0] > 0, da.where(da.arange(60, chunks=20) < 30, -1, 1)
    >>> DaskTransferBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain).score(X, y) > 0.7
    True
    """
