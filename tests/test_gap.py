"""Is a gap chance? The permutation test and the bootstrap interval."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.decomposition import PCA

from gapmin.gap import GapInterval, GapTest, PerformanceGap, gap_interval, gap_test
from gapmin.linear import (
    FeatureTransferClassifier,
    HypothesisTransferRegressor,
    InstanceWeightingClassifier,
    InstanceWeightingRegressor,
    TaskWeightingClassifier,
    TaskWeightingRegressor,
)

DOMAIN = np.repeat([-1, 1], 20)


def rows(rng, flipped=False, classes=True, n=40):
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    if flipped:
        score[n // 2 :] *= -1
    return X, np.where(score > 0, 1, 0) if classes else score


# The test.


def test_p_values_of_one_distribution_are_spread_evenly():
    """With 19 permutations the p-value is k / 20, each as likely as another: mean 0.525, standard deviation 0.29."""
    found, model = [], InstanceWeightingRegressor()
    for seed in range(60):
        X, y = rows(np.random.default_rng(seed), classes=False)
        test = gap_test(model, X, y, sample_domain=DOMAIN, n_permutations=19, random_state=seed)
        found.append(test.p_value)
    found = np.array(found)
    assert abs(found.mean() - 0.525) < 0.15  # four standard errors
    assert (found <= 0.05 + 1e-9).mean() <= 0.17  # 3 of 60 expected, 10 are four standard errors
    assert np.ptp(found) > 0.6
    np.testing.assert_allclose(found * 20, np.round(found * 20), atol=1e-9)
    assert found.min() >= 0.05 - 1e-12


@pytest.mark.parametrize("classes", [True, False])
def test_a_source_the_wrong_way_round_is_found(classes):
    X, y = rows(np.random.default_rng(0), flipped=True, classes=classes)
    cls = InstanceWeightingClassifier if classes else InstanceWeightingRegressor
    test = gap_test(cls(), X, y, sample_domain=DOMAIN, n_permutations=99, random_state=0)
    assert isinstance(test, GapTest)
    assert test.p_value == 0.01
    assert test.gap > test.null.max()
    assert test.null.shape == (99,)
    assert test.gap == cls().fit(X, y, sample_domain=DOMAIN).gap_.value
    tasks = TaskWeightingClassifier if classes else TaskWeightingRegressor
    assert gap_test(tasks(), X, y, sample_task=DOMAIN, n_permutations=19, random_state=0).p_value == 0.05


def test_p_value_counts_itself_and_ties():
    """Two rows a domain, all the same: every way of dealing gives the same gap."""
    X, y = np.ones((4, 1)), np.array([1.0, 2.0, 1.0, 2.0])
    test = gap_test(
        InstanceWeightingRegressor(), X, y * 0 + 1, sample_domain=[-1, -1, 1, 1], n_permutations=9, random_state=0
    )
    assert test.p_value == 1
    # By hand, from the null it returns.
    X, y = rows(np.random.default_rng(3), classes=False)
    test = gap_test(InstanceWeightingRegressor(), X, y, sample_domain=DOMAIN, n_permutations=39, random_state=0)
    assert test.p_value == (1 + (test.null >= test.gap).sum()) / 40


def test_the_null_keeps_the_sizes_of_the_domains():
    """With every row the same but one, the gap tells only which side that row is on: two values."""
    X = np.ones((12, 1))
    y = np.append(5.0, np.ones(11))
    domain = np.repeat([-1, 1], [3, 9])
    test = gap_test(InstanceWeightingRegressor(), X, y, sample_domain=domain, n_permutations=200, random_state=0)
    values, counts = np.unique(test.null.round(9), return_counts=True)
    assert len(values) == 2
    assert test.gap == pytest.approx(values[np.argmin(counts)])  # on the side of 3
    assert counts.min() / 200 == pytest.approx(3 / 12, abs=0.12)


@pytest.mark.parametrize("measure", [gap_test, gap_interval])
def test_the_number_of_jobs_does_not_matter(measure):
    X, y = rows(np.random.default_rng(1))
    size = {"n_permutations": 11} if measure is gap_test else {"n_resamples": 11}
    # Starting processes takes seconds: once is enough.
    with parallel_config(backend="loky" if measure is gap_test else "threading"):
        one, two, none = (
            measure(InstanceWeightingClassifier(), X, y, sample_domain=DOMAIN, n_jobs=n, random_state=3, **size)
            for n in (1, 2, None)
        )
    for other in (two, none):
        for name, value in vars(one).items():
            np.testing.assert_array_equal(getattr(other, name), value)
    again = measure(InstanceWeightingClassifier(), X, y, sample_domain=DOMAIN, random_state=4, **size)
    drawn = "null" if measure is gap_test else "samples"
    assert not np.array_equal(getattr(again, drawn), getattr(one, drawn))


@pytest.mark.parametrize("measure", [gap_test, gap_interval])
def test_any_form_of_the_rows(measure):
    X, y = rows(np.random.default_rng(2), classes=False)
    size = {"n_permutations": 5} if measure is gap_test else {"n_resamples": 5}
    wanted = measure(InstanceWeightingRegressor(), X, y, sample_domain=DOMAIN, random_state=0, **size).gap
    before = X.copy()

    def forms():
        yield from (X.tolist(), sp.csr_matrix(X))
        yield pytest.importorskip("pandas").DataFrame(X, index=np.arange(40) + 7)

    for form in forms():
        found = measure(InstanceWeightingRegressor(), form, list(y), sample_domain=list(DOMAIN), random_state=0, **size)
        assert found.gap == pytest.approx(wanted, rel=1e-6)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("measure", [gap_test, gap_interval])
@pytest.mark.parametrize("dtype", [int, float, str])
def test_every_task_keeps_both_classes_whatever_their_type(measure, dtype):
    """Tasks so small that a plain shuffle would often leave one with one class, which no classifier takes."""
    X = np.random.default_rng(0).normal(size=(12, 1))
    y, task = np.tile([0, 1], 6).astype(dtype), np.repeat([0, 1, 2, 3], 3)
    size = {"n_permutations": 20} if measure is gap_test else {"n_resamples": 20}
    assert measure(TaskWeightingClassifier(), X, y, sample_task=task, random_state=0, **size).gap >= 0


def test_a_class_too_rare_to_be_dealt_out():
    y = np.zeros(300, dtype=int)
    task = np.repeat(np.arange(100), 3)
    y[::3] = 1  # one of the class in each of 100 tasks: chance alone does not do that again
    with pytest.raises(ValueError, match=r"too rare to be dealt out.*give more rows"):
        gap_test(TaskWeightingClassifier(), np.zeros((300, 1)), y, sample_task=task, random_state=0)


# The interval.


def test_interval_by_hand():
    X, y = rows(np.random.default_rng(4), flipped=True)
    model = InstanceWeightingClassifier(lam=0.1)
    found = gap_interval(model, X, y, sample_domain=DOMAIN, level=0.8, n_resamples=60, random_state=0)
    assert isinstance(found, GapInterval)
    assert found.gap == model.fit(X, y, sample_domain=DOMAIN).gap_.value
    assert found.samples.shape == (60,)
    assert found.bias == pytest.approx(found.samples.mean() - found.gap)
    low, high = np.quantile(found.samples - found.bias, [0.1, 0.9])
    assert found.low == pytest.approx(max(low, 0))
    assert found.high == pytest.approx(high)
    assert found.level == 0.8


@pytest.mark.parametrize("flipped", [False, True])
def test_interval_has_the_measured_gap_in_it_usually(flipped):
    inside = []
    for seed in range(10):
        X, y = rows(np.random.default_rng(seed), flipped=flipped, classes=False)
        found = gap_interval(
            InstanceWeightingRegressor(), X, y, sample_domain=DOMAIN, n_resamples=30, random_state=seed
        )
        assert 0 <= found.low <= found.high
        inside.append(found.low <= found.gap <= found.high)
    assert np.mean(inside) >= 0.9


def test_a_wider_level_is_a_wider_interval():
    X, y = rows(np.random.default_rng(5), flipped=True)
    narrow, wide = (
        gap_interval(
            InstanceWeightingClassifier(), X, y, sample_domain=DOMAIN, level=level, n_resamples=60, random_state=0
        )
        for level in (0.5, 0.95)
    )
    assert wide.low < narrow.low < narrow.high < wide.high
    np.testing.assert_array_equal(narrow.samples, wide.samples)


def test_interval_draws_within_domains():
    """Domains of one row each many times over: drawing within them changes nothing."""
    X = np.repeat([[1.0], [2.0]], 20, axis=0)
    y = np.repeat([1.0, -3.0], 20)
    found = gap_interval(InstanceWeightingRegressor(), X, y, sample_domain=DOMAIN, n_resamples=20, random_state=0)
    np.testing.assert_allclose(found.samples, found.gap, rtol=1e-9)
    assert found.low == pytest.approx(found.gap)
    assert found.high == pytest.approx(found.gap)


def test_interval_of_a_setting_without_sources():
    X, y = rows(np.random.default_rng(6), classes=False)
    found = gap_interval(HypothesisTransferRegressor([[1.0, 1.0]]), X, y, n_resamples=20, random_state=0)
    assert found.low <= found.gap <= found.high


# Mistakes.


def test_mistakes():
    X, y = rows(np.random.default_rng(7))
    model = InstanceWeightingClassifier()
    with pytest.raises(ValueError, match=r"neither sample_domain nor sample_task.*say where each row comes from"):
        gap_test(model, X, y)
    with pytest.raises(ValueError, match=r"both sample_domain and sample_task.*the one that the estimator takes"):
        gap_test(model, X, y, sample_domain=DOMAIN, sample_task=DOMAIN)
    with pytest.raises(ValueError, match=r"both sample_domain and sample_task.*the one that the estimator takes"):
        gap_interval(model, X, y, sample_domain=DOMAIN, sample_task=DOMAIN)
    with pytest.raises(ValueError, match=r"sample_domain has one value \(-1\).*rows from two places"):
        gap_test(model, X, y, sample_domain=-np.ones(40, dtype=int))
    with pytest.raises(ValueError, match=r"n_permutations is 0: give at least 1"):
        gap_test(model, X, y, sample_domain=DOMAIN, n_permutations=0)
    with pytest.raises(ValueError, match=r"n_resamples is -1: give at least 1"):
        gap_interval(model, X, y, sample_domain=DOMAIN, n_resamples=-1)
    for level in (0, 1, 1.5):
        with pytest.raises(ValueError, match=rf"level is {level}: give a probability between 0 and 1"):
            gap_interval(model, X, y, sample_domain=DOMAIN, level=level)


@pytest.mark.parametrize("measure", [gap_test, gap_interval])
def test_too_few_domains(measure):
    X, y = rows(np.random.default_rng(8))
    with pytest.raises(ValueError, match=r"sample_domain has 39 entries for 40 rows|inconsistent numbers of samples"):
        measure(InstanceWeightingClassifier(), X, y, sample_domain=DOMAIN[:39])


def test_a_gap_reads_well():
    gap = PerformanceGap(0.5, {"source": 0.2, "target": 0.3}, {"source": np.ones(99)}, 1.0, 0.9, 2.0)
    assert float(gap) == 0.5
    assert "array" not in repr(gap)
    with pytest.raises(AttributeError):
        gap.value = 1.0


@pytest.mark.slow
def test_valid_where_classes_are_rare():
    """Two target rows that may have one class: a way of dealing that counts is as likely as the one found."""
    p_values = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 2)), rng.integers(0, 2, size=12)
        if np.unique(y).size < 2:
            continue
        model = InstanceWeightingClassifier(gamma=0.5, lam=0.1)
        domain = np.repeat([-1, 1], [2, 10])
        p_values.append(gap_test(model, X, y, sample_domain=domain, n_permutations=9, random_state=seed).p_value)
    assert np.mean(np.array(p_values) <= 0.4) <= 0.4 + 2 * np.sqrt(0.24 / len(p_values))


def test_a_fitted_representation_stays_what_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.integers(0, 2, size=40)
    model = FeatureTransferClassifier(PCA(2).fit(rng.normal(size=(50, 4)) * [5, 1, 1, 0.1]))
    model.fit(X, y, sample_domain=DOMAIN)
    assert gap_test(model, X, y, sample_domain=DOMAIN, n_permutations=3).gap == pytest.approx(model.gap_.value)


def test_what_has_no_gap():
    X, y = rows(np.random.default_rng(8))
    with pytest.raises(ValueError, match="PCA has no gap: give a linear setting"):
        gap_test(PCA(), X, y, sample_domain=DOMAIN)
    with pytest.raises(ValueError, match="takes no sample_task: give the other one"):
        gap_test(InstanceWeightingClassifier(), X, y, sample_task=DOMAIN)


@pytest.mark.parametrize(("loss", "q"), [("absolute", 1), ("squared", 2)])
def test_the_bound_of_the_lq_loss_is_that_of_the_loss_of_the_fit(loss, q):
    X, y = rows(np.random.default_rng(0), classes=False)
    gap = InstanceWeightingRegressor(loss, gamma=0.5).fit(X, y, sample_domain=DOMAIN).gap_
    assert gap.lq_bound(q) == pytest.approx(gap.loss_bound)
    with pytest.raises(ValueError, match=r"q is 0\.5"):
        gap.lq_bound(0.5)
