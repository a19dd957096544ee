"""Figure 4: the relation between the Digits tasks that gapMTNN learns, by size of the sample."""

from __future__ import annotations

import numpy as np

from gapmin.reporting import Section

from .experiment import Experiment, Found
from .multitask import digits
from .names import EXTRACTOR, GAPMTNN, PRINTED

VARIANTS = {GAPMTNN: "default", PRINTED: "as printed", EXTRACTOR: "centroids of the extractor"}


def show(found: Found) -> Section:
    """A heat map for each form and size."""
    tasks = digits()
    figures, points = [], []
    for method, form in VARIANTS.items():
        for name, size in tasks.sizes_of(found.plan).items():
            there = tasks.measured(found, method, size)
            if not there:
                continue
            figure, own = tasks.relation_figure(there, f"{form}, {name}")
            figures.append(figure)
            error = np.mean([each.error for each in there])
            points.append(f"{form.capitalize()}, {name}: weight of a task on itself: {own}; average error {error:.2f}.")
    text = [
        "The paper: coefficients are not uniform and not symmetric, MNIST and MNIST_M weigh each other more than SVHN, "
        "and each task relies on the others less as the sample grows.",
        "By default a task learns from those whose rows can teach it, as probes trained on one half of a task's rows "
        "and scored on the other half say. As printed, the costs hold the distances between centroids, summed over "
        "classes and features, which outweigh the losses. With centroids of the extractor and the excess loss as the "
        "cost, tasks share as well.",
    ]
    return Section("Figure 4: task relations", text, points, figures=figures)


FIGURE4 = Experiment(
    "figure4",
    "the relation between tasks that gapMTNN learns",
    lambda plan: digits().cells(plan, list(VARIANTS)),  # the default's are cells of Table 4
    show,
    splits=10,
    needs=("digits",),
    networks=True,
    quick_epochs=1,
)
