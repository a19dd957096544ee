"""Every method on every fold, and what that says beside the target alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapmin._utils.statistics import corrected_t_test, holm
from gapmin._utils.text import replace_unprintable
from gapmin.base import DomainData

from .folds import Fitted, Fold, measure
from .methods import TARGET_ONLY, make_method
from .result import COVERAGE, MethodError


def fit_once(data: DomainData, task: str, method: str, fold: Fold) -> Fitted:
    """Train a method on a fold and measure it on the rows left out."""
    sources = () if method == TARGET_ONLY else None
    return measure(data, task, make_method(method, task, fold.seed), fold.train, fold.test, sources)


def compare_methods(
    methods: tuple[str, ...], pairs: list[tuple[str, Fold]], fits: list[Fitted], n_target: int, task: str
) -> tuple[tuple[MethodError, ...], list[str]]:
    """Return how each method did beside the target alone, and who could not be trained."""
    by_method: dict[str, list[Fitted]] = {method: [] for method in methods}
    for (method, _), fitted in zip(pairs, fits, strict=True):
        by_method[method].append(fitted)
    n_test = float(np.mean([fold.test.size for method, fold in pairs if method == TARGET_ONLY]))
    n_train = n_target - n_test
    alone = np.array([fitted.error for fitted in by_method[TARGET_ONLY]])
    ceiling = 100.0 if task == "classification" else np.inf
    entries, failures = [], []
    for method, found in by_method.items():
        failed = [fitted.failure for fitted in found if fitted.failure]
        if failed:
            failures.append(
                f"{method} is left out, it could not be trained on every fold: {replace_unprintable(failed[0])}"
            )
            continue
        errors = np.array([fitted.error for fitted in found])
        own = corrected_t_test(errors, n_train, n_test)
        test = corrected_t_test(errors - alone, n_train, n_test)
        low, high = np.clip(own.interval(COVERAGE), 0.0, ceiling).tolist()
        entries.append(
            MethodError(
                method,
                own.mean,
                low,
                high,
                test.mean,
                *test.interval(COVERAGE),
                test.p_value,
                tuple(errors.tolist()),
            )
        )
    tested = [each for each in entries if each.method != TARGET_ONLY]
    adjusted = dict(
        zip([each.method for each in tested], holm([each.p_value for each in tested]).tolist(), strict=True)
    )
    return tuple(replace(each, p_value=adjusted.get(each.method, 1.0)) for each in entries), failures
