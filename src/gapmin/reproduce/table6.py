"""Table 6: gapMTNN and its baselines on Office-31."""

from __future__ import annotations

from .multitask import Tasks, experiment, frozen

TASKS = Tasks(
    "Office-31",
    {"Amazon": "amazon", "Dslr": "dslr", "Webcam": "webcam"},
    {"5%": 0.05, "10%": 0.1, "20%": 0.2},
)
EXPERIMENT = experiment(
    "table6",
    "Table 6: Office-31",
    TASKS,
    "gapMTNN and its baselines on Office-31",
    [frozen("ResNet-18's layers", "splits are random draws of our own")],
    ("office31",),
)
