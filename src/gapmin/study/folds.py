"""Fits on folds of the target's rows: what to fit, and running many of them side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import call
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.errors import error_of
from gapmin._utils.parallel import one_thread, run_parallel
from gapmin.base import DomainData, fit_with_domains
from gapmin.domains import TargetKFold


@dataclass(frozen=True)
class Fold:
    """Rows of the target that train and that are tested, and the seed of the fits on them."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seed: int


@dataclass(frozen=True)
class Fitted:
    """The error of a fit, or why there is none."""

    error: float
    failure: str = ""


@dataclass(frozen=True)
class WorkItem:
    """One piece of work; `effort` is how long it takes beside the others."""

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    effort: float = 1.0


def draw_folds(data: DomainData, task: str, n_splits: int, n_repeats: int, seed: int) -> list[Fold]:
    """Cut the target into folds, `n_repeats` times; classes keep their shares."""
    folds = []
    target = np.flatnonzero(data.in_target)
    for repeat in range(n_repeats):
        state = np.random.SeedSequence([seed, repeat]).generate_state(1 + n_splits).tolist()
        splitter = TargetKFold(
            n_splits, shuffle=True, random_state=state[0], stratify="auto" if task == "classification" else False
        )
        y = data.y[target]
        for (train, test), fold_seed in zip(splitter.split(y, y), state[1:], strict=True):
            folds.append(Fold(target[train], target[test], fold_seed % 2**31))
    return folds


def measure(
    data: DomainData,
    task: str,
    model: Any,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    sources: Sequence[int] | None = None,
) -> Fitted:
    """Fit on some rows of the target and all of the sources, or some, and return the error on other target rows."""
    of_sources = data.domain > 0 if sources is None else np.isin(data.domain, sources)
    used = np.sort(np.concatenate([train, np.flatnonzero(of_sources)]))
    try:
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a solver that has not converged, say: the error tells
            fit_with_domains(model, data.X[used], data.y[used], data.domain[used])
            predicted = model.predict(data.X[test])
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        return Fitted(np.nan, str(error).split("\n")[0])
    return Fitted(error_of(task, data.y[test], predicted))


def run(items: Sequence[WorkItem], n_jobs: int | None, on_done: Callable[[float], object]) -> Iterator[Any]:
    """Do the work side by side, and hand out what they return, in their order."""
    results = run_parallel(call, [(item.work, *item.arguments) for item in items], n_jobs, batch_size=1)
    for item, result in zip(items, results, strict=True):
        on_done(item.effort)
        yield result
