"""Weighted pooling: what it is the same as, what its weights are, what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin.linear import InstanceWeightingClassifier, WeightedLogisticRegression
from gapmin.transfer import WeightedPoolingClassifier, WeightedPoolingRegressor
from gapmin_support.frames import to_frame


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
    pd = pytest.importorskip("pandas")
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
    ],
)
def test_refuses(rows, parameters, message):
    X, y, domain = rows
    with pytest.raises(ValueError, match=message):
        WeightedPoolingClassifier(**parameters).fit(X, y, sample_domain=domain)


def test_inputs_are_not_changed(rows):
    X, y, domain = rows
    before = X.copy(), y.copy(), domain.copy()
    WeightedPoolingRegressor(DecisionTreeRegressor()).fit(X, X[:, 0], sample_domain=domain)
    WeightedPoolingClassifier().fit(X, y, sample_domain=domain)
    for now, then in zip((X, y, domain), before, strict=True):
        assert np.array_equal(now, then)


SCALES = [1e-150, 1e-30, 1.0, 1e30, 1e150]


def fitted(model, X, y, domain):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y, sample_domain=domain)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, to_frame])
@pytest.mark.parametrize("scale", SCALES)
def test_a_regression_follows_the_units_of_its_features(rows, scale, convert):
    X, _, domain = rows
    y = X @ [1.0, -1.0, 0.5] + np.random.default_rng(0).normal(size=90)
    at_one = WeightedPoolingRegressor(Ridge(2.0)).fit(X, y, sample_domain=domain).predict(X)
    given = convert(scale * X)
    model = fitted(WeightedPoolingRegressor(Ridge(2.0 * scale**2)), given, y, domain)
    np.testing.assert_allclose(model.predict(given), at_one, rtol=1e-6)
    assert type(model.estimator_) is Ridge
    # Under a penalty that does not follow them, huge features are all but free, tiny ones all but held at 0.
    plain = fitted(WeightedPoolingRegressor(), given, y, domain).predict(given)
    free = WeightedPoolingRegressor(Ridge(scale**-2)).fit(X, y, sample_domain=domain).predict(X)
    np.testing.assert_allclose(plain, free, rtol=1e-6)


@pytest.mark.parametrize("scale", SCALES)
def test_a_regression_follows_the_units_of_its_labels(rows, scale):
    """In single precision too, of which labels may be out of range."""
    X, _, domain = rows
    y = X @ [1.0, -1.0, 0.5] + np.random.default_rng(0).normal(size=90)
    model = WeightedPoolingRegressor(random_state=0)
    at_one = model.fit(X, y, sample_domain=domain).predict(X)
    for given in (X, X.astype(np.float32)):
        found = fitted(model, given, scale * y, domain).predict(given)
        np.testing.assert_allclose(found, scale * at_one, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
def test_columns_of_any_scale_and_that_repeat_each_other(rows, convert):
    """One penalty for all: in the huge columns, which are twice the same, it is nothing, in the other it is not."""
    X, _, domain = rows
    y = X @ [1.0, 0.0, 0.5] + np.random.default_rng(0).normal(size=90)
    X = np.column_stack([1e150 * X[:, 0], 1e150 * X[:, 0], X[:, 2]])
    model = fitted(WeightedPoolingRegressor(Ridge(5.0)), convert(X), y, domain)
    weight = np.where(domain < 0, 0.5 / 20, 0.5 / 70) * 90
    A = X[:, [0]] / 1e150
    by_hand = Ridge(5.0, solver="svd").fit(np.column_stack([1e6 * A, X[:, 2]]), y, sample_weight=weight)
    np.testing.assert_allclose(
        model.predict(convert(X)), by_hand.predict(np.column_stack([1e6 * A, X[:, 2]])), rtol=1e-6
    )


def test_single_precision_and_an_overflow_of_its_squares(rows):
    X, _, domain = rows
    y = X @ [1.0, -1.0, 0.5] + np.random.default_rng(0).normal(size=90)
    huge = (1e30 * X).astype(np.float32)
    free = WeightedPoolingRegressor(Ridge(1e-9)).fit(X, y, sample_domain=domain).predict(X)
    np.testing.assert_allclose(fitted(WeightedPoolingRegressor(), huge, y, domain).predict(huge), free, rtol=1e-4)


def test_what_cannot_be_a_number_is_refused(rows):
    X, _, domain = rows
    with pytest.raises(
        ValueError, match=r"the coefficient of column 0 is too small for a number: X has .*e\+300 there"
    ):
        WeightedPoolingRegressor().fit(1e300 * X, 1e-300 * X[:, 0], sample_domain=domain)


@pytest.mark.parametrize("scale", SCALES)
def test_a_classification_of_any_scale(rows, scale):
    X, y, domain = rows
    model = WeightedPoolingClassifier(WeightedLogisticRegression(0.01 * scale**2))
    at_one = WeightedPoolingClassifier(random_state=0).fit(X, y, sample_domain=domain)
    found = fitted(model.set_params(random_state=0), scale * X, y, domain)
    np.testing.assert_allclose(found.predict_proba(scale * X), at_one.predict_proba(X), atol=1e-5)
    plain = fitted(WeightedPoolingClassifier(), scale * X, y, domain)
    assert np.isfinite(plain.predict_proba(scale * X)).all()
