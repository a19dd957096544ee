"""Which row comes from where.

``sample_domain`` is an integer for each row: **positive, a source** (its number); **negative, the target**.
``None`` means that every row is target. The sign convention is skada's, so its helpers and ours interoperate.
Labels are never masked, changed or reserved.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import (
    BaseCrossValidator,
    BaseShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, check_consistent_length

__all__ = ["TARGET", "TargetKFold", "TargetShuffleSplit", "check_domains", "split_domains", "stack_domains"]

TARGET = -1
"""The number that `stack_domains` gives to the rows of the target."""

Labelled = tuple[Any, Any]


def check_domains(sample_domain: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    """Return `sample_domain` as integers of length `n_rows`, or raise a `ValueError` that says what to mend.

    Parameters
    ----------
    sample_domain : array-like of shape (n_rows,) or None
        Positive for a source, negative for the target; None makes every row target.
    n_rows : int
        How many rows the data has.

    Returns
    -------
    ndarray of shape (n_rows,)
        Positive for a source, negative for the target.

    Examples
    --------
    >>> check_domains([1, 1, -1], 3)
    array([ 1,  1, -1])
    >>> check_domains([1, 0, -1], 3)
    Traceback (most recent call last):
        ...
    ValueError: sample_domain has 0 at row 1: give each source a positive number and the target a negative one
    """
    if sample_domain is None:
        return np.full(n_rows, TARGET, dtype=np.int64)
    given = np.asarray(sample_domain)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(f"sample_domain has {given.ndim} dimensions: give one integer for each row")
    if given.shape[0] != n_rows:
        raise ValueError(f"sample_domain has {given.shape[0]} entries for {n_rows} rows: give one integer for each row")
    remedy = "give each source a positive number and the target a negative one"
    if given.dtype.kind == "O" and all(isinstance(each, Real) and not isinstance(each, bool) for each in given):
        given = given.astype(np.float64)
    if given.dtype.kind not in "iuf":
        kind = "booleans" if given.dtype.kind == "b" else f"{given.dtype} values"
        raise ValueError(f"sample_domain has {kind}, not integers: {remedy}")
    whole = np.isfinite(given) & (given == np.floor(given)) & (given != 0) & (np.abs(given) < 2**53)
    if not whole.all():
        row = int(np.argmin(whole))
        raise ValueError(f"sample_domain has {given[row]} at row {row}: {remedy}")
    domains = given.astype(np.int64)
    if not (domains < 0).any():
        raise ValueError(f"no target rows among {n_rows}: mark the rows of the target with a negative sample_domain")
    return domains


def stack_domains(
    *, target: Labelled, sources: Sequence[Labelled] | Mapping[Any, Labelled]
) -> tuple[Any, NDArray[Any], NDArray[np.int64]]:
    """Put a target and its sources into one X, y and `sample_domain`, as the estimators take them.

    Parameters
    ----------
    target : (X, y)
        The rows of the domain that a model is wanted for.
    sources : sequence of (X, y), or mapping of a name to (X, y)
        The others, numbered 1, 2, … in the order given. Arrays, sparse matrices and data frames stay what they are.

    Returns
    -------
    X : array, sparse matrix or data frame
        The rows of the target, then those of each source.
    y : ndarray
        Their labels.
    sample_domain : ndarray of int
        -1 for the target, 1, 2, … for the sources.

    Examples
    --------
    >>> X, y, sample_domain = stack_domains(
    ...     target=([[0.0], [1.0]], [0, 1]), sources=[([[2.0]], [0]), ([[3.0]], [1])]
    ... )
    >>> sample_domain
    array([-1, -1,  1,  2])
    >>> X.ravel()
    array([0., 1., 2., 3.])
    """
    others = list(sources.values()) if isinstance(sources, Mapping) else list(sources)
    names = ["target", *(f"source {k}" for k in range(1, len(others) + 1))]
    domains = [target, *others]
    for name, pair in zip(names, domains, strict=True):
        if not (isinstance(pair, Sequence) and len(pair) == 2):
            raise ValueError(f"the {name} is {type(pair).__name__}, not a pair (X, y)")
        rows, labels = _num_samples(pair[0]), _num_samples(pair[1])
        if rows != labels:
            raise ValueError(f"the {name} has {rows} rows in X but {labels} labels in y: give one label a row")
    if _num_samples(target[0]) == 0:
        raise ValueError("the target has no rows: transfer needs at least a few labelled rows of the target")
    X = _concatenate([pair[0] for pair in domains], names)
    y = np.concatenate([np.asarray(pair[1]) for pair in domains])
    numbers = [TARGET, *range(1, len(others) + 1)]
    sample_domain = np.repeat(np.array(numbers, dtype=np.int64), [_num_samples(X) for X, _ in domains])
    return X, y, sample_domain


def split_domains(X: Any, y: ArrayLike, sample_domain: ArrayLike | None) -> tuple[Labelled, dict[int, Labelled]]:
    """Undo `stack_domains`: the target's (X, y), and a dictionary of the sources' by number.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.
    sample_domain : array-like of shape (n_rows,)
        Negative for the target, 1, 2, ... for the sources.

    Returns
    -------
    target : tuple of (X, y)
        The rows of the target.
    sources : dict of int to tuple of (X, y)
        The rows of each source, by its number.

    Examples
    --------
    >>> target, sources = split_domains([[0.0], [1.0], [2.0]], [0, 1, 0], [-1, -1, 1])
    >>> target[1], sources[1][1]
    (array([0, 1]), array([0]))
    """
    domains = check_domains(sample_domain, _num_samples(X))
    labels = np.asarray(y)
    if labels.shape[0] != domains.shape[0]:
        raise ValueError(f"y has {labels.shape[0]} labels for {domains.shape[0]} rows: give one label a row")
    if not (hasattr(X, "iloc") or hasattr(X, "shape") or hasattr(X, "__dataframe__")):
        X = np.asarray(X)

    def part(wanted: NDArray[np.bool_]) -> Labelled:
        rows = np.flatnonzero(wanted)
        return _safe_indexing(X, rows), labels[rows]

    return part(domains < 0), {int(k): part(domains == k) for k in np.unique(domains[domains > 0])}


def _concatenate(parts: list[Any], names: list[str]) -> Any:
    """Stack the X of several domains, keeping frames frames and sparse matrices sparse."""
    frames = [hasattr(part, "columns") for part in parts]
    if any(frames):
        if not all(frames):
            odd = names[frames.index(False)]
            raise ValueError(f"the {odd} is no data frame while others are: give all domains in one form")
        columns = list(parts[0].columns)
        for name, part in zip(names, parts, strict=True):
            if list(part.columns) != columns:
                raise ValueError(
                    f"the {name} has columns {list(part.columns)}, the target {columns}: "
                    "give every domain the same columns in the same order"
                )
        if hasattr(parts[0], "iloc"):
            return _concatenate_pandas(parts)
        import polars as pl

        return pl.concat(parts, how="vertical_relaxed")
    parts = [part if sp.issparse(part) else np.asarray(part) for part in parts]
    for name, part in zip(names, parts, strict=True):
        if part.shape[1:] != parts[0].shape[1:]:
            raise ValueError(
                f"the {name} has rows of shape {part.shape[1:]}, the target {parts[0].shape[1:]}: "
                "give every domain the same columns"
            )
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def _concatenate_pandas(frames: list[Any]) -> Any:
    """Stack frames; categories that differ between domains are united, not made texts."""
    import pandas as pd

    for column in frames[0].columns:
        kinds = [frame[column].dtype for frame in frames]
        differ = any(kind != kinds[0] for kind in kinds)
        if differ and all(isinstance(kind, pd.CategoricalDtype) and not kind.ordered for kind in kinds):
            united = pd.CategoricalDtype(pd.api.types.union_categoricals([f[column] for f in frames]).categories)
            frames = [frame.assign(**{column: frame[column].astype(united)}) for frame in frames]
    return pd.concat(frames, ignore_index=True)


class _TargetSplitter(GroupsConsumerMixin):
    """Split the target's rows with an ordinary splitter; the sources' rows always train.

    `groups` is the `sample_domain`; the mixin asks for it by default when metadata routing is on.
    """

    stratify: bool | str
    random_state: Any

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows to train on (all sources and some target rows) and the target rows to test on.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,), optional
            Needed to stratify.
        groups : array-like of shape (n_rows,), optional
            The `sample_domain` of each row; None makes every row target.

        Yields
        ------
        train, test : ndarray of int
        """
        check_consistent_length(X, y)
        domains = check_domains(groups, _num_samples(X))
        target, source = np.flatnonzero(domains < 0), np.flatnonzero(domains > 0)
        strata = self._strata(None if y is None else np.asarray(y)[target])
        with warnings.catch_warnings():
            # A class with fewer rows than folds is spread as far as it goes.
            warnings.filterwarnings("ignore", message="The least populated class")
            folds = list(self._splitter(strata is not None).split(target.reshape(-1, 1), strata))
        for train, test in folds:
            yield np.sort(np.concatenate([source, target[train]])), target[test]

    def _strata(self, y: NDArray[Any] | None) -> NDArray[Any] | None:
        """Labels to keep in proportion; None where there is nothing to keep."""
        if self.stratify not in (True, False, "auto"):
            raise ValueError(f"stratify is {self.stratify!r}: use True, False or 'auto'")
        if self.stratify is False or (self.stratify == "auto" and y is None):
            return None
        if y is None:
            raise ValueError("stratify=True needs y: pass the labels to split")
        discrete = type_of_target(y) in ("binary", "multiclass")
        if not discrete:
            if self.stratify is True:
                raise ValueError("stratify=True with continuous labels: use stratify=False for a regression")
            return None
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        return self._possible(codes, counts)

    @abstractmethod
    def _possible(self, codes: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return strata that scikit-learn's splitter takes, as near to the classes as can be."""

    @abstractmethod
    def _splitter(self, stratified: bool) -> Any:
        """Return scikit-learn's splitter for the target's rows."""


class TargetKFold(_TargetSplitter, BaseCrossValidator):
    """K-fold over the rows of the target; every source row always trains.

    Parameters
    ----------
    n_splits : int, default=5
        How many divisions.
    shuffle : bool, default=False
        Whether to shuffle the target's rows first.
    random_state : int, RandomState instance or None, default=None
        Used when `shuffle` is on.
    stratify : "auto", True or False, default="auto"
        Keep the shares of the classes in each fold; "auto" does so for discrete labels.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((6, 1)), np.array([0, 1, 0, 1, 0, 1])
    >>> sample_domain = np.array([1, 1, -1, -1, -1, -1])
    >>> for train, test in TargetKFold(2).split(X, y, groups=sample_domain):
    ...     print(train, test)
    [0 1 4 5] [2 3]
    [0 1 2 3] [4 5]
    """

    n_splits: int
    shuffle: bool

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        stratify: bool | str = "auto",
    ) -> None:
        if not isinstance(n_splits, Integral) or n_splits < 2:
            raise ValueError(f"n_splits is {n_splits!r}: use an integer of at least 2")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X : ignored
            For scikit-learn.
        y : ignored
            For scikit-learn.
        groups : ignored
            For scikit-learn.
        """
        return self.n_splits

    def _possible(self, codes: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp] | None:
        return codes if counts.max() >= self.n_splits else None

    def _splitter(self, stratified: bool) -> Any:
        kind = StratifiedKFold if stratified else KFold
        return kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)


class TargetShuffleSplit(_TargetSplitter, BaseShuffleSplit):
    """Random splits of the rows of the target; every source row always trains.

    Parameters
    ----------
    n_splits : int, default=10
        How many divisions.
    test_size, train_size : float or int, default=None
        A share or a number of *target* rows, as in scikit-learn's `ShuffleSplit`.
    random_state : int, RandomState instance or None, default=None
        Seed.
    stratify : "auto", True or False, default="auto"
        Keep the shares of the classes; "auto" does so for discrete labels.

    Examples
    --------
    >>> import numpy as np
    >>> cv = TargetShuffleSplit(1, train_size=2, random_state=0)
    >>> train, test = next(cv.split(np.zeros((6, 1)), [0, 1, 0, 1, 0, 1], groups=[1, 1, -1, -1, -1, -1]))
    >>> train.size, test.size
    (4, 2)
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | None = None,
        train_size: float | None = None,
        random_state: Any = None,
        stratify: bool | str = "auto",
    ) -> None:
        super().__init__(n_splits=n_splits, test_size=test_size, train_size=train_size, random_state=random_state)
        self.stratify = stratify

    def _possible(self, codes: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp] | None:
        # A class of one row cannot be on both sides: it joins the largest.
        strata = np.where(counts < 2, np.argmax(counts), np.arange(counts.size))[codes]
        return strata if counts.max() >= 2 else None

    def _splitter(self, stratified: bool) -> Any:
        kind = StratifiedShuffleSplit if stratified else ShuffleSplit
        return kind(
            self.n_splits,
            test_size=self.test_size,
            train_size=self.train_size,
            random_state=check_random_state(self.random_state),
        )
