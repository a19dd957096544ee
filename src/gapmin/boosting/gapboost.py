"""gapBoost and gapBoostR: Algorithms 1 and 2 of the paper."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from gapmin._utils.typing import Array
from gapmin.boosting._base import BaseBoosting, Round
from gapmin.boosting._bound import ensemble_bound, measure_for_bound
from gapmin.boosting._learners import Learners
from gapmin.boosting._loss import ROUND_OFF, relative_errors
from gapmin.boosting._round_gap import check_can_record, measure_round_gap
from gapmin.boosting._rows import TrainingRows, compute_scalars
from gapmin.boosting._vote import CombiningRegressorMixin, VotingClassifierMixin
from gapmin.boosting._vote_weight import vote_weight
from gapmin.boosting._weights import clip, water_fill
from gapmin.gap import RiskBound


class GapRecord(NamedTuple):
    """Of one round: the weighted disagreement on source and target, and the largest weight of a target row."""

    source: float
    target: float
    largest_target_weight: float


@dataclass(eq=False, repr=False, kw_only=True)
class _GapBoost(BaseBoosting):
    """What the two algorithms share: auxiliary learners, the down-weighting of disagreement, the cap."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rho_source": [Interval(Real, -np.inf, 0, closed="right")],
        "rho_target": [Interval(Real, -np.inf, np.inf, closed="neither")],
        "gamma_max": [Interval(Real, 0, None, closed="neither"), None],
        "exact_cap": ["boolean"],
        "target_share": [Interval(Real, 0, 1, closed="neither"), None],
        "stop_when_perfect": ["boolean"],
        "record_gap": ["boolean"],
    }

    rho_source: float = float(np.log(0.5))
    rho_target: float = 0.0
    gamma_max: float | None = None
    exact_cap: bool = False
    target_share: float | None = None
    stop_when_perfect: bool = True
    record_gap: bool = False

    gap_history_: Array = field(init=False)
    gap_by_round_: Array = field(init=False)

    def _check_settings(self, rows: TrainingRows) -> None:
        if self.record_gap:
            check_can_record(rows)
        if self.rho_source > self.rho_target:
            raise ValueError(
                f"rho_source={self.rho_source} is above rho_target={self.rho_target}: a source row must not be "
                "trusted more than a target row; lower rho_source or raise rho_target"
            )
        count = rows.both.count
        if self.exact_cap and self._cap(rows) * count < 1:
            raise ValueError(
                f"gamma_max={self._cap(rows):.3g} is below 1/N={1 / count:.3g}: weights under that cap cannot sum "
                "to one; raise gamma_max or set exact_cap=False"
            )

    def _cap(self, rows: TrainingRows) -> float:
        return rows.target.count**-0.5 if self.gamma_max is None else self.gamma_max

    # Algorithm 1 from here to `_next`, in the printed order; where those of Algorithm 2 differ, they stand in brackets.
    # Lines 2 and 21, the loop, are `BaseBoosting._fit`; each algorithm's `_round` calls the steps one after the other.

    def _initial(self, rows: TrainingRows) -> Array:
        # line 1: every row 1 / (N_S + N_T)
        log_weight = rows.initial_log_weight(self.target_share)
        return self._next(log_weight, rows) if self.exact_cap else log_weight

    def _train(self, rows: TrainingRows, learners: Learners, log_weight: Array) -> tuple[Any, Array]:
        """Lines 3 to 5: the base learner, the auxiliary learners, and by how much these disagree on each row."""
        if not rows.sources:
            (learner,) = learners.train([rows.both], log_weight)
            return learner, rows.assemble(0.0, [])
        # line 3: h_k on everything; line 4: h_k^S on the source, one for each; line 5: h_k^T on the target
        learner, h_target, *h_sources = learners.train([rows.both, rows.target, *rows.sources], log_weight)

        # 1[h_k^S(x) != h_k^T(x)] of lines 9 and 13 [kappa of lines 8 and 9]
        on_target: Any = 0.0
        on_sources = []
        target_on_target = learners.predict(h_target, rows.target)
        for source, h_source in zip(rows.sources, h_sources, strict=True):
            on_source = self._difference(learners.predict(h_source, source), learners.predict(h_target, source))
            on_sources.append(self._scale(on_source))
            on_target = on_target + self._difference(learners.predict(h_source, rows.target), target_on_target)
        return learner, rows.assemble(self._scale(on_target / len(h_sources)), on_sources)

    def _measure(
        self, rows: TrainingRows, disagree: Array, weight: Array, error: Array
    ) -> tuple[float, tuple[float, ...]]:
        """Return epsilon_k, line 6 [7], given what each row adds to it, and what is recorded of the round."""
        weighted, in_target = weight * disagree, rows.domain < 0
        epsilon, on_source, on_target, largest = compute_scalars(
            error,
            weighted[~in_target].sum(),
            weighted[in_target].sum(),
            (weight[in_target] / rows.weight[in_target]).max(),
        )
        record = GapRecord(on_source, on_target, largest)
        if not self.record_gap:
            return epsilon, record
        n_classes = self.classes_.size if isinstance(self, ClassifierMixin) else None
        return epsilon, (*record, *measure_round_gap(rows, weight, self._template(), n_classes))

    def _vote_weight(self, epsilon: float, n_classes: int, so_far: list[Round]) -> tuple[float, bool]:
        """Return alpha_k, line 7, and whether to go on after this round."""
        go_on = 0 < epsilon < 1 or not self.stop_when_perfect
        return vote_weight(epsilon, n_classes, () if go_on else (past.alpha for past in so_far)), go_on

    def _log_factor(self, rows: TrainingRows, disagree: Array, alpha: float, error: Array) -> Array:
        """Return beta of every row, lines 8 to 15 [10 to 15]; `_advance` adds it to the log-weights: D_k exp(beta)."""
        # rho_target > 0 is the other rule of Sec. 6.1.4: up-weight the target rows on which they agree.
        on_target = disagree if self.rho_target <= 0 else 1 - disagree
        # line 9 [11] of a source row, line 13 [14] of a target row
        rho = np.where(rows.domain > 0, self.rho_source * disagree, self.rho_target * on_target)
        return rho + alpha * error

    def _next(self, log_weight: Array, rows: TrainingRows) -> Array:
        # lines 16 to 20: clip at gamma_max Z_{k+1}, then normalise
        # A row of weight 2 stands for two rows, each with its own cap.
        log_cap = np.log(self._cap(rows) * rows.weight)
        return water_fill(log_weight, log_cap) if self.exact_cap else clip(log_weight, log_cap)

    @abstractmethod
    def _difference(self, h_source: Array, h_target: Array) -> Array:
        """By how much two learners' predictions differ, row by row."""

    def _scale(self, difference: Array) -> Array:
        return difference

    def _n_recorded(self, rows: TrainingRows) -> int:
        return len(GapRecord._fields) + 2 * self.record_gap

    def _finish(self, rows: TrainingRows, rounds: list[Round]) -> None:
        self.gap_history_ = np.array([outcome.record[:2] for outcome in rounds])
        measured = [outcome.record[len(GapRecord._fields) :] for outcome in rounds]
        self.gap_by_round_ = np.array(measured) if self.record_gap else np.empty((0, 2))


@dataclass(eq=False, repr=False, kw_only=True)
class GapBoostClassifier(_GapBoost, VotingClassifierMixin):
    r"""gapBoost (Algorithm 1): boosting that takes weight from source rows on which source and target disagree.

    Each round trains a learner on everything and two auxiliary ones, on the source and on the target alone. Rows
    that the first gets wrong gain weight, as in AdaBoost; source rows on which the other two disagree lose it; no row
    holds more than about `gamma_max`.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner: any classifier, pipelines too. None is `gapmin.linear.WeightedLogisticRegression(lam=0.01)`.
    n_estimators : int, default=20
        Rounds at the most; a learner without an error ends them.
    rho_source : float, default=log(1/2)
        What the log-weight of a source row gains when the auxiliary learners disagree on it; at most 0.
    rho_target : float, default=0.0
        The same for target rows, at least `rho_source`. Above 0 it is what they gain when the auxiliary learners agree
        (Sec. 6.1.4).
    gamma_max : float, default=None
        The largest weight of a row; None is 1 / sqrt(number of target rows), Remark 39 (`remark7`).
    exact_cap : bool, default=False
        Printed, the cap is applied before the weights are normalised and may be exceeded after it. True makes it hold.
    target_share : float, default=None
        The mass the target's rows start with; None, as printed, gives every row the same weight.
    stop_when_perfect : bool, default=True
        End with a learner that makes no error, which then decides alone. False goes on, with such learners as equals:
        the weights still move where the auxiliary learners disagree. Worth it with fully grown trees.
    record_gap : bool, default=False
        Measure the performance gap and the loss bound under the weights of each round, in `gap_by_round_`: three linear
        fits a round and class. The result of the boosting does not depend on it.
    vote : {"hard", "soft"}, default="hard"
        Printed, a learner votes with its label; "soft" votes with tanh of half its log-odds.
    resample : bool, default=False
        Hand each learner a weighted bootstrap of its rows instead of weights, as the paper's experiments did. It is
        what happens anyway with a base learner that takes no `sample_weight`.
    n_jobs : int, default=None
        Threads for the learners of one round. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For bootstraps and for base learners with randomness of their own.
    verbose : int, default=0
        1 shows a progress bar.
    checkpoint_dir : path, default=None
        A folder for this fit alone, where its state is kept after every round (with skops). A fit that was killed goes
        on from there to the same model; other data or settings are refused. The finished state stays: a fit with a
        larger `n_estimators` goes on from it.

    Attributes
    ----------
    estimators_ : list
        The learners h_k.
    estimator_weights_, estimator_errors_ : ndarray
        alpha_k and epsilon_k.
    sample_weight_ : ndarray of shape (n_rows,)
        The last distribution, in the order of the rows given.
    gap_history_ : ndarray of shape (n_rounds, 2)
        The weighted disagreement of the auxiliary learners on source and on target, by round.
    gap_by_round_ : ndarray of shape (n_rounds, 2)
        With `record_gap`, the gap of Definition 5 under each round's weights, and the B that it gives by Corollary 9.
        No loss of the ensemble is above the mean of B by `estimator_weights_`, where its learners solve the linear
        setting (Remark 39). Measured on linear models, with the lam of a `WeightedLogisticRegression`, else 0.01; of
        several classes each against the rest, the mean gap and the largest B.
    mass_history_ : ndarray of shape (n_rounds + 1, n_domains)
        The mass of each of `domains_` before each round and at the end.
    domains_ : ndarray
        -1 for the target, then the sources.
    classes_, n_features_in_, feature_names_in_, feature_importances_
        As in scikit-learn.

    References
    ----------
    Algorithm 1 and Proposition 38 of *Gap Minimization for Knowledge Sharing and Transfer*, JMLR 24 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import GapBoostClassifier, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(size=(500, 5)), rng.normal(size=(20, 5))
    >>> X, y, sample_domain = stack_domains(
    ...     target=(X_target, X_target @ [1, 1, 1, 0, 0] > 0), sources=[(X_source, X_source @ [1, 1, 0, 1, 0] > 0)]
    ... )
    >>> clf = GapBoostClassifier().fit(X, y, sample_domain=sample_domain)
    >>> X_new = rng.normal(size=(1000, 5))
    >>> round(clf.score(X_new, X_new @ [1, 1, 1, 0, 0] > 0), 2)
    0.96
    >>> clf.mass_history_[[0, -1], 0].round(2)  # of the target
    array([0.04, 0.43])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"vote": [StrOptions({"hard", "soft"})]}

    vote: str = "hard"

    def _check_settings(self, rows: TrainingRows) -> None:
        super()._check_settings(rows)
        learner = self._template()
        if self.vote == "soft" and not (hasattr(learner, "predict_proba") or hasattr(learner, "decision_function")):
            raise ValueError(
                f"vote='soft' needs predict_proba or decision_function, and {type(learner).__name__} has neither: "
                "use vote='hard' or another base learner"
            )

    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        # line 1 is `_initial`; lines 2 and 21, the loop, `BaseBoosting._fit`
        weight = np.exp(log_weight)
        # lines 3 to 5: h_k, h_k^S, h_k^T
        learner, disagree = self._train(rows, learners, log_weight)
        # line 6: epsilon_k
        wrong = learners.predict(learner, rows.both) != rows.y
        epsilon, record = self._measure(rows, disagree, weight, weight[wrong].sum())
        # line 7: alpha_k
        alpha, go_on = self._vote_weight(epsilon, self.classes_.size, so_far)
        # lines 8 to 15: beta_i; `BaseBoosting._advance` multiplies D_k by exp(beta)
        log_factor = self._log_factor(rows, disagree, alpha, wrong) if go_on else None
        # lines 16 to 20 are `_next`; the output is `VotingClassifierMixin`
        return Round(learner, alpha, epsilon, log_factor, record=record)

    def _difference(self, h_source: Array, h_target: Array) -> Array:
        return (h_source != h_target).astype(np.float64)

    def _finish(self, rows: TrainingRows, rounds: list[Round]) -> None:
        super()._finish(rows, rounds)
        largest = [outcome.record[GapRecord._fields.index("largest_target_weight")] for outcome in rounds]
        self._bound_parts: dict[str, float] | str = measure_for_bound(self, rows, largest)

    def risk_bound(self, delta: float = 0.05, *, R: float | None = None) -> RiskBound:
        """Proposition 38 (`boostpropositionA`): a bound on the target risk of the ensemble, in logistic loss.

        It speaks of f(x) = sum_k alpha_k <h_k, x> with the alphas summing to one, and holds for learners that minimise
        the weighted loss with the penalty lam ||h||^2: our own logistic regression, trained with weights. Elsewhere it
        raises and says why.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 - delta.
        R : float, optional
            A bound on ||x||, the constant feature counted; by default that of the target's rows.

        Returns
        -------
        RiskBound
            `.total`, `.terms` by name, `.assumptions`.
        """
        return ensemble_bound(self, delta, R)


@dataclass(eq=False, repr=False, kw_only=True)
class GapBoostRegressor(_GapBoost, CombiningRegressorMixin):
    """gapBoostR (Algorithm 2): gapBoost for regression, on AdaBoost.R2's relative errors.

    Parameters
    ----------
    estimator : estimator, default=None
        The base learner: any regressor, pipelines too. None is `DecisionTreeRegressor(max_depth=6)`.
    n_estimators : int, default=20
        Rounds at the most; a learner without an error, or with one of 1/2 or more, ends them.
    rho_source : float, default=log(1/2)
        What the log-weight of a source row gains at the largest disagreement of the auxiliary learners; at most 0.
    rho_target : float, default=0.0
        The same for target rows, at least `rho_source`; above 0 it is what they gain at full agreement.
    gamma_max : float, default=None
        The largest weight of a row; None is 1 / sqrt(number of target rows).
    loss : {"linear", "square", "exponential"}, default="linear"
        How an error counts relative to the largest; linear is printed.
    exact_cap, target_share, stop_when_perfect, record_gap, resample, n_jobs, random_state, verbose, checkpoint_dir
        As in `GapBoostClassifier`.

    Attributes
    ----------
    estimators_ : list
        The learners h_k.
    estimator_weights_ : ndarray
        alpha_k, summing to one as printed.
    estimator_errors_ : ndarray
        epsilon_k.
    sample_weight_, gap_history_, gap_by_round_, mass_history_, domains_
        As in `GapBoostClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import GapBoostRegressor, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.uniform(size=(500, 2)), rng.uniform(size=(20, 2))
    >>> X, y, sample_domain = stack_domains(
    ...     target=(X_target, np.sin(5 * X_target[:, 0])), sources=[(X_source, np.sin(5 * X_source[:, 0]) + 0.1)]
    ... )
    >>> reg = GapBoostRegressor(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> reg.score(X_target, np.sin(5 * X_target[:, 0])) > 0.95
    True
    """

    combine = "mean"

    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        weight = np.exp(log_weight)
        # lines 3 to 5, and with the learners that disagree lines 8 and 9
        learner, kappa = self._train(rows, learners, log_weight)
        # line 6
        errors = relative_errors(learners.predict(learner, rows.both), rows.y, self.loss)
        # line 7
        epsilon, record = self._measure(rows, kappa, weight, weight @ errors)
        if epsilon >= 0.5:
            return Round.stop_without_learner(learner, epsilon, so_far, record)
        alpha, go_on = self._vote_weight(epsilon, 2, so_far)
        # lines 10 to 15
        log_factor = self._log_factor(rows, kappa, alpha, errors) if go_on else None
        return Round(learner, alpha, epsilon, log_factor, record=record)

    def _difference(self, h_source: Array, h_target: Array) -> Array:
        # lines 8 and 9: |h_k^S(x) - h_k^T(x)|
        difference = np.abs(h_source - h_target)
        (largest,) = compute_scalars(np.abs(h_target).max())
        return np.where(difference <= ROUND_OFF * largest, 0.0, difference)

    def _scale(self, difference: Array) -> Array:
        # lines 8 and 9: kappa, by E_k^S or E_k^T
        (largest,) = compute_scalars(difference.max())
        return difference / largest if largest > 0 else difference

    def _finish(self, rows: TrainingRows, rounds: list[Round]) -> None:
        super()._finish(rows, rounds)
        # line 22: normalise the alphas
        self.estimator_weights_ = self.estimator_weights_ / self.estimator_weights_.sum()
