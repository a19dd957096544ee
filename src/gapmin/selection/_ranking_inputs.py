"""What `rank_sources` is given, checked and stacked: every fault is found here, before any fit."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from gapmin.domains import stack_domains

TASKS = ("classification", "regression")
FEWEST_TARGET_ROWS = 4
MANY_CLASSES = 20
"""Of whole numbers: more than this are noted, for they may be amounts."""


@dataclass(frozen=True)
class RankingData:
    """All rows, the target's first, with names for the sources.

    Attributes
    ----------
    X : array, sparse matrix or data frame
        As the learner takes it.
    numbers : array, sparse matrix or None
        The same rows for the gap; None where they are not numbers without a gap.
    y : ndarray
    domain : ndarray of int
    names : tuple of str
    task : str
    notes : tuple of str
    """

    X: Any
    numbers: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    names: tuple[str, ...]
    task: str
    notes: tuple[str, ...]

    @property
    def n_target(self) -> int:
        return int((self.domain < 0).sum())

    def rows(self, sources: Sequence[int]) -> NDArray[np.intp]:
        """Return the rows of the sources of these numbers."""
        return np.flatnonzero(np.isin(self.domain, sources))


def named_sources(sources: Any) -> dict[str, Any]:
    """Return the sources by name, those of a sequence as "source 1", "source 2", …"""
    if isinstance(sources, Mapping):
        named = [(str(name), pair) for name, pair in sources.items()]
    elif isinstance(sources, Sequence) and not isinstance(sources, str):
        named = [(f"source {k}", pair) for k, pair in enumerate(sources, start=1)]
    else:
        raise ValueError(f"sources is {type(sources).__name__}: give a mapping of name to (X, y), or a list of (X, y)")
    if not named:
        raise ValueError("there are no sources: give at least one (X, y) to rank")
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two sources are called {name!r}: give each a name of its own")
    return dict(named)


def check_inputs(
    target: Any,
    sources: Any,
    *,
    task: str | None,
    estimator: Any,
    preprocessor: Any,
    max_source_rows: int | None,
    seed: int,
) -> RankingData:
    """Return the rows stacked, or raise a `ValueError` that says what to mend."""
    named = named_sources(sources)
    domains = {"target": target, **{f"source {name!r}": pair for name, pair in named.items()}}
    pairs = {who: _check_pair(who, pair) for who, pair in domains.items()}
    _check_columns({who: X for who, (X, _) in pairs.items()})
    notes: list[str] = []
    if max_source_rows is not None:
        if not (isinstance(max_source_rows, Integral) and max_source_rows > 0):
            raise ValueError(f"max_source_rows is {max_source_rows!r}: give a number of rows above 0, or None for all")
        for name, who in zip(named, list(pairs)[1:], strict=True):
            pairs[who], note = _subsample(*pairs[who], int(max_source_rows), name, seed)
            notes += note
    task = _check_labels({who: y for who, (_, y) in pairs.items()}, task, notes)
    if task == "regression":
        pairs = {who: (X, y.astype(np.float64)) for who, (X, y) in pairs.items()}
    X, y, domain = stack_domains(target=next(iter(pairs.values())), sources=list(pairs.values())[1:])
    X, numbers, why = _features(X, pairs, estimator, preprocessor)
    if why:
        notes.append(f"the gaps were not measured: {why}")
    _check_estimator(estimator, task)
    return RankingData(X, numbers, y, domain, tuple(named), task, tuple(notes))


def _check_pair(who: str, pair: Any) -> tuple[Any, NDArray[Any]]:
    if not (isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2):
        raise ValueError(f"the {who} is {type(pair).__name__}, not a pair (X, y): give its rows and its labels")
    X, y = pair
    if not (hasattr(X, "columns") or sp.issparse(X)):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"the X of the {who} has shape {X.shape}: give rows and columns, X.reshape(-1, 1) for one column"
        )
    if sp.issparse(X):
        X = X.tocsr()
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"the y of the {who} has shape {labels.shape}: give one label for each row")
    if X.shape[0] != labels.shape[0]:
        raise ValueError(
            f"the {who} has {X.shape[0]} rows in X but {labels.shape[0]} labels in y: give one label a row"
        )
    if labels.shape[0] == 0:
        raise ValueError(f"the {who} has no rows: " + ("give some" if who == "target" else "leave it out"))
    missing = _missing(labels)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"the y of the {who} has {labels[row]} at row {row}: leave out rows without a label")
    return X, labels


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return ~np.isfinite(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    # None, NaN and pandas' NA: the last is neither equal to itself nor unequal.
    return np.array(
        [each is None or str(each) in ("<NA>", "NaT") or (isinstance(each, float) and each != each) for each in values]
    )


def _check_columns(features: Mapping[str, Any]) -> None:
    target = features["target"]
    for who, X in features.items():
        if hasattr(X, "columns") != hasattr(target, "columns"):
            raise ValueError(f"the {who} is no data frame, or the target is none: give all domains in one form")
        if hasattr(X, "columns"):
            mine, wanted = list(X.columns), list(target.columns)
            strange = [column for column in mine if column not in wanted]
            lacking = [column for column in wanted if column not in mine]
            if strange or lacking:
                what = f"has a column {strange[0]!r} that" if strange else f"lacks the column {lacking[0]!r} that"
                has = "the target lacks" if strange else "the target has"
                raise ValueError(f"the {who} {what} {has}: give every domain the same columns")
            if mine != wanted:
                raise ValueError(f"the {who} has the target's columns in another order: give X[list(X_target.columns)]")
        if X.shape[1] != target.shape[1]:
            raise ValueError(
                f"the {who} has {X.shape[1]} columns, the target {target.shape[1]}: give every domain the same columns"
            )
    if target.shape[1] == 0:
        raise ValueError("X has no columns: give at least one feature")


def _subsample(X: Any, y: NDArray[Any], most: int, name: str, seed: int) -> tuple[tuple[Any, NDArray[Any]], list[str]]:
    if y.size <= most:
        return (X, y), []
    # By name, so that a source's rows do not depend on which other sources there are.
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    rows = np.sort(rng.choice(y.size, most, replace=False))
    note = f"of source {name!r} {most:,} of {y.size:,} rows were used, drawn at random (max_source_rows)"
    return (_safe_indexing(X, rows), y[rows]), [note]


def _check_labels(labels: Mapping[str, NDArray[Any]], task: str | None, notes: list[str]) -> str:
    """Return the task; see that there is something to learn on the target."""
    if task not in (None, *TASKS):
        raise ValueError(f"task is {task!r}: use 'classification', 'regression', or None to go by the labels")
    y_target = labels["target"]
    if y_target.size < FEWEST_TARGET_ROWS:
        raise ValueError(
            f"the target has {y_target.size} rows: cross-validation needs {FEWEST_TARGET_ROWS} or more, 10 to say much"
        )
    numeric = {who: y.dtype.kind in "biuf" for who, y in labels.items()}
    for who, is_numeric in numeric.items():
        if is_numeric != numeric["target"]:
            kinds = ("numbers", "text") if is_numeric else ("text", "numbers")
            raise ValueError(
                f"the {who} has {kinds[0]} for labels, the target {kinds[1]}: write the labels of all domains alike"
            )
    if task is None:
        kind = type_of_target(np.concatenate(list(labels.values())))
        found = {"binary": "classification", "multiclass": "classification", "continuous": "regression"}
        if kind not in found:
            raise ValueError(f"the labels are {kind} to scikit-learn: give classes or numbers, one for each row")
        task = found[kind]
        n_classes = np.unique(y_target).size
        if task == "classification" and numeric["target"] and n_classes > y_target.size / 2:
            raise ValueError(
                f"the {y_target.size} labels of the target are {n_classes} different whole numbers: say whether they "
                "are amounts, task='regression', or classes, task='classification'"
            )
    if task == "regression":
        if not numeric["target"]:
            raise ValueError(f"the label {y_target[0]!r} is no number: use task='classification', or None")
        if np.ptp(y_target.astype(np.float64)) == 0:
            raise ValueError(f"every label of the target is {y_target[0]}: there is nothing to predict")
        return task
    classes, counts = np.unique(y_target, return_counts=True)
    if classes.size == 1:
        raise ValueError(
            f"the target has one class ({classes[0]}) among its {y_target.size} rows: add target rows of another class"
        )
    hint = "; use task='regression' if they are amounts" if numeric["target"] else ""
    if counts.max() == 1:
        raise ValueError(
            f"each of the {y_target.size} labels of the target is a class of its own: add target rows{hint}"
        )
    if classes.size == 2 and counts.min() == 1:
        label = classes[np.argmin(counts)]
        raise ValueError(f"the target has one row of class {label}: cross-validation needs two, so add target rows")
    if classes.size > MANY_CLASSES and hint:
        notes.append(f"the labels are {classes.size} whole numbers and were taken as classes{hint}")
    extra = {who: np.setdiff1d(y, classes) for who, y in labels.items()}
    for who, only in extra.items():
        if only.size:
            shown = ", ".join(map(str, only[:3])) + (", …" if only.size > 3 else "")
            notes.append(f"the {who} has classes that the target has not: {shown}")
    return task


def _features(X: Any, pairs: Mapping[str, Any], estimator: Any, preprocessor: Any) -> tuple[Any, Any, str]:
    """Return the features for the learner and for the gap, and why there are none for the gap."""
    if preprocessor is not None:
        for method in ("fit", "transform"):
            if not hasattr(preprocessor, method):
                raise ValueError(
                    f"preprocessor is {type(preprocessor).__name__}, which has no {method}: give a transformer"
                )
        X = clone(preprocessor).fit(X).transform(X)
        if sp.issparse(X):
            X = X.tocsr()
    numbers, why = as_numbers(X, list(pairs), [_num_samples(y) for _, y in pairs.values()])
    if not why:
        return (numbers if estimator is None else X), numbers, ""
    if preprocessor is not None:
        raise ValueError(f"after the preprocessor {why}: give one that turns all features into finite numbers")
    if estimator is None:
        raise ValueError(
            f"{why}: give a preprocessor that turns features into numbers, or an estimator that takes them"
        )
    return X, None, f"{why}; a preprocessor would make numbers of them"


def as_numbers(X: Any, whose: Sequence[str], sizes: Sequence[int]) -> tuple[Any, str]:
    """Return the features as a float matrix and "", or None and what stands in the way."""
    names: Sequence[Any] = range(X.shape[1])
    if hasattr(X, "columns"):
        for column in X.columns:
            kind = getattr(X[column].dtype, "kind", None) or np.asarray(X[column]).dtype.kind
            if kind not in "biuf":
                return None, f"the column {column!r} is not numeric"
        names, X = list(X.columns), np.column_stack([_float_column(X[column]) for column in X.columns])
    if X.dtype.kind not in "biuf":
        return None, f"X has {X.dtype} values, not numbers"
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    values = X.data if sp.issparse(X) else X
    if np.isfinite(values).all():
        return X, ""
    if sp.issparse(X):
        place = int(np.argmin(np.isfinite(values)))
        row, column, value = int(np.searchsorted(X.indptr, place, "right")) - 1, int(X.indices[place]), values[place]
    else:
        row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
        value = X[row, column]
    starts = np.cumsum([0, *sizes])
    domain = int(np.searchsorted(starts, row, "right")) - 1
    return None, f"the {whose[domain]} has {value} at row {row - starts[domain]}, column {names[column]!r}"


def _float_column(column: Any) -> NDArray[np.float64]:
    # pandas' own missing value has no float of its own: it must be asked for.
    return column.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(column, "iloc") else np.asarray(column, float)


def _check_estimator(estimator: Any, task: str) -> None:
    if estimator is None:
        return
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise ValueError(f"estimator is {estimator!r}: give an estimator with fit and predict, such as a Pipeline")
    wrong = is_regressor(estimator) if task == "classification" else is_classifier(estimator)
    if wrong:
        kind = "regressor" if task == "classification" else "classifier"
        raise ValueError(f"{type(estimator).__name__} is a {kind} and the task is a {task}: change one of the two")
