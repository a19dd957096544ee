"""The league: what is poisoned how, and what its table says, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.league.problems import METHODS, OURS, TARGET_ONLY, make, methods_for, poisoned, row_name
from benchmarks.league.tables import findings, league_section, rows_of, significantly_worse

from gapmin.datasets import TransferProblem
from gapmin.reproduce.cells import Measured, Outcome, cell


def problem(task, y):
    X = np.arange(32.0).reshape(4, 8)
    return TransferProblem("tiny", (X, np.array(y)), ((X, np.array(y)),), task=task, train_size=3)


def test_poisoned_labels():
    assert poisoned(problem("classification", [0, 1, 0, 1]), "labels", 0).y_source.tolist() == [1, 0, 1, 0]
    assert poisoned(problem("classification", [0, 1, 2, 2]), "labels", 0).y_source.tolist() == [1, 2, 0, 0]
    assert poisoned(problem("regression", [0.0, 1.0, 2.0, 5.0]), "labels", 0).y_source.tolist() == [4, 3, 2, -1]


def test_poisoned_features_move_between_columns_and_labels_stay():
    honest = problem("classification", [0, 1, 0, 1])
    bad = poisoned(honest, "features", 1)
    assert not np.array_equal(bad.X_source, honest.X_source)
    assert np.array_equal(np.sort(bad.X_source), np.sort(honest.X_source))
    assert np.array_equal(bad.y_source, honest.y_source)
    assert np.array_equal(bad.X_target, honest.X_target)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_method_can_be_made(task):
    for name in methods_for(task):
        assert hasattr(make(name, task, 0), "fit")
    assert ("TransferBoost" in methods_for(task)) == (task == "classification")


def outcomes(errors, poison="none", source_weight=0.0, name="p"):
    """`errors`: for each method of one problem, its error on each split."""
    return [
        Outcome(
            cell("league", name, method, split, 0, poison=poison),
            Measured(error, n_train=90, n_test=10, extra={"source_weight": source_weight} if method == OURS else {}),
            "",
            0.0,
            "",
        )
        for method, found in errors.items()
        for split, error in enumerate(found)
    ]


ERRORS = {method: [20.0, 30.0, 25.0] for method in METHODS}


def test_near_the_best_is_within_its_standard_error():
    # The best has mean 10 and standard error 1 / sqrt(3) = 0.577.
    best = {**ERRORS, "pooled": [9.0, 10.0, 11.0]}
    (near,) = rows_of(outcomes({**best, OURS: [10.5, 10.5, 10.5]}), False)
    (far,) = rows_of(outcomes({**best, OURS: [10.6, 10.6, 10.6]}), False)
    assert near.best_but(OURS) == "pooled"
    assert near.is_near_best()
    assert not far.is_near_best()
    np.testing.assert_allclose(near.regret, [-9.5 / 25, -19.5 / 25, -14.5 / 25])


def test_level_with_the_best_is_within_the_standard_error_of_the_difference():
    best = {**ERRORS, "pooled": [9.0, 10.0, 11.0]}
    # Differences 0, 0, 1.2 have mean 0.4 and standard error 0.4; -0.6, 0.4 and 1.6 have 0.467 and 0.635.
    rows = rows_of(outcomes({**best, OURS: [9.0, 10.0, 12.2]}), False)
    assert rows[0].is_level_with_best
    assert rows_of(outcomes({**best, OURS: [8.4, 10.4, 12.6]}), False)[0].is_level_with_best
    (far,) = rows_of(outcomes({**best, OURS: [9.3, 10.4, 11.5]}), False)
    assert far.is_near_best()
    assert not far.is_level_with_best
    assert "not that of the best itself, on 1)" in findings(rows, False)[3]


def test_the_mean_regret_has_a_standard_error_over_the_splits():
    # Shares of 25: 0.04, 0, -0.04 on one problem and 0.04 on the other: 0.04, 0.02, 0 in the mean of both.
    one, other = [21.0, 30.0, 24.0], [21.0, 31.0, 26.0]
    found = [*outcomes({**ERRORS, OURS: one}, name="p"), *outcomes({**ERRORS, OURS: other}, name="q")]
    said = "is 2.0% (standard error over the splits 1.2) above that of the target alone in the mean"
    assert said in findings(rows_of(found, False), False)[1]
    shorter = [each for each in found if each.cell.problem == "p" or each.cell.split < 2]  # no split's mean over both
    assert "is 2.0% above that of the target alone" in findings(rows_of(shorter, False), False)[1]


def test_the_others_are_asked_the_same():
    # Pooled is the lowest; the next is ours, with no spread, so that nothing else is near.
    rows = rows_of(outcomes({**ERRORS, "pooled": [9.0, 10.0, 11.0], OURS: [10.6, 10.6, 10.6]}), False)
    (row,) = rows
    assert row.best_but("pooled") == OURS
    assert row.is_near_best("pooled")
    assert not row.is_near_best("gapBoost")
    assert "pooled 1, target only 0" in findings(rows, False)[-1]


def test_significantly_worse_is_found_and_said():
    rows = rows_of(outcomes({**ERRORS, OURS: [24.0, 34.0, 29.01]}), False)
    assert significantly_worse(rows) == ["p"]
    assert "on 1 of 1 problems: “p”" in findings(rows, False)[0]
    better = rows_of(outcomes({**ERRORS, OURS: [16.0, 26.0, 21.01]}), False)
    assert significantly_worse(better) == []


def test_a_split_that_is_not_complete_does_not_count():
    (row,) = rows_of(outcomes({**ERRORS, TARGET_ONLY: [20.0, 30.0]}), False)
    assert row.dropped.size == 2


def test_pairs_of_classes_are_one_row_with_the_mean_of_each_split():
    one, other = ({**ERRORS, OURS: errors} for errors in ([1.0, 2.0, 3.0], [5.0, 4.0, 9.0]))
    found = [
        *outcomes(one, "labels", source_weight=0.0, name="A -> C, 1 vs 2 (x)"),
        *outcomes(other, "labels", source_weight=0.3, name="A -> C, 3 vs 4 (x)"),
        *outcomes(one, "labels", name="rec vs sci"),
    ]
    pairs, alone = rows_of(found, True)
    assert (pairs.problem, alone.problem) == ("A -> C (x)", "rec vs sci")
    assert pairs.errors[OURS].tolist() == [3.0, 3.0, 6.0]
    assert pairs.dropped.tolist() == [True] * 3 + [False] * 3
    assert (pairs.n_train, pairs.n_test) == (90, 10)
    (less,) = rows_of([each for each in found[:-24] if each != found[-25]], True)
    assert less.errors[OURS].tolist() == [3.0, 3.0]  # the last split lacks a fit of the second pair
    section = league_section(found)
    assert [table.caption for table in section.tables] == [
        "A poisoned source",
        "A poisoned source, each pair of classes",
    ]
    assert len(section.tables[1].groups[0].rows) == 2
    assert "each pair of classes of Office-Caltech by itself" in section.points[-1]
    assert section.points[-1].endswith("the source not dropped in most of the fits on 1.")


def test_the_row_of_a_problem():
    assert row_name("W -> A, 9 vs 10 (Office-Caltech, as they are)") == "W -> A (Office-Caltech, as they are)"
    assert row_name("rec vs sci (20 Newsgroups)") == "rec vs sci (20 Newsgroups)"
    assert row_name("digits -> mnist, odd") == "digits -> mnist, odd"


def test_the_ordinary_test_is_told_too():
    # Differences 4, 4 and 4.5: t is 25 without the correction, and with 1000 tested rows for each that trains 0.8.
    def found(ours):
        made = outcomes({**ERRORS, OURS: ours, "pooled": [26.0, 36.0, 31.5]})
        return rows_of([replace(each, measured=replace(each.measured, n_test=90000)) for each in made], False)

    worse, better = found([24.0, 34.0, 29.5]), found([16.0, 26.0, 20.5])
    assert significantly_worse(worse) == []
    assert "worse than the target alone on 1 and better on 0 (Holm again); pooled 1 and 0" in findings(worse, False)[2]
    assert "worse than the target alone on 0 and better on 1 (Holm again); pooled 1 and 0" in findings(better, False)[2]


def test_what_failed_is_said():
    found = [
        *outcomes(ERRORS),
        *outcomes(ERRORS, name="A -> C, 1 vs 2 (x)"),
        *outcomes(ERRORS, name="A -> C, 3 vs 4 (x)"),
    ]
    lost = [
        replace(each, measured=None, failure="no")
        if (each.cell.problem, each.cell.method) == ("A -> C, 3 vs 4 (x)", "TransferBoost")
        else each
        for each in found
    ]
    section = league_section(lost)
    assert [row.problem for row in rows_of(lost, False)] == ["p"]
    assert section.points[-1].endswith("not counted, for some fits failed in every split: “A → C (x)”.")
    # Without the target alone there is nothing to compare with.
    assert rows_of([each for each in found if each.cell.method != TARGET_ONLY], False) == []


def test_both_leagues_are_shown_with_what_was_dropped():
    kept, dropped = outcomes(ERRORS, "labels", 0.3), outcomes(ERRORS, "labels", 0.01)
    assert "in 0% of the fits; not in most of those on “p”" in findings(rows_of(kept, True), True)[-1]
    section = league_section([*outcomes(ERRORS), *dropped])
    assert "in 100% of the fits" in section.points[-1]
    assert [table.caption for table in section.tables] == ["The problem's own source", "A poisoned source"]
