"""Which columns a fitted model needs: permutation importance on target rows that did not train."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.parallel import one_thread
from gapmin._utils.statistics import Z_95
from gapmin._utils.typing import Array

from ._fitting import METHOD, Data, TargetFold, correct, fit_learner
from .checks import check_groups
from .constants import RECALIBRATED
from .findings import link_rows, row_keys
from .folds import draw_folds
from .library import Learner

__all__ = ["N_PERMUTATIONS", "ColumnImportance", "column_importance", "rank_columns"]

N_PERMUTATIONS = 3
"""How often each column is shuffled."""
_N_SPLITS = 5


@dataclass(frozen=True)
class ColumnImportance:
    """How much worse held-out predictions are when a column is shuffled.

    Attributes
    ----------
    name : str
        The column.
    increase : float
        Of the Brier score or of the squared error, the mean over the target's rows.
    low, high : float
        Its 95% interval over the rows.
    """

    name: str
    increase: float
    low: float
    high: float


def column_importance(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_domain: ArrayLike,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> tuple[ColumnImportance, ...]:
    """Return how much held-out predictions need each column, the largest first.

    The models of `Transfer*CV` are fitted anew on folds of the target with the settings and weights that were chosen.

    Parameters
    ----------
    model : TransferClassifierCV or TransferRegressorCV
        Fitted without an `estimator` of your own.
    X, y, sample_domain
        The rows that it was fitted to.
    groups : array-like of shape (n_rows,), optional
        As in its fit.
    random_state : int, default=0
        Seed.

    Returns
    -------
    tuple of ColumnImportance
        One for each column.

    Examples
    --------
    >>> from gapmin.transfer import TransferRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(120, 3)), np.repeat([-1, 1], [20, 100])
    >>> y = 3 * X[:, 1]
    >>> made = TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> column_importance(made, X, y, sample_domain=sample_domain)[0].name
    'column 2'
    """
    check_is_fitted(model)
    if getattr(model, "estimator", None) is not None or not hasattr(model, "best_estimator_"):
        raise ValueError("importance is measured of TransferClassifierCV and TransferRegressorCV without an estimator")
    checker = clone(model)
    rows, _ = checker._validate_training_data(X, y, sample_domain, None)
    n_classes = checker.classes_.size if isinstance(checker, ClassifierMixin) else 0
    data = Data(rows.X, checker._codes(rows.y), rows.domain, n_classes)
    if not isinstance(data.X, np.ndarray):
        raise ValueError("importance is measured of dense columns: give X.toarray()")
    checked = check_groups(groups, data.y.size)
    data, *_ = link_rows(data, row_keys(data), checked)
    of_target = None if checked is None else checked[data.target]
    (folds,) = draw_folds(data, min(_N_SPLITS, data.target.size // 2), 1, random_state, of_target)
    random = np.random.default_rng(random_state)
    increase = np.empty((data.X.shape[1], data.target.size))
    with one_thread():
        for fold in folds:
            increase[:, fold[1]] = _of_fold(model, data, fold, random)
    names = getattr(model, "feature_names_in_", [f"column {k + 1}" for k in range(len(increase))])
    return rank_columns(names, increase)


def rank_columns(names: Iterable[object], increase: Array) -> tuple[ColumnImportance, ...]:
    """Return the importance of columns, the largest first.

    Parameters
    ----------
    names : iterable of str
        The columns.
    increase : ndarray of shape (n_columns, n_rows)
        By how much the loss of each row rises where a column is shuffled.

    Examples
    --------
    >>> [each.name for each in rank_columns(["a", "b"], np.array([[0.0, 0.1], [0.3, 0.5]]))]
    ['b', 'a']
    """
    half = Z_95 * increase.std(axis=1, ddof=1) / np.sqrt(increase.shape[1])
    found = [
        ColumnImportance(str(name), float(mean), float(mean - width), float(mean + width))
        for name, mean, width in zip(names, increase.mean(axis=1), half, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: -each.increase))


def _of_fold(model: Any, data: Data, fold: TargetFold, random: np.random.Generator) -> Array:
    """Return for each column and each row of a fold how much its loss rises."""
    mixture = model.best_estimator_
    made: dict[Any, list[Any]] = {}
    for members, models in mixture.models.items():
        made[members] = []
        for each in models:
            learner = Learner("", clone(each.estimator), each.columns, {}, each.power, each.form == METHOD)
            fitted = replace(fit_learner(data, learner, each.form, members, fold, 0), weight=each.weight)
            made[members].append(correct(fitted, data, fold) if each.form == RECALIBRATED else fitted)
    anew = type(mixture)(made, mixture.weights)
    here, y = data.X[data.target[fold[1]]], data.y[data.target[fold[1]]]
    before = data.losses(anew.predict(here), y)
    found = np.empty((here.shape[1], y.size))
    for column in range(here.shape[1]):
        shuffled = np.tile(here, (N_PERMUTATIONS, 1))
        for part in np.split(shuffled, N_PERMUTATIONS):
            part[:, column] = random.permutation(here[:, column])
        losses = data.losses(anew.predict(shuffled), np.tile(y, N_PERMUTATIONS))
        found[column] = losses.reshape(N_PERMUTATIONS, -1).mean(axis=0) - before
    return found
