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
from sklearn.utils._param_validation import Interval

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.base import TrainsOnRows
from gapmin.boosting.building_blocks import Learners, TrainingRows, class_shares
from gapmin.linear import WeightedLogisticRegression
from gapmin.linear.solvers import RidgeOfAnyScale

__all__ = ["WeightedPoolingClassifier", "WeightedPoolingRegressor"]


class _WeightedPooling(TrainsOnRows):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TrainsOnRows._parameter_constraints,
        "target_share": [Interval(Real, 0, 1, closed="right"), None],
        "sources": ["array-like", None],
    }

    _data_class = TrainingRows
    estimator_: Any
    sample_weight_: Array

    def __init__(
        self,
        estimator: Any = None,
        *,
        target_share: float | None = 0.5,
        sources: Sequence[int] | None = None,
        resample: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.target_share = target_share
        self.sources = sources
        self.resample = resample
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, rows: TrainingRows, used: NDArray[np.bool_]) -> None:
        classes = self.classes_ if isinstance(self, ClassifierMixin) else None
        template = self._template()
        if type(template) is Ridge:
            template = RidgeOfAnyScale(**template.get_params())
        learners = Learners(template, classes, self.resample, self.n_jobs, check_random_state(self.random_state))
        log_weight = rows.initial_log_weight(self.target_share)
        (self.estimator_,) = learners.train([rows.both], log_weight)
        self.sample_weight_ = np.zeros(used.size)
        self.sample_weight_[used] = np.exp(log_weight)
        shares = rows.mass(log_weight).tolist()
        self.domain_weight_ = dict(zip([-1, *map(int, rows.source_numbers)], shares, strict=True))

    def _check_target_classes(self, codes: NDArray[np.intp]) -> None:
        """One class among the target's rows will do where the sources have another."""
        if self.classes_.size < 2:
            super()._check_target_classes(codes)

    def _used_rows(self, domain: NDArray[np.int64], weight: Array) -> NDArray[np.bool_]:
        if self.target_share == 1:
            return (weight > 0) & (domain < 0)
        if self.sources is None:
            return weight > 0
        there = np.unique(domain[domain > 0])
        for number in np.asarray(self.sources).tolist():
            if number not in there:
                raise ValueError(f"sources has {number!r}: choose from the sources in sample_domain, {there.tolist()}")
        return (weight > 0) & ((domain < 0) | np.isin(domain, np.asarray(self.sources)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or the value of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        X = self._checked(X)
        return np.asarray(self.estimator_.predict(X))


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
    resample : bool, default=False
        Hand the learner a weighted bootstrap instead of weights.
    n_jobs : int or None, default=None
        Processes or threads. The result does not depend on it.
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
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.transfer import WeightedPoolingClassifier
    >>> X, sample_domain = np.array([[0.0], [1.0], [0.2], [0.8], [2.0]]), [-1, -1, 1, 1, 1]
    >>> clf = WeightedPoolingClassifier(target_share=0.8).fit(X, X[:, 0] > 0.5, sample_domain=sample_domain)
    >>> {domain: round(share, 2) for domain, share in clf.domain_weight_.items()}
    {-1: 0.8, 1: 0.2}
    """

    def _default_learner(self) -> BaseEstimator:
        return WeightedLogisticRegression()

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`; 0 for one that no row in use has.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        X = self._checked(X)
        own = class_shares(self.estimator_, X)
        shares = np.zeros((len(own), self.classes_.size))
        shares[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = own
        return shares


@described_as(WeightedPoolingClassifier)
class WeightedPoolingRegressor(RegressorMixin, _WeightedPooling):
    """One regressor trained on target and sources together, the target with a given share of the weight.

    Parameters
    ----------
    estimator : regressor or None, default=None
        None takes `Ridge()`.

    Attributes
    ----------
    estimator_ : regressor
        The learner, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.transfer import WeightedPoolingRegressor
    >>> X, sample_domain = np.arange(6.0).reshape(-1, 1), [-1, -1, 1, 1, 1, 1]
    >>> model = WeightedPoolingRegressor(target_share=0.5).fit(X, 2 * X[:, 0], sample_domain=sample_domain)
    >>> model.sample_weight_.round(3).tolist()
    [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]
    """

    def _default_learner(self) -> BaseEstimator:
        return Ridge()
