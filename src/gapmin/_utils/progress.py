"""Progress where it was asked for, as a bar or as lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from gapmin._utils.extras import install_hint

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Item = TypeVar("Item")

_SECONDS_BETWEEN_LINES, _SECONDS_WITHOUT_LINES = 4.0, 1.0


def progress(items: Sequence[Item], verbose: int, description: str) -> Iterable[Item]:
    """Pass `items` through, behind a bar on standard error if `verbose`.

    Examples
    --------
    >>> list(progress(range(3), verbose=0, description="quiet"))
    [0, 1, 2]
    """
    if not verbose:
        return items
    console = _standard_error()
    from rich.progress import track

    return track(items, description=description, console=console)


@contextmanager
def counting(total: int, done: int, verbose: int, description: str) -> Iterator[Callable[[int, str], None]]:
    """Count up to `total` behind a bar on standard error if `verbose`.

    Yields
    ------
    callable
        To be given how many are done, and what to write beside the bar.
    """
    if not verbose:
        yield lambda done, description: None
        return
    console = _standard_error()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(description, total=total, completed=done)
        yield lambda done, description: bar.update(task, completed=done, description=description)


def log(line: str) -> None:
    """Write a line of progress to standard error."""
    _standard_error().print(line, style="dim", highlight=False, markup=False)


def _standard_error() -> Console:
    with install_hint("cli", "verbose=1 draws its progress bar with rich"):
        from rich.console import Console
    return Console(stderr=True)


def _bar(console: Console, before: Sequence[Any] = (), after: Sequence[Any] = ()) -> Progress:
    """Return a bar that goes away when it is done, with more columns before and after those that all have."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*before, *columns, *after, console=console, transient=True)


@contextmanager
def stages_on(console: Console, description: str) -> Iterator[Callable[[float, str], None]]:
    """Show what is being done: a bar on a terminal; elsewhere a line for each stage, and one every four seconds.

    What is over within a second is not worth a line.

    Yields
    ------
    callable
        To be given the share that is done and what is being done.
    """
    from rich.progress import SpinnerColumn

    if console.is_terminal:
        with _bar(console, before=[SpinnerColumn()]) as bar:
            task = bar.add_task(description, total=1.0)
            yield lambda share, stage: bar.update(task, completed=share, description=f"{description}: {stage}")
        return
    start, over = time.perf_counter(), threading.Event()
    now: dict[str, Any] = {"share": 0.0, "stage": ""}

    def line() -> None:
        passed = time.perf_counter() - start
        text = f"{description}: {100 * now['share']:.0f}%, {now['stage']}, {passed:.0f} s"
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def repeat() -> None:
        while not over.wait(_SECONDS_BETWEEN_LINES):
            if now["stage"]:
                line()

    def on_progress(share: float, stage: str) -> None:
        is_new = stage != now["stage"]
        now.update(share=share, stage=stage)
        if is_new and time.perf_counter() - start > _SECONDS_WITHOUT_LINES:
            line()

    # A daemon: where the main thread ends in an error it is not waited for.
    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield on_progress
    finally:
        over.set()
        thread.join()


@contextmanager
def progress_on(console: Console, description: str) -> Iterator[Callable[[float, int], None]]:
    """Show progress with the time left: a bar on a terminal, a line every fifth of the work elsewhere.

    Yields
    ------
    callable
        To be given the share that is done and the number of steps.
    """
    from rich.progress import TextColumn, TimeRemainingColumn

    if console.is_terminal:
        with _bar(console, after=[TextColumn("left"), TimeRemainingColumn()]) as bar:
            task = bar.add_task(description, total=1.0)
            yield lambda share, n_steps: bar.update(
                task, completed=share, description=f"{description}, {n_steps} steps"
            )
        return
    start, shown = time.perf_counter(), 0

    def line(share: float, n_steps: int) -> None:
        nonlocal shown
        if int(5 * share + 1e-9) > shown:
            shown = int(5 * share + 1e-9)
            left = (time.perf_counter() - start) * (1 - share) / share
            console.print(f"{description}: {100 * share:.0f}% of {n_steps} steps, {max(left, 0):.0f} s left")

    yield line
