"""Python objects as members of an archive, and back: skops takes them apart, and builds them once all is checked."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

from gapmin._utils.text import one_line
from gapmin.saved._archive import FACTS, SCHEMA, Archive, ContentError, checksum, pack, parse
from gapmin.saved._facts import check_protocol, import_skops, read_facts, versions_here
from gapmin.saved._nodes import SchemaChecker, Settings
from gapmin.saved._types import TRUSTED


def take_apart(value: Any) -> tuple[Any, dict[str, bytes]]:
    """Return the schema of an object, and the arrays that it names."""
    try:
        dumped = import_skops().io.dumps(value)
    except Exception as error:  # whatever the object's own code raises
        raise ContentError(f"it cannot be taken apart ({one_line(error)})") from error
    with zipfile.ZipFile(io.BytesIO(dumped)) as archive:
        root, names = _number(parse(archive.read(SCHEMA), "the object"))
        return root, {new: archive.read(old) for old, new in names.items()}


def pack_object(value: Any, facts: dict[str, Any]) -> bytes:
    """Return an object as a file that says, beside it, `facts`, the versions, and the checksum of each member."""
    root, arrays = take_apart(value)
    members = {SCHEMA: json.dumps(root, separators=(",", ":")).encode(), **arrays}
    checksums = {name: checksum(content) for name, content in members.items()}
    every_fact = {**facts, "members": checksums, "versions": versions_here()}
    text = json.dumps(every_fact, separators=(",", ":"))
    return pack({FACTS: text.encode(), **members})


def open_archive(content: bytes, newest: int, entries: dict[str, Any]) -> tuple[Archive, dict[str, Any]]:
    """Return a file's archive and what it says beside its object, as `read_facts` does; nothing is built."""
    archive = Archive(content)
    return archive, read_facts(archive, newest, entries)


def check_object(
    archive: Archive, facts: dict[str, Any], *, learner: Mapping[str, Settings] | None = None, kind: str = "model"
) -> None:
    """Check everything that the object of an archive is made of; `learner` and `kind` are those of `SchemaChecker`."""
    found = parse(archive.read(SCHEMA), SCHEMA)
    check_protocol(found, facts["versions"]["skops"])
    try:
        schema = SchemaChecker(found, archive.read, learner=learner, kind=kind)
    except ContentError:
        raise
    except Exception as error:  # a check that finds an array where a number was due, for example
        raise ContentError(f"its schema holds what no fit leaves there ({one_line(error)})") from error
    for name in archive.names - schema.files - {FACTS, SCHEMA}:
        raise ContentError(f"it has a member {name!r} that its schema does not ask for")


def build_object(
    archive: Archive, facts: dict[str, Any], *, learner: Mapping[str, Settings] | None = None, kind: str = "model"
) -> Any:
    """Return the object of an archive, after `check_object`."""
    check_object(archive, facts, learner=learner, kind=kind)
    try:
        with warnings.catch_warnings():
            # The versions were checked; scikit-learn warns of another patch release too.
            warnings.simplefilter("ignore")
            return import_skops().io.loads(archive.content, trusted=[*TRUSTED, *(learner or ())])
    except Exception as error:  # a file that was made up can fail in any way: it must fail as one
        raise ContentError(f"it cannot be put together ({one_line(error)})") from error


def _number(root: Any) -> tuple[Any, dict[str, str]]:
    """Number objects and arrays in the order in which they are met; return the arrays' new names by the old.

    skops has them by memory address, which says where they were and differs from run to run. An object met again is
    written as it was the first time, which is what skops takes. Of equal texts and numbers it is left to Python which
    are one object, and a model that was fitted in another process has others: they are one here.
    """
    met: dict[Any, Any] = {}
    names: dict[str, str] = {}

    def visit(node: Any) -> Any:
        if isinstance(node, list):
            return [visit(each) for each in node]
        if not isinstance(node, dict):
            return node
        identity = node.get("__id__")
        if not isinstance(identity, int):
            return {key: visit(value) for key, value in node.items()}
        if node.get("__loader__") == "JsonNode":
            identity = node["__module__"], node["__class__"], node["content"]
        if identity not in met:
            new = met[identity] = {"__id__": len(met) + 1}
            for key, value in node.items():
                if key == "file" and isinstance(value, str):
                    ending = value.rpartition(".")[2]
                    value = names.setdefault(value, f"{len(names) + 1}.{ending}")
                if key != "__id__":
                    new[key] = visit(value)
        return met[identity]

    return visit(root), names
