"""Signs of life of the processes of a fit: each gives one every so often, and the process that waits for them looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

STARTUP_SECONDS = 300.0
"""Seconds that a process may take to start, where `timeout` is less: it imports PyTorch before its first sign."""

_MOST_BETWEEN = 1.0  # seconds from one sign to the next
_MOST_COUNTED = 1.0  # seconds of silence from one look to the next


def start_heartbeat(file: Path, timeout: float) -> None:
    """Touch a file from now on, as long as this process runs, whatever its other threads do."""

    def give() -> None:
        while True:
            with suppress(OSError):  # the folder goes when the fit is over
                file.touch()
            time.sleep(min(_MOST_BETWEEN, timeout / 10))

    threading.Thread(target=give, daemon=True).start()


class HeartbeatMonitor:
    """How long each process has given no sign of life.

    Counted by looks, not by the clock: where this process is stopped or the machine sleeps, the others may too.

    Parameters
    ----------
    files : sequence of Path
        Those that the processes touch.
    timeout : float
        Seconds that a process may be silent.

    Attributes
    ----------
    seconds : list of float
        By process.
    """

    def __init__(self, files: Sequence[Path], timeout: float) -> None:
        self.files = files
        self.timeout = timeout
        self.seconds = [0.0] * len(files)
        self._signs: list[int | None] = [None] * len(files)
        self._looked = time.monotonic()

    def check(self) -> None:
        """Note who has given a sign since the last look."""
        now = time.monotonic()
        passed, self._looked = min(now - self._looked, _MOST_COUNTED), now
        for rank, file in enumerate(self.files):
            sign = file.stat().st_mtime_ns if file.exists() else None
            self.seconds[rank] = 0.0 if sign != self._signs[rank] else self.seconds[rank] + passed
            self._signs[rank] = sign

    def is_silent(self, rank: int) -> bool:
        """Whether a process has been silent for too long."""
        allowed = self.timeout if self._signs[rank] is not None else max(self.timeout, STARTUP_SECONDS)
        return self.seconds[rank] > allowed
