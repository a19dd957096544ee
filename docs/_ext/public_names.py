"""Which names are public, for the reference and for the check of docstrings."""

from __future__ import annotations

import inspect
from functools import cached_property
from importlib import import_module
from typing import Any

MODULES = (
    "gapmin",
    "gapmin.transfer",
    "gapmin.study",
    "gapmin.saved",
    "gapmin.boosting",
    "gapmin.dask",
    "gapmin.linear",
    "gapmin.gap",
    "gapmin.domains",
    "gapmin.deep",
    "gapmin.datasets",
    "gapmin.plotting",
    "gapmin.reporting",
    "gapmin.reproduce",
    "gapmin.base",
)


def public(module: str) -> dict[str, Any]:
    """Return the public classes and functions that a module is the home of, by name.

    What ``gapmin`` offers from its parts has its page there, but for `compare` and `read_study`.
    """
    loaded = import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    ]
    found = {name: getattr(loaded, name) for name in names}
    found = {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}
    if module == "gapmin":
        return {name: found[name] for name in ("compare", "read_study")}
    if module == "gapmin.study":
        found.pop("read_study")
    return found


def methods(kind: type) -> list[str]:
    """Return the public methods and properties of a class that gapmin wrote, in the order of the classes and lines."""
    found: dict[str, None] = {}
    for parent in inspect.getmro(kind):
        if not parent.__module__.startswith("gapmin"):
            continue
        for name, value in vars(parent).items():
            wanted = inspect.isfunction(value) or isinstance(
                value, (property, classmethod, staticmethod, cached_property)
            )
            if wanted and not name.startswith("_") and inspect.getdoc(getattr(kind, name, None)):
                found.setdefault(name)
    return list(found)
