"""Checkpoints: written whole or not at all, read without running code, refused where they do not belong.

A checkpoint is a safetensors file. Its header holds, as JSON, what tells the run from others and the tree of its
state, in which names stand for the tensors.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from gapmin._utils.text import one_line
from gapmin.deep._plain import TENSOR, ContentError, check_size, decode, encode
from gapmin.deep._tensorfile import StoredTensor, TensorFile, write_tensors

REMEDY = "name another checkpoint_dir, or remove the file to start anew"
TRAINING_FORMAT = 2
"""Of checkpoints; a saved network has a format of its own."""
_TRAINING_KEY = "gapmin checkpoint"
_OF_FORMAT_1 = "checkpoint.pt"


def write_checkpoint(path: Path, state: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    """Write `state` so that a process that dies leaves the old checkpoint or the new one, never half of one."""
    tensors: dict[str, Tensor] = {}

    def store(value: Any, name: str) -> dict[str, str]:
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} is {value!r}, and a checkpoint holds plain numbers, texts, lists, dicts, tensors")
        while name in tensors:
            name += "'"
        tensors[name] = value
        return {TENSOR: name}

    try:
        description = {"format": TRAINING_FORMAT, "fingerprint": encode(fingerprint), "state": encode(state, store)}
        header = json.dumps(description, allow_nan=False)
        check_size(header, "its header")
    except (TypeError, ContentError) as error:
        raise ValueError(
            f"{path} cannot be written ({one_line(error)}): keep less, or set checkpoint_dir=None"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_tensors(path, tensors, {_TRAINING_KEY: header})
    finally:
        for left in path.parent.glob(f".{path.name}.*.part"):  # also those of processes that were killed
            left.unlink(missing_ok=True)


def read_checkpoint(
    path: Path, fingerprint: dict[str, Any], check: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any] | None:
    """Return the state of a checkpoint of this very run; None where there is no file.

    Parameters
    ----------
    path : Path
    fingerprint : dict
        What tells this run from others. It is compared before any tensor is read.
    check : callable, optional
        Gets the state with a `StoredTensor` in the place of each tensor, before any of them is read; raises
        `ContentError` where it is none that this run could have.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or one of a run with other settings, shapes or data.
    """
    try:
        with TensorFile(path) as file:
            state = _read_state(path, file, encode(fingerprint), check or (lambda _: None))
            tensors = file.read()
    except FileNotFoundError:
        old = path.with_name(_OF_FORMAT_1)
        if old.exists():
            raise ValueError(f"{old} has checkpoint format 1, this gapmin reads {TRAINING_FORMAT}: {REMEDY}") from None
        return None
    except ContentError as error:
        raise refused(path, error) from error
    return dict(_filled(state, tensors))


def refused(path: Path | None, fault: object) -> ValueError:
    """Return the error of a checkpoint that cannot be used."""
    return ValueError(f"{path} is not a checkpoint that can be read ({one_line(fault)}): {REMEDY}")


def _read_state(
    path: Path, file: TensorFile, fingerprint: dict[str, Any], check: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Return the state with a `StoredTensor` for each tensor, once the file was found to be of this run."""
    description = file.description(_TRAINING_KEY, "run")
    if description["format"] != TRAINING_FORMAT:
        raise ValueError(
            f"{path} has checkpoint format {description['format']}, this gapmin reads {TRAINING_FORMAT}: {REMEDY}"
        )
    if description.keys() != {"format", "fingerprint", "state"}:
        raise ContentError("its description has not exactly format, fingerprint and state")
    found, state = description["fingerprint"], description["state"]
    if not isinstance(found, dict) or not isinstance(state, dict):
        raise ContentError("its fingerprint or its state is no dictionary")
    for name in {**fingerprint, **found}:
        if name not in found or name not in fingerprint or not _same(found[name], fingerprint[name]):
            theirs, ours = (each.get(name, "not there") for each in (found, fingerprint))
            raise ValueError(
                f"{path} is of another run: its {one_line(name)} is {one_line(repr(theirs))}, here it is "
                f"{one_line(repr(ours))}: {REMEDY}"
            )
    left = dict(file.tensors)

    def take(name: str) -> StoredTensor:
        if name not in left:
            raise ContentError(
                f"its state asks for the tensor {one_line(name)}, which is not there or was asked for before"
            )
        return left.pop(name)

    tree: dict[str, Any] = decode(state, take)
    check(tree)
    if left:
        raise ContentError(f"it has the tensor {one_line(min(left))}, which its state does not ask for")
    return tree


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)  # to Python, 1 is True and 1.0


def _filled(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """Return the tree with the tensors in their places."""
    if isinstance(tree, StoredTensor):
        return tensors[tree.name]
    if isinstance(tree, dict):
        return {key: _filled(each, tensors) for key, each in tree.items()}
    return [_filled(each, tensors) for each in tree] if isinstance(tree, list) else tree
