"""Table 5: gapMTNN and its baselines on PACS."""

from __future__ import annotations

from .multitask import Tasks, experiment, frozen

TASKS = Tasks(
    "PACS",
    {"A": "art_painting", "C": "cartoon", "P": "photo", "S": "sketch"},
    {"10%": 0.1, "15%": 0.15, "20%": 0.2},
)
EXPERIMENT = experiment(
    "table5",
    "Table 5: PACS",
    TASKS,
    "gapMTNN and its baselines on PACS",
    [frozen("AlexNet's convolutions", "images have 128 x 128 pixels, and splits are random draws of our own")],
    ("pacs", "alexnet-features"),
)
