"""Weighted pooling: what it is the same as, what its weights are, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin.linear import InstanceWeightingClassifier, WeightedLogisticRegression
from gapmin.selection import WeightedPoolingClassifier, WeightedPoolingRegressor


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(90, 3)), np.repeat([-1, 1, 2], [20, 40, 30])
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=90) > 0, "yes", "no")
    return X, y, domain


@parametrize_with_checks([WeightedPoolingClassifier(), WeightedPoolingRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_share_one_is_the_target_alone(rows):
    X, y, domain = rows
    pooled = WeightedPoolingClassifier(target_share=1).fit(X, y, sample_domain=domain)
    alone = WeightedLogisticRegression().fit(X[domain < 0], y[domain < 0])
    np.testing.assert_allclose(pooled.estimator_.coef_, alone.coef_, atol=1e-8)
    assert pooled.domain_weight_ == pytest.approx({-1: 1.0})
    assert not pooled.sample_weight_[domain > 0].any()


def test_no_share_is_plain_pooling(rows):
    X, y, domain = rows
    pooled = WeightedPoolingClassifier(target_share=None).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(pooled.estimator_.coef_, WeightedLogisticRegression().fit(X, y).coef_, atol=1e-8)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_is_instance_weighting_with_any_learner(rows, share):
    """gamma L_T + (1 - gamma) L_S, the paper's special case, with the same minimiser."""
    X, y, domain = rows
    pooled = WeightedPoolingClassifier(WeightedLogisticRegression(0.01, fit_intercept=False), target_share=share)
    pooled.fit(X, y, sample_domain=domain)
    paper = InstanceWeightingClassifier(gamma=share, lam=0.01, fit_intercept=False).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(pooled.estimator_.coef_, paper.coef_, atol=1e-6)
    np.testing.assert_allclose(pooled.sample_weight_, paper.sample_weight_)


def test_a_foreign_learner_is_given_weights_of_mean_one(rows):
    X, y, domain = rows
    pooled = WeightedPoolingClassifier(LogisticRegression(C=0.3), target_share=0.6).fit(X, y, sample_domain=domain)
    weight = np.where(domain < 0, 0.6 / 20, 0.4 / 70) * 90
    by_hand = LogisticRegression(C=0.3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(pooled.estimator_.coef_, by_hand.coef_, rtol=1e-6)


def test_chosen_sources_are_as_if_the_others_were_not_there(rows):
    X, y, domain = rows
    some = WeightedPoolingClassifier(sources=[2]).fit(X, y, sample_domain=domain)
    kept = domain != 1
    without = WeightedPoolingClassifier().fit(X[kept], y[kept], sample_domain=domain[kept])
    np.testing.assert_allclose(some.estimator_.coef_, without.estimator_.coef_, atol=1e-8)
    assert not some.sample_weight_[domain == 1].any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gap_weights_leave_nothing_to_a_source_that_lies(n_classes):
    rng = np.random.default_rng(1)
    X, domain = rng.normal(size=(360, 3)), np.repeat([-1, 1, 2], [60, 150, 150])
    codes = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    y = codes.copy()
    y[domain == 2] = (codes[domain == 2] + 1) % n_classes
    model = WeightedPoolingClassifier(source_weight="gap", random_state=0).fit(X, y, sample_domain=domain)
    assert model.domain_weight_[2] < 0.1 * model.domain_weight_[1]
    assert model.domain_weight_[-1] == pytest.approx(0.5)


def test_gap_weights_in_a_regression_do_not_go_by_units():
    rng = np.random.default_rng(1)
    X, domain = rng.normal(size=(360, 3)), np.repeat([-1, 1, 2], [60, 150, 150])
    y = X[:, 0] + 0.1 * rng.normal(size=360)
    y[domain == 2] *= -1
    fits = [
        WeightedPoolingRegressor(source_weight="gap", random_state=0).fit(X, scale * y + shift, sample_domain=domain)
        for scale, shift in ((1.0, 0.0), (1000.0, -500.0))
    ]
    for model in fits:
        assert model.domain_weight_[2] < 0.1 * model.domain_weight_[1]
    assert fits[0].domain_weight_[1] == pytest.approx(fits[1].domain_weight_[1], rel=1e-6)


def test_a_row_of_weight_two_is_a_row_given_twice(rows):
    X, y, domain = rows
    times = np.random.default_rng(2).integers(0, 3, size=y.size)
    weighted = WeightedPoolingClassifier(target_share=0.7).fit(X, y, sample_domain=domain, sample_weight=times)
    twice = np.repeat(np.arange(y.size), times)
    repeated = WeightedPoolingClassifier(target_share=0.7).fit(X[twice], y[twice], sample_domain=domain[twice])
    np.testing.assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-7)


def test_one_class_in_the_target_will_do_where_the_source_has_two(rows):
    X, y, domain = rows
    y = np.where(domain < 0, "yes", y)
    assert set(WeightedPoolingClassifier().fit(X, y, sample_domain=domain).classes_) == {"no", "yes"}
    with pytest.raises(ValueError, match="the target has one class"):
        WeightedPoolingClassifier(target_share=1).fit(X, y, sample_domain=domain)


def test_learners_without_weights_get_a_bootstrap_from_the_seed(rows):
    X, y, domain = rows
    first, again, other = (
        WeightedPoolingClassifier(KNeighborsClassifier(3), random_state=seed).fit(X, y, sample_domain=domain)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))


def test_frames_reach_a_pipeline_as_they_are(rows):
    X, _, domain = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=np.where(X[:, 0] > 0, "north", "south"))
    learner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["a", "b", "c"])), Ridge()
    )
    model = WeightedPoolingRegressor(learner).fit(frame, X[:, 0], sample_domain=domain)
    assert model.score(frame, X[:, 0]) > 0.9
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "town"]


def test_a_class_that_no_row_in_use_has_is_left_out(rows):
    X, y, domain = rows
    y = np.where((domain == 1) & (X[:, 0] > 1), "maybe", y)
    assert WeightedPoolingClassifier(target_share=1).fit(X, y, sample_domain=domain).classes_.tolist() == ["no", "yes"]
    model = WeightedPoolingClassifier(ExtraTreesClassifier(random_state=0)).fit(X, y, sample_domain=domain)
    assert model.predict_proba(X).shape == (90, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sources": [3]}, r"sources has 3: choose from the sources in sample_domain, \[1, 2\]"),
        ({"target_share": 0}, "target_share"),
        ({"target_share": 1.5}, "target_share"),
        ({"source_weight": "size"}, "source_weight"),
    ],
)
def test_refuses(rows, parameters, message):
    X, y, domain = rows
    with pytest.raises(ValueError, match=message):
        WeightedPoolingClassifier(**parameters).fit(X, y, sample_domain=domain)


def test_inputs_are_not_changed(rows):
    X, y, domain = rows
    before = X.copy(), y.copy(), domain.copy()
    WeightedPoolingRegressor(DecisionTreeRegressor(), source_weight="gap").fit(X, X[:, 0], sample_domain=domain)
    WeightedPoolingClassifier(source_weight="gap").fit(X, y, sample_domain=domain)
    for now, then in zip((X, y, domain), before, strict=True):
        assert np.array_equal(now, then)
