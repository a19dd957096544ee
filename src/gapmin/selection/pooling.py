"""Weighted pooling with any learner: one fit on all rows, in which the target has a share of the weight."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from gapmin._utils.typing import Array
from gapmin.base import TrainsOnRows
from gapmin.boosting.building_blocks import Learners, TrainingRows, class_shares
from gapmin.linear import WeightedLogisticRegression
from gapmin.linear.solvers import RidgeOfAnyScale, check_squares
from gapmin.selection._source_weights import gap_source_shares

_TRACE = 1e-9

__all__ = ["WeightedPoolingClassifier", "WeightedPoolingRegressor"]


class _WeightedPooling(TrainsOnRows):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TrainsOnRows._parameter_constraints,
        "target_share": [Interval(Real, 0, 1, closed="right"), None],
        "sources": ["array-like", None],
        "source_weight": [StrOptions({"rows", "gap"})],
    }

    _data_class = TrainingRows

    target_share: float | None
    sources: Sequence[int] | None
    source_weight: str

    estimator_: Any
    sample_weight_: Array
    domain_weight_: dict[int, float]

    def __init__(
        self,
        estimator: Any = None,
        *,
        target_share: float | None = 0.5,
        sources: Sequence[int] | None = None,
        source_weight: str = "rows",
        resample: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.target_share = target_share
        self.sources = sources
        self.source_weight = source_weight
        self.resample = resample
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, rows: TrainingRows, used: NDArray[np.bool_]) -> None:
        classes = self.classes_ if isinstance(self, ClassifierMixin) else None
        random = check_random_state(self.random_state)
        template = self._template()
        if type(template) is Ridge:
            template = RidgeOfAnyScale(**template.get_params())
        learners = Learners(template, classes, self.resample, self.n_jobs, random)
        log_weight = rows.initial_log_weight(self.target_share)
        if self.source_weight == "gap" and rows.sources:
            _check_squares(rows)
            shares = gap_source_shares(rows, classes, self.target_share, random.randint(np.iinfo(np.int32).max))
            log_weight = _with_source_shares(log_weight, rows, shares)
        (self.estimator_,) = learners.train([rows.both], log_weight)
        self.sample_weight_ = np.zeros(used.size)
        self.sample_weight_[used] = np.exp(log_weight)
        numbers = [-1, *map(int, rows.source_numbers)]
        self.domain_weight_ = dict(zip(numbers, rows.mass(log_weight).tolist(), strict=True))

    def _check_target_classes(self, codes: NDArray[np.intp]) -> None:
        """One class among the target's rows will do where the sources have another."""
        if self.classes_.size < 2:
            super()._check_target_classes(codes)

    def _used_rows(self, domain: NDArray[np.int64], weight: Array) -> NDArray[np.bool_]:
        if self.target_share == 1:
            return (weight > 0) & (domain < 0)
        if self.sources is None:
            return weight > 0
        wanted = self._check_sources(domain)
        return (weight > 0) & ((domain < 0) | np.isin(domain, wanted))

    def _check_sources(self, domain: NDArray[np.int64]) -> NDArray[np.int64]:
        wanted, there = np.asarray(self.sources), np.unique(domain[domain > 0])
        strange = [number for number in wanted.tolist() if number not in there]
        if strange:
            raise ValueError(f"sources has {strange[0]!r}: choose from the sources in sample_domain, {there.tolist()}")
        return wanted.astype(np.int64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or the value of each row."""
        X = self._checked(X)
        return np.asarray(self.estimator_.predict(X))


def _check_squares(rows: TrainingRows) -> None:
    """Raise where the features or labels that the gap is measured on cannot be squared."""
    if getattr(getattr(rows.X, "dtype", None), "kind", "") == "f":  # others are made numbers, or refused, later
        check_squares("X", rows.X)
    check_squares("y", rows.y)


def _with_source_shares(log_weight: Array, rows: TrainingRows, shares: dict[int, float]) -> Array:
    """Divide the sources' weight between them as `shares` says; what none is left of keeps a trace, not a zero."""
    weight = np.exp(log_weight)
    of_sources = weight[rows.domain > 0].sum()
    for part, share in zip(rows.sources, shares.values(), strict=True):
        weight[part.index] *= max(share, _TRACE) * of_sources / weight[part.index].sum()
    return np.log(weight / weight.sum())


class WeightedPoolingClassifier(ClassifierMixin, _WeightedPooling):
    r"""One classifier trained on target and sources together, the target with a given share of the weight.

    Minimises :math:`\gamma L_T(h) + (1 - \gamma) L_S(h)` with any learner that takes weights (one that takes none is
    given a weighted bootstrap). With the default learner it is `gapmin.linear.InstanceWeightingClassifier`, but for the
    intercept, which is not penalised here, and takes any number of classes.

    Parameters
    ----------
    estimator : classifier or None, default=None
        None takes `WeightedLogisticRegression()`.
    target_share : float in (0, 1] or None, default=0.5
        gamma. 1 leaves the sources out: target only. None gives every row the same weight: plain pooling.
    sources : sequence of int or None, default=None
        The sources to use, by their number in `sample_domain`; None takes all.
    source_weight : "rows" or "gap", default="rows"
        How the sources divide their weight: every row alike, or so that the performance gap is smallest
        (`gapmin.linear.GapWeightingClassifier` by domain, on features scaled to unit variance; X must be numbers then).
    resample : bool, default=False
        Hand the learner a weighted bootstrap instead of weights.
    n_jobs : int or None, default=None
        There is one fit: kept for the interface of the boosters.
    random_state : int, RandomState instance or None, default=None
        For bootstraps and for learners with randomness of their own.

    Attributes
    ----------
    estimator_ : classifier
        The learner, fitted.
    sample_weight_ : ndarray of shape (n_rows,)
        The weight of each row; they sum to one.
    domain_weight_ : dict of int to float
        Its sum over the target (-1) and each source.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.selection import WeightedPoolingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(60, 2)), np.repeat([-1, 1], [20, 40])
    >>> y = np.where(X[:, 0] + 0.3 * (sample_domain > 0) > 0, "yes", "no")
    >>> clf = WeightedPoolingClassifier(target_share=0.8).fit(X, y, sample_domain=sample_domain)
    >>> {domain: round(share, 2) for domain, share in clf.domain_weight_.items()}
    {-1: 0.8, 1: 0.2}
    """

    def _default_learner(self) -> BaseEstimator:
        return WeightedLogisticRegression()

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`; 0 for one that no row in use has."""
        X = self._checked(X)
        own = class_shares(self.estimator_, X)
        if own.shape[1] == self.classes_.size:
            return own
        shares = np.zeros((len(own), self.classes_.size))
        shares[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = own
        return shares


class WeightedPoolingRegressor(RegressorMixin, _WeightedPooling):
    r"""One regressor trained on target and sources together, the target with a given share of the weight.

    Parameters and attributes are those of `WeightedPoolingClassifier`, but for `classes_`; the default learner is
    scikit-learn's `Ridge()`.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.selection import WeightedPoolingRegressor
    >>> X, sample_domain = np.arange(6.0).reshape(-1, 1), [-1, -1, -1, 1, 1, 1]
    >>> model = WeightedPoolingRegressor(target_share=1).fit(X, 2 * X[:, 0], sample_domain=sample_domain)
    >>> {domain: round(share, 6) for domain, share in model.domain_weight_.items()}
    {-1: 1.0}
    """

    def _default_learner(self) -> BaseEstimator:
        return Ridge()
