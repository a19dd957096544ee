"""What people wait for: fits of `TransferClassifierCV`, a saved model of a study, and `gapmin compare`.

    python benchmarks/practice.py --old ../gapmin-before    # this checkout and another, in turn
    python benchmarks/practice.py --compare 2000 1000000    # `gapmin compare` with so many source rows

Every fit runs in a process of its own, with `PYTHONPATH` set to one checkout, this one and the old one in turn; medians
of three. Times are of this machine at this moment: the ratios are what counts. The memory is the peak of the main
process with its imports.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
N_COLUMNS = 20
FITS = {
    "2,000 x 100, 100 target rows": (2000, 100, 100, 1),
    "300 x 10, 25 target rows": (300, 10, 25, 1),
    "1,600 x 20, 100 target rows, five sources": (1600, 20, 100, 5),
}
"""Rows, columns, target rows and sources of each fit."""

STUDY_ROWS = 30_000
N_NEW = 50


def one_fit(name: str, n_jobs: int) -> dict[str, float]:
    """Fit once, in this process; return seconds and peak memory in MB."""
    from sklearn.datasets import make_classification

    from gapmin import TransferClassifierCV

    n_rows, n_columns, n_target, n_sources = FITS[name]
    X, y = make_classification(n_rows, n_columns, n_informative=n_columns // 5, random_state=0)
    domain = np.repeat(-1, n_rows)
    domain[n_target:] = 1 + np.arange(n_rows - n_target) % n_sources
    start = time.perf_counter()
    TransferClassifierCV(n_jobs=n_jobs, random_state=0).fit(X, y, sample_domain=domain)
    return {"seconds": time.perf_counter() - start, "MB": _peak()}


def one_model(folder: Path) -> dict[str, float]:
    """Fit and save the model of a study; return seconds and MB on disk."""
    from gapmin.study import StudyFiles
    from gapmin.study.model import fit_study

    start = time.perf_counter()
    model = fit_study(StudyFiles(folder / "target.csv", [folder / "source.csv"], "y"))
    path = model.save(folder / f"{os.getpid()}.skops")
    found = {"seconds": time.perf_counter() - start, "MB on disk": path.stat().st_size / 1e6, "MB": _peak()}
    path.replace(folder / "model.skops")
    return found


def one_prediction(folder: Path) -> dict[str, float]:
    """Load that model and predict 50 rows; imports are not counted."""
    from gapmin.study.model import load_study_model
    from gapmin.study.prediction import predict_file

    start = time.perf_counter()
    predict_file(load_study_model(folder / "model.skops"), folder / "new.csv")
    return {"seconds": time.perf_counter() - start}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def write_csv(path: Path, n_rows: int, seed: int, shift: float) -> None:
    """Write numbers and a label of two classes, a block at a time."""
    import pandas as pd

    random = np.random.default_rng(seed)
    for start in range(0, n_rows, 100_000):
        X = random.normal(shift, size=(min(100_000, n_rows - start), N_COLUMNS)).round(4)
        score = X[:, 0] * X[:, 1] + X[:, 2:6].sum(axis=1) + random.normal(size=len(X))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)])
        frame["y"] = np.where(score > 4 * shift, "yes", "no")
        frame.to_csv(path, index=False, mode="w" if start == 0 else "a", header=start == 0)


def run_in(checkout: Path, *work: str) -> dict[str, float]:
    """Do one piece of work in a process that imports gapmin from a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, str(Path(__file__).resolve()), "--work", *work]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{checkout}: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def in_turn(checkouts: dict[str, Path], repeats: int, *work: str) -> dict[str, dict[str, float]]:
    """Return the medians of each checkout; the checkouts take turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for _ in range(repeats):
        for name, checkout in checkouts.items():
            found[name].append(run_in(checkout, *work))
    return {name: {key: median(each[key] for each in runs) for key in runs[0]} for name, runs in found.items()}


def show(what: str, found: dict[str, dict[str, float]]) -> None:
    """Print what each checkout takes, and the old by the new."""
    for key in next(iter(found.values())):
        said = ", ".join(f"{name} {each[key]:.4g}" for name, each in found.items())
        times = f", {found['old'][key] / found['new'][key]:.2f} times" if "old" in found else ""
        print(f"{what}, {key}: {said}{times}", flush=True)


def compare(folder: Path, n_rows: int) -> tuple[float, float]:
    """Return the seconds and the peak MB of the main process of `gapmin compare` with so many source rows."""
    write_csv(folder / "target.csv", 100, 0, 0.0)
    write_csv(folder / "source.csv", n_rows, 1, 0.1)
    code = "import resource, runpy, sys, atexit\n"
    code += "atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000))\n"
    code += "runpy.run_module('gapmin', run_name='__main__', alter_sys=True)"
    options = ["--target", "target.csv", "--source", "source.csv", "--label", "y", "--report", "report.html", "--json"]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, "compare", *options], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"gapmin compare ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - start, float(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="another checkout to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--compare", type=int, nargs="*", default=[], help="source rows to run gapmin compare with")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, *given = options.work
        works: dict[str, Any] = {"model": one_model, "prediction": one_prediction}
        found = one_fit(given[0], int(given[1])) if kind == "fit" else works[kind](Path(given[0]))
        print(json.dumps(found))
        return
    checkouts = {"new": HERE, **({"old": options.old.resolve()} if options.old else {})}
    for name in FITS:
        show(f"fit, {name}", in_turn(checkouts, options.repeats, "fit", name, str(options.jobs)))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, n_rows, seed in (("target", 100, 0), ("source", STUDY_ROWS, 1), ("new", N_NEW, 2)):
            write_csv(place / f"{name}.csv", n_rows, seed, 0.1 * (name == "source"))
        made, asked = {}, {}
        for name, checkout in checkouts.items():  # the model of each is there only until the next is fitted
            made[name] = in_turn({name: checkout}, 1, "model", folder)[name]
            asked[name] = in_turn({name: checkout}, options.repeats, "prediction", folder)[name]
        show(f"model of a study with {STUDY_ROWS:,} source rows", made)
        show(f"loading it and predicting {N_NEW} rows", asked)
    for n_rows in options.compare:
        with tempfile.TemporaryDirectory() as folder:
            seconds, peak = compare(Path(folder), n_rows)
        print(f"gapmin compare, {n_rows:,} + 100 rows x {N_COLUMNS}: {seconds:.1f} s, peak {peak:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
