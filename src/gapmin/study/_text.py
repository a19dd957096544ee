"""How a text file is written: its encoding, separator, decimal mark and header; and whether its lines are whole."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from gapmin._utils.text import counted, listed, quoted

from ._limits import (
    LONGEST_FIELD,
    LONGEST_ROW,
    MOST_TRAILING,
    check_inflation,
    check_width,
    long_field,
    long_fields,
    long_row,
)
from ._messages import TableError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}

_SAMPLE_LINES, _SAMPLE_CHARACTERS = 500, 200_000
_OTHER_KINDS = {
    b"PAR1": "is a Parquet file: name it .parquet",
    b"\x1f\x8b": "is compressed with gzip: name it .csv.gz",
    b"PK\x03\x04": "is a zip or Excel file: name it .xlsx, or save its table as CSV",
    b"\xd0\xcf\x11\xe0": "is an old Excel file: save its table as .xlsx or CSV",
}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_DECLARATION = re.compile(r"sep=([,;\t|])\s*", re.IGNORECASE)
_COMMA_DECIMAL = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+(e[+-]?\d+)?", re.IGNORECASE)
_COMMA_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_POINT_DECIMAL = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
_POINT_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")


@dataclass(frozen=True)
class TextFormat:
    """How to read a text file.

    Attributes
    ----------
    separator, encoding, decimal : str
    thousands : str or None
    other_marks : frozenset of int
        Columns in which commas and points are not these marks: dates, lists, numbers with a decimal point.
    names : tuple of str
        The header, without the spaces around its names; empty where a name is missing.
    width : int
        Fields of the longest row; what lies beyond the header is empty.
    n_rows : int
        Rows below the header.
    lines_before_header : int
    notes : tuple of str
    """

    separator: str
    encoding: str
    decimal: str
    thousands: str | None
    other_marks: frozenset[int]
    names: tuple[str, ...]
    width: int
    n_rows: int
    lines_before_header: int
    notes: tuple[str, ...]

    def with_point(self, text: str) -> str:
        """Return a number of the file with a decimal point and nothing between thousands; another text as it is."""
        if self.decimal == "," and (_COMMA_DECIMAL.fullmatch(text) or _POINT_THOUSANDS.fullmatch(text)):
            return text.replace(self.thousands or " ", "").replace(",", ".")
        if self.thousands == "," and _COMMA_THOUSANDS.fullmatch(text):
            return text.replace(",", "")
        return text


def commas_as_points(texts: Collection[str]) -> dict[str, str]:
    """Return the numbers with decimal commas among the different texts of a column as Python writes them.

    None where a comma may part thousands or where points do what commas do, and where most texts are no numbers.
    """
    plain = [text for text in texts if _NUMBER.fullmatch(text) and "." not in text]
    commas = [text for text in texts if _COMMA_DECIMAL.fullmatch(text)]
    certain = any(not _COMMA_THOUSANDS.fullmatch(text) for text in commas)
    points = any(_POINT_DECIMAL.fullmatch(text) for text in texts)
    if points or not certain or 2 * (len(plain) + len(commas)) <= len(texts):
        return {}
    return {text: text.replace(".", "").replace(",", ".") for text in commas}


def inspect_text(path: Path, *, compressed: bool) -> TextFormat:
    """Read a text file once, in constant memory, and return how it is written, or raise a `TableError`."""
    try:
        if compressed:
            check_inflation(path)
        with _open(path, compressed) as stream:
            head = stream.read(4096)
        encoding = _encoding(path, head)
        # Windows-1252 is Latin-1 with letters and marks, such as €, where Latin-1 has control characters.
        for other, name in ((encoding, ""), ("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
            note = f"{path} is not UTF-8: read as {name}; save it as UTF-8 if letters look wrong"
            with suppress(UnicodeDecodeError):
                return _inspect(path, compressed, other, [note] if name else [])
        raise _binary(path)  # not reached: every byte is a letter of Latin-1
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path} is no whole gzip file ({error}): compress it again, or copy it again") from error


def _open(path: Path, compressed: bool) -> Any:
    return gzip.open(path, "rb") if compressed else open(path, "rb")


def _lines(path: Path, text: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a file, or refuse it for one that is longer than a row may be, or no text."""
    while line := text.readline(LONGEST_ROW + 1):
        if len(line) > LONGEST_ROW:
            raise long_row(path)
        if "\0" in line:
            raise _binary(path)
        yield line


def _one_row(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines for a row whose quoted fields may go over several of them."""
    n_characters = 0
    for line in lines:
        n_characters += len(line)
        if n_characters > LONGEST_ROW:
            raise long_row(path)
        yield line


def _encoding(path: Path, head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, problem in _OTHER_KINDS.items():
        if head.startswith(magic):
            raise TableError(f"{path} {problem}")
    if b"\0" in head or _CONTROL.search(head.decode("latin-1")):
        raise _binary(path)
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"


def _binary(path: Path) -> TableError:
    return TableError(f"{path} holds binary data, not a table of text: save the table as CSV or Parquet")


def _inspect(path: Path, compressed: bool, encoding: str, notes: list[str]) -> TextFormat:
    with (
        _open(path, compressed) as raw,
        io.TextIOWrapper(raw, encoding=encoding, newline="") as text,
        long_fields(),
    ):
        lines = _lines(path, text)
        first = next(lines, "")
        declared = _DECLARATION.fullmatch(first)
        sample, n_characters = [] if declared else [first], len(first)
        for line in islice(lines, _SAMPLE_LINES):
            sample.append(line)
            n_characters += len(line)
            if n_characters > _SAMPLE_CHARACTERS and len(sample) > 2:
                break
        if not any(line.strip() for line in sample) and next((line for line in lines if line.strip()), None) is None:
            raise TableError(f"{path} is empty: give a file with a header line and rows below it")
        if any(_CONTROL.search(line) for line in sample):
            raise _binary(path)
        separator = declared[1] if declared else _separator(sample, path)
        names, width, n_rows = _scan(path, chain(sample, lines), separator, int(bool(declared)), notes)
        marks = _marks(sample, separator, path, notes)
    return TextFormat(separator, encoding, *marks, names, width, n_rows, int(bool(declared)), tuple(notes))


def _records(sample: list[str], separator: str) -> list[list[str]]:
    reader = csv.reader(sample, delimiter=separator, skipinitialspace=True)
    try:
        return [record for record in reader if any(field.strip() for field in record)]
    except csv.Error:
        return []


def _separator(sample: list[str], path: Path) -> str:
    """Return the separator by which most lines have as many fields as the header, and more than one."""
    expected = "\t" if ".tsv" in (suffix.lower() for suffix in path.suffixes) else ","
    best, best_score = expected, (0.0, 0, False)
    for separator in SEPARATORS:
        records = _records(sample, separator)
        width = len(records[0]) if records else 0
        if width < 2:
            continue
        even = sum(len(record) == width for record in records) / len(records)
        score = (round(even, 1), width, separator == expected)
        if score > best_score:
            best, best_score = separator, score
    return best


def _scan(
    path: Path, lines: Iterator[str], separator: str, before: int, notes: list[str]
) -> tuple[tuple[str, ...], int, int]:
    """Return the header, the longest line's fields and the number of rows; lines are counted from 1."""
    blank = " \t\r\n".replace(separator, "")
    names: list[str] = []
    widest = n_rows = n_trailing = 0
    number = before
    for line in lines:
        number += 1
        if not line.strip(blank):
            continue
        here = number
        if '"' in line:
            reader = csv.reader(_one_row(path, chain([line], lines)), delimiter=separator, skipinitialspace=True)
            try:
                fields = next(reader)
            except csv.Error as error:  # the field is longer than the limit
                raise long_field(path, here) from error
            number += reader.line_num - 1
            n_fields = len(fields)
        else:
            n_fields = line.count(separator) + 1
            looked_at = not names or n_fields != len(names) or len(line) > LONGEST_FIELD
            fields = line.rstrip("\r\n").split(separator) if looked_at else []
            if max(map(len, fields), default=0) > LONGEST_FIELD:
                raise long_field(path, here)
        if not names:
            check_width(path, n_fields)
            names, widest = [field.strip() for field in fields], n_fields
            continue
        n_rows += 1
        if n_fields == len(names):
            continue
        if n_fields < len(names) or any(field.strip() for field in fields[len(names) :]):
            raise TableError(
                f"{path} has {counted(n_fields, 'field')} in line {here:,} but {len(names):,} in its header (separated "
                f"by {SEPARATORS[separator]}): mend that line, or put quotes around text that has a separator in it"
            )
        if n_fields > len(names) + MOST_TRAILING:
            raise TableError(
                f"{path} has {n_fields - len(names):,} separators too many at the end of line {here:,}: remove them"
            )
        widest, n_trailing = max(widest, n_fields), n_trailing + 1
    if n_trailing:
        notes.append(f"{path} has separators at the end of {counted(n_trailing, 'line')}: ignored")
    if all(_NUMBER.fullmatch(name) for name in names if name) and any(names):
        notes.append(f"the columns of {path} are called {listed(names, 3)}: if it has no header line, add one")
    return tuple(names), widest, n_rows


def _marks(sample: list[str], separator: str, path: Path, notes: list[str]) -> tuple[str, str | None, frozenset[int]]:
    """Return the decimal mark, that of thousands and the columns with others, as far as the first lines tell.

    Each column is looked at by itself: beside decimal commas there may be versions with points, and beside thousands
    dates or lists.
    """
    columns: dict[int, list[str]] = {}
    for record in _records(sample, separator)[1:]:
        for place, field in enumerate(record):
            if field and (field[0] in "+-." or field[0].isdigit()) and ("," in field or "." in field):
                columns.setdefault(place, []).append(field.strip())
    found = [_Marks(fields) for fields in columns.values()]
    certain = [each.certain for each in found if each.certain and not each.has_points]
    commas = [each.comma for each in found if each.comma]
    n_points = sum(each.has_points for each in found)
    # Beside decimal points, 2,1 may be a list: commas must be in as many columns, and not part the fields as well.
    outweighs = not n_points or (separator != "," and len(certain) >= n_points)
    # 1,234 may be either: where semicolons part the fields, the comma is their decimal mark.
    if (certain and outweighs) or (commas and separator == ";" and not n_points):
        notes.append(f"{path} has decimal commas, such as {quoted((certain or commas)[0])}: read as numbers")
        thousands = "." if any(each.point_thousands for each in found) else None
        return ",", thousands, _others(columns, ".", _POINT_THOUSANDS)
    grouped = [each.comma_thousands for each in found if each.comma_thousands]
    if grouped:
        notes.append(f"{path} has commas between thousands, such as {quoted(grouped[0])}: read as numbers")
        return ".", ",", _others(columns, ",", _COMMA_THOUSANDS)
    return ".", None, frozenset()


class _Marks:
    """What the commas and points in the numbers of one column may mean, each with an example, or ""."""

    def __init__(self, fields: list[str]) -> None:
        def first(pattern: re.Pattern[str], but: re.Pattern[str] | None = None) -> str:
            fits = (text for text in fields if pattern.fullmatch(text))
            return next((text for text in fits if but is None or not but.fullmatch(text)), "")

        self.comma = first(_COMMA_DECIMAL)
        self.certain = first(_COMMA_DECIMAL, but=_COMMA_THOUSANDS)
        self.has_points = bool(first(_POINT_DECIMAL, but=_POINT_THOUSANDS))
        self.point_thousands = _only(fields, ".", _POINT_THOUSANDS)
        self.comma_thousands = _only(fields, ",", _COMMA_THOUSANDS)


def _only(fields: list[str], mark: str, pattern: re.Pattern[str]) -> str:
    """Return one of the fields with a mark, or "" where some of them are no numbers of that pattern."""
    marked = [text for text in fields if mark in text]
    return marked[0] if marked and all(pattern.fullmatch(text) for text in marked) else ""


def _others(columns: dict[int, list[str]], mark: str, pattern: re.Pattern[str]) -> frozenset[int]:
    """Return the columns in which a mark is there but parts no thousands."""
    marked = {place for place, fields in columns.items() if any(mark in text for text in fields)}
    return frozenset(place for place in marked if not _only(columns[place], mark, pattern))
