"""The rule that chooses, and the test that says how sure it is, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gapmin._utils.statistics import corrected_t_test
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._candidates import GAPBOOST, POOLING, TARGET_ONLY, Candidate, Kit, Learner
from gapmin.selection._choice import beats, evidence
from gapmin.selection._choice import choose_one as choose_one_by
from gapmin.selection._data import Data
from gapmin.selection._held_out import Trial
from gapmin.selection._search import Search


def choose_one(trials, n_standard_errors=1.0):
    """Choose where nobody was heard of the sources: they must win themselves."""
    nobody_heard = Search(Data(np.zeros((4, 1)), np.zeros(4), np.array([-1, -1, 1, 1]), None), 2, 1, None, 0)
    return choose_one_by(nobody_heard, trials, n_standard_errors)


def trial(method, by_fold):
    candidate = Candidate(method, Learner("linear", None), {}, None)
    return Trial(candidate, losses=[np.array(by_fold, dtype=float)], by_fold=list(by_fold))


def test_the_standard_error_is_that_of_the_mean_over_folds():
    # Gains 0, 2, 4 and 6: mean 3, standard error sqrt(20 / 3) / 2 = 1.291, so 2.324 standard errors.
    one, other = trial(POOLING, [0.0, 0.0, 0.0, 0.0]), trial(TARGET_ONLY, [0.0, 2.0, 4.0, 6.0])
    assert beats(one, other, 2.32)
    assert not beats(one, other, 2.33)
    assert not beats(other, one, 0)


def test_the_sources_must_win_by_more_than_one_standard_error():
    alone = trial(TARGET_ONLY, [1.0, 1.0, 1.0, 1.0])
    # Mean gain 0.5; its standard error is sqrt(1/3)/2 = 0.289, and with the other 1.155.
    clear, noisy = trial(POOLING, [0.0, 1.0, 0.0, 1.0]), trial(POOLING, [-1.0, 2.0, -1.0, 2.0])
    assert choose_one([alone, clear])[0] is clear
    assert choose_one([alone, noisy])[0] is alone
    assert choose_one([alone, noisy], n_standard_errors=0.4)[0] is noisy
    assert choose_one([alone, clear], n_standard_errors=2.0)[0] is alone


def test_no_gain_at_all_is_not_enough():
    alone, same = trial(TARGET_ONLY, [1.0, 0.5]), trial(POOLING, [1.0, 0.5])
    assert choose_one([alone, same])[0] is alone
    assert choose_one([alone, same], n_standard_errors=0)[0] is alone


def test_the_simpler_of_two_that_are_level():
    alone = trial(TARGET_ONLY, [1.0, 1.0, 1.0, 1.0])
    boosted = trial(GAPBOOST, [0.1, 0.3, 0.1, 0.3])
    level, behind = trial(POOLING, [0.3, 0.15, 0.3, 0.15]), trial(POOLING, [0.5, 0.7, 0.5, 0.7])
    chosen, without, best = choose_one([boosted, alone, level])
    assert (chosen, without, best) == (level, alone, boosted)
    assert choose_one([boosted, alone, behind])[0] is boosted


def test_only_folds_that_both_took_part_in_count():
    long, short = trial(POOLING, [0.0, 1.0, 5.0, 5.0]), trial(TARGET_ONLY, [1.0, 1.0])
    assert long.less(short).tolist() == [-1.0, 0.0]


def test_without_sources_there_is_nothing_to_choose():
    alone, other = trial(TARGET_ONLY, [1.0, 1.0]), trial(TARGET_ONLY, [2.0, 2.0])
    assert choose_one([other, alone]) == (alone, alone, None)


@pytest.fixture
def search():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(90, 2)), np.repeat([1, -1, 2], [30, 40, 20])
    data = Data(X, np.where(X[:, 0] > 0, "b", "a"), domain, np.array(["a", "b"]))
    return Search(data, n_splits=4, n_repeats=3, n_jobs=None, seed=7)


def test_evidence_is_the_corrected_test_over_folds(search):
    learner, kit = Learner("own", WeightedLogisticRegression()), Kit(False, [1, 2])
    one, other = search.start([kit.target_only(learner), kit.pooling(learner)[0]])
    search.go_on()
    differences = []
    for repeat in range(3):
        for fold in search.folds(repeat):
            rows = fold.test - 30  # the target's rows stand from 30 on
            differences.append((one.losses[repeat][rows] - other.losses[repeat][rows]).mean())
    found, by_hand = evidence(search, one, other), corrected_t_test(differences, n_train=30, n_test=10)
    assert found.p_value == pytest.approx(by_hand.p_value)
    assert found.mean == pytest.approx(by_hand.mean)


def test_folds_test_each_target_row_once_and_train_on_every_source_row_that_is_not_held_out(search):
    for repeat in range(3):
        folds = search.folds(repeat)
        assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(30, 70))
        for fold in folds:
            assert set(fold.train) == set(range(90)) - set(fold.test) - set(fold.held)
    assert any(not np.array_equal(a.test, b.test) for a, b in zip(search.folds(0), search.folds(1), strict=True))


def test_a_tenth_of_every_source_is_held_out_in_each_fold_of_the_first_repeat(search):
    held = [fold.held for fold in search.folds(0)]
    assert [(part < 30).sum() for part in held] == [3] * 4
    assert [(part >= 70).sum() for part in held] == [2] * 4
    together = np.concatenate(held)
    assert np.unique(together).size == together.size
    assert all(fold.held.size == 0 for fold in search.folds(1))


def test_no_more_than_200_rows_of_a_large_source_are_held_out():
    domain = np.repeat([-1, 1], [10, 5000])
    large = Search(Data(np.zeros((5010, 1)), np.zeros(5010), domain, None), 5, 1, None, 0)
    assert [fold.held.size for fold in large.folds(0)] == [200] * 5


def test_losses_are_of_rows_that_did_not_train(search):
    """A learner that knows its own rows by heart is as bad as chance on labels that mean nothing."""
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(3)
    data = search.data
    noise = Data(data.X, rng.permutation(data.y), data.domain, data.classes)
    by_heart = Learner("own", KNeighborsClassifier(1))
    (found,) = Search(noise, 5, 1, None, 0).start([Kit(False, [1, 2]).target_only(by_heart)])
    assert 0.25 < found.errors[0].mean() < 0.75


def test_halving_keeps_the_best_and_three_without_transfer(search):
    learners = [Learner("own", WeightedLogisticRegression(lam)) for lam in (10.0, 1.0, 0.1, 0.01)]
    kit = Kit(False, [1, 2])
    search.start([each for learner in learners for each in (kit.target_only(learner), *kit.pooling(learner))])
    first = {id(each): each.mean_loss for each in search.trials}
    left = search.go_on()
    assert [each.n_repeats for each in left] == [3] * len(left)
    assert sum(each.is_target_only for each in left) == 3
    assert len(left) == 3 + 8
    assert all(bool(each.predicted) == (each in left) for each in search.trials)
    best = min((each for each in search.trials if not each.is_target_only), key=lambda each: first[id(each)])
    assert best.n_repeats >= 2


def test_brier_and_error_by_hand():
    data = Data(np.zeros((3, 1)), np.array(["a", "b", "b"]), np.array([-1, -1, -1]), np.array(["a", "b"]))
    losses, errors = data.losses(np.array([[0.9, 0.1], [0.4, 0.6], [1.0, 0.0]]))
    np.testing.assert_allclose(losses, [0.01, 0.16, 1.0])
    assert errors.tolist() == [0, 0, 1]


def test_squared_error_is_in_units_of_the_targets_variance():
    data = Data(np.zeros((4, 1)), np.array([0.0, 2.0, 4.0, 100.0]), np.array([-1, -1, -1, 1]), None)
    losses, errors = data.losses(np.array([1.0, 2.0, 2.0]))
    assert errors.tolist() == [1, 0, 4]
    np.testing.assert_allclose(losses, np.array([1, 0, 4]) / (8 / 3))
