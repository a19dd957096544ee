"""Changes to safetensors files: bytes, the header, and the JSON that gapmin keeps in the header."""

from __future__ import annotations

import json
import random

from gapmin_support.mutation import change_bytes, change_json


def split_tensor_file(content: bytes) -> tuple[dict, bytes]:
    """Return the header of a safetensors file and the tensors after it."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def join_tensor_file(header: dict, tensors: bytes) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + tensors


def change_tensor_file(content: bytes, rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.15:
        return change_bytes(content, rng)
    header, tensors = split_tensor_file(content)
    if kind < 0.25:
        return join_tensor_file(header, change_bytes(tensors, rng))
    said = header.get("__metadata__", {})
    keys = sorted(key for key in said if said[key][:1] in "{[")
    if keys and kind < 0.75:
        key = rng.choice(keys)
        changed = change_json(json.loads(said[key]), rng)
        return join_tensor_file({**header, "__metadata__": {**said, key: json.dumps(changed)}}, tensors)
    return join_tensor_file(change_json(header, rng), tensors)
