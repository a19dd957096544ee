"""From the kind of a cell to the function that measures it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from .cells import Cell, Measured

_MEASURES = {
    "transfer": "gapmin.reproduce.transfer:measure",
    "multitask": "gapmin.reproduce.networks:measure",
    "validation": "gapmin.reproduce.networks:measure_validation",
    "epoch": "gapmin.reproduce.networks:measure_epoch",
    "weights": "gapmin.reproduce.transfer:measure_weights",
    "gap": "gapmin.reproduce.transfer:measure_source_gap",
    "rules": "gapmin.reproduce.rules:measure",
}


def find_measure(kind: str) -> Callable[[Cell], Measured]:
    """Return what measures cells of a kind; PyTorch is imported only for those that need it."""
    module, function = _MEASURES[kind].split(":")
    found: Callable[[Cell], Measured] = getattr(import_module(module), function)
    return found
