"""20 Newsgroups: the error of gapBoost and its baselines over random splits, by the protocol of the paper.

    python benchmarks/newsgroups.py [--splits 10] [--jobs 2] [--out benchmarks/results/newsgroups.csv]

Needs the data set in $GAPMIN_DATA. Prints a table for each mode and writes every error to a CSV file; a run that was
interrupted goes on where it stopped: delete the file after a change of the code.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed

from gapmin import AdaBoostClassifier, GapBoostClassifier, TrAdaBoostClassifier, TransferBoostClassifier
from gapmin.datasets import load_newsgroups

METHODS = {
    "AdaBoost_T": lambda **kw: AdaBoostClassifier(train_on="target", **kw),
    "AdaBoost_T&S": lambda **kw: AdaBoostClassifier(**kw),
    "TrAdaBoost": lambda **kw: TrAdaBoostClassifier(**kw),
    "TransferBoost": lambda **kw: TransferBoostClassifier(**kw),
    "gapBoost": lambda **kw: GapBoostClassifier(**kw),
    "gapBoost soft 0.8": lambda **kw: GapBoostClassifier(target_share=0.8, vote="soft", **kw),
}
MODES = {"weights": False, "resample": True}


def errors_of(problem, k: int, wanted: list[tuple[str, str]]) -> list[dict]:
    """Errors of the wanted methods on split `k` of a problem."""
    split = problem.split(k)
    out = []
    for mode, method in wanted:
        clf = METHODS[method](resample=MODES[mode], random_state=k)
        start = time.perf_counter()
        clf.fit(split.X, split.y, sample_domain=split.sample_domain)
        seconds = time.perf_counter() - start
        error = 100 * (1 - clf.score(split.X_test, split.y_test))
        out.append(
            {
                "problem": problem.name,
                "split": k,
                "mode": mode,
                "method": method,
                "error": error,
                "seconds": seconds,
            }
        )
    return out


def show(rows: list[dict], mode: str, problems: list[str]) -> None:
    """Print mean and standard error by problem and method."""
    print(f"\n{mode}: error in %, mean and standard error")
    print(f"{'':14s}" + "".join(f"{m:>20s}" for m in METHODS))
    means = {m: [] for m in METHODS}
    for problem in problems:
        line = f"{problem:14s}"
        for method in METHODS:
            e = [r["error"] for r in rows if (r["problem"], r["mode"], r["method"]) == (problem, mode, method)]
            means[method].append(np.mean(e))
            line += f"{np.mean(e):13.2f} ±{np.std(e, ddof=1) / len(e) ** 0.5:5.2f}"
        print(line)
    print(f"{'average':14s}" + "".join(f"{np.mean(means[m]):13.2f}{'':7s}" for m in METHODS))
    printed = list(METHODS)[:5]
    best = sum(min(printed, key=lambda m: means[m][i]) == "gapBoost" for i in range(len(problems)))
    print(f"gapBoost is the best of the five in {best} of {len(problems)} problems")


def main() -> None:
    """Run what is missing and show the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "newsgroups.csv")
    args = parser.parse_args()
    args.out.parent.mkdir(exist_ok=True)
    problems = load_newsgroups()
    rows: list[dict] = []
    if args.out.exists():
        with args.out.open() as file:
            rows = [
                {**r, "split": int(r["split"]), "error": float(r["error"]), "seconds": float(r["seconds"])}
                for r in csv.DictReader(file)
            ]
    done = {(r["problem"], r["split"], r["mode"], r["method"]) for r in rows}
    tasks = []
    for problem in problems:
        for k in range(args.splits):
            wanted = [(mode, m) for mode in MODES for m in METHODS if (problem.name, k, mode, m) not in done]
            if wanted:
                tasks.append((problem, k, wanted))
    new_file = not args.out.exists()
    with args.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, ["problem", "split", "mode", "method", "error", "seconds"])
        if new_file:
            writer.writeheader()
        for found in Parallel(args.jobs, return_as="generator")(delayed(errors_of)(*task) for task in tasks):
            writer.writerows(found)
            file.flush()
            rows += found
    rows = [r for r in rows if r["split"] < args.splits]
    for mode in MODES:
        show(rows, mode, [p.name for p in problems])


if __name__ == "__main__":
    main()
