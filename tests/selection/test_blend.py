"""Blends: the weights by hand, the mean as a mean, and what a search says of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from gapmin import TransferClassifierCV, TransferRegressorCV
from gapmin.selection import _search
from gapmin.selection._blend import greedy_weights
from gapmin.selection._blended import BlendedClassifier, BlendedRegressor
from gapmin.selection.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X, domain = rng.normal(size=(230, 5)), np.repeat([-1, 1], [30, 200])
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=230), domain


@pytest.fixture(scope="module")
def regressor():
    X, y, domain = problem()
    return TransferRegressorCV(n_repeats=2, random_state=0).fit(X, y, sample_domain=domain)


def squared_to(value):
    return lambda mean: float(((mean - value) ** 2).mean())


@pytest.mark.parametrize(
    ("members", "wanted", "weights"),
    [
        # The first vote goes to 2 (nearest to 1.5), the second to 1: (2 + 1)/2. From there they take turns.
        ([[1.0], [2.0], [9.0]], 1.5, [0.5, 0.5, 0.0]),
        # 0, 0, 0 and then 4 (a mean of 1), and so on: one vote of four.
        ([[0.0], [4.0]], 1.0, [0.75, 0.25]),
        ([[3.0]], 1.0, [1.0]),
        # None is better than the first alone.
        ([[1.0], [5.0], [7.0]], 0.0, [1.0, 0.0, 0.0]),
        # The eleventh of the votes goes to 2 (12/11 is nearer than 1) and no other: too few to be a member.
        ([[1.0], [2.0]], 1.05, [1.0, 0.0]),
    ],
)
def test_greedy_weights_by_hand(members, wanted, weights):
    np.testing.assert_allclose(greedy_weights(np.array(members), squared_to(wanted)), weights)


def test_where_nobody_has_two_votes_those_with_one_are_members():
    weights = greedy_weights(25 * np.eye(25), squared_to(1.0))  # each of another kind is better than more of the same
    np.testing.assert_allclose(np.sort(weights), [0.0] * 5 + [0.05] * 20)


def test_a_blend_is_no_worse_than_its_best_member_on_the_rows_that_it_was_made_for():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=40)
    members = truth + rng.normal(size=(6, 40)) * np.linspace(0.5, 2, 6)[:, None]
    loss = squared_to(truth)
    weights = greedy_weights(members, loss)
    assert weights.sum() == pytest.approx(1)
    assert loss(np.average(members, axis=0, weights=weights)) < min(map(loss, members))


@pytest.mark.parametrize("classes", [False, True])
def test_the_mean_of_its_members(classes):
    X, y, domain = problem()
    y = np.where(y > 0, "yes", "no") if classes else y
    pooling = WeightedPoolingClassifier if classes else WeightedPoolingRegressor
    members = [pooling(target_share=1.0), pooling(target_share=0.5)]
    blended = (BlendedClassifier if classes else BlendedRegressor)(members, weights=[0.25, 0.75])
    blended.fit(X, y, sample_domain=domain)
    each = [clone(member).fit(X, y, sample_domain=domain) for member in members]
    say = "predict_proba" if classes else "predict"
    mean = 0.25 * getattr(each[0], say)(X) + 0.75 * getattr(each[1], say)(X)
    np.testing.assert_allclose(getattr(blended, say)(X), mean)
    np.testing.assert_allclose(blended.sample_weight_, 0.25 * each[0].sample_weight_ + 0.75 * each[1].sample_weight_)
    if classes:
        assert np.array_equal(blended.predict(X), np.array(["no", "yes"])[mean.argmax(axis=1)])


def test_the_search_says_what_is_in_the_blend(regressor):
    weights = regressor.cv_results_["weight"]
    assert weights.sum() == pytest.approx(1)
    members = regressor.best_estimator_.estimators_
    assert 2 <= len(members) == np.count_nonzero(weights) <= 12
    assert regressor.best_index_ == weights.argmax()
    assert regressor.best_params_ == regressor.cv_results_["params"][regressor.best_index_]
    assert all(regressor.cv_results_["n_repeats"][weights > 0] == 2)
    assert regressor.transfer_verdict_.chosen.count(" + ") == len(members) - 1
    methods = {m for m, w in zip(regressor.cv_results_["method"], weights, strict=True) if w > 0}
    assert regressor.transfer_verdict_.transfers == ("target only" not in methods)  # of one side alone


def test_its_loss_is_that_of_the_mean_and_without_sources_no_higher_than_a_members():
    X, y, domain = problem()
    alone = TransferRegressorCV(methods=["target only"], n_repeats=2, random_state=0).fit(X, y, sample_domain=domain)
    chosen = alone.cv_results_["weight"] > 0
    assert alone.transfer_verdict_.loss <= alone.cv_results_["mean_loss"][chosen].min() + 1e-12


def test_one_model_where_that_is_asked_for(regressor):
    X, y, domain = problem()
    one = TransferRegressorCV(n_repeats=2, blend=False, random_state=0).fit(X, y, sample_domain=domain)
    assert np.count_nonzero(one.cv_results_["weight"]) == 1
    assert not hasattr(one.best_estimator_, "estimators")
    assert one.cv_results_["candidate"] == regressor.cv_results_["candidate"]


@pytest.mark.slow
def test_gradient_boosting_takes_part_but_for_many_classes_and_sparse_rows():
    import scipy.sparse as sp

    X, y, domain = problem()

    def learners(X, y):
        found = TransferClassifierCV(n_repeats=1, n_splits=2, random_state=0).fit(X, y, sample_domain=domain)
        return " ".join(found.cv_results_["candidate"])

    assert "GradientBoostingClassifier" in learners(X, y > 0)
    assert "GradientBoostingClassifier" not in learners(sp.csr_matrix(X), y > 0)
    assert "GradientBoostingClassifier" not in learners(X, np.arange(y.size) % 5)


def test_the_best_kinds_of_learner_have_most_votes_to_begin_with(monkeypatch):
    X, y, domain = problem()
    asked = []

    def noted(predicted, loss, first=0.0):
        asked.append(np.sort(np.atleast_1d(first))[::-1][:5].tolist())
        return greedy_weights(predicted, loss, first)

    monkeypatch.setattr(_search, "greedy_weights", noted)
    TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    assert asked == [[0.0], [5, 4, 3, 2, 0]]  # without sources none, and with them a kind each


def test_a_model_without_sources_has_no_doubt_of_them():
    X, y, domain = problem()
    y[domain > 0] *= -1
    verdict = TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain).transfer_verdict_
    assert not verdict.transfers
    assert verdict.doubt == 0
