"""Digits: the error of gapMTNN and its baselines on MNIST, MNIST-M and USPS, LeNet, over random draws of rows.

    python benchmarks/digits.py [--seeds 5] [--jobs 2] [--settings 1000:25 3000:8] [--out FILE.csv]

A setting is ROWS:EPOCHS, the rows of each task that train and the epochs that every method gets. Each seed draws other
rows, other first weights and another order; the published test sets are the test. Needs the data in $GAPMIN_DATA.
Writes every error to a CSV file, prints the tables and writes them beside it; a run that was interrupted goes on where
it stopped.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from gapmin.datasets import load_digits_multitask
from gapmin.deep import MultitaskClassifier
from multitask_grid import METHODS, measure, run_grid, table

TASKS = ["mnist", "mnist_m", "usps"]


def fit(setting: str, method: str, seed: int, methods: dict = METHODS) -> dict:
    """Return the error of each task in %."""
    rows, epochs = map(int, setting.split(":"))
    split = load_digits_multitask("published").split(seed, rows)
    clf = MultitaskClassifier(methods[method](), extractor="lenet", epochs=epochs, device="cpu", random_state=seed)
    return measure(clf, split, TASKS)


def main() -> None:
    """Run what is missing and show the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--settings", nargs="+", default=["1000:25", "3000:8"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "digits.csv")
    options = parser.parse_args()
    cells = [(s, m, seed) for s in options.settings for seed in range(options.seeds) for m in METHODS]
    rows = run_grid(cells, fit, options.out, options.jobs)
    found = "\n\n".join(table(rows, setting, TASKS) for setting in options.settings)
    print(found)
    options.out.with_suffix(".md").write_text(f"# Digits (ROWS:EPOCHS)\n\n{found}\n")


if __name__ == "__main__":
    main()
