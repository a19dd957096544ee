"""AdaBoost and AdaBoost.R2, on the target alone or on everything: the baselines that know nothing of domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from gapmin._utils.typing import Array
from gapmin.boosting._base import BaseBoosting, Round
from gapmin.boosting._learners import Learners
from gapmin.boosting._loss import relative_errors
from gapmin.boosting._rows import TrainingRows, compute_scalars
from gapmin.boosting._vote import CombiningRegressorMixin, VotingClassifierMixin
from gapmin.boosting._vote_weight import vote_weight


@dataclass(eq=False, repr=False, kw_only=True)
class _AdaBoost(BaseBoosting):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"train_on": [StrOptions({"both", "target"})]}

    train_on: str = "both"

    def _used_rows(self, domain: NDArray[np.int64], weight: Array) -> NDArray[np.bool_]:
        return (weight > 0) & ((domain < 0) | (self.train_on == "both"))


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostClassifier(_AdaBoost, VotingClassifierMixin):
    """AdaBoost (Freund & Schapire 1997; SAMME for more than two classes) on all rows, or on the target's.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner; None is `gapmin.linear.WeightedLogisticRegression(lam=0.01)`.
    n_estimators : int, default=20
        Rounds at most.
    train_on : {"both", "target"}, default="both"
        "target" leaves the source rows out.
    resample, n_jobs, random_state, verbose, checkpoint_dir
        As in `GapBoostClassifier`; there is one learner a round, so `n_jobs` makes no difference.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, sample_weight_, mass_history_, domains_, classes_
        As in `GapBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(AdaBoostClassifier().fit(X, y).score(X, y), 2)
    0.96
    """

    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        (learner,) = learners.train([rows.both], log_weight)
        wrong = learners.predict(learner, rows.both) != rows.y
        (epsilon,) = compute_scalars(np.exp(log_weight)[wrong].sum())
        alpha = vote_weight(epsilon, self.classes_.size, (past.alpha for past in so_far))
        return Round(learner, alpha, epsilon, alpha * wrong if 0 < epsilon < 1 else None)


class AdaBoostR2(CombiningRegressorMixin):
    """A round of AdaBoost.R2, where the error and what the weights gain by it may be another's."""

    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        # Algorithm 6, line 3
        (learner,) = learners.train([rows.both], log_weight)
        # line 4
        errors = relative_errors(learners.predict(learner, rows.both), rows.y, self.loss)
        # line 5
        epsilon = self._error(rows, np.exp(log_weight), errors)
        if epsilon >= 0.5:
            return Round.stop_without_learner(learner, epsilon, so_far)
        alpha = vote_weight(epsilon, 2, (past.alpha for past in so_far))
        # lines 6 to 12
        return Round(learner, alpha, epsilon, self._log_factor(rows, alpha, errors) if epsilon > 0 else None)

    def _error(self, rows: TrainingRows, weight: Array, errors: Array) -> float:
        return compute_scalars(weight @ errors)[0]

    def _log_factor(self, rows: TrainingRows, alpha: float, errors: Array) -> Array:
        return alpha * errors


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostRegressor(_AdaBoost, AdaBoostR2):
    """AdaBoost.R2 (Drucker 1997) on all rows, or on the target's; the weighted median of the learners.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner; None is `DecisionTreeRegressor(max_depth=6)`.
    n_estimators : int, default=20
        Rounds at most.
    train_on : {"both", "target"}, default="both"
        "target" leaves the source rows out.
    loss : {"linear", "square", "exponential"}, default="linear"
        How an error counts relative to the largest.
    resample, n_jobs, random_state, verbose, checkpoint_dir
        As in `GapBoostClassifier`; there is one learner a round, so `n_jobs` makes no difference.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, sample_weight_, mass_history_, domains_
        As in `GapBoostRegressor`, but for the weights, which are not normalised.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaBoostRegressor(random_state=0).fit(X, y).score(X, y) > 0.6
    True
    """
