"""The round loop, once. An algorithm is a subclass that writes one round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from gapmin._progress import progress
from gapmin.boosting._checkpoint import Checkpoint
from gapmin.boosting._learners import Learners
from gapmin.boosting._meta import TrainsOnRows
from gapmin.boosting._rows import Array, Rows
from gapmin.boosting._weights import normalise


@dataclass
class Round:
    """What one round found.

    Attributes
    ----------
    learner : estimator
        h_k.
    alpha : float
        Its say in the vote.
    error : float
        epsilon_k.
    log_factor : ndarray or None
        What the logarithm of each row's weight gains; None ends the boosting.
    keep : bool
        Whether the learner joins the ensemble.
    record : object
        What the algorithm itself wants to remember of the round.
    """

    learner: Any
    alpha: float
    error: float
    log_factor: Array | None
    keep: bool = True
    record: Any = None

    @classmethod
    def hopeless(cls, learner: Any, error: float, so_far: list[Round], record: Any = None) -> Round:
        """End with a regressor whose error is 1/2 or more: dropped, for a mean with negative weights is no mean.

        The first is kept, alone.
        """
        return cls(learner, 1.0, error, None, keep=not so_far, record=record)


@dataclass
class State:
    """Where the boosting stands: the weights for the next round; of the past ones the outcomes and the first masses."""

    log_weight: Array
    rounds: list[Round] = field(default_factory=list)
    masses: list[Array] = field(default_factory=list)
    ended: bool = False

    def newest(self, learners: Learners) -> dict[str, Any]:
        """Return the last round as a checkpoint keeps it."""
        if not self.rounds:
            return {}
        last = self.rounds[-1]
        record = None if last.record is None else list(last.record)
        found = {"alpha": float(last.alpha), "error": float(last.error), "record": record, "mass": self.masses[-1]}
        return {"learners": learners.of_round(last.learner), **found}

    def kept(self, rows: Rows, learners: Learners) -> dict[str, Any]:
        """Return what the next round starts from, as a checkpoint keeps it."""
        return {"log_weight": rows.portable(self.log_weight), "learners": learners.remember()}


class BaseBoosting(TrainsOnRows):
    """What all boosters share: parameters, the loop and its record."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TrainsOnRows._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "checkpoint_dir": [str, PathLike, None],
    }
    _settings_of_a_round: ClassVar[tuple[str, ...]] = ()
    """Parameters that count for every round, though others of their name do not: the number of rounds in TrAdaBoost."""

    checkpoint_dir: str | PathLike[str] | None
    n_estimators: int
    verbose: int

    estimators_: list[Any]
    estimator_weights_: Array
    estimator_errors_: Array
    sample_weight_: Array
    mass_history_: Array
    domains_: NDArray[np.int64]

    @abstractmethod
    def _round(self, rows: Rows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        """Train the learners of one round and say how the weights move."""

    def _initial(self, rows: Rows) -> Array:
        return rows.initial_log_weight()

    def _next(self, log_weight: Array, rows: Rows) -> Array:
        """Turn moved weights into a distribution."""
        return normalise(log_weight)

    def _learners(self, rows: Rows) -> Learners:
        classes = self.classes_ if isinstance(self, ClassifierMixin) else None
        return Learners(self._template(), classes, self.resample, self.n_jobs, check_random_state(self.random_state))

    def _check_settings(self, rows: Rows) -> None:
        """Raise where parameters and data do not go together."""

    def _fit(self, rows: Rows, used: NDArray[np.bool_]) -> None:
        self._check_settings(rows)
        learners = self._learners(rows)
        checkpoint = Checkpoint(self.checkpoint_dir, self, rows)
        state = self._resume(checkpoint, rows, learners) or State(rows.keep(self._initial(rows)))
        for _ in progress(range(len(state.rounds), self.n_estimators), self.verbose, type(self).__name__):
            if state.ended:
                break
            self._advance(state, rows, learners)
            checkpoint.write(len(state.rounds), state.ended, state.newest(learners), state.kept(rows, learners))

        rounds, log_weight = state.rounds, state.log_weight
        self.estimators_ = [outcome.learner for outcome in rounds]
        self.estimator_weights_ = np.array([outcome.alpha for outcome in rounds])
        self.estimator_errors_ = np.array([outcome.error for outcome in rounds])
        self.sample_weight_ = rows.as_given(np.exp(log_weight), used)
        self.domains_ = np.array([-1, *rows.source_numbers])
        self.mass_history_ = np.array([*state.masses, rows.mass(log_weight)])
        self._finish(rows, rounds)

    def _advance(self, state: State, rows: Rows, learners: Learners) -> None:
        """Run one round."""
        outcome = self._round(rows, learners, state.log_weight, state.rounds)
        log_factor, outcome.log_factor = outcome.log_factor, None  # as long as the rows, and not needed again
        if outcome.keep:
            state.rounds.append(outcome)
            state.masses.append(rows.mass(state.log_weight))
        if log_factor is None:
            state.ended = True
        else:
            state.log_weight = rows.keep(self._next(state.log_weight + log_factor, rows))

    def _resume(self, checkpoint: Checkpoint, rows: Rows, learners: Learners) -> State | None:
        """Return where an earlier fit stopped; None to begin with the first round."""
        found = checkpoint.read(self.n_estimators)
        if found is None:
            return None
        kept, past = found
        learners.recall(kept["learners"], [each["learners"] for each in past])
        if kept["log_weight"] is None:
            return None  # weights that live elsewhere are found anew, by rounds whose learners are known
        rounds = [
            Round(each["learners"][0], each["alpha"], each["error"], None, record=each["record"]) for each in past
        ]
        return State(kept["log_weight"], rounds, [each["mass"] for each in past], kept["ended"])

    def _finish(self, rows: Rows, rounds: list[Round]) -> None:
        """Record what only this algorithm has to tell."""

    @property
    def feature_importances_(self) -> Array:
        """Importances of the learners that vote, averaged by the size of their say."""
        check_is_fitted(self)
        voters = self._voters(len(self.estimators_))
        if not all(hasattr(learner, "feature_importances_") for learner in self.estimators_):
            raise AttributeError(
                f"{type(self.estimators_[0]).__name__} has no feature_importances_: "
                "use a base learner that has, such as a decision tree"
            )
        say = np.abs(self.estimator_weights_[voters])
        table = np.array([learner.feature_importances_ for learner in self.estimators_[voters]])
        return np.average(table, axis=0, weights=say if say.any() else None)

    def _voters(self, n_fitted: int) -> slice:
        """Which of the first `n_fitted` learners vote."""
        return slice(0, n_fitted)

    def _stages(self) -> Iterator[slice]:
        for n_fitted in range(1, len(self.estimators_) + 1):
            yield self._voters(n_fitted)
