"""What a table may be at most: far more than people's tables are, and less than a hostile file needs to fill memory."""

from __future__ import annotations

import csv
import gzip
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._messages import TableError

MOST_COLUMNS = 100_000
LONGEST_ROW = 2**24
"""Characters of a row of text, with all lines of its quoted fields."""
LONGEST_FIELD = 2**20
"""Characters."""
LONGEST_LABEL = 1000
"""Characters of a class: an array of texts takes four bytes for each of the longest, in every row."""
MOST_TRAILING = 1000
"""Empty fields after the last column, which spreadsheets leave: pandas makes as many of every row."""

INFLATED_FLOOR, MOST_INFLATION, INFLATED_CEILING = 2**26, 100, 2**36
"""A .gz may inflate to 100 times its size, to 64 MiB whatever its size, and never to more than 64 GiB."""

PARQUET_FLOOR, PARQUET_INFLATION = 2**28, 1000
"""A Parquet file may take 1,000 times its size in memory, and 256 MiB whatever its size: it stores repeats but once."""

BYTES_AT_ONCE = 2**20
_CSV_LIMIT = threading.Lock()
_NO_REGULAR_FILES = (
    (stat.S_ISDIR, "is a folder: name a file in it"),
    (stat.S_ISFIFO, "is a pipe, and a table is read more than once: write it to a file first, and name that"),
    (stat.S_ISSOCK, "is a socket: name a file"),
    (stat.S_ISCHR, "is a device: name a file"),
    (stat.S_ISBLK, "is a device: name a file"),
)


def check_regular(path: Path) -> None:
    """Refuse what is no regular file: a pipe would be waited for, a device read for ever."""
    mode = os.stat(path).st_mode
    for is_kind, problem in _NO_REGULAR_FILES:
        if is_kind(mode):
            raise TableError(f"{path} {problem}")


def check_width(path: Path, n_columns: int) -> None:
    """Refuse a table with too many columns."""
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"{path} has {n_columns:,} columns, and at most {MOST_COLUMNS:,} are read: leave out what is not needed"
        )


def check_inflation(path: Path) -> None:
    """Inflate a .gz to nowhere, which is fast; refuse one that grows far beyond its size, raise if it is not whole."""
    n_bytes = path.stat().st_size
    most = min(max(INFLATED_FLOOR, MOST_INFLATION * n_bytes), INFLATED_CEILING)
    inflated = 0
    with gzip.open(path, "rb") as stream:
        while piece := stream.read(BYTES_AT_ONCE):
            inflated += len(piece)
            if inflated > most:
                raise TableError(
                    f"{path} has {n_bytes:,} bytes and inflates to more than {most:,}, which is too many for its size: "
                    "if that is right, decompress it (gunzip), and name the file that comes out"
                )


def check_parquet_size(path: Path, n_bytes: int, in_memory: int) -> None:
    """Refuse a Parquet file that takes far more memory than its size lets expect."""
    most = max(PARQUET_FLOOR, PARQUET_INFLATION * n_bytes)
    if in_memory > most:
        raise TableError(
            f"{path} has {n_bytes:,} bytes and a table that takes more than {most:,} in memory, which is too many for "
            "its size: give fewer rows or columns, or save it as CSV"
        )


def check_workbook_size(path: Path, n_bytes: int, inflated: int) -> None:
    """Refuse an Excel workbook that inflates far beyond its size."""
    most = min(max(INFLATED_FLOOR, MOST_INFLATION * n_bytes), INFLATED_CEILING)
    if inflated > most:
        raise TableError(
            f"{path} has {n_bytes:,} bytes and inflates to {inflated:,}, more than {most:,}, which is too many for its "
            "size: save its table as CSV"
        )


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read longer fields than it does by itself; its limit is one for the whole process."""
    with _CSV_LIMIT:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def long_field(path: Path, line: int) -> TableError:
    """Return the error for a field that is too long."""
    return TableError(
        f"{path} has a field of more than {LONGEST_FIELD:,} characters in the row of line {line:,}: shorten it, or "
        "close a quote that is open there"
    )


def long_row(path: Path) -> TableError:
    """Return the error for a row that is too long."""
    return TableError(
        f"{path} has a row of more than {LONGEST_ROW:,} characters: break it into lines, a row each, or close a quote "
        "that is open"
    )
