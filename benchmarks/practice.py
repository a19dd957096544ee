"""What people wait for: fits of `TransferClassifierCV`, a saved model of a study, and `gapmin compare`.

    python benchmarks/practice.py --old ../gapmin-before                    # this checkout and another, in turn
    python benchmarks/practice.py --only hospitals --old ../gapmin-before   # `gapmin compare` on four small files
    python benchmarks/practice.py --only rows --rows 2000 1000000           # and with so many source rows

Every piece of work runs in a process of its own, with `PYTHONPATH` set to one checkout, this one and the old one in
turn; medians of three. Times are of this machine at this moment: the ratios are what counts, and on a machine that does
other work those of the processor's seconds. The memory is the peak of the main process with its imports; of `gapmin
compare` also that of the largest other process.
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

PARTS = ("fits", "model", "hospitals", "rows")

STUDY_ROWS = 30_000
N_NEW = 50

HOSPITALS = ("here", "north", "south", "west")
HOSPITAL_ROWS, HOSPITAL_COLUMNS = 200, 13


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
    from gapmin.study import model
    from gapmin.study.prediction import predict_file

    load = getattr(model, "load_study_model", None) or model.StudyModel.load  # of commits before 0.2.0, and since
    start = time.perf_counter()
    predict_file(load(folder / "model.skops"), folder / "new.csv")
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
    return medians(found)


def medians(found: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the median of each figure."""
    return {name: {key: median(each[key] for each in runs) for key in runs[0]} for name, runs in found.items()}


def show(what: str, found: dict[str, dict[str, float]]) -> None:
    """Print what each checkout takes, and the old by each of the others."""
    for key in next(iter(found.values())):
        old = found.get("old", {}).get(key, 0.0)
        parts = [
            f"{name} {each[key]:.4g}"
            + (f" ({old / each[key]:.2f} times)" if name != "old" and old and each[key] else "")
            for name, each in found.items()
        ]
        print(f"{what}, {key}: {', '.join(parts)}", flush=True)


def write_hospitals(folder: Path) -> None:
    """Write four files: the first two follow one rule, the third another, and the labels of the fourth are noise."""
    import pandas as pd

    random = np.random.default_rng(0)
    rules = random.normal(size=(2, HOSPITAL_COLUMNS))
    for name, rule in zip(HOSPITALS, (rules[0], rules[0], rules[1], 0 * rules[0]), strict=True):
        X = random.normal(size=(HOSPITAL_ROWS, HOSPITAL_COLUMNS)).round(3)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(HOSPITAL_COLUMNS)])
        frame["y"] = np.where(X @ rule + 2 * random.normal(size=HOSPITAL_ROWS) > 0, "ill", "well")
        frame.to_csv(folder / f"{name}.csv", index=False)


COMPARE = """
import atexit, json, resource, runpy, sys
def used():
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = sum(each.ru_utime + each.ru_stime for each in (own, others))
    found = {"processor seconds": seconds, "MB": own.ru_maxrss / 1000, "MB, others": others.ru_maxrss / 1000}
    print(json.dumps(found), file=sys.stderr)
atexit.register(used)
runpy.run_module("gapmin", run_name="__main__", alter_sys=True)
"""


def one_comparison(folder: Path, *options: str) -> dict[str, float]:
    """Run `gapmin compare` on the files of a folder, the target first; return seconds and peak memory in MB."""
    target, *sources = json.loads((folder / "files.json").read_text())
    command = ["compare", "--target", target, "--label", "y", "--report", f"{os.getpid()}.html", "--json", *options]
    command += [word for source in sources for word in ("--source", source)]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COMPARE, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"gapmin compare ended with {done.returncode}: {done.stderr}")
    found: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return {"seconds": time.perf_counter() - start, **found}


def comparisons(checkouts: dict[str, Path], what: str, repeats: int, jobs: int, n_rows: int = 0) -> None:
    """Measure `gapmin compare` on four small files, or with so many source rows, in full and quick."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if n_rows:
            write_csv(place / "target.csv", 100, 0, 0.0)
            write_csv(place / "source.csv", n_rows, 1, 0.1)
            files = ["target.csv", "source.csv"]
        else:
            write_hospitals(place)
            files = [f"{name}.csv" for name in HOSPITALS]
        (place / "files.json").write_text(json.dumps(files))
        every = {name: (checkout, ()) for name, checkout in checkouts.items()} | {"quick": (HERE, ("--quick",))}
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in every}
        for _ in range(repeats):
            for name, (checkout, more) in every.items():
                runs[name].append(run_in(checkout, "compare", folder, "--jobs", str(jobs), *more))
        show(f"gapmin compare, {what}", medians(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="another checkout to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS[:2], help="what to measure")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000], help="source rows for the part rows")
    parser.add_argument("--work", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, *given = options.work
        works: dict[str, Any] = {"model": one_model, "prediction": one_prediction, "compare": one_comparison}
        found = one_fit(given[0], int(given[1])) if kind == "fit" else works[kind](Path(given[0]), *given[1:])
        print(json.dumps(found))
        return
    checkouts = {"new": HERE, **({"old": options.old.resolve()} if options.old else {})}
    if "fits" in options.only:
        for name in FITS:
            show(f"fit, {name}", in_turn(checkouts, options.repeats, "fit", name, str(options.jobs)))
    if "model" in options.only:
        models(checkouts, options.repeats)
    if "hospitals" in options.only:
        n_rows = HOSPITAL_ROWS * len(HOSPITALS)
        what = f"{n_rows} rows x {HOSPITAL_COLUMNS} columns, {len(HOSPITALS)} files"
        comparisons(checkouts, what, options.repeats, options.jobs)
    if "rows" in options.only:
        for n_rows in options.rows:
            what = f"{n_rows:,} + 100 rows x {N_COLUMNS} columns, {(n_rows + 100) * N_COLUMNS * 8e-6:.0f} MB"
            comparisons(checkouts, what, options.repeats, options.jobs, n_rows)


def models(checkouts: dict[str, Path], repeats: int) -> None:
    """Measure saving and loading the model of a study."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, n_rows, seed in (("target", 100, 0), ("source", STUDY_ROWS, 1), ("new", N_NEW, 2)):
            write_csv(place / f"{name}.csv", n_rows, seed, 0.1 * (name == "source"))
        made, asked = {}, {}
        for name, checkout in checkouts.items():  # the model of each is there only until the next is fitted
            made[name] = in_turn({name: checkout}, 1, "model", folder)[name]
            asked[name] = in_turn({name: checkout}, repeats, "prediction", folder)[name]
        show(f"model of a study with {STUDY_ROWS:,} source rows", made)
        show(f"loading it and predicting {N_NEW} rows", asked)


if __name__ == "__main__":
    main()
