"""What each worker process runs first: the parent alone answers the terminal, and the worker ends with the parent.

A worker runs this file by its path, with the parent's process number as `parent`. To import it would be to import all
of gapmin first, which takes seconds in which the worker would outlive its parent.
"""

import os
import signal
import threading
import time

# What a terminal sends to all processes in it: Ctrl-C, and that it was closed (which Windows does not know).
TERMINAL_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
RUN_NAME = "gapmin worker"


def start_worker(parent: int) -> None:
    """Ignore the terminal's signals from now on, and end within a second when the parent is gone.

    Parameters
    ----------
    parent : int
        The parent's process number. Asked for here it might be another's already: the parent may be gone by now.
    """
    for number in TERMINAL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == RUN_NAME:
    start_worker(globals()["parent"])
