"""Files made up by somebody who knows the format: every checksum is right."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUMBERS = iter(range(10**6, 10**7))
"""Identities that no file has."""


def read_members(source: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(source) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def seal_members(members: dict[str, bytes]) -> bytes:
    """Return members as a file, with the checksum of each in `gapmin.json` and that of all at the end."""
    said = json.loads(members["gapmin.json"])
    own = {name: content for name, content in members.items() if name != "gapmin.json"}
    if isinstance(said, dict) and isinstance(said.get("members"), dict):
        said["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in own.items()}
    return seal_as_they_are({**own, "gapmin.json": json.dumps(said).encode()})


def seal_as_they_are(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"gapmin sha256 " + b"0" * 64
    whole = buffer.getvalue()[:-64]
    return whole + hashlib.sha256(whole).hexdigest().encode()


def craft(
    source: Path,
    place: Path,
    *,
    schema: Callable[[Any], Any] | None = None,
    arrays: dict[str, bytes] | None = None,
    facts: Callable[[dict[str, Any]], Any] | None = None,
    raw: dict[str, bytes] | None = None,
) -> Path:
    """Write `source` again with something changed and every checksum right."""
    members = read_members(source)
    said = json.loads(members.pop("gapmin.json"))
    if schema:
        tree = json.loads(members["schema.json"])
        tree = schema(tree) or tree
        members["schema.json"] = json.dumps(tree).encode()
    members |= arrays or {}
    members |= {name: content for name, content in (raw or {}).items() if name != "gapmin.json"}
    said["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    if facts:
        said = facts(said) or said
    members["gapmin.json"] = (raw or {}).get("gapmin.json", json.dumps(said).encode())
    place.write_bytes(seal_as_they_are(members))
    return place


def objects(node: Any, name: str) -> list[dict[str, Any]]:
    """Every node of a schema whose class has that name."""
    found = []
    if isinstance(node, dict):
        found += [node] if node.get("__class__") == name else []
        for each in node.values():
            found += objects(each, name)
    elif isinstance(node, list):
        for each in node:
            found += objects(each, name)
    return found


def node(loader, name, **fields):
    module, _, cls = name.rpartition(".")
    return {"__class__": cls, "__module__": module, "__loader__": loader, "__id__": next(NUMBERS), **fields}


def text(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def several(*nodes, loader="TupleNode", name="builtins.tuple"):
    return node(loader, name, content=list(nodes))


def pairs(**nodes):
    kinds = [node("TypeNode", "builtins.str") for _ in nodes]
    return node(
        "DictNode", "builtins.dict", content=nodes, key_types=several(*kinds, loader="ListNode", name="builtins.list")
    )


def thing(name, **attributes):
    return node("ObjectNode", name, content=pairs(**attributes))


def add_entry(dictionary: dict[str, Any], key: str, value: Any) -> None:
    """Add an entry to the node of a dictionary."""
    dictionary["content"][key] = value
    dictionary["key_types"]["content"].append(node("TypeNode", "builtins.str"))
