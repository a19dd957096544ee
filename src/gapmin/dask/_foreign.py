"""Estimators that train on Dask collections themselves, such as those of xgboost.dask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin.dask._rows import DaskPart, DaskRows


def has_dask_fit(estimator: Any) -> bool:
    """Say whether an estimator trains on Dask collections: those that do know a client, or say so in their module."""
    return hasattr(estimator, "client") or "dask" in type(estimator).__module__


class ForeignOnDask:
    """Fits of a Dask estimator to parts of the rows, one after the other."""

    def __init__(
        self, template: Any, rows: DaskRows, classes: NDArray[Any] | None, random_state: np.random.RandomState
    ) -> None:
        self.template = template
        self.rows = rows
        self.classes = classes
        self.random_state = random_state

    def fit(self, parts: list[DaskPart], log_weights: list[Any], log_masses: list[float]) -> list[Any]:
        """Return a learner for each part, given the log-weights of all rows and the logarithm of their sum over it."""
        raise NotImplementedError
