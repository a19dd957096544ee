"""How errors and notes about people's files are worded, and names that none of them has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, count
from typing import Any

from gapmin._utils.extras import how_to_install
from gapmin._utils.text import counted, listed, quoted

FEW_NOTES = 5
"""How many notes of one kind are shown."""


class TableError(ValueError):
    """A file cannot be used as it is; the message says which, why, and what to do."""


def free_name(wanted: str, taken: Collection[str], numbered: str = "{} ({})") -> str:
    """Return a name that nothing else has: with a number where it is taken.

    Examples
    --------
    >>> free_name("cars", ["cars", "cars (2)"]), free_name("price", ["price"], "{}_{}"), free_name("a", [])
    ('cars (3)', 'price_2', 'a')
    """
    names = chain([wanted], (numbered.format(wanted, number) for number in count(2)))
    return next(name for name in names if name not in taken)


def name_columns(values: Sequence[object]) -> str:
    """Return "column 'a'" or "columns 'a', 'b'".

    Examples
    --------
    >>> name_columns(["a"]), name_columns(["a", "b"])
    ("column 'a'", "columns 'a', 'b'")
    """
    return f"{'column' if len(values) == 1 else 'columns'} {listed(values)}"


def first_notes(notes: Sequence[str], rest: str) -> list[str]:
    """Return the first notes, one a column, and how many columns the rest is about.

    Examples
    --------
    >>> first_notes(["a", "b", "c", "d", "e", "f", "g"], "the same")
    ['a', 'b', 'c', 'd', 'e', 'the same in 2 more columns']
    """
    more = len(notes) - FEW_NOTES
    return [*notes[:FEW_NOTES], *([f"{rest} in {counted(more, 'more column')}"] if more > 0 else [])]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question after the names that are like this one, or nothing.

    Examples
    --------
    >>> did_you_mean("Prize", ["price", "rooms"])
    "; did you mean 'price'?"
    >>> did_you_mean("height", ["price", "rooms"])
    ''
    """
    by_lower: dict[str, str] = {}
    for each in names:
        by_lower.setdefault(each.lower().strip(), each)
    alike = difflib.get_close_matches(name.lower().strip(), by_lower, n=3)
    return f"; did you mean {' or '.join(quoted(by_lower[each]) for each in alike)}?" if alike else ""


def at_row(row: Any) -> str:
    """Return where a row is, counted from 1 as a reader of the file counts.

    Examples
    --------
    >>> at_row(0)
    'row 1 below the header'
    """
    return f"row {int(row) + 1:,} below the header"


def import_pandas() -> Any:
    """Return pandas, or say what to install."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"files are read with pandas, which is not installed: {how_to_install('cli')}") from error
    return pandas
