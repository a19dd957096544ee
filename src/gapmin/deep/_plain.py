"""Plain values as strict JSON, and back: what the headers of files hold beside tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gapmin._utils.text import one_line
from gapmin.saved.objects import ContentError, parse_json

LARGEST_HEADER = 2**26
"""How many bytes a header may have."""

MOST_VALUES = 2**22
"""How many values and brackets it may have: as Python's objects each takes up to some 70 bytes."""

DEEPEST = 64
"""How deep lists and dictionaries may be nested."""

_FLOAT, _ITEMS, TENSOR = "$float", "$items", "$tensor"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def is_int(value: object) -> bool:
    """Tell a whole number; to Python a truth value is one too."""
    return isinstance(value, int) and not isinstance(value, bool)


def parse_header(text: bytes | str, where: str) -> Any:
    """Read JSON strictly: no key twice, no NaN, no number beyond 64 bits, not too much of it.

    Examples
    --------
    >>> parse_header('{"lr": 0.5}', "the header")
    {'lr': 0.5}
    >>> parse_header('{"lr": 0.5, "lr": 1.0}', "the header")
    Traceback (most recent call last):
        ...
    gapmin.saved._archive...: the header has the key 'lr' twice in one dictionary
    """

    def finite(digits: str) -> float:
        if not math.isfinite(float(digits)):
            raise ContentError(f"{where} has the number {one_line(digits)}, which is infinite")
        return float(digits)

    def within_64_bits(digits: str) -> int:
        if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
            raise ContentError(f"{where} has the number {one_line(digits)}, which has more than 64 bits")
        return int(digits)

    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise ContentError(f"{where} is not JSON ({one_line(error)})") from error
    check_size(text, where)
    return parse_json(text, where, parse_float=finite, parse_int=within_64_bits)


def check_size(text: str, where: str) -> None:
    """Refuse a text of which Python would make far more than it takes in the file."""
    n_values = sum(map(text.count, ",[{"))
    if len(text) > LARGEST_HEADER or n_values > MOST_VALUES:
        raise ContentError(
            f"{where} has {len(text)} characters and {n_values} values, more than {LARGEST_HEADER} and {MOST_VALUES}"
        )


def encode(value: Any, tensor_at: Callable[[Any, str], Any] | None = None, path: str = "", depth: int = 0) -> Any:
    """Return numbers, texts, lists and dictionaries as what JSON holds, losing nothing but the kind of sequence.

    Parameters
    ----------
    value : any
    tensor_at : callable, optional
        Given a value of another kind and its path, returns what stands for it; raises TypeError by default.

    Examples
    --------
    >>> encode({"lr": np.float64(0.5), "best": float("nan"), "sizes": (np.int64(3), "all"), "by": {2: True}})
    {'lr': 0.5, 'best': {'$float': 'nan'}, 'sizes': [3, 'all'], 'by': {'$items': [[2, True]]}}
    """
    if depth > DEEPEST:
        raise TypeError(f"{path} is nested more than {DEEPEST} deep")
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise TypeError(f"{path or value} has more than 64 bits")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: str(value)}

    def inner(each: Any, name: object) -> Any:
        return encode(each, tensor_at, f"{path}/{name}" if path else str(name), depth + 1)

    if isinstance(value, (list, tuple)):
        return [each if type(each) is float and math.isfinite(each) else inner(each, i) for i, each in enumerate(value)]
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: inner(each, key) for key, each in value.items()}
        return {_ITEMS: [[_plain_key(key), inner(each, key)] for key, each in value.items()]}
    if tensor_at is None:
        raise TypeError(f"{value!r} is neither a number, nor text, nor a list or dictionary of such")
    return tensor_at(value, path)


def _plain_key(key: Any) -> Any:
    key = key.item() if isinstance(key, np.generic) else key
    if not isinstance(key, str) and not (is_int(key) and abs(key) < 2**31):
        raise TypeError(f"the key {key!r} is neither text nor a whole number of 32 bits")
    return key


def decode(encoded: Any, tensor_of: Callable[[str], Any] | None = None, depth: int = 0) -> Any:
    """Return what `encode` made JSON of.

    Examples
    --------
    >>> decode({"best": {"$float": "-inf"}, "by": {"$items": [[2, True]]}})
    {'best': -inf, 'by': {2: True}}
    """
    if depth > DEEPEST:
        raise ContentError(f"it is nested more than {DEEPEST} deep")
    if isinstance(encoded, list):
        return [decode(each, tensor_of, depth + 1) for each in encoded]
    if not isinstance(encoded, dict):
        return encoded
    if not any(key.startswith("$") for key in encoded):
        return {key: decode(each, tensor_of, depth + 1) for key, each in encoded.items()}
    ((tag, content),) = encoded.items() if len(encoded) == 1 else [("", None)]
    if tag == _FLOAT and isinstance(content, str) and content in _NOT_FINITE:
        return _NOT_FINITE[content]
    if tag == TENSOR and isinstance(content, str) and tensor_of is not None:
        return tensor_of(content)
    if tag == _ITEMS and isinstance(content, list):
        return _decode_items(content, tensor_of, depth)
    raise ContentError(f"it has {one_line(encoded)} where a value was due")


def _decode_items(content: list[Any], tensor_of: Callable[[str], Any] | None, depth: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for pair in content:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ContentError(f"it has {one_line(pair)} where a key and its value were due")
        key = pair[0]
        # Not any number: enough of them that hash alike would take hours to tell apart.
        if not isinstance(key, str) and not (is_int(key) and abs(key) < 2**31):
            raise ContentError(f"it has the key {one_line(key)}, which is neither text nor a whole number of 32 bits")
        if key in found:
            raise ContentError(f"it has the key {one_line(key)} twice in one dictionary")
        found[key] = decode(pair[1], tensor_of, depth + 1)
    return found
