"""The corrected resampled t-test and Holm's adjustment."""

from __future__ import annotations

from itertools import combinations
from math import atan, inf, isnan, pi, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from gapmin._utils.statistics import corrected_t_test, holm

# Scores with two decimals, as papers print them: no differences so small that rounding decides.
DIFFERENCES = st.lists(st.integers(-9999, 9999).map(lambda cents: cents / 100), min_size=2, max_size=30)
SIZES = st.integers(1, 10_000)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


# The t-test.


def test_by_hand():
    """Mean 3, s^2 = 2.5, (1/5 + 20/80) s^2 = 1.125; Student's distribution with 4 degrees in closed form."""
    test = corrected_t_test([1, 2, 3, 4, 5], n_train=80, n_test=20)
    assert test.mean == 3
    assert test.standard_error == pytest.approx(sqrt(1.125))
    assert test.statistic == pytest.approx(2 * sqrt(2))
    assert test.degrees_of_freedom == 4
    assert test.p_value == pytest.approx(1 - 3 / 4 * 2 * sqrt(2) / sqrt(3) * (1 - 8 / 36))
    assert test.interval(0.95) == pytest.approx((3 - 2.7764451 * sqrt(1.125), 3 + 2.7764451 * sqrt(1.125)))


def test_two_splits_by_hand():
    """Mean 1, s^2 = 2, (1/2 + 1/2) s^2 = 2; one degree of freedom is Cauchy's distribution."""
    test = corrected_t_test([0, 2], n_train=10, n_test=5)
    assert test.standard_error == pytest.approx(sqrt(2))
    assert test.p_value == pytest.approx(1 - 2 / pi * atan(1 / sqrt(2)))


@settings(deadline=None)
@given(DIFFERENCES, SIZES)
def test_is_the_paired_t_test_where_the_correction_vanishes(differences, n_train):
    assume(len(set(differences)) > 1)
    ours = corrected_t_test(differences, n_train, 0)
    theirs = stats.ttest_rel(differences, np.zeros(len(differences)))
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.interval(0.9) == pytest.approx(tuple(theirs.confidence_interval(0.9)), abs=1e-12)


@settings(deadline=None)
@given(DIFFERENCES, SIZES, SIZES, st.integers(-1000, 900))
def test_the_unit_of_the_scores_does_not_matter(differences, n_train, n_test, exponent):
    """Powers of two, which are exact, out to where squares would vanish or overflow."""
    test = corrected_t_test(differences, n_train, n_test)
    scaled = corrected_t_test(np.ldexp(differences, exponent), n_train, n_test)
    assert (scaled.statistic, scaled.p_value) == (test.statistic, test.p_value)
    assert scaled.mean == np.ldexp(test.mean, exponent)
    assert scaled.standard_error == np.ldexp(test.standard_error, exponent)


@settings(deadline=None)
@given(DIFFERENCES, SIZES, SIZES)
def test_exchanging_the_methods_changes_the_sign_only(differences, n_train, n_test):
    test = corrected_t_test(differences, n_train, n_test)
    other = corrected_t_test(-np.array(differences), n_train, n_test)
    assert (other.mean, other.statistic) == (-test.mean, -test.statistic)
    assert (other.standard_error, other.p_value) == (test.standard_error, test.p_value)
    low, high = test.interval()
    assert other.interval() == (-high, -low)


@settings(deadline=None)
@given(DIFFERENCES, SIZES, SIZES, SIZES)
def test_larger_test_sets_count_for_less(differences, n_train, n_test, more):
    few, many = (corrected_t_test(differences, n_train, size) for size in (n_test, n_test + more))
    assert many.p_value >= few.p_value
    assert many.standard_error >= few.standard_error


@settings(deadline=None)
@given(DIFFERENCES, SIZES, SIZES)
def test_the_interval_and_the_p_value_agree(differences, n_train, n_test):
    test = corrected_t_test(differences, n_train, n_test)
    assume(1e-9 < test.p_value < 1 - 1e-9)
    low, high = test.interval(1 - 0.99 * test.p_value)
    assert low < 0 < high
    low, high = test.interval(1 - min(1.01 * test.p_value, (1 + test.p_value) / 2))
    assert low > 0 or high < 0


def equally_correlated(correlation, n_experiments, n_splits, rng):
    shared, own = rng.normal(size=(n_experiments, 1)), rng.normal(size=(n_experiments, n_splits))
    return sqrt(correlation) * shared + sqrt(1 - correlation) * own


def test_p_values_are_uniform_where_the_derivation_holds():
    """Normal differences, any two correlated by n_test / (n_train + n_test), and no true difference."""
    rng = np.random.default_rng(0)
    experiments = equally_correlated(0.25, 1500, 10, rng)
    corrected = [corrected_t_test(row, n_train=75, n_test=25).p_value for row in experiments]
    assert stats.kstest(corrected, "uniform").pvalue > 0.01
    plain = [corrected_t_test(row, n_train=75, n_test=0).p_value for row in experiments]
    assert np.mean(np.array(plain) < 0.05) > 0.2


def test_one_split_says_nothing_of_the_variance():
    test = corrected_t_test([0.7], 80, 20)
    assert (test.mean, test.degrees_of_freedom) == (0.7, 0)
    assert all(map(isnan, (test.standard_error, test.statistic, test.p_value, *test.interval())))


@pytest.mark.parametrize(("value", "statistic", "p_value"), [(0.0, 0, 1), (-0.0, 0, 1), (0.1, inf, 0), (-0.1, -inf, 0)])
@pytest.mark.parametrize("n_splits", [2, 3, 10])
def test_equal_differences(value, statistic, p_value, n_splits):
    test = corrected_t_test([value] * n_splits, 80, 20)
    assert (test.mean, test.standard_error, test.statistic, test.p_value) == (value, 0, statistic, p_value)
    assert test.interval() == (value, value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 80, 20), "empty: give one number"),
        (([[1, 2]], 80, 20), r"shape \(1, 2\): give one number"),
        ((3.0, 80, 20), r"shape \(\): give one number"),
        ((["a", "b"], 80, 20), r"\['a', 'b'\] are not numeric"),
        (([1, float("nan")], 80, 20), "nan at split 1: leave out"),
        (([inf, 1], 80, 20), "inf at split 0: leave out"),
        (([1, 2], 0, 20), "n_train is 0: give the number of rows of a split, above 0"),
        (([1, 2], inf, 20), "n_train is inf"),
        (([1, 2], "80", 20), "n_train is '80'"),
        (([1, 2], 80, -1), "n_test is -1: give the number of rows of a split, of at least 0"),
        (([1, 2], 80, float("nan")), "n_test is nan"),
    ],
)
def test_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        corrected_t_test(*arguments)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan"), "0.95"])
def test_levels_are_fractions(level):
    with pytest.raises(ValueError, match=f"level is {level!r}: give a number above 0 and below 1"):
        corrected_t_test([1, 2], 80, 20).interval(level)


# Holm.


def by_closure(p_values):
    """Reject a hypothesis where Bonferroni rejects every intersection that holds it: Holm by the closure principle."""
    everyone = range(len(p_values))
    subsets = [subset for size in range(1, len(p_values) + 1) for subset in combinations(everyone, size)]
    return [
        max(min(1, len(subset) * min(p_values[j] for j in subset)) for subset in subsets if i in subset)
        for i in everyone
    ]


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),
        ([0.04, 0.01, 0.03], [0.06, 0.03, 0.06]),
        ([0.5, 0.6], [1, 1]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm_by_hand(raw, adjusted):
    assert holm(raw) == pytest.approx(adjusted)


@settings(deadline=None, max_examples=50)
@given(P_VALUES)
def test_holm_is_bonferroni_closed(p_values):
    assert holm(p_values) == pytest.approx(by_closure(p_values))


@settings(deadline=None)
@given(P_VALUES)
def test_holm_lies_between_the_p_values_and_bonferroni(p_values):
    raw, adjusted = np.array(p_values), holm(p_values)
    bonferroni = np.minimum(1, len(raw) * raw)
    assert np.all(adjusted >= raw)
    assert np.all(adjusted <= 1)
    assert adjusted[np.argmin(raw)] == bonferroni.min()
    assert np.all(adjusted <= bonferroni)


@settings(deadline=None)
@given(P_VALUES)
def test_holm_keeps_the_order_of_the_evidence(p_values):
    adjusted = holm(p_values)
    assert np.all(np.diff(adjusted[np.argsort(p_values)]) >= 0)
    for one, other in combinations(range(len(p_values)), 2):
        assert p_values[one] != p_values[other] or adjusted[one] == adjusted[other]


@settings(deadline=None)
@given(P_VALUES, st.randoms(use_true_random=False))
def test_holm_does_not_care_in_which_order_the_tests_come(p_values, random):
    order = random.sample(range(len(p_values)), len(p_values))
    assert np.array_equal(holm(np.array(p_values)[order]), holm(p_values)[order])


@settings(deadline=None)
@given(st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), max_size=8))
def test_holm_does_not_count_what_was_not_tested(p_values):
    adjusted, tested = holm(p_values), ~np.isnan(p_values)
    assert np.array_equal(np.isnan(adjusted), ~tested)
    assert np.array_equal(adjusted[tested], holm(np.array(p_values)[tested]))


def test_holm_takes_any_shape_and_leaves_its_input():
    given = np.array([[0.01, np.nan], [0.03, 0.04]])
    before = given.copy()
    assert np.array_equal(holm(given), holm(given.ravel()).reshape(2, 2), equal_nan=True)
    assert np.array_equal(given, before, equal_nan=True)


@pytest.mark.parametrize(
    ("p_values", "message"),
    [([0.1, -0.2], "has -0.2: give"), ([1.5, 0.1], "has 1.5: give"), ([inf], "has inf"), (["p"], "not numeric")],
)
def test_holm_takes_probabilities_only(p_values, message):
    with pytest.raises(ValueError, match=message):
        holm(p_values)
