"""How to install what comes with an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def how_to_install(extra: str) -> str:
    """Return what to run for an extra; gapmin is in no package registry, so it is installed from a clone.

    Examples
    --------
    >>> how_to_install("deep")
    'run pip install -e ".[deep]" in a clone of gapmin'
    """
    return f'run pip install -e ".[{extra}]" in a clone of gapmin'


@contextmanager
def install_hint(extra: str, why: str) -> Iterator[None]:
    """Have an import that fails say why the package is needed, and which extra has it.

    Examples
    --------
    >>> with install_hint("data", "planets are drawn with orrery"):
    ...     import orrery
    Traceback (most recent call last):
    ...
    ImportError: planets are drawn with orrery: run pip install -e ".[data]" in a clone of gapmin
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{why}: {how_to_install(extra)}") from error
