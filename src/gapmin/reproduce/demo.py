"""The demo: a worked example of the main job, then boosters, gaps and networks, on embedded data, as a page."""

from __future__ import annotations

import importlib.util
import io
import time
from collections.abc import Callable
from dataclasses import dataclass

from gapmin._utils.extras import how_to_install
from gapmin._utils.text import counted
from gapmin.datasets.examples import Example, cars
from gapmin.reporting import Entry, Report, Section, Table, shown_name
from gapmin.study import StudyComparison, StudyFiles, compare_study, read_study
from gapmin.study.page import study_report

from .cells import OF_NETWORKS, Outcome
from .demo_sections import DEMO, ON_BOTH, ON_TARGET, PROBLEM_KINDS, problems, tasks
from .experiment import Plan
from .runner import Completed, run_grid
from .store import Outcomes

LEFT_OUT = f"multitask part left out: {how_to_install('deep')}"


@dataclass(frozen=True)
class DemoResult:
    """What a run of the demo found.

    Attributes
    ----------
    report : Report
    comparison : StudyComparison
        Of the worked example.
    experiments : list of Section
        What boosters, gaps and networks found, as far as it has tables.
    failed : list of Outcome
        Cells that raised an error.
    seconds : float
        From start to end.
    left_out : str
        What was left out and how to get it; empty where nothing was.
    """

    report: Report
    comparison: StudyComparison
    experiments: list[Section]
    failed: list[Outcome]
    seconds: float
    left_out: str


def run_demo(
    completed: Completed,
    *,
    splits: int | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    on_progress: Callable[[float, str], object] = lambda share, stage: None,
) -> DemoResult:
    """Compare the sources of a worked example, run all experiments, and lay them out as a page.

    Those of networks are left out where PyTorch is missing.

    Parameters
    ----------
    completed : callable
        What runs the cells of the experiments: `runner.on_this_machine`.
    splits : int, optional
        Random splits of each problem; 5 by default, with `quick` 2.
    quick : bool, default=False
        A quick comparison, fewer problems and sizes.
    n_jobs : int or None, default=None
        Processes of the comparison. No result depends on it.
    on_progress : callable
        Told which share of the work is done, and what is being done.
    """
    start = time.perf_counter()
    share = _SHARE_OF_EXAMPLE / (5 if quick else 1)
    example = cars()
    comparison = compare_example(
        example,
        quick=quick,
        n_jobs=n_jobs,
        on_progress=lambda done, stage: on_progress(share * done, f"a worked example, {stage}"),
    )
    has_torch = importlib.util.find_spec("torch") is not None
    shown = [experiment for experiment in DEMO if has_torch or not experiment.networks]
    plans = {experiment: experiment.plan(splits=splits, quick=quick) for experiment in shown}
    cells = [cell for experiment, plan in plans.items() for cell in experiment.grid(plan)]
    store = Outcomes()
    # Networks take longest: early, so that no process trains one when the others have nothing left to do.
    run_grid(
        sorted(cells, key=lambda cell: cell.kind not in OF_NETWORKS),
        store,
        completed,
        on_progress=lambda done, n_cells: on_progress(share + (1 - share) * done, f"{n_cells} fits of experiments"),
    )
    sections = [experiment.section(store, plan) for experiment, plan in plans.items()]
    seconds = time.perf_counter() - start
    plan, left_out = plans[shown[0]], "" if has_torch else LEFT_OUT
    outcomes = [store.outcomes[cell.key] for cell in cells]
    run = f"{len(cells)} cells, {counted(plan.splits, 'split')}, seed {plan.seed}, one thread each. {seconds:.0f} s."
    versions = f"Run with {'; '.join(sorted({outcome.version for outcome in outcomes}))}."
    protocol = [*_protocol(plan), *filter(None, [left_out]), run, versions]
    headlines = [section.points[0] for section in sections if section.heading in HEADLINE_SECTIONS]
    page = study_report(comparison, _files(example), command=example.commands["compare"], options={"quick": quick})
    report = Report(
        "gapmin: learning from other people's data",
        " ".join([comparison.headline, *headlines]),
        [
            *page.sections,
            Section("The methods of the paper", [_ABOUT_EXPERIMENTS]),
            *sections,
            Section("Problems and protocol", points=protocol, tables=[_problem_table(plan)]),
        ],
        page.summary,
        page.warnings,
        f"{example.question} {_ABOUT_EXAMPLE}",
    )
    failed = [outcome for outcome in outcomes if outcome.failure]
    return DemoResult(report, comparison, [each for each in sections if each.tables], failed, seconds, left_out)


_SHARE_OF_EXAMPLE = 0.5
_ABOUT_EXAMPLE = (
    "30 Japanese cars have a known mpg. Will European cars, American cars, or a fleet whose owner wrote litres per "
    "100 km help to predict it?"
)
_ABOUT_EXPERIMENTS = (
    "So far: what gapmin compare does with files of your own. What follows are the methods of the paper that gapmin "
    "implements, each on data that comes with the installation, beside the methods that one would use without it."
)


def compare_example(
    example: Example,
    *,
    quick: bool = False,
    n_jobs: int | None = None,
    on_progress: Callable[[float, str], object] = lambda share, stage: None,
) -> StudyComparison:
    """Compare the sources of a worked example, as `gapmin compare` does with its files."""
    import pandas as pd

    tables = {name: pd.read_csv(io.StringIO(text)) for name, text in example.files.items() if name.endswith(".csv")}
    sources = {name.removesuffix(".csv"): tables[name] for name in example.sources}
    study = read_study(tables["target.csv"], sources, example.label)
    return compare_study(study, quick=quick, n_jobs=n_jobs, on_progress=on_progress)


def _files(example: Example) -> StudyFiles:
    return StudyFiles("target.csv", example.sources, example.label)


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
        f"{ON_TARGET} and AdaBoost.R2_T train on the target alone, {ON_BOTH} and AdaBoost.R2_T&S on target and source "
        "as one. Several sources are pooled into one.",
        "Every method boosts 20 rounds with weights, not resampled. Base learners are the defaults: a logistic "
        "regression (lam 0.01) for classes, regression trees of depth 6 for numbers. gapBoost is as printed in the "
        "paper; gapBoost soft starts with 80% of the weight on the target and votes with the learners' margins. "
        "Nothing is tuned by problem.",
        "Each split draws the target rows that train at random, in a classification again until every class is there; "
        "they are the same for all methods. Results do not depend on the number of processes.",
        "The gap of a source is that of instance weighting with half of the weight on the target. It is between the "
        "target's training rows of the first split and all rows of that source. Features are standardised on both "
        f"together, numbers to predict by the target's training rows; {19 if plan.quick else 99} permutations.",
        f"Networks: LeNet, {size} rows of each task, {counted(epochs, 'epoch')} at a learning rate of {networks.lr:g} "
        "in batches of 32 rows of each task; all else is the default.",
    ]
