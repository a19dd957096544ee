"""The benchmark of the rule: what its sources are changed to, what its rivals do, and what its report says, by hand."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter

import numpy as np
import pytest
from benchmarks.league import __main__ as command
from benchmarks.league import measure, problems
from benchmarks.league.measure import ALONE, ALONE_OLD, LEAVE_OUT, OURS, OURS_OLD, make
from benchmarks.league.problems import row_name, variants_for, with_fewer_rows, with_variant
from benchmarks.league.report import (
    Mean,
    Results,
    asked_table,
    calibration_table,
    error_table,
    league_section,
    log_ratio,
    near_lowest,
    regrets,
)
from benchmarks.league.rivals import BOOSTED, RIVALS, Candidate, CrossValidated, augmented, make_rival, with_domain
from sklearn.linear_model import Ridge

from gapmin.datasets import TransferProblem
from gapmin.reproduce.cells import Measured, Outcome, cell
from gapmin.reproduce.store import Store


def problem(task, y):
    X = np.arange(32.0).reshape(4, 8)
    return TransferProblem("tiny", (X, np.array(y)), ((X, np.array(y)),), task=task, train_size=3)


def random_problem(task="regression", n=60, name="random"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X.sum(axis=1)
    y = y if task == "regression" else (y > 0).astype(int)
    return TransferProblem(name, (X, y), ((X + 0.01, y),), task, 20)


def test_reversed_labels():
    assert with_variant(problem("classification", [0, 1, 0, 1]), "labels", 0).y_source.tolist() == [1, 0, 1, 0]
    assert with_variant(problem("classification", [0, 1, 2, 2]), "labels", 0).y_source.tolist() == [1, 2, 0, 0]
    assert with_variant(problem("regression", [0.0, 1.0, 2.0, 5.0]), "labels", 0).y_source.tolist() == [4, 3, 2, -1]
    honest = random_problem()
    turned = with_variant(honest, "labels", 0)
    before, after = (np.corrcoef(each.X_source[:, 0], each.y_source)[0, 1] for each in (honest, turned))
    assert after == pytest.approx(-before)


def test_permuted_columns_keep_labels_and_target():
    honest = problem("classification", [0, 1, 0, 1])
    bad = with_variant(honest, "features", 1)
    assert not np.array_equal(bad.X_source, honest.X_source)
    assert np.array_equal(np.sort(bad.X_source), np.sort(honest.X_source))
    assert np.array_equal(bad.y_source, honest.y_source)
    assert np.array_equal(bad.X_target, honest.X_target)


def test_sources_of_another_level():
    honest = random_problem()
    shifted, scaled = (with_variant(honest, each, 0) for each in ("shifted", "scaled"))
    np.testing.assert_allclose(shifted.y_source.mean(), honest.y_source.mean() + honest.y_source.std())
    np.testing.assert_allclose(shifted.y_source.std(), honest.y_source.std())
    np.testing.assert_allclose(scaled.y_source, 3 * honest.y_source)
    assert np.array_equal(scaled.y_target, honest.y_target)
    with pytest.raises(ValueError, match="its labels are classes"):
        with_variant(random_problem("classification"), "shifted", 0)


def test_variants_alternate_with_the_seed():
    assert variants_for("regression", 100) == ("none", "labels", "shifted")
    assert variants_for("regression", 101) == ("none", "features", "scaled")
    assert variants_for("classification", 101) == ("none", "features")


def test_source_rows_are_drawn_by_the_seed():
    whole = random_problem()
    few, again, other = (with_fewer_rows(whole, 10, seed) for seed in (1, 1, 2))
    assert few.y_source.size == 10
    assert np.array_equal(few.X_source, again.X_source)
    assert not np.array_equal(few.X_source, other.X_source)
    assert with_fewer_rows(whole, 60, 0) is whole


@pytest.mark.parametrize(
    ("load", "names", "n_source"),
    [
        (problems.wine, ["wine red -> white", "wine red -> white, good"], 1599),
        (problems.parkinsons, ["Parkinsons motor, patients 1 to 7", "Parkinsons total, patients 1 to 7"], 4827),
        (problems.schools, ["school 30", "school 72"], 15111),
    ],
)
def test_tables_are_read(load, names, n_source):
    try:
        found = list(load())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert [each.name for each in found[:2]] == names
    assert found[0].y_source.size == n_source
    for each in found:
        assert np.isfinite(each.X_target).all()
        assert each.y_target.size + each.y_source.size in (6497, 5875, 15362)
        assert 10 <= each.train_size <= 50


def test_what_has_no_file_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    monkeypatch.setenv("GAPMIN_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"winequality-red\.csv: put it in the folder"):
        list(problems.wine())


def test_the_row_of_a_problem():
    assert row_name("W -> A, 9 vs 10 (Office-Caltech, as they are)") == "W -> A (Office-Caltech, as they are)"
    assert row_name("rec vs sci (20 Newsgroups)") == "rec vs sci (20 Newsgroups)"
    assert row_name("digits -> mnist, odd") == "digits -> mnist, odd"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_method_can_be_made(task):
    spec = importlib.util.find_spec("gapmin.selection")
    old = [OURS_OLD, ALONE_OLD] if spec and spec.submodule_search_locations else []
    for name in (OURS, ALONE, *old, *RIVALS):
        assert hasattr(make(name, task, 0), "fit")
    assert make(ALONE, task, 0).sources == "none"


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", RIVALS)
def test_rivals_learn(task, name):
    split = random_problem(task).split(0)
    model = make_rival(name, task, 0).fit(split.X, split.y, sample_domain=split.sample_domain)
    error = random_problem(task).error(split.y_test, model.predict(split.X_test))
    assert error < (30 if task == "classification" else split.y_test.std())


def test_columns_of_rivals():
    X, is_target = np.array([[2.0], [3.0]]), np.array([True, False])
    assert with_domain(X, is_target).tolist() == [[2, 1], [3, 0]]
    assert augmented(X, is_target).tolist() == [[2, 1, 0, 0, 2, 1], [3, 1, 3, 1, 0, 0]]


def test_the_candidate_with_the_lowest_held_out_error_is_taken():
    # The labels of the source are reversed: what gives it hardly any weight is right, what gives it half is not.
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(230, 2)), np.repeat([-1, 1], [30, 200])
    y = X[:, 0] * -np.sign(domain)
    trusting, wary = Candidate(Ridge(1e-6), 0.5), Candidate(Ridge(1e-6), 0.999)
    model = CrossValidated([trusting, wary], False).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(model.predict(X[:5]), X[:5, 0], atol=0.02)


@pytest.fixture
def two_problems(monkeypatch):
    found = {"numbers": random_problem(name="numbers"), "classes": random_problem("classification", name="classes")}
    monkeypatch.setattr(problems, "problems", lambda: found)
    monkeypatch.setattr(measure, "problems", lambda: found)


@pytest.mark.usefixtures("two_problems")
def test_cells_go_seed_by_seed():
    found = measure.cells("new", [100, 101])
    assert [each.seed for each in found] == sorted(each.seed for each in found)
    counts = Counter((each.method, each.values["variant"]) for each in found)
    assert counts == {
        **{(method, "none"): 4 for method in (OURS, ALONE)},
        **{(method, variant): 2 for method in (OURS, ALONE) for variant in ("labels", "features")},
        (OURS, "shifted"): 1,
        (OURS, "scaled"): 1,
    }
    old = measure.cells("old", [100])
    assert {(each.method, each.values["variant"]) for each in old} == {(OURS_OLD, "none")}
    rivals = measure.cells("rivals", [100])
    assert Counter(each.values["variant"] for each in rivals) == {"none": 2 * len(RIVALS), "shifted": len(RIVALS)}


@pytest.mark.usefixtures("two_problems")
def test_a_run_goes_on_where_it_stopped(monkeypatch, tmp_path, capsys):
    asked = ["league", "run", "--rule", "rivals", "--seeds", "100:101", "--cells", str(tmp_path), "--only", "classes"]
    monkeypatch.setattr(sys, "argv", [*asked, "--limit", "2"])
    command.main()
    assert len(Store(tmp_path / "rivals").read().outcomes) == 2
    monkeypatch.setattr(sys, "argv", asked)
    command.main()
    assert f"1 of {len(RIVALS) - 2}: " in capsys.readouterr().out
    found = Store(tmp_path / "rivals").read().outcomes.values()
    assert len(found) == len(RIVALS)
    assert not any(each.failure for each in found)
    monkeypatch.setattr(sys, "argv", ["league", "report", "--cells", str(tmp_path), "--out", str(tmp_path / "out")])
    command.main()
    assert "**The problem's own source**" in (tmp_path / "out" / "league.md").read_text()


@pytest.mark.usefixtures("two_problems")
def test_one_evaluation_gives_the_errors_of_three_fits():
    problem, split = problems.draw("numbers", "labels", 100)
    ours, alone = (measure.measure(cell("league", "numbers", each, 0, 100, variant="labels")) for each in (OURS, ALONE))
    seed = cell("league", "numbers", OURS, 0, 100).random_state
    errors = {}
    for choice in ("auto", "none", "all"):
        model = make(OURS, problem.task, seed).set_params(sources=choice)
        model.fit(split.X, split.y, sample_domain=split.sample_domain)
        errors[choice] = problem.error(split.y_test, model.predict(split.X_test))
    assert (ours.error, alone.error) == pytest.approx((errors["auto"], errors["none"]))
    assert ours.extra["error_with_source"] == pytest.approx(errors["all"])
    assert ours.n_train == 20
    assert 0 <= ours.extra["weight"] <= 1


def outcome(name, method, seed, error, variant="none", n_train=25, **extra):
    made = cell("league", name, method, 0, seed, variant=variant)
    known = {"seconds": 2.0, "commit": "abc", **extra}
    return Outcome(made, Measured(error, n_train=n_train, n_test=10, extra=known), "", 0.0, "")


def said(weight, verdict, **more):
    return {"weight": weight, "verdict": verdict, **more}


FOUND = [
    # Two problems, two seeds; the means of p are 5 and 10, those of q 8 and 4.
    *(outcome("p", OURS, seed, error, **said(0.99, "use")) for seed, error in ((0, 4.0), (1, 6.0))),
    *(outcome("p", ALONE, seed, error) for seed, error in ((0, 9.0), (1, 11.0))),
    *(outcome("q", OURS, seed, error, **said(0.9, "use")) for seed, error in ((0, 7.0), (1, 9.0))),
    *(outcome("q", ALONE, seed, error) for seed, error in ((0, 4.0), (1, 4.0))),
    *(outcome(name, OURS_OLD, seed, 5.0, weight=0.5, transfers=True) for name in "pq" for seed in (0, 1)),
    # Reversed labels: regrets of 0 and +25%, one weight above a half.
    outcome("p", OURS, 0, 9.0, "labels", **said(0.04, LEAVE_OUT, error_with_source=12.0)),
    outcome("p", ALONE, 0, 9.0, "labels"),
    outcome("q", OURS, 0, 5.0, "labels", 10, **said(0.6, "not enough evidence")),
    outcome("q", ALONE, 0, 4.0, "labels", 10),
    # Permuted columns: -10% and +50%; one is used, and harms; the other would have helped.
    outcome("p", OURS, 1, 9.0, "features", **said(0.02, LEAVE_OUT, error_with_source=8.0)),
    outcome("p", ALONE, 1, 10.0, "features"),
    outcome("q", OURS, 1, 6.0, "features", **said(0.97, "use")),
    outcome("q", ALONE, 1, 4.0, "features"),
    # Another level, whose target alone is that of the honest source.
    outcome("p", OURS, 0, 4.5, "shifted", **said(0.99, "use")),
    outcome("p", BOOSTED, 0, 9.0, "shifted"),
]


def test_ratios_are_of_means_over_the_same_seeds():
    results = Results(FOUND)
    found = log_ratio(results, "none", OURS, ALONE)
    assert found.value == pytest.approx((np.log(0.5) + np.log(2)) / 2, abs=1e-12)
    assert found.error == pytest.approx(np.log(2))  # of -log 2 and log 2: their deviation, sqrt(2) log 2, over sqrt(2)
    assert log_ratio(results, "none", OURS, OURS_OLD).value == pytest.approx(np.log(1.6) / 2)
    assert log_ratio(results, "shifted", OURS, ALONE).value == pytest.approx(np.log(4.5 / 9))
    assert log_ratio(results, "shifted", OURS, BOOSTED).value == pytest.approx(np.log(0.5))
    less = [each for each in FOUND if (each.cell.method, each.cell.seed, each.cell.problem) != (ALONE, 1, "p")]
    assert Results(less).errors("none", (OURS, ALONE))["p"][OURS].tolist() == [4.0]
    assert log_ratio(results, "scaled", OURS, ALONE).n == 0


def test_regrets():
    assert [each.tolist() for each in regrets(Results(FOUND), "labels", OURS)] == [[0.0], [0.25]]
    assert [each.tolist() for each in regrets(Results(FOUND), "none", OURS)] == [[-0.5, -0.5], [0.75, 1.25]]


def test_near_the_lowest_is_within_the_standard_error_of_the_difference():
    # On p the old rule has 5 and 5, ours 4 and 6: equal means. On q ours is above by 2 and 4, standard error 1.
    results = Results(FOUND)
    assert near_lowest(results, "none", OURS, (OURS, OURS_OLD)) == [True, False]
    assert near_lowest(results, "none", OURS_OLD, (OURS, OURS_OLD)) == [True, True]
    # 9 and 11 against 4 and 6 is 5 above with no spread; against 4, 4 lowest on q.
    assert near_lowest(results, "none", ALONE, (OURS, ALONE)) == [False, True]


def entries(table):
    """The entries of each row, by heading and name."""
    return {(part.heading, row[0].text): [str(each) for each in row[1:]] for part in table.parts for row in part.rows}


def test_what_was_asked():
    found = entries(asked_table(Results(FOUND)))
    honest, labels, features = "The problem's own source", "Reversed labels", "Permuted columns"
    assert found[honest, "log-ratio of the error to the old rule's"][1:] == ["+0.235 ±0.24 (2)", "-"]
    assert found[honest, "lowest or near, among all"][1:] == ["50.0% of 2", "50.0% of 2"]
    assert found[honest, "lowest or near, the old rule not counted"][1:] == ["50.0% of 2", "-"]
    assert found[labels, "mean regret against the own target alone"][1] == "+12.5% ±12 (2)"
    assert found[labels, "weight below a half, 25 rows or more"][1] == "100.0% of 1"
    assert found[labels, "weight at most 0.05, 25 rows or more"][1] == "100.0% of 1"
    assert found[labels, "weight below a half, 10 rows"][1] == "0.0% of 1"
    assert found[features, "mean regret against the own target alone"][1] == "+20% ±30 (2)"
    assert found[features, "where the worst tenth of regrets begins"][1] == "+44%"
    assert found[features, "verdict “use”"][1] == "50.0% of 2"
    level = "Labels plus one standard deviation"
    assert found[level, "log-ratio to the own target alone"][1:] == ["-0.693 (1)", "-"]
    assert found[level, f"log-ratio to {BOOSTED}"][1] == "-0.693 (1)"


def test_calibration():
    found = entries(calibration_table(Results(FOUND)))
    used, left = "Verdict “use”: the source helped", "Verdict “leave out”: the source would have helped"
    assert found[used, "all"] == ["50.0% of 6", "0.0% of 6"]  # p twice and shifted; not q twice, nor permuted
    assert found[used, "Permuted columns"] == ["0.0% of 1", "0.0% of 1"]
    assert found[left, "all"] == ["50.0% of 2", "0.0% of 2"]
    assert found[left, "Reversed labels"] == ["0.0% of 1", "0.0% of 1"]
    assert found[left, "Permuted columns"] == ["100.0% of 1", "0.0% of 1"]


def test_pairs_of_classes_are_one_row_with_the_mean_of_each_seed():
    names = ("A -> C, 1 vs 2 (x)", "A -> C, 3 vs 4 (x)")
    fits = [outcome(name, OURS, seed, error) for name, error in zip(names, (1.0, 5.0), strict=True) for seed in (0, 1)]
    assert Results(fits).errors("none", (OURS,))["A -> C (x)"][OURS].tolist() == [3.0, 3.0]
    assert Results(fits[:-1]).errors("none", (OURS,))["A -> C (x)"][OURS].tolist() == [3.0, 1.0]
    failed = Outcome(fits[-1].cell, None, "no", 0.0, "")
    assert Results([*fits[:-1], failed]).errors("none", (OURS,))["A -> C (x)"][OURS].tolist() == [3.0, 1.0]
    both = [*fits, outcome(names[0], ALONE, 0, 7.0)]
    found = Results(both).errors("none", (OURS, ALONE))["A -> C (x)"]
    assert {method: errors.tolist() for method, errors in found.items()} == {OURS: [1.0], ALONE: [7.0]}


def test_each_seed_draws_one_pair_of_classes_of_a_row(monkeypatch):
    names = [f"A -> C, {k} vs {k + 1} (x)" for k in (1, 3, 5)] + ["friedman"]
    monkeypatch.setattr(problems, "problems", lambda: dict.fromkeys(names))
    drawn = [problems.problems_for(seed) for seed in range(40)]
    assert all(sorted(map(row_name, each)) == ["A -> C (x)", "friedman"] for each in drawn)
    assert set().union(*drawn) == set(names)
    assert drawn == [problems.problems_for(seed) for seed in range(40)]


def test_the_lowest_error_is_bold():
    table = error_table(Results(FOUND), "none")
    assert table.header == ["", "seeds", OURS, ALONE, OURS_OLD]
    assert [[each.best for each in row[2:]] for row in table.rows] == [[True, False, True], [False, True, False]]
    assert str(table.rows[0][2]) == "5.00 ±1.0"


def test_the_section_of_any_part_of_the_run():
    section = league_section(FOUND)
    assert [table.caption for table in section.tables][:2] == ["What was asked", "Calibration of the verdicts"]
    assert len(section.figures) == 3
    assert any("9 fits, 2.0 processor seconds a fit" in each for each in section.points)
    assert league_section([]).figures == []
    assert Mean.of([]).entry().text == "-"
