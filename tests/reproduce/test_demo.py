import io
from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from gapmin._utils.progress import progress_on
from gapmin.datasets import MultitaskProblem, TransferProblem
from gapmin.linear import InstanceWeightingClassifier, InstanceWeightingRegressor
from gapmin.reporting import Cell, Results, render_html
from gapmin.reproduce.demo import CLASSIFIERS, REGRESSORS, run_demo
from gapmin.reproduce.demo_multitask import BATCH_SIZE, LR, MultitaskPlan, multitask_plan
from gapmin.reproduce.demo_multitask_page import GAPMTNN, UNIFORM
from gapmin.reproduce.demo_page import (
    BOTH,
    GAPBOOST,
    TARGET_ONLY,
    comparison_report,
    findings,
    headline,
    source_gap_findings,
    source_gap_tables,
    tables,
)
from gapmin.reproduce.demo_source_gaps import SourceGap, gap_findings, gap_section

rng = np.random.default_rng(0)


def _problem(name, task, n_sources=1):
    def domain(n, shift):
        X = rng.normal(size=(n, 3))
        y = X @ [1.0, shift, 0.3] + 0.3 * rng.normal(size=n)
        return X, (y > 0).astype(int) if task == "classification" else y

    sources = tuple(domain(40, 0.5) for _ in range(n_sources))
    return TransferProblem(name, domain(60, -0.5), sources, task=task, train_size=12, description="a toy")


PROBLEMS = [_problem("<script>toy", "classification"), _problem("line", "regression", n_sources=2)]


def _images(n, shift):
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 1, 28, 28)).astype(np.float32)
    X[:, 0, 5:12, 5 + shift : 12 + shift] += 2 * y[:, None, None]
    return X, np.array(["no", "yes"])[y]


# Not in the order of their names, as the network has them.
MULTITASK = MultitaskPlan(
    MultitaskProblem("marks", {"<b>right": _images(60, 4), "<a>left": _images(50, 0)}, train_size=20), 16, epochs=2
)


def _run(n_jobs):
    shares = []
    comparison = run_demo(
        PROBLEMS,
        curve=PROBLEMS[:1],
        curve_sizes=(10, 20),
        gaps=PROBLEMS,
        n_permutations=9,
        multitask=MULTITASK,
        n_splits=2,
        n_jobs=n_jobs,
        on_progress=lambda share, n_fits: shares.append(share),
    )
    return comparison, shares


@pytest.fixture(scope="module")
def run():
    return _run(1)


@pytest.fixture(scope="module")
def comparison(run):
    return run[0]


def test_every_method_meets_every_split_once(comparison):
    seen = [(cell.problem, cell.method, cell.split) for cell in comparison.cells]
    assert len(set(seen)) == len(seen) == 2 * (len(CLASSIFIERS) + len(REGRESSORS))
    assert {cell.n_target for cell in comparison.cells} == {12}
    assert [cell.n_target for cell in comparison.curve].count(10) == 2 * len(CLASSIFIERS)


def test_progress_rises_to_the_end(run):
    comparison, shares = run
    n_fits = len(comparison.cells) + len(comparison.curve) + len(comparison.multitask.fits)
    assert len(shares) == n_fits + len(comparison.gaps)
    assert (np.diff(shares) > 0).all()
    assert shares[-1] == pytest.approx(1)


def test_errors_are_those_of_the_target_rows_that_did_not_train(comparison):
    for problem, methods in zip(PROBLEMS, (CLASSIFIERS, REGRESSORS), strict=True):
        split = list(problem.splits(2))[1]
        booster = methods[-1].estimator.set_params(random_state=1)
        booster.fit(split.X, split.y, sample_domain=split.sample_domain)
        difference = booster.predict(split.X_test) - split.y_test
        expected = (
            100 * np.mean(difference != 0) if problem.task == "classification" else np.sqrt(np.mean(difference**2))
        )
        assert comparison.results().errors(problem.name, methods[-1].label)[1] == pytest.approx(expected)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(comparison):
    def timeless(cells):
        return [replace(cell, seconds=0) for cell in cells]

    other, _ = _run(2)
    assert timeless(other.cells) == timeless(comparison.cells)
    assert timeless(other.curve) == timeless(comparison.curve)
    assert other.gaps == comparison.gaps
    for one, two in zip(comparison.traces, other.traces, strict=True):
        np.testing.assert_array_equal(one.mass, two.mass)
    for one, two in zip(comparison.multitask.fits, other.multitask.fits, strict=True):
        assert (one.method, one.split, one.errors) == (two.method, two.split, two.errors)
        np.testing.assert_array_equal(one.losses, two.losses)
        np.testing.assert_array_equal(one.relations, two.relations)


def test_tables_hold_the_means_of_the_cells(comparison):
    classification, regression = tables(comparison)
    assert classification.rows[0][0].text == "<script>toy"
    for table, problem in ((classification, "<script>toy"), (regression, "line")):
        means = {}
        for method, entry in zip(table.header[1:], table.rows[0][1:], strict=True):
            means[method] = np.mean([c.error for c in comparison.cells if (c.problem, c.method) == (problem, method)])
            assert float(entry.text) == pytest.approx(means[method], rel=0.01)
        bold = {method for method, entry in zip(table.header[1:], table.rows[0][1:], strict=True) if entry.best}
        assert bold == {method for method, mean in means.items() if mean == min(means.values())}


def test_words_count_what_the_tables_show(comparison):
    results = Results(comparison.cells)
    wins = {
        baseline: sum(results.mean(p.name, GAPBOOST) < results.mean(p.name, baseline) for p in PROBLEMS)
        for baseline in (BOTH, TARGET_ONLY)
    }
    assert f"together on {wins[BOTH]} of 2 problems" in headline(comparison)
    assert f"alone on {wins[TARGET_ONLY]} of 2" in headline(comparison)
    assert any(said.startswith(f"gapBoost beats {BOTH} on {wins[BOTH]} of 2") for said in findings(comparison))


@pytest.mark.parametrize("baseline", [BOTH, TARGET_ONLY])
def test_a_baseline_that_wins_is_named(comparison, baseline):
    cells = [replace(c, error=0.001) if c.method == baseline else c for c in comparison.cells]
    said = findings(replace(comparison, cells=cells))
    assert f"A plain baseline, {baseline}, has the lowest mean error on “<script>toy” and “line”." in said


def test_report_has_all_figures_and_escapes_the_names_of_problems(comparison):
    page = render_html(comparison_report(comparison, "demo", ["One rule."]))
    # One curve; mass and disagreement of one problem; gaps of classes and of numbers; three of the networks.
    assert page.count("<svg ") == 8
    assert "<script" not in page
    assert "<b>right" not in page
    assert "&lt;script&gt;toy" in page
    assert "torch 2" in page
    assert "One rule." in page
    assert "scikit-learn" in page


def test_one_split_and_no_curve_is_a_report_too():
    comparison = run_demo(PROBLEMS[1:], n_splits=1, n_jobs=1)
    page = render_html(comparison_report(comparison, "demo"))
    assert "±" not in page
    assert "nan" not in page.lower().replace("nanum", "")
    assert "torch" not in page
    assert GAPMTNN not in page


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


def test_every_source_has_its_gap_to_the_training_rows_of_the_first_split(comparison):
    assert [(gap.problem, gap.source) for gap in comparison.gaps] == [("<script>toy", 1), ("line", 1), ("line", 2)]
    assert [gap.name for gap in comparison.gaps] == ["<script>toy", "line, source 1", "line, source 2"]
    for gap in comparison.gaps:
        problem = {each.name: each for each in PROBLEMS}[gap.problem]
        split = problem.split(0)
        rows = np.isin(split.sample_domain, [-1, gap.source])
        X, y, domain = StandardScaler().fit_transform(split.X[rows]), split.y[rows], split.sample_domain[rows]
        model = InstanceWeightingClassifier(gamma=0.5)
        if problem.task == "regression":
            model = InstanceWeightingRegressor(gamma=0.5)
            y = (y - y[domain < 0].mean()) / y[domain < 0].std()
        expected = model.fit(X, y, sample_domain=domain).gap_
        assert gap.parts == pytest.approx(expected.parts, rel=1e-5)
        assert gap.value == pytest.approx(expected.value, rel=1e-5)
        assert 0.1 <= gap.p_value <= 1
        assert gap.by_chance > 0


def test_gaps_of_numbers_do_not_depend_on_their_unit():
    problem = PROBLEMS[1]
    other = replace(
        problem,
        target=(problem.X_target, 7 + 1000 * problem.y_target),
        sources=tuple((X, 7 + 1000 * y) for X, y in problem.sources),
    )
    one, two = (run_demo([], gaps=[each], n_permutations=2, n_splits=0, n_jobs=1).gaps for each in (problem, other))
    assert [gap.value for gap in one] == pytest.approx([gap.value for gap in two], rel=1e-4)


def test_several_classes_are_taken_one_against_the_rest():
    problem = _problem("three", "regression")
    thirds = [(X, np.digitize(y, [-0.5, 0.5])) for X, y in (problem.target, *problem.sources)]
    problem = TransferProblem("three", thirds[0], tuple(thirds[1:]), task="classification", train_size=20)
    (gap,) = run_demo([], gaps=[problem], n_splits=0, n_jobs=1).gaps
    split = problem.split(0)
    X = StandardScaler().fit_transform(split.X)
    model = InstanceWeightingClassifier(gamma=0.5)
    each = [model.fit(X, split.y == label, sample_domain=split.sample_domain).gap_.value for label in range(3)]
    assert gap.value == pytest.approx(np.mean(each), rel=1e-5)
    assert np.isnan(gap.p_value)
    said = " ".join(gap_section([gap], Results([]), BOTH, TARGET_ONLY).text)
    assert "With 3 classes the gap is the mean over the classes" in said


def test_networks_are_measured_on_the_rows_that_did_not_train(comparison):
    from gapmin.deep import GapMTNNClassifier, MultitaskClassifier

    found = comparison.multitask
    assert [(fit.method, fit.split) for fit in found.fits] == [(UNIFORM, 0), (GAPMTNN, 0), (UNIFORM, 1), (GAPMTNN, 1)]
    assert found.n_test == {"<b>right": 60 - 16, "<a>left": 50 - 16}
    split = MULTITASK.problem.split(1, 16)
    for fit, network in zip(found.fits[2:], (MultitaskClassifier("uniform"), GapMTNNClassifier()), strict=True):
        network.set_params(epochs=2, lr=LR, batch_size=BATCH_SIZE, random_state=1)
        network.fit(split.X, split.y, sample_task=split.sample_task)
        for task, error in fit.errors.items():
            rows = split.sample_task_test == task
            right = network.score(split.X_test[rows], split.y_test[rows], sample_task=split.sample_task_test[rows])
            assert error == pytest.approx(100 * (1 - right))
        last = network.history_[-1]["task_loss"]
        assert fit.losses[-1] == pytest.approx([last["<b>right"], last["<a>left"]], rel=1e-4)
    assert network.tasks_.tolist() == ["<a>left", "<b>right"]
    np.testing.assert_allclose(found.fits[3].relations[-1], network.relation_[::-1, ::-1], rtol=1e-4)
    assert found.fits[2].relations is None


def test_networks_give_back_the_threads_they_found():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        run_demo([], multitask=MULTITASK, n_splits=1, n_jobs=1)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_the_plan_of_the_demo_says_what_it_changes():
    whole, quick = multitask_plan(), multitask_plan(quick=True)
    assert list(whole.problem.tasks) == ["mnist", "mnist_m", "digits"]
    assert whole.train_size == whole.problem.train_size
    assert f"{whole.epochs} epochs" in whole.protocol
    assert "the defaults are 120, 64 and 0.0002" in whole.protocol
    efforts = [plan.steps(0)[0].effort for plan in (whole, quick)]
    assert efforts[1] < efforts[0] / 3
    assert list(quick.problem.tasks) == list(whole.problem.tasks)
    for _, y in quick.problem.tasks.values():
        assert np.bincount(y).min() >= 30  # enough of every digit to train and to test


def test_the_table_of_gaps_shows_parts_and_what_the_sources_did(comparison):
    (table,) = source_gap_tables(comparison)
    results = comparison.results()
    for row, gap in zip(table.rows, comparison.gaps, strict=True):
        shown = [entry.text for entry in row]
        assert shown[0] == gap.name
        assert shown[1:4] == [f"{value:.2f}" for value in (gap.value, gap.parts["source"], gap.parts["target"])]
        ratio = results.mean(gap.problem, BOTH) / results.mean(gap.problem, TARGET_ONLY)
        assert shown[-1] == (f"{ratio:.2f}" if gap.source == 1 else "")  # once a problem: its sources are pooled
    assert source_gap_tables(replace(comparison, gaps=[])) == []


def _league(gaps, ratios):
    """Gaps and error ratios of as many problems."""
    found = [
        SourceGap(f"p{k}", "regression", 1, 1, {"source": gap, "target": 0.0}, 0, 0.1, 0.01)
        for k, gap in enumerate(gaps)
    ]
    cells = [
        Cell(f"p{k}", method, 0, error, 0.0)
        for k, ratio in enumerate(ratios)
        for method, error in ((BOTH, ratio), (TARGET_ONLY, 1.0))
    ]
    return gap_findings(found, Results(cells), BOTH, TARGET_ONLY)


def test_words_say_whether_gap_and_harm_go_together():
    gaps = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert "without them go together (rank correlation 1.00" in _league(gaps, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])[1]
    assert "go opposite ways" in _league(gaps, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5])[1]
    assert "do not clearly go together" in _league(gaps, [0.7, 0.9, 0.5, 0.8, 0.6, 1.0])[1]
    assert "for 6 of the 6 sources tested" in _league(gaps, [1.0] * 6)[0]
    few = _league([0.1, 0.9], [1.5, 0.5])[1]
    assert f"the error of {BOTH} is above that of {TARGET_ONLY} on “p0”" in few
    assert "the largest gap is that of “p1”, where the first error is 0.50 times the second" in few


def test_gap_words_of_a_run_are_whole_sentences(comparison):
    said = source_gap_findings(comparison)
    assert len(said) == 3
    assert all(each.endswith(".") for each in said)
