"""The time of each gap against CVXPY's, and of exact gap minimisation against plain logistic regressions.

    python benchmarks/linear_speed.py [--rows 2000] [--features 100] [--repeats 5]

Ratios of times measured in one run, on one thread; CVXPY solves the same minimisations with Clarabel at its default
tolerances (ours are exact to 1e-8 in the gradient, 1e-12 in the duality gap). Ours is the median of the repeats;
CVXPY's is measured once. Writes a table to benchmarks/results/linear_speed.md.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import cvxpy as cp
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapmin.linear import GapWeightingClassifier, WeightedLogisticRegression
from gapmin.linear._coupled import single_and_pooled_gap
from gapmin.linear._exact import solve_unpenalised
from gapmin.linear._problem import WeightedRows
from gapmin.linear.instance_weighting import DomainObjective, two_domain_gap
from gapmin.linear.solvers import LOSS_BY_NAME

LAM, ETA, TASKS = 0.01, 0.25, 5


def clock(job: Callable[[], object], repeats: int) -> float:
    """Return the median processor time of a job: other work on the machine counts less than on the wall clock."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return float(np.median(times))


def minimum(rows: WeightedRows, loss: str, ridge: float) -> np.ndarray:
    """Return the minimiser by CVXPY."""
    h = cp.Variable(rows.X.shape[1])
    score = rows.X @ h
    losses = {
        "logistic": lambda: cp.logistic(-cp.multiply(rows.y, score)),
        "hinge": lambda: cp.pos(1 - cp.multiply(rows.y, score)),
        "squared": lambda: cp.square(score - rows.y),
        "absolute": lambda: cp.abs(score - rows.y),
    }[loss]()
    objective = rows.weight @ losses + (ridge * cp.sum_squares(h) if ridge else 0)
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    return h.value


def gaps(tasks: list[WeightedRows], everything: WeightedRows, loss: str) -> dict[str, tuple[Callable, Callable]]:
    """Return for each setting our gap and the minimisations that CVXPY needs for it."""
    source, target = tasks[0], tasks[1]
    ridge = ETA * LAM
    kind = LOSS_BY_NAME[loss]
    y = everything.y
    single = LAM * LAM / (LAM + LAM)
    pooled_penalty = float(TASKS / np.trace(np.eye(TASKS) * TASKS / LAM) * TASKS)

    def two() -> object:
        return two_domain_gap(DomainObjective(source, kind, ridge), DomainObjective(target, kind, ridge), LAM, ETA)

    def one_each() -> object:
        sides = [DomainObjective(rows, kind, ridge) for rows in tasks]
        return [[rows.loss(kind, side.h) for side in sides] for rows in tasks]

    def together(own: float, pooled: float) -> Callable[[], object]:
        return lambda: single_and_pooled_gap(list(range(TASKS)), tasks, everything.X, y, kind, own, pooled)

    def theirs(own: float, pooled: float | None) -> Callable[[], object]:
        def run() -> None:
            for rows in tasks:
                minimum(rows, loss, own)
            if pooled is not None:
                minimum(everything, loss, pooled)

        return run

    half = len(y) // 2
    halves = [
        WeightedRows(everything.X[part], y[part], everything.weight[part]) for part in (slice(half), slice(half, None))
    ]
    source, target = halves
    return {
        "instance weighting, feature transfer": (two, lambda: [minimum(rows, loss, ridge) for rows in halves]),
        "hypothesis transfer": (lambda: solve_unpenalised(everything, kind), lambda: minimum(everything, loss, 0.0)),
        f"task weighting ({TASKS} tasks)": (one_each, theirs(ridge, None)),
        f"parameter sharing ({TASKS} tasks)": (together(single, LAM), theirs(single, LAM)),
        f"task covariance ({TASKS} tasks)": (together(LAM, pooled_penalty), theirs(LAM, pooled_penalty)),
    }


def gap_weighting_ratio(n: int, d: int, repeats: int) -> dict[str, float]:
    """Return the time of whole solutions over that of 200 plain weighted logistic regressions on the same rows."""
    rng = np.random.default_rng(1)
    sample_domain = np.repeat([-1, 1, 2], [n // 10, n // 2, n - n // 10 - n // 2])
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d)
    shift = np.where(sample_domain == 2, X @ rng.normal(size=d), 0)
    y = X @ w + 0.5 * shift + 3 * rng.normal(size=n) > 0
    weight = rng.uniform(0.5, 1.5, size=n)
    plain = clock(lambda: WeightedLogisticRegression().fit(X, y, weight), 5 * repeats)
    found = {}
    for level in ("domain", "instance"):
        for share in (0.8, None):
            model = GapWeightingClassifier(level, target_share=share, random_state=0)
            name = f"{level}, target's share {'free' if share is None else share}"
            found[name] = clock(lambda model=model: model.fit(X, y, sample_domain=sample_domain), 2) / (200 * plain)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "linear_speed.md")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    n, d = args.rows // TASKS, args.features
    lines = [
        f"N = {args.rows}, d = {d}: how many times faster than CVXPY with Clarabel, in one run "
        "(`benchmarks/linear_speed.py`).",
        "",
        "| gap of | " + " | ".join(LOSS_BY_NAME) + " |",
        "|---|" + "---:|" * len(LOSS_BY_NAME),
    ]
    table: dict[str, list[str]] = {}
    for loss in LOSS_BY_NAME:
        tasks = []
        w = rng.normal(size=d)
        for _ in range(TASKS):
            X = np.hstack([rng.normal(size=(n, d - 1)), np.ones((n, 1))])
            score = X @ (w + 0.5 * rng.normal(size=d)) + 5 * rng.normal(size=n)
            y = np.sign(score) if loss in ("logistic", "hinge") else score
            tasks.append(WeightedRows(X, y, np.full(n, 1 / n)))
        everything = WeightedRows(
            np.vstack([t.X for t in tasks]),
            np.concatenate([t.y for t in tasks]),
            np.concatenate([t.weight / TASKS for t in tasks]),
        )
        for setting, (ours, theirs) in gaps(tasks, everything, loss).items():
            mine, other = clock(ours, args.repeats), clock(theirs, 1)
            table.setdefault(setting, []).append(f"{other / mine:.0f}")
            print(f"{loss:9s} {setting:40s} ours {1e3 * mine:7.1f} ms, CVXPY {1e3 * other:8.1f} ms: {other / mine:.0f}")
    lines += [f"| {setting} | " + " | ".join(numbers) + " |" for setting, numbers in table.items()]
    lines += ["", "GapWeighting's whole solution over the time of 200 plain weighted logistic regressions:", ""]
    lines += ["| weights | ratio |", "|---|---:|"]
    for name, ratio in gap_weighting_ratio(args.rows, d, args.repeats).items():
        print(f"GapWeighting, {name}: {ratio:.2f} of 200 logistic regressions")
        lines.append(f"| {name} | {ratio:.2f} |")
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
