"""Changes to files: of bytes, of JSON values, of arrays. All draw from the generator that they are given."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

STRINGS = (
    "",
    "os",
    "system",
    "os.system",
    "builtins",
    "eval",
    "exec",
    "sklearn.utils._testing",
    "_delete_folder",
    "gapmin.saved._archive",
    "functools",
    "partial",
    "FunctionNode",
    "PartialNode",
    "MethodNode",
    "LossNode",
    "TreeNode",
    "ObjectNode",
    "ConstructorFromReduceNode",
    "OperatorFuncNode",
    "NdArrayNode",
    "TypeNode",
    "CachedNode",
    "numpy",
    "ndarray",
    "json",
    "1.npy",
    "2.npy",
    "../../x",
    "null",
    "NaN",
    "-1",
    "1e308",
    "4000000000",
    "[[[[]]]]",
    "\x00",
    "é" * 40,
    "x" * 10_000,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63,
    -(2**63),
    10**30,
    40_000_000,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [0] * 100,
    [[]],
    {"a": 1},
    *STRINGS,
)


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat or overwrite a few bytes."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        place = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0 and changed:
            changed[place % len(changed)] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[place % len(changed)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 2:
            del changed[place : place + rng.choice((1, 2, 8, 64))]
        elif kind == 3:
            changed[place:place] = changed[place : place + rng.choice((1, 8, 64))]
        else:
            value = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), 2**62))
            changed[place : place + 8] = struct.pack("<q", value)
    return bytes(changed)


def change_json(value: Any, rng: random.Random) -> Any:
    """Return a copy with a few values changed, removed, repeated or put in another's place."""
    root = [copy.deepcopy(value)]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = list(_places(root))
        holder, key = rng.choice(places)
        kind = rng.randrange(7)
        if kind == 0:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 1 and holder is not root:
            del holder[key]
        elif kind == 2 and isinstance(holder[key], str):
            inside = _inside(holder[key])
            holder[key] = rng.choice(STRINGS) if inside is None else json.dumps(change_json(inside, rng))
        elif kind == 3:
            other, its = rng.choice(places)
            holder[key] = copy.deepcopy(other[its])
        elif kind == 4 and isinstance(holder, dict):
            holder[rng.choice(STRINGS)] = copy.deepcopy(holder[key])
        elif kind == 5 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == 6 and isinstance(holder, list):
            holder[key:key] = [holder[key]] * 300  # the same thing, named many times
        else:
            holder[key] = _nearby(holder[key], rng)
    return root[0]


def change_text(content: bytes, rng: random.Random) -> bytes:
    """Change JSON as JSON, now and then as bytes."""
    if rng.random() < 0.1:
        return change_bytes(content, rng)
    return json.dumps(change_json(json.loads(content), rng)).encode()


def change_header(content: bytes, rng: random.Random) -> bytes:
    """Let the header of an array promise another type or shape."""
    shape, _, dtype = _read_header(content)
    kinds = ("<U0", "|S0", "<U500000000", "|O", "<f8", "<i4", "|V16", "<M8[s]", str(dtype))
    shapes = ((), (0,), (1,), (10**8,), (2**40, 0), (-1,), (*shape, 1), shape)
    header = repr({"descr": rng.choice(kinds), "fortran_order": rng.random() < 0.5, "shape": rng.choice(shapes)})
    text = f"{header:<117}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content[-rng.choice((0, 8, 64, len(content))) :]


def _read_header(content: bytes) -> tuple[tuple[int, ...], bool, Any]:
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    return np.lib.format.read_array_header_1_0(file)


def change_member(
    members: dict[str, bytes], rng: random.Random, change: Callable[[bytes, random.Random], bytes] = change_bytes
) -> dict[str, bytes]:
    """Change one of several members: text as text, others as bytes."""
    names = sorted(members)
    # Half of the changes are to the text, of which there is little and which says what is built.
    texts = [name for name in names if name.endswith(".json")]
    name = rng.choice(texts if rng.random() < 0.6 else names)
    if name in texts:
        new = change_text(members[name], rng)
    else:
        new = (change_header if name.endswith(".npy") and rng.random() < 0.5 else change)(members[name], rng)
    return {**members, name: new}


def _places(node: Any) -> Any:
    keys = range(len(node)) if isinstance(node, list) else list(node)
    for key in keys:
        yield node, key
        if isinstance(node[key], list | dict):
            yield from _places(node[key])


def _inside(text: str) -> Any:
    """JSON that stands inside a string."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _nearby(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + rng.choice((-2, -1, 1, 2, 10**6))
    if isinstance(value, float):
        return value * rng.choice((-1, 0, 2, 1e300))
    if isinstance(value, str):
        return value[: len(value) // 2] + rng.choice(STRINGS)
    return rng.choice(VALUES)
