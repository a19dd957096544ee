"""The sweep that gapMTNN's weights 10 and 0.1 come from: one setting changed at a time, on Digits and on PACS.

    python benchmarks/gapmtnn_sweep.py [--seeds 2] [--jobs 2] [--out benchmarks/results/gapmtnn_sweep.csv]

Digits: 500 rows a task, 20 epochs; PACS as in benchmarks/pacs.py. Seeds from 100 on, so that no draw of rows is one of
the other benchmarks'. Needs the data in $GAPMIN_DATA; a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import digits
import pacs
from gapmin.datasets import load_pacs_features
from gapmin.deep import GapMTNN, Uniform
from multitask_grid import run_grid

FIRST_SEED = 100
VARIANTS = {
    "Uniform": Uniform,
    "defaults": GapMTNN,
    "relation_cost='excess'": lambda: GapMTNN(relation_cost="excess"),  # what is changed below, too
    "printed()": GapMTNN.printed,
    **{
        f"lambda_semantic={value:g}": lambda value=value: GapMTNN(relation_cost="excess", lambda_semantic=value)
        for value in (1.0, 100.0)
    },
    **{
        f"lambda_relation={value:g}": lambda value=value: GapMTNN(relation_cost="excess", lambda_relation=value)
        for value in (0.5, 2.0)
    },
    "relation_cost='gap'": lambda: GapMTNN(relation_cost="gap"),
    "centroid_space='extractor'": lambda: GapMTNN(relation_cost="excess", centroid_space="extractor"),
    "learn_relation=False": lambda: GapMTNN(relation_cost="excess", learn_relation=False),
}


def fit(setting: str, variant: str, seed: int) -> dict:
    """Return the average error, the seconds and the relation."""
    name, _, rest = setting.partition(" ")
    benchmark = {"digits": digits, "pacs": pacs}[name]
    found = benchmark.fit(rest, variant, seed, VARIANTS)
    return {
        "error": round(float(np.mean([found[task] for task in benchmark.TASKS])), 4),
        "seconds": found["seconds"],
        "relation": found["relation"],
    }


def main() -> None:
    """Run what is missing and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gapmtnn_sweep.csv")
    options = parser.parse_args()
    load_pacs_features()  # computed once, before the workers ask for them
    settings = ["pacs 0.1:40", "digits 500:20"]
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    rows = run_grid(
        [(s, v, seed) for s in settings for v in VARIANTS for seed in seeds], fit, options.out, options.jobs
    )
    lines = ["| | " + " | ".join(settings) + " | self-weight on Digits |", "|---|---:|---:|---:|"]
    for variant in VARIANTS:
        mine = {s: [r for r in rows if r["setting"] == s and r["method"] == variant] for s in settings}
        errors = [f"{np.mean([r['error'] for r in mine[s]]):.2f}" for s in settings]
        relations = [np.array(str(r["relation"]).split(), dtype=float) for r in mine["digits 500:20"] if r["relation"]]
        own = f"{np.mean([np.diag(each.reshape(3, 3)).mean() for each in relations]):.2f}" if relations else ""
        lines.append(f"| {variant} | {' | '.join(errors)} | {own} |")
    text = "\n".join(lines)
    print(text)
    options.out.with_suffix(".md").write_text(
        f"# gapMTNN, one setting changed at a time\n\nAverage error in %, {options.seeds} seeds; the defaults are "
        f"lambda_semantic=10, lambda_marginal=0.1, lambda_relation=1. PACS: SHARE:EPOCHS, Digits: ROWS:EPOCHS. The "
        f"last column is the mean weight that a task gives itself at the end.\n\n{text}\n"
    )


if __name__ == "__main__":
    main()
