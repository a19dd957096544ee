"""Check that two source trees compute the same results, bit for bit, for cells of the paper's tables and figures.

    python tools/compare_cells.py OLD_SRC NEW_SRC table1 table2 table3 figure1 figure2 figure3
    python tools/compare_cells.py OLD_SRC NEW_SRC table4 table5 --method gapMTNN --cells 1 --epochs 1

Every cell is computed anew, one after the other, by each tree in a process of its own; no store is read. In place of a
tree, a .json file that `--save` wrote for it may be given. Exits with 1 where `error` or `parts` of a cell differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

_RUN = """
import json, sys
from gapmin.reproduce import get_experiment
from gapmin.reproduce.runner import run_cell
options = json.loads(sys.argv[1])
cells = {}
for name in options["names"]:
    experiment = get_experiment(name)
    grid = experiment.grid(experiment.plan(splits=1, quick=options["quick"], epochs=options["epochs"]))
    chosen = [cell for cell in grid if options["method"] in (None, cell.method)][: options["cells"]]
    cells.update((cell.key, cell) for cell in chosen)
for key, cell in cells.items():
    if cell.kind in ("multitask", "epoch"):
        import torch
        torch.manual_seed(0)  # the first weights of the layer on frozen features (Tables 5 to 8) come from here
    outcome = run_cell(cell)
    found = outcome.measured and [outcome.measured.error, dict(outcome.measured.parts)]
    print(json.dumps([key, found or outcome.failure]), flush=True)
"""


def results_of(tree: Path, options: dict[str, object]) -> dict[str, object]:
    """Return error and parts of every cell, or why it failed, as the tree computes them."""
    if tree.suffix == ".json":
        return dict(json.loads(tree.read_text()))
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _RUN, json.dumps(options)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(map(json.loads, done.stdout.splitlines()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("names", nargs="+", metavar="name")
    parser.add_argument("--quick", action="store_true", help="fewer settings, as gapmin reproduce --quick")
    parser.add_argument("--epochs", type=int, help="of networks")
    parser.add_argument("--method", help="cells of this method alone")
    parser.add_argument("--cells", type=int, help="the first so many cells of each experiment")
    parser.add_argument("--save", type=Path, help="write the results of the old tree to this .json file")
    options = vars(parser.parse_args())
    trees, save = (options.pop("old"), options.pop("new")), options.pop("save")
    old = results_of(trees[0], options)
    if save is not None:
        save.write_text(json.dumps(old, indent=1))
    new = results_of(trees[1], options)
    differing = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
    for key in differing:
        print(f"{key}\n  old {old.get(key)}\n  new {new.get(key)}")
    failed = [key for key, found in old.items() if isinstance(found, str)]
    print(f"{len(old)} cells, {len(failed)} of them failed in the old tree, {len(differing)} differ")
    return 1 if differing or failed else 0


if __name__ == "__main__":
    sys.exit(main())
