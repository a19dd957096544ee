import numpy as np
import pytest

from gapmin.datasets import TransferProblem
from gapmin_support.splits import assert_splits_depend_on_seed_and_number


def make_problem(n_target=40, task="classification", train_size=0.25, n_classes=2, sources=(7, 5)):
    """Rows are numbered: 0, 1, … in the target, 1000, 1001, … in source 1, 2000, … in source 2."""

    def domain(first, n_rows):
        number = np.arange(first, first + n_rows)
        return np.column_stack([number, number**2]), number % n_classes

    return TransferProblem(
        "numbered",
        domain(0, n_target),
        tuple(domain(1000 * k, n_rows) for k, n_rows in enumerate(sources, start=1)),
        task=task,
        train_size=train_size,
    )


def arrays_of(problem):
    yield from (problem.X_target, problem.y_target, problem.X_source, problem.y_source)
    yield from problem.target
    for source in problem.sources:
        yield from source
    yield from problem.stack()
    yield from next(problem.splits(1))


def test_stack_has_the_target_first_and_numbers_the_sources():
    X, y, sample_domain = make_problem().stack()
    np.testing.assert_array_equal(sample_domain, [-1] * 40 + [1] * 7 + [2] * 5)
    np.testing.assert_array_equal(X[:, 0], [*range(40), *range(1000, 1007), *range(2000, 2005)])
    np.testing.assert_array_equal(y, X[:, 0] % 2)


def test_pooled_merges_the_sources_and_nothing_else():
    problem = make_problem()
    pooled = problem.pooled()
    assert len(pooled.sources) == 1
    np.testing.assert_array_equal(pooled.X_source[:, 0], [*range(1000, 1007), *range(2000, 2005)])
    np.testing.assert_array_equal(pooled.y_source, problem.y_source)
    assert (pooled.name, pooled.task, pooled.train_size) == ("numbered", "classification", 0.25)
    assert np.shares_memory(pooled.X_target, problem.X_target)


@pytest.mark.parametrize(("train_size", "n_train"), [(None, 10), (0.5, 20), (7, 7), (np.int64(7), 7)])
def test_a_split_trains_on_all_sources_and_tests_on_the_rest_of_the_target(train_size, n_train):
    for split in make_problem().splits(5, train_size=train_size):
        trained = split.X[split.sample_domain < 0, 0]
        assert trained.size == n_train
        assert sorted([*trained, *split.X_test[:, 0]]) == list(range(40))
        np.testing.assert_array_equal(split.X[split.sample_domain == 1, 0], np.arange(1000, 1007))
        np.testing.assert_array_equal(split.X[split.sample_domain == 2, 0], np.arange(2000, 2005))
        np.testing.assert_array_equal(split.y, split.X[:, 0] % 2)
        np.testing.assert_array_equal(split.y_test, split.X_test[:, 0] % 2)


def test_split_k_depends_on_the_seed_and_k_alone():
    assert_splits_depend_on_seed_and_number(make_problem(), lambda split: split.X_test[:, 0])


def test_every_class_trains_even_when_there_is_one_row_for_each():
    problem = make_problem(n_classes=4, train_size=4)
    for split in problem.splits(20):
        assert sorted(split.y[split.sample_domain < 0]) == [0, 1, 2, 3]


def test_a_regression_does_not_ask_for_every_label():
    problem = make_problem(task="regression", n_classes=40, train_size=3)
    assert (next(problem.splits(1)).sample_domain < 0).sum() == 3


def test_nothing_handed_out_can_be_written_to():
    for problem in (make_problem(), make_problem().pooled()):
        for array in arrays_of(problem):
            assert not array.flags.writeable


def test_the_arrays_given_are_shared_and_stay_writable():
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    problem = TransferProblem("shared", (X, y), [(X, y)], task="classification", train_size=2)
    assert np.shares_memory(problem.X_target, X)
    assert np.shares_memory(problem.X_source, X)
    assert X.flags.writeable


def test_repr_is_short():
    assert repr(make_problem()) == "<TransferProblem 'numbered': target 40 x 2, sources 7 + 5>"
    assert repr(make_problem().pooled()) == "<TransferProblem 'numbered': target 40 x 2, source 12>"


@pytest.mark.parametrize("train_size", [0, 1, 40, 1.0, 0.001, -3])
def test_a_size_that_cannot_be_split_is_refused_when_asked_for(train_size):
    with pytest.raises(ValueError, match=r"train_size=.* of the 40 target rows"):
        make_problem().splits(1, train_size=train_size)
    with pytest.raises(ValueError, match=r"train_size=.* of the 40 target rows"):
        make_problem(train_size=train_size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "ranking"}, "task is 'ranking'"),
        ({"sources": ()}, "no sources"),
        ({"sources": [(np.zeros((3, 1)), np.zeros(3))]}, "source 1 of 'bad' has 1 columns, the target 2"),
        ({"target": (np.zeros((3, 2)), np.zeros(2))}, r"X of shape \(3, 2\) and y of shape \(2,\)"),
        ({"target": (np.zeros(3), np.zeros(3))}, r"give X as \(N, d\) and y one label"),
    ],
)
def test_mistakes_are_named(change, message):
    good = {"target": (np.zeros((3, 2)), np.zeros(3)), "sources": [(np.zeros((3, 2)), np.zeros(3))]}
    with pytest.raises(ValueError, match=message):
        TransferProblem("bad", **{**good, "task": "regression", "train_size": 1, **change})


def test_the_error_is_percent_wrong_or_the_root_of_the_mean_square():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    classes = TransferProblem("classes", (X, y), ((X, y),), task="classification", train_size=2)
    assert classes.error(["a", "b", "c", "d"], ["a", "b", "c", "x"]) == 25.0
    numbers = TransferProblem("numbers", (X, y), ((X, y),), task="regression", train_size=2)
    assert numbers.error([0.0, 0.0], [3.0, 4.0]) == np.sqrt(12.5)
