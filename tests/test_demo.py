import io
from dataclasses import replace

import numpy as np
import pytest

from gapmin.datasets import TransferProblem
from gapmin.demo import CLASSIFIERS, REGRESSORS, progress_on, run_demo
from gapmin.report import Results, render_html
from gapmin.report.comparison import BOTH, GAPBOOST, TARGET_ONLY, comparison_report, findings, headline, tables

rng = np.random.default_rng(0)


def _problem(name, task, n_sources=1):
    def domain(n, shift):
        X = rng.normal(size=(n, 3))
        y = X @ [1.0, shift, 0.3] + 0.3 * rng.normal(size=n)
        return X, (y > 0).astype(int) if task == "classification" else y

    sources = tuple(domain(40, 0.5) for _ in range(n_sources))
    return TransferProblem(name, domain(60, -0.5), sources, task=task, train_size=12, description="a toy")


PROBLEMS = [_problem("<script>toy", "classification"), _problem("line", "regression", n_sources=2)]


def _run(n_jobs):
    shares = []
    comparison = run_demo(
        PROBLEMS,
        curve=PROBLEMS[:1],
        curve_sizes=(10, 20),
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
    assert len(shares) == len(comparison.cells) + len(comparison.curve)
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


def test_the_number_of_processes_changes_nothing(comparison):
    def timeless(cells):
        return [replace(cell, seconds=0) for cell in cells]

    other, _ = _run(2)
    assert timeless(other.cells) == timeless(comparison.cells)
    assert timeless(other.curve) == timeless(comparison.curve)
    for one, two in zip(comparison.traces, other.traces, strict=True):
        np.testing.assert_array_equal(one.mass, two.mass)


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
    assert page.count("<svg ") == 3  # one curve; mass and disagreement of one problem
    assert "<script" not in page
    assert "&lt;script&gt;toy" in page
    assert "One rule." in page
    assert "scikit-learn" in page


def test_one_split_and_no_curve_is_a_report_too():
    comparison = run_demo(PROBLEMS[1:], n_splits=1, n_jobs=1)
    page = render_html(comparison_report(comparison, "demo"))
    assert "±" not in page
    assert "nan" not in page.lower().replace("nanum", "")


def test_progress_is_plain_lines_off_a_terminal():
    from rich.console import Console

    stream = io.StringIO()
    with progress_on(Console(file=stream), "fits") as on_progress:
        for done in range(1, 51):
            on_progress(done / 50, 50)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("fits: 20% of 50 fits")
    assert "\x1b" not in stream.getvalue()
