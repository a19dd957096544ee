"""TrAdaBoost and TrAdaBoost.R2: Algorithms 4 and 6, in Appendix B of the paper.

Where the print and the original papers differ (Dai et al. 2007, Pardoe & Stone 2010) the originals are followed;
docs/fidelity.md lists the places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from gapmin._utils.typing import Array
from gapmin.boosting._base import BaseBoosting, Round
from gapmin.boosting._learners import Learners
from gapmin.boosting._rows import TrainingRows, compute_scalars
from gapmin.boosting._vote import VotingClassifierMixin
from gapmin.boosting._vote_weight import vote_weight
from gapmin.boosting.adaboost import AdaBoostR2


@dataclass(eq=False, repr=False, kw_only=True)
class _TrAdaBoost(BaseBoosting):
    """What the two share: source rows lose weight at a fixed rate, target rows gain it by the error on the target."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"error_on": [StrOptions({"target", "all"})]}

    _settings_of_a_round = ("n_estimators",)

    error_on: str = "target"

    def _log_beta(self, rows: TrainingRows) -> float:
        """Line 1 of Algorithms 4 and 6: log of beta = 1 / (1 + sqrt(2 log N_S / K))."""
        n_source = rows.both.count - rows.target.count
        return -math.log1p(math.sqrt(2 * math.log(max(n_source, 1.0)) / self.n_estimators))

    def _error(self, rows: TrainingRows, weight: Array, errors: Array) -> float:
        """Return epsilon_k: line 4 of Algorithm 4, line 5 of Algorithm 6."""
        if self.error_on == "target":
            weight, errors = rows.target.take(weight), rows.target.take(errors)
            weighted, mass = compute_scalars(weight @ errors, weight.sum())
            return weighted / mass
        return compute_scalars(weight @ errors)[0]

    def _log_factor(self, rows: TrainingRows, alpha: float, errors: Array) -> Array:
        """Return the log of what each row's weight is multiplied by: lines 6 to 13 of Algorithm 4, 6 to 12 of 6."""
        return np.where(rows.domain > 0, self._log_beta(rows), alpha) * errors

    def _voters(self, n_fitted: int) -> slice:
        """Return the learners ceil(K / 2) to K: the output of Algorithms 4 and 6."""
        return slice(math.ceil(n_fitted / 2) - 1, n_fitted)


@dataclass(eq=False, repr=False, kw_only=True)
class TrAdaBoostClassifier(_TrAdaBoost, VotingClassifierMixin):
    """TrAdaBoost (Dai et al. 2007; Algorithm 4 of the paper): wrong source rows lose weight, wrong target rows gain it.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner; None is `gapmin.linear.WeightedLogisticRegression(lam=0.01)`.
    n_estimators : int, default=20
        Rounds at most.
    error_on : {"target", "all"}, default="target"
        Rows over which epsilon is measured: the target's, as in the original, or all, as printed in the paper.
    resample, n_jobs, random_state, verbose, checkpoint_dir
        As in `GapBoostClassifier`; but the weights depend on `n_estimators`, and a checkpoint with another number of
        them is refused.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, sample_weight_, mass_history_, domains_, classes_
        As in `GapBoostClassifier`. The second half of the learners votes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import numpy as np
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sample_domain = np.where(X[:, 0] > 15, -1, 1)  # large tumours are the target, small ones the source
    >>> clf = TrAdaBoostClassifier().fit(X, y, sample_domain=sample_domain)
    >>> round(clf.score(X, y), 1)
    0.9
    """

    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        # line 3
        (learner,) = learners.train([rows.both], log_weight)
        # line 4
        wrong = (learners.predict(learner, rows.both) != rows.y).astype(np.float64)
        # Held below that of a guess, where alpha would be 0 or less.
        epsilon = min(self._error(rows, np.exp(log_weight), wrong), 1 - 1 / self.classes_.size - 0.001)
        # line 5
        alpha = vote_weight(epsilon, self.classes_.size, (past.alpha for past in so_far))
        # lines 6 to 13
        return Round(learner, alpha, epsilon, self._log_factor(rows, alpha, wrong) if epsilon > 0 else None)


@dataclass(eq=False, repr=False, kw_only=True)
class TrAdaBoostRegressor(_TrAdaBoost, AdaBoostR2):
    """TrAdaBoost.R2 (Pardoe & Stone 2010; Algorithm 6 of the paper); the weighted median of the last half.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner; None is `DecisionTreeRegressor(max_depth=6)`.
    n_estimators : int, default=20
        Rounds at most.
    error_on : {"target", "all"}, default="target"
        Rows over which epsilon is measured: the target's, as in the original, or all, as printed in the paper.
    loss : {"linear", "square", "exponential"}, default="linear"
        How an error counts relative to the largest.
    resample, n_jobs, random_state, verbose, checkpoint_dir
        As in `GapBoostClassifier`; but the weights depend on `n_estimators`, and a checkpoint with another number of
        them is refused.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, sample_weight_, mass_history_, domains_
        As in `AdaBoostRegressor`. The second half of the learners counts.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import numpy as np
    >>> X, y = load_diabetes(return_X_y=True)
    >>> sample_domain = np.where(X[:, 2] > 0, -1, 1)
    >>> reg = TrAdaBoostRegressor(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> reg.score(X, y) > 0.4
    True
    """
