"""What ends a command from outside: it still removes its temporary files and ends its worker processes."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import NoReturn

_SECONDS_TO_END = 5.0
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def exit_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into `SystemExit` with 128 plus the signal, as shells count.

    A signal that is ignored stays so, as SIGHUP under ``nohup``.
    """
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)  # `timeout` and others send it twice
    # An exception may be lost, in a callback of the garbage collector for example.
    timer = threading.Timer(_SECONDS_TO_END, os._exit, [128 + number])
    timer.daemon = True
    timer.start()
    raise SystemExit(128 + number)
