"""Arrays in a file: plain values in NumPy's own format, as many as there are bytes for."""

from __future__ import annotations

import io
import tokenize
from math import prod
from typing import Any

import numpy as np

from gapmin._utils.text import one_line
from gapmin.saved._archive import ContentError

_UNREADABLE = (ValueError, KeyError, TypeError, SyntaxError, EOFError, RecursionError, MemoryError, OverflowError)

_LONGEST_UNUSED = 2**16
"""Bytes that a value of an array without values may have."""


def check_array(content: bytes, name: str, *, records: bool = False) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and shape of an array of numbers, truth values, text or, where asked for, records; refuse others."""
    shape, dtype, start = _read_header(content)
    plain = dtype.kind in "biufUS" or (records and dtype.names is not None and not dtype.hasobject)
    # Values without bytes would be as many as the header likes; texts of none, as long as it likes.
    sized = 0 < dtype.itemsize <= max(len(content), _LONGEST_UNUSED)
    if not plain or not sized or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != len(content) - start:
        raise ContentError(
            f"its array {name} of {one_line(dtype)} in {len(content)} bytes is none that gapmin restores",
            "use arrays of numbers, truth values or text",
        )
    values = np.frombuffer(content, np.uint8, offset=start)
    if dtype.kind == "b" and (values > 1).any():  # NumPy counts the true ones by adding up bytes
        raise ContentError(f"its array {name} has truth values that are neither true nor false")
    if dtype.kind == "U" and (values.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)) > 0x10FFFF).any():
        raise ContentError(f"its array {name} has characters that do not exist")
    return dtype, shape


def _read_header(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape and type of an array in NumPy's format, and where its values begin."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, dtype = read(file)
    except (*_UNREADABLE, tokenize.TokenError) as error:
        raise ContentError(f"it has an array that NumPy cannot read ({one_line(error)})") from error
    return shape, dtype, file.tell()
