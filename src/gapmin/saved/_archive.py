"""The file itself: a sealed zip of two JSON members and plain arrays, read with suspicion and written in one step."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gapmin._utils.io import write_atomically
from gapmin._utils.text import one_line

FACTS, SCHEMA = "gapmin.json", "schema.json"
ARRAY_NAME = re.compile(r"[0-9]{1,20}\.npy")

MOST_DEFLATION = 100
"""How many times larger a deflated member may be than what it takes in the file. Arrays are not deflated at all."""

LARGEST_DEFLATED = 2**26
"""How many bytes a deflated member may have: read as JSON, it takes some ten times as many."""

BROKEN = "its schema is not one that skops writes"
COPY_AGAIN = "copy it again, or fit the model again"

_SEAL = b"gapmin sha256 "
_HASH_DIGITS = 64


class ModelFileError(ValueError):
    """A model file cannot be read or written: which file, what is wrong, what to do."""


class ContentError(Exception):
    """What is wrong with the content; and what to do, where that depends on what is wrong.

    An inner signal: it becomes a `ModelFileError`, which names the file.
    """

    def __init__(self, fault: str, remedy: str | None = None) -> None:
        super().__init__(fault)
        self.fault, self.remedy = fault, remedy


def need(holds: bool, fault: str = BROKEN) -> None:
    """Refuse the content where something does not hold."""
    if not holds:
        raise ContentError(fault)


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return the members as a zip that says nothing of when or where it was made, sealed by its checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o600 << 16
            deflated = name in (FACTS, SCHEMA) and len(zlib.compress(content)) * MOST_DEFLATION > len(content)
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)
        archive.comment = _SEAL + b"0" * _HASH_DIGITS
    return seal(buffer.getvalue())


def seal(content: bytes) -> bytes:
    """Put the checksum of everything before it at the end."""
    return content[:-_HASH_DIGITS] + hashlib.sha256(content[:-_HASH_DIGITS]).hexdigest().encode()


class Archive:
    """The members of a file that is whole, has no names but ours, and does not inflate beyond reason."""

    def __init__(self, content: bytes) -> None:
        end = content[-_HASH_DIGITS - len(_SEAL) :]
        if not end.startswith(_SEAL):
            raise ContentError("it was not written by this gapmin, or its end is missing", COPY_AGAIN)
        if content != seal(content):
            raise ContentError("it was altered after it was written (checksum)", COPY_AGAIN)
        self.content = content
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
            self._check_members()
        except _ZIP_ERRORS as error:
            raise ContentError(f"its archive is broken ({one_line(error)})") from error

    def _check_members(self) -> None:
        entries = self._zip.infolist()
        self.names = {entry.filename for entry in entries}
        if len(self.names) < len(entries):
            raise ContentError("it has two members of one name")
        for entry in entries:
            name = entry.filename
            if name not in (FACTS, SCHEMA) and not ARRAY_NAME.fullmatch(name):
                raise ContentError(f"it has a member {one_line(name)!r} that no model has")
            deflated = entry.compress_type == zipfile.ZIP_DEFLATED and name in (FACTS, SCHEMA)
            if entry.file_size > entry.compress_size * (MOST_DEFLATION if deflated else 1) + 64:
                raise ContentError(
                    f"its member {name!r} inflates from {entry.compress_size} to {entry.file_size} bytes"
                )
            if deflated and entry.file_size > LARGEST_DEFLATED:
                raise ContentError(
                    f"its member {name!r} has {entry.file_size} bytes, more than {LARGEST_DEFLATED}", "use fewer trees"
                )
            if not deflated and entry.compress_type != zipfile.ZIP_STORED:
                raise ContentError(f"its member {name!r} is compressed in a way that gapmin never does")
        for name in (FACTS, SCHEMA):
            if name not in self.names:
                raise ContentError(f"it has no {name}")

    def read(self, name: str) -> bytes:
        """Return a member."""
        if name not in self.names:
            raise ContentError(f"it has no member {one_line(name)!r}, which its schema asks for")
        try:
            return self._zip.read(name)
        except _ZIP_ERRORS as error:
            raise ContentError(f"its member {name!r} is broken ({one_line(error)})") from error


_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
    OSError,
    ValueError,
    OverflowError,
)


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a member."""
    return hashlib.sha256(content).hexdigest()


def parse(content: bytes | str, where: str, **numbers: Any) -> Any:
    """Read JSON strictly: no key twice, no NaN; `numbers` are json's own `parse_int` and `parse_float`."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = counts.most_common(1)[0][0]
            raise ContentError(
                f"{where} has the key {one_line(twice)!r} twice in one dictionary", "give every key once"
            )
        return found

    def no_constant(name: str) -> Any:
        raise ContentError(f"{where} has {name}, which is not JSON")

    try:
        return json.loads(content, object_pairs_hook=once, parse_constant=no_constant, **numbers)
    except (ValueError, RecursionError) as error:
        raise ContentError(f"{where} is not JSON ({one_line(error)})") from error


def read_file(path: Path, kind: str = "model file") -> bytes:
    """Return the content of a regular file that begins like a zip."""
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder: name a {kind}")
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for, a device read for ever
            raise ModelFileError(f"{path} is not a regular file: name a {kind}")
        with open(path, "rb") as file:
            start = file.read(4)
            if start != b"PK\x03\x04":
                raise ModelFileError(
                    f"{path} is {f'not a {kind}' if start else 'empty'}: name a file that gapmin wrote"
                )
            return start + file.read()
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist: check its name, or fit and save a model first") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror}): check its permissions") from error


def check_place(path: Path) -> None:
    """Refuse a place where no file can be, before any work is done."""
    if os.path.isdir(path):
        raise ModelFileError(f"{path} is a folder: name a file")
    if not path.absolute().parent.is_dir():
        raise ModelFileError(f"{path} cannot be written, for there is no folder {path.parent}: make it first")


def write_file(content: bytes, path: Path, *, follow_links: bool = True) -> None:
    """Write a file whole or not at all, and make sure that it is on the disk; `follow_links` is `atomic_path`'s."""
    try:
        write_atomically(content, path, sync=True, follow_links=follow_links)
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be written ({error.strerror}): check the folder's permissions and the space on the disk"
        ) from error
