"""Checkpoints: written whole or not at all, read without running code, refused where they do not belong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

_FORMAT = 1


def write_checkpoint(path: Path, state: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    """Write `state` so that a process that dies leaves the old checkpoint or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            torch.save({"format": _FORMAT, "fingerprint": fingerprint, "state": state}, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read_checkpoint(path: Path, fingerprint: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state of a checkpoint of this very run; None where there is no file.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or one of a run with other settings, shapes or data.
    """
    if not path.exists():
        return None
    remedy = "name another checkpoint_dir, or remove the file to start anew"
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        found_format, found, state = content["format"], content["fingerprint"], content["state"]
    except Exception as error:
        raise ValueError(f"{path} is not a checkpoint that can be read ({type(error).__name__}): {remedy}") from error
    if found_format != _FORMAT:
        raise ValueError(f"{path} has checkpoint format {found_format}, this gapmin writes {_FORMAT}: {remedy}")
    differs = [name for name in {**fingerprint, **found} if found.get(name) != fingerprint.get(name)]
    if differs:
        name = differs[0]
        raise ValueError(
            f"{path} is of another run: its {name} is {found.get(name)!r}, here it is {fingerprint.get(name)!r}: "
            f"{remedy}"
        )
    return dict(state)
