"""Processes that tests start, and what is left of them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

Found = TypeVar("Found")


def wait_until(ready: Callable[[], Found], seconds: float = 60) -> Found:
    """Return the first true value that `ready` returns."""
    end = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < end, f"waited for {seconds} s in vain"
        time.sleep(0.05)
    return found


def command_line(process: psutil.Process) -> str:
    """Return what a process was started with: nothing where it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # also of a zombie
        return ""


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children_of(pid: int) -> list[psutil.Process]:
    """Return the processes that a process started, and those that they did: none where it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def workers_of(pid: int) -> list[psutil.Process]:
    """Return joblib's worker processes of a process."""
    return [each for each in children_of(pid) if "LokyProcess" in command_line(each)]


def traces_of(pid: int) -> list[Path]:
    """Return what joblib keeps for the workers of a process: folders of arrays, semaphores."""
    places = {Path("/dev/shm"), Path(tempfile.gettempdir())}
    names = f"joblib_memmapping_folder_{pid}_*", f"sem.loky-{pid}-*"
    return [path for place in places for name in names for path in place.glob(name)]
