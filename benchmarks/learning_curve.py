"""The README's picture: error by number of target rows, scikit-learn's digits as source, MNIST as target.

python benchmarks/learning_curve.py [--splits 5] [--out docs/images/learning-curve.svg]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib

from gapmin.datasets import load_digits_transfer
from gapmin.demo import CLASSIFIERS, run_demo
from gapmin.report import ErrorCurveDisplay

SIZES = (30, 60, 120, 240, 480)


def main() -> None:
    """Run the fits and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "learning-curve.svg"
    )
    args = parser.parse_args()
    found = run_demo([], curve=[load_digits_transfer("digits")], curve_sizes=SIZES, n_splits=args.splits).curve
    errors = {
        method.label: [
            [cell.error for cell in found if (cell.method, cell.n_target) == (method.label, size)] for size in SIZES
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
