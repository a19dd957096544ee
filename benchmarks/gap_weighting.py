"""20 Newsgroups: exact gap minimisation at its levels against weighted pooling, gapBoost and the ends of the scale.

    python benchmarks/gap_weighting.py [--splits 10] [--jobs 2] [--out benchmarks/results/gap_weighting.csv]

Needs the data set in $GAPMIN_DATA. Every linear model has lam = 0.01; nothing is tuned by problem. Groups are ten
k-means clusters of the source's rows, each cut by class. Writes every error to a CSV file and a table beside it; a run
that was interrupted goes on where it stopped: delete the file after a change of the code.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.cluster import KMeans

from gapmin import GapBoostClassifier
from gapmin.datasets import load_newsgroups
from gapmin.linear import GapWeightingClassifier, InstanceWeightingClassifier

METHODS = {
    "target only": lambda k: InstanceWeightingClassifier(gamma=1.0),
    "uniform weights": lambda k: InstanceWeightingClassifier(),
    "weighted pooling, gamma=0.5": lambda k: InstanceWeightingClassifier(gamma=0.5),
    "weighted pooling, gamma=0.8": lambda k: InstanceWeightingClassifier(gamma=0.8),
    "gapBoost": lambda k: GapBoostClassifier(random_state=k),
    "gapBoost, target_share=0.8, soft": lambda k: GapBoostClassifier(target_share=0.8, vote="soft", random_state=k),
    **{
        f"GapWeighting, {level}, {data}, target_share={share}": lambda k, level=level, data=data, share=share: (
            GapWeightingClassifier(level, gap_data=data, target_share=share, random_state=k)
        )
        for share in (0.8, None)
        for level in ("domain", "group", "instance")
        for data in ("crossfit", "train")
    },
}


def run(problem, k: int, method: str) -> dict:
    """Return error, time, the target's share and the in-sample gap of one fit."""
    split = problem.split(k)
    model = METHODS[method](k)
    more = {}
    if getattr(model, "level", "") == "group":
        source = split.sample_domain > 0
        group = np.zeros(split.y.size, dtype=int)
        clusters = KMeans(10, n_init=3, random_state=k).fit_predict(split.X[source])
        group[source] = 1 + 2 * clusters + (split.y[source] == split.y.max())
        more["sample_group"] = group
    start = time.perf_counter()
    model.fit(split.X, split.y, sample_domain=split.sample_domain, **more)
    seconds = time.perf_counter() - start
    gap = getattr(model, "gap_", None)
    return {
        "problem": problem.name,
        "split": k,
        "method": method,
        "error": 100 * (1 - model.score(split.X_test, split.y_test)),
        "seconds": seconds,
        "target_share": model.sample_weight_[split.sample_domain < 0].sum(),
        "gap": np.nan if gap is None else gap.value,
    }


def table(cells: pd.DataFrame) -> str:
    """Return mean errors by method and problem as Markdown, with the target's share and the gap."""
    problems = list(dict.fromkeys(cells["problem"]))
    lines = [
        "| method | " + " | ".join(problems) + " | average | s.e. over splits | target's share | gap, in sample |",
        "|---|" + "---:|" * (len(problems) + 4),
    ]
    for method in METHODS:
        mine = cells[cells["method"] == method]
        means = [mine[mine["problem"] == problem]["error"].mean() for problem in problems]
        by_split = mine.groupby("split")["error"].mean()
        numbers = [f"{mean:.2f}" for mean in means]
        numbers += [f"**{np.mean(means):.2f}**", f"{by_split.std(ddof=1) / np.sqrt(by_split.size):.2f}"]
        gap = mine["gap"].mean()
        numbers += [f"{mine['target_share'].mean():.2f}", "" if np.isnan(gap) else f"{gap:.3f}"]
        lines.append(f"| {method} | " + " | ".join(numbers) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gap_weighting.csv")
    args = parser.parse_args()
    args.out.parent.mkdir(exist_ok=True)
    problems = load_newsgroups()
    cells = pd.read_csv(args.out) if args.out.exists() else pd.DataFrame(columns=["problem", "split", "method"])
    done = set(zip(cells["problem"], cells["split"], cells["method"], strict=True))
    tasks = [
        (problem, k, method)
        for k in range(args.splits)
        for problem in problems
        for method in METHODS
        if (problem.name, k, method) not in done
    ]
    for cell in Parallel(args.jobs, return_as="generator")(delayed(run)(*task) for task in tasks):
        pd.DataFrame([cell]).to_csv(args.out, mode="a", header=not args.out.exists(), index=False)
    cells = pd.read_csv(args.out)
    shown = table(cells[cells["split"] < args.splits])
    args.out.with_suffix(".md").write_text(
        f"20 Newsgroups, 10% of the target to train on, error in %, mean of {args.splits} random splits "
        f"(`benchmarks/gap_weighting.py`).\n\n{shown}\n"
    )
    print(shown)


if __name__ == "__main__":
    main()
