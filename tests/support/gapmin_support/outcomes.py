"""Results made up by a rule, so that every table and figure can be shown without a run."""

from __future__ import annotations

from gapmin.reproduce.cells import Cell, Measured, Outcome
from gapmin.reproduce.names import NETWORK_COLUMNS

RULES = {
    "loss_before": 0.7,
    "loss_after": 0.6,
    "largest_weight": 0.1,
    "cap": 0.2,
    "target_share": 0.3,
    "target_rows": 0.1,
    "gap_first": 0.2,
    "gap_last": 0.3,
}
PARTS = {
    "Digits": ("mnist", "svhn", "mnist_m"),
    "Digits with USPS": ("mnist", "mnist_m", "usps"),
    "Digits, embedded": ("mnist", "mnist_m", "digits"),
    "Digits, two halves and a stranger": ("first", "second", "stranger"),
    "PACS": ("art_painting", "cartoon", "photo", "sketch"),
    "PACS, ResNet-50": ("art_painting", "cartoon", "photo", "sketch"),
    "Office-31": ("amazon", "dslr", "webcam"),
    "Office-31, ten classes": ("amazon", "dslr", "webcam"),
    "Office-Home": ("Art", "Clipart", "Product", "Real World"),
}


def made_up_outcome(cell: Cell) -> Outcome:
    """An outcome that depends on the cell alone: an error between 5 and 15, lower for the methods of the paper."""
    error = 5 + 10 * (cell.random_state % 10_007) / 10_007 - 3 * cell.method.startswith("gap")
    parts, extra = {cell.problem: error}, {}
    if cell.kind == "rules":
        parts = RULES
    elif cell.kind == "multitask":
        names = PARTS[cell.problem]
        parts = {name: error + k - (len(names) - 1) / 2 for k, name in enumerate(names)}
        size = len(names)
        extra = {
            "relation": [[0.5 if j == k else 0.5 / (size - 1) for k in range(size)] for j in range(size)],
            "rows": {name: [100, 900] for name in names},
        }
    elif cell.kind == "gap":
        parts, extra = {"source": error / 30, "target": error / 60}, {"by_chance": 0.3, "p_value": error / 100}
        error = sum(parts.values())
    elif cell.kind == "weights":
        extra = {"mass": [[0.1, 0.9], [0.3, 0.7]], "domains": [-1, 1], "disagreement": [[0.4, 0.2]]}
    elif cell.kind == "epoch":
        parts = {name: 1 + k / 10 for k, name in enumerate(NETWORK_COLUMNS.values())}
    return Outcome(cell, Measured(error, parts, 100, 900, extra), "", 1.0, "0.1.0")
