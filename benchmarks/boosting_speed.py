"""What gapBoost costs, as ratios measured in one run on one thread.

    python benchmarks/boosting_speed.py [--sizes 2000 20000 200000] [--out benchmarks/results/boosting_speed.md]

1. `GapBoostClassifier()` whole, against scikit-learn's `LogisticRegression` fitted to the same rows with the same
   objective, the weights that the boosting really had in each round, and the same tolerance on the gradient: three fits
   a round, 60 in all. Predictions, weight updates and checks count against us and not against scikit-learn.
2. Time for each source row, relative to the smallest size.
3. Peak memory of a fit, X included, in units of X.
4. With decision trees as base learners, the share of the time that is not the trees' own fit and predict.
"""

from __future__ import annotations

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import platform
import statistics
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import gapmin
from gapmin import GapBoostClassifier
from gapmin.linear import WeightedLogisticRegression

N_TARGET, D, ROUNDS = 200, 100, 20


def problem(n_source: int, seed: int = 0):
    """Source and target with other covariances and labelling, noise in both."""
    rng = np.random.default_rng(seed)
    mix = np.eye(D) + 0.5 * rng.standard_normal((D, D)) / np.sqrt(D)
    h_target = rng.standard_normal(D)
    h_source = h_target + 0.6 * rng.standard_normal(D)
    X = np.empty((N_TARGET + n_source, D))
    X[:N_TARGET] = rng.standard_normal((N_TARGET, D))
    X[N_TARGET:] = rng.standard_normal((n_source, D)) @ mix
    margin = np.r_[X[:N_TARGET] @ h_target, X[N_TARGET:] @ h_source] * 3 / np.sqrt(D)
    y = (margin + rng.logistic(size=len(X)) > 0).astype(int)
    return X, y, np.r_[np.full(N_TARGET, -1), np.ones(n_source, dtype=int)]


class Recorded(GapBoostClassifier):
    """gapBoost that remembers the weights of each round."""

    path: ClassVar[list] = []

    def _round(self, rows, learners, log_weight, so_far):
        Recorded.path.append(np.exp(log_weight))
        return super()._round(rows, learners, log_weight, so_far)


class TimedTree(DecisionTreeClassifier):
    """A tree that adds up the time of its own fits and predictions."""

    seconds = 0.0

    def fit(self, *args, **kwargs):
        start = time.perf_counter()
        result = super().fit(*args, **kwargs)
        TimedTree.seconds += time.perf_counter() - start
        return result

    def predict(self, *args, **kwargs):
        start = time.perf_counter()
        result = super().predict(*args, **kwargs)
        TimedTree.seconds += time.perf_counter() - start
        return result


def timed(function) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def scikit_learn_fits(X, y, path, lam: float, tol: float) -> None:
    """The same 60 fits: sum_i w_i loss_i + lam ||h||^2 with weights of mean 1 and C = 1 / (2 lam N)."""
    for weight in path:
        for part in (slice(None), slice(0, N_TARGET), slice(N_TARGET, None)):
            w = weight[part]
            model = LogisticRegression(C=1 / (2 * lam * w.size), tol=tol, max_iter=10_000)
            model.fit(X[part], y[part], sample_weight=w / w.mean())


def compare(n_source: int, repeats: int) -> dict:
    """All figures of one size."""
    X, y, sample_domain = problem(n_source)
    figures = {"n": n_source}
    lam = WeightedLogisticRegression().lam
    for tol in (1e-8, 1e-4):
        learner = WeightedLogisticRegression(tol=tol)
        Recorded.path = []
        Recorded(learner, n_estimators=ROUNDS).fit(X, y, sample_domain=sample_domain)
        path = list(Recorded.path)
        assert len(path) == ROUNDS
        booster = GapBoostClassifier(learner, n_estimators=ROUNDS)
        ours, theirs = [], []
        for _ in range(repeats):
            ours.append(timed(partial(booster.fit, X, y, sample_domain=sample_domain)))
            theirs.append(timed(partial(scikit_learn_fits, X, y, path, lam, tol)))
        figures[tol] = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        figures[f"seconds {tol}"] = min(ours)
    tracemalloc.start()
    GapBoostClassifier(n_estimators=ROUNDS).fit(X, y, sample_domain=sample_domain)
    figures["memory"] = 1 + tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    if n_source <= 20_000:
        TimedTree.seconds = 0.0
        tree = TimedTree(max_depth=6, random_state=0)
        whole = timed(lambda: GapBoostClassifier(tree, n_estimators=ROUNDS).fit(X, y, sample_domain=sample_domain))
        figures["tree overhead"] = 1 - TimedTree.seconds / whole
    return figures


def table(rows: list[dict]) -> str:
    """The figures as Markdown."""
    first = rows[0]["seconds 1e-08"] / (rows[0]["n"] + N_TARGET)
    lines = [
        "| source rows | gapBoost / 60 fits of scikit-learn, tol 1e-8 (default) | the same, tol 1e-4 | "
        "time per row, relative | peak memory / X | not in the trees' fit and predict |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        per_row = row["seconds 1e-08"] / (row["n"] + N_TARGET) / first
        overhead = f"{100 * row['tree overhead']:.1f} %" if "tree overhead" in row else ""
        lines.append(
            f"| {row['n']:,} | {row[1e-8]:.2f} | {row[1e-4]:.2f} | {per_row:.2f} | {row['memory']:.2f} | {overhead} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "boosting_speed.md")
    args = parser.parse_args()
    rows = []
    for n_source in args.sizes:
        rows.append(compare(n_source, repeats=5 if n_source <= 2_000 else 3 if n_source <= 20_000 else 1))
        print(rows[-1], flush=True)
    text = (
        f"# What gapBoost costs\n\nK = {ROUNDS} rounds (60 fits), d = {D}, {N_TARGET} target rows, one thread. "
        f"Ratios measured in one run by `benchmarks/boosting_speed.py` with gapmin {gapmin.__version__}, "
        f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, Python {platform.python_version()}.\n\n"
        f"{table(rows)}\n\nThe ratios compare a whole `GapBoostClassifier.fit` (fits, predictions, weights, checks) "
        "with the bare `LogisticRegression` fits on the same weight paths. At 0.33 three learners a round cost what "
        "scikit-learn pays for one.\n"
    )
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(text)
    print("\n" + text)


if __name__ == "__main__":
    main()
