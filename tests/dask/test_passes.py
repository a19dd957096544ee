"""How often X is read, and that nobody keeps it."""

from __future__ import annotations

import sys
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

from gapmin.dask import DaskGapBoostClassifier, DaskGapBoostRegressor
from gapmin_support.processes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def read_chunk(folder, number, log):
    """Read a chunk of X, and leave a line about it."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    return np.load(Path(folder) / f"{number}.npy")


def on_disk(folder, n_chunks, rows, d, dtype, log=None):
    """A Dask array whose chunks are files, read whenever they are asked for."""
    read = dask.delayed(read_chunk, pure=True)
    blocks = [da.from_delayed(read(str(folder), k, log), (rows, d), dtype=dtype) for k in range(n_chunks)]
    return da.concatenate(blocks)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", [DaskGapBoostClassifier, DaskGapBoostRegressor])
def test_at_most_eight_passes_a_round(tmp_path, in_this_process, problem, cls, dtype):
    X, y, sample_domain = problem(n_target=200, n_source=3800, d=20, n_sources=2)
    X = X.astype(dtype)
    n_chunks, rows = 4, 1000
    for k in range(n_chunks):
        np.save(tmp_path / f"{k}.npy", X[k * rows : (k + 1) * rows])
    y_, domain_ = (da.from_array(each, chunks=rows) for each in (y, sample_domain))
    booster, log = cls(n_estimators=4), tmp_path / "reads"
    advance = booster._advance
    passes = []

    def one_round(*args):
        before = len(log.read_text().splitlines())
        advance(*args)
        passes.append((len(log.read_text().splitlines()) - before) / n_chunks)

    booster._advance = one_round
    booster.fit(on_disk(tmp_path, n_chunks, rows, 20, dtype, str(log)), y_, sample_domain=domain_)
    assert len(passes) == 4
    assert max(passes) <= 8
    reads = np.bincount([int(line) for line in log.read_text().splitlines()])
    assert reads.max() - reads.min() <= 1  # only the origin of least squares is looked at once more


def peak_memory():
    """Return the most memory that this process ever held, in bytes; `getrusage` would count its parent's too."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def kept_bytes(dask_worker):
    """Return the size of the results that a worker holds."""
    return sum(getattr(each, "nbytes", 0) for each in dask_worker.data.values())


@pytest.mark.slow
def test_three_million_rows_with_workers_smaller_than_x(tmp_path, make_cluster):
    n_chunks, rows, d, n_target = 30, 100_000, 50, 60_000
    rng = np.random.default_rng(0)
    h_target = rng.normal(size=d)
    h_source = h_target + 0.5 * rng.normal(size=d)
    labels = np.empty(n_chunks * rows, dtype=np.int8)
    sample_domain = np.ones(labels.size, dtype=np.int8)
    sample_domain[:n_target] = -1
    for k in range(n_chunks):
        X = rng.standard_normal((rows, d), dtype=np.float32)
        here = slice(k * rows, (k + 1) * rows)
        in_target = sample_domain[here] < 0
        margin = np.where(in_target, X @ h_target, X @ h_source)
        labels[here] = margin + rng.logistic(size=rows) > 0
        np.save(tmp_path / f"{k}.npy", X)
    size_of_x, limit = n_chunks * rows * d * 4, 450_000_000
    assert limit < size_of_x
    with make_cluster(memory_limit=limit) as cluster, Client(cluster) as client:
        workers = set(client.nthreads())
        X = on_disk(tmp_path, n_chunks, rows, d, np.float32)
        y, domain = (da.from_array(each, chunks=rows) for each in (labels, sample_domain))
        booster = DaskGapBoostClassifier(n_estimators=2, client=client).fit(X, y, sample_domain=domain)
        assert set(client.nthreads()) == workers  # none was killed for its memory
        assert max(client.run(peak_memory).values()) < limit
        wait_until(lambda: sum(client.run(kept_bytes).values()) < size_of_x / 10, 30)  # released by and by
        assert booster.score(X[:n_target], y[:n_target]) > 0.75
    assert booster.mass_history_[-1, 0] > booster.mass_history_[0, 0]
