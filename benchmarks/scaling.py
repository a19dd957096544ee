"""Boosting past one machine: larger than memory, and on one and two workers. Ratios are measured in one run.

    python benchmarks/scaling.py larger-than-memory --rows 20000000 --store STORE
    python benchmarks/scaling.py workers --rows 2000000 --store STORE
    python benchmarks/scaling.py networks

The store is Parquet files of 200,000 rows and 50 columns of float32, written once and read at every pass. What is
printed is also added to `benchmarks/results/scaling.md`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import resource
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster, wait

from gapmin import GapBoostClassifier
from gapmin.dask import DaskGapBoostClassifier
from gapmin.dask._learners import DaskLearners

ROWS, COLUMNS = 200_000, 50
TARGET_SHARE = 0.02
RESULTS = Path(__file__).parent / "results" / "scaling.md"


def say(line: str) -> None:
    """Print a line and keep it."""
    print(line, flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(line + "\n")


def write_part(path: Path, number: int) -> None:
    """Write one file: the source's labels follow a direction near the target's, and noise."""
    shared = np.random.default_rng(0)
    target, turn = shared.normal(size=COLUMNS), shared.normal(size=COLUMNS)
    rng = np.random.default_rng([1, number])
    X = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    domain = np.where(rng.random(ROWS) < TARGET_SHARE, -1, 1).astype(np.int8)
    margin = X @ target + np.where(domain > 0, X @ (0.5 * turn), 0.0)
    columns = {f"x{k}": X[:, k] for k in range(COLUMNS)}
    columns |= {"y": (margin + 2 * rng.logistic(size=ROWS) > 0).astype(np.int8), "domain": domain}
    half = path.with_suffix(".half")
    pq.write_table(pa.table(columns), half, compression="none", use_dictionary=False)
    half.rename(path)


def parts(store: Path, n_rows: int) -> list[Path]:
    """Return the files of so many rows, those that are missing written first."""
    store.mkdir(parents=True, exist_ok=True)
    found = [store / f"{number:05d}.parquet" for number in range(n_rows // ROWS)]
    for number, path in enumerate(found):
        if not path.exists():
            write_part(path, number)
    return found


def read_rows(path: Path, log: Path | None) -> np.ndarray:
    """Read the features of a file, and leave a line about it."""
    if log is not None:
        with log.open("a") as file:
            file.write(f"{path.name}\n")
    table = pq.read_table(path, columns=[f"x{k}" for k in range(COLUMNS)], memory_map=True)
    X = np.empty((ROWS, COLUMNS), dtype=np.float32)
    for k, column in enumerate(table.itercolumns()):
        X[:, k] = column.to_numpy()
    return X


def read_column(path: Path, name: str) -> np.ndarray:
    """Read a column of a file."""
    return pq.read_table(path, columns=[name])[name].to_numpy()


def on_dask(paths: list[Path], log: Path | None = None) -> tuple[Any, Any, Any]:
    """Return X, y and the domains as Dask arrays that read the files whenever they are asked for."""
    read = dask.delayed(read_rows, pure=True)
    column = dask.delayed(read_column, pure=True)
    X = da.concatenate([da.from_delayed(read(path, log), (ROWS, COLUMNS), dtype=np.float32) for path in paths])
    y, domain = (
        da.concatenate([da.from_delayed(column(path, name), (ROWS,), dtype=np.int8) for path in paths])
        for name in ("y", "domain")
    )
    return X, y, domain


@contextmanager
def cluster(n_workers: int, memory_limit: Any = "auto"):
    """Start worker processes of one thread each."""
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def peak_memory() -> int:
    """Return the most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


class Watched(DaskGapBoostClassifier):
    """Notes how long each round takes, how much of it in learners, and how often it reads a file."""

    log: Path | None = None
    n_files = 1

    def _advance(self, *args: Any) -> Any:
        inside = 0.0
        train, predict = DaskLearners.train, DaskLearners._predict_all

        def within(method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any) -> Any:
                nonlocal inside
                seconds, result = timed(lambda: method(*given))
                inside += seconds
                return result

            return call

        def computed(learners: Any) -> Any:  # persist returns at once: wait, or its time is somebody else's
            result = predict(learners)
            wait(result)
            return result

        DaskLearners.train, DaskLearners._predict_all = within(train), within(computed)  # type: ignore[method-assign]
        try:
            before = self._reads()
            seconds, result = timed(lambda: super(Watched, self)._advance(*args))
            self.__dict__.setdefault("rounds_", []).append((seconds, inside, (self._reads() - before) / self.n_files))
            return result
        finally:
            DaskLearners.train, DaskLearners._predict_all = train, predict  # type: ignore[method-assign]

    def _reads(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log and self.log.exists() else 0


def larger_than_memory(n_rows: int, store: Path, n_rounds: int) -> None:
    """Fit to a store that is larger than the memory of the workers, and compare the time a row with a local fit."""
    seconds, paths = timed(lambda: parts(store, n_rows))
    size = n_rows * COLUMNS * 4
    say(f"\n## Larger than memory: {n_rows:,} rows x {COLUMNS} columns of float32 ({size / 1e9:.1f} GB)\n")
    say(f"- store written or found in {seconds:.0f} s; two workers, each limited to 1.5 GB")
    log = store / "reads.log"
    log.unlink(missing_ok=True)
    with cluster(2, "1.5GB") as client:
        before = set(client.nthreads())
        X, y, domain = on_dask(paths, log)
        booster = Watched(n_estimators=n_rounds, client=client)
        booster.log, booster.n_files = log, len(paths)
        seconds, _ = timed(lambda: booster.fit(X, y, sample_domain=domain))
        peaks = client.run(peak_memory).values()
        same = set(client.nthreads()) == before
    for k, (whole, inside, passes) in enumerate(booster.rounds_):
        say(
            f"- round {k + 1}: {whole:.0f} s, {100 * inside / whole:.0f}% of it in learners, {passes:.1f} passes over X"
        )
    reads = len(log.read_text().splitlines())
    n_fitted = len(booster.estimators_)
    say(f"- {n_fitted} rounds in {seconds:.0f} s, {reads / len(paths):.1f} passes over X in all, with the checks")
    say(f"- most memory of a worker: {max(peaks) / 1e9:.2f} GB; {'none' if same else 'SOME'} was restarted")
    n_local = min(n_rows, 2_000_000)
    some = paths[: n_local // ROWS]

    def local() -> Any:
        X = np.concatenate([read_rows(path, None) for path in some])
        y, domain = (np.concatenate([read_column(path, name) for path in some]) for name in ("y", "domain"))
        return GapBoostClassifier(n_estimators=n_rounds).fit(X, y, sample_domain=domain)

    alone, model = timed(local)
    a_row = 1e6 * seconds / n_rows / n_fitted
    local_row = 1e6 * alone / n_local / len(model.estimators_)
    say(f"- a row and round: {a_row:.2f} us here, {local_row:.2f} us in one process with {n_local:,} of them")
    say(f"- ratio: {a_row / local_row:.2f} with two workers")


def workers(n_rows: int, store: Path, n_rounds: int) -> None:
    """Strong and weak scaling from one worker to two, and the share of a round that is not in learners."""
    paths = parts(store, n_rows)
    say(f"\n## One and two workers: {n_rows:,} rows x {COLUMNS} columns of float32, kept in the workers' memory\n")

    def fit(n_workers: int, some: list[Path]) -> tuple[float, list[Any]]:
        with cluster(n_workers) as client:
            X, y, domain = (each.persist() for each in on_dask(some))
            wait([X, y, domain])
            booster = Watched(n_estimators=n_rounds, client=client)
            seconds, _ = timed(lambda: booster.fit(X, y, sample_domain=domain))
            return seconds / len(booster.estimators_), booster.rounds_

    fit(1, paths[:2])
    one, _ = fit(1, paths)
    two, rounds = fit(2, paths)
    half, _ = fit(1, paths[: len(paths) // 2])
    say(f"- strong: one worker takes {one / two:.2f} times as long as two ({one:.1f} and {two:.1f} s a round)")
    say(f"- weak: half the rows on one worker take {half / two:.2f} times as long as all on two")
    outside = 1 - sum(each[1] for each in rounds) / sum(each[0] for each in rounds)
    say(f"- of a round on two workers {100 * outside:.1f}% is not spent in training and predicting with learners")


def networks() -> None:
    """Time a step of gapMTNN on one and two processes, for the same global batches."""
    from gapmin.deep import GapMTNNClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 1, 28, 28)).astype(np.float32)
    y, task = rng.integers(10, size=6000), np.repeat([0, 1, 2], 2000)

    def fit(devices: int, epochs: int) -> float:
        model = GapMTNNClassifier(epochs=epochs, devices=devices, accelerator="cpu", random_state=0)
        return timed(lambda: model.fit(X, y, sample_task=task))[0]

    # The difference of two lengths leaves out the start of the processes.
    one, two = ((fit(devices, 3) - fit(devices, 1)) / 2 for devices in (1, 2))
    say("\n## gapMTNN on processes: LeNet, three tasks, 28 x 28\n")
    say(f"- an epoch on one process takes {one / two:.2f} times as long as on two ({one:.1f} and {two:.1f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("larger-than-memory", "workers", "networks"))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", type=Path, default=Path("scaling-store"))
    options = parser.parse_args()
    if options.what == "networks":
        networks()
    elif options.what == "workers":
        workers(options.rows, options.store, options.rounds)
    else:
        larger_than_memory(options.rows, options.store, options.rounds)


if __name__ == "__main__":
    main()
