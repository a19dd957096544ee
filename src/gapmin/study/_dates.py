"""Dates and times as days since 1970: from what pandas reads, and from texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})"
    rf"(?:[-/.](?P<day>\d{{1,2}})(?:[ T]{_TIME}\s*(?:Z|UTC|[+-]\d{{2}}:?\d{{2}})?)?)?"
)
_YEAR_LAST = re.compile(
    rf"(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<other>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d{{2}})(?: {_TIME})?"
)
_TIME_ALONE = re.compile(_TIME)
_EPOCH = datetime(1970, 1, 1)
_SECONDS = 86_400
_DAYS_OF_YEAR = 365.2425


@lru_cache(maxsize=100_000)
def text_to_days(text: str, day_first: bool) -> float:
    """Return a date or time as days since 1970, NaN if it is none; the hour is local, for offsets from UTC are ignored.

    Parameters
    ----------
    text : str
    day_first : bool
        Whether 02.01.2020 is the second of January.

    Examples
    --------
    >>> text_to_days("1970-01-02", False), text_to_days("02.01.1970 12:00", True), text_to_days("06:00", True)
    (1.0, 1.5, 0.25)
    >>> text_to_days("31.12.2020", False), text_to_days("soon", True)
    (nan, nan)
    """
    found = _YEAR_FIRST.fullmatch(text) or _YEAR_LAST.fullmatch(text) or _TIME_ALONE.fullmatch(text)
    if found is None:
        return nan
    parts: dict[str, Any] = {"year": "1970", "month": "1", "day": "1", **found.groupdict()}
    if "one" in parts:
        parts["day"], parts["month"] = (parts["one"], parts["other"]) if day_first else (parts["other"], parts["one"])
    year, month, day = int(parts["year"]), int(parts["month"]), int(parts["day"] or 1)
    if len(parts["year"]) == 2:  # as POSIX has it
        year += 2000 if year < 69 else 1900
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    try:
        return (datetime(year, month, day, hour, minute, second) - _EPOCH).total_seconds() / _SECONDS
    except ValueError:
        return nan


def is_date(text: str) -> bool:
    """Whether a text is a date or a time, the day before or after the month."""
    return not isnan(text_to_days(text, True)) or not isnan(text_to_days(text, False))


def is_year_last(text: str) -> bool:
    """Whether a text is written as 02.01.2020 is, so that it does not say itself which is the month."""
    return _YEAR_LAST.fullmatch(text) is not None


def days_come_first(texts: Iterable[str]) -> tuple[bool, str]:
    """Return whether days stand before months, and an example of a text that does not tell, where none does.

    Examples
    --------
    >>> days_come_first(["01/02/2020", "13/02/2020"]), days_come_first(["01/02/2020", "01/13/2020"])
    ((True, ''), (False, ''))
    >>> days_come_first(["01.02.2020"]), days_come_first(["01/02/2020"])
    ((True, '01.02.2020'), (False, '01/02/2020'))
    """
    undecided, slashes = "", False
    votes = [0, 0]
    for text in texts:
        found = _YEAR_LAST.fullmatch(text)
        if found is None:
            continue
        either = [not isnan(text_to_days(text, day_first)) for day_first in (False, True)]
        votes[0] += either[0] and not either[1]
        votes[1] += either[1] and not either[0]
        undecided, slashes = undecided or text, found["mark"] == "/"
    if votes[0] == votes[1]:
        return not slashes, undecided
    return votes[1] > votes[0], ""


def timestamps_to_days(column: pd.Series) -> NDArray[np.float64]:
    """Return what pandas read as dates, spans of time or periods as days since 1970, or as days; NaN where missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if column.dtype.kind == "m":
        return np.asarray(column.dt.total_seconds(), dtype=np.float64) / _SECONDS
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_localize(None)
    return np.asarray((column - pd.Timestamp(_EPOCH)).dt.total_seconds(), dtype=np.float64) / _SECONDS


def days_to_years(days: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return days since 1970 as years with fractions, about."""
    return 1970 + days / _DAYS_OF_YEAR


def date_text(days: float) -> str:
    """Return days since 1970 as a date, with the time unless it is midnight.

    Examples
    --------
    >>> date_text(1.0), date_text(1.5)
    ('1970-01-02', '1970-01-02 12:00')
    """
    minutes = np.datetime64(round(days * 1440), "m")
    return str(minutes).replace("T", " ").removesuffix(" 00:00")
