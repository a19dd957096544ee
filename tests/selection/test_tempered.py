"""Probabilities raised to a power."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin.selection._candidates import Kit, default_learners
from gapmin.selection._tempered import TemperedClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.array(["a", "b", "c"])[(X[:, 0] + RNG.normal(size=90) > 0).astype(int) + (X[:, 1] > 0.5)]


@parametrize_with_checks([TemperedClassifier(LogisticRegression(), power=2.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("power", [0.5, 1, 3.0])
def test_the_powers_sum_to_one_and_the_class_stays(power):
    inner = LogisticRegression().fit(X, Y)
    model = TemperedClassifier(LogisticRegression(), power=power).fit(X, Y)
    expected = inner.predict_proba(X) ** power
    np.testing.assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True))
    assert model.predict(X).tolist() == inner.predict(X).tolist()


def test_certainty_stays_certain_and_many_classes_do_not_vanish():
    model = TemperedClassifier(ExtraTreesClassifier(3, random_state=0), power=0.5).fit(X, Y)
    assert model.predict_proba(X).max() == 1
    model = TemperedClassifier(LogisticRegression(), power=1e4).fit(X, Y)  # a third to the power of 10,000 is 0
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_weights_reach_the_classifier():
    weight = RNG.uniform(size=90)
    model = TemperedClassifier(LogisticRegression(), power=2).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, LogisticRegression().fit(X, Y, sample_weight=weight).coef_)


@pytest.mark.parametrize("power", [0, -1.0, "two"])
def test_bad_powers_are_refused(power):
    with pytest.raises(ValueError, match="power"):
        TemperedClassifier(LogisticRegression(), power=power).fit(X, Y)


def test_forests_of_few_rows_are_made_surer_and_boosted_trees_less_sure_with_their_last_settings_inside():
    domain = np.repeat([-1, 1], [20, 70])
    found = {}
    for learner in default_learners(False, X, 3):
        if learner.is_tempered:
            search, last = (Kit(False, [1]).pooling(learner)[0].final(domain, 0, thorough=t) for t in (False, True))
            found[type(last.estimator.estimator)] = (
                last.estimator.power,
                search.estimator.estimator.n_estimators,
                last.estimator.estimator.n_estimators,
            )
    assert found == {ExtraTreesClassifier: (2.0, 20, 200), GradientBoostingClassifier: (0.5, 30, 150)}
    assert not any(learner.is_tempered for learner in default_learners(True, X, 1))
    assert not any(learner.is_tempered for learner in default_learners(False, np.tile(X, (5, 1)), 3))
