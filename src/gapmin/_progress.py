"""A progress bar where one was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Sequence[Item], verbose: int, description: str) -> Iterable[Item]:
    """Pass `items` through, behind a bar on standard error if `verbose`.

    Examples
    --------
    >>> list(progress(range(3), verbose=0, description="quiet"))
    [0, 1, 2]
    """
    if not verbose:
        return items
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        raise ImportError('verbose=1 draws its progress bar with rich: pip install "gapmin[cli]"') from None
    return track(items, description=description, console=Console(stderr=True))
