"""What the paper proves of the six settings, on random problems; and what follows from the objectives alone."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score

from gapmin import linear
from gapmin.domains import TargetKFold
from gapmin.linear.parameter_sharing import sharing_precision
from gapmin.linear.solvers import project_simplex
from gapmin.linear.task_covariance import learn_omega
from gapmin_support.settings import (
    LOSSES,
    MULTITASK,
    SETTINGS,
    TRANSFER,
    estimator,
    every_loss,
    every_setting,
    is_class,
    loss_of,
    places,
)

pytestmark = pytest.mark.filterwarnings("ignore:the target's rows separate")


def draw(rng, loss, n_places=3, d=3, n=20):
    """Rows in places of unequal sizes, whose labels follow different hypotheses; both labels in every place."""
    place = np.repeat(np.arange(n_places), n + rng.integers(0, 10, size=n_places))
    X = rng.normal(size=(len(place), d)) + rng.normal(size=(n_places, d))[place] / 2
    y = (X * (rng.normal(size=d) + rng.normal(size=(n_places, d))[place])).sum(axis=1) + rng.normal(size=len(place))
    if is_class(loss):
        y = np.where(y > 0, 1, -1)
        first = np.unique(place, return_index=True)[1]
        y[first], y[first + 1] = 1, -1
    return X, y, place


def random_parameters(rng, setting, n_places, d):
    """Parameters of the setting other than the loss."""
    given = {"lam": float(10 ** rng.uniform(-3, 1)), "fit_intercept": bool(rng.random() < 0.5)}
    if setting in ("InstanceWeighting", "FeatureTransfer"):
        given["eta"] = float(rng.uniform(0.02, 0.48))
    if setting == "InstanceWeighting":
        given["gamma"] = rng.choice([None, 0.2, 0.7])
    if setting == "HypothesisTransfer":
        given["hypotheses"] = rng.normal(size=(2, d))
        given["xi"] = rng.normal(size=2)
    if setting == "TaskWeighting":
        given["eta"] = float(rng.uniform(0.02, 0.95))
        given["relation"] = rng.dirichlet(np.ones(n_places), size=n_places)
    if setting == "ParameterSharing":
        given["lam0"] = float(10 ** rng.uniform(-3, 1))
    if setting == "TaskCovariance":
        root = rng.normal(size=(n_places, n_places))
        given["omega"] = (root @ root.T + 0.1 * np.eye(n_places)) * 10 ** rng.uniform(-1, 3)
    return given


def solutions(model):
    """Every hypothesis with its intercept."""
    return np.column_stack([model.coef_, model.intercept_])


# The lemmas and the corollary.


@every_setting
@every_loss
def test_lemma_and_corollary(setting, loss):
    """No solution is longer than the lemma says, and no row of norm R has a larger loss than the corollary says."""
    for seed in range(12):
        rng = np.random.default_rng([seed, SETTINGS.index(setting), LOSSES.index(loss)])
        X, y, place = draw(rng, loss, n_places=int(rng.integers(2, 4)), n=8)
        given = random_parameters(rng, setting, place.max() + 1, 3)
        weight = rng.exponential(size=len(y)) if rng.random() < 0.5 else None
        model = estimator(setting, loss, **given).fit(X, y, **places(setting, place), sample_weight=weight)
        gap, H = model.gap_, solutions(model)
        norms = np.linalg.norm(H, axis=1)
        sharp, printed = np.atleast_1d(gap.sharp_norm_bound), np.atleast_1d(gap.norm_bound)
        assert sharp.shape == printed.shape == norms.shape
        assert (norms <= sharp * (1 + 1e-9) + 1e-9).all()
        assert (sharp <= printed * (1 + 1e-12)).all()
        # The gap is a sum of parts of at least 0.
        assert min(gap.parts.values()) >= 0
        assert gap.value == pytest.approx(sum(gap.parts.values()), abs=1e-12)
        assert gap.attained or setting == "HypothesisTransfer"  # whose minimiser has no penalty
        # Rows of norm R, the constant feature counted.
        mine = place == 0 if setting == "HypothesisTransfer" else place >= 0
        seen = np.column_stack([X, np.full(len(X), float(model.fit_intercept))])[mine]
        R = np.linalg.norm(seen, axis=1).max()
        rows = rng.normal(size=(200, seen.shape[1])) * (1 if model.fit_intercept else np.append(np.ones(3), 0))
        rows = np.vstack([rows, H])  # and those that point the way of a solution
        rows *= R / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        Y = np.abs(y[mine]).max()
        for h, bound in zip(H, np.atleast_1d(gap.loss_bound), strict=True):
            for label in (-Y, Y):
                assert loss_of(loss, rows @ h, label).max() <= bound * (1 + 1e-9) + 1e-9
        # The formula itself, at the printed bound on the norm.
        for norm, bound in zip(printed, np.atleast_1d(gap.loss_bound), strict=True):
            by_hand = {
                "logistic": np.logaddexp(0, R * norm),
                "hinge": 1 + R * norm,
                "squared": (Y + R * norm) ** 2,
                "absolute": Y + R * norm,
            }[loss]
            assert bound == pytest.approx(by_hand, rel=1e-9)


@every_setting
@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_a_gap_is_a_float(setting):
    rng = np.random.default_rng(0)
    X, y, place = draw(rng, "squared")
    model = estimator(setting, "squared", **random_parameters(rng, setting, 3, 3))
    gap = model.fit(X, y, **places(setting, place)).gap_
    assert float(gap) == gap.value


@pytest.mark.parametrize("setting", ["InstanceWeighting", "HypothesisTransfer"])
def test_sharp_norm_is_a_true_improvement(setting):
    rng = np.random.default_rng(0)
    X, y, place = draw(rng, "logistic")
    given = {"hypotheses": rng.normal(size=(1, 3))} if setting == "HypothesisTransfer" else {}
    gap = estimator(setting, "logistic", **given).fit(X, y, **places(setting, place)).gap_
    assert gap.sharp_norm_bound < 0.999 * gap.norm_bound


# When is a gap zero?


def two_copies(rng, loss):
    X, y, _ = draw(rng, loss, n_places=1)
    return np.vstack([X, X]), np.concatenate([y, y]), np.repeat([0, 1], len(y))


@every_loss
@pytest.mark.parametrize("setting", ["InstanceWeighting", "FeatureTransfer", "TaskWeighting"])
@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_identical_domains_of_equal_mass_have_no_gap(setting, loss, eta):
    for seed in range(5):
        X, y, place = two_copies(np.random.default_rng(seed), loss)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator(setting, loss, eta=eta).fit(X, y, **places(setting, place))
        assert model.gap_.value <= 1e-9


@every_loss
def test_identical_domains_of_unequal_mass_have_no_gap_only_without_a_penalty(loss):
    for seed in range(5):
        X, y, place = two_copies(np.random.default_rng(seed), loss)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = estimator("InstanceWeighting", loss, eta=0.0, gamma=0.8).fit(
                X, y, **places("InstanceWeighting", place)
            )
        assert plain.gap_.value <= 1e-9
        model = estimator("InstanceWeighting", loss, eta=0.3, lam=0.5, gamma=0.9)
        assert model.fit(X, y, **places("InstanceWeighting", place)).gap_.value > 1e-4


@every_loss
def test_task_weighting_has_no_gap_between_identical_tasks_of_any_relation(loss):
    rng = np.random.default_rng(0)
    X, y, _ = draw(rng, loss, n_places=1)
    thrice, task = np.tile(X, (3, 1)), np.repeat(["a", "b", "c"], len(y))
    relation = rng.dirichlet(np.ones(3), size=3)
    model = estimator("TaskWeighting", loss, relation=relation, eta=0.9).fit(thrice, np.tile(y, 3), sample_task=task)
    assert model.gap_.value <= 1e-9
    np.testing.assert_allclose(model.gap_matrix_, 0, atol=1e-9)


@every_loss
@pytest.mark.parametrize("setting", ["ParameterSharing", "TaskCovariance"])
def test_pooled_and_single_regularisers_differ_so_identical_tasks_have_a_gap(setting, loss):
    X, y, place = two_copies(np.random.default_rng(0), loss)
    given = {"omega": np.array([[2.0, 0.5], [0.5, 1.0]])} if setting == "TaskCovariance" else {"lam0": 0.3, "lam": 0.3}
    assert estimator(setting, loss, **given).fit(X, y, sample_task=place).gap_.value > 1e-3


@pytest.mark.parametrize("setting", ["InstanceWeighting", "FeatureTransfer", "TaskWeighting", "HypothesisTransfer"])
def test_separable_rows_without_a_penalty_have_no_minimiser_and_it_is_said(setting):
    rng = np.random.default_rng(0)
    X, place = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    model = estimator(setting, "logistic", **({} if setting == "HypothesisTransfer" else {"eta": 0.0}))
    with pytest.warns(ConvergenceWarning, match="no minimiser"):
        model.fit(X, np.where(X[:, 0] > 0, 1, -1), **places(setting, place))
    assert not model.gap_.attained


# How the settings are related, and their limits.


@every_loss
def test_with_the_remarks_omega_task_covariance_is_parameter_sharing(loss):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y, task = draw(rng, loss)
        lam0, lam = 10 ** rng.uniform(-2, 0, size=2)
        # The remark's matrix, by hand.
        M = np.eye(3) - np.full((3, 3), 1 / 3)
        inverse = lam0 * lam / (3 * (lam0 + lam)) * np.eye(3) + lam**2 / (3 * (lam0 + lam)) * M
        np.testing.assert_allclose(inverse, sharing_precision(3, lam0, lam), rtol=1e-12)
        sharing = estimator("ParameterSharing", loss, lam0=lam0, lam=lam).fit(X, y, sample_task=task)
        covariance = estimator("TaskCovariance", loss, omega=np.linalg.inv(inverse)).fit(X, y, sample_task=task)
        np.testing.assert_allclose(covariance.coef_, sharing.coef_, atol=1e-6)
        np.testing.assert_allclose(covariance.intercept_, sharing.intercept_, atol=1e-6)
        assert abs(covariance.gap_.value - sharing.gap_.value) > 1e-6  # the gaps are not the same


@every_loss
def test_limits_of_parameter_sharing(loss):
    X, y, task = draw(np.random.default_rng(1), loss)
    alone = estimator("ParameterSharing", loss, lam0=1e5, lam=0.1).fit(X, y, sample_task=task)
    pooled = estimator("ParameterSharing", loss, lam0=0.1, lam=1e5).fit(X, y, sample_task=task)
    for k in range(3):
        single = estimator("InstanceWeighting", loss, lam=0.1).fit(X[task == k], y[task == k])
        np.testing.assert_allclose(solutions(alone)[k], solutions(single)[0], atol=1e-4)
    balance = 1 / np.bincount(task)[task]  # every task has the same say
    together = estimator("InstanceWeighting", loss, lam=0.1).fit(X, y, sample_weight=balance)
    np.testing.assert_allclose(solutions(pooled), np.tile(solutions(together), (3, 1)), atol=1e-4)


@every_loss
def test_task_weighting_by_the_identity_is_single_task(loss):
    X, y, task = draw(np.random.default_rng(2), loss)
    model = estimator("TaskWeighting", loss, relation=np.eye(3), lam=0.1).fit(X, y, sample_task=task)
    assert model.gap_.value == 0
    for k in range(3):
        single = estimator("InstanceWeighting", loss, lam=0.1).fit(X[task == k], y[task == k])
        np.testing.assert_allclose(solutions(model)[k], solutions(single)[0], atol=1e-7)


@every_loss
def test_identity_and_no_transformer_are_weighting_with_equal_weights(loss):
    X, y, place = draw(np.random.default_rng(3), loss)
    feature = estimator("FeatureTransfer", loss).fit(X, y, **places("FeatureTransfer", place))
    instance = estimator("InstanceWeighting", loss).fit(X, y, **places("InstanceWeighting", place))
    np.testing.assert_array_equal(solutions(feature), solutions(instance))
    assert feature.gap_.parts == instance.gap_.parts


@every_loss
def test_hypothesis_transfer_with_a_strong_pull_is_the_mixture_and_without_hypotheses_plain(loss):
    rng = np.random.default_rng(4)
    X, y, _ = draw(rng, loss)
    H, xi = rng.normal(size=(3, 4)), rng.normal(size=3)
    model = estimator("HypothesisTransfer", loss, hypotheses=H, xi=xi, lam=1e7).fit(X, y)
    np.testing.assert_allclose(solutions(model)[0], xi @ H, atol=1e-5)
    none = estimator("HypothesisTransfer", loss, lam=0.1).fit(X, y)
    np.testing.assert_allclose(
        solutions(none), solutions(estimator("InstanceWeighting", loss, lam=0.1).fit(X, y)), atol=1e-7
    )


@every_loss
def test_hypotheses_as_models_arrays_or_lists_are_the_same(loss):
    rng = np.random.default_rng(5)
    X, y, place = draw(rng, loss)
    models = [estimator("InstanceWeighting", loss).fit(X[place == k], y[place == k]) for k in (1, 2)]
    rows = [solutions(model)[0] for model in models]
    fits = [
        estimator("HypothesisTransfer", loss, hypotheses=given, xi=[0.3, 0.7]).fit(X, y)
        for given in (models, rows, np.array(rows), np.array(rows).tolist(), sp.csr_matrix(np.array(rows)))
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(solutions(fit), solutions(fits[0]))
    without = estimator("HypothesisTransfer", loss, hypotheses=[row[:3] for row in rows]).fit(X, y)
    np.testing.assert_array_equal(without.hypotheses_[:, -1], 0)


# Symmetries.


@every_loss
@pytest.mark.parametrize("setting", ["InstanceWeighting", "FeatureTransfer"])
def test_exchanging_target_and_source_exchanges_the_parts(setting, loss):
    X, y, place = draw(np.random.default_rng(6), loss, n_places=2)
    domain = np.where(place == 0, -1, 1)
    here, there = (estimator(setting, loss).fit(X, y, sample_domain=sign * domain) for sign in (1, -1))
    assert here.gap_.parts["source"] == pytest.approx(there.gap_.parts["target"], rel=1e-9)
    assert here.gap_.parts["target"] == pytest.approx(there.gap_.parts["source"], rel=1e-9)
    assert here.gap_.parts["target"] != pytest.approx(here.gap_.parts["source"], rel=1e-3)
    np.testing.assert_allclose(solutions(here), solutions(there), atol=1e-8)


@every_setting
@every_loss
def test_order_of_rows_and_names_of_tasks_do_not_matter(setting, loss):
    rng = np.random.default_rng(7)
    X, y, place = draw(rng, loss)
    given = random_parameters(rng, setting, 3, 3)
    order = rng.permutation(len(y))
    first = estimator(setting, loss, **given).fit(X, y, **places(setting, place))
    shuffled = estimator(setting, loss, **given).fit(X[order], y[order], **places(setting, place[order]))
    np.testing.assert_allclose(solutions(shuffled), solutions(first), atol=1e-7)
    assert shuffled.gap_.value == pytest.approx(first.gap_.value, rel=1e-6, abs=1e-9)
    if setting in MULTITASK:
        names = np.array(["zebra", "ant", "moose"])  # sorted: task 1, task 2, task 0
        turned = [1, 2, 0]
        for name in ("relation", "omega"):
            if name in given:
                given[name] = given[name][np.ix_(turned, turned)]
        renamed = estimator(setting, loss, **given).fit(X, y, sample_task=names[place])
        assert renamed.tasks_.tolist() == sorted(names)
        np.testing.assert_allclose(solutions(renamed), solutions(first)[turned], atol=1e-7)
        for k, name in enumerate(names):
            assert renamed.gap_.parts[name] == pytest.approx(first.gap_.parts[k], rel=1e-6, abs=1e-9)
        found, wanted = renamed.predict(X, sample_task=names[place]), first.predict(X, sample_task=place)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


@every_setting
@every_loss
def test_weight_two_is_the_row_twice(setting, loss):
    rng = np.random.default_rng(8)
    X, y, place = draw(rng, loss)
    given = random_parameters(rng, setting, 3, 3)
    copies = rng.integers(0, 4, size=len(y))
    for each in range(3):  # both labels stay in every place
        copies[np.flatnonzero(place == each)[:2]] = 1
    again = np.repeat(np.arange(len(y)), copies)
    weighted = estimator(setting, loss, **given).fit(X, y, **places(setting, place), sample_weight=copies)
    repeated = estimator(setting, loss, **given).fit(X[again], y[again], **places(setting, place[again]))
    np.testing.assert_allclose(solutions(weighted), solutions(repeated), atol=1e-7)
    assert weighted.gap_.value == pytest.approx(repeated.gap_.value, rel=1e-6, abs=1e-9)


@every_setting
@every_loss
def test_no_bound_gets_better_by_weights(setting, loss):
    """Copies are no new rows: a factor on the weights changes no bound, and unequal ones do not make it smaller."""
    rng = np.random.default_rng(8)
    X, y, place = draw(rng, loss)
    given = random_parameters(rng, setting, 3, 3)

    def bound(weight, form="sharp"):
        model = estimator(setting, loss, **given).fit(X, y, **places(setting, place), sample_weight=weight)
        return model.risk_bound(form=form, R=100.0, **({"Y": 100.0} if loss in ("squared", "absolute") else {}))

    plain, scaled = bound(None), bound(np.full(len(y), 1e6))
    for name in plain.terms:
        assert scaled.terms[name] == pytest.approx(plain.terms[name], rel=1e-6, nan_ok=True)
    unequal = bound(rng.exponential(size=len(y)))
    if setting != "InstanceWeighting":
        assert unequal.terms["stability"] > plain.terms["stability"]
        assert unequal.terms["concentration"] > plain.terms["concentration"]


# Learnt relations and covariances.


@every_loss
@pytest.mark.parametrize("cost", ["excess", "printed"])
def test_learnt_relation(loss, cost):
    for seed in range(3 if loss in ("logistic", "squared") else 1):
        rng = np.random.default_rng(seed)
        X, y, task = draw(rng, loss)
        lam, lam1, lam3 = 0.1, float(rng.uniform(0, 2)), float(rng.uniform(0.05, 1))
        model = estimator("TaskWeighting", loss, relation="learn", lam=lam, lam1=lam1, lam3=lam3, relation_cost=cost)
        model.fit(X, y, sample_task=task)
        assert (np.diff(model.objective_history_) <= 1e-10).all()
        assert len(model.objective_history_) > 1
        relation = model.relation_
        assert relation.min() >= 0
        np.testing.assert_allclose(relation.sum(axis=1), 1, atol=1e-12)
        # The relation is what its hypotheses ask for: the conditions of the projection, to the size of the last step.
        Z = np.column_stack([X, np.ones(len(y))])

        def L(k, h, Z=Z, y=y, task=task):
            return loss_of(loss, Z[task == k] @ h, y[task == k]).mean()

        own = [L(k, model.gap_.minimisers[k]) if cost == "excess" else 0.0 for k in range(3)]
        wanted = np.array([[L(k, h) - own[k] for k in range(3)] for h in solutions(model)]) + lam1 * model.gap_matrix_
        slope = wanted + 2 * lam3 * relation
        for row, at in zip(slope, relation, strict=True):
            level = row[at > 0].mean()
            assert np.ptp(row[at > 0]) <= 1e-4
            assert (row[at == 0] >= level - 1e-4).all()
        # And the last objective is that of the hypotheses and relation returned, or a little above it.
        objective = (relation * wanted).sum() + lam * (solutions(model) ** 2).sum() + lam3 * (relation**2).sum()
        assert objective <= model.objective_history_[-1] + 1e-9
        assert objective == pytest.approx(model.objective_history_[-1], abs=1e-6)


def test_learnt_relation_by_hand():
    """Two tasks the wrong way round: nothing to learn from each other. With a large lam3, all the same weight."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(100, 2)), np.repeat([0, 1], 50)
    y = np.where(X[:, 0] * (1 - 2 * task) > 0, 1, -1)
    model = linear.TaskWeightingClassifier("learn").fit(X, y, sample_task=task)
    np.testing.assert_allclose(model.relation_, np.eye(2), atol=1e-12)
    even = linear.TaskWeightingClassifier("learn", lam3=1e6).fit(X, y, sample_task=task)
    np.testing.assert_allclose(even.relation_, 0.5, atol=1e-4)


def objective_of(loss, H, omega, X, y, task):
    Z = np.column_stack([X, np.ones(len(y))])
    losses = np.mean([loss_of(loss, Z[task == k] @ h, y[task == k]).mean() for k, h in enumerate(H)])
    return losses + np.trace(H.T @ np.linalg.inv(omega) @ H)


@every_loss
def test_learnt_omega(loss):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y, task = draw(rng, loss)
        lam = float(10 ** rng.uniform(-2, -0.5))
        model = estimator("TaskCovariance", loss, lam=lam).fit(X, y, sample_task=task)
        sizes = np.linalg.eigvalsh(model.omega_)
        assert sizes.sum() == pytest.approx(9 / lam, rel=1e-9)
        assert sizes[0] >= 1e-3 * 9 / lam / 3 * (1 - 1e-6)
        np.testing.assert_allclose(model.omega_, model.omega_.T, rtol=1e-9)
        history = model.objective_history_
        assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()
        assert history[-1] < history[0]
        H = solutions(model)
        assert objective_of(loss, H, model.omega_, X, y, task) <= history[-1] * (1 + 1e-9)
        assert history[-1] == pytest.approx(objective_of(loss, H, model.omega_, X, y, task), rel=1e-5)
        # Of all matrices with this trace none is better for these hypotheses; for random ones also after a new fit.
        for _ in range(50):
            root = rng.normal(size=(3, 3))
            other = root @ root.T + 0.05 * np.eye(3)
            other *= 9 / lam / np.trace(other)
            assert objective_of(loss, H, other, X, y, task) >= history[-1] * (1 - 1e-4)
        refit = estimator("TaskCovariance", loss, omega=other).fit(X, y, sample_task=task)
        assert objective_of(loss, solutions(refit), other, X, y, task) >= history[-1] * (1 - 1e-4)


@pytest.mark.parametrize("lam", [0.05, 0.5, 2.0])
def test_learnt_omega_and_the_hypotheses_returned_belong_together(lam):
    X, y, task = draw(np.random.default_rng(2), "squared")
    learnt = linear.TaskCovarianceRegressor(lam=lam).fit(X, y, sample_task=task)
    given = linear.TaskCovarianceRegressor(learnt.omega_).fit(X, y, sample_task=task)
    np.testing.assert_allclose(solutions(learnt), solutions(given), atol=1e-6)


def test_omega_of_given_hypotheses():
    """The closed form against many matrices, with and without the floor."""
    rng = np.random.default_rng(0)
    for rank in (1, 2, 4):
        H = rng.normal(size=(4, rank)) @ rng.normal(size=(rank, 5))
        omega = learn_omega(H, trace=10.0)
        assert np.trace(omega) == pytest.approx(10)
        assert np.linalg.eigvalsh(omega)[0] >= 1e-3 * 10 / 4 * (1 - 1e-6)
        best = np.trace(H.T @ np.linalg.inv(omega) @ H)
        for _ in range(300):
            size = 10 ** rng.uniform(-8, 0)  # near and far
            other = omega + size * (lambda A: A + A.T)(rng.normal(size=(4, 4)))
            other *= 10 / np.trace(other)
            if np.linalg.eigvalsh(other)[0] >= 1e-3 * 10 / 4:
                assert np.trace(H.T @ np.linalg.inv(other) @ H) >= best * (1 - 1e-10)


def test_omega_of_zero_is_the_identity():
    np.testing.assert_allclose(learn_omega(np.zeros((3, 2)), 6.0), 2 * np.eye(3), atol=1e-12)


# One problem in many forms.


@every_setting
@every_loss
def test_any_form_of_the_input_gives_the_same(setting, loss):
    rng = np.random.default_rng(9)
    X, y, place = draw(rng, loss)
    X, given = np.round(X, 3).astype(np.float32), random_parameters(rng, setting, 3, 3)
    wanted = estimator(setting, loss, **given).fit(X.astype(np.float64), y, **places(setting, place))

    def forms():
        yield from (X, sp.csr_matrix(X), sp.csc_array(X.astype(np.float64)), X.tolist(), np.asfortranarray(X))
        yield pytest.importorskip("pandas").DataFrame(X)

    listed = {name: value.tolist() for name, value in places(setting, place).items()}
    labels = list(y) if is_class(loss) else y.tolist()
    for form in forms():
        model = estimator(setting, loss, **given).fit(form, labels, **listed)
        np.testing.assert_allclose(solutions(model), solutions(wanted), atol=1e-7)
        assert model.gap_.value == pytest.approx(wanted.gap_.value, rel=1e-6, abs=1e-9)
        named = {} if setting in TRANSFER else listed
        np.testing.assert_allclose(
            model.predict(form, **named), wanted.predict(X.astype(np.float64), **named), atol=1e-5
        )


@every_setting
def test_classes_may_have_any_names(setting):
    rng = np.random.default_rng(10)
    X, y, place = draw(rng, "logistic")
    given = random_parameters(rng, setting, 3, 3)
    plain = estimator(setting, "logistic", **given).fit(X, y, **places(setting, place))
    named = estimator(setting, "logistic", **given).fit(X, np.where(y > 0, "no", "aye"), **places(setting, place))
    assert named.classes_.tolist() == ["aye", "no"]
    np.testing.assert_array_equal(solutions(named), solutions(plain))


@every_setting
@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_more_features_than_rows(setting, loss):
    """The solutions lie in the span of the rows (and hypotheses): so as in coordinates of that span."""
    rng = np.random.default_rng(11)
    X, place = rng.normal(size=(24, 80)), np.repeat([0, 1, 2], 8)
    y = np.tile([1, -1], 12) if is_class(loss) else rng.normal(size=24)
    given = {**random_parameters(rng, setting, 3, 80), "lam": 0.1}
    wide = estimator(setting, loss, **given).fit(X, y, **places(setting, place))
    basis = np.linalg.qr(np.vstack([X, given.get("hypotheses", np.zeros((0, 80)))]).T)[0]
    if "hypotheses" in given:
        given["hypotheses"] = given["hypotheses"] @ basis
    narrow = estimator(setting, loss, **given).fit(X @ basis, y, **places(setting, place))
    np.testing.assert_allclose(wide.coef_, narrow.coef_ @ basis.T, atol=1e-6)
    np.testing.assert_allclose(wide.intercept_, narrow.intercept_, atol=1e-6)
    assert wide.gap_.value == pytest.approx(narrow.gap_.value, rel=1e-6, abs=1e-8)


@every_setting
@every_loss
def test_inputs_stay_as_they_were(setting, loss):
    rng = np.random.default_rng(12)
    X, y, place = draw(rng, loss)
    weight, given = rng.exponential(size=len(y)), random_parameters(rng, setting, 3, 3)
    kept = [each.copy() for each in (X, y, place, weight)]
    arrays = {name: value.copy() for name, value in given.items() if isinstance(value, np.ndarray)}
    for each in (X, y, place, weight):
        each.setflags(write=False)
    model = estimator(setting, loss, **given).fit(X, y, **places(setting, place), sample_weight=weight)
    model.risk_bound()
    for before, after in zip(kept, (X, y, place, weight), strict=True):
        np.testing.assert_array_equal(before, after)
    for name, value in arrays.items():
        np.testing.assert_array_equal(getattr(model, name), value)


@every_setting
@every_loss
def test_pickle_and_clone(setting, loss):
    rng = np.random.default_rng(13)
    X, y, place = draw(rng, loss)
    model = estimator(setting, loss, **random_parameters(rng, setting, 3, 3)).fit(X, y, **places(setting, place))
    named = {} if setting in TRANSFER else {"sample_task": place}
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(X, **named), model.predict(X, **named))
    assert back.gap_.value == model.gap_.value
    np.testing.assert_equal(back.risk_bound().terms, model.risk_bound().terms)
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")
    np.testing.assert_array_equal(solutions(fresh.fit(X, y, **places(setting, place))), solutions(model))


def test_a_saved_model_does_not_carry_the_rows():
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(2000, 20)), rng.normal(size=2000)
    model = linear.TaskWeightingRegressor().fit(X, y, sample_task=np.repeat([0, 1], 1000))
    assert len(pickle.dumps(model)) < X.nbytes / 10


# Prediction.


@pytest.mark.parametrize("setting", MULTITASK)
@every_loss
def test_each_row_is_predicted_by_its_own_task(setting, loss):
    rng = np.random.default_rng(15)
    X, y, task = draw(rng, loss)
    model = estimator(setting, loss).fit(X, y, sample_task=task)
    new, whose = rng.normal(size=(50, 3)), rng.integers(0, 3, size=50)
    score = (new * model.coef_[whose]).sum(axis=1) + model.intercept_[whose]
    if not is_class(loss):
        np.testing.assert_allclose(model.predict(new, sample_task=whose), score, atol=1e-12)
        return
    np.testing.assert_allclose(model.decision_function(new, sample_task=whose), score, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new, sample_task=whose), np.where(score > 0, 1, -1))
    if loss == "logistic":
        probability = model.predict_proba(new, sample_task=whose)
        np.testing.assert_allclose(probability[:, 1], 1 / (1 + np.exp(-score)), atol=1e-12)
        np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-12)
    assert model.score(X, y, sample_task=task) == np.mean(model.predict(X, sample_task=task) == y)


@pytest.mark.parametrize("setting", ["FeatureTransfer", "TaskWeighting"])
@every_loss
def test_transformer_is_phi(setting, loss):
    """A fitted transformer is used as it is; one that is not is fitted on the rows given."""
    rng = np.random.default_rng(16)
    X, y, place = draw(rng, loss, d=6)
    phi = PCA(2).fit(rng.normal(size=(100, 6)))
    named = {} if setting in TRANSFER else {"sample_task": place}
    model = estimator(setting, loss, transformer=phi).fit(X, y, **places(setting, place))
    by_hand = estimator(setting, loss).fit(phi.transform(X), y, **places(setting, place))
    np.testing.assert_array_equal(solutions(model), solutions(by_hand))
    np.testing.assert_array_equal(model.predict(X, **named), by_hand.predict(phi.transform(X), **named))
    fitted = estimator(setting, loss, transformer=PCA(2)).fit(X, y, **places(setting, place))
    np.testing.assert_allclose(fitted.transformer_.mean_, X.mean(axis=0))


@pytest.mark.parametrize("setting", MULTITASK)
@every_loss
def test_tasks_are_routed_in_cross_validation(setting, loss):
    rng = np.random.default_rng(17)
    X, y, _ = draw(rng, loss, n_places=1, n=60)
    task = np.arange(len(y)) % 2
    slope = np.where(task == 0, 4.0, -4.0)
    y = np.where(slope * X[:, 0] > 0, 1, -1) if is_class(loss) else slope * X[:, 0]
    model = estimator(setting, loss, lam=1e-3, **({"omega": 2e3 * np.eye(2)} if setting == "TaskCovariance" else {}))
    folds = KFold(4, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(model, X, y, cv=folds, params={"sample_task": task})
    by_hand = [
        clone(model).fit(X[a], y[a], sample_task=task[a]).score(X[b], y[b], sample_task=task[b])
        for a, b in folds.split(X)
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)
    if setting != "TaskWeighting":  # uniform relations pool tasks that are opposites
        assert scores.mean() > 0.8


@pytest.mark.parametrize("setting", TRANSFER)
def test_domains_are_routed_in_cross_validation(setting):
    rng = np.random.default_rng(18)
    X, y, place = draw(rng, "logistic")
    domain = places(setting, place)["sample_domain"]
    given = {"hypotheses": rng.normal(size=(1, 3))} if setting == "HypothesisTransfer" else {}
    model, folds = estimator(setting, "logistic", **given), TargetKFold(4)
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(model, X, y, cv=folds, params={"sample_domain": domain, "groups": domain})
    by_hand = [
        clone(model).fit(X[a], y[a], sample_domain=domain[a]).score(X[b], y[b]) for a, b in folds.split(X, y, domain)
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)
    assert len(scores) == 4


def test_projection_of_many_rows_is_that_of_each():
    rng = np.random.default_rng(20)
    V = rng.normal(size=(50, 6))
    np.testing.assert_array_equal(project_simplex(V), np.vstack([project_simplex(v[None]) for v in V]))
