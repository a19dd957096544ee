"""What Algorithms 1, 2, 4, 5 and 6 take and return: the learning algorithm A, and the ensemble."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

Array = np.ndarray
Hypothesis = Callable[[Array], Array]
LearningAlgorithm = Callable[[Array, Array, Array], Hypothesis]

PERFECT = -log(np.finfo(float).eps)
"""Vote weight of a learner without an error, beyond that of all others together (correction 6)."""

ROUND_OFF = 1e-14
"""Differences below this share of the largest value count as 0 (correction 11)."""


class Boosted(NamedTuple):
    """An ensemble, and what is compared with the library's."""

    f: Hypothesis  #: the output
    alphas: list[float]
    epsilons: list[float]
    D_S: Array  #: the last distribution on the source
    D_T: Array  #: and on the target


def call(template: Any) -> LearningAlgorithm:
    """Return A: a scikit-learn estimator, trained with a distribution over its rows."""

    def A(X: Array, y: Array, D: Array) -> Hypothesis:
        weights = D * len(D) / sum(D)  # correction 1; printed: D itself
        return clone(template).fit(X, y, sample_weight=weights).predict

    return A


def weighted_median(values: Array, weights: Array) -> Array:
    """Return for each column the smallest value with at least half of the weight at or below it."""
    medians = []
    for column in values.T:
        at_or_below = [sum(weights[column <= value]) for value in sorted(column)]
        medians.append(next(v for v, w in zip(sorted(column), at_or_below, strict=True) if w >= sum(weights) / 2))
    return np.array(medians)
