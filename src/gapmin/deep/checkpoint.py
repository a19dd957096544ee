"""Checkpoints: written whole or not at all, read without running code, refused where they do not belong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

_FORMAT = 1


def write_checkpoint(path: Path, state: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    """Write `state` so that a process that dies leaves the old checkpoint or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    content = {"format": _FORMAT, "fingerprint": plain_values(fingerprint), "state": plain_values(state)}
    try:
        with beside.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        for left in path.parent.glob(f"{path.name}.*.part"):  # also those of processes that were killed
            left.unlink(missing_ok=True)


def plain_values(value: Any) -> Any:
    """Return dicts and lists with Python's numbers for numpy's, which a reader that runs no code would refuse.

    Examples
    --------
    >>> plain_values({"lr": np.float64(0.5), "sizes": (np.int64(3), "all")})
    {'lr': 0.5, 'sizes': [3, 'all']}
    """
    if isinstance(value, dict):
        return {key: plain_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(each) for each in value]
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


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
    fingerprint = plain_values(fingerprint)
    differs = [name for name in {**fingerprint, **found} if found.get(name) != fingerprint.get(name)]
    if differs:
        name = differs[0]
        raise ValueError(
            f"{path} is of another run: its {name} is {found.get(name)!r}, here it is {fingerprint.get(name)!r}: "
            f"{remedy}"
        )
    return dict(state)
