"""TransferBoost: Algorithm 5, in Appendix B of the paper (Eaton & desJardins 2011)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapmin._utils.typing import Array
from gapmin.boosting._base import Round
from gapmin.boosting._learners import Learners
from gapmin.boosting._rows import TrainingRows, compute_scalars
from gapmin.boosting._vote import VotingClassifierMixin
from gapmin.boosting._vote_weight import vote_weight


@dataclass(eq=False, repr=False, kw_only=True)
class TransferBoostClassifier(VotingClassifierMixin):
    """TransferBoost (Algorithm 5): a source gains or loses weight as a whole, by whether it helps on the target.

    Each round compares a learner trained on the target alone with one trained on a source and the target. The
    difference zeta of their errors on the target is what the log-weight of each row of that source gains.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner; None is `gapmin.linear.WeightedLogisticRegression(lam=0.01)`.
    n_estimators : int, default=20
        Rounds at most.
    resample, n_jobs, random_state, verbose, checkpoint_dir
        As in `GapBoostClassifier`.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, sample_weight_, mass_history_, domains_, classes_
        As in `GapBoostClassifier`.
    transfer_history_ : ndarray of shape (n_rounds, n_sources)
        zeta of each source by round.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import numpy as np
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sample_domain = np.where(X[:, 0] > 15, -1, 1)  # large tumours are the target, small ones the source
    >>> clf = TransferBoostClassifier().fit(X, y, sample_domain=sample_domain)
    >>> round(clf.score(X, y), 1)
    1.0
    """

    transfer_history_: Array = field(init=False)

    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        weight = np.exp(log_weight)
        # With one source h_k itself is the learner on that source and the target.
        helped = rows.each_source_with_target if len(rows.sources) > 1 else []
        target = [rows.target] if rows.sources else []
        # line 3: h_k; line 4: h_k^T
        learner, *auxiliary = learners.train([rows.both, *target, *helped], log_weight)
        wrong = learners.predict(learner, rows.both) != rows.y
        on_target = rows.target.take(weight)

        def missed(h: Any) -> Array:
            return on_target[learners.predict(h, rows.target) != rows.target.y].sum()

        h_target, *h_helped = auxiliary or [learner]
        helped_or_all = h_helped or [learner] * len(rows.sources)
        # line 5: epsilon_k; the sums of line 7
        epsilon, mass, alone, *with_source = compute_scalars(
            weight[wrong].sum(), on_target.sum(), missed(h_target), *map(missed, helped_or_all)
        )
        # line 6
        alpha = vote_weight(epsilon, self.classes_.size, (past.alpha for past in so_far))
        # lines 7 and 8
        zeta = [alone / mass - error / mass for error in with_source]
        if not 0 < epsilon < 1:
            return Round(learner, alpha, epsilon, None, record=zeta)
        # lines 9 to 16
        return Round(learner, alpha, epsilon, alpha * wrong + rows.assemble(0.0, zeta), record=zeta)

    def _n_recorded(self, rows: TrainingRows) -> int:
        return len(rows.sources)

    def _finish(self, rows: TrainingRows, rounds: list[Round]) -> None:
        self.transfer_history_ = np.array([outcome.record for outcome in rounds])
