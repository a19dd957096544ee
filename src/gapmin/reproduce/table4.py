"""Table 4: gapMTNN and its baselines on Digits."""

from __future__ import annotations

from gapmin.datasets.catalogue import missing_files
from gapmin.reporting.html import Section

from . import multitask
from .cells import Cell
from .experiment import Experiment, Found, Plan
from .multitask import CLAIM, Tasks

WITH_SVHN = Tasks(
    "Digits",
    {"MNIST": "mnist", "SVHN": "svhn", "MNIST_M": "mnist_m"},
    {"3K": 3000, "5K": 5000, "8K": 8000},
)
WITH_USPS = Tasks(
    "Digits with USPS",
    {"MNIST": "mnist", "USPS": "usps", "MNIST_M": "mnist_m"},
    {"3K": 3000, "5K": 5000},
    is_as_printed=False,
)


def tasks() -> Tasks:
    """Return the paper's tasks where SVHN is there, and those with USPS in its place where not."""
    return WITH_USPS if missing_files("svhn") else WITH_SVHN


def cells(plan: Plan) -> list[Cell]:
    """Every method at every size."""
    return multitask.cells(plan, tasks())


def show(found: Found) -> Section:
    """Errors by task."""
    at_hand = tasks()
    notes = ["LeNet, Adam at 2e-4 decaying by 5% every 5 epochs, batches of 64 rows of each task; published test sets."]
    if at_hand is WITH_USPS:
        notes.append(
            "USPS stands in for SVHN, which is not on this machine, so averages do not compare with the paper's; it "
            "has 7,291 training rows, so there is no 8K."
        )
    return multitask.section(found, "table4", "Table 4: Digits", at_hand, [CLAIM], notes)


EXPERIMENT = Experiment(
    "table4",
    "gapMTNN and its baselines on Digits",
    cells,
    show,
    splits=10,
    quick_splits=1,
    needs=("digits",),
    networks=True,
    quick_epochs=1,
)
