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

from gapmin.plotting import ErrorCurveDisplay
from gapmin.reproduce.experiment import Found, Plan
from gapmin.reproduce.runner import on_this_machine, run_grid
from gapmin.reproduce.store import Outcomes
from gapmin.reproduce.tables import TransferGrid
from gapmin.reproduce.transfer import NEWSGROUPS

SIZES = (20, 50, 100, 200, 500)
LABELS = {
    "AdaBoost_T": "AdaBoost on target",
    "AdaBoost_T&S": "AdaBoost on both",
    **{name: name for name in ("TrAdaBoost", "TransferBoost", "gapBoost", "gapBoost soft")},
}


def main() -> None:
    """Run the fits and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "learning-curve.svg"
    )
    args = parser.parse_args()
    plan, store = Plan(args.splits), Outcomes()
    grids = [TransferGrid("", NEWSGROUPS, list(LABELS), {"resample": False, "train": size}) for size in SIZES]
    run_grid([cell for grid in grids for cell in grid.cells(plan)], store, on_this_machine())
    blocks = [grid.block(Found(store, plan)) for grid in grids]
    errors = {label: [block.average(method).errors for block in blocks] for method, label in LABELS.items()}
    matplotlib.rcParams["svg.hashsalt"] = "gapmin"
    display = ErrorCurveDisplay(sizes=SIZES, errors=errors).plot()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(args.out, metadata={"Date": None})
    for name, values in errors.items():
        print(f"{name:20s}", *(f"{sum(v) / len(v):6.1f}" for v in values))


if __name__ == "__main__":
    main()
