"""Processes side by side: one thread each, ended by the parent alone, and never outliving it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits


def worker_options() -> dict[str, Any]:
    """Return what `joblib.Parallel` takes to prepare each worker process with `start_worker`."""
    return {"initializer": start_worker, "initargs": (os.getpid(),)}


def start_worker(parent: int) -> None:
    """Prepare a worker process: Ctrl-C is answered by the parent alone, and the worker ends when the parent does.

    Parameters
    ----------
    parent : int
        The parent's process number. Asked for here it might be another's already: the parent may be gone by now.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def deaf_children() -> Iterator[None]:
    """Let processes that start meanwhile ignore Ctrl-C from their first moment.

    A worker turns to its own business only when it has imported everything: interrupted before, it would complain at
    length. That a signal is ignored, a child inherits; so this process is deaf too while it starts them, for a moment.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the BLAS, OpenMP and, where it is in use, PyTorch work on one thread, and give back those they had."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
