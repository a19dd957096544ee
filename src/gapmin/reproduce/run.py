"""From names of tables and figures to results in a folder: check, run what is missing, show, write."""

from __future__ import annotations

import importlib.util
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gapmin.datasets.catalogue import fetch
from gapmin.report.files import write_section
from gapmin.report.html import Report, Section, write_atomically, write_html

from . import NAMES, get_experiment
from .cells import Cell, Outcome
from .experiment import Experiment, Plan
from .runner import Completed, missing, run_grid
from .store import Store
from .tables import counts

PLANS, PAGE = "plans.json", "reproduction.html"
TITLE = "Gap Minimization for Knowledge Sharing and Transfer, reproduced"


def lacking(experiment: Experiment) -> str:
    """Say what an experiment cannot be run without; empty where all is there, or was downloaded just now."""
    if experiment.networks and importlib.util.find_spec("torch") is None:
        return 'PyTorch is not installed: run pip install "gapmin[deep]"'
    for name in experiment.needs:
        try:
            fetch(name)
        except (FileNotFoundError, ValueError) as error:
            return str(error)
    return ""


def prepare(cells: Sequence[Cell]) -> None:
    """Make ready what takes long and all workers need: features of images."""
    for problem in dict.fromkeys(cell.problem for cell in cells if cell.kind in ("multitask", "epoch")):
        from . import networks

        networks.prepare(problem)


@dataclass(frozen=True)
class Reproduction:
    """What a run found.

    Attributes
    ----------
    sections : dict of str to Section
        By experiment.
    failed : list of Outcome
        Cells that raised an error.
    n_run, n_cells : int
        Cells run just now, and cells in all.
    page : Path
        The HTML page.
    """

    sections: dict[str, Section]
    failed: list[Outcome]
    n_run: int
    n_cells: int
    page: Path


def reproduce(
    plans: Mapping[str, Plan],
    folder: Path,
    completed: Completed,
    *,
    retry_failed: bool = False,
    prepare: Callable[[Sequence[Cell]], None] = prepare,
    on_progress: Callable[[float, int], object] = lambda share, n_cells: None,
) -> Reproduction:
    """Run what the folder lacks of some experiments, and write their tables, figures and the page of all so far.

    Parameters
    ----------
    plans : mapping of str to Plan
        How much of which experiment.
    folder : Path
    completed : callable
        What runs the cells: `runner.on_this_machine` or `runner.on_dask`.
    retry_failed : bool, default=False
        Run cells again that raised an error before.
    prepare : callable
        Called with the cells to run, before the first of them.
    on_progress : callable
        Told after each cell which share of the work is done, and how many cells there are to run.
    """
    cells = list(dict.fromkeys(cell for name, plan in plans.items() for cell in get_experiment(name).grid(plan)))
    with Store(folder).open() as store:
        todo = missing(cells, store, retry_failed=retry_failed)
        prepare(todo)
        run_grid(todo, store, completed, on_progress=on_progress)
    sections = {name: _section(name, plan, store) for name, plan in plans.items()}
    for name, section in sections.items():
        write_section(section, folder, name)
    all_plans = _add_plans(folder, plans)
    page = [sections.get(name) or _section(name, plan, store) for name, plan in all_plans.items()]
    return Reproduction(
        sections,
        [outcome for cell in cells if (outcome := store.get(cell)) is not None and outcome.failure],
        len(todo),
        len(cells),
        write_html(Report(TITLE, _headline(page), page), folder / PAGE),
    )


def _section(name: str, plan: Plan, store: Store) -> Section:
    """Show an experiment, with how it was run below."""
    shown = get_experiment(name)
    outcomes = [store.get(cell) for cell in shown.grid(plan)]
    there = [outcome for outcome in outcomes if outcome is not None]
    failed = [outcome for outcome in there if outcome.failure]
    section = shown.section(store, plan)
    notes = [
        f"{len(outcomes)} cells, {plan.splits} splits, seed {plan.seed}{', quick' * plan.quick}. {_versions(there)}"
    ]
    if failed:
        notes.append(
            f"{len(failed)} cells failed and are left out, the first with {failed[0].failure}. "
            "`--retry-failed` runs them again."
        )
    return replace(section, notes=[*section.notes, *notes])


def _versions(outcomes: Sequence[Outcome]) -> str:
    by = sorted({outcome.version for outcome in outcomes})
    found = [f"gapmin {', '.join(by)}", f"Python {platform.python_version()}"]
    needed = ["numpy", "scipy", "scikit-learn"]
    if any(outcome.cell.kind in ("multitask", "epoch") for outcome in outcomes):
        needed.append("torch")
    for name in needed:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found) + "."


def _headline(sections: Sequence[Section]) -> str:
    held, missed = counts(point for section in sections for point in section.points)
    return (
        f"{len(sections)} of {len(NAMES)} tables and figures, the paper's numbers beside ours. Of the claims tested, "
        f"by means, {held} hold here and {missed} do not; each is said below."
    )


def _add_plans(folder: Path, plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """Remember how each experiment in the folder was last run, so that the page shows all of them."""
    path = folder / PLANS
    known = {name: Plan(**each) for name, each in json.loads(path.read_text()).items()} if path.exists() else {}
    known |= plans
    ordered = {name: known[name] for name in NAMES if name in known}
    write_atomically(json.dumps({name: asdict(plan) for name, plan in ordered.items()}, indent=1) + "\n", path)
    return ordered
