"""Columns in proportion to what they say of the label."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.pipeline import Pipeline

from gapmin import TransferClassifierCV
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._candidates import Kit, default_learners
from gapmin.selection._relevance import RelevanceScaler
from gapmin_support.checks import scikit_learn_checks

RNG = np.random.default_rng(0)


@scikit_learn_checks([RelevanceScaler()], [RelevanceScaler(of_classes=False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_factors_are_correlations_less_chance():
    X = RNG.normal(size=(50, 6)) * [1, 2, 3, 0.1, 1, 1] + 5
    y = X[:, 0] + X[:, 1] + RNG.normal(size=50)
    squares = np.array([np.corrcoef(column, y)[0, 1] ** 2 for column in X.T])
    wanted = np.sqrt(np.maximum(squares - 1 / 49, 0))
    found = RelevanceScaler(of_classes=False).fit(X, y).scale_
    np.testing.assert_allclose(found / found[1], wanted / wanted[1])
    assert 0 in found  # of four columns without a part in it
    scaled = RelevanceScaler(of_classes=False).fit_transform(X, y)
    np.testing.assert_allclose(scaled.var(axis=0).sum(), X.var(axis=0).sum())


def test_of_classes_the_mean_over_them():
    X, y = RNG.normal(size=(40, 3)), np.array(list("abcd") * 10)
    squares = np.mean([[np.corrcoef(column, y == label)[0, 1] ** 2 for column in X.T] for label in "abcd"], axis=0)
    wanted = np.sqrt(np.maximum(squares - 1 / 39, 0))
    found = RelevanceScaler().fit(X, y).scale_
    k = wanted.argmax()
    np.testing.assert_allclose(found / found[k], wanted / wanted[k])


def test_classes_are_no_numbers_whatever_they_are_called():
    X, y = RNG.normal(size=(40, 3)), RNG.integers(3, size=40)
    names = np.array([7, -1, 100])
    np.testing.assert_allclose(RelevanceScaler().fit(X, y).scale_, RelevanceScaler().fit(X, names[y]).scale_)


def test_where_nothing_is_relevant_all_stay_as_they_are():
    X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    for y in ([0, 0, 0, 0], [1, 0, 0, 1]):  # one class; a parity, which no column goes with
        assert RelevanceScaler().fit(X, y).scale_.tolist() == [1, 1]
    assert RelevanceScaler().fit(np.ones((4, 2)), [0, 1, 0, 1]).scale_.tolist() == [1, 1]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
def test_sparse_columns_get_the_same_factors_and_stay_sparse(kind):
    X = RNG.normal(size=(60, 5)) * (RNG.random((60, 5)) < 0.3)
    y = X[:, 0] > 0
    dense, sparse = RelevanceScaler().fit(X, y), RelevanceScaler().fit(kind(X), y)
    np.testing.assert_allclose(sparse.scale_, dense.scale_, atol=1e-12)
    found = sparse.transform(kind(X))
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense.transform(X), atol=1e-12)


@pytest.mark.parametrize("far", [1e8, -1e5])
def test_columns_far_from_zero_lose_nothing(far):
    X, y = np.random.default_rng(3).normal(size=(40, 4)), np.arange(40) % 2
    X[:, 0] += y
    wanted = RelevanceScaler().fit(X, y).scale_
    assert np.sort(wanted)[-2] > 0
    np.testing.assert_allclose(RelevanceScaler().fit(X + far, y).scale_, wanted, rtol=1e-6)
    np.testing.assert_allclose(RelevanceScaler().fit(sp.csr_array(X + far), y).scale_, wanted, rtol=1e-6)
    single = (X + 1000).astype(np.float32)
    for kind in (np.asarray, sp.csr_array):
        found = RelevanceScaler().fit(kind(single), y)
        np.testing.assert_allclose(found.scale_, wanted, rtol=1e-3)
        assert found.transform(kind(single)).dtype == np.float32


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-160, 1e-5, 1e155, 1e300])
def test_the_scale_of_all_columns_changes_nothing(scale, kind):
    X, y = np.random.default_rng(3).normal(size=(40, 4)), np.arange(40) % 2
    X[:, 0] += y
    with np.errstate(all="raise", under="ignore"):
        found = RelevanceScaler().fit(kind(scale * X), y).scale_
    np.testing.assert_allclose(found, RelevanceScaler().fit(X, y).scale_, rtol=1e-9)


def test_columns_of_very_different_scales_stay_finite():
    X, y = np.random.default_rng(3).normal(size=(40, 4)), np.arange(40) % 2
    X[:, 0] += 2 * y
    for scales, kind in (([1e-150, 1e150, 1, 1], np.float64), ([1e-20, 1e19, 1, 1], np.float32)):
        given = (X * scales).astype(kind)
        assert np.isfinite(RelevanceScaler().fit_transform(given, y)).all()


def test_the_input_is_not_changed():
    X, y = RNG.normal(size=(30, 4)), np.arange(30) % 2
    before = X.copy()
    RelevanceScaler().fit(X, y).transform(X)
    np.testing.assert_array_equal(X, before)


def test_few_columns_are_not_scaled_by_relevance():
    def kinds(n_features, **settings):
        learners = default_learners(X=RNG.normal(size=(80, n_features)), **settings)
        found = [each for each in learners if each.is_scaled and "relevance" in each.estimator.named_steps]
        return sorted(each.name for each in found)

    for settings in ({"regression": False, "n_classes": 2}, {"regression": True, "n_classes": 1}):
        assert kinds(29, **settings) == []
        assert kinds(30, **settings) == ["kernel"] + ["linear"] * (4 if settings["regression"] else 3)
    for learner in default_learners(True, RNG.normal(size=(80, 30)), 1):
        if learner.is_scaled and "relevance" in learner.estimator.named_steps:
            assert not learner.estimator.named_steps["relevance"].of_classes


def test_gapboost_around_such_a_learner_scales_once():
    X = RNG.normal(size=(80, 40))
    y, domain = (X[:, 0] > 0).astype(int), np.repeat([-1, 1], [20, 60])
    learner = next(
        each
        for each in default_learners(False, X, 2)
        if each.is_scaled and "relevance" in each.estimator.named_steps and each.name == "linear"
    )
    model = Kit(False, [1]).gapboost(learner).fit(X, y, domain, 0)
    assert isinstance(model, Pipeline)
    assert list(model.named_steps) == ["scale", "relevance", "booster"]
    assert isinstance(model[-1].estimators_[0], WeightedLogisticRegression)
    assert model[1].scale_[0] == model[1].scale_.max()


@pytest.mark.slow
def test_a_few_good_columns_among_many_are_found_with_few_target_rows():
    """Of a hundred columns of unit variance two tell the classes; plain learners drown in the others."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1150, 100))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=1150) > 0).astype(int)
    train, test = slice(0, 150), slice(150, None)
    domain = np.repeat([-1, 1], [15, 135])
    model = TransferClassifierCV(n_repeats=1, random_state=0).fit(X[train], y[train], sample_domain=domain)
    assert model.transfer_verdict_.transfers
    assert "RelevanceScaler" in model.transfer_verdict_.chosen
    plain = WeightedLogisticRegression().fit(X[train], y[train])
    assert model.score(X[test], y[test]) > plain.score(X[test], y[test]) + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("routing", [False, True])
def test_metadata_routing_changes_nothing(routing):
    X = np.random.default_rng(2).normal(size=(70, 32))
    y, domain = (X[:, 0] > 0).astype(int), np.repeat([-1, 1], [10, 60])
    with config_context(enable_metadata_routing=routing):
        model = TransferClassifierCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    boosted = [each for each in model.cv_results_["candidate"] if each.startswith("gapBoost")]
    assert any("RelevanceScaler" in each for each in boosted)  # behind a pipeline, which has to take domains
