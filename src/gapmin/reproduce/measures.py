"""From the kind of a cell to the function that measures it."""

from __future__ import annotations

from importlib import import_module

from .cells import Cell, Measured

_MEASURES = {
    "transfer": "gapmin.reproduce.transfer:measure",
    "multitask": "gapmin.reproduce.networks:measure",
    "epoch": "gapmin.reproduce.networks:measure_epoch",
    "rules": "gapmin.reproduce.rules:measure",
}


def measure(cell: Cell) -> Measured:
    """Measure a cell; PyTorch is imported only for cells that need it."""
    module, function = _MEASURES[cell.kind].split(":")
    found: Measured = getattr(import_module(module), function)(cell)
    return found
