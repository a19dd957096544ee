"""PACS: the error of gapMTNN and its baselines on frozen features of AlexNet's convolutions.

    python benchmarks/pacs.py [--seeds 5] [--jobs 2] [--share 0.1] [--epochs 40] [--out benchmarks/results/pacs.csv]

Not the paper's protocol: images are 128 x 128, the convolutions stay as they were trained on ImageNet, one shared layer
of 512 units is trained on their 2,304 features, and the splits are random draws of our own: a share of each task's rows
trains, the rest tests. Needs the images and the weights in $GAPMIN_DATA; the features are computed once and kept in the
user's cache. Writes every error to a CSV file, prints the table and writes it beside it; a run that was interrupted
goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from gapmin.datasets import load_pacs_features
from gapmin.deep import MLP, MultitaskClassifier
from multitask_grid import METHODS, measure, run_grid, table

TASKS = ["art_painting", "cartoon", "photo", "sketch"]


def fit(setting: str, method: str, seed: int, methods: dict = METHODS) -> dict:
    """Return the error of each task in %."""
    share, epochs = setting.split(":")
    split = load_pacs_features().split(seed, float(share))
    clf = MultitaskClassifier(
        methods[method](), extractor=MLP(split.X.shape[1], (512,)), epochs=int(epochs), device="cpu", random_state=seed
    )
    return measure(clf, split, TASKS)


def main() -> None:
    """Run what is missing and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "pacs.csv")
    options = parser.parse_args()
    load_pacs_features()  # computed once, before the workers ask for them
    setting = f"{options.share}:{options.epochs}"
    rows = run_grid(
        [(setting, m, seed) for seed in range(options.seeds) for m in METHODS], fit, options.out, options.jobs
    )
    found = table(rows, setting, TASKS)
    print(found)
    options.out.with_suffix(".md").write_text(f"# PACS on frozen features (SHARE:EPOCHS)\n\n{found}\n")


if __name__ == "__main__":
    main()
