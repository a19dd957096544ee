"""What the estimators refuse, and why, before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor

from ._fitting import Data

_Class = TypeVar("_Class")

FEWEST_ROWS = 4
_LARGEST_LABEL = 1e100
_LARGEST_FEATURE = 1e30

GONE = {
    "n_standard_errors": "the evidence decides; give prior_odds to say what you believe of a source",
    "check_columns": "use aligned=True where columns were matched by name",
    "transfer_verdict_": "use evidence_",
    "cv_results_": "use evidence_.to_frame('hypotheses')",
    "target_only_estimator_": "use sources='none'",
}
"""Names of gapmin 0.1, and what takes their place."""


def refuse_gone_parameters(made: type[_Class]) -> type[_Class]:
    """Make a class refuse parameters and attributes of gapmin 0.1 with a word on what takes their place."""
    initialise = made.__init__

    @wraps(initialise)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        for name in GONE.keys() & options.keys():
            raise TypeError(f"{type(self).__name__} has no parameter {name} any more: {GONE[name]}")
        known = type(self)._get_param_names()
        for name in options:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no parameter {name}: choose from {', '.join(known)}")
        initialise(self, *args, **options)

    def missing(self: Any, name: str) -> Any:
        if name in GONE:
            raise AttributeError(f"{type(self).__name__} has no {name} any more: {GONE[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    made.__init__ = checked  # type: ignore[method-assign]
    made.__getattr__ = missing  # type: ignore[attr-defined]
    return made


def check_target(data: Data) -> None:
    """Refuse a target of too few rows, and labels that cannot be squared."""
    n_target = data.target.size
    if n_target < FEWEST_ROWS:
        raise ValueError(
            f"the target has {n_target} rows (n_samples = {n_target}), too few to test a choice on: give at least "
            f"{FEWEST_ROWS}, better 10 or more"
        )
    if not data.n_classes and (largest := float(np.abs(data.y).max())) > _LARGEST_LABEL:
        raise ValueError(
            f"y has a value of {largest:.3g}, and squared errors of such labels are more than a number can hold: "
            "divide them by a power of ten"
        )


def check_learner(estimator: Any, param_grid: Any, *, classes: bool) -> None:
    """Refuse a learner for the other task, and settings of none."""
    wanted, other = ("classifier", is_regressor) if classes else ("regressor", is_classifier)
    if estimator is not None and other(estimator):
        raise ValueError(f"estimator is {type(estimator).__name__}, which is no {wanted}: give a {wanted}")
    if param_grid is not None and estimator is None:
        raise ValueError("param_grid is given without an estimator: give the estimator whose settings these are")


def check_size(X: Any) -> None:
    """Refuse numbers that trees cannot square."""
    if (largest := max(float(X.max()), -float(X.min()))) > _LARGEST_FEATURE:
        raise ValueError(
            f"X has a value of {largest:.3g} in size, more than trees can square: divide its column by a power of ten"
        )


def check_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return one group for each row, or None."""
    if groups is None:
        return None
    found = np.asarray(groups)
    if found.shape != (n_rows,):
        raise ValueError(f"groups has shape {found.shape} for {n_rows} rows: give one group for each row")
    missing = np.array([each is None or each != each for each in found.tolist()])  # NaN alone differs from itself
    if missing.any():
        raise ValueError(f"groups has no value in row {int(missing.argmax())}: give every row a group")
    return found.astype(str) if found.dtype.kind == "O" else found


def check_class_weight(weight: Any, classes: NDArray[Any]) -> None:
    """Refuse weights of classes that are not there, or that are no weights."""
    if not isinstance(weight, Mapping):
        return
    for label, value in weight.items():
        if label not in classes.tolist():
            raise ValueError(f"class_weight has class {label!r}: choose from {classes.tolist()}")
        if not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"class_weight of class {label!r} is {value!r}: give a number above 0")


def check_not_taken(given: Mapping[str, Any], estimator: str) -> None:
    """Refuse what a fit does not take, with a word on weights of rows."""
    for name in given:
        if name == "sample_weight":
            raise TypeError(
                f"{estimator} takes no sample_weight: a weighted row would count as several in training and in testing "
                "at once; give rows as often as they count, with groups= to keep copies together"
            )
        raise TypeError(f"{estimator}.fit takes no {name}: give X, y, sample_domain and groups")


def check_odds(odds: Mapping[int, float] | None, names: Mapping[int, str]) -> None:
    """Refuse a belief in a source that is not there, or one that is no number above 0."""
    for number, value in (odds or {}).items():
        if number not in names:
            raise ValueError(f"prior_odds has source {number!r}: choose from {list(names)}")
        if not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"prior_odds of source {number} is {value!r}: give a number above 0, 1 for no belief")


def refuse_unprepared(X: Any) -> None:
    """Refuse a frame with texts, dates or missing values, which the default learners do not take; say what does."""
    if type(X).__module__.partition(".")[0] not in ("pandas", "polars") or not hasattr(X, "columns"):
        return
    for name in X.columns:
        problem = _unprepared(X[name])
        if problem:
            raise ValueError(
                f"column {str(name)!r} of X has {problem}: gapmin.compare(target, sources, label=...) prepares such "
                "columns, or give an estimator that takes them, such as a pipeline with an imputer or encoder"
            )


def _unprepared(column: Any) -> str:
    """Return what of a frame's column is no number, or ""."""
    values = np.asarray(column)
    is_gap = np.asarray(column.isna() if hasattr(column, "isna") else column.is_null())
    if values.dtype.kind in "mM":
        return "dates or times"
    if values.dtype.kind not in "biuf":
        for value in values[~is_gap].tolist():
            if isinstance(value, str):
                return f"texts such as {value!r}"
    return "missing values (NaN)" if is_gap.any() or (values.dtype.kind == "f" and np.isnan(values).any()) else ""
