"""Dates and free text as numbers: steps of a pipeline that hold arrays and no functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

__all__ = ["DateFeatures", "TextFeatures"]

DATE_PARTS = ("year", "month", "weekday", "hour", "elapsed days", "missing")
_WORD = re.compile(r"\b\w\w+\b")
_LONGEST_WORD = 40
_DAYS_TO_THURSDAY = 3  # 1970 began on a Thursday; weeks begin on Monday


class DateFeatures(TransformerMixin, BaseEstimator):
    """Turn dates, given as days since 1970, into year, month, weekday (Monday is 0), hour and elapsed days.

    Of each column, the parts that vary in training are kept; so is whether the date is missing.

    Attributes
    ----------
    varies_ : ndarray of bool of shape (n_columns, 6)
        Which parts of each column are kept.
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import pandas as pd
    >>> steps = DateFeatures().fit(pd.DataFrame({"day": [0.0, 31.5]}))
    >>> steps.get_feature_names_out().tolist()
    ['day: month', 'day: weekday', 'day: hour', 'day: elapsed days']
    >>> steps.transform(pd.DataFrame({"day": [31.5]}))
    array([[ 2. ,  6. , 12. , 31.5]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out which parts of the dates vary."""
        days = np.asarray(X, dtype=np.float64)
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=str)
        self.n_features_in_ = days.shape[1]
        self.varies_ = np.array([[_varies(part) for part in _date_parts(column)] for column in days.T])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the parts of dates, NaN where a date is missing."""
        check_is_fitted(self)
        days = np.asarray(X, dtype=np.float64)
        kept = [np.stack(_date_parts(column))[varies] for column, varies in zip(days.T, self.varies_, strict=True)]
        return np.concatenate(kept).T

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the name of each part with that of its column."""
        pairs = zip(self.feature_names_in_, self.varies_, strict=True)
        names = [f"{name}: {part}" for name, varies in pairs for part in np.array(DATE_PARTS)[varies]]
        return np.array(names, dtype=object)


def _date_parts(days: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    missing = np.isnan(days)
    minutes = np.floor(np.where(missing, 0.0, days) * 1440 + 0.5).astype(np.int64)
    dates = minutes.astype("datetime64[m]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    whole_days = minutes // 1440
    parts = [1970 + months // 12, 1 + months % 12, (whole_days + _DAYS_TO_THURSDAY) % 7, minutes % 1440 // 60]
    return [*(np.where(missing, np.nan, part) for part in parts), days, missing.astype(np.float64)]


def _varies(part: NDArray[np.float64]) -> bool:
    known = part[~np.isnan(part)]
    return bool(known.size and np.ptp(known) > 0)


class TextFeatures(TransformerMixin, BaseEstimator):
    """Turn a column of free text into the TF-IDF of its words, each row of length 1.

    The words are those that are in most rows of training, and in two at least; case does not matter.

    Parameters
    ----------
    max_words : int, default=100

    Attributes
    ----------
    words_ : ndarray of str
        In alphabetical order.
    idf_ : ndarray of float
        ``log((1 + n_rows) / (1 + n_rows_with_word)) + 1``, as scikit-learn has it.

    Examples
    --------
    >>> import pandas as pd
    >>> texts = pd.DataFrame({"text": ["old house", "old flat, old cellar", "flat"]})
    >>> steps = TextFeatures().fit(texts)
    >>> steps.get_feature_names_out().tolist()
    ['text: flat', 'text: old']
    >>> steps.transform(texts).round(2).tolist()
    [[0.0, 1.0], [0.45, 0.89], [1.0, 0.0]]
    """

    def __init__(self, max_words: int = 100) -> None:
        self.max_words = max_words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the words."""
        n_rows = len(X)
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=str)
        self.n_features_in_ = X.shape[1]
        frequency: Counter[str] = Counter()
        for words in _rows_of_words(X):
            frequency.update(set(words))
        common = sorted((word for word, n in frequency.items() if n > 1), key=lambda word: (-frequency[word], word))
        chosen = sorted(common[: self.max_words])
        self.words_ = np.array(chosen, dtype=str)
        self.idf_ = np.log((1 + n_rows) / (1 + np.array([frequency[word] for word in chosen], dtype=np.float64))) + 1
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the weights of the words; of a missing text, or one without any of them, zeros."""
        check_is_fitted(self)
        places = {word: place for place, word in enumerate(self.words_.tolist())}
        weights = np.zeros((len(X), len(places)))
        for row, words in enumerate(_rows_of_words(X)):
            for word in words:
                if word in places:
                    weights[row, places[word]] += 1
        weights *= self.idf_
        length = np.sqrt((weights**2).sum(axis=1, keepdims=True))
        return weights / np.where(length > 0, length, 1.0)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return each word with the name of the column."""
        return np.array([f"{self.feature_names_in_[0]}: {word}" for word in self.words_], dtype=object)


def _rows_of_words(X: Any) -> Iterator[list[str]]:
    for text in np.asarray(X, dtype=object)[:, 0].tolist():
        yield words_of(text) if isinstance(text, str) else []


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters.

    Examples
    --------
    >>> words_of("A room, with a View!")
    ['room', 'with', 'view']
    """
    return [word[:_LONGEST_WORD] for word in _WORD.findall(text.lower())]
