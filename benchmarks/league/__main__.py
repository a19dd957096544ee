"""Two rules and their rivals on many problems, with honest sources and with changed ones.

    python -m benchmarks.league run --rule new --seeds 100:110 --cells cells
    python -m benchmarks.league run --rule rivals --seeds 100:110 --cells cells
    python -m benchmarks.league report --cells cells --out docs/results

The rule "old" is `gapmin.selection`, "new" is `gapmin.transfer`; each is imported from the checkout that PYTHONPATH
names. Each rule and the rivals have a folder of their own under that of the cells, so that they can run side by side.
A run may be stopped at any time: the same command goes on with the cells that are missing. Needs $GAPMIN_DATA for the
published sets; without a file its problems are left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import signal
import sys
from pathlib import Path

from gapmin.reporting.files import to_markdown, write_section
from gapmin.reproduce.cells import Outcome
from gapmin.reproduce.runner import missing, run_cell
from gapmin.reproduce.store import Store

from .measure import RULES, cells, measure
from .report import league_section


def seed_range(text: str) -> range:
    """Read "100:110", the last not among them."""
    first, last = map(int, text.split(":"))
    return range(first, last)


def run(options: argparse.Namespace) -> None:
    """Run the cells that are missing, one after the other, and keep each as it comes."""
    # As with Ctrl-C, the cell under way is given up and all others are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    store = Store(options.cells[0] / options.rule)
    try:
        with store.open():
            grid = [each for each in cells(options.rule, options.seeds) if options.only in each.problem]
            left = missing(grid, store, retry_failed=options.retry_failed)[: options.limit]
            for done, each in enumerate(left, start=1):
                outcome = run_cell(each, measure)
                store.add(outcome)
                said = f"failed: {outcome.failure}" if outcome.failure else f"{outcome.seconds:.1f} s"
                asked = f"{each.method} on {each.problem}, {each.values['variant']}, seed {each.seed}"
                print(f"{done} of {len(left)}: {asked}: {said}", flush=True)
    except KeyboardInterrupt:
        sys.exit(f"stopped; what is done is kept in {store.folder}: the same command goes on")


def report(options: argparse.Namespace) -> None:
    """Write what the cells say as tables and figures."""
    outcomes: list[Outcome] = []
    for folder in options.cells:
        for rule in RULES:
            outcomes += Store(folder / rule).read().outcomes.values()
    outcomes = [each for each in outcomes if options.seeds is None or each.cell.seed in options.seeds]
    for each in outcomes:
        if each.failure:
            print(f"failed: {each.cell.method} on {each.cell.problem}, seed {each.cell.seed}: {each.failure}")
    section = league_section(outcomes)
    write_section(section, options.out, "league")
    print(to_markdown(section))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run", help="run the cells that are missing")
    running.set_defaults(action=run)
    running.add_argument("--rule", choices=RULES, required=True)
    running.add_argument("--only", default="", help="problems whose name has this part")
    running.add_argument("--limit", type=int, help="stop after so many cells")
    running.add_argument("--retry-failed", action="store_true")
    reporting = actions.add_parser("report", help="write tables and figures")
    reporting.set_defaults(action=report)
    reporting.add_argument("--out", type=Path, default=Path("docs/results"))
    for each, n_folders in ((running, 1), (reporting, "+")):
        each.add_argument("--seeds", type=seed_range, required=each is running, help="100:110 is 100 to 109")
        each.add_argument("--cells", type=Path, nargs=n_folders, default=[Path("benchmarks/results/league")])
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
