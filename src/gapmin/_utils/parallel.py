"""Work side by side: every pool of processes is made here, so that none outlives the process that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from runpy import run_path
from typing import Any, Literal

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from gapmin._utils import _start_worker


def run_parallel(
    work: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    batch_size: int | Literal["auto"] = "auto",
    in_order: bool = True,
    threads: bool = False,
) -> Iterator[Any]:
    """Yield ``work(*task)`` for each task, so many at a time.

    All process pools of the package have the same options, so joblib uses the same worker processes for all of them.
    A worker ends when this process does, however that ends. With the last worker joblib's resource trackers end, which
    wait for the end of a pipe that every worker holds open, and remove joblib's temporary folders.

    Parameters
    ----------
    work : callable
    tasks : iterable of tuple
        Its arguments.
    n_jobs : int or None
        As joblib has it.
    batch_size : int or "auto", default="auto"
        Tasks that a worker is given at once. Take 1 where they differ much: joblib puts together many of the cheap
        ones, and then as many of the costly ones.
    in_order : bool, default=True
        Whether results come in the order of the tasks, or as they are ready.
    threads : bool, default=False
        Whether the workers are threads of this process.
    """
    if not threads and effective_n_jobs(n_jobs) == 1:
        for task in tasks:
            yield work(*task)
        return
    start = (_start_worker.__file__, {"parent": os.getpid()}, _start_worker.RUN_NAME)
    options = {"prefer": "threads"} if threads else {"initializer": run_path, "initargs": start}
    # A backend that the user chose, such as "multiprocessing", may know lists alone.
    lazy = get_active_backend(prefer=options.get("prefer"))[0].supports_return_generator
    return_as = ("generator" if in_order else "generator_unordered") if lazy else "list"
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, batch_size=batch_size, **options)
    results: Any = None
    try:
        with ignore_sigint_in_children():
            results = parallel(delayed(work)(*task) for task in tasks)
        for result in results:  # noqa: UP028 - `yield from` closes them with a warning
            yield result
    except BaseException:
        if lazy and results is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that some results were not used
                results.close()
        raise


@contextmanager
def ignore_sigint_in_children() -> Iterator[None]:
    """Keep the terminal from ending processes that start meanwhile, from their first moment.

    A worker ignores Ctrl-C by itself only when it has imported joblib: interrupted before, it would complain at length.
    joblib's resource trackers would be ended by a closed terminal, and leave their folders behind. What this thread
    blocks, a child inherits blocked. This process answers at the end what came meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    can_block = hasattr(signal, "pthread_sigmask")
    pressed: list[int] = []  # a thread that does not block the signal may take it
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        if can_block:
            unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
            resource_tracker.ensure_running()  # now, because Python unblocks Ctrl-C when it starts this one
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        yield
    finally:
        if can_block:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)


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
