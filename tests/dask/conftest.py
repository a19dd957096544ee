"""One cluster of two worker processes for all tests here, and problems cut into chunks."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster


def new_cluster(**settings):
    """Two worker processes of one thread each."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    return LocalCluster(**{**options, **settings})


@pytest.fixture(scope="session")
def cluster():
    with new_cluster() as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def make_cluster():
    return new_cluster


@pytest.fixture
def in_this_process():
    """No cluster: every task in this process, in order."""
    with dask.config.set(scheduler="synchronous"):
        yield


def transfer_problem(seed=3, *, n_target=60, n_source=400, d=5, n_classes=2, n_sources=1, noise=1.0):
    """Rows of a target and of sources that resemble it, shuffled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_target + n_source, d))
    sample_domain = np.r_[np.full(n_target, -1), 1 + rng.integers(n_sources, size=n_source)]
    score = X @ rng.normal(size=(d, n_classes)) + noise * rng.normal(size=(len(X), n_classes))
    score[sample_domain > 0] += 0.5 * X[sample_domain > 0] @ rng.normal(size=(d, n_classes))
    y = score.argmax(axis=1)
    y[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)[: len(y)]
    order = rng.permutation(len(X))
    return X[order], y[order], sample_domain[order]


@pytest.fixture(scope="session")
def problem():
    return transfer_problem
