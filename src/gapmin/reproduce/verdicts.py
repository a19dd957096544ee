"""Verdicts on the claims of the paper, by intervals: confirmed, not confirmed, contradicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

from scipy.stats import norm

from gapmin._utils.statistics import TTest

CONFIRMED, NOT_CONFIRMED, CONTRADICTED = "Confirmed", "Not confirmed", "Contradicted"
LEVEL = 0.95
HOW = (
    "Verdicts go by 95% intervals. Confirmed: the intervals of all differences that the claim speaks of are on its "
    "side of zero. Contradicted: one of them is on the other side, at a level of 1 - 0.05 / (their number). Not "
    "confirmed: neither, which is no evidence against the claim."
)
"""For the pages: what the three words mean."""


def judge(tests: Sequence[TTest]) -> str:
    """Judge the claim that every one of these differences is below zero.

    One of many intervals is above zero by chance, so that a claim is contradicted at a stricter level. One split has no
    interval, and confirms nothing.

    Examples
    --------
    >>> from gapmin._utils.statistics import corrected_t_test
    >>> lower = corrected_t_test([-1.0, -1.1, -0.9], n_train=90, n_test=10)
    >>> either = corrected_t_test([-1.0, 1.1, -0.9], n_train=90, n_test=10)
    >>> judge([lower]), judge([lower, either])
    ('Confirmed', 'Not confirmed')
    """
    if not tests:
        raise ValueError("tests is empty: a verdict needs a difference to go by")
    if all(test.interval(LEVEL)[1] < 0 for test in tests):
        return CONFIRMED
    strict = 1 - (1 - LEVEL) / len(tests)
    return CONTRADICTED if any(test.interval(strict)[0] > 0 for test in tests) else NOT_CONFIRMED


def judge_any(alternatives: Sequence[Sequence[TTest]]) -> str:
    """Judge the claim that for one of several alternatives every difference is below zero.

    Confirmed where one of them is, at a level of 1 - 0.05 / (their number); contradicted where each of them is.
    """
    strict = 1 - (1 - LEVEL) / len(alternatives)
    if any(all(test.interval(strict)[1] < 0 for test in tests) for tests in alternatives):
        return CONFIRMED
    return CONTRADICTED if all(judge(tests) == CONTRADICTED for tests in alternatives) else NOT_CONFIRMED


MOST = (
    "A claim about most problems or tasks is judged on each of them. It is confirmed where it is on more than half, "
    "and contradicted where it is on half or more."
)


def judge_most(cases: Sequence[Sequence[TTest]]) -> str:
    """Judge the claim that in most of several cases every difference is below zero.

    Examples
    --------
    >>> from gapmin._utils.statistics import corrected_t_test
    >>> lower, higher = ([corrected_t_test([s, 1.1 * s, 0.9 * s], n_train=90, n_test=10)] for s in (-1.0, 1.0))
    >>> judge_most([lower, lower, higher]), judge_most([lower, higher]), judge_most([lower, higher, higher])
    ('Confirmed', 'Contradicted', 'Contradicted')
    """
    judged = [judge(tests) for tests in cases]
    if judged.count(CONFIRMED) > len(judged) / 2:
        return CONFIRMED
    return CONTRADICTED if judged.count(CONTRADICTED) >= len(judged) / 2 else NOT_CONFIRMED


def judge_share(times: int, out_of: int, claimed: bool) -> str:
    """Judge the claim that something happens on most splits, or on few, by Wilson's interval of the share.

    Examples
    --------
    >>> judge_share(20, 20, True), judge_share(11, 20, True), judge_share(1, 20, True)
    ('Confirmed', 'Not confirmed', 'Contradicted')
    """
    low, high = share_interval(times, out_of)
    if low > 0.5:
        return CONFIRMED if claimed else CONTRADICTED
    if high < 0.5:
        return CONTRADICTED if claimed else CONFIRMED
    return NOT_CONFIRMED


def share_interval(times: int, out_of: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share.

    Examples
    --------
    >>> [round(end, 2) for end in share_interval(15, 20)]
    [0.53, 0.89]
    """
    if not out_of:
        return 0.0, 1.0
    z = float(norm.isf((1 - LEVEL) / 2))
    share = times / out_of
    middle = (share + z**2 / (2 * out_of)) / (1 + z**2 / out_of)
    half = z * sqrt(share * (1 - share) / out_of + z**2 / (4 * out_of**2)) / (1 + z**2 / out_of)
    return middle - half, middle + half


def verdict(judged: str, claim: str) -> str:
    """Put a verdict before what it is about; `counts` reads it back.

    Examples
    --------
    >>> verdict(CONFIRMED, "gapBoost averages 6.90, in print 7.26.")
    'Confirmed: gapBoost averages 6.90, in print 7.26.'
    """
    return f"{judged}: {claim}"


def counts(points: Iterable[str]) -> tuple[int, int, int]:
    """Count the verdicts: how many claims are confirmed, not confirmed, and contradicted.

    Examples
    --------
    >>> counts([verdict(CONFIRMED, "a"), verdict(CONTRADICTED, "b"), "a remark"])
    (1, 0, 1)
    """
    judgements = [point.split(":")[0] for point in points]
    return judgements.count(CONFIRMED), judgements.count(NOT_CONFIRMED), judgements.count(CONTRADICTED)
