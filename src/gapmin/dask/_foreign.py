"""Estimators that train on Dask collections themselves, such as those of xgboost.dask."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from distributed import get_client
from numpy.typing import NDArray
from sklearn.base import clone

from gapmin.boosting.building_blocks import seed_unseeded
from gapmin.dask._chunks import chunked_vector
from gapmin.dask._fits import Job
from gapmin.dask._rows import DaskPart, DaskRows

_MOST_ATTEMPTS = 3
_SECONDS_TO_NOTICE, _SECONDS_TO_RETURN = 10, 30
"""How long the scheduler may take to see that a worker died, and how long a new one is waited for."""


def has_dask_fit(estimator: Any) -> bool:
    """Say whether an estimator trains on Dask collections, which its module tells."""
    return "dask" in type(estimator).__module__.split(".")


class ForeignOnDask:
    """Fits of a Dask estimator to parts of the rows, one after the other.

    Such an estimator cannot lose a worker while it trains. Where that happens, the training starts again, with the rows
    and weights of the round as they were, which Dask computes anew.
    """

    def __init__(self, template: Any, rows: DaskRows, classes: NDArray[Any] | None) -> None:
        self.template = template
        self.rows = rows
        self.classes = classes

    def fit(self, jobs: list[Job]) -> list[Any]:
        """Return a learner for each job."""
        return [self._fit_again(job) for job in jobs]

    def _fit_again(self, job: Job) -> Any:
        self._check_classes(job.part)
        learner = clone(self.template)
        seed_unseeded(learner, job.random_state)
        client = get_client()
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            before = set(client.nthreads())
            try:
                return self._fit_once(clone(learner), job)
            except Exception as error:  # each library has its own for a worker that is gone
                if not _lost_any(client, before):
                    raise
                if attempt == _MOST_ATTEMPTS:
                    raise RuntimeError(
                        f"{type(learner).__name__} lost a worker in each of {attempt} attempts: look at the workers' "
                        "logs, and give them more memory or smaller chunks"
                    ) from error
        raise AssertionError("one of the attempts returned or raised")

    def _fit_once(self, learner: Any, job: Job) -> Any:
        part = job.part
        weight = np.exp(part.take(job.log_weight) - job.log_mass) * part.count
        y = part.take(self.rows.y)
        if self.classes is not None:
            y = chunked_vector(_labels, part.sizes, self.classes.dtype, y, classes=self.classes)
        y, weight = part.without_empty_chunks(y), part.without_empty_chunks(weight)
        return as_plain(learner.fit(part.X, y, sample_weight=weight))

    def _check_classes(self, part: DaskPart) -> None:
        if self.classes is None or not _is_xgboost(self.template):
            return
        found = self.classes[part.classes].tolist()
        if found != list(range(len(found))):
            raise ValueError(
                f"{type(self.template).__name__} takes labels 0 to {len(found) - 1}, and those of the rows of "
                f"{part.name} are {found}: number the classes, or use another learner"
            )


def as_plain(learner: Any) -> Any:
    """Return a fitted Dask estimator as one that predicts arrays."""
    if hasattr(learner, "to_local"):
        return learner.to_local()
    if not _is_xgboost(learner):
        raise ValueError(f"{type(learner).__name__} has no to_local(): use one of xgboost.dask or lightgbm.dask")
    import xgboost

    settings = {name: each for name, each in learner.get_params().items() if name not in ("callbacks", "coll_cfg")}
    plain = getattr(xgboost, type(learner).__name__.removeprefix("Dask"))(**settings)
    plain.load_model(learner.get_booster().save_raw("ubj"))
    return plain


def _is_xgboost(learner: Any) -> bool:
    return type(learner).__module__.partition(".")[0] == "xgboost"


def _lost_any(client: Any, before: set[str]) -> bool:
    """Say whether a worker is gone, and if so wait for another to take its place."""
    deadline = time.monotonic() + _SECONDS_TO_NOTICE
    while before <= set(client.nthreads()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    deadline = time.monotonic() + _SECONDS_TO_RETURN
    while len(client.nthreads()) < len(before) and time.monotonic() < deadline:
        time.sleep(0.2)
    return True


def _labels(codes: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    return classes[codes]
