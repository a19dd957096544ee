"""Phi: any transformer, fitted or not, on whatever it takes; and problems with more features than rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from gapmin.linear import (
    FeatureTransferClassifier,
    InstanceWeightingClassifier,
    InstanceWeightingRegressor,
    TaskCovarianceClassifier,
    TaskWeightingClassifier,
)

DOMAIN = np.repeat([-1, 1], [20, 40])


def rows(seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d))
    return X, X[:, 0] + 0.5 * rng.normal(size=60) > 0


def test_a_fitted_one_is_used_as_it_is_and_an_unfitted_one_is_fitted():
    X, y = rows()
    elsewhere = PCA(2).fit(np.random.default_rng(1).normal(size=(99, 4)) * [9, 1, 1, 1])
    given = FeatureTransferClassifier(elsewhere).fit(X, y, sample_domain=DOMAIN)
    by_hand = InstanceWeightingClassifier().fit(elsewhere.transform(X), y, sample_domain=DOMAIN)
    np.testing.assert_allclose(given.coef_, by_hand.coef_)
    assert given.gap_.value == pytest.approx(by_hand.gap_.value)
    assert given.transformer_ is elsewhere
    fitted_here = FeatureTransferClassifier(PCA(2)).fit(X, y, sample_domain=DOMAIN)
    np.testing.assert_allclose(fitted_here.transformer_.components_, PCA(2).fit(X).components_)
    assert any("here it was fitted on it" in said for said in fitted_here.risk_bound().assumptions)
    assert not any("fitted on it" in said for said in given.risk_bound().assumptions)
    frozen = clone(FeatureTransferClassifier(FrozenEstimator(elsewhere))).fit(X, y, sample_domain=DOMAIN)
    np.testing.assert_allclose(frozen.coef_, given.coef_)


def test_frames_and_labels_reach_it():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 1] > 0, "x", "y"))
    phi = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"]), ("kinds", OneHotEncoder(), ["kind"])])
    model = FeatureTransferClassifier(phi).fit(frame, y, sample_domain=DOMAIN)
    assert model.coef_.shape == (1, 4)
    assert model.predict(frame).shape == (60,)
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    supervised = TaskWeightingClassifier(transformer=LinearDiscriminantAnalysis()).fit(X, y, sample_task=DOMAIN)
    assert supervised.coef_.shape == (2, 1)


def test_what_it_makes_is_checked():
    X, y = rows()
    with (
        pytest.raises(ValueError, match=r"FunctionTransformer made of X cannot be used.*NaN"),
        np.errstate(all="ignore"),
    ):
        FeatureTransferClassifier(FunctionTransformer(np.log)).fit(X, y, sample_domain=DOMAIN)
    with pytest.raises(ValueError, match="FunctionTransformer made of X cannot be used"):
        FeatureTransferClassifier(FunctionTransformer(lambda X: X[:, 0])).fit(X, y, sample_domain=DOMAIN)


def test_nothing_of_an_earlier_fit_stays():
    X, y = rows()
    model = FeatureTransferClassifier(PCA(2)).fit(X, y, sample_domain=DOMAIN)
    model.set_params(transformer=None).fit(X, y, sample_domain=DOMAIN)
    assert not hasattr(model, "transformer_")
    assert model.coef_.shape == (1, 4)
    assert not any("fitted on it" in said for said in model.risk_bound().assumptions)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("cls", [InstanceWeightingClassifier, InstanceWeightingRegressor])
def test_many_features_are_as_exact_as_few(cls, scale):
    """With more features than rows nothing is lost by turning the rows into their own span."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1300)) * scale
    y = X[:, 0] / scale + 0.1 * rng.normal(size=60)
    y = y > 0 if cls is InstanceWeightingClassifier else y
    basis, triangle = np.linalg.qr(X.T)
    wide = cls(fit_intercept=False).fit(X, y, sample_domain=DOMAIN)
    narrow = cls(fit_intercept=False).fit(triangle.T, y, sample_domain=DOMAIN)
    np.testing.assert_allclose(wide.coef_, narrow.coef_ @ basis.T, atol=1e-8 * np.abs(wide.coef_).max())
    assert wide.gap_.value == pytest.approx(narrow.gap_.value, rel=1e-7)


def test_learnt_covariance_of_wide_tasks():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 390)), np.repeat([0, 1, 2], 20)
    y = X[:, :5].sum(axis=1) > 0
    model = TaskCovarianceClassifier(lam=0.1).fit(X, y, sample_task=task)
    _, triangle = np.linalg.qr(np.hstack([X, np.ones((60, 1))]).T)
    narrow = TaskCovarianceClassifier(lam=0.1, fit_intercept=False).fit(triangle.T, y, sample_task=task)
    np.testing.assert_allclose(model.omega_, narrow.omega_, rtol=1e-4)
