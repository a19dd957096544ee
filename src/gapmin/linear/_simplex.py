"""Projections on the simplex, and the smallest value of a smooth convex function over it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapmin._utils.typing import Array
from gapmin.linear._matrix import unit

_TOLERANCE, _MOST_STEPS = 1e-11, 20_000
"""The search ends where a step moves the point by no more than this, or after so many steps."""


def project_simplex(V: Array) -> Array:
    """Return the nearest point of the simplex to each row.

    Examples
    --------
    >>> project_simplex(np.array([[0.5, 0.5, -3.0], [2.0, 0.0, 0.0]]))
    array([[0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    V = np.asarray(V, dtype=np.float64)
    falling = -np.sort(-V, axis=-1)
    # Sums relative to the largest entry, so that huge entries cost no precision.
    top = falling[..., :1]
    above = np.cumsum(falling - top, axis=-1) - 1
    counts = np.arange(1, V.shape[-1] + 1)
    inside = (falling - top) * counts > above
    last = inside.shape[-1] - 1 - np.argmax(inside[..., ::-1], axis=-1, keepdims=True)
    level = np.take_along_axis(above, last, axis=-1) / (last + 1)
    return np.maximum((V - top) - level, 0.0)


def project_capped(v: Array, cap: Array, total: float = 1.0, width: Array | None = None) -> Array:
    """Return the point nearest to `v` with 0 <= x <= cap and sum `total`, distances weighed by 1 / width.

    It is clip(v - level * width, 0, cap); the sum falls with the level, so the level is found between its corners.

    Examples
    --------
    >>> project_capped(np.array([3.0, 1.0, 0.0]), np.array([0.6, 1.0, 1.0]))
    array([0.6, 0.4, 0. ])
    """
    width = np.ones_like(v) if width is None else width
    if cap.sum() < total * (1 - 1e-12):
        raise ValueError(f"the caps sum to {cap.sum():.6g}, below the {total:.6g} that has to be placed")
    corners = np.unique(np.concatenate([v / width, (v - cap) / width]))

    def spent(level: float) -> float:
        return float(np.clip(v - level * width, 0, cap).sum())

    low, high = 0, corners.size - 1
    if spent(corners[0]) <= total:
        return cap.copy() if spent(corners[0]) <= total * (1 - 1e-12) else np.clip(v - corners[0] * width, 0, cap)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if spent(corners[middle]) > total else (low, middle)
    here, there = spent(corners[low]), spent(corners[high])
    share = (here - total) / (here - there) if here > there else 0.0
    return np.clip(v - (corners[low] + share * (corners[high] - corners[low])) * width, 0, cap)


def minimise_on_simplex(evaluate: Callable[[Array], tuple[float, Array]], n: int) -> Array:
    """Minimise a smooth convex function over the simplex: accelerated projected gradient, restarted where it rises."""
    x = np.full(n, 1 / n)
    value, slope = evaluate(x)
    scale = unit(float(np.abs(slope).max()))
    ahead, momentum, step = x, 1.0, 1.0 / scale
    for _ in range(_MOST_STEPS):
        level, gradient = evaluate(ahead)
        while True:
            new = project_simplex(ahead - step * gradient)
            move = new - ahead
            new_value, new_gradient = evaluate(new)
            if new_value <= level + gradient @ move + move @ move / (2 * step) + 1e-15 * abs(level):
                break
            step /= 2
        if np.abs(project_simplex(new - new_gradient / scale) - new).max() <= _TOLERANCE:
            return new
        if new_value > value:
            if momentum == 1.0:
                return x  # round-off: no lower value to be had
            ahead, momentum = x, 1.0
            continue
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, x, value, momentum = new + (momentum - 1) / faster * (new - x), new, new_value, faster
        step *= 1.1
    return x
