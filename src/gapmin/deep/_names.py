"""What tells a function or an object of the user's from others, alike in every process."""

from __future__ import annotations

import functools
from dataclasses import is_dataclass
from typing import Any


def name_of(value: Any) -> str:
    """Return a name without addresses in memory.

    Examples
    --------
    >>> name_of(len), name_of("adam"), name_of([len, None])
    ('builtins.len', "'adam'", '[builtins.len, None]')
    """
    if isinstance(value, functools.partial):
        settings = [*map(name_of, value.args), *(f"{key}={name_of(each)}" for key, each in value.keywords.items())]
        return f"{name_of(value.func)}({', '.join(settings)})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(name_of, value))}]"
    if value is None or isinstance(value, (str, int, float)) or (is_dataclass(value) and not isinstance(value, type)):
        return repr(value)
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
