"""The kernel learner against scikit-learn's, its stationarity, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin.transfer import kernel as _kernel
from gapmin.transfer.kernel import KernelClassifier, KernelRegressor


@parametrize_with_checks([KernelClassifier(), KernelRegressor()])
def test_scikit_learn(estimator, check):
    check(estimator)


def rows(n=60):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2], random.uniform(0.5, 3, size=n)


def test_all_rows_as_landmarks_is_kernel_ridge_of_the_centred_labels():
    X, y, weight = rows()
    model = KernelRegressor(0.7, 0.3).fit(X, y, weight)
    mean = np.average(y, weights=weight)
    oracle = KernelRidge(kernel="rbf", gamma=model.width_, alpha=0.3).fit(X, y - mean, sample_weight=weight)
    assert_allclose(model.predict(X), oracle.predict(X) + mean, atol=1e-6)
    spread = np.average((X - np.average(X, axis=0, weights=weight)) ** 2, axis=0, weights=weight).sum()
    assert model.width_ == pytest.approx(0.7 / spread)


def test_landmarks_minimise_the_penalised_squares():
    X, y, weight = rows()
    model = KernelRegressor(0.7, 0.3, n_landmarks=12, random_state=0).fit(X, y, weight)
    assert model.landmarks_.shape == (12, 3)
    K, inner = (rbf_kernel(e, model.landmarks_, gamma=model.width_) for e in (X - model.mean_, model.landmarks_))
    slope = K.T @ (weight * (K @ model.coef_[:, 0] - (y - model.intercept_[0]))) + 0.3 * inner @ model.coef_[:, 0]
    assert_allclose(slope, 0, atol=1e-6)


def test_classes_are_values_of_one_and_zero():
    X, y, weight = rows()
    names = np.array(["high", "low"])[(y < 0).astype(int)]
    model = KernelClassifier().fit(X, names, weight)
    values = KernelRegressor().fit(X, (y < 0).astype(float), weight).predict(X)
    low, high = np.maximum(values, 0) ** 2, np.maximum(1 - values, 0) ** 2
    assert_allclose(model.predict_proba(X), np.column_stack([high, low]) / (high + low)[:, None], atol=1e-6)
    assert_array_equal(model.predict(X), np.where(values > 0.5, "low", "high"))


@pytest.mark.parametrize(("origin", "unit"), [(100, 7), (1e6, 1), (1e9, 1), (0, 1e-100), (0, 1e100)])
def test_origin_and_unit_of_the_features_do_not_matter(origin, unit):
    X, y, _ = rows()
    found = KernelRegressor().fit(X, y).predict(X)
    moved = origin + unit * X
    assert_allclose(KernelRegressor().fit(moved, y).predict(moved), found, atol=1e-5)


def test_rows_too_close_to_tell_apart_are_taken_as_equal():
    X, y, _ = rows()
    assert_allclose(KernelRegressor().fit(1e-161 * X, y).predict(1e-161 * X), np.full(len(y), y.mean()))


@pytest.mark.parametrize("n_landmarks", [500, 12])
def test_rows_taken_in_blocks_give_the_same(monkeypatch, n_landmarks):
    X, y, weight = rows()
    whole = KernelRegressor(n_landmarks=n_landmarks, random_state=0).fit(X, y, weight).predict(X)
    monkeypatch.setattr(_kernel, "_BLOCK", 7 * min(n_landmarks, len(X)))
    parts = KernelRegressor(n_landmarks=n_landmarks, random_state=0).fit(X, y, weight).predict(X)
    assert_allclose(parts, whole, atol=1e-10)


def test_rows_that_do_not_differ_and_equal_rows():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert_allclose(KernelRegressor().fit(np.ones((4, 2)), y).predict(np.ones((1, 2))), 1.5)
    X = np.repeat(np.eye(2), 2, axis=0)
    assert_allclose(KernelRegressor(alpha=1e-9).fit(X, y).predict(np.eye(2)), [0.5, 2.5], atol=1e-6)
