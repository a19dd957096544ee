"""The league: is `Transfer*CV` ever worse than the target alone, and how far is it from the best of all others?

Every method on ten splits of every problem, with the problem's own source and with a poisoned one: its labels turned in
every second split, its columns exchanged in the others. Finished cells are kept in the folder of the results: run it
again to go on, or delete the folder to begin anew. Needs $GAPMIN_DATA for the published sets.

    python -m benchmarks.league --jobs 2 --cells benchmarks/results/league --out docs/results
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from pathlib import Path

from rich.console import Console

from gapmin._utils.progress import progress_on
from gapmin.reporting.files import write_section
from gapmin.reproduce.cells import Cell, cell
from gapmin.reproduce.runner import missing, on_this_machine, run_grid
from gapmin.reproduce.store import Store

from .problems import POISONS, measure, methods_for, problems
from .tables import league_section


def poison_of(split: int) -> str:
    """Say how the source of a split is poisoned."""
    return POISONS[1 + split % 2]


def cells(n_splits: int, seed: int) -> list[Cell]:
    """Return every fit of the league."""
    return [
        cell("league", problem.name, method, split, seed, poison=poison)
        for split in range(n_splits)
        for poison in ("none", poison_of(split))
        for problem in problems().values()
        for method in methods_for(problem.task)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/results/league"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    grid = cells(options.splits, options.seed)
    with Store(options.cells).open() as store:
        left = missing(grid, store)
        with progress_on(Console(stderr=True), "league") as on_progress:
            run_grid(left, store, on_this_machine(options.jobs, measure), on_progress=on_progress)
    outcomes = [store.outcomes[each.key] for each in grid if each.key in store.outcomes]
    failed = [each for each in outcomes if each.failure]
    for each in failed:
        print(f"failed: {each.cell.method} on {each.cell.problem}: {each.failure}")
    write_section(league_section(outcomes), options.out, "league")
    print(f"{len(outcomes)} cells, {len(failed)} failed; {options.out / 'league.md'}")


if __name__ == "__main__":
    main()
