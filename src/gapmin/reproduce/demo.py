"""The demo: gapBoost, gapBoostR and gapMTNN against baselines on embedded data, as a page."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass

from gapmin._utils.text import counted
from gapmin.reporting import Entry, Report, Section, Table, shown_name

from .cells import OF_NETWORKS, Outcome
from .demo_sections import DEMO, POOLED, PROBLEM_KINDS, TARGET_ONLY, problems, tasks
from .experiment import Plan
from .runner import Completed, run_grid
from .store import Outcomes

LEFT_OUT = 'multitask part left out: pip install "gapmin[deep]"'


@dataclass(frozen=True)
class DemoResult:
    """What a run of the demo found.

    Attributes
    ----------
    report : Report
    failed : list of Outcome
        Cells that raised an error.
    seconds : float
        From start to end.
    left_out : str
        What was left out and how to get it; empty where nothing was.
    """

    report: Report
    failed: list[Outcome]
    seconds: float
    left_out: str


def run_demo(
    completed: Completed,
    *,
    splits: int | None = None,
    quick: bool = False,
    on_progress: Callable[[float, int], object] = lambda share, n_cells: None,
) -> DemoResult:
    """Run all sections, without those of networks where PyTorch is missing, and lay them out as a page.

    Parameters
    ----------
    completed : callable
        What runs the cells: `runner.on_this_machine`.
    splits : int, optional
        Random splits of each problem; 5 by default, with `quick` 2.
    quick : bool, default=False
        Fewer problems and sizes.
    on_progress : callable
        Told after each cell which share of the work is done, and how many cells there are.
    """
    start = time.perf_counter()
    has_torch = importlib.util.find_spec("torch") is not None
    shown = [experiment for experiment in DEMO if has_torch or not experiment.networks]
    plans = {experiment: experiment.plan(splits=splits, quick=quick) for experiment in shown}
    cells = [cell for experiment, plan in plans.items() for cell in experiment.grid(plan)]
    store = Outcomes()
    # Networks take longest: early, so that no process trains one when the others have nothing left to do.
    run_grid(sorted(cells, key=lambda cell: cell.kind not in OF_NETWORKS), store, completed, on_progress=on_progress)
    sections = [experiment.section(store, plan) for experiment, plan in plans.items()]
    seconds = time.perf_counter() - start
    plan, left_out = plans[shown[0]], "" if has_torch else LEFT_OUT
    outcomes = [store.outcomes[cell.key] for cell in cells]
    run = f"{len(cells)} cells, {counted(plan.splits, 'split')}, seed {plan.seed}, in {seconds:.0f} s, one thread each."
    versions = f"Run with {'; '.join(sorted({outcome.version for outcome in outcomes}))}."
    protocol = [*_protocol(plan), *filter(None, [left_out]), run, versions]
    headline = " ".join(section.points[0] for section in sections if section.heading in HEADLINE_SECTIONS)
    report = Report(
        "gapmin: learning from other people's data",
        headline,
        [*sections, Section("Problems and protocol", points=protocol, tables=[_problem_table(plan)])],
    )
    return DemoResult(report, [outcome for outcome in outcomes if outcome.failure], seconds, left_out)


HEADLINE_SECTIONS = ("Errors", "Tasks trained together")


def _problem_table(plan: Plan) -> Table:
    header = ["problem", "what it is", "target rows: train / test", "source rows", "features"]
    rows = []
    for problem in (problem for task in PROBLEM_KINDS for problem in problems(plan, task)):
        split = problem.split(0)
        rows.append(
            [
                Entry(shown_name(problem.name)),
                Entry(problem.description),
                Entry(f"{int((split.sample_domain < 0).sum())} / {split.y_test.size}"),
                Entry(" + ".join(str(y.size) for _, y in problem.sources)),
                Entry(str(problem.X_target.shape[1])),
            ]
        )
    return Table("Rows and columns of each transfer problem", header, rows, numeric=False)


def _protocol(plan: Plan) -> list[str]:
    networks = tasks(plan)
    (size,) = networks.sizes.values()
    epochs = DEMO[-1].plan(quick=plan.quick).epochs
    return [
        f"{TARGET_ONLY} and AdaBoost.R2_T train on the target alone, {POOLED} and AdaBoost.R2_T&S on target and source "
        "as one. Several sources are pooled into one.",
        "Every method boosts 20 rounds with weights, not resampled. Base learners are the defaults: a logistic "
        "regression (lam 0.01) for classes, regression trees of depth 6 for numbers. gapBoost is as printed in the "
        "paper; gapBoost soft starts with 80% of the weight on the target and votes with the learners' margins. "
        "Nothing is tuned by problem.",
        "Each split draws the target rows that train at random, in a classification again until every class is there; "
        "they are the same for all methods. Results do not depend on the number of processes.",
        "The gap of a source is that of instance weighting with half of the weight on the target, between the target's "
        "training rows of the first split and all rows of that source, features standardised on both together, "
        f"numbers to predict by the target's training rows; {19 if plan.quick else 99} permutations.",
        f"Networks: LeNet, {size} rows of each task, {counted(epochs, 'epoch')} at a learning rate of {networks.lr:g} "
        "in batches of 32 rows of each task; all else is the default.",
    ]
