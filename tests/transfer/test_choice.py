"""Which settings are chosen, what kinds of learner weigh, and the source rows that help to choose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from gapmin.transfer import Evidence, TransferClassifierCV, TransferRegressorCV
from gapmin.transfer._fitting import NATURAL, WITHOUT_SOURCES, Data, Setting, held_out
from gapmin.transfer._likelihood import class_log_likelihood, value_log_likelihood
from gapmin.transfer.choice import Trials
from gapmin.transfer.constants import KIND_RATE
from gapmin.transfer.folds import draw_asides
from gapmin.transfer.library import Learner


def setting(kind, form=WITHOUT_SOURCES):
    return Setting(Learner(kind, LinearRegression()), form)


def regression(n_rows=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    return Data(np.zeros((n_rows, 1)), y, np.full(n_rows, -1), 0), y, rng


def test_each_kind_has_its_best_setting_and_the_power_of_its_likelihood():
    data, y, rng = regression()
    good, bad, other = setting("one"), setting("one"), setting("two")
    predicted = {good: y + 0.1, bad: y + 0.7, other: y + 0.3 * rng.normal(size=y.size)}
    found = Trials.of(data, predicted, y, {}).choose(np.ones(y.size, dtype=bool))
    likelihood = value_log_likelihood(np.array([predicted[good] - y, predicted[other] - y]), data.label_variance)
    expected = np.exp(KIND_RATE * likelihood)
    assert list(found) == [good, other]
    np.testing.assert_allclose(list(found.values()), expected / expected.sum(), rtol=1e-12)


def test_the_same_of_classes():
    y = np.array([0, 1, 1, 0])
    data = Data(np.zeros((4, 1)), y, np.full(4, -1), 2)
    one, two = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]), np.full((4, 2), 0.5)
    found = Trials.of(data, {setting("one"): one, setting("two"): two}, y, {}).choose(np.ones(4, dtype=bool))
    expected = np.exp(KIND_RATE * np.array([class_log_likelihood(each, y).sum() for each in (one, two)]))
    np.testing.assert_allclose(list(found.values()), expected / expected.sum(), rtol=1e-12)


def test_rows_that_are_tested_choose_nothing():
    data, y, rng = regression(12)
    settings = [setting(kind) for kind in ("one", "one", "two", "two")]
    predicted = {each: y + rng.normal(size=y.size) for each in settings}
    kept = np.arange(12) % 3 > 0
    before = Trials.of(data, predicted, y, {}).choose(kept)
    changed = {
        each: np.where(kept, values, values + 100 * rng.normal(size=y.size)) for each, values in predicted.items()
    }
    assert Trials.of(data, changed, y, {}).choose(kept) == before


def test_source_rows_count_as_many_as_the_targets_and_in_its_units():
    y = np.array([0.0, 1.0, 2.0, 3.0, *(10 * np.arange(40.0))])
    data = Data(np.zeros((44, 1)), y, np.repeat([-1, 1], [4, 40]), 0)
    one, two = setting("one", NATURAL), setting("two", NATURAL)
    here, there = y[:4], y[4:]
    aside = {one: (there + there.std(), np.arange(4, 44)), two: (there, np.arange(4, 44))}
    found = Trials.of(data, {one: here, two: here + 1}, here, aside)
    assert found.n_aside == 4
    # An error of one standard deviation of the source counts as one of the target.
    np.testing.assert_allclose(found.loss_aside, [data.label_variance, 0.0])
    squares = np.array([4 * data.label_variance, 4.0])
    weights = list(found.choose(np.ones(4, dtype=bool)).values())
    expected = np.exp(-KIND_RATE * 5 * np.log(0.1 * data.label_variance + squares / 2))
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-12)


def test_rows_set_aside_are_parts_of_each_source():
    domain = np.repeat([-1, 1, 2, 3], [20, 100, 9, 40])
    data = Data(np.zeros((169, 1)), np.zeros(169), domain, 0)
    parts = draw_asides(data, [1, 2, 3], 5, 0, np.arange(169))
    together = np.concatenate(parts)
    assert np.unique(together).size == together.size
    assert [np.bincount(domain[part][domain[part] > 0], minlength=4)[1:].tolist() for part in parts] == [[10, 0, 4]] * 5


def test_groups_are_set_aside_whole_and_rows_of_the_target_never():
    domain = np.repeat([-1, 1], [20, 100])
    groups = np.r_[np.arange(20), 100 + np.arange(100) // 4]
    links = np.r_[np.arange(20), np.arange(100)].astype(np.int64)  # twenty source rows repeat the target's
    data = Data(np.zeros((120, 1)), np.zeros(120), domain, 0, links=(links,))
    for part in draw_asides(data, [1], 5, 0, groups):
        assert np.isin(groups, groups[part])[40:].sum() == (part >= 40).sum()
        assert part.min() >= 40


def test_what_two_sources_share_is_set_aside_in_both():
    domain = np.repeat([-1, 1, 2, 3], [20, 100, 60, 5])
    keys = np.r_[np.arange(20), 100 + np.arange(100) // 2, 120 + np.arange(60) // 2, [100, 100, 101, 102, 999]]
    data = Data(np.zeros((185, 1)), np.zeros(185), domain, 0)
    for part in draw_asides(data, [1, 2, 3], 5, 0, keys):
        assert part.size
        trains = np.setdiff1d(np.flatnonzero(domain > 0), part)
        assert not np.isin(keys[trains], keys[part]).any()


def test_repeated_rows_of_sources_are_set_aside_together():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(65, 2)), rng.normal(size=65)
    rows = np.r_[np.arange(20), np.repeat(np.arange(20, 50), 2), np.arange(40, 65)]
    domain = np.repeat([-1, 1, 2], [20, 60, 25])
    model = TransferRegressorCV(estimator=Ridge(), random_state=0)
    collected = model._gather(X[rows], y[rows], domain, None)
    searched = collected.evaluator.data
    for part in collected.evaluator.asides:
        trains = np.setdiff1d(np.flatnonzero(searched.domain > 0), part)
        assert part.size
        assert not np.isin(searched.y[trains], searched.y[part]).any()


def test_rows_set_aside_do_not_train():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(60, 2)), np.repeat([-1, 1], [20, 40])
    y = rng.normal(size=60)
    data = Data(X, y, domain, 0)
    aside = np.arange(30, 40)
    fold = np.arange(10), np.arange(10, 20)
    (found,) = held_out(data, Learner("nearest", KNeighborsRegressor(1)), NATURAL, (1,), [fold], [0], [aside])
    others = np.setdiff1d(np.r_[np.arange(10), np.arange(20, 60)], aside)
    expected = KNeighborsRegressor(1).fit(X[others], y[others]).predict(X[np.r_[fold[1], aside]])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [TransferClassifierCV, TransferRegressorCV])
def test_sources_tell_few_rows_which_learner_suits(kind):
    rng = np.random.default_rng(0)
    X, domain = rng.uniform(-1, 1, size=(612, 2)), np.repeat([-1, 1], [12, 600])
    y = np.sign(X[:, 0] * X[:, 1]) + (0.0 if kind is TransferClassifierCV else 0.1 * rng.normal(size=612))
    _, with_source = kind(random_state=0).fit(X, y, sample_domain=domain).evidence_.hypotheses
    weights = with_source.kind_weights
    assert weights["linear"] == min(weights.values())
    assert sum(weights.values()) == pytest.approx(1)


def test_the_model_is_the_weighted_mean_of_the_kinds():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(120, 3)), np.repeat([-1, 1], [30, 90])
    y = X.sum(axis=1) + rng.normal(size=120)
    model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=domain)
    found = model.predict_by_hypothesis(X[:5])
    for hypothesis in model.evidence_.hypotheses:
        if hypothesis.sources not in found:  # it has too little weight
            continue
        models = model.best_estimator_.models[hypothesis.sources]
        shares = np.array(list(hypothesis.kind_weights.values()))
        np.testing.assert_allclose([each.weight for each in models], shares / shares.sum())
        np.testing.assert_allclose(
            found[hypothesis.sources], np.tensordot(shares, [each.predict(X[:5]) for each in models], 1)
        )
    again = Evidence.from_dict(model.evidence_.to_dict())
    assert (1,) in found
    assert again.hypotheses[1].kind_weights == pytest.approx(model.evidence_.hypotheses[1].kind_weights)


def test_one_kind_has_all_the_weight():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(60, 2)), np.repeat([-1, 1], [20, 40])
    model = TransferRegressorCV(Ridge(), param_grid={"alpha": [0.1, 10.0]}, random_state=0).fit(
        X, X[:, 0], sample_domain=domain
    )
    assert [each.kind_weights for each in model.evidence_.hypotheses] == [{"Ridge": 1.0}] * 2
