"""How to install what comes with an extra."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Return what to run for an extra; gapmin is in no package registry, so it is installed from a clone.

    Examples
    --------
    >>> how_to_install("deep")
    'run pip install -e ".[deep]" in a clone of gapmin'
    """
    return f'run pip install -e ".[{extra}]" in a clone of gapmin'
