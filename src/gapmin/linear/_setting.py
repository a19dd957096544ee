"""What the settings share: parameters, validation, the constant feature, prediction, and the frame of a bound."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from gapmin._utils.typing import Array
from gapmin.base import InheritedConstraints, check_labels, check_sample_weight
from gapmin.gap import PerformanceGap
from gapmin.linear._bounds import Constants, Form, GivenConstants, distance
from gapmin.linear._losses import LOSS_BY_NAME, Loss
from gapmin.linear._matrix import largest, squared_norms, with_constant
from gapmin.linear._problem import WeightedRows

_LARGEST = 1e152
"""Sums of squares of some thousand such numbers are still finite."""


@dataclass
class Facts:
    """What a bound needs to know of the training rows."""

    R: float
    Y: float
    slope: float
    """The steepest loss of a training row at the solution."""


def check_squares(name: str, values: Any) -> None:
    """Raise where a number is so large that norms of rows, or squared losses, overflow.

    Examples
    --------
    >>> check_squares("X", np.array([[1.0, -1e200]]))
    Traceback (most recent call last):
        ...
    ValueError: X has -1e+200 at row 0, column 1: its square overflows, so divide the column by its size
    """
    if not largest(values) > _LARGEST:
        return
    if values.ndim == 1:
        at = int(np.argmax(np.abs(values)))
        raise ValueError(f"{name} has {values[at]:g} at row {at}: its square overflows, so divide {name} by its size")
    row, column = np.unravel_index(int(abs(values).argmax()), values.shape)
    raise ValueError(
        f"{name} has {values[row, column]:g} at row {row}, column {column}: its square overflows, "
        "so divide the column by its size"
    )


def row_norm(X: Any) -> float:
    """Return R: the largest norm of a row."""
    return float(np.sqrt(squared_norms(X).max())) if X.shape[0] else 0.0


def row_sizes(tasks: list[WeightedRows]) -> tuple[float, float]:
    """Return R and Y: the largest norm of a row, and the largest size of a label."""
    return max(row_norm(rows.X) for rows in tasks), max(float(np.abs(rows.y).max()) for rows in tasks)


def effective_size(weight: Array) -> float:
    """Return how many rows of equal weight average as well as these: their number, or less."""
    return float(weight.sum() ** 2 / (weight @ weight))


class LinearSetting(InheritedConstraints, BaseEstimator, metaclass=ABCMeta):
    """A linear model of one of the paper's settings: its objective, gap, lemma and theorem."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    loss: str
    lam: float
    fit_intercept: bool

    coef_: Array
    intercept_: Array
    gap_: PerformanceGap
    n_features_in_: int

    @property
    def _loss(self) -> Loss:
        return LOSS_BY_NAME[self.loss]

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X as numbers: Phi(X) in the settings that have a Phi."""
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)

    def _check_rows(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Array, NDArray[np.float64]]:
        """Validate; return features with the constant one, labels as numbers, weights."""
        self._validate_params()
        check_labels(y, classes=not self._numeric_labels)
        X, y = self._read_both(X, y)
        weight = check_sample_weight(sample_weight, X.shape[0])
        labels = self._code(np.asarray(y), weight)
        check_squares("X", X)
        check_squares("y", labels)
        return (with_constant(X) if self.fit_intercept else X), labels, weight

    def _read_both(self, X: Any, y: Any) -> tuple[Any, Any]:
        return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=self._numeric_labels)

    _numeric_labels: ClassVar[bool]

    @abstractmethod
    def _code(self, y: NDArray[Any], weight: Array) -> Array:
        """Return the labels as numbers: -1 and 1 for classes."""

    def _store_solution(self, H: Array, tasks: list[WeightedRows]) -> None:
        """Set the coefficients, a row of H for each of the tasks, and what a bound needs of the rows."""
        if not np.isfinite(H).all():
            sizes = [max(largest(each) for each in part) for part in zip(*((t.X, t.y) for t in tasks), strict=True)]
            raise ValueError(
                f"the coefficients overflow: X is of size {sizes[0]:.3g} and y of size {sizes[1]:.3g}, "
                "so divide each by its size"
            )
        self._facts = Facts(
            *row_sizes(tasks),
            max(
                float(np.abs(self._loss.gradient(rows.score(h), rows.y)).max())
                for rows, h in zip(tasks, H, strict=True)
            ),
        )
        d = H.shape[1] - self.fit_intercept
        self.coef_ = H[:, :d].copy()
        self.intercept_ = H[:, d].copy() if self.fit_intercept else np.zeros(len(H))

    def _with_corollary(self, gap: PerformanceGap) -> PerformanceGap:
        """Corollary 9 (`corollaryit`): the largest loss of a row of norm R if h is no longer than the lemma says."""
        R, Y = self._facts.R, self._facts.Y
        bounds = [self._loss.at_most(R * norm, Y) for norm in np.atleast_1d(gap.norm_bound)]
        return replace(gap, loss_bound=np.array(bounds) if np.ndim(gap.norm_bound) else bounds[0], R=R, Y=Y)

    def _radius(self, R: float, Y: float, j: int) -> float:
        """Return the norm that the minimiser of task j obeys on every sample with rows in R and labels in Y."""
        return float(np.sqrt(self._loss.at_most(0.0, Y) / self.lam))

    def _worst_case(self, rows: list[WeightedRows], lam: float) -> Constants:
        """Collect the constants that do not depend on the solution, as `_constants` measures them."""
        R, Y = row_sizes(rows)
        radius = self._radius(R, Y, 0)
        B = self._loss.at_most(R * radius, Y)
        return Constants(R, Y, radius, self._loss.lipschitz(R * radius, Y), B, B, lam, ())

    def _constants(self, given: GivenConstants, form: Form, lam: float, j: int = 0) -> Constants:
        """Collect the constants of a theorem; what is not given is measured on the training rows, and said to be."""
        R, Y, rho, radius = given
        facts, loss = self._facts, self._loss
        for name, value, measured in (("R", R, facts.R), ("Y", Y, facts.Y)):
            if value is not None and not value >= measured * (1 - 1e-12):
                raise ValueError(f"{name} is {value}, below the {measured:.6g} of the training rows: give a true bound")
        measured_R, measured_Y = ("" if value is not None else " (measured here)" for value in (R, Y))
        R, Y = (facts.R if R is None else float(R)), (facts.Y if Y is None else float(Y))
        assumptions = [f"||x|| <= R = {R:.4g} for every row, the constant feature counted{measured_R}"]
        if self._numeric_labels:
            assumptions.append(f"|y| <= Y = {Y:.4g} for every row{measured_Y}")
        every = self._radius(R, Y, j)
        norm = float(np.sqrt(self.coef_[j] @ self.coef_[j] + self.intercept_[j] ** 2))
        if radius is None:
            radius = every
        elif not radius >= norm * (1 - 1e-12):
            raise ValueError(f"radius is {radius}, below the norm {norm:.6g} of the solution: give a larger one")
        if radius < every:
            assumptions.append(f"no minimiser is longer than {radius:.4g}; for every sample only {every:.4g} is known")
        else:
            assumptions.append(f"H is the ball of radius {radius:.4g}, which every minimiser obeys")
        if rho is None:
            rho = loss.lipschitz(R * radius, Y)
        elif not rho >= facts.slope * (1 - 1e-12):
            raise ValueError(
                f"rho is {rho}, below the slope {facts.slope:.6g} of a training row's loss: give a true bound"
            )
        assumptions.append("the rows are independent draws from their domains")
        gap_norm = np.atleast_1d(self.gap_.sharp_norm_bound if form == "sharp" else self.gap_.norm_bound)[j]
        return Constants(
            R=R,
            Y=Y,
            radius=radius,
            rho=float(rho),
            B=loss.at_most(R * radius, Y),
            B_gap=loss.at_most(R * float(gap_norm), Y),
            lam=lam,
            assumptions=tuple(assumptions),
        )

    def _weighted_discrepancy(
        self, c: Constants, discrepancy: Any, target: Any, shares: dict[Any, float]
    ) -> tuple[float, list[str]]:
        """Return the discrepancies of `target` from others by their shares, and all assumptions up to here."""
        rows = getattr(self, "_training", {})
        total, assumptions = 0.0, list(c.assumptions)
        for other, share in shares.items():
            if share > 0:
                value, why = distance(discrepancy, other, rows.get(target), rows.get(other), self.loss, c)
                total += share * value
                assumptions += [each for each in why if each not in assumptions]
        return total, assumptions

    def _scores(self, X: Any) -> Array:
        """Return the score of each row under each row of `coef_`."""
        check_is_fitted(self)
        return np.asarray(self._read(X, reset=False) @ self.coef_.T) + self.intercept_

    def __getstate__(self) -> dict[str, Any]:
        # The training rows serve discrepancies while the estimator lives; a saved model does not carry them.
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BinaryLabels(ClassifierMixin):
    """Labels of two classes, coded -1 and 1; the sign of the score decides."""

    _numeric_labels: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"logistic", "hinge"})]}

    classes_: NDArray[Any]

    def _code(self, y: NDArray[Any], weight: Array) -> Array:
        check_classification_targets(y)
        self.classes_ = np.unique(y[weight > 0])
        if self.classes_.size > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
                f"{self.classes_.size} classes, so fit one model a class (sklearn.multiclass.OneVsRestClassifier)"
            )
        if self.classes_.size < 2:
            raise ValueError(f"y has one class ({self.classes_[0]}): a classifier needs rows of at least 2 classes")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _decide(self, score: Array) -> NDArray[Any]:
        return self.classes_[(score > 0).astype(np.intp)]

    def _probability(self, score: Array) -> Array:
        other = 1 / (1 + np.exp(np.clip(score, -700, 700)))
        return np.column_stack([other, 1 - other])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class NumericLabels(RegressorMixin):
    """Labels that are numbers; the score is the prediction."""

    _numeric_labels: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"squared", "absolute"})]}

    def _code(self, y: NDArray[Any], weight: Array) -> Array:
        return np.asarray(y, dtype=np.float64)

    def _decide(self, score: Array) -> Array:
        return score


def is_logistic(self: Any) -> bool:
    """Whether there are probabilities; an `AttributeError` says what has them."""
    if self.loss != "logistic":
        raise AttributeError(f"loss={self.loss!r} has no probabilities: use loss='logistic'")
    return True
