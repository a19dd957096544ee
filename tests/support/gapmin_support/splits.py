"""What holds of the random splits of every problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def assert_splits_depend_on_seed_and_number(problem: Any, drawn: Callable[[Any], np.ndarray]) -> None:
    """Split k is the same however many there are, and another for another k or seed; `drawn` are rows of a split."""
    few, many = list(problem.splits(2)), list(problem.splits(6))
    assert (len(few), len(many)) == (2, 6)
    for one, other in zip(few, many, strict=False):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    found = {tuple(drawn(split)) for split in many}
    assert len(found) == 6
    assert found.isdisjoint(tuple(drawn(split)) for split in problem.splits(6, random_state=1))
