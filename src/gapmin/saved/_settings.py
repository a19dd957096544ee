"""Settings and arrays of objects as nodes of a schema: what tells them apart, and what shape they may have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gapmin.saved._archive import checksum, need


def check_items(nodes: list[dict[str, Any]], shape: list[int]) -> None:
    """Check that the nested lists of an array of objects have its shape.

    With two dimensions or more skops leaves it to NumPy to find the shape, which takes sequences apart all the way:
    what stands in such an array may be no list or array itself.
    """
    rows = nodes
    for place, length in enumerate(shape):
        if place:
            need(all(each["__loader__"] == "ListNode" for each in rows))
            for row in rows:
                need(len(row["content"]) == length)
            rows = [each for row in rows for each in row["content"]]
        else:
            need(len(rows) == length)
    if len(shape) > 1:
        arrays = any(each["__loader__"] == "NdArrayNode" and each["__class__"] == "ndarray" for each in rows)
        need(not arrays and not any(each["__loader__"] in ("ListNode", "TupleNode") for each in rows))


def setting_text(node: dict[str, Any], read: Callable[[str], bytes]) -> str:
    """Return what tells a setting from others, whatever its parts are called in the file.

    Of an array that is its checksum, of an object its class: the settings of an object are compared where it stands.
    """
    loader, content = node["__loader__"], node.get("content")
    if loader == "JsonNode":
        return str(content)
    kind = f"{loader} {node['__module__']}.{node['__class__']}"
    if loader == "NdArrayNode" and node["type"] == "numpy":
        return f"{kind} {checksum(read(node['file']))}"
    if loader == "DictNode" and content is not None:
        return f"{kind} {json.dumps({key: setting_text(each, read) for key, each in content.items()})}"
    if loader in ("ListNode", "TupleNode", "NdArrayNode") and content is not None:
        return f"{kind} {json.dumps([setting_text(each, read) for each in content])}"
    return kind
