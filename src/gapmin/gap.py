"""The two results that every setting returns: the performance gap and a bound on the risk. And is the gap chance?"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, check_consistent_length

from gapmin._utils.parallel import run_parallel
from gapmin._utils.typing import Array

__all__ = ["GapInterval", "GapTest", "PerformanceGap", "RiskBound", "gap_interval", "gap_test"]


@dataclass(frozen=True)
class PerformanceGap:
    """How much worse a model does on a domain it was not made for: the definition of the setting, term by term.

    Attributes
    ----------
    value : float
        The gap, at least 0: the sum of its parts.
    parts : dict of str or task to float
        "source" and "target", or one for each task; none is below 0.
    minimisers : dict of str or task to ndarray
        The hypotheses that the definition speaks of; where there is an intercept it is the last entry.
    norm_bound : float, or ndarray of shape (n_tasks,)
        The setting's lemma: no solution is longer than this.
    sharp_norm_bound : float, or ndarray of shape (n_tasks,)
        The same from the lemma's proof before it averages; never above `norm_bound`.
    loss_bound : float, or ndarray of shape (n_tasks,)
        The corollary: no row of norm R or less has a larger loss.
    attained : bool
        False where a minimiser does not exist and its infimum stands for it.
    pooled : ndarray or None
        The minimiser of all tasks together, where the definition has one.
    R, Y : float
        The largest norm of a training row, the constant feature counted, and the largest label in size.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingRegressor
    >>> X, sample_domain = np.arange(8.0).reshape(-1, 1), np.repeat([-1, 1], 4)
    >>> model = InstanceWeightingRegressor().fit(X, X[:, 0] * sample_domain, sample_domain=sample_domain)
    >>> sorted(model.gap_.parts)
    ['source', 'target']
    >>> bool(np.linalg.norm(model.coef_) <= model.gap_.norm_bound)
    True
    """

    value: float
    parts: dict[Any, float]
    minimisers: dict[Any, Array] = field(repr=False)
    norm_bound: Any
    sharp_norm_bound: Any
    loss_bound: Any
    attained: bool = True
    pooled: Array | None = field(default=None, repr=False)
    R: float = float("nan")
    Y: float = float("nan")

    def lq_bound(self, q: float) -> Any:
        """Return the corollary for the l_q loss: (Y + R norm_bound)^q.

        Parameters
        ----------
        q : float
            The exponent.
        """
        if not q >= 1:
            raise ValueError(f"q is {q}: the l_q loss is convex for q >= 1 only")
        return (self.Y + self.R * self.norm_bound) ** q

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class RiskBound:
    """A bound on the target risk: the right-hand side of a theorem, term by term.

    Attributes
    ----------
    terms : dict of str to float
        Each term by name; the empirical one included. NaN where nothing is known of it.
    delta : float
        The bound holds with probability 1 - delta.
    assumptions : tuple of str
        What has to be true for it to hold, and where this fit departs from it.
    constants : dict of str to float
        What the terms were computed from.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingRegressor
    >>> X, sample_domain = np.arange(8.0).reshape(-1, 1), np.repeat([-1, 1], 4)
    >>> model = InstanceWeightingRegressor().fit(X, X[:, 0] * sample_domain, sample_domain=sample_domain)
    >>> bound = model.risk_bound(delta=0.1)
    >>> bound.delta, "empirical" in bound.terms
    (0.1, True)
    """

    terms: dict[str, float]
    delta: float
    assumptions: tuple[str, ...]
    constants: dict[str, float]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The terms of which nothing is known."""
        return tuple(name for name, value in self.terms.items() if np.isnan(value))

    @property
    def complete(self) -> bool:
        """Whether every term is known, so that `total` is the whole bound."""
        return not self.unknown

    @property
    def total(self) -> float:
        """The sum of the terms that are known; the bound itself where `complete`."""
        return float(sum(value for value in self.terms.values() if not np.isnan(value)))


@dataclass(frozen=True)
class GapTest:
    """Whether a gap is larger than the accident of which row went where would make it.

    Attributes
    ----------
    gap : float
        As measured.
    null : ndarray of shape (n_permutations,)
        The gaps after the rows were dealt out again to domains of the same sizes.
    p_value : float
        (1 + how many of them are at least as large) / (1 + n_permutations).

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.gap import gap_test
    >>> from gapmin.linear import InstanceWeightingRegressor
    >>> X, sample_domain = np.arange(-4.0, 4.0).reshape(-1, 1), np.tile([-1, 1], 4)
    >>> y = X[:, 0] * sample_domain  # the source has it the other way round
    >>> model = InstanceWeightingRegressor()
    >>> test = gap_test(model, X, y, sample_domain=sample_domain, n_permutations=19, random_state=0)
    >>> test.null.shape, bool(test.gap > np.median(test.null))
    ((19,), True)
    """

    gap: float
    null: Array = field(repr=False)
    p_value: float


@dataclass(frozen=True)
class GapInterval:
    """A bootstrap interval of a gap.

    Attributes
    ----------
    gap : float
        As measured.
    low, high : float
        The ends of the interval.
    level : float
        The probability that the interval holds the gap.
    bias : float
        Mean of the resampled gaps less the measured one: drawing rows twice makes domains differ more, so it tends to
        be positive; the interval has it taken out.
    samples : ndarray of shape (n_resamples,)
        The gap of each resample.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.gap import gap_interval
    >>> from gapmin.linear import InstanceWeightingRegressor
    >>> X, sample_domain = np.arange(-4.0, 4.0).reshape(-1, 1), np.tile([-1, 1], 4)
    >>> y = X[:, 0] * sample_domain
    >>> model = InstanceWeightingRegressor()
    >>> found = gap_interval(model, X, y, sample_domain=sample_domain, n_resamples=20, random_state=0)
    >>> found.level, found.low <= found.high
    (0.9, True)
    """

    gap: float
    low: float
    high: float
    level: float
    bias: float
    samples: Array = field(repr=False)


def gap_test(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_domain: ArrayLike | None = None,
    sample_task: ArrayLike | None = None,
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> GapTest:
    """Test by permutation whether the gap is larger than chance.

    The rows are dealt out again at random to domains (or tasks) of the same sizes, and the gap is measured again. If
    all rows come from one distribution the p-value is at most p with probability at most p, at any sample size.

    Parameters
    ----------
    estimator : a linear setting with a gap between domains or tasks
        An unfitted or fitted linear setting.
    X, y : the rows
        The rows.
    sample_domain, sample_task : array-like of shape (n_rows,)
        One of the two, as the estimator takes it.
    n_permutations : int, default=199
        How often the domains of the rows are permuted.
    n_jobs : int, optional
        The result does not depend on it.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    GapTest
        The gap and its p-value.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import InstanceWeightingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(80, 2)), np.repeat([-1, 1], 40)
    >>> y = X[:, 0] * np.where(sample_domain > 0, -1, 1) > 0  # the source has it the other way round
    >>> gap_test(InstanceWeightingClassifier(), X, y, sample_domain=sample_domain, random_state=0).p_value
    0.005
    """
    _check_count("n_permutations", n_permutations)
    name, groups = _which(sample_domain, sample_task)
    check_consistent_length(X, y, groups)
    if np.unique(groups).size < 2:
        raise ValueError(f"{name} has one value ({groups[0]}): a gap needs rows from two places to be tested")
    labels = np.asarray(y)
    random = check_random_state(random_state)
    classes = labels if is_classifier(estimator) else None
    orders = [np.arange(groups.size), *(_permute(classes, groups, random) for _ in range(n_permutations))]
    gaps = _gaps(estimator, X, labels, [(order, groups) for order in orders], name, n_jobs)
    null = gaps[1:]
    # Equal up to round-off counts as equal: with few rows many ways of dealing are the same.
    larger = int((null >= gaps[0] - 1e-12 * max(1.0, abs(gaps[0]))).sum())
    return GapTest(float(gaps[0]), null, (1 + larger) / (1 + n_permutations))


def gap_interval(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_domain: ArrayLike | None = None,
    sample_task: ArrayLike | None = None,
    level: float = 0.9,
    n_resamples: int = 200,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> GapInterval:
    """Measure how far the gap would move with other rows of the same kind: a bootstrap within each domain or task.

    Rows are drawn with replacement within each domain (and class), and the gap is measured again. The percentiles are
    shifted by the estimated bias and cut at 0.

    Parameters
    ----------
    estimator : a linear setting
        An unfitted or fitted linear setting.
    X, y : the rows
        The rows.
    sample_domain, sample_task : array-like of shape (n_rows,), optional
        As the estimator takes it.
    level : float, default=0.9
        The probability that the interval holds the value.
    n_resamples : int, default=200
        How often the rows are drawn anew.
    n_jobs : int, optional
        The result does not depend on it.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    GapInterval
        The gap and the ends of its interval.
    """
    _check_count("n_resamples", n_resamples)
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level is {level}: give a probability between 0 and 1")
    name, groups = _which(sample_domain, sample_task, _num_samples(X))
    labels = np.asarray(y)
    check_consistent_length(X, labels, groups)
    strata = np.unique(groups, return_inverse=True)[1]
    if is_classifier(estimator):  # every class of a domain stays there
        strata = strata * (labels.size + 1) + np.unique(labels, return_inverse=True)[1]
    parts = [np.flatnonzero(strata == each) for each in np.unique(strata)]
    random = check_random_state(random_state)
    draws = [np.concatenate([random.choice(part, part.size) for part in parts]) for _ in range(n_resamples)]
    orders = [np.arange(groups.size), *draws]
    gaps = _gaps(estimator, X, labels, [(order, groups[order]) for order in orders], name, n_jobs)
    samples, bias = gaps[1:], float(gaps[1:].mean() - gaps[0])
    low, high = np.quantile(samples - bias, [(1 - level) / 2, (1 + level) / 2])
    return GapInterval(float(gaps[0]), max(float(low), 0.0), max(float(high), 0.0), level, bias, samples)


def _permute(classes: NDArray[Any] | None, groups: NDArray[Any], random: Any) -> NDArray[np.intp]:
    """Return a random order of the rows, again until the same places as before have several classes.

    So every order that counts is as likely as the one that was found.
    """
    if classes is None:
        return random.permutation(groups.size)
    labels = classes

    def varied(order: NDArray[np.intp]) -> set[Any]:
        return {each for each in np.unique(groups) if np.unique(labels[order][groups == each]).size > 1}

    wanted = varied(np.arange(labels.size))
    for _ in range(1000):
        order = random.permutation(labels.size)
        if varied(order) == wanted:
            return order
    raise ValueError("a class is too rare to be dealt out to every domain: give more rows of it")


def _check_count(name: str, value: int) -> None:
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} is {value!r}: give at least 1, a whole number")


def _which(domain: ArrayLike | None, task: ArrayLike | None, n_rows: int = 0) -> tuple[str, NDArray[Any]]:
    if domain is not None and task is not None:
        raise ValueError("both sample_domain and sample_task are given: give the one that the estimator takes")
    if domain is None and task is None:
        if not n_rows:
            raise ValueError("neither sample_domain nor sample_task is given: say where each row comes from")
        return "", np.full(n_rows, -1)
    return ("sample_domain", np.asarray(domain)) if domain is not None else ("sample_task", np.asarray(task))


def _gaps(
    estimator: Any, X: Any, y: NDArray[Any], cases: list[tuple[Any, Any]], name: str, n_jobs: int | None
) -> Array:
    if not hasattr(estimator, "risk_bound"):
        raise ValueError(f"{type(estimator).__name__} has no gap: give a linear setting of gapmin.linear")
    if name and name not in signature(estimator.fit).parameters:
        raise ValueError(
            f"{type(estimator).__name__} takes no {name}: give the other one of sample_domain and sample_task"
        )
    frozen = estimator
    phi = estimator.get_params(deep=False).get("transformer")
    if phi is not None and not getattr(estimator, "_phi_learnt", True):
        # A clone of a fitted Phi is unfitted, and would be fitted on other rows.
        frozen = clone(estimator).set_params(transformer=FrozenEstimator(phi))

    def one(order: NDArray[np.intp], groups: NDArray[Any]) -> float:
        places = {name: groups} if name else {}
        return clone(frozen).fit(_safe_indexing(X, order), y[order], **places).gap_.value

    if not (hasattr(X, "iloc") or hasattr(X, "shape")):
        X = np.asarray(X)
    return np.array(list(run_parallel(one, cases, n_jobs)))
