"""Figure 4: the relation between the Digits tasks that gapMTNN learns, by size of the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from gapmin._utils.statistics import corrected_t_test
from gapmin.reporting import Section

from .cells import Measured
from .experiment import Experiment, Found
from .names import DEFAULT, EXTRACTOR, PRINTED
from .tasks import LENET, WITH_8K, Tasks, about, digits
from .verdicts import HOW, judge, verdict

VARIANTS = {PRINTED: "as printed", DEFAULT: "our default", EXTRACTOR: "centroids of the extractor"}


def show(found: Found) -> Section:
    """A heat map for each form and size."""
    tasks = digits(found.plan.protocol)
    sizes = tasks.sizes_of(found.plan)
    figures, points = [], []
    for method, form in VARIANTS.items():
        by_size = {name: there for name, size in sizes.items() if (there := tasks.measured(found, method, size))}
        for name, there in by_size.items():
            figure, own = tasks.relation_figure(there, f"{form}, {name}")
            figures.append(figure)
            error = np.mean([each.error for each in there])
            points.append(f"{form.capitalize()}, {name}: weight of a task on itself: {own}; average error {error:.2f}.")
        points += [_pair_verdict(form, tasks, by_size), _own_verdict(form, by_size)] if by_size else []
    text = [
        "The paper: coefficients are not uniform and not symmetric, MNIST and MNIST_M weigh each other more than SVHN, "
        "and each task relies on the others less as the sample grows.",
        "By default a task learns from those whose rows can teach it, as probes trained on one half of a task's rows "
        "and scored on the other half say. As printed, the costs hold the distances between centroids, summed over "
        "classes and features, which outweigh the losses. With centroids of the extractor and the excess loss as the "
        "cost, tasks share as well. The intervals are those of the ordinary t-test over the draws.",
        HOW,
    ]
    return Section("Figure 4: task relations", text, points, figures=figures)


def _pair_verdict(form: str, tasks: Tasks, by_size: Mapping[str, Sequence[Measured]]) -> str:
    """Judge whether MNIST and MNIST_M weigh each other more than the third task, at every size."""
    third = next(task for task in tasks.rows.values() if not task.startswith("mnist"))
    tests, said = [], []
    for name, there in by_size.items():
        less = []
        for each in there:
            place = {task: k for k, task in enumerate(each.parts)}
            relation = np.array(each.extra["relation"])
            pair, stranger = (
                np.mean([relation[place[one], place[other]] for one, other in pairs])
                for pairs in (
                    (("mnist", "mnist_m"), ("mnist_m", "mnist")),
                    (("mnist", third), ("mnist_m", third)),
                )
            )
            less.append(stranger - pair)
        tests.append(corrected_t_test(less, n_train=1, n_test=0))
        said.append(f"{round(-np.mean(less), 2) + 0.0:+.2f} at {name}")
    return verdict(
        judge(tests), f"{form}, MNIST and MNIST_M weigh each other more than {third.upper()}. By {', '.join(said)}."
    )


def _own_verdict(form: str, by_size: Mapping[str, Sequence[Measured]]) -> str:
    """Judge whether each task relies more on itself as the sample grows; the draws of two sizes are paired."""
    own = {name: [np.diag(each.extra["relation"]).mean() for each in there] for name, there in by_size.items()}
    tests = [
        corrected_t_test(np.subtract(now, following).tolist(), n_train=1, n_test=0)
        for now, following in pairwise(own.values())
        if len(now) == len(following)
    ]
    said = ", ".join(f"{np.mean(each):.2f} at {name}" for name, each in own.items())
    claim = f"{form}, tasks rely less on others as the sample grows. Mean weight of a task on itself: {said}."
    return verdict(judge(tests), claim) if tests else f"{form}: one size says nothing of how Gamma changes with it."


FIGURE4 = Experiment(
    "figure4",
    "the relation between tasks that gapMTNN learns",
    lambda plan: digits(plan.protocol).cells(plan, list(VARIANTS)),  # the first two are cells of Table 4
    show,
    splits=10,
    needs=lambda protocol: digits(protocol).needs,
    networks=True,
    quick_epochs=1,
    optional=lambda cell: cell.method == DEFAULT,
    about=about(LENET, WITH_8K, 65),
)
