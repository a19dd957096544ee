"""Our logistic regression against scikit-learn's, and its own conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from gapmin.linear import WeightedLogisticRegression
from gapmin.linear.solvers import LogisticFits


def problem(seed, n=200, d=5, n_classes=2, scale=1.0):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    y = (X / scale @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = range(n_classes)
    return X, y, rng.exponential(size=n)


def gradient(model, X, y, weight):
    """Of sum w loss + lam ||h||^2 at the model's coefficients, written out anew."""
    weight = weight / weight.sum()
    margin = X @ model.coef_.T + model.intercept_
    if model.coef_.shape[0] == 1:
        residual = (weight * (expit(margin[:, 0]) - (y == model.classes_[1])))[:, None]
    else:
        residual = weight[:, None] * (softmax(margin, axis=1) - (y[:, None] == model.classes_))
    by_coef = residual.T @ X + 2 * model.lam * model.coef_
    return np.abs(by_coef).max(), np.abs(residual.sum(axis=0)).max()


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [1.0, 0.01, 0.001])
def test_equals_scikit_learn(n_classes, fit_intercept, lam):
    X, y, weight = problem(0, n_classes=n_classes)
    ours = WeightedLogisticRegression(lam, fit_intercept=fit_intercept, tol=1e-11).fit(X, y, 17 * weight)
    theirs = LogisticRegression(
        C=1 / (2 * lam * len(y)), fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000, solver="newton-cg"
    ).fit(X, y, sample_weight=weight / weight.mean())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    # Of several classes a constant may be added to every intercept: it changes no probability, and is not penalised.
    shift = 0.0 if n_classes == 2 else theirs.intercept_.mean() - ours.intercept_.mean()
    np.testing.assert_allclose(ours.intercept_ + shift, theirs.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_log_proba(X), np.log(theirs.predict_proba(X)), atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from([5, 50, 5000]),
    n_classes=st.sampled_from([2, 4]),
    scale=st.sampled_from([1e-2, 1.0, 30.0]),
    lam=st.sampled_from([1e-4, 1e-2, 10.0]),
    concentrated=st.booleans(),
)
def test_the_gradient_is_zero_where_it_stops(seed, n, n_classes, scale, lam, concentrated):
    X, y, weight = problem(seed, n=n, n_classes=n_classes, scale=scale)
    if concentrated:  # as boosting does
        weight = weight**20 + 1e-12
    model = WeightedLogisticRegression(lam).fit(X, y, weight)
    assert max(gradient(model, X, y, weight)) < 1e-7


def test_many_features_go_without_a_factor():
    X, y, weight = problem(1, n=60, d=700)
    model = WeightedLogisticRegression().fit(X / 20, y, weight)
    assert max(gradient(model, X / 20, y, weight)) < 1e-7
    X = sp.random(80, 900, density=0.05, random_state=0, format="csr")
    y = np.arange(80) % 3
    model = WeightedLogisticRegression(fit_intercept=False).fit(X, y)
    by_coef, _ = gradient(model, X.toarray(), y, np.ones(80))
    assert by_coef < 1e-7


def test_many_parameters_get_a_factor_a_class():
    X, y, weight = problem(2, n=300, d=60, n_classes=20)
    model = WeightedLogisticRegression().fit(X, y, weight)
    assert max(gradient(model, X, y, weight)) < 1e-7


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_equals_dense(n_classes):
    X, y, weight = problem(3, n_classes=n_classes, d=20)
    X = X * (np.abs(X) > 1)
    dense = WeightedLogisticRegression(tol=1e-12).fit(X, y, weight)
    for convert in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        sparse = WeightedLogisticRegression(tol=1e-12).fit(convert(X), y, weight)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
        np.testing.assert_allclose(sparse.decision_function(convert(X)), dense.decision_function(X), atol=1e-8)


def test_a_second_fit_to_like_weights_is_short():
    X, y, weight = problem(4, n=1000, d=20)
    codes = y.astype(np.intp)
    fits = LogisticFits(WeightedLogisticRegression(), X, codes, np.array([0, 1]))
    first = fits.fit_into(WeightedLogisticRegression(), weight)
    again = fits.fit_into(WeightedLogisticRegression(), weight)
    assert again.n_iter_ == 0
    near = fits.fit_into(WeightedLogisticRegression(), weight * np.where(y == 0, 1.05, 1.0))
    assert 0 < near.n_iter_ < first.n_iter_
    assert max(gradient(near, X, y, weight * np.where(y == 0, 1.05, 1.0))) < 1e-7
    assert fits.last_learner is near
    np.testing.assert_array_equal(fits.predict_codes(), near.predict(X))


def test_warm_start():
    X, y, weight = problem(5)
    model = WeightedLogisticRegression(warm_start=True).fit(X, y, weight)
    assert model.fit(X, y, weight).n_iter_ == 0
    assert model.set_params(warm_start=False).fit(X, y, weight).n_iter_ > 0
    model.set_params(warm_start=True).fit(X, np.where(y == 0, "a", "b"))  # other classes: from scratch
    assert model.classes_.tolist() == ["a", "b"]
    bare = WeightedLogisticRegression(warm_start=True, fit_intercept=False).fit(X, y)
    assert bare.fit(X, y).n_iter_ == 0


def test_single_precision():
    X, y, weight = problem(6)
    single = WeightedLogisticRegression().fit(X.astype(np.float32), y, weight)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, WeightedLogisticRegression().fit(X, y, weight).coef_, atol=1e-3)


def test_huge_and_tiny_weights():
    X, y, weight = problem(7)
    plain = WeightedLogisticRegression(tol=1e-11).fit(X, y, weight)
    for factor in (1e-200, 1e200):
        scaled = WeightedLogisticRegression(tol=1e-11).fit(X, y, factor * weight)
        np.testing.assert_allclose(scaled.coef_, plain.coef_, atol=1e-8)


def test_bad_input():
    X, y, weight = problem(8)
    with pytest.raises(ValueError, match=r"y has one class \(1\)"):
        WeightedLogisticRegression().fit(X, np.ones(len(y), int))
    with pytest.raises(ValueError, match=r"sample_weight has -1\.0 at row 0"):
        WeightedLogisticRegression().fit(X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="'lam' parameter"):
        WeightedLogisticRegression(lam=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps .* raise max_iter"):
        WeightedLogisticRegression(max_iter=1, lam=1e-6).fit(X, y, weight)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_start_where_curvature_says_nothing(n_classes):
    """Far out every probability is 0 or 1: Newton's metric is empty there, the bound on it is not."""
    X, y, weight = problem(9, n_classes=n_classes)
    fits = LogisticFits(WeightedLogisticRegression(), X, y.astype(np.intp), np.arange(n_classes))
    fits.h = 1e4 * np.ones_like(fits.h) * np.where(np.arange(fits.h.size) % 2, 1, -1)
    model = fits.fit_into(WeightedLogisticRegression(), weight)
    assert max(gradient(model, X, y, weight)) < 1e-7
