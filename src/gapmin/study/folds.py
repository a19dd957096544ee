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
from gapmin.domains import TargetKFold
from gapmin.selection._fitting import fit_with_domains
from gapmin.selection._trials import Fold


@dataclass(frozen=True)
class Rows:
    """All rows as numbers; labels of classes are codes."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    domain: NDArray[np.int64]
    task: str

    @property
    def target(self) -> NDArray[np.intp]:
        """The rows of the target."""
        return np.flatnonzero(self.domain < 0)


@dataclass(frozen=True)
class Fitted:
    """The error of a fit, or why there is none."""

    error: float
    failure: str = ""


@dataclass(frozen=True)
class Step:
    """One piece of work; `effort` is how long it takes beside the others."""

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    effort: float = 1.0


def draw_folds(rows: Rows, n_splits: int, n_repeats: int, seed: int) -> list[Fold]:
    """Cut the target into folds, `n_repeats` times; classes keep their shares."""
    folds = []
    target = rows.target
    for repeat in range(n_repeats):
        state = np.random.SeedSequence([seed, repeat]).generate_state(1 + n_splits).tolist()
        splitter = TargetKFold(
            n_splits, shuffle=True, random_state=state[0], stratify="auto" if rows.task == "classification" else False
        )
        y = rows.y[target]
        for (train, test), fold_seed in zip(splitter.split(y, y), state[1:], strict=True):
            folds.append(Fold(target[train], target[test], fold_seed % 2**31))
    return folds


def measure(rows: Rows, model: Any, train: NDArray[np.intp], test: NDArray[np.intp]) -> Fitted:
    """Fit on some rows of the target and all of the sources, and return the error on other rows of the target."""
    used = np.sort(np.concatenate([train, np.flatnonzero(rows.domain > 0)]))
    try:
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a solver that has not converged, say: the error tells
            fit_with_domains(model, rows.X[used], rows.y[used], rows.domain[used])
            predicted = model.predict(rows.X[test])
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        return Fitted(np.nan, str(error).split("\n")[0])
    return Fitted(error_of(rows.task, rows.y[test], predicted))


def run(steps: Sequence[Step], n_jobs: int | None, on_done: Callable[[float], object]) -> Iterator[Any]:
    """Do the steps side by side, and hand out what they return, in their order."""
    results = run_parallel(call, [(step.work, *step.arguments) for step in steps], n_jobs, batch_size=1)
    for step, result in zip(steps, results, strict=True):
        on_done(step.effort)
        yield result
