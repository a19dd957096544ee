"""What stands for a missing value: marks among numbers such as ?, codes such as -999, and what a user says is one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.options import option
from gapmin._utils.text import format_number, listed, quoted

from ._messages import did_you_mean, name_columns
from ._values import Profile, as_numbers, as_texts, kind_of_dtype, parse_number, plain_text, profile

if TYPE_CHECKING:
    import pandas as pd

MISSING_MARKS = frozenset({"?", "-", ".", "n/a", "na", "nan", "null", "none", "unknown"})
"""Texts, in small letters, that mean a missing value where every other value of a column is a number or a date."""

MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0)
"""Numbers that mean a missing value where they repeat and lie far outside the rest of a column."""

_FEWEST_REPEATS = 3
_FAR_IN_GAPS = 5
"""Steps between neighbouring values that a code must be away from the rest; a standard deviation too."""


@dataclass(frozen=True)
class MissingTokens:
    """What a user says is a missing value.

    Attributes
    ----------
    everywhere : frozenset of str
        In every column, the label too; in small letters.
    by_column : dict of name to frozenset of str
        In that column alone.

    Examples
    --------
    >>> tokens = MissingTokens.parse(["k.A.", "size=0"], ["size", "price"])
    >>> sorted(tokens.of("size")), sorted(tokens.of("price"))
    (['0', 'k.a.'], ['k.a.'])
    """

    everywhere: frozenset[str] = frozenset()
    by_column: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Iterable[str], names: Collection[str]) -> MissingTokens:
        """Read "TOKEN" or "COLUMN=TOKEN"; where no column is called as what stands before =, all of it is the token."""
        everywhere: set[str] = set()
        by_column: dict[str, frozenset[str]] = {}
        for text in given:
            name, equals, token = text.rpartition("=")
            if equals and name.strip() in names:
                by_column[name.strip()] = by_column.get(name.strip(), frozenset()) | {_folded(token)}
            else:
                everywhere.add(_folded(text))
        return cls(frozenset(everywhere), by_column)

    @staticmethod
    def without_column(given: Iterable[str], names: Collection[str]) -> list[str]:
        """Say where "COLUMN=TOKEN" names no column, so that all of it is the token."""
        said = []
        for text in given:
            name, equals, _ = text.rpartition("=")
            if equals and name.strip() and name.strip() not in names:
                hint = did_you_mean(name.strip(), names) or f"; {quoted(text)} itself is taken as missing"
                said.append(f"{option('na', text)}: the target has no column {quoted(name.strip())}{hint}")
        return said

    def of(self, name: str) -> frozenset[str]:
        """Return the tokens of a column."""
        return self.everywhere | self.by_column.get(name, frozenset())

    def take_out(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with these tokens as missing values; the one given is not changed."""
        if not self.everywhere and not self.by_column:
            return frame
        changed = {name: without_tokens(frame[name], self.of(name)) for name in frame.columns if self.of(name)}
        return frame.assign(**{name: column for name, column in changed.items() if column is not frame[name]})


def _folded(token: str) -> str:
    text = plain_text(token)
    return text.lower() if isinstance(text, str) else ""


def without_tokens(column: pd.Series, tokens: Collection[str]) -> pd.Series:
    """Return a column with some texts or numbers as missing values; itself where it has none of them."""
    if kind_of_dtype(column.dtype) == "date" or not tokens:
        return column
    if kind_of_dtype(column.dtype) == "number":
        wanted = [number for token in tokens if not np.isnan(number := parse_number(token))]
        numbers = as_numbers(column) if wanted else np.empty(0)
        gone = np.isin(numbers, wanted)
        return column.astype(np.float64).mask(gone) if gone.any() else column
    texts = as_texts(column)
    gone = np.fromiter((isinstance(text, str) and text.lower() in tokens for text in texts), bool, len(texts))
    return column.astype(object).mask(gone) if gone.any() else column


def without_gaps(frame: pd.DataFrame, label: str, file: str, notes: list[str]) -> pd.DataFrame:
    """Return a file whose labels have no marks among numbers and no codes such as -999, and note these."""
    column = frame[label]
    if kind_of_dtype(column.dtype) not in ("number", "text"):
        return frame
    gaps: frozenset[str] = frozenset()
    if kind_of_dtype(column.dtype) == "text":
        seen = profile(column)
        marks = marks_in([seen])
        bare = seen.without(marks)
        gaps = marks if bare.n_values and bare.share("number") == 1 else gaps
        column = without_tokens(column, gaps)
    values = as_numbers(column)
    if np.isfinite(values).any():
        values = values[np.isfinite(values)]
        rest = np.unique(values[~np.isin(values, MISSING_CODES)])
        gaps |= {f"{code:g}" for code in MISSING_CODES if _is_far_below(code, values, rest)}
    if not gaps:
        return frame
    notes.append(f"{file} has {listed(sorted(gaps))} in the label {quoted(label)}, among numbers: taken as no label")
    return frame.assign(**{label: without_tokens(frame[label], gaps)})


def marks_in(profiles: Iterable[Profile]) -> frozenset[str]:
    """Return the marks that a column has in any file, in small letters."""
    return frozenset(text.lower() for seen in profiles for text in seen.counts if text.lower() in MISSING_MARKS)


def mark_notes(marks: Mapping[str, frozenset[str]]) -> list[str]:
    """Say which marks were taken as missing, and in which columns."""
    columns: dict[str, list[str]] = {}
    for name, found in marks.items():
        for mark in sorted(found):
            columns.setdefault(mark, []).append(name)
    return [
        f"{quoted(mark)} in {name_columns(names)}, among numbers or dates: taken as missing"
        for mark, names in columns.items()
    ]


def find_codes(
    frames: Mapping[str, pd.DataFrame], names: Sequence[str], notes: list[str]
) -> dict[str, tuple[str, ...]]:
    """Return the codes of missing values of each column of numbers, and note them; note zeros that may be one too.

    All files are looked at together. A code repeats, and lies below every other value of the column by more than their
    standard deviation and by more than a few of the steps that are usual between them.
    """
    found: dict[str, tuple[str, ...]] = {}
    zeros: dict[str, float] = {}
    for name, values in _suspects(frames, names):
        rest = np.unique(values[~np.isin(values, MISSING_CODES)])
        codes = tuple(f"{code:g}" for code in MISSING_CODES if _is_far_below(code, values, rest))
        if codes:
            found[name] = codes
        elif rest.size and rest[0] == 0 and _is_far_below(0.0, values, rest[1:]):
            zeros[name] = float(rest[1])
    for codes in dict.fromkeys(found.values()):
        columns = [name for name, here in found.items() if here == codes]
        notes.append(
            f"{listed(codes)} in {name_columns(columns)}, repeated and far below every other value: taken as missing"
        )
    for name, least in zeros.items():
        notes.append(
            f"column {quoted(name)} has zeros far below every other value (the next is {format_number(least)}): kept; "
            f"if they mean missing, add {option('na', f'{name}=0')}"
        )
    return found


def _suspects(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the columns with no value below their codes, or below 0, that repeat, with all their values."""
    for name in names:
        parts = [as_numbers(frame[name]) for frame in frames.values() if name in frame.columns]
        lowest = min((float(np.fmin.reduce(part)) for part in parts if part.size), default=np.nan)
        if lowest not in (0.0, *MISSING_CODES):
            continue
        values = np.concatenate(parts)
        yield name, values[np.isfinite(values)]


def _is_far_below(code: float, values: NDArray[np.float64], rest: NDArray[np.float64]) -> bool:
    if rest.size < 2 or np.count_nonzero(values == code) < _FEWEST_REPEATS:
        return False
    others = values[values >= rest[0]]
    away = rest[0] - code
    return bool(away > np.std(others) and away > _FAR_IN_GAPS * np.median(np.diff(rest)))
