"""Weighted bootstraps of rows in chunks: how often each row was drawn."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from gapmin._utils.typing import Array
from gapmin.dask._chunks import chunked_vector, gather_chunks, sum_chunks
from gapmin.dask._rows import DaskPart, DaskRows, select

_MOST_TRIES = 20
"""Bootstraps drawn in the hope of every class."""


def draw_bootstrap(
    rows: DaskRows, part: DaskPart, log_weight: Any, log_mass: float, random_state: np.random.RandomState
) -> Any:
    """Return log counts of a bootstrap of the part, as many draws as it has rows, for all rows.

    First the number of draws of each chunk is drawn, then within the chunk; so one chunk need not know of another, and
    the result depends on the chunks and the random state alone.
    """
    masses = np.array(gather_chunks(_mass, log_weight, rows.domain, members=part.members, log_mass=log_mass))
    for _ in range(_MOST_TRIES):
        draws = random_state.multinomial(part.size, masses / masses.sum())
        seeds = random_state.randint(np.iinfo(np.int32).max, size=masses.size)
        counts = chunked_vector(
            _log_counts,
            rows.sizes,
            np.float64,
            log_weight,
            rows.domain,
            _one_a_chunk(draws),
            _one_a_chunk(seeds),
            members=part.members,
        ).persist()
        if not rows.class_counts.size:
            return counts
        drawn = sum_chunks(_drawn_classes, rows.y, counts, n_classes=rows.class_counts.shape[1])
        if (drawn[part.classes] > 0).all():
            return counts
    missing = part.classes[drawn[part.classes] == 0]
    raise ValueError(
        f"{_MOST_TRIES} bootstraps of the {part.name} had no row of class number {missing[0]}, whose weight has all "
        "but vanished: use resample=False"
    )


def _one_a_chunk(values: NDArray[Any]) -> Any:
    return da.from_array(values, chunks=1)


def _mass(log_weight: Array, domain: NDArray[Any], members: tuple[int, ...] | None, log_mass: float) -> float:
    return float(np.exp(log_weight[select(domain, members)] - log_mass).sum())


def _log_counts(
    log_weight: Array, domain: NDArray[Any], draws: NDArray[Any], seed: NDArray[Any], members: tuple[int, ...] | None
) -> Array:
    counts = np.zeros(domain.size)
    log_part = log_weight[select(domain, members)]
    if draws[0]:
        weight = np.exp(log_part - log_part.max())
        random_state = np.random.RandomState(seed[0])
        counts[select(domain, members)] = random_state.multinomial(int(draws[0]), weight / weight.sum())
    with np.errstate(divide="ignore"):
        return np.log(counts)


def _drawn_classes(codes: NDArray[Any], log_counts: Array, n_classes: int) -> NDArray[Any]:
    return np.bincount(codes, weights=np.exp(log_counts), minlength=n_classes)
