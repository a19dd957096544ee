"""Who can teach whom: gains by hand, invariances, intervals, the picture."""

import numpy as np
import pytest

from gapmin.study import TaskAffinity, task_affinity
from gapmin.study.affinity import _fold


def three_tasks(n=30, seed=0, d=20):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(3 * n, d)), np.repeat(["a", "b", "c"], n)
    return X, X @ np.linspace(0, 7, d) * np.where(task == "c", -1, 1) + 10 * rng.normal(size=3 * n), task


def test_the_error_of_a_pair_is_that_of_least_squares_by_hand():
    rng = np.random.default_rng(0)
    X, y, task = rng.normal(size=(40, 3)), rng.normal(size=40), np.repeat([0, 1], 20)
    train, test = np.setdiff1d(np.arange(40), [1, 2, 25]), np.array([1, 2, 25])
    ones = np.column_stack([X, np.ones(40)])
    found = _fold(ones, y[:, None], task, 2, train, test, penalty=2.0)
    # Task 0 with the rows of task 1, which may be on another level.
    both = np.column_stack([ones, task == 1])[train]
    ridge = np.diag([2.0, 2.0, 2.0, 2e-8, 2.0])
    beta = np.linalg.solve(both.T @ both + ridge, both.T @ y[train])[:4]
    assert found[0, 1] == pytest.approx(np.mean((ones[[1, 2]] @ beta - y[[1, 2]]) ** 2))
    own = ones[train][task[train] == 0]
    beta = np.linalg.solve(own.T @ own + ridge[:4, :4], own.T @ y[train][task[train] == 0])
    assert found[0, 0] == pytest.approx(np.mean((ones[[1, 2]] @ beta - y[[1, 2]]) ** 2))


def test_tasks_that_agree_teach_and_one_with_reversed_labels_does_not():
    X, y, task = three_tasks()
    affinity = task_affinity(X, y, task)
    assert affinity.gain[0, 1] > 0.1
    assert max(affinity.gain[0, 2], affinity.gain[1, 2], affinity.gain[2, 0]) < 0
    assert affinity.helpful_tasks("a") == ["b"]
    assert affinity.groups() == [["a", "b"], ["c"]]
    assert (affinity.low <= affinity.gain).all()
    assert (affinity.gain <= affinity.high).all()
    assert not np.diag(affinity.gain).any()


def test_level_and_unit_of_label_and_columns_do_not_matter():
    X, y, task = three_tasks()
    one = task_affinity(X, y, task)
    other = task_affinity(1000 * X - 7, 0.01 * y + 3, task)
    np.testing.assert_allclose(one.gain, other.gain, atol=1e-6)
    # A level of its own for one task changes what others lose by it no more than the penalty does.
    shifted = task_affinity(X, y + 100 * (task == "b"), task)
    assert shifted.gain[0, 2] == pytest.approx(one.gain[0, 2])


def test_tasks_may_be_named_in_any_order():
    X, y, task = three_tasks()
    renamed = np.array(["z" if each == "a" else each for each in task])
    one, other = task_affinity(X, y, task), task_affinity(X, y, renamed)
    assert other.tasks == ["b", "c", "z"]
    assert np.sign(other.gain[2, 0]) == np.sign(one.gain[0, 1])


def test_classes_are_predicted_too():
    X, y, task = three_tasks(60)
    affinity = task_affinity(X, np.where(y > 0, "ill", "well"), task)
    assert affinity.gain[0, 1] > affinity.gain[0, 2]
    assert (affinity.own_error < 1).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("label", [0.0, 1.0, 0.1])
def test_a_task_with_one_label_gains_nothing_from_any_teacher(label):
    X, y, task = three_tasks()
    affinity = task_affinity(X, np.where(task == "a", label, y), task)
    assert not affinity.gain[0].any()
    assert affinity.helpful_tasks("a") == []
    others = task_affinity(X[task != "a"], y[task != "a"], task[task != "a"])
    assert np.sign(affinity.gain[1, 2]) == np.sign(others.gain[0, 1])


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_tasks_may_have_fewer_rows_of_a_class_than_there_are_folds(rows):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(3 * rows, 2)), np.repeat(["a", "b", "c"], rows)
    affinity = task_affinity(X, np.tile(["ill", "well", "ill", "well"][:rows], 3), task)
    assert affinity.gain.shape == (3, 3)
    assert np.isfinite(affinity.gain).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_task": np.array(["a"] * 90)}, "one task .*give rows of two or more"),
        ({"sample_task": np.array(["b"] + ["a"] * 89)}, "task 'b' has one row"),
        ({"sample_task": np.arange(90)}, "has one row"),
        ({"y": np.full(90, np.nan)}, "y has nan at row 0"),
        ({"sample_task": np.array(["a"] * 80)}, "80 entries for 90 rows"),
        ({"y": None}, "y is None: give a label for each row"),
        ({"y": np.array(["a", 1, 1] * 30, dtype=object)}, "y has the text 'a' and 1"),
        ({"n_splits": 1}, "n_splits is 1: give a whole number of at least 2"),
        ({"n_splits": 2.5}, "n_splits is 2.5: give a whole number"),
        ({"n_repeats": 0}, "n_repeats is 0: give a whole number of at least 1"),
        ({"random_state": None}, "random_state is None: give a whole number of at least 0"),
    ],
)
def test_what_cannot_be_measured_is_named(change, message):
    X, y, task = three_tasks()
    given = {"y": y, "sample_task": task} | change
    with pytest.raises(ValueError, match=message):
        task_affinity(X, **given)


def test_the_table_and_the_picture_say_the_same():
    pytest.importorskip("matplotlib")
    gain = np.array([[0.0, 0.2], [-0.1, 0.0]])
    affinity = TaskAffinity(["a", "b"], gain, gain - 0.1, gain + 0.1, np.ones(2))
    frame = affinity.to_frame()
    assert frame.loc[0, ["task", "teacher"]].tolist() == ["a", "b"]
    assert frame.loc[0, ["gain", "low", "high"]].tolist() == pytest.approx([0.2, 0.1, 0.3])
    display = affinity.plot()
    assert [text.get_text() for text in display.ax_.texts] == ["0", "0.20", "-0.10", "0"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("teacher", "task")


def test_a_task_that_hurts_another_is_in_no_group_with_it():
    low = np.array([[0.0, 0.1], [-0.5, 0.0]])
    high = np.array([[0.0, 0.3], [-0.1, 0.0]])
    assert TaskAffinity(["a", "b"], (low + high) / 2, low, high, np.ones(2)).groups() == [["a"], ["b"]]
    high[1, 0] = 0.1  # not known to be hurt
    assert TaskAffinity(["a", "b"], (low + high) / 2, low, high, np.ones(2)).groups() == [["a", "b"]]


def test_a_task_that_was_not_measured_is_named():
    X, y, task = three_tasks()
    with pytest.raises(ValueError, match="task is 'd', which is none of 'a', 'b', 'c'"):
        task_affinity(X, y, task).helpful_tasks("d")
