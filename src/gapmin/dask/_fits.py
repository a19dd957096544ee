"""What a learning algorithm on chunks is asked for: `fit(jobs)` returns a learner for each of several jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapmin.dask._rows import DaskPart


@dataclass(frozen=True)
class Job:
    """One learner to train.

    Attributes
    ----------
    part : DaskPart
        The rows to train on.
    log_weight : dask array
        The logarithm of the weight of every row, of this part or not.
    log_mass : float
        The logarithm of the sum of the part's weights.
    random_state : RandomState
    """

    part: DaskPart
    log_weight: Any
    log_mass: float
    random_state: np.random.RandomState
