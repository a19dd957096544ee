"""The estimators: what must hold whatever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin.transfer import TransferClassifierCV, TransferRegressorCV

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.slow
@parametrize_with_checks([TransferClassifierCV(n_splits=2, n_repeats=1), TransferRegressorCV(n_splits=2, n_repeats=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(seed=0, regression=True, sizes=(24, 80, 60)):
    rng = np.random.default_rng(seed)
    domain = np.concatenate([np.full(n, k if k else -1) for k, n in enumerate(sizes)])
    X = rng.normal(size=(domain.size, 4))
    value = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=domain.size)
    return X, value if regression else np.where(value > 0.3, "yes", "no"), domain


def fitted(regression=True, **options):
    X, y, domain = problem(regression=regression)
    made = (TransferRegressorCV if regression else TransferClassifierCV)(random_state=0, n_repeats=1, **options)
    return made.fit(X, y, sample_domain=domain), X, y, domain


@pytest.mark.parametrize("regression", [True, False])
def test_numbers_of_sources_and_processes_change_nothing(regression):
    first, X, y, domain = fitted(regression)
    other = clone(first).set_params(n_jobs=2)
    other.fit(X, y, sample_domain=np.choose(domain + 1, [-1, 0, 7, 3]))
    assert other.evidence_[7].bayes_factor == first.evidence_[1].bayes_factor
    assert other.evidence_[3].verdict == first.evidence_[2].verdict
    np.testing.assert_array_equal(first.best_estimator_.predict(X), other.best_estimator_.predict(X))


def test_names_of_classes_change_nothing():
    first, X, y, domain = fitted(regression=False)
    other = clone(first).fit(X, np.where(y == "yes", "a", "b"), sample_domain=domain)
    assert other.evidence_.transfer_weight == pytest.approx(first.evidence_.transfer_weight, abs=1e-6)
    np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], first.predict_proba(X), atol=1e-6)


def test_weights_sum_to_one_and_inputs_stay():
    X, y, domain = problem(regression=False)
    before = X.copy(), y.copy(), domain.copy()
    made = TransferClassifierCV(random_state=0, n_repeats=1).fit(X, y, sample_domain=domain)
    assert sum(each.weight for each in made.evidence_.hypotheses) == pytest.approx(1)
    assert sum(made.domain_weight_.values()) == pytest.approx(1)
    np.testing.assert_allclose(made.predict_proba(X).sum(axis=1), 1)
    for old, new in zip(before, (X, y, domain), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(("shift", "factor"), [(30.0, 1.0), (0.0, 5.0), (-10.0, 3.0)])
def test_a_source_of_another_level_or_unit_is_used(shift, factor):
    X, y, domain = problem(sizes=(20, 300))
    y = np.where(domain > 0, shift + factor * y, y)
    made = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=domain)
    alone = TransferRegressorCV(random_state=0, sources="none").fit(X, y, sample_domain=domain)
    X_test, y_test, _ = problem(seed=1, sizes=(400,))
    assert made.evidence_[1].verdict == "use"
    assert ((made.predict(X_test) - y_test) ** 2).mean() < ((alone.predict(X_test) - y_test) ** 2).mean()


def test_reversed_labels_are_left_out_and_named():
    X, y, domain = problem(sizes=(30, 200))
    made = TransferRegressorCV(random_state=0).fit(X, np.where(domain > 0, -y, y), sample_domain=domain)
    assert made.evidence_[1].verdict == "leave out"
    assert "its labels look reversed" in made.evidence_[1].findings
    assert made.evidence_.transfer_weight < 0.05


def test_rows_that_a_source_shares_with_the_target_are_no_evidence():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(80, 4)), np.repeat([-1, 1], [30, 50])
    y = rng.normal(size=80)  # nothing to learn but by heart
    X[30:60], y[30:60] = X[:30], y[:30]
    made = TransferRegressorCV(random_state=0, n_repeats=1).fit(X, y, sample_domain=domain)
    assert made.evidence_[1].verdict != "use"
    assert "30 rows repeated in the target" in made.evidence_[1].findings[0]


def test_the_user_may_force_the_choice():
    X, y, domain = problem(sizes=(20, 100))
    for sources, share in (("none", 1.0), ("all", 0.0)):
        made = TransferRegressorCV(random_state=0, n_repeats=1, sources=sources).fit(X, y, sample_domain=domain)
        assert set(made.best_estimator_.weights) == {()} if share else {(1,)}


def test_prior_odds_move_the_weight():
    X, y, domain = problem(sizes=(12, 30))
    y = np.where(domain > 0, np.random.default_rng(3).permutation(y), y)
    weights = [
        TransferRegressorCV(random_state=0, n_repeats=1, prior_odds={1: odds})
        .fit(X, y, sample_domain=domain)
        .evidence_.transfer_weight
        for odds in (0.1, 1.0, 10.0)
    ]
    assert weights[0] < weights[1] < weights[2]


@pytest.mark.parametrize("learner", [Ridge(), LogisticRegression()])
def test_a_learner_of_the_users_own(learner):
    regression = isinstance(learner, Ridge)
    made, X, _, _ = fitted(regression, estimator=learner)
    assert set(made.evidence_.hypotheses[0].chosen) == {type(learner).__name__}
    assert len(made.predict(X)) == len(X)


def test_intervals_hold_about_as_often_as_they_say():
    X, y, domain = problem(sizes=(60, 300))
    made = TransferRegressorCV(random_state=0, n_repeats=1).fit(X, y, sample_domain=domain)
    X_test, y_test, _ = problem(seed=5, sizes=(1000,))
    low, high = made.predict_interval(X_test, level=0.8).T
    assert 0.65 < ((low <= y_test) & (y_test <= high)).mean() < 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("of_target", "of_source"), [(0.5, 0.1), (0.2, 0.6)])
def test_a_source_with_other_class_frequencies_is_used(of_target, of_source):
    """The classes look the same in both, and only how many there are of each differs."""
    weights, change = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = (rng.random(1440) < np.repeat([of_target, of_source, of_target], [40, 400, 1000])).astype(int)
        X = rng.normal(size=(1440, 8)) + np.where(y == 1, 0.6, -0.6)[:, None] * (np.arange(8) < 4)
        train, test = slice(440), slice(440, None)
        model = TransferClassifierCV(n_repeats=1, random_state=seed)
        domain = np.repeat([-1, 1], [40, 400])
        fitted = {
            sources: clone(model).set_params(sources=sources).fit(X[train], y[train], sample_domain=domain)
            for sources in ("auto", "none")
        }
        assert fitted["auto"].evidence_[1].verdict != "leave out"
        weights.append(fitted["auto"].evidence_.transfer_weight)
        losses = [log_loss(y[test], fitted[sources].predict_proba(X[test])) for sources in ("auto", "none")]
        change.append(losses[0] - losses[1])
    assert np.mean(weights) > 0.5
    assert np.mean(change) < 0
