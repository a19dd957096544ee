"""Means, marks and tests of a table, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gapmin._utils.statistics import corrected_t_test, holm
from gapmin.reproduce.experiment import Series, average
from gapmin.reproduce.printed import printed
from gapmin.reproduce.tables import (
    BETTER,
    WORSE,
    Block,
    Comparison,
    as_printed,
    at_most_printed,
    difference,
    difference_table,
    error_table,
    lowest_on_most,
)


def series(*errors, n_train=90, n_test=10):
    return Series(np.array(errors, dtype=float), n_train, n_test)


@pytest.fixture
def block():
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=(4, 5))
    return Block(
        "20 Newsgroups",
        {
            "comp vs sci": {
                "gapBoost": series(*(5 + noise[0])),
                "AdaBoost_T": series(*(9 + noise[1])),
                "TrAdaBoost": series(*(5 + noise[0] + noise[2])),
                "TransferBoost": series(*(3 + noise[3])),
            },
            "rec vs sci": {
                "gapBoost": series(*(6 + noise[1])),
                "AdaBoost_T": series(*(6 + noise[1] + noise[3])),
                "TrAdaBoost": series(*(6 + noise[1] - noise[2])),
                "TransferBoost": series(*(8 + noise[3])),
            },
        },
    )


METHODS = ["AdaBoost_T", "TrAdaBoost", "TransferBoost", "gapBoost"]


def test_an_average_is_taken_split_by_split_and_lacks_the_splits_that_a_row_lacks():
    mean = average([series(1, 2, 3), series(5, np.nan, 1)])
    np.testing.assert_array_equal(mean.errors, [3, np.nan, 2])
    assert mean.mean == 2.5
    assert mean.standard_error == 0.5


def test_a_series_without_results_has_no_mean():
    nothing = series(np.nan, np.nan)
    assert np.isnan(nothing.mean)
    assert np.isnan(nothing.standard_error)
    assert np.isnan(difference(nothing, series(1, 2)).p_value)


def test_the_difference_is_over_the_splits_that_both_have():
    ours, theirs = series(1, 2, 3, np.nan), series(2, np.nan, 5, 4)
    test = difference(ours, theirs)
    assert test == corrected_t_test([-1, -2], 90, 10)


def test_marks_say_who_differs_after_holm_over_the_whole_part(block):
    others = METHODS[:-1]
    marks = Comparison(block, "gapBoost", others).by_row()
    assert marks[("comp vs sci", "AdaBoost_T")] == WORSE
    assert marks[("comp vs sci", "TransferBoost")] == BETTER
    assert marks[("rec vs sci", "TransferBoost")] == WORSE
    assert len(marks) == 3
    tests = [difference(row["gapBoost"], row[other]) for row in block.rows.values() for other in others]
    assert sum(holm([test.p_value for test in tests]) < 0.05) == 3


def test_the_table_has_means_marks_and_the_paper_s_numbers(block):
    table = error_table("Errors", "table2", [block], METHODS, "gapBoost")
    first, second = table.groups[0].rows
    assert [entry.text for entry in first] == [
        "comp vs sci",
        *(f"{block.rows['comp vs sci'][m].mean:.2f}" for m in METHODS),
    ]
    assert [entry.best for entry in first] == [False, False, False, True, False]
    assert first[1].detail.endswith(WORSE)
    assert first[3].detail.endswith(BETTER)
    assert first[4].printed == "7.68 ±0.25"
    assert second[0].text == "rec vs sci"
    (summary,) = table.groups[0].summary
    assert summary[4].printed == "7.26"
    assert float(summary[4].text) == pytest.approx(5.5, abs=0.02)


def test_a_method_that_failed_everywhere_is_said_to_have(block):
    broken = {**block.rows, "rec vs sci": {**block.rows["rec vs sci"], "AdaBoost_T": series(*[np.nan] * 5)}}
    half = {**broken, "comp vs sci": {**broken["comp vs sci"], "AdaBoost_T": series(1, np.nan, 2, 3, 4)}}
    table = error_table("Errors", "table2", [Block("20 Newsgroups", half)], METHODS, "gapBoost")
    first, second = table.groups[0].rows
    assert first[1].detail.endswith("(4 of 5)")
    assert first[1].best
    assert second[1].text == "failed"
    assert [entry.best for entry in second].count(True) == 1
    assert not second[1].best


def test_the_duel_is_between_averages_with_holm_over_its_lines(block):
    (group,) = difference_table("gapBoost against each", [Comparison(block, "gapBoost", METHODS[:-1])]).groups
    by_name = {row[0].text: row for row in group.rows}
    row = by_name["less AdaBoost_T"]
    test = difference(block.average("gapBoost"), block.average("AdaBoost_T"))
    assert row[1].text == f"{test.mean:+.2f}"
    low, high = test.interval(0.95)
    assert row[2].text == f"{low:+.2f} to {high:+.2f}"
    assert row[4].best
    lower = sum(each["gapBoost"].mean < each["AdaBoost_T"].mean for each in block.rows.values())
    assert row[5].text == f"{lower} of 2"


def test_a_printed_number_keeps_its_decimals():
    assert as_printed(printed("table2", "20 Newsgroups", "rec vs sci", "TransferBoost")) == "7.93 ±0.30"
    assert as_printed(printed("table8", "", "full method", "Amazon")) == "17.4 ±0.9"
    assert as_printed(printed("table3", "", "avg.", "gapBoostR")) == "15.42"
    assert as_printed(None) == ""


def test_an_average_above_the_printed_one_is_not_reached(block):
    assert at_most_printed("table2", block, "gapBoost", "here") == (
        "Confirmed: the average of gapBoost on here is at most the printed one. 5.50, in print 7.26 (difference -1.76, "
        "95% interval -1.77 to -1.75)."
    )
    rows = {
        name: {method: series(*(each.errors + 2)) for method, each in row.items()} for name, row in block.rows.items()
    }
    assert at_most_printed("table2", Block("20 Newsgroups", rows), "gapBoost", "here").startswith("Contradicted: ")


def test_most_rows_are_those_that_are_lower_one_by_one_and_a_tie_is_not_lower():
    noise = 0.01 * np.random.default_rng(0).normal(size=(2, 5))
    low, high = series(*(5 + noise[0])), series(*(9 + noise[1]))

    def said(*rows):
        block = Block("", {f"row {k}": dict(zip(("ours", "other"), row, strict=True)) for k, row in enumerate(rows)})
        return lowest_on_most(block, "ours", ["other"], "rows")

    assert said((low, high), (low, high), (high, low)).startswith("Confirmed: ours has the lowest error on most rows.")
    assert said((low, high), (high, low)).startswith("Contradicted: ")
    tied = said((low, high), (low, low), (low, low))
    assert tied.startswith("Not confirmed: ")
    assert tied.endswith("By means it has on 1 of 3.")
