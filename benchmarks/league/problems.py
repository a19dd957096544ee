"""The league: `Transfer*CV` against what one would do by hand, on many problems, with honest and poisoned sources."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from gapmin.datasets import (
    TransferProblem,
    embedded_problems,
    load_newsgroups,
    load_office_caltech,
    load_thirds,
)
from gapmin.reproduce.cells import Cell, Measured
from gapmin.selection import TransferClassifierCV, TransferRegressorCV
from gapmin.study.methods import OURS, TARGET_ONLY, make_method, method_names

BOOSTED = "gradient boosting"
METHODS = (*(name for name in method_names("classification") if name != OURS), BOOSTED, OURS)
POISONS = ("none", "labels", "features")


def methods_for(task: str) -> tuple[str, ...]:
    """Return the methods that there are for a task: TransferBoost is for classes alone."""
    return tuple(name for name in METHODS if name in (*method_names(task), BOOSTED))


def make(name: str, task: str, seed: int) -> Any:
    """Return a method of the league: those of `gapmin compare`, ours and the target alone with their whole search."""
    classes = task == "classification"
    if name == BOOSTED:
        boosted: Any = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return boosted(random_state=seed)
    search: Any = TransferClassifierCV if classes else TransferRegressorCV
    if name == OURS:
        return search(random_state=seed)
    if name == TARGET_ONLY:
        return search(methods=[TARGET_ONLY], random_state=seed)
    return make_method(name, task, seed, max_search_rows=0)


@cache
def problems() -> dict[str, TransferProblem]:
    """Return every problem that is fitted by name, its sources pooled; `row_name` says which of them are one row."""
    # Ten classes with 5,000 source rows are left out: a search takes minutes. The other way round they are there.
    found = [each for each in embedded_problems() if each.name != "mnist -> digits"]
    found += load_thirds("concrete")
    found += [replace(each, name=f"{each.name} (20 Newsgroups)") for each in load_newsgroups()]
    for whitened in (True, False):
        kind = "whitened" if whitened else "as they are"
        # DSLR is left out: with about 30 pictures of two classes there is hardly a row to test on.
        for source, target in permutations("ACW", 2):
            pairs: Any = load_office_caltech(source, target, whitened=whitened)  # type: ignore[call-overload]
            found += [replace(pair, name=f"{pair.name} (Office-Caltech, {kind})") for pair in pairs]
    return {problem.name: problem.pooled() for problem in found}


def row_name(problem: str) -> str:
    """Return the row of the league that a problem belongs to: its own, or that of its five pairs of classes.

    As in Table 2 of the paper, two collections of pictures are one problem: the mean over five pairs of classes.

    Examples
    --------
    >>> row_name("A -> C, 3 vs 4 (Office-Caltech, whitened)")
    'A -> C (Office-Caltech, whitened)'
    """
    return re.sub(r", \d+ vs \d+", "", problem)


def poisoned(problem: TransferProblem, poison: str, seed: int) -> TransferProblem:
    """Return the problem with a source that is of no use.

    "labels": two classes are exchanged, of more each takes the place of the next, numbers are mirrored about their
    mean. "features": the columns of the source are put in another order.
    """
    X, y = problem.sources[0]
    if poison == "labels":
        return replace(problem, sources=((X, _turned(y, problem.task)),))
    order = np.random.default_rng(seed).permutation(X.shape[1])
    return replace(problem, sources=((X[:, order], y),))


def _turned(y: NDArray[Any], task: str) -> NDArray[Any]:
    if task == "regression":
        return 2 * y.mean() - y
    classes, codes = np.unique(y, return_inverse=True)
    return classes[(codes + 1) % classes.size]


def measure(cell: Cell) -> Measured:
    """Fit a method on one split of a problem, and keep what `TransferCV` said."""
    problem = problems()[cell.problem]
    poison = str(cell.values["poison"])
    if poison != "none":
        problem = poisoned(problem, poison, 1000 * cell.seed + cell.split)
    split = problem.split(cell.split, random_state=cell.seed)
    # The same random numbers for ours and for the target alone: where the source is dropped they are one model.
    seeded = replace(cell, method=OURS) if cell.method == TARGET_ONLY else cell
    model = make(cell.method, problem.task, seeded.random_state)
    domains = {} if cell.method == BOOSTED else {"sample_domain": split.sample_domain}
    model.fit(split.X, split.y, **domains)
    extra = {}
    if cell.method == OURS:
        said = model.transfer_verdict_
        extra = {
            "transfers": said.transfers,
            "method": said.method,
            "chosen": said.chosen,
            "p_value": said.p_value,
            "kinship": said.kinship,
            "gain": said.gain,
            "gain_needed": said.gain_needed,
            "source_weight": 1 - model.domain_weight_[-1],
        }
    return Measured(
        problem.error(split.y_test, model.predict(split.X_test)),
        n_train=int((split.sample_domain < 0).sum()),
        n_test=split.y_test.size,
        extra=extra,
    )
