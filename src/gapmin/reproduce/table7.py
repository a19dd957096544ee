"""Table 7: gapMTNN and its baselines on Office-Home."""

from __future__ import annotations

from .multitask import Tasks, experiment, frozen

TASKS = Tasks(
    "Office-Home",
    {"Ar.": "Art", "Cl.": "Clipart", "Pr.": "Product", "Rw.": "Real World"},
    {"5%": 0.05, "10%": 0.1, "20%": 0.2},
)
EXPERIMENT = experiment(
    "table7",
    "Table 7: Office-Home",
    TASKS,
    "gapMTNN and its baselines on Office-Home",
    [frozen("ResNet-18's layers", "splits are random draws of our own")],
    ("office-home",),
)
