from dataclasses import replace

import numpy as np
import pytest

from gapmin.reporting import Report, render_html
from gapmin.reproduce.demo_multitask_page import (
    GAPMTNN,
    UNIFORM,
    MultitaskComparison,
    MultitaskFit,
    multitask_findings,
    multitask_headline,
    multitask_section,
    multitask_tables,
    multitask_timing,
)

TASKS = ("ink", "chalk", "sand")
SHARED = np.array([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.0, 0.4, 0.6]])


def _found(ours, theirs, relations=(SHARED, SHARED), losses=((2.0, 1.0), (2.0, 1.5))):
    """Invent fits from errors by split and task, Gammas by epoch, and losses of both methods by epoch."""
    fits = []
    for split, errors in enumerate(zip(ours, theirs, strict=True)):
        for method, each, loss in zip((GAPMTNN, UNIFORM), errors, losses, strict=True):
            gammas = np.array(relations) if method == GAPMTNN else None
            by_task = np.outer(loss, [0.5, 1.0, 1.5])
            fits.append(MultitaskFit(method, split, dict(zip(TASKS, each, strict=True)), by_task, gammas, 2.0))
    return MultitaskComparison(fits, "three invented tasks", 40, {"ink": 100, "chalk": 200, "sand": 300})


@pytest.fixture
def found():
    return _found([[10, 20, 31], [12, 22, 30]], [[14, 20, 28], [16, 22, 31]])


def test_table_has_errors_by_task_and_their_average_with_standard_errors(found):
    errors, _ = multitask_tables(found)
    assert errors.caption == "3 tasks trained together: % error ± standard error, 2 splits, lowest in bold"
    assert errors.header == ["", GAPMTNN, UNIFORM]
    assert [[str(entry) for entry in row] for row in errors.rows] == [
        ["ink", "11.0±1.0", "15.0±1.0"],
        ["chalk", "21.0±1.0", "21.0±1.0"],
        ["sand", "30.5±0.5", "29.5±1.5"],
    ]
    averages = [np.mean([10, 20, 31]), np.mean([12, 22, 30])]
    (average,) = errors.summary
    assert average[0].text == "average"
    assert str(average[1]) == f"{np.mean(averages):.1f}±{np.std(averages, ddof=1) / np.sqrt(2):.1f}"
    assert [entry.best for entry in average[1:]] == [True, False]


def test_gamma_is_shown_as_the_mean_over_splits_at_the_end(found):
    other = replace(found.fits[0], split=2, relations=np.array([np.eye(3), np.eye(3)]))
    _, gamma = multitask_tables(replace(found, fits=[*found.fits, other]))
    expected = (2 * SHARED + np.eye(3)) / 3
    assert gamma.header == ["", *TASKS]
    shown = [[float(entry.text) for entry in row[1:]] for row in gamma.rows]
    np.testing.assert_allclose(shown, expected, atol=0.005)
    assert "mean over 3 splits" in gamma.caption


@pytest.mark.parametrize(
    ("ours", "theirs", "said", "count"),
    [
        ([1, 2, 3], [2, 3, 4], "errs less than Uniform on “ink”, “chalk” and “sand”;", 3),
        ([2, 3, 4], [1, 2, 3], "errs less than Uniform on no task and more on “ink”, “chalk” and “sand”;", 0),
        ([1, 3, 3], [2, 2, 3], "errs less than Uniform on “ink”, more on “chalk” and as much on “sand”;", 1),
        ([1, 2, 3], [1, 2, 3], "errs less than Uniform on no task and as much on “ink”, “chalk” and “sand”;", 0),
    ],
)
def test_words_say_on_which_tasks_who_errs_less(ours, theirs, said, count):
    found = _found([ours], [theirs])
    assert said in multitask_findings(found)[0]
    assert "one split cannot say which differences are clear" in multitask_findings(found)[0]
    assert multitask_headline(found) == f"Of 3 tasks trained together, gapMTNN errs less than Uniform on {count}."


def test_clear_differences_are_named_both_ways():
    found = _found([[1, 9, 5], [2, 9, 7]], [[4, 5, 6], [5, 6, 5]])
    assert multitask_findings(found)[0].endswith("; clearly less on “ink” and more on “chalk”.")
    noise = _found([[1, 9, 5], [9, 1, 7]], [[4, 5, 6], [5, 4, 5]])
    assert multitask_findings(noise)[0].endswith("; clearly on none.")


def test_equal_errors_are_no_win_whatever_their_rounding():
    found = _found([[0.1, 1, 1], [0.2, 1, 1], [0.3, 1, 1]], [[0.3, 1, 1], [0.1, 1, 1], [0.2, 1, 1]])
    assert "less than Uniform on no task and as much on “ink”" in multitask_findings(found)[0]


def test_the_average_says_both_numbers(found):
    said = multitask_findings(found)[1]
    assert said == "On average over the tasks the error is 20.8% with gapMTNN and 21.8% with Uniform."


def test_a_shared_gamma_says_who_gives_most_to_whom(found):
    own, most = multitask_findings(found)[2:4]
    assert "ink 70.0%, chalk 50.0% and sand 60.0%; an even share would be 33%" in own
    assert most == "The most that a task gives to another is 40.0%: sand to chalk."


@pytest.mark.parametrize(
    ("relations", "since"),
    [
        ([SHARED, np.eye(3), np.eye(3)], "From the end of epoch 2 of 3 on no task gives anything to another"),
        ([np.eye(3)] * 3, "From the end of epoch 1 of 3 on no task gives anything to another"),
        ([np.eye(3), SHARED, np.eye(3)], "After the last epoch no task gives anything to another, in any split."),
    ],
)
def test_a_gamma_without_sharing_says_since_when(relations, since):
    found = _found([[1, 2, 3]], [[2, 2, 2]], relations, ([3.0, 2.0, 1.0], [3.0, 2.0, 1.0]))
    own, alone = multitask_findings(found)[2:4]
    assert "ink 100%, chalk 100% and sand 100%" in own
    assert alone.startswith(since)


def test_one_split_that_shares_is_enough_to_say_so(found):
    alone = [replace(fit, relations=np.array([np.eye(3)] * 2)) if fit.split else fit for fit in found.fits]
    assert "The most that a task gives to another is 20.0%: sand to chalk." in multitask_findings(
        replace(found, fits=alone)
    )


def test_the_last_epoch_says_which_way_the_loss_went():
    def said(*losses):
        n_epochs = len(losses[0])
        return multitask_findings(_found([[1, 2, 3]], [[2, 2, 2]], [SHARED] * n_epochs, losses))[-1]

    assert "fell by 50% with gapMTNN and rose by 10% with Uniform" in said([3.0, 2.0, 1.0], [3.0, 1.0, 1.1])
    assert "stayed with gapMTNN and rose with Uniform" in said([1.0, 1.0], [0.0, 0.5])
    assert said([1.0, 1.0], [1.0, 0.5]).startswith("2 epochs are few")
    assert said([1.0], [1.0]).startswith("One epoch is very little")


def test_section_holds_the_heat_map_and_what_trained_and_tested(found):
    section = multitask_section(found)
    page = render_html(Report("r", "h", [section]))
    assert page.count("<svg ") == 3
    assert 'aria-label="What each task learns from"' in page
    assert "3 tasks with 40 labelled rows each: three invented tasks." in page
    assert "100 of ink, 200 of chalk and 300 of sand" in page
    weights = section.figures[0]
    assert "sums to 1" in weights.caption
    assert "a task gives itself 0.60 on average, after the last 0.60; an even share would be 0.33" in page
    assert "nan" not in page.lower().replace("nanum", "")


def test_timing_is_the_mean_of_the_fits(found):
    slow = [replace(fit, seconds=4.0) if fit.split else fit for fit in found.fits]
    assert multitask_timing(replace(found, fits=slow)) == "multitask: gapMTNN 3.0 s, Uniform 3.0 s"
