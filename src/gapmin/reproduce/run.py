"""From names of tables and figures to results in a folder: check, run what is missing, show, write."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gapmin._utils.extras import how_to_install
from gapmin.datasets.catalogue import fetch
from gapmin.reporting import Report, Section, write_html, write_section

from . import NAMES, get_experiment
from .cells import OF_NETWORKS, Cell, Outcome
from .experiment import SMALL, Experiment, Plan
from .plans import read_plans, write_plans
from .printed import Note
from .printed import notes as misprints
from .runner import Completed, missing, run_grid
from .store import Store
from .verdicts import counts

PAGE = "reproduction.html"
TITLE = "Gap Minimization for Knowledge Sharing and Transfer, reproduced"


def lacking(experiment: Experiment, plan: Plan) -> str:
    """Say what an experiment cannot be run without; empty where all is there, or was downloaded just now."""
    if experiment.networks and importlib.util.find_spec("torch") is None:
        return f"PyTorch is not installed: {how_to_install('deep')}"
    try:
        for name in experiment.data_sets(plan.protocol):
            fetch(name)
        for problem in {cell.problem for cell in experiment.grid(plan) if experiment.networks}:
            from . import networks

            networks.check(problem, plan.protocol)
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""


def prepare(cells: Sequence[Cell]) -> None:
    """Make ready what takes long and all workers need: features of images."""
    in_networks = [cell for cell in cells if cell.kind in OF_NETWORKS]
    for problem, protocol in dict.fromkeys((each.problem, each.values.get("protocol", SMALL)) for each in in_networks):
        from . import networks

        networks.prepare(problem, str(protocol))


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
    known = read_plans(folder)
    prepare(missing(cells, Store(folder).read(), retry_failed=retry_failed))
    with Store(folder).open() as store:
        todo = missing(cells, store, retry_failed=retry_failed)
        run_grid(todo, store, completed, on_progress=on_progress)
    # Of earlier runs the page shows what is there whole: results may have been moved away, or other data have come.
    # Their plans are kept all the same, for who runs them again.
    shown = {name: plan for name, plan in known.items() if name not in plans and _is_whole(name, plan, store)}
    shown.update(plans)
    sections = {name: _section(name, shown[name], store) for name in NAMES if name in shown}
    for name in plans:
        _write(sections[name], folder, name)
    write_plans(folder, {**known, **plans})
    return Reproduction(
        {name: sections[name] for name in plans},
        [outcome for cell in cells if (outcome := store.get(cell)) is not None and outcome.failure],
        len(todo),
        len(cells),
        write_html(Report(TITLE, _headline(list(sections.values())), list(sections.values())), folder / PAGE),
    )


def _is_whole(name: str, plan: Plan, store: Store) -> bool:
    experiment = get_experiment(name)
    return all(store.get(cell) is not None for cell in experiment.grid(plan) if not experiment.optional(cell))


def _time(outcomes: Sequence[Outcome]) -> str:
    """Say how long the cells took: processor time, or the clock's where older cells have that alone."""
    processor = [outcome.processor_seconds for outcome in outcomes if outcome.processor_seconds is not None]
    if len(processor) == len(outcomes):
        return f"{sum(processor) / 3600:.1f} core-hours of processor time"
    hours = sum(outcome.seconds for outcome in outcomes) / 3600
    return f"{hours:.1f} hours by the clock on a machine that did other work too, so fewer core-hours"


def _write(section: Section, folder: Path, name: str) -> None:
    """Write the files of a section, and remove figures that an earlier run had more of."""
    written = write_section(section, folder, name)
    for pattern in (f"{name}.svg", f"{name}.png", f"{name}-*.svg", f"{name}-*.png"):
        for path in set(folder.glob(pattern)) - set(written):
            path.unlink()


def _section(name: str, plan: Plan, store: Store) -> Section:
    """Show an experiment, with how it was run below."""
    shown = get_experiment(name)
    outcomes = [store.get(cell) for cell in shown.grid(plan)]
    there = [outcome for outcome in outcomes if outcome is not None]
    failed = [outcome for outcome in there if outcome.failure]
    section = shown.section(store, plan)
    versions = "; ".join(sorted({outcome.version for outcome in there}))
    notes = [
        shown.about(plan),
        *(f"In print, {' '.join(filter(None, note.cell))}: {note.text}" for note in _misprints(name)),
        f"{len(there)} of {len(outcomes)} cells have run, {plan.splits} splits, seed {plan.seed}"
        f"{', quick' * plan.quick}, {_time(there)}. "
        f"Run with {versions}.",
    ]
    if failed:
        notes.append(
            f"{len(failed)} cells failed and are left out, the first with {failed[0].failure}. "
            "`--retry-failed` runs them again."
        )
    return replace(section, notes=[*section.notes, *notes])


def _misprints(name: str) -> tuple[Note, ...]:
    return misprints(name) if name.startswith("table") else ()


def _headline(sections: Sequence[Section]) -> str:
    confirmed, open_, contradicted = counts(point for section in sections for point in section.points)
    return (
        f"{len(sections)} of {len(NAMES)} tables and figures, the paper's numbers beside ours. Of the claims judged, "
        f"by 95% intervals, {confirmed} are confirmed, {open_} are not and {contradicted} are contradicted; each is "
        "said below."
    )
