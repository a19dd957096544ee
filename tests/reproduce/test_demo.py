"""The sections of the demo: what is measured, and what is said of it."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from gapmin import GapBoostClassifier
from gapmin._utils.progress import progress_on
from gapmin.datasets import MultitaskProblem, TransferProblem
from gapmin.datasets.examples import Example
from gapmin.linear import InstanceWeightingClassifier, InstanceWeightingRegressor
from gapmin.reporting import render_html, to_markdown
from gapmin.reproduce import NAMES, demo, demo_sections, transfer
from gapmin.reproduce.cells import cell
from gapmin.reproduce.demo import compare_example, run_demo
from gapmin.reproduce.runner import on_this_machine
from gapmin.reproduce.store import Outcomes
from gapmin_support.outcomes import made_up_outcome

pd = pytest.importorskip("pandas")
rng = np.random.default_rng(0)


def _problem(name, task, n_sources=1, n_target=400):
    def domain(n, shift):
        X = rng.normal(size=(n, 3))
        y = X @ [1.0, shift, 0.3] + 0.3 * rng.normal(size=n)
        return X, (y > 0).astype(int) if task == "classification" else y

    sources = tuple(domain(40, 0.5) for _ in range(n_sources))
    return TransferProblem(name, domain(n_target, -0.5), sources, task=task, train_size=12, description="a toy")


PROBLEMS = {
    each.name: each for each in (_problem("<script>toy", "classification"), _problem("line", "regression", n_sources=2))
}


def quick_example():
    """A worked example that takes no time: twelve rows and one source."""

    def text(n_rows):
        X = rng.normal(size=(n_rows, 2)).round(3)
        return "a,b,y\n" + "".join(f"{a},{b},{a + b:.3f}\n" for a, b in X.tolist())

    return Example("How many?", "y", ("s.csv",), {"target.csv": text(12), "s.csv": text(30)})


@pytest.fixture(scope="module")
def toys():
    """Two small problems in place of the embedded ones, and tasks of numbers in place of digits."""
    deep = pytest.importorskip("gapmin.deep")
    from gapmin.reproduce import networks

    X = rng.normal(size=(400, 4)).astype(np.float32)
    tasks = {name: (X[k:], (X[k:, 0] > 0).astype(int)) for k, name in enumerate(("first", "second", "stranger"))}
    problem = MultitaskProblem("small", tasks, train_size=10)
    setup = networks.Setup(problem, lambda: deep.MLP(4, (8,)), 32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "cars", quick_example)
        patch.setattr(demo, "compare_example", lambda made, **asked: compare_example(made, **asked | {"quick": True}))
        patch.setattr(transfer, "embedded", lambda: PROBLEMS)
        patch.setattr(demo_sections, "QUICK_PROBLEMS", tuple(PROBLEMS))
        patch.setattr(networks, "setup", lambda name, protocol="small": setup)
        yield


@pytest.fixture(scope="module")
def run(toys):
    shares = []
    found = run_demo(
        on_this_machine(1), splits=2, n_jobs=1, on_progress=lambda share, stage: shares.append((share, stage))
    )
    return found, shares


def _section(found, heading):
    return next(section for section in found.report.sections if section.heading == heading)


def test_the_demo_is_no_table_of_the_paper():
    assert not [name for name in NAMES if "demo" in name]


def test_every_cell_is_run_once_and_none_fails(run):
    found, shares = run
    assert found.failed == []
    stages = [stage for _, stage in shares if stage.endswith("fits of experiments")]
    assert [f"{len(stages)} fits of experiments"] == list(dict.fromkeys(stages))
    assert shares[-1][0] == pytest.approx(1)
    assert (np.diff([share for share, _ in shares]) >= 0).all()


def test_tables_hold_the_errors_of_rows_that_did_not_train(run):
    classification, regression = _section(run[0], "Errors").tables
    (row,) = classification.parts[0].rows
    assert row[0].text == "<script>toy"
    errors = []
    for split in PROBLEMS["<script>toy"].splits(2):
        booster = GapBoostClassifier().fit(split.X, split.y, sample_domain=split.sample_domain)
        errors.append(100 * np.mean(booster.predict(split.X_test) != split.y_test))
    assert row[classification.header.index("gapBoost")].text == f"{np.mean(errors):.2f}"
    means = [float(entry.text) for entry in row[1:]]
    assert [entry.best for entry in row[1:]].index(True) == int(np.argmin(means))
    assert [row[0].text for part in regression.parts for row in part.rows] == ["line"]


def test_words_count_what_the_tables_show(run):
    found, _ = run
    section = _section(found, "Errors")
    (row,) = section.tables[0].parts[0].rows
    means = dict(zip(section.tables[0].header[1:], [float(entry.text) for entry in row[1:]], strict=True))
    both = int(means["gapBoost"] < means["AdaBoost_T&S"])
    assert f"gapBoost than AdaBoost_T&S on {both} of 1 classification problem and" in section.points[0]
    lowest = min(means, key=means.__getitem__)
    assert section.points[1] == f"Of 1 classification problem, the lowest mean error has {lowest} on 1."
    assert section.points[0] in found.report.headline


def test_the_main_job_comes_first_and_is_that_of_compare(run):
    found, _ = run
    headings = [section.heading for section in found.report.sections]
    assert headings.index("Which sources help") == 0
    assert headings.index("The methods of the paper") < headings.index("Errors")
    assert found.report.headline.startswith(found.comparison.headline)
    made = quick_example()
    tables = {name: pd.read_csv(io.StringIO(text)) for name, text in made.files.items()}
    assert found.comparison.n_target == len(tables["target.csv"]) == 12
    assert dict(found.report.summary)["Decision"] == [found.comparison.summary.decision]


def test_trees_of_numbers_have_depth_six():
    setting = {"resample": False, "max_depth": 6}
    assert transfer.method("gapBoostR", setting, 0).estimator.max_depth == 6


def test_every_source_has_its_gap_to_the_training_rows_of_the_first_split(run):
    (table,) = _section(run[0], "The gap of each source").tables
    assert [row[0].text for row in table.rows] == ["<script>toy", "line, source 1", "line, source 2"]
    sources = [("<script>toy", 1), ("line", 1), ("line", 2)]
    for row, (name, source) in zip(table.rows, sources, strict=True):
        problem = PROBLEMS[name]
        split = problem.split(0)
        rows = np.isin(split.sample_domain, [-1, source])
        X, y, domain = StandardScaler().fit_transform(split.X[rows]), split.y[rows], split.sample_domain[rows]
        model = InstanceWeightingClassifier(gamma=0.5)
        if problem.task == "regression":
            model = InstanceWeightingRegressor(gamma=0.5)
            y = (y - y[domain < 0].mean()) / y[domain < 0].std()
        gap = model.fit(X, y, sample_domain=domain).gap_
        expected = [gap.value, gap.parts["source"], gap.parts["target"]]
        assert [float(entry.text) for entry in row[1:4]] == pytest.approx(expected, abs=0.006)
        assert 0.01 <= float(row[5].text) <= 1
        assert bool(row[6].text) == (source == 1)  # once a problem: its sources are pooled


def test_gaps_of_numbers_do_not_depend_on_their_unit(monkeypatch):
    problem = PROBLEMS["line"]
    other = replace(
        problem,
        target=(problem.X_target, 7 + 1000 * problem.y_target),
        sources=tuple((X, 7 + 1000 * y) for X, y in problem.sources),
    )
    gaps = []
    for each in (problem, other):
        monkeypatch.setattr(transfer, "embedded", lambda each=each: {"line": each})
        gaps.append(transfer.measure_source_gap(cell("gap", "line", "gap", 0, 0, source=1, n_permutations=2)).parts)
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-4)


def test_several_classes_are_taken_one_against_the_rest(monkeypatch):
    problem = _problem("three", "regression")
    thirds = [(X, np.digitize(y, [-0.5, 0.5])) for X, y in (problem.target, *problem.sources)]
    problem = TransferProblem("three", thirds[0], tuple(thirds[1:]), task="classification", train_size=20)
    monkeypatch.setattr(transfer, "embedded", lambda: {"three": problem})
    gap = transfer.measure_source_gap(cell("gap", "three", "gap", 0, 0, source=1, n_permutations=9))
    split = problem.split(0)
    X = StandardScaler().fit_transform(split.X)
    model = InstanceWeightingClassifier(gamma=0.5)
    each = [model.fit(X, split.y == label, sample_domain=split.sample_domain).gap_.value for label in range(3)]
    assert gap.error == pytest.approx(np.mean(each), rel=1e-5)
    assert "p_value" not in gap.extra


def test_the_weights_are_those_of_gapboost_on_the_first_split(toys):
    found = transfer.measure_weights(cell("weights", "<script>toy", "gapBoost", 0, 0, resample=False))
    split = PROBLEMS["<script>toy"].split(0)
    booster = GapBoostClassifier().fit(split.X, split.y, sample_domain=split.sample_domain)
    np.testing.assert_array_equal(found.extra["mass"], booster.mass_history_)
    np.testing.assert_array_equal(found.extra["disagreement"], booster.gap_history_)
    assert found.extra["domains"] == [-1, 1]


def test_report_has_all_figures_and_escapes_the_names_of_problems(run):
    page = render_html(run[0].report)
    # Gaps of classes and of numbers; one curve; mass and disagreement of one problem; Gamma.
    assert page.count('<div class="card">') == 6
    assert "<script" not in page
    assert "&lt;script&gt;toy" in page
    assert "torch 2" in page
    assert "Every method boosts 20 rounds" in page
    assert "scikit-learn" in page


def test_one_split_is_a_report_without_errors_or_tests(toys):
    report = run_demo(on_this_machine(1), splits=1, quick=True, n_jobs=1).report
    headings = [section.heading for section in report.sections]
    report = replace(report, sections=report.sections[headings.index("The methods of the paper") :])
    page = render_html(report)
    assert "±" not in page
    assert "nan" not in page.lower().replace("nanum", "")


@pytest.mark.parametrize("experiment", demo_sections.DEMO, ids=lambda experiment: experiment.name)
def test_a_section_can_be_shown_with_cells_missing(toys, experiment):
    plan = experiment.plan(splits=3)
    cells = experiment.grid(plan)
    assert len(cells) == len(set(cells)) > 0
    whole, some, nothing = Outcomes(), Outcomes(), Outcomes()
    for each in cells:
        whole.add(made_up_outcome(each))
        if each.split != 1:
            some.add(made_up_outcome(each))
    for store in (whole, some, nothing):
        section = experiment.section(store, plan)
        assert section.heading == experiment.title
        assert not re.search(r"\bnan\b", to_markdown(section).lower())
    assert section.points[0].startswith("Not judged: ")


def test_a_failure_is_told_and_the_rest_is_shown(toys, monkeypatch):
    def failing(*_):
        raise ValueError("no weights today")

    monkeypatch.setattr(transfer, "measure_weights", failing)
    found = run_demo(on_this_machine(1), splits=1, quick=True, n_jobs=1)
    assert [outcome.cell.kind for outcome in found.failed] == ["weights"]
    assert "Not judged" in _section(found, "What gapBoost does with the weights").points[0]
    assert _section(found, "Errors").tables


def test_progress_is_plain_lines_off_a_terminal():
    from rich.console import Console

    stream = io.StringIO()
    with progress_on(Console(file=stream), "fits") as on_progress:
        for done in range(1, 51):
            on_progress(done / 50, 50)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("fits: 20% of 50 steps")
    assert "\x1b" not in stream.getvalue()
