"""Networks of many tasks compared: a table, what gapMTNN's relation says, figures, and what can be said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.text import format_number, joined
from gapmin.plotting import Figure
from gapmin.reporting.table import quoted_problems

from ..plotting.displays import EpochDisplay
from ..plotting.heat_maps import RelationDisplay
from ..reporting.html import Section
from ..reporting.results import Cell, Results
from ..reporting.table import Entry, Table, error_caption

GAPMTNN, UNIFORM = "gapMTNN", "Uniform"
AVERAGE = "average"
ALL = 1 - 1e-6
"""A task that gives itself this share of its weight gives nothing to others: the rest is the rounding of float32."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class MultitaskFit:
    """One network, trained on all tasks of one split.

    Attributes
    ----------
    method : str
    split : int
    errors : dict of str to float
        Percent of the test rows of each task that its own head got wrong.
    losses : ndarray of shape (n_epochs, n_tasks)
        Mean loss of each task's head on the task's own rows, as they were trained on.
    relations : ndarray of shape (n_epochs, n_tasks, n_tasks) or None
        Gamma after each epoch; None for a method that has none.
    seconds : float
        Of the fit alone.
    """

    method: str
    split: int
    errors: dict[str, float]
    losses: NDArray[np.float64]
    relations: NDArray[np.float64] | None
    seconds: float


@dataclass(frozen=True)
class MultitaskComparison:
    """What gapMTNN and Uniform did on one multitask problem.

    Attributes
    ----------
    fits : list of MultitaskFit
        Every method on every split.
    description : str
        Where the rows come from.
    n_train : int
        Rows of each task that train.
    n_test : mapping of str to int
        Rows of each task that test.
    """

    fits: list[MultitaskFit]
    description: str
    n_train: int
    n_test: Mapping[str, int]

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks, in the problem's order."""
        return list(self.n_test)

    @property
    def n_splits(self) -> int:
        """How many splits there are."""
        return len({fit.split for fit in self.fits})

    @property
    def n_epochs(self) -> int:
        """How many epochs each network was trained for."""
        return len(self.fits[0].losses)

    @property
    def results(self) -> Results:
        """The errors with the tasks as problems."""
        return Results(
            Cell(task, fit.method, fit.split, fit.errors[task], fit.seconds, self.n_train)
            for task in self.tasks
            for fit in self.fits
        )

    @property
    def averages(self) -> Results:
        """The errors averaged over the tasks of each split."""
        return Results(
            Cell(AVERAGE, fit.method, fit.split, float(np.mean([*fit.errors.values()])), fit.seconds, self.n_train)
            for fit in self.fits
        )

    def losses(self, method: str) -> NDArray[np.float64]:
        """Training loss by epoch, the mean over tasks and splits."""
        return np.mean([fit.losses for fit in self.fits if fit.method == method], axis=(0, 2))

    @property
    def relations(self) -> NDArray[np.float64]:
        """Gamma of gapMTNN by split and epoch."""
        return np.array([fit.relations for fit in self.fits if fit.method == GAPMTNN])

    @property
    def gamma(self) -> NDArray[np.float64]:
        """Gamma at the end, the mean over the splits."""
        return self.relations[:, -1].mean(axis=0)

    def compared(self) -> tuple[list[str], list[str], list[str]]:
        """Return the tasks on which gapMTNN errs less than Uniform, those on which more, and those on which as much."""
        results = self.results
        differences = {task: results.mean(task, GAPMTNN) - results.mean(task, UNIFORM) for task in self.tasks}
        less = [task for task, difference in differences.items() if difference < -_ROUNDING]
        more = [task for task, difference in differences.items() if difference > _ROUNDING]
        return less, more, [task for task in self.tasks if task not in (*less, *more)]


def multitask_headline(found: MultitaskComparison) -> str:
    """Say in a sentence on how many tasks gapMTNN errs less."""
    less, _, _ = found.compared()
    return f"Of {len(found.tasks)} tasks trained together, {GAPMTNN} errs less than {UNIFORM} on {len(less)}."


def multitask_tables(found: MultitaskComparison) -> list[Table]:
    """Return the errors by task with their average, and Gamma."""
    caption = error_caption(f"{len(found.tasks)} tasks trained together", "% error", found.n_splits)
    errors = found.results.table(caption)
    weights = [
        [Entry(task), *(Entry(f"{weight:.2f}") for weight in row)]
        for task, row in zip(found.tasks, found.gamma, strict=True)
    ]
    return [
        Table(caption, errors.header, errors.rows, found.averages.table(caption).rows),
        Table(
            f"Gamma{_over_splits(found)}: weight that the task of a row gives to that of a column",
            ["", *found.tasks],
            weights,
        ),
    ]


def multitask_findings(found: MultitaskComparison) -> list[str]:
    """Say where gapMTNN errs less than Uniform, what Gamma has come to, and that few epochs are few."""
    return [_by_task(found), _on_average(found), *_relation_findings(found), _few_epochs(found)]


def _by_task(found: MultitaskComparison) -> str:
    less, more, same = found.compared()
    parts = [f"less than {UNIFORM} on {quoted_problems(less) if less else 'no task'}"]
    parts += [f"more on {quoted_problems(more)}"] if more else []
    parts += [f"as much on {quoted_problems(same)}"] if same else []
    said = f"{GAPMTNN} errs {joined(parts)}"
    duel = found.results.duel(GAPMTNN, UNIFORM)
    if duel.clear_wins is None or duel.clear_losses is None:
        return f"{said}; one split cannot say which differences are clear."
    clear = [
        f"{word} on {quoted_problems(tasks)}"
        for word, tasks in (
            ("less", [task for task in less if task in duel.clear_wins]),
            ("more", [task for task in more if task in duel.clear_losses]),
        )
        if tasks
    ]
    return f"{said}; clearly {joined(clear)}." if clear else f"{said}; clearly on none."


def _on_average(found: MultitaskComparison) -> str:
    ours, theirs = (found.averages.mean(AVERAGE, method) for method in (GAPMTNN, UNIFORM))
    return (
        f"On average over the tasks the error is {format_number(ours)}% with {GAPMTNN} and {format_number(theirs)}% "
        f"with {UNIFORM}."
    )


def _relation_findings(found: MultitaskComparison) -> list[str]:
    own = np.diag(found.gamma)
    kept = joined([f"{task} {format_number(100 * share)}%" for task, share in zip(found.tasks, own, strict=True)])
    points = [
        f"In Gamma{_over_splits(found)} a task gives itself this share of its weight: {kept}; an even share would be "
        f"{100 / len(own):.0f}%."
    ]
    since = _alone_since(found)
    if since == found.n_epochs:
        points.append("After the last epoch no task gives anything to another, in any split.")
        return points
    if since is not None:
        points.append(
            f"From the end of epoch {since} of {found.n_epochs} on no task gives anything to another, in any split. "
            f"With such a Gamma {GAPMTNN} trains as {UNIFORM} does: what sets them apart happened before."
        )
        return points
    others = found.gamma - np.diag(own)
    giver, taker = np.unravel_index(np.argmax(others), others.shape)
    points.append(
        f"The most that a task gives to another is {format_number(100 * others[giver, taker])}%: "
        f"{found.tasks[giver]} to {found.tasks[taker]}."
    )
    return points


def _alone_since(found: MultitaskComparison) -> int | None:
    """Return the epoch from which on every task keeps all of its weight in every split, if there is one."""
    own = np.diagonal(found.relations, axis1=2, axis2=3)
    shared = np.flatnonzero((own < ALL).any(axis=(0, 2)))
    since = shared[-1] + 2 if shared.size else 1
    return int(since) if since <= found.n_epochs else None


def _few_epochs(found: MultitaskComparison) -> str:
    if found.n_epochs == 1:
        return "One epoch is very little: longer training may change all of this."
    changes = [f"{_change(*found.losses(method)[-2:])} with {method}" for method in (GAPMTNN, UNIFORM)]
    return (
        f"{found.n_epochs} epochs are few: in the last one the training loss {' and '.join(changes)}. "
        "Longer training may change all of this."
    )


def _change(before: float, after: float) -> str:
    if before == after or before == 0:
        return "stayed" if before == after else "rose"
    return f"{'fell' if after < before else 'rose'} by {format_number(100 * abs(after / before - 1), 2)}%"


def multitask_section(found: MultitaskComparison) -> Section:
    """Lay out the comparison with Gamma as a heat map, its growth and the training losses."""
    text = [
        f"{len(found.tasks)} tasks with {found.n_train} labelled rows each: {found.description}. One network serves "
        f"them all, with a head for each. {UNIFORM} trains every head on the rows of its own task, so that the tasks "
        f"share the features below and no more. {GAPMTNN} trains it on the rows of the others too, and draws the "
        "centroids of one class in two tasks together, both by the weights of a relation Gamma. It is solved for anew "
        "after every epoch: the less the rows of a task cost, the more weight they get.",
        "Measured on the rows that did not train: "
        + joined([f"{n} of {task}" for task, n in found.n_test.items()])
        + ".",
    ]
    return Section("Tasks trained together", text, multitask_findings(found), multitask_tables(found), _figures(found))


def _figures(found: MultitaskComparison) -> list[Figure]:
    own = np.diagonal(found.relations.mean(axis=0), axis1=1, axis2=2)
    losses = {method: found.losses(method) for method in (UNIFORM, GAPMTNN)}
    ends = joined([f"{format_number(loss[-1])} with {method}" for method, loss in losses.items()])
    return [
        Figure(
            RelationDisplay(matrix=found.gamma, names=found.tasks).plot,
            f"Gamma{_over_splits(found)} at the end. Each row is a task and sums to 1.",
            "What each task learns from",
        ),
        Figure(
            EpochDisplay(curves=dict(zip(found.tasks, own.T, strict=True)), unit="weight on its own rows").plot,
            f"After the first epoch a task gives itself {own[0].mean():.2f} on average, after the last "
            f"{own[-1].mean():.2f}; an even share would be {1 / len(found.tasks):.2f}.",
            "The weight that each task gives itself",
        ),
        Figure(
            EpochDisplay(curves=losses, unit="training loss").plot,
            f"Loss of each task's head on its own rows, the mean over the tasks{' and splits' * (found.n_splits > 1)}: "
            f"in the last epoch {ends}.",
            "Training loss by epoch",
        ),
    ]


def multitask_timing(found: MultitaskComparison) -> str:
    """Say how long a fit of all tasks took."""
    results = found.averages
    return "multitask: " + ", ".join(f"{method} {results.seconds(method):.1f} s" for method in results.methods)


def _over_splits(found: MultitaskComparison) -> str:
    return f" (mean over {found.n_splits} splits)" if found.n_splits > 1 else ""


__all__ = [
    "GAPMTNN",
    "UNIFORM",
    "MultitaskComparison",
    "MultitaskFit",
    "multitask_findings",
    "multitask_headline",
    "multitask_section",
    "multitask_tables",
    "multitask_timing",
]
