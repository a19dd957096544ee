"""Weighted logistic regression: the learner that gapBoost calls three times a round."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gapmin._utils.typing import Array
from gapmin.base import check_labels, check_sample_weight
from gapmin.linear._logistic_objective import LogisticObjective
from gapmin.linear._matrix import largest, unit
from gapmin.linear._solver import DescentResult, Metric, metric_from_state, minimise

_LARGE_GRADIENT, _LARGE_FEATURE = 1e3, 1e12
"""Where it is worth a look at the features whether they are too large to be squared in single precision."""


@dataclass(eq=False, repr=False)
class WeightedLogisticRegression(LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    r"""Logistic regression that minimises :math:`\sum_i w_i \ell_i(h) + \lambda \|h\|^2`.

    The weights are divided by their sum inside, so any scale of them gives the same fit; the intercept is not
    penalised. Two classes have one output, more have one each (multinomial). With N rows and weights of mean 1 it is
    scikit-learn's ``LogisticRegression(C=1 / (2 * lam * N))``.

    Parameters
    ----------
    lam : float, default=0.01
        Strength of the penalty, without the factor 1/2.
    fit_intercept : bool, default=True
        Whether to add a constant feature, regularised like the others.
    tol : float, default=1e-8
        On the largest absolute entry of the gradient, and on how far the objective is above its minimum as the
        curvature tells. In single precision it is not taken below what that can resolve. A fit that ends ten times
        further above the minimum warns (`ConvergenceWarning`).
    max_iter : int, default=1000
        Steps at most.
    warm_start : bool, default=False
        Start a refit from the coefficients of the last one.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constant.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_iter_ : int
        Steps taken, each of one pass over X.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Where X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(WeightedLogisticRegression().fit(X, y).score(X, y), 2)
    0.97
    """

    takes_checked_floats: ClassVar[bool] = True
    """A meta-estimator of gapmin checks X once, as floats, and not again for each of its learners."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

    lam: float = 0.01
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 1000
    warm_start: bool = False

    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    classes_: NDArray[Any] = field(init=False)
    n_iter_: int = field(init=False)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Sparse input is never made dense; single precision stays single.
        y : array-like of shape (n_rows,)
            Labels of any kind, two classes or more.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        check_labels(y, classes=True)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        weight = check_sample_weight(sample_weight, X.shape[0])
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"y has one class ({classes[0]}): logistic regression needs samples of at least 2 classes")
        start = None
        if self.warm_start and hasattr(self, "coef_") and np.array_equal(self.classes_, classes):
            start = np.column_stack([self.coef_, self.intercept_] if self.fit_intercept else [self.coef_])
        fits = LogisticFits(self, X, codes, classes)
        fits.fit_into(self, weight, start)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        check_is_fitted(self)
        return margin_probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def margin_probabilities(margin: Array) -> Array:
    """Return the probabilities of the classes whose log-odds these are; of two classes, those of the second."""
    if margin.ndim == 1:
        margin = np.column_stack([np.zeros_like(margin), margin])
    return softmax(margin, axis=1)


def tolerance(template: WeightedLogisticRegression, objective: LogisticObjective) -> float:
    """Return the tolerance on the gradient: not below what the rows' precision can resolve."""
    return max(template.tol, 32 * float(np.finfo(objective.dtype).eps))


def write_into(
    learner: WeightedLogisticRegression, objective: LogisticObjective, solution: DescentResult, classes: NDArray[Any]
) -> WeightedLogisticRegression:
    """Make a fitted learner of a solution, and warn where it is none."""
    tol = tolerance(learner, objective)
    if solution.excess > 10 * tol:
        warnings.warn(
            f"logistic regression stopped after {solution.n_iter} steps about {solution.excess:.1e} above the smallest "
            f"objective, more than tol={tol:.1e}: raise max_iter, or lam",
            ConvergenceWarning,
            stacklevel=4,
        )
    coef, intercept = objective.split(solution.h)
    if not objective.binary and objective.fit_intercept:
        intercept = intercept - intercept.mean()  # only differences count: take them around 0
    learner.classes_ = classes
    learner.coef_ = coef.astype(objective.dtype)
    learner.intercept_ = intercept.astype(objective.dtype)
    learner.n_iter_ = solution.n_iter
    learner.n_features_in_ = coef.shape[1]
    return learner


class LogisticFits:
    """Fits of one model to one X and y under changing weights, each started where the last one ended.

    What survives from fit to fit: the coefficients, the margins of the rows under them, and the Cholesky factor.
    `last_learner` is the learner fitted last.

    Parameters
    ----------
    template : WeightedLogisticRegression
        Whose parameters to fit with.
    X : ndarray or csr matrix, floating
    codes : ndarray of int
        Index of each row's label in `classes`.
    classes : ndarray
    """

    def __init__(
        self, template: WeightedLogisticRegression, X: Any, codes: NDArray[np.intp], classes: NDArray[Any]
    ) -> None:
        self.template = template
        self.classes = classes
        self.objective = LogisticObjective(X, codes, classes.size, template.lam, template.fit_intercept)
        self.metric: Metric | None = None
        self.h: Array = np.zeros(self.objective.n_parameters)
        self.last_learner: WeightedLogisticRegression | None = None
        self.unit = 1.0

    def fit_into(
        self, learner: WeightedLogisticRegression, weight: Array, start: Array | None = None
    ) -> WeightedLogisticRegression:
        """Minimise under `weight` and write the result into `learner`."""
        self.objective.weight = (weight / weight.sum()).astype(self.objective.dtype, copy=False)
        h = self.h if start is None else start.ravel().astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            first = self.objective.evaluate(self._in_units(h))
        if self.unit == 1 and not float(np.abs(first[1]).max()) <= _LARGE_GRADIENT and self._scale():
            first, self.metric = self.objective.evaluate(self._in_units(h)), None
        solution = minimise(
            self.objective,
            self._in_units(h),
            metric=self.metric,
            tol=tolerance(self.template, self.objective),
            max_iter=self.template.max_iter,
            gap=self.objective,
            first=first,
        )
        solution.h = self._in_units(solution.h, 1 / self.unit)
        self.h, self.metric, self.last_learner = solution.h, solution.metric, learner
        return write_into(learner, self.objective, solution, self.classes)

    def _scale(self) -> bool:
        """Measure huge features in a unit of their size, for their squares overflow; say whether there are any."""
        objective = self.objective
        self.unit = unit(max(largest(objective.X), 1.0), _LARGE_FEATURE)
        if self.unit == 1:
            return False
        X, lam = objective.X / self.unit, objective.lam / self.unit / self.unit
        self.objective = LogisticObjective(X, objective.codes, self.classes.size, lam, objective.fit_intercept)
        self.objective.weight = objective.weight
        return True

    def _in_units(self, h: Array, by: float | None = None) -> Array:
        """Return `h` with coefficients for features in units of `unit`; the intercepts stay."""
        if self.unit == 1:
            return h
        scaled = h.copy()
        self.objective.split(scaled)[0][:] *= self.unit if by is None else by
        return scaled

    def get_state(self) -> dict[str, Any]:
        """Return what the next fit starts from: arrays and numbers."""
        return {"h": self.h, "metric": None if self.metric is None else self.metric.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Start the next fit from such a state; raise ValueError where it was of another problem."""
        h = state["h"]
        if not isinstance(h, np.ndarray) or h.shape != self.h.shape or h.dtype != self.h.dtype:
            raise ValueError(f"the last fit has not the {self.h.size} coefficients of this one")
        self.h = h
        self._scale()
        self.metric = None if state["metric"] is None else metric_from_state(state["metric"], h.size)

    def predict_codes(self) -> NDArray[np.intp]:
        """Return the class index of each row under the last fit, without another pass over X."""
        margin = self.objective.margins(self._in_units(self.h))
        return (margin[:, 0] > 0).astype(np.intp) if margin.shape[1] == 1 else margin.argmax(axis=1)
