"""Figure 4: the relation between the Digits tasks that gapMTNN learns, by size of the sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.statistics import TTest, corrected_t_test
from gapmin.reporting import Section

from .cells import Measured
from .experiment import Experiment, Found
from .names import DEFAULT, EXTRACTOR, PRINTED
from .tasks import LENET, WITH_8K, Tasks, about, digits
from .verdicts import CONFIRMED, HOW, NOT_CONFIRMED, judge, judge_any, verdict

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
        if by_size:
            points += [
                *_shape_verdicts(form, by_size),
                _pair_verdict(form, tasks, by_size),
                _mnist_verdict(form, by_size),
                _own_verdict(form, by_size),
            ]
    text = [
        "The paper says four things. (1) Coefficients are not uniform and not symmetric. (2) MNIST and MNIST_M weigh "
        "each other more than SVHN. (3) MNIST weighs itself more than the other tasks weigh themselves. (4) Each task "
        "relies on the others less as the sample grows.",
        "By default a task learns from those whose rows can teach it, as probes trained on one half of a task's rows "
        "and scored on the other half say. As printed, the costs hold the distances between centroids, summed over "
        "classes and features, which outweigh the losses. With centroids of the extractor and the excess loss as the "
        "cost, tasks share as well. The intervals are those of the ordinary t-test over the draws.",
        f"{HOW} The first statement is of some entries, not of all: it is confirmed where at every size one has "
        "an interval without zero, at a level of 1 - 0.05 / (twice their number).",
    ]
    return Section("Figure 4: task relations", text, points, figures=figures)


def _test(values: Iterable[float]) -> TTest:
    """Test values of several draws of rows against 0 by the ordinary t-test."""
    return corrected_t_test([float(each) for each in values], n_train=1, n_test=0)


def _relations(there: Sequence[Measured]) -> NDArray[np.float64]:
    return np.array([each.extra["relation"] for each in there])


def _shape_verdicts(form: str, by_size: Mapping[str, Sequence[Measured]]) -> list[str]:
    """Judge whether Gamma is neither uniform nor symmetric: at every size some entry, or some pair, shows it."""
    points = []
    for said, of in (("uniform", _from_uniform), ("symmetric", _from_symmetric)):
        differences = {name: of(_relations(there)) for name, there in by_size.items()}
        judged = [
            judge_any([[_test(sign * each)] for each in of_size.T for sign in (1, -1)])
            for of_size in differences.values()
        ]
        largest = ", ".join(f"{np.abs(each.mean(0)).max():.2f} at {name}" for name, each in differences.items())
        from_what = "1 / K" if said == "uniform" else "the entry across the diagonal"
        points.append(
            verdict(
                CONFIRMED if {*judged} == {CONFIRMED} else NOT_CONFIRMED,
                f"{form}, (1) Gamma is not {said}. Largest mean difference of an entry from {from_what}: {largest}.",
            )
        )
    return points


def _from_uniform(relations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each entry is from 1 / K, a row for each draw."""
    return (relations - 1 / relations.shape[1]).reshape(len(relations), -1)


def _from_symmetric(relations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each entry above the diagonal is from the one across it, a row for each draw."""
    return (relations - relations.transpose(0, 2, 1))[:, *np.triu_indices(relations.shape[1], 1)]


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
        tests.append(_test(less))
        said.append(f"{round(-np.mean(less), 2) + 0.0:+.2f} at {name}")
    return verdict(
        judge(tests), f"{form}, (2) MNIST and MNIST_M weigh each other more than {third.upper()}. By {', '.join(said)}."
    )


def _mnist_verdict(form: str, by_size: Mapping[str, Sequence[Measured]]) -> str:
    """Judge whether MNIST weighs itself more than each other task does, at every size."""
    tests, said = [], []
    for name, there in by_size.items():
        own = np.diagonal(_relations(there), axis1=1, axis2=2)
        mnist = list(there[0].parts).index("mnist")
        others = np.delete(own, mnist, axis=1)
        tests += [_test(each) for each in (others - own[:, [mnist]]).T]
        said.append(f"{own[:, mnist].mean():.2f} against {others.mean():.2f} at {name}")
    claim = f"{form}, (3) MNIST weighs itself more than each other task weighs itself. On average {', '.join(said)}."
    return verdict(judge(tests), claim)


def _own_verdict(form: str, by_size: Mapping[str, Sequence[Measured]]) -> str:
    """Judge whether each task relies more on itself as the sample grows; the draws of two sizes are paired."""
    own = {name: np.trace(_relations(there), axis1=1, axis2=2) / len(there[0].parts) for name, there in by_size.items()}
    tests = [_test(now - following) for now, following in pairwise(own.values()) if len(now) == len(following)]
    said = ", ".join(f"{np.mean(each):.2f} at {name}" for name, each in own.items())
    claim = f"{form}, (4) tasks rely less on others as the sample grows. Mean weight of a task on itself: {said}."
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
    about=about(LENET, WITH_8K, 20),
)
