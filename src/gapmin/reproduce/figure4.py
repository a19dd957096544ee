"""Figure 4: the relation between the Digits tasks that gapMTNN learns, by size of the sample."""

from __future__ import annotations

import numpy as np

from gapmin.plotting import Figure
from gapmin.plotting.heat_maps import RelationDisplay
from gapmin.reporting.html import Section

from . import multitask
from .cells import Cell
from .experiment import Experiment, Found, Plan
from .names import EXTRACTOR, GAPMTNN, PRINTED
from .table4 import tasks

VARIANTS = {GAPMTNN: "default", PRINTED: "as printed", EXTRACTOR: "centroids of the extractor"}


def cells(plan: Plan) -> list[Cell]:
    """GapMTNN in three forms at every size; the default's are those of Table 4."""
    return multitask.cells(plan, tasks(), list(VARIANTS))


def show(found: Found) -> Section:
    """A heat map for each form and size."""
    at_hand = tasks()
    names = {task: row for row, task in at_hand.rows.items()}
    figures, points = [], []
    for method, form in VARIANTS.items():
        for name, size in multitask.sizes(found.plan, at_hand).items():
            outcomes = found.measured("multitask", at_hand.problem, method, train=size, epochs=found.plan.epochs)
            there = [each for each in outcomes if each is not None]
            if not there:
                continue
            relation = np.mean([each.extra["relation"] for each in there], axis=0)
            order = [names[task] for task in there[0].parts]
            figures.append(
                Figure(
                    RelationDisplay(matrix=relation, names=order, largest=1.0).plot,
                    "Row j: the weight that task j gives to each task; mean over the splits.",
                    f"{form}, {name}",
                )
            )
            own = ", ".join(f"{task} {relation[k, k]:.2f}" for k, task in enumerate(order))
            error = np.mean([each.error for each in there])
            points.append(f"{form.capitalize()}, {name}: weight of a task on itself: {own}; average error {error:.2f}.")
    return Section("Figure 4: task relations", TEXT, points, figures=figures)


TEXT = (
    "The paper: coefficients are not uniform and not symmetric, MNIST and MNIST_M weigh each other more than SVHN, and "
    "each task relies on the others less as the sample grows.",
    "Centroids in the space of each task's own head are in bases of their own, so that even two copies of one task "
    "look far apart: by default Gamma goes to the identity and says nothing of which tasks are related. As printed, "
    "with distances summed over classes and features, these outweigh the losses all the more. With centroids of the "
    "extractor tasks do share.",
)

EXPERIMENT = Experiment(
    "figure4",
    "the relation between tasks that gapMTNN learns",
    cells,
    show,
    splits=10,
    quick_splits=1,
    needs=("digits",),
    networks=True,
    quick_epochs=1,
)
