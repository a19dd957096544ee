"""The gap and B of each round: those of the linear setting under the weights of that round, and nothing else moves."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from gapmin import GapBoostClassifier, GapBoostRegressor
from gapmin.linear import InstanceWeightingClassifier, InstanceWeightingRegressor, WeightedLogisticRegression


def make(seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X, sample_domain = rng.normal(size=(90, 3)), np.repeat([-1, 1, 2], 30)
    score = X[:, 0] + np.where(sample_domain < 0, 1, -1) * 0.5 * X[:, 1] + 0.7 * rng.normal(size=90)
    if n_classes is None:
        return X, score, sample_domain
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)), sample_domain


def weights_before(booster, k, *data, **domain):
    """The weights that round k starts with: those that k - 1 rounds end with."""
    if k == 1:
        return np.full(90, 1 / 90)
    return booster.set_params(n_estimators=k - 1, record_gap=False).fit(*data, **domain).sample_weight_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_reports_the_gap_under_each_rounds_weights(n_classes):
    X, y, sample_domain = make(n_classes=n_classes)
    settings = {"estimator": WeightedLogisticRegression(lam=0.03), "random_state": 0}
    booster = GapBoostClassifier(n_estimators=4, record_gap=True, **settings).fit(X, y, sample_domain=sample_domain)
    assert booster.gap_by_round_.shape == (4, 2)
    for k in (1, 2, 4):
        weight = weights_before(GapBoostClassifier(**settings), k, X, y, sample_domain=sample_domain)
        against = [y == c for c in (range(n_classes) if n_classes > 2 else [1])]
        gaps = [
            InstanceWeightingClassifier(lam=0.03).fit(X, each, sample_domain=sample_domain, sample_weight=weight).gap_
            for each in against
        ]
        assert booster.gap_by_round_[k - 1, 0] == pytest.approx(np.mean([gap.value for gap in gaps]), rel=1e-6)
        assert booster.gap_by_round_[k - 1, 1] == pytest.approx(max(gap.loss_bound for gap in gaps), rel=1e-6)


def test_regressor_reports_the_gap_of_the_squared_loss():
    X, y, sample_domain = make(n_classes=None)
    booster = GapBoostRegressor(n_estimators=3, record_gap=True, random_state=0).fit(X, y, sample_domain=sample_domain)
    first = InstanceWeightingRegressor().fit(X, y, sample_domain=sample_domain).gap_
    np.testing.assert_allclose(booster.gap_by_round_[0], [first.value, first.loss_bound], rtol=1e-6)
    assert len(booster.gap_by_round_) == len(booster.estimators_)


@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_nothing_else_depends_on_it(learner, tmp_path):
    pytest.importorskip("skops")  # of checkpoints
    X, y, sample_domain = make()
    plain = GapBoostClassifier(learner, n_estimators=5, random_state=0).fit(X, y, sample_domain=sample_domain)
    recorded = GapBoostClassifier(learner, n_estimators=5, random_state=0, record_gap=True, checkpoint_dir=tmp_path)
    recorded.fit(X, y, sample_domain=sample_domain)
    np.testing.assert_array_equal(plain.sample_weight_, recorded.sample_weight_)
    np.testing.assert_array_equal(plain.gap_history_, recorded.gap_history_)
    assert plain.gap_by_round_.shape == (0, 2)
    again = GapBoostClassifier(learner, n_estimators=5, random_state=0, record_gap=True, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(again.fit(X, y, sample_domain=sample_domain).gap_by_round_, recorded.gap_by_round_)


def test_remark_39():
    """A convex loss of the ensemble is at most the mean of the rounds' bounds, by the vote weights."""
    X, y, sample_domain = make(1)
    X = np.column_stack([X, np.ones(90)])
    learner = WeightedLogisticRegression(lam=0.05, fit_intercept=False)
    booster = GapBoostClassifier(learner, n_estimators=6, record_gap=True, random_state=0)
    booster.fit(X, y, sample_domain=sample_domain)
    alpha = booster.estimator_weights_
    assert (alpha > 0).all()
    score = sum(a * h.decision_function(X) for a, h in zip(alpha / alpha.sum(), booster.estimators_, strict=True))
    losses = np.logaddexp(0, -np.where(y == 1, 1, -1) * score)
    assert losses.max() <= alpha @ booster.gap_by_round_[:, 1] / alpha.sum()


def test_refusals():
    X, y, sample_domain = make()
    with pytest.raises(ValueError, match="record_gap=True needs source rows"):
        GapBoostClassifier(record_gap=True).fit(X, y)
    bad = X.copy()
    bad[0, 0] = np.nan
    booster = GapBoostClassifier(DecisionTreeClassifier(), record_gap=True)
    with pytest.raises(ValueError, match="record_gap=True needs features that are finite numbers"):
        booster.fit(bad, y, sample_domain=sample_domain)
