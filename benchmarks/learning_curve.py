"""The README's picture: error by number of target rows on 20 Newsgroups, mean of its six problems.

Run as ``python benchmarks/learning_curve.py [--splits 5] [--out docs/images/learning-curve.svg]``, with the data set in
$GAPMIN_DATA.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib
import numpy as np

from gapmin.datasets import load_newsgroups
from gapmin.plotting import ErrorCurveDisplay
from gapmin.reproduce.demo import CLASSIFIERS, run_demo

SIZES = (20, 50, 100, 200, 500)


def main() -> None:
    """Run the fits and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "learning-curve.svg"
    )
    args = parser.parse_args()
    found = run_demo([], curve=load_newsgroups(), curve_sizes=SIZES, n_splits=args.splits).curve
    errors = {
        method.label: [
            [
                np.mean([c.error for c in found if (c.method, c.n_target, c.split) == (method.label, size, split)])
                for split in range(args.splits)
            ]
            for size in SIZES
        ]
        for method in CLASSIFIERS
    }
    matplotlib.rcParams["svg.hashsalt"] = "gapmin"
    display = ErrorCurveDisplay(sizes=SIZES, errors=errors).plot()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(args.out, metadata={"Date": None})
    for name, values in errors.items():
        print(f"{name:20s}", *(f"{sum(v) / len(v):6.1f}" for v in values))


if __name__ == "__main__":
    main()
