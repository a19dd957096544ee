"""Run the cells that are missing, side by side on this machine or on a Dask cluster, and keep each as it comes."""

from __future__ import annotations

import importlib.util
import math
import platform
import socket
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.metadata import version

from gapmin._utils.extras import how_to_install
from gapmin._utils.parallel import one_thread, run_parallel
from gapmin._version import __version__

from .cells import OF_NETWORKS, Cell, Measured, Outcome
from .measures import find_measure
from .store import Outcomes

MeasureCell = Callable[[Cell], Measured]
Completed = Callable[[Sequence[Cell]], Iterator[Outcome]]
"""Runs cells and hands out their outcomes as they come, in any order."""

MAX_RESTARTS = 3
_one_at_a_time = threading.Lock()
"""Within a process: PyTorch's random numbers and its number of threads belong to the process, not to a thread."""


class WorkersLostError(RuntimeError):
    """Worker processes were killed again and again."""


def run_cell(cell: Cell, measure: MeasureCell | None = None) -> Outcome:
    """Run one cell, on one thread wherever it runs; an error is part of the outcome.

    `measure` is what measures it; by default what measures cells of its kind.
    """
    start, processor_start = time.perf_counter(), time.process_time()
    measured, failure = None, ""
    try:
        measure = measure or find_measure(cell.kind)  # first, for only what is imported by now is held to one thread
        with _one_at_a_time, one_thread():
            found = measure(cell)
        if not math.isfinite(found.error):
            raise ValueError(f"the error is {found.error}")
        measured = found
    except Exception as error:  # whatever it is, the other cells go on
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor_start
    return Outcome(cell, measured, failure, seconds, versions(cell.kind), processor_seconds)


@cache
def versions(kind: str) -> str:
    """Return the versions that cells of a kind are run with, here."""
    names = ["numpy", "scipy", "scikit-learn", *(["torch"] if kind in OF_NETWORKS else [])]
    found = [f"{name} {version(name)}" for name in names if importlib.util.find_spec(name.replace("scikit-", "sk"))]
    return ", ".join([f"gapmin {__version__}", f"Python {platform.python_version()}", *found])


def missing(cells: Iterable[Cell], store: Outcomes, *, retry_failed: bool = False) -> list[Cell]:
    """Return the cells still to be run, each once."""

    def is_done(cell: Cell) -> bool:
        outcome = store.get(cell)
        return outcome is not None and not (retry_failed and outcome.failure)

    return [cell for cell in dict.fromkeys(cells) if not is_done(cell)]


def run_grid(
    cells: Sequence[Cell],
    store: Outcomes,
    completed: Completed,
    *,
    on_progress: Callable[[float, int], object] = lambda share, n_cells: None,
) -> None:
    """Run cells and keep the outcome of each in the store as soon as it is there.

    Parameters
    ----------
    cells : sequence of Cell
        As `missing` returns them.
    store : Outcomes
        Open, where it is a `Store`.
    completed : callable
        `on_this_machine(n_jobs)` or `on_dask(address)`.
    on_progress : callable
        Told after each cell which share of the work is done, and how many cells there are.
    """
    # Split by split, so that each kind of cell is met early and what is left looks like what is done.
    in_turn = sorted(cells, key=lambda cell: cell.split)
    left = _TimeLeft(in_turn)
    for outcome in completed(in_turn):
        store.add(outcome)
        on_progress(left.after(outcome), len(in_turn))


class _TimeLeft:
    """The share of the work that is done, a cell taking as long as others of its series took so far."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.counts: dict[tuple[str, ...], int] = defaultdict(int)
        for cell in cells:
            self.counts[cell.series] += 1
        self.seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self.share = 0.0

    def after(self, outcome: Outcome) -> float:
        self.counts[outcome.cell.series] -= 1
        self.seconds[outcome.cell.series].append(outcome.seconds)
        means = {series: sum(each) / len(each) for series, each in self.seconds.items()}
        typical = sum(means.values()) / len(means)
        done = sum(map(sum, self.seconds.values()))
        left = sum(count * means.get(series, typical) for series, count in self.counts.items())
        self.share = max(self.share, done / (done + left) if done + left else 1.0)
        return self.share


def on_this_machine(n_jobs: int = -1, measure: MeasureCell | None = None) -> Completed:
    """Run cells in processes of this machine, started anew where some are killed; `measure` as in `run_cell`."""

    def completed(cells: Sequence[Cell]) -> Iterator[Outcome]:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        run = run_cell if measure is None else partial(run_cell, measure=measure)
        left = {cell.key: cell for cell in cells}
        n_lost = 0
        while n_lost <= MAX_RESTARTS:
            tasks = [(cell,) for cell in left.values()]
            try:
                for outcome in run_parallel(run, tasks, n_jobs, batch_size=1, in_order=False):
                    del left[outcome.cell.key]
                    n_lost = 0
                    yield outcome
                return
            except BrokenProcessPool:  # joblib's TerminatedWorkerError is one
                n_lost += 1
        first = next(iter(left.values()))
        raise WorkersLostError(
            f"worker processes were killed {n_lost} times in a row, as a machine out of memory does, with {len(left)} "
            f"cells left (the next: {first.method} on {first.problem}). What is done is kept: run the same command "
            "again, with fewer --jobs"
        )

    return completed


def on_dask(address: str, timeout: float = 10.0) -> Completed:
    """Run cells on the workers of a Dask cluster, which need gapmin and the data where they are."""
    try:
        from dask.distributed import Client, as_completed
        from distributed.comm.addressing import get_address_host_port
    except ImportError as error:
        raise ImportError(f"a cluster is reached with Dask: {how_to_install('dask')}") from error
    # A client that finds nobody leaves threads behind: knock first.
    socket.create_connection(get_address_host_port(address, strict=True), timeout).close()
    client = Client(address, timeout=timeout, set_as_default=False)

    def completed(cells: Sequence[Cell]) -> Iterator[Outcome]:
        with client:
            cell_of = {client.submit(run_cell, cell, pure=False): cell for cell in cells}
            for future in as_completed(list(cell_of), loop=client.loop):
                if future.cancelled():
                    raise WorkersLostError(
                        f"the scheduler at {address} was lost: what is done is kept; run the same command again once "
                        "it answers"
                    )
                cell, error = cell_of.pop(future), future.exception()
                # `run_cell` raises nothing: this is a worker that died with the cell more often than Dask allows.
                yield (
                    future.result()
                    if error is None
                    else Outcome(cell, None, f"{type(error).__name__}: {error}", 0.0, versions(cell.kind))
                )

    return completed
