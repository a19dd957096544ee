"""A safetensors file, read with suspicion: its header is checked whole before a single tensor takes memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Self

import torch
from torch import Tensor

from gapmin._utils.io import atomic_path
from gapmin._utils.text import one_line
from gapmin.deep._plain import LARGEST_HEADER, ContentError, is_int, parse_header

DTYPES: dict[str, torch.dtype] = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "U16": torch.uint16,
    "I16": torch.int16,
    "U32": torch.uint32,
    "I32": torch.int32,
    "U64": torch.uint64,
    "I64": torch.int64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "C64": torch.complex64,
}
"""The types of tensors that a file may have, by safetensors' names."""

_METADATA = "__metadata__"


@dataclass(frozen=True)
class StoredTensor:
    """What a file says of one of its tensors."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


class TensorFile:
    """An open safetensors file, the header of which was checked.

    The bytes are read once and from one descriptor, so that a file that changes meanwhile cannot be one thing when it
    is checked and another when it is used.

    Parameters
    ----------
    source : Path or binary file

    Attributes
    ----------
    size : int
        Of the file, in bytes.
    metadata : dict of str to str
    tensors : dict of str to StoredTensor

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ContentError
        When it is no regular file, or no safetensors file, or one that is cut short.
    """

    def __init__(self, source: Path | BinaryIO) -> None:
        self._file = open_regular(source) if isinstance(source, Path) else source
        try:
            self.size = self._file.seek(0, os.SEEK_END)
            self._file.seek(0)
            self.metadata, self.tensors = self._read_header()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read_header(self) -> tuple[dict[str, str], dict[str, StoredTensor]]:
        start = self._read(8)
        if start.startswith(b"PK"):
            raise ContentError(
                "it is a zip archive, as PyTorch and gapmin's checkpoints of format 1 have it, with a pickle"
            )
        length = int.from_bytes(start, "little")
        if length > self.size - 8:
            raise ContentError(f"its header is said to have {length} bytes, and the file has {self.size}")
        if length > LARGEST_HEADER:
            raise ContentError(f"its header has {length} bytes, more than {LARGEST_HEADER}")
        header = parse_header(self._read(length), "its header")
        if not isinstance(header, dict):
            raise ContentError("its header is no dictionary")
        metadata = header.pop(_METADATA, {})
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise ContentError("its header has metadata that is not text by name")
        tensors = {name: _stored(name, each) for name, each in header.items()}
        at = 0
        for name, each in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
            if each.begin != at:
                raise ContentError(f"its tensor {one_line(name)} begins at byte {each.begin}, where {at} was due")
            at = each.end
        if at != self.size - 8 - length:
            raise ContentError(f"its tensors take {at} bytes, and the file has {self.size - 8 - length} for them")
        return metadata, tensors

    def description(self, key: str, subject: str) -> dict[str, Any]:
        """Return what the metadata say under a key: a dictionary in JSON that names its format."""
        if key not in self.metadata:
            raise ContentError(f"its header does not describe a {subject}")
        found = parse_header(self.metadata[key], "its description")
        if not isinstance(found, dict) or not is_int(found.get("format")) or found["format"] < 1:
            raise ContentError("its description names no format")
        return found

    def _read(self, n_bytes: int) -> bytes:
        found = self._file.read(n_bytes)
        if len(found) < n_bytes:
            raise ContentError("it is cut short")
        return found

    def read(self) -> dict[str, Tensor]:
        """Return the tensors; to be called once."""
        found = {}
        for name, each in sorted(self.tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
            tensor = torch.empty(each.shape, dtype=each.dtype, device="cpu")
            if tensor.numel():
                raw = tensor.reshape(-1).view(torch.uint8)
                if self._file.readinto(raw.numpy()) < raw.numel():  # type: ignore[attr-defined]
                    raise ContentError("it is cut short")
                if each.dtype == torch.bool and bool((raw > 1).any()):
                    raise ContentError(f"its tensor {one_line(name)} has truth values that are neither true nor false")
            found[name] = tensor
        return {name: found[name] for name in self.tensors}


def _stored(name: str, entry: Any) -> StoredTensor:
    """Return what the header says of a tensor, which must make sense by itself."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ContentError(f"its header does not say type, shape and place of {one_line(name)}")
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ContentError(f"its tensor {one_line(name)} is of the unknown type {one_line(dtype)}")
    for numbers in (shape, place):
        if not isinstance(numbers, list) or not all(is_int(each) and 0 <= each < 2**63 for each in numbers):
            raise ContentError(f"its tensor {one_line(name)} has a shape or a place that is no list of whole numbers")
    if len(shape) > 64 or len(place) != 2 or prod(side or 1 for side in shape) >= 2**60:
        raise ContentError(f"its tensor {one_line(name)} has shape {one_line(shape)} and {len(place)} ends")
    if prod(shape) * DTYPES[dtype].itemsize != place[1] - place[0]:
        raise ContentError(
            f"its tensor {one_line(name)} of {dtype} and shape {one_line(shape)} has {place[1] - place[0]} bytes"
        )
    return StoredTensor(name, DTYPES[dtype], tuple(shape), *place)


def open_regular(path: Path) -> BinaryIO:
    """Open a file, and nothing else: a pipe would be waited for, a device read for ever."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        _refuse_irregular(os.stat(path))
        descriptor = os.open(path, flags)
        try:
            _refuse_irregular(os.fstat(descriptor))
        except ContentError:
            os.close(descriptor)
            raise
        return os.fdopen(descriptor, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise ContentError(f"it cannot be opened ({one_line(getattr(error, 'strerror', None) or error)})") from error


def _refuse_irregular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ContentError("it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise ContentError("it is no regular file")


def mismatch(wanted: Mapping[str, Tensor], found: Mapping[str, StoredTensor]) -> str | None:
    """Return what is wrong with stored tensors that are to become the state of a module; None where nothing is.

    A parameter of a lazy module, which has no shape yet, takes any.
    """
    for name, tensor in wanted.items():
        if name not in found:
            return f"it lacks {name}"
        if torch.nn.parameter.is_lazy(tensor):
            continue
        if found[name].shape != tuple(tensor.shape):
            return f"{name} has shape {one_line(found[name].shape)}, {tuple(tensor.shape)} was wanted"
        if found[name].dtype != tensor.dtype:
            return f"{name} is of {found[name].dtype}, {tensor.dtype} was wanted"
    for name in found:
        if name not in wanted:
            return f"it has {one_line(name)}, which the network lacks"
    return None


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a file so that a process that dies leaves the old one or the new one, never half of one."""
    from safetensors.torch import save_file

    # Each on memory of its own, which safetensors asks for: views of one tensor would be written twice or not at all.
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    for name, tensor in own.items():
        if tensor.dtype not in DTYPES.values():
            raise ValueError(f"{name} is of {tensor.dtype}, which no safetensors file holds: use another type")
    with atomic_path(path, sync=True, follow_links=False) as draft:
        save_file(own, draft, metadata=metadata)
