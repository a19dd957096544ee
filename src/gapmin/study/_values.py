"""What the values of a column are (numbers, booleans, dates, texts), and turning them into what a model takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._dates import is_date, text_to_days, timestamps_to_days
from ._text import commas_as_points

if TYPE_CHECKING:
    import pandas as pd

MOSTLY = 0.95
"""A column whose values are numbers up to this share is a column of numbers with stray words."""

LARGEST = 1e100
"""A number larger than that stands for something else, such as a missing value: its square is hardly one any more."""

_CELLS_OF_A_BLOCK = 2_000_000
_TRUTH = {"true": 1.0, "false": 0.0}
_WHOLE = re.compile(r"[+-]?\d+\.0+")


@dataclass(frozen=True)
class Profile:
    """What one file has in a column.

    Attributes
    ----------
    read_as : str
        "number", "boolean", "date" or "text".
    counts : Counter
        How often each value is there, as text; dates are not looked at one by one.
    n_values, n_missing : int
    """

    read_as: str
    counts: Counter[str]
    n_values: int
    n_missing: int

    def share(self, test: str) -> float:
        """Return the share of the values that can be read as "number", "boolean" or "date"."""
        if self.read_as != "text":
            return float(self.read_as == test)
        tests: dict[str, Callable[[str], Any]] = {
            "number": lambda text: not isnan(parse_number(text)),
            "boolean": lambda text: text.lower() in _TRUTH,
            "date": is_date,
        }
        return sum(n for text, n in self.counts.items() if tests[test](text)) / max(self.n_values, 1)

    def without(self, marks: Collection[str]) -> Profile:
        """Return the profile with some texts, given in small letters, as missing."""
        counts = Counter({text: n for text, n in self.counts.items() if text.lower() not in marks})
        n_gone = self.counts.total() - counts.total()
        return replace(self, counts=counts, n_values=self.n_values - n_gone, n_missing=self.n_missing + n_gone)


@cache
def kind_of_dtype(dtype: Any) -> str:
    """Return what pandas read a column as: "number", "boolean", "date" or "text"."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return "text"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    is_date = pd.api.types.is_datetime64_any_dtype(dtype) or dtype.kind == "m" or isinstance(dtype, pd.PeriodDtype)
    return "date" if is_date else "text"


def profile(column: pd.Series) -> Profile:
    """Look at the values of a column."""
    kind = kind_of_dtype(column.dtype)
    if kind == "date":
        n_missing = int(column.isna().sum())
        return Profile(kind, Counter(), len(column) - n_missing, n_missing)
    counts = Counter(as_texts(column).tolist())
    n_missing = sum(counts.pop(gap) for gap in list(counts) if not isinstance(gap, str))
    return Profile(kind, counts, len(column) - n_missing, n_missing)


def as_texts(column: pd.Series) -> NDArray[Any]:
    """Return values as texts without spaces around them, missing ones as NaN.

    1.0 is "1", as in a file of integers, and True is "true", as in most files.
    """
    values = column.to_numpy(dtype=object)
    missing = column.isna().to_numpy()
    known: dict[Any, Any] = {}
    texts = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist()):
        key = value if type(value) is str else (type(value), value)  # True, 1 and 1.0 are equal
        text = known.get(key)
        if text is None:
            # One object for all gaps: NaN differs from itself, and a Counter would keep each.
            text = known[key] = nan if missing[row] else plain_text(value)
        texts[row] = text
    return texts


def plain_text(value: Any) -> Any:
    """Return a value as text without spaces around it, NaN for a blank; 1.0 is "1", True is "true"."""
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in _TRUTH:  # in whatever case: a file with nothing else in the column has no texts there
            return text.lower()
        return text.partition(".")[0] if _WHOLE.fullmatch(text) else text or nan
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def is_missing(column: pd.Series) -> NDArray[np.bool_]:
    """Return where a column has no value; blanks are none."""
    if kind_of_dtype(column.dtype) == "text":
        return np.fromiter((not isinstance(text, str) for text in as_texts(column)), dtype=bool, count=len(column))
    return np.asarray(column.isna())


def as_numbers(column: pd.Series) -> NDArray[np.float64]:
    """Return values as float64: NaN where one is missing or is no number, true and false as 1 and 0."""
    if kind_of_dtype(column.dtype) in ("number", "boolean"):
        return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return _mapped(column, lambda text: _TRUTH.get(text.lower(), parse_number(text)))


def with_decimal_points(column: pd.Series) -> tuple[pd.Series, str]:
    """Return a column of texts with its decimal commas as points, and an example; itself and "" where it has none."""
    if kind_of_dtype(column.dtype) != "text":
        return column, ""
    texts = as_texts(column)
    written = commas_as_points({text for text in texts.tolist() if isinstance(text, str)})
    if not written:
        return column, ""
    changed = [written.get(text, text) for text in texts.tolist()]
    return type(column)(changed, index=column.index, dtype=object), next(iter(written))


def as_truths(column: pd.Series) -> NDArray[np.float64]:
    """Return values as 1 (true) and 0 (false), NaN where one is missing or neither."""
    if kind_of_dtype(column.dtype) == "text":
        return _mapped(column, lambda text: _TRUTH.get(text.lower(), nan))
    numbers = as_numbers(column)
    numbers[(numbers != 0) & (numbers != 1)] = np.nan
    return numbers


def as_days(column: pd.Series, day_first: bool) -> NDArray[np.float64]:
    """Return dates and times as days since 1970, NaN where one is missing or is none."""
    kind = kind_of_dtype(column.dtype)
    if kind == "text":
        return _mapped(column, lambda text: text_to_days(text, day_first))
    return timestamps_to_days(column) if kind == "date" else np.full(len(column), nan)


def _mapped(column: pd.Series, number: Callable[[str], float]) -> NDArray[np.float64]:
    remembered = cache(number)
    texts = as_texts(column)
    return np.array([remembered(text) if isinstance(text, str) else nan for text in texts.tolist()], dtype=np.float64)


def parse_number(text: str) -> float:
    """Return a text as a number, NaN if it is none; Python itself would take 1_000."""
    try:
        return nan if "_" in text else float(text)
    except ValueError:
        return nan


def number_blocks(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[Sequence[str], NDArray[np.float64]]]:
    """Yield some columns at a time as float64: many short ones, to be fast, and few long ones, to save memory."""
    at_once = max(1, _CELLS_OF_A_BLOCK // max(len(frame), 1))
    for start in range(0, len(names), at_once):
        some = list(names[start : start + at_once])
        yield some, frame[some].to_numpy(dtype=np.float64, na_value=np.nan)
