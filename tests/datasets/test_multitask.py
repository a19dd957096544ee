import copy
import pickle
import zlib

import numpy as np
import pytest

from gapmin.datasets import MultitaskProblem, MultitaskSplit
from gapmin.datasets import _problem as module
from gapmin_support.splits import assert_splits_depend_on_seed_and_number

FIRST = {"one": 0, "two": 1000, "three": 2000}


def numbered(first, n_rows, n_classes=2):
    number = np.arange(first, first + n_rows)
    return np.column_stack([number, number**2]), number % n_classes


def make_problem(sizes=(40, 30, 20), train_size=8, n_classes=2, test_sizes=None):
    """Rows are numbered: 0, 1, … in task one, 1000, … in two, 2000, … in three; from 500, 1500, 2500 in the tests."""
    tasks = {name: numbered(first, n, n_classes) for (name, first), n in zip(FIRST.items(), sizes, strict=False)}
    test = None
    if test_sizes is not None:
        test = {name: numbered(FIRST[name] + 500, n, n_classes) for name, n in zip(tasks, test_sizes, strict=True)}
    return MultitaskProblem("numbered", tasks, train_size, test)


def rows_of(split, task):
    return split.X[split.sample_task == task, 0], split.X_test[split.sample_task_test == task, 0]


def arrays_of(problem):
    for tasks in (problem.tasks, problem.test or {}):
        for X, y in tasks.values():
            yield from (X, y)
    yield from problem.stack()
    yield from problem.split(0)


@pytest.mark.parametrize(
    ("train_size", "n_train"), [(None, [8, 8, 8]), (5, [5, 5, 5]), (np.int64(5), [5, 5, 5]), (0.5, [20, 15, 10])]
)
def test_every_row_of_a_task_either_trains_or_tests(train_size, n_train):
    for split in make_problem().splits(4, train_size=train_size):
        assert isinstance(split, MultitaskSplit)
        for task, n_rows, size in zip(FIRST, (40, 30, 20), n_train, strict=True):
            train, test = rows_of(split, task)
            assert train.size == size
            assert sorted([*train, *test]) == list(range(FIRST[task], FIRST[task] + n_rows))
        np.testing.assert_array_equal(split.y, split.X[:, 0] % 2)
        np.testing.assert_array_equal(split.y_test, split.X_test[:, 0] % 2)


def test_published_test_sets_test_whatever_is_drawn():
    problem = make_problem(test_sizes=(3, 4, 5))
    for split in problem.splits(3):
        np.testing.assert_array_equal(split.X_test[:, 0], [*range(500, 503), *range(1500, 1504), *range(2500, 2505)])
        np.testing.assert_array_equal(split.y_test, split.X_test[:, 0] % 2)
        assert split.sample_task_test.tolist() == ["one"] * 3 + ["two"] * 4 + ["three"] * 5
        assert split.X[:, 0].size == 24
        assert np.isin(split.X[:, 0], problem.stack()[0][:, 0]).all()
    assert problem.split(0, train_size=1.0).X.shape == (90, 2)


def test_test_sets_may_come_in_another_order():
    tasks = {"one": numbered(0, 6), "two": numbered(1000, 6)}
    test = {"two": numbered(1500, 2), "one": numbered(500, 2)}
    split = MultitaskProblem("turned", tasks, 2, test).split(0)
    assert split.sample_task_test.tolist() == ["one", "one", "two", "two"]
    assert split.X_test[:, 0].tolist() == [500, 501, 1500, 1501]


def test_rows_are_stacked_task_by_task():
    X, y, sample_task = make_problem(sizes=(3, 4, 2), train_size=0.5, n_classes=1).stack()
    assert sample_task.tolist() == ["one"] * 3 + ["two"] * 4 + ["three"] * 2
    assert X[:, 0].tolist() == [0, 1, 2, 1000, 1001, 1002, 1003, 2000, 2001]
    assert y.size == 9
    split = make_problem().split(0)
    assert split.sample_task.tolist() == ["one"] * 8 + ["two"] * 8 + ["three"] * 8


def test_what_a_task_draws_does_not_depend_on_the_other_tasks():
    both = MultitaskProblem("both", {"one": numbered(0, 40), "two": numbered(0, 40)}, 8)
    turned = MultitaskProblem("turned", {"two": numbered(0, 40), "one": numbered(0, 40)}, 8)
    for k in range(5):
        one, two = (rows_of(both.split(k), task)[0] for task in ("one", "two"))
        assert not np.array_equal(one, two)
        np.testing.assert_array_equal(rows_of(turned.split(k), "one")[0], one)
        alone = MultitaskProblem("alone", {"two": numbered(0, 40)}, 8)
        np.testing.assert_array_equal(rows_of(alone.split(k), "two")[0], two)


def test_the_stream_of_a_draw_is_seeded_by_seed_number_and_name():
    # Python's own hash of a name would change from process to process.
    rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(3, zlib.crc32(b"two"))))
    split = make_problem(n_classes=1).split(3, train_size=4, random_state=7)
    np.testing.assert_array_equal(rows_of(split, "two")[0], 1000 + np.sort(rng.choice(30, 4, replace=False)))


def test_split_k_depends_on_the_seed_and_k_alone():
    assert_splits_depend_on_seed_and_number(make_problem(), lambda split: split.X[:, 0])


def test_every_class_of_every_task_trains_even_when_there_is_one_row_for_each():
    for split in make_problem(n_classes=4, train_size=4).splits(20):
        for task in FIRST:
            assert sorted(split.y[split.sample_task == task]) == [0, 1, 2, 3]


def test_tasks_may_have_classes_of_their_own():
    tasks = {"letters": ([[0.0], [1.0], [2.0]], ["a", "b", "a"]), "one class": ([[0.0], [1.0], [2.0]], ["c"] * 3)}
    split = MultitaskProblem("own", tasks, 2).split(0)
    assert sorted(split.y) == ["a", "b", "c", "c"]


def test_a_draw_that_would_never_end_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "MAX_DRAWS", 3)
    rare = np.r_[1, np.zeros(9999, dtype=int)]
    problem = MultitaskProblem("rare", {"one": (np.zeros((10000, 1)), rare)}, 2)
    with pytest.raises(ValueError, match="3 draws of 2 of the 10000 rows of task 'one' of 'rare' held all of 2"):
        problem.split(0)


@pytest.mark.parametrize("test_sizes", [None, (3, 4, 5)])
def test_nothing_handed_out_can_be_written_to(test_sizes):
    problem = make_problem(test_sizes=test_sizes)
    for each in (problem, pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert not any(array.flags.writeable for array in arrays_of(each))
        for array, original in zip(arrays_of(each), arrays_of(problem), strict=True):
            np.testing.assert_array_equal(array, original)
        with pytest.raises(TypeError):
            each.tasks["one"] = each.tasks["two"]
        with pytest.raises(AttributeError):
            each.name = "other"


def test_the_arrays_given_are_shared_and_stay_writable():
    X, y = np.zeros((4, 1, 2, 2), dtype=np.float32), np.array([0, 1, 0, 1])
    tasks = {"one": (X, y)}
    problem = MultitaskProblem("shared", tasks, train_size=2)
    assert np.shares_memory(problem.tasks["one"][0], X)
    assert X.flags.writeable
    tasks["two"] = (X, y)
    assert list(problem.tasks) == ["one"]
    assert problem.split(0).X.dtype == np.float32


def test_repr_is_short():
    assert repr(make_problem()) == "<MultitaskProblem 'numbered': one 40, two 30, three 20 rows of 2>"
    images = {"one": (np.zeros((4, 3, 5, 7)), [0, 1, 0, 1])}
    assert repr(MultitaskProblem("images", images, 2)) == "<MultitaskProblem 'images': one 4 rows of 3 x 5 x 7>"


@pytest.mark.parametrize("train_size", [0, 1, 20, 1.0, 0.01, -3])
def test_a_size_that_cannot_be_split_is_refused_when_asked_for(train_size):
    message = r"train_size=.* rows of task '\w+' of 'numbered': take at least 2, one for each class, and leave"
    with pytest.raises(ValueError, match=message):
        make_problem().splits(1, train_size=train_size)
    with pytest.raises(ValueError, match=message):
        make_problem(train_size=train_size)


def test_with_test_sets_all_rows_may_train_but_no_more():
    problem = make_problem(test_sizes=(3, 4, 5))
    assert problem.split(0, train_size=20).X.shape[0] == 60
    with pytest.raises(ValueError, match=r"train_size=21 is 21 of the 20 rows of task 'three'.* at most 20"):
        problem.split(0, train_size=21)


GOOD = (np.zeros((3, 2)), np.array([0, 1, 0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": {}}, "'bad' has no tasks"),
        ({"tasks": {1: GOOD}}, "'bad' has a task called 1"),
        ({"tasks": {"one": (np.zeros((3, 2)), np.zeros(2))}}, r"task 'one' of 'bad' has X of shape \(3, 2\)"),
        ({"tasks": {"one": (np.zeros((3, 2, 2)), np.zeros(3))}}, r"X as \(N, d\) or \(N, C, H, W\)"),
        ({"tasks": {"one": (np.zeros((3, 2)), np.zeros((3, 1)))}}, r"y of shape \(3, 1\)"),
        ({"tasks": {"one": (np.zeros((0, 2)), np.zeros(0))}}, "task 'one' of 'bad' has no rows"),
        (
            {"tasks": {"one": GOOD, "two": (np.zeros((3, 1)), GOOD[1])}},
            r"task 'two' of 'bad' has rows of shape \(1,\), the first task \(2,\)",
        ),
        ({"test": {"two": GOOD}}, "the tasks one but test sets for two"),
        ({"test": {}}, "the tasks one but test sets for none"),
        ({"test": {"one": (np.zeros((3, 1)), GOOD[1])}}, r"'one' of the test sets of 'bad' has rows of shape \(1,\)"),
    ],
)
def test_what_is_no_problem_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        MultitaskProblem(**{"name": "bad", "tasks": {"one": GOOD}, "train_size": 2, **change})


def test_small_shares_of_many_classes_need_not_hold_them_all():
    X, y = np.arange(40.0)[:, np.newaxis], np.arange(40) % 20
    with pytest.raises(ValueError, match="take at least 20, one for each class, and leave"):
        MultitaskProblem("many", {"a": (X, y)}, train_size=0.1)
    problem = MultitaskProblem("many", {"a": (X, y)}, train_size=0.1, every_class=False)
    assert problem.split(0).y.size == 4
    assert problem.split(0).y_test.size == 36
    assert pickle.loads(pickle.dumps(problem)).split(1).X.tolist() == problem.split(1).X.tolist()
    with pytest.raises(ValueError, match=r"is 0 of the 40 rows .* take at least 1 and leave at least one"):
        problem.split(0, train_size=0)
