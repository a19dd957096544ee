"""Two rounds of each algorithm computed by hand.

The learner reads its predictions from a script, so that the arithmetic is the algorithm's alone. X holds the numbers of
the rows; a learner knows from them whether it was trained on the target, on the source or on both.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from gapmin import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)


class Scripted(BaseEstimator):
    """Predicts script[part][round][row], where `part` is the set of rows it was trained on."""

    script: ClassVar[dict] = {}
    calls: ClassVar[dict] = {}

    def fit(self, X, y, sample_weight):
        part = frozenset(int(i) for i in X[:, 0])
        round_ = Scripted.calls.get(part, 0)
        Scripted.calls[part] = round_ + 1
        self.values_ = np.array(Scripted.script[part][round_])
        self.weight_ = np.array(sample_weight)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.values_[X[:, 0].astype(int)]


class ScriptedClassifier(ClassifierMixin, Scripted):
    pass


class ScriptedRegressor(RegressorMixin, Scripted):
    pass


@pytest.fixture
def play():
    """Play a script: {(rows): [prediction of all rows, by round]}."""

    def start(script):
        Scripted.script = {frozenset(rows): rounds for rows, rounds in script.items()}
        Scripted.calls = {}

    return start


# Classification: rows 0 to 3 are the target, 4 to 7 the source.
X = np.arange(8.0).reshape(-1, 1)
Y = np.array([0, 1, 0, 1, 0, 1, 0, 1])
DOMAIN = np.array([-1] * 4 + [1] * 4)
ALL, TARGET, SOURCE = range(8), range(4), range(4, 8)


def but_wrong_on(*rows):
    """The true labels, but for these rows."""
    labels = Y.copy()
    labels[list(rows)] = 1 - labels[list(rows)]
    return labels


def test_gapboost(play):
    play(
        {
            ALL: [but_wrong_on(0, 4), but_wrong_on(1, 6)],
            SOURCE: [Y, Y],
            TARGET: [but_wrong_on(4, 5, 1), but_wrong_on(6, 7, 0)],  # so they disagree on these rows
        }
    )
    clf = GapBoostClassifier(
        ScriptedClassifier(), n_estimators=2, rho_source=log(1 / 2), rho_target=log(3 / 4), gamma_max=1 / 4
    ).fit(X, Y, sample_domain=DOMAIN)
    # Round 1, D = 1/8: rows 0 and 4 wrong, epsilon = 1/4, alpha = log 3.
    #   factors       3, 3/4, 1, 1 | 3/2, 1/2, 1, 1            sum 9.75, cap 9.75/4 = 39/16 binds on row 0
    #   D_2 =        39, 12, 16, 16 | 24, 8, 16, 16  over 147
    # Round 2: rows 1 and 6 wrong, epsilon = 28/147 = 4/21, alpha = log(17/4).
    #   factors     3/4, 17/4, 1, 1 | 1, 1, 17/8, 1/2
    #   products  29.25, 51, 16, 16 | 24, 8, 34, 8             sum 186.25, cap 46.5625 binds on row 1
    #   D_3 =       468, 745, 256, 256 | 384, 128, 544, 128  over 2909
    np.testing.assert_allclose(clf.estimator_errors_, [1 / 4, 4 / 21], rtol=0, atol=1e-10)
    np.testing.assert_allclose(clf.estimator_weights_, [log(3), log(17 / 4)], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        clf.sample_weight_, np.array([468, 745, 256, 256, 384, 128, 544, 128]) / 2909, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(clf.gap_history_, [[2 / 8, 1 / 8], [32 / 147, 39 / 147]], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        clf.mass_history_, [[1 / 2, 1 / 2], [83 / 147, 64 / 147], [1725 / 2909, 1184 / 2909]], rtol=0, atol=1e-10
    )
    # The second learner saw the weights of round 2, with mean 1.
    np.testing.assert_allclose(
        clf.estimators_[1].weight_, 8 * np.array([39, 12, 16, 16, 24, 8, 16, 16]) / 147, rtol=1e-12
    )
    # The vote: log 3 against log 17/4 on rows 0, 4 and 1, 6, where one of the two is wrong.
    expected = (2 * but_wrong_on(0, 4) - 1) * log(3) + (2 * but_wrong_on(1, 6) - 1) * log(17 / 4)
    np.testing.assert_allclose(clf.decision_function(X), expected, rtol=1e-12)


def test_gapboost_up_weights_agreement_when_rho_target_is_positive(play):
    play({ALL: [but_wrong_on(0, 4)], SOURCE: [Y], TARGET: [but_wrong_on(4, 5, 1)]})
    clf = GapBoostClassifier(ScriptedClassifier(), n_estimators=1, rho_target=log(2), gamma_max=1.0)
    clf.fit(X, Y, sample_domain=DOMAIN)
    # rows 0, 2 and 3 agree and gain 2; row 1 does not; row 0 is wrong and gains 3 as well
    np.testing.assert_allclose(clf.sample_weight_, np.array([6, 1, 2, 2, 1.5, 0.5, 1, 1]) / 15, rtol=0, atol=1e-10)


def test_gapboost_with_two_sources_asks_each_of_them(play):
    domain = np.array([-1] * 4 + [1, 1, 2, 2])
    play(
        {
            ALL: [but_wrong_on(0, 4)],
            (4, 5): [but_wrong_on(4, 1)],  # disagrees with the target's learner on its row 4 and on row 1
            (6, 7): [but_wrong_on(1, 2, 4, 6)],  # row 4 is not its own: it is not asked there; row 6 is
            TARGET: [Y],
        }
    )
    clf = GapBoostClassifier(ScriptedClassifier(), n_estimators=1, rho_source=log(1 / 4), rho_target=log(1 / 4))
    clf.set_params(gamma_max=1.0).fit(X, Y, sample_domain=domain)
    # row 1: both disagree, 1/4; row 2: one of two, half of log 1/4, so 1/2; row 4: wrong and disagreed upon; row 6: 1/4
    factors = np.array([3, 1 / 4, 1 / 2, 1, 3 / 4, 1, 1 / 4, 1])
    np.testing.assert_allclose(clf.sample_weight_, factors / factors.sum(), rtol=0, atol=1e-10)


def test_gapboost_starts_with_the_share_it_is_given(play):
    domain = np.array([-1] * 2 + [1] * 6)
    play({ALL: [but_wrong_on(0)], (0, 1): [Y], range(2, 8): [Y]})
    clf = GapBoostClassifier(ScriptedClassifier(), n_estimators=1, target_share=0.8, gamma_max=1.0)
    clf.fit(X, Y, sample_domain=domain)
    # D_1 = 0.4 twice, 0.2/6 six times; epsilon = 0.4, alpha = log 1.5: 0.6, 0.4, 0.2 over 1.2
    np.testing.assert_allclose(clf.estimator_errors_, [0.4], atol=1e-10)
    np.testing.assert_allclose(clf.mass_history_, [[0.8, 0.2], [1 / 1.2, 0.2 / 1.2]], atol=1e-10)


def test_the_default_cap_is_one_over_the_root_of_the_target_rows(play):
    rows = np.arange(12.0).reshape(-1, 1)
    labels = np.arange(12) % 2
    wrong = np.r_[1 - labels[0], labels[1:]]
    play({range(12): [wrong], range(9): [labels], range(9, 12): [labels]})
    clf = GapBoostClassifier(ScriptedClassifier(), n_estimators=1)
    clf.fit(rows, labels, sample_domain=np.r_[np.full(9, -1), np.ones(3)])
    # epsilon = 1/12: 11 and eleven times 1, sum 22; the cap 22 / sqrt(9) binds on row 0: 22/3 of 55/3
    np.testing.assert_allclose(clf.sample_weight_, np.r_[22, np.full(11, 3)] / 55, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "booster", [AdaBoostClassifier, GapBoostClassifier, TransferBoostClassifier, TrAdaBoostClassifier]
)
def test_three_classes_have_a_larger_say(play, booster):
    labels = np.array([0, 1, 2, 0, 0, 1, 2, 0])
    wrong = labels.copy()
    wrong[[0, 4]] = 1
    play({ALL: [wrong], SOURCE: [labels], TARGET: [labels]})
    clf = booster(ScriptedClassifier(), n_estimators=1).fit(X, labels, sample_domain=DOMAIN)
    # epsilon = 1/4 on all rows and on the target: log 3 + log 2
    np.testing.assert_allclose(clf.estimator_weights_, [log(6)], atol=1e-10)


def test_tradaboost_holds_the_error_of_three_classes_below_two_thirds(play):
    labels = np.array([0, 1, 2, 0, 0, 1, 2, 0])
    play({ALL: [(labels + 1) % 3]})
    clf = TrAdaBoostClassifier(ScriptedClassifier(), n_estimators=1).fit(X, labels, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.estimator_errors_, [2 / 3 - 0.001])


PERFECT = log(2.0**52)


@pytest.mark.parametrize("booster", [AdaBoostClassifier, GapBoostClassifier, TransferBoostClassifier])
def test_a_perfect_learner_outvotes_all_others(play, booster):
    # Round 1 errs on six of eight: alpha = log(1/3), a negative say that counts by its size.
    play({ALL: [but_wrong_on(0, 1, 2, 4, 5, 6), Y], SOURCE: [Y, Y], TARGET: [Y, Y]})
    clf = booster(ScriptedClassifier(), n_estimators=5)
    clf.set_params(**({"gamma_max": 1.0, "rho_source": 0.0} if booster is GapBoostClassifier else {}))
    clf.fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.estimator_weights_, [-log(3), PERFECT + log(3)], atol=1e-10)
    np.testing.assert_array_equal(clf.predict(X), Y)
    # Two classes: (1 + f / sum |alpha|) / 2
    f = clf.decision_function(X)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], (1 + f / (PERFECT + 2 * log(3))) / 2, atol=1e-12)


@pytest.mark.parametrize("booster", [AdaBoostClassifier, GapBoostClassifier, TransferBoostClassifier])
def test_a_learner_that_is_always_wrong_is_as_good(play, booster):
    play({ALL: [1 - Y], SOURCE: [Y], TARGET: [Y]})
    clf = booster(ScriptedClassifier(), n_estimators=5).fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.estimator_weights_, [-PERFECT])
    np.testing.assert_array_equal(clf.predict(X), Y)


def test_perfect_learners_are_equals_when_it_goes_on(play):
    play({ALL: [but_wrong_on(0), Y, Y], SOURCE: [Y] * 3, TARGET: [but_wrong_on(4)] * 3})
    clf = GapBoostClassifier(ScriptedClassifier(), n_estimators=3, stop_when_perfect=False, gamma_max=1.0)
    clf.fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.estimator_weights_, [log(7), PERFECT, PERFECT], atol=1e-10)
    weights = np.array([7, 1, 1, 1, 1 / 8, 1, 1, 1])  # row 4 halved each round, for the disagreement
    np.testing.assert_allclose(clf.sample_weight_, weights / weights.sum(), atol=1e-10)


def test_shares_of_the_vote_of_three_classes(play):
    labels = np.array([0, 1, 2, 0, 0, 1, 2, 0])
    bad = (labels + 1) % 3
    bad[0] = 0
    play({ALL: [bad, np.where(np.arange(8) < 6, labels, 0)]})
    clf = AdaBoostClassifier(ScriptedClassifier(), n_estimators=2).fit(X, labels)
    a, b = clf.estimator_weights_
    assert a < 0 < b
    # Row 1 is of class 1: the first says 2, and so speaks for 0 and 1; the second says 1.
    np.testing.assert_allclose(clf.predict_proba(X)[1], np.array([-a, -a + b, 0]) / (-2 * a + b), atol=1e-12)


def test_a_foreign_learner_gets_weights_that_sum_to_the_rows_they_stand_for(play):
    play({ALL: [but_wrong_on(0), but_wrong_on(1)]})
    weight = np.array([2, 1, 1, 1, 3, 1, 1, 1.0])
    clf = AdaBoostClassifier(ScriptedClassifier(), n_estimators=2).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(clf.estimators_[0].weight_, weight)
    np.testing.assert_allclose(clf.estimators_[1].weight_.sum(), 11)


def test_adaboost(play):
    play({ALL: [but_wrong_on(0, 4), but_wrong_on(1)]})
    clf = AdaBoostClassifier(ScriptedClassifier(), n_estimators=2).fit(X, Y, sample_domain=DOMAIN)
    # epsilon = 1/4, D_2 = 3, 1, 1, 1 | 3, 1, 1, 1 over 12; epsilon = 1/12, alpha = log 11
    np.testing.assert_allclose(clf.estimator_weights_, [log(3), log(11)], atol=1e-10)
    np.testing.assert_allclose(clf.sample_weight_, np.array([3, 11, 1, 1, 3, 1, 1, 1]) / 22, atol=1e-10)


def test_adaboost_on_the_target(play):
    play({TARGET: [but_wrong_on(0)]})
    clf = AdaBoostClassifier(ScriptedClassifier(), n_estimators=1, train_on="target")
    clf.fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.sample_weight_, np.array([3, 1, 1, 1, 0, 0, 0, 0]) / 6, atol=1e-10)


def test_tradaboost(play):
    play({ALL: [but_wrong_on(0, 4, 5), but_wrong_on(1, 4, 6)]})
    clf = TrAdaBoostClassifier(ScriptedClassifier(), n_estimators=2).fit(X, Y, sample_domain=DOMAIN)
    # beta = 1 / (1 + sqrt(2 log 4 / 2)). Round 1: epsilon = 1/4 on the target, alpha = log 3.
    # Round 2: the target has 3, 1, 1, 1 over 6, row 1 wrong: epsilon = 1/6, alpha = log 5.
    beta = 1 / (1 + sqrt(log(4)))
    np.testing.assert_allclose(clf.estimator_errors_, [1 / 4, 1 / 6], atol=1e-10)
    np.testing.assert_allclose(clf.estimator_weights_, [log(3), log(5)], atol=1e-10)
    weights = np.array([3, 5, 1, 1, beta**2, beta, beta, 1])
    np.testing.assert_allclose(clf.sample_weight_, weights / weights.sum(), atol=1e-10)


def test_tradaboost_with_the_printed_error(play):
    play({ALL: [but_wrong_on(0, 4, 5)]})
    clf = TrAdaBoostClassifier(ScriptedClassifier(), n_estimators=1, error_on="all")
    clf.fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.estimator_errors_, [3 / 8], atol=1e-10)
    beta = 1 / (1 + sqrt(2 * log(4)))
    weights = np.array([5 / 3, 1, 1, 1, beta, beta, 1, 1])
    np.testing.assert_allclose(clf.sample_weight_, weights / weights.sum(), atol=1e-10)


def test_tradaboost_lets_the_second_half_vote(play):
    play({ALL: [but_wrong_on(0), but_wrong_on(1), but_wrong_on(2), but_wrong_on(3)]})
    clf = TrAdaBoostClassifier(ScriptedClassifier(), n_estimators=4).fit(X, Y, sample_domain=DOMAIN)
    a = clf.estimator_weights_
    # ceil(4 / 2) = 2: the learners 2, 3 and 4
    expected = sum(a[k] * (2 * but_wrong_on(k) - 1) for k in (1, 2, 3))
    np.testing.assert_allclose(clf.decision_function(X), expected, rtol=1e-12)
    stages = list(clf.staged_decision_function(X))
    np.testing.assert_allclose(stages[0], a[0] * (2 * but_wrong_on(0) - 1), rtol=1e-12)
    np.testing.assert_allclose(stages[2], a[1] * (2 * but_wrong_on(1) - 1) + a[2] * (2 * but_wrong_on(2) - 1))


def test_tradaboost_holds_the_error_below_a_half(play):
    play({ALL: [but_wrong_on(0, 1, 2)]})
    clf = TrAdaBoostClassifier(ScriptedClassifier(), n_estimators=1).fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(clf.estimator_errors_, [0.499])


def test_transferboost(play):
    play(
        {
            ALL: [but_wrong_on(0, 4), but_wrong_on(1, 7)],
            TARGET: [but_wrong_on(0, 1), Y],
        }
    )
    clf = TransferBoostClassifier(ScriptedClassifier(), n_estimators=2).fit(X, Y, sample_domain=DOMAIN)
    # Round 1: epsilon = 1/4, alpha = log 3; on the target 1/4 together, 2/4 alone: zeta = 1/4, e = exp(1/4).
    #   D_2 = 3, 1, 1, 1 | 3e, e, e, e  over 6 + 6e
    # Round 2: rows 1 and 7 wrong: epsilon = 1/6, alpha = log 5; on the target 1/6 together, 0 alone: zeta = -1/6.
    e, f = exp(1 / 4), exp(-1 / 6)
    np.testing.assert_allclose(clf.transfer_history_, [[1 / 4], [-1 / 6]], atol=1e-10)
    np.testing.assert_allclose(clf.estimator_weights_, [log(3), log(5)], atol=1e-10)
    weights = np.array([3, 5, 1, 1, 3 * e * f, e * f, e * f, 5 * e * f])
    np.testing.assert_allclose(clf.sample_weight_, weights / weights.sum(), atol=1e-10)


def test_transferboost_with_two_sources_has_a_zeta_each(play):
    domain = np.array([-1] * 4 + [1, 1, 2, 2])
    play(
        {
            ALL: [but_wrong_on(0, 4)],
            TARGET: [but_wrong_on(0, 1)],
            (0, 1, 2, 3, 4, 5): [Y],  # with source 1: no error on the target, zeta = 1/2
            (0, 1, 2, 3, 6, 7): [but_wrong_on(0, 1, 2)],  # with source 2: zeta = -1/4
        }
    )
    clf = TransferBoostClassifier(ScriptedClassifier(), n_estimators=1).fit(X, Y, sample_domain=domain)
    np.testing.assert_allclose(clf.transfer_history_, [[1 / 2, -1 / 4]], atol=1e-10)
    weights = np.array([3, 1, 1, 1, 3 * exp(0.5), exp(0.5), exp(-0.25), exp(-0.25)])
    np.testing.assert_allclose(clf.sample_weight_, weights / weights.sum(), atol=1e-10)


# Regression: rows 0 and 1 are the target, 2 and 3 the source. Labels are 0, so predictions are errors.
XR = np.arange(4.0).reshape(-1, 1)
YR = np.zeros(4)
DOMAIN_R = np.array([-1, -1, 1, 1])
ALL_R, TARGET_R, SOURCE_R = range(4), range(2), range(2, 4)
NOUGHT = [0.0, 0.0, 0.0, 0.0]


def test_gapboost_regressor(play):
    play(
        {
            ALL_R: [[1, -2, 4, 0], [0, 1, 0, -2]],
            SOURCE_R: [[3, 1.5, 2, 1], [0, 1, 1, 4]],
            TARGET_R: [NOUGHT, NOUGHT],
        }
    )
    reg = GapBoostRegressor(
        ScriptedRegressor(), n_estimators=2, rho_source=log(1 / 2), rho_target=log(3 / 4), gamma_max=0.3
    ).fit(XR, YR, sample_domain=DOMAIN_R)
    # Round 1, D = 1/4: errors over 4 are 1/4, 1/2, 1, 0, epsilon = 7/16, alpha = log(9/7).
    #   disagreement: source 2, 1 over 2; target 3, 1.5 over 3
    a = 9 / 7
    first = [0.75 * a**0.25, (0.75 * a) ** 0.5, 0.5 * a, 0.5**0.5]
    # = 0.79863..., 0.98198..., 0.64285..., 0.70710..., sum 3.13059...: the cap 0.93917... binds on row 1
    first[1] = 0.3 * sum(first)
    d2 = [w / sum(first) for w in first]
    # Round 2: errors over 2 are 0, 1/2, 0, 1; disagreement: source 1, 4 over 4; target 0, 1 over 1
    epsilon = d2[1] / 2 + d2[3]
    b = (1 - epsilon) / epsilon
    second = [d2[0], d2[1] * 0.75 * b**0.5, d2[2] * 0.5**0.25, d2[3] * 0.5 * b]
    cap = 0.3 * sum(second)
    assert [w > cap for w in second] == [False, True, False, False]
    second[1] = cap
    np.testing.assert_allclose(reg.estimator_errors_, [7 / 16, epsilon], atol=1e-10)
    say = np.array([log(9 / 7), log(b)])
    np.testing.assert_allclose(reg.estimator_weights_, say / say.sum(), atol=1e-10)
    np.testing.assert_allclose(reg.sample_weight_, np.array(second) / sum(second), atol=1e-10)
    np.testing.assert_allclose(reg.gap_history_, [[1.5 / 4, 1.5 / 4], [d2[2] / 4 + d2[3], d2[1]]], atol=1e-10)
    np.testing.assert_allclose(
        reg.predict(XR), np.average([[1, -2, 4, 0], [0, 1, 0, -2]], axis=0, weights=say), atol=1e-12
    )


def test_gapboost_regressor_up_weights_agreement_when_rho_target_is_positive(play):
    play({ALL_R: [[1, -2, 4, 0]], SOURCE_R: [[3, 1.5, 2, 1]], TARGET_R: [NOUGHT]})
    reg = GapBoostRegressor(ScriptedRegressor(), n_estimators=1, rho_target=log(2), gamma_max=1.0)
    reg.fit(XR, YR, sample_domain=DOMAIN_R)
    a = 9 / 7
    weights = np.array([a**0.25, 2**0.5 * a**0.5, 0.5 * a, 0.5**0.5])
    np.testing.assert_allclose(reg.sample_weight_, weights / weights.sum(), atol=1e-10)


def test_adaboost_regressor(play):
    play({ALL_R: [[1, -2, 4, 0], [0, 1, 0, -2]]})
    reg = AdaBoostRegressor(ScriptedRegressor(), n_estimators=2).fit(XR, YR, sample_domain=DOMAIN_R)
    a = 9 / 7
    first = np.array([a**0.25, a**0.5, a, 1])
    first /= first.sum()
    epsilon = first[1] / 2 + first[3]
    b = (1 - epsilon) / epsilon
    second = first * [1, b**0.5, 1, b]
    np.testing.assert_allclose(reg.estimator_weights_, [log(a), log(b)], atol=1e-10)
    np.testing.assert_allclose(reg.sample_weight_, second / second.sum(), atol=1e-10)


def test_tradaboost_regressor(play):
    play({ALL_R: [[1, -2, 4, 0], [0, 1, 3, -2]]})
    reg = TrAdaBoostRegressor(ScriptedRegressor(), n_estimators=2).fit(XR, YR, sample_domain=DOMAIN_R)
    # Round 1: errors over 4 are 1/4, 1/2 | 1, 0; on the target epsilon = 3/8, alpha = log(5/3).
    beta = 1 / (1 + sqrt(log(2)))
    a = 5 / 3
    first = np.array([a**0.25, a**0.5, beta, 1])
    # Round 2: errors over 3 are 0, 1/3 | 1, 2/3
    epsilon = first[1] / 3 / (first[0] + first[1])
    b = (1 - epsilon) / epsilon
    second = first * [1, b ** (1 / 3), beta, beta ** (2 / 3)]
    np.testing.assert_allclose(reg.estimator_errors_, [3 / 8, epsilon], atol=1e-10)
    np.testing.assert_allclose(reg.estimator_weights_, [log(a), log(b)], atol=1e-10)
    np.testing.assert_allclose(reg.sample_weight_, second / second.sum(), atol=1e-10)


@pytest.mark.parametrize("booster", [AdaBoostRegressor, TrAdaBoostRegressor, GapBoostRegressor])
def test_a_later_learner_no_better_than_a_half_is_dropped(play, booster):
    play({ALL_R: [[0, 0.5, 0, 1], [0.2, 1, 1, 1]], SOURCE_R: [NOUGHT] * 2, TARGET_R: [NOUGHT] * 2})
    reg = booster(ScriptedRegressor(), n_estimators=5)
    reg.set_params(**({"gamma_max": 1.0} if booster is GapBoostRegressor else {}))
    reg.fit(XR, YR, sample_domain=DOMAIN_R)
    # epsilon_2 is between 0.7 and 0.9 for each of them
    assert len(reg.estimators_) == len(reg.estimator_weights_) == 1
    assert reg.mass_history_.shape == (2, 2)
    np.testing.assert_allclose(reg.mass_history_[1], [reg.sample_weight_[:2].sum(), reg.sample_weight_[2:].sum()])


@pytest.mark.parametrize("booster", [AdaBoostRegressor, TrAdaBoostRegressor, GapBoostRegressor])
def test_a_first_learner_no_better_than_a_half_is_all_there_is(play, booster):
    play({ALL_R: [[0.2, 1, 1, 1]], SOURCE_R: [NOUGHT], TARGET_R: [NOUGHT]})
    reg = booster(ScriptedRegressor(), n_estimators=5).fit(XR, YR, sample_domain=DOMAIN_R)
    np.testing.assert_allclose(reg.estimator_weights_, [1.0])
    np.testing.assert_allclose(reg.sample_weight_, 1 / 4)
    np.testing.assert_allclose(reg.predict(XR), [0.2, 1, 1, 1])


def test_errors_count_down_to_round_off():
    from gapmin.boosting._loss import relative_errors

    y = np.array([1000.0, -1000.0])
    np.testing.assert_allclose(relative_errors(y + np.array([2e-6, 1e-6]), y, "linear"), [1, 0.5], rtol=1e-3)
    np.testing.assert_array_equal(relative_errors(np.nextafter(y, 0), y, "linear"), [0, 0])


def test_the_median_has_at_least_half_of_the_weight_at_or_below_it():
    from gapmin.boosting._vote import weighted_median

    assert weighted_median(np.array([[1.0], [2.0]]), np.array([1.0, 1.0])).tolist() == [1.0]
    assert weighted_median(np.array([[2.0], [1.0]]), np.array([1.1, 1.0])).tolist() == [2.0]


@pytest.mark.parametrize(("loss", "errors"), [("square", [1 / 16, 1 / 4, 1, 0]), ("exponential", None)])
def test_regression_losses(play, loss, errors):
    play({ALL_R: [[1, -2, 4, 0]]})
    relative = np.array([1 / 4, 1 / 2, 1, 0])
    errors = 1 - np.exp(-relative) if errors is None else np.array(errors)
    reg = AdaBoostRegressor(ScriptedRegressor(), n_estimators=1, loss=loss).fit(XR, YR)
    epsilon = errors.mean()
    np.testing.assert_allclose(reg.estimator_errors_, [epsilon], atol=1e-12)
    weights = ((1 - epsilon) / epsilon) ** errors
    np.testing.assert_allclose(reg.sample_weight_, weights / weights.sum(), atol=1e-12)
