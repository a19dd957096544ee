"""Is one method better than another over random splits, and still so when many pairs are compared?"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf, isfinite, nan, sqrt
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["Z_95", "TTest", "corrected_t_test", "holm"]

Z_95 = 1.96
"""How many standard errors a 95% interval of a normal estimate reaches to either side."""


@dataclass(frozen=True)
class TTest:
    """A two-sided t-test that a mean is zero.

    Attributes
    ----------
    mean : float
        The mean difference.
    standard_error : float
        Its standard error; NaN when one split leaves it unknown.
    statistic : float
        The mean in standard errors.
    p_value : float
        How often chance alone gives a statistic of this size or more.
    degrees_of_freedom : int
        Of Student's distribution: the number of splits less one.
    """

    mean: float
    standard_error: float
    statistic: float
    p_value: float
    degrees_of_freedom: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of the mean; it leaves out 0 where the p-value is below 1 - level.

        Parameters
        ----------
        level : float, default=0.95
            Above 0 and below 1.
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level is {level!r}: give a number above 0 and below 1, such as 0.95")
        if self.degrees_of_freedom == 0:
            return nan, nan
        # The upper tail itself, because 1 - tail rounds to 1 for a level near 1.
        half = float(stats.t.isf((1 - float(level)) / 2, self.degrees_of_freedom)) * self.standard_error
        return self.mean - half, self.mean + half


def corrected_t_test(differences: ArrayLike, n_train: float, n_test: float) -> TTest:
    """Test whether two methods differ, from their differences over random splits of the same data.

    The splits share rows, so their results are correlated, and the ordinary paired t-test finds differences that are
    not there. The corrected resampled t-test [1]_ takes (1/J + n_test / n_train) s^2 as the variance of the mean over
    J splits, where s^2 is the sample variance of the differences, with J - 1 degrees of freedom. It is exact where the
    differences are normal and any two of them have the correlation n_test / (n_train + n_test).

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        One method's score less the other's, on each split.
    n_train : float
        The rows that each split trains on and that change from split to split; the mean number if the splits differ.
    n_test : float
        The rows that each split tests on. With 0 there is no correction: the ordinary paired t-test.

    Returns
    -------
    TTest
        With its mean, standard error, statistic, p-value and `interval`. Where the formula has no value:

        - one split says nothing of the variance: standard error, statistic, p-value and interval are NaN;
        - differences that are all 0 have statistic 0 and p-value 1;
        - equal differences other than 0 have an infinite statistic with the sign of the difference, and p-value 0.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003, 239-281.

    Examples
    --------
    >>> from gapmin._utils.statistics import corrected_t_test
    >>> test = corrected_t_test([1, 2, 3, 4, 5], n_train=80, n_test=20)
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (2.828, 0.0474)
    >>> [round(end, 3) for end in test.interval(0.95)]
    [0.055, 5.945]
    """
    values = _differences(differences)
    ratio = _size("n_test", n_test, may_be_zero=True) / _size("n_train", n_train)
    n_splits = len(values)
    if n_splits == 1:
        return TTest(float(values[0]), nan, nan, nan, 0)
    if np.all(values == values[0]):  # asked here: the variance of equal numbers need not round to 0
        value = float(values[0])
        return TTest(value, 0.0, 0.0 if value == 0 else copysign(inf, value), float(value == 0), n_splits - 1)

    # A power of two scales without rounding, so that squares neither overflow nor vanish.
    _, exponent = np.frexp(np.max(np.abs(values)))
    scaled = np.ldexp(values, -exponent)
    mean = float(scaled.mean())
    standard_error = sqrt(1 / n_splits + ratio) * float(scaled.std(ddof=1))
    statistic = mean / standard_error
    return TTest(
        mean=float(np.ldexp(mean, exponent)),
        standard_error=float(np.ldexp(standard_error, exponent)),
        statistic=statistic,
        p_value=float(2 * stats.t.sf(abs(statistic), n_splits - 1)),
        degrees_of_freedom=n_splits - 1,
    )


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's step-down adjusted p-values [1]_, in the order given.

    Rejecting where the adjusted value is at most alpha makes any false rejection at all as rare as alpha, however the
    tests depend on each other.

    Parameters
    ----------
    p_values : array-like
        Of any shape. A NaN stays NaN and does not count among the hypotheses.

    Returns
    -------
    ndarray of the same shape
        Never below the p-value given, never above 1.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
       1979, 65-70.

    Examples
    --------
    >>> from gapmin._utils.statistics import holm
    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    try:
        given = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"p_values {p_values!r} are not numeric: give numbers from 0 to 1, or NaN") from None
    wrong = (given < 0) | (given > 1)
    if wrong.any():
        raise ValueError(f"p_values has {given[wrong][0]}: give numbers from 0 to 1, or NaN")
    tested = ~np.isnan(given)
    p = given[tested]
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    result = np.full(given.shape, np.nan)
    result[tested] = adjusted
    return result


def _differences(differences: ArrayLike) -> NDArray[np.float64]:
    try:
        values = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"differences {differences!r} are not numeric: give one number for each split") from None
    if values.ndim != 1:
        raise ValueError(f"differences have shape {values.shape}: give one number for each split, in one dimension")
    if len(values) == 0:
        raise ValueError("differences are empty: give one number for each split, for two splits or more")
    wrong = ~np.isfinite(values)
    if wrong.any():
        split = int(np.argmax(wrong))
        raise ValueError(f"differences have {values[split]} at split {split}: leave out the splits that failed")
    return values


def _size(name: str, size: float, may_be_zero: bool = False) -> float:
    above = "of at least 0" if may_be_zero else "above 0"
    if not (isinstance(size, Real) and isfinite(size) and (size > 0 or (may_be_zero and size == 0))):
        raise ValueError(f"{name} is {size!r}: give the number of rows of a split, {above}")
    return float(size)
