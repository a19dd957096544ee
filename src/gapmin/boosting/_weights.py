"""Distributions over the rows, kept as logarithms so that no round can make a NaN or an infinity."""

from __future__ import annotations

import numpy as np

from gapmin._utils.typing import Array
from gapmin.boosting._rows import compute_scalars


def log_sum(log_weight: Array) -> float:
    """Return the logarithm of the sum of the weights."""
    largest = log_weight.max()
    return float(largest + np.log(np.exp(log_weight - largest).sum()))


def normalise(log_weight: Array) -> Array:
    """Make the weights sum to one.

    Examples
    --------
    >>> np.exp(normalise(np.log([1.0, 3.0])))
    array([0.25, 0.75])
    """
    return log_weight - log_sum(log_weight)


def clip(log_weight: Array, log_cap: Array) -> Array:
    """Lines 16 to 20 of Algorithms 1 and 2: clip what exceeds the cap times the total, then normalise.

    After the last step a weight may again exceed the cap. That is what is printed.

    Examples
    --------
    >>> np.exp(clip(np.log([1.0, 1.0, 6.0]), np.log([0.5, 0.5, 0.5])))
    array([0.16666667, 0.16666667, 0.66666667])
    """
    # line 16: log_sum is the log of Z_{k+1}; lines 17 to 19: the minimum; line 20: normalise
    return normalise(np.minimum(log_weight, log_cap + log_sum(log_weight)))


def water_fill(log_weight: Array, log_cap: Array) -> Array:
    """Cap the weights and hand the excess to the others, in proportion, until none exceeds its cap.

    That is min(scale * weight, cap) with the scale at which it sums to one. The caps must sum to at least one.

    Examples
    --------
    >>> np.exp(water_fill(np.log([1.0, 1.0, 6.0]), np.log([0.5, 0.5, 0.5])))
    array([0.25, 0.25, 0.5 ])
    """
    if hasattr(log_weight, "__dask_graph__"):
        return fill_by_steps(log_weight, log_cap)
    log_weight = normalise(log_weight)
    # The row with the largest weight for its cap meets it first as the scale grows.
    order = np.argsort(log_cap - log_weight, kind="stable")
    capped = np.concatenate([[0.0], np.cumsum(np.exp(log_cap[order]))])
    free_log = np.logaddexp.accumulate(log_weight[order][::-1])[::-1]
    room = 1 - capped[:-1]
    with np.errstate(divide="ignore"):
        log_scale = np.where(room > 0, np.log(np.maximum(room, 0)), -np.inf) - free_log
    # The first row that stays below its cap fixes the scale; if there is none, every row has its cap.
    below = log_weight[order] + log_scale <= log_cap[order]
    if not below.any():
        return normalise(log_cap)
    return np.minimum(log_weight + log_scale[np.argmax(below)], log_cap)


def fill_by_steps(log_weight: Array, log_cap: Array) -> Array:
    """Do what `water_fill` does without sorting: raise the scale until no more rows meet their cap.

    A few passes over the weights, wherever they live; sorting would need them all in one place.
    """
    log_weight = normalise(log_weight)
    log_scale, met_before = 0.0, -1.0
    while True:
        meets = log_weight + log_scale > log_cap
        free = np.where(meets, -np.inf, log_weight)
        largest = free.max()
        met, capped, mass, top = compute_scalars(
            meets.sum(), np.exp(log_cap)[meets].sum(), np.exp(free - largest).sum(), largest
        )
        if met <= met_before:
            return np.minimum(log_weight + log_scale, log_cap)
        if capped >= 1 or not np.isfinite(top):
            return normalise(log_cap)
        log_scale, met_before = float(np.log1p(-capped) - np.log(mass) - top), met
