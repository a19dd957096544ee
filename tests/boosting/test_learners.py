"""What learners are handed: weights of mean 1, or a bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from gapmin import AdaBoostClassifier, GapBoostClassifier
from gapmin.boosting._learners import bootstrap, weight_arguments
from gapmin.boosting.building_blocks import seed_unseeded


def test_bootstrap_draws_by_the_weights():
    rng = np.random.RandomState(0)
    probability = np.array([0.0, 0.1, 0.3, 0.6])
    counts = sum(np.bincount(bootstrap(probability, None, rng), minlength=4) for _ in range(2000))
    np.testing.assert_allclose(counts / counts.sum(), probability, atol=0.02)
    assert counts[0] == 0


def test_bootstrap_has_every_class():
    rng = np.random.RandomState(0)
    probability = np.r_[np.ones(20), 1e-9]
    codes = np.r_[np.zeros(20, int), 1]
    for _ in range(20):  # hardly ever drawn by chance, and there all the same
        assert set(codes[bootstrap(probability, codes, rng)]) == {0, 1}


def test_only_the_unseeded_are_seeded():
    pipe = Pipeline([("a", LogisticRegression(random_state=4)), ("b", LogisticRegression())])
    seed_unseeded(pipe, np.random.RandomState(0))
    assert pipe.get_params()["a__random_state"] == 4
    assert pipe.get_params()["b__random_state"] == np.random.RandomState(0).randint(np.iinfo(np.int32).max)


def test_bootstrap_puts_a_class_in_without_losing_another():
    codes = np.array([0, 1, 1, 1, 2])
    for seed in range(50):
        drawn = bootstrap(np.array([0.2, 0.3, 0.3, 0.2, 0.0]), codes, np.random.RandomState(seed))
        assert set(codes[drawn]) == {0, 1, 2}


def test_which_arguments_carry_weights():
    w = object()
    assert weight_arguments(LogisticRegression(), w) == {"sample_weight": w}
    assert weight_arguments(KNeighborsClassifier(), w) is None
    pipe = make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression())
    assert weight_arguments(pipe, w) == {
        "standardscaler__sample_weight": w,
        "logisticregression__sample_weight": w,
    }
    assert weight_arguments(make_pipeline(StandardScaler(), KNeighborsClassifier()), w) is None
    assert weight_arguments(Pipeline([("a", "passthrough"), ("b", LogisticRegression())]), w) == {"b__sample_weight": w}
    assert weight_arguments(Pipeline([("a", StandardScaler()), ("b", "passthrough")]), w) is None


def test_a_foreign_logistic_regression_is_regularised_as_on_plain_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    clf = AdaBoostClassifier(LogisticRegression(), n_estimators=1).fit(X, y)
    np.testing.assert_allclose(clf.estimators_[0].coef_, LogisticRegression().fit(X, y).coef_, rtol=1e-6)


def test_resampling_is_weighting_for_our_own_learner():
    """A bootstrap handed over as counts is the fit to the rows drawn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    clf = AdaBoostClassifier(n_estimators=1, resample=True, random_state=3).fit(X, y)
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max)
    rows = bootstrap(np.ones(50), y, np.random.RandomState([seed, 0]))
    by_hand = AdaBoostClassifier(n_estimators=1).fit(X[rows], y[rows])
    np.testing.assert_allclose(clf.estimators_[0].coef_, by_hand.estimators_[0].coef_, atol=1e-6)


@pytest.mark.parametrize("learner", [None, LogisticRegression()])
def test_each_learner_sees_its_own_rows(learner):
    """With opposite labels in source and target the auxiliary learners disagree everywhere."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 1)), rng.normal(size=(40, 1))]
    sample_domain = np.r_[np.full(40, -1), np.full(40, 1)]
    y = (X[:, 0] * -sample_domain > 0).astype(int)
    clf = GapBoostClassifier(learner, n_estimators=2).fit(X, y, sample_domain=sample_domain)
    assert clf.gap_history_[0, 0] > 0.45
    assert clf.gap_history_[0, 1] > 0.45
    assert clf.mass_history_[-1, 0] > clf.mass_history_[0, 0]


def test_interleaved_rows_are_the_same_rows():
    """Rows of a domain that stand together are a view; scattered ones are picked; the model is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    sample_domain = np.r_[np.full(20, -1), np.full(40, 1)]
    y = (X[:, 0] + 0.5 * X[:, 1] * (sample_domain > 0) > 0).astype(int)
    order = rng.permutation(60)
    together = GapBoostClassifier().fit(X, y, sample_domain=sample_domain)
    scattered = GapBoostClassifier().fit(X[order], y[order], sample_domain=sample_domain[order])
    np.testing.assert_allclose(scattered.decision_function(X), together.decision_function(X), atol=1e-8)


class Seen(LogisticRegression):
    """Remembers the rows it was given."""

    def fit(self, X, y, sample_weight=None):
        self.rows_, self.weighted_ = X[:, 0].copy(), sample_weight is not None
        return super().fit(X, y, sample_weight)


def test_a_foreign_learner_gets_a_bootstrap_when_asked_to():
    X = np.column_stack([np.arange(40.0), np.random.default_rng(0).normal(size=40)])
    y = (X[:, 1] > 0).astype(int)
    plain = AdaBoostClassifier(Seen(), n_estimators=1).fit(X, y).estimators_[0]
    assert plain.weighted_
    np.testing.assert_array_equal(plain.rows_, np.arange(40))
    drawn = AdaBoostClassifier(Seen(), n_estimators=1, resample=True, random_state=0).fit(X, y).estimators_[0]
    assert not drawn.weighted_
    assert drawn.rows_.size == 40
    assert 20 <= np.unique(drawn.rows_).size < 40
