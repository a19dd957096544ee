"""The round loop, once. An algorithm is a subclass that writes one round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.progress import progress
from gapmin._utils.typing import Array
from gapmin.base import TrainsOnRows
from gapmin.boosting._checkpoint import Checkpoint
from gapmin.boosting._learners import Learners
from gapmin.boosting._rows import TrainingRows
from gapmin.boosting._weights import normalise


@dataclass
class Round:
    """What one round found.

    Attributes
    ----------
    learner : estimator
        h_k.
    alpha : float
        Its weight in the vote.
    error : float
        epsilon_k.
    log_factor : ndarray or None
        What the logarithm of each row's weight gains; None ends the boosting.
    keep : bool
        Whether the learner joins the ensemble.
    record : object
        What the algorithm itself records of the round.
    """

    learner: Any
    alpha: float
    error: float
    log_factor: Array | None
    keep: bool = True
    record: Any = None

    @classmethod
    def stop_without_learner(cls, learner: Any, error: float, so_far: list[Round], record: Any = None) -> Round:
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

    def last_round(self, learners: Learners) -> dict[str, Any]:
        """Return the last round as a checkpoint keeps it."""
        if not self.rounds:
            return {}
        last = self.rounds[-1]
        record = None if last.record is None else list(last.record)
        found = {"alpha": float(last.alpha), "error": float(last.error), "record": record, "mass": self.masses[-1]}
        return {"learners": learners.of_round(last.learner), **found}

    def to_dict(self, rows: TrainingRows, learners: Learners) -> dict[str, Any]:
        """Return what the next round starts from, as a checkpoint keeps it."""
        return {"log_weight": rows.to_disk(self.log_weight), "learners": learners.get_state()}

    @classmethod
    def from_checkpoint(cls, kept: dict[str, Any], past: list[dict[str, Any]], n_rows: int, n_recorded: int) -> State:
        """Return the state that a checkpoint kept; raise ValueError where it cannot be that of such a fit."""
        _check_keys(kept, ("log_weight", "learners", "ended"))
        log_weight = kept["log_weight"]
        if log_weight is not None:
            _check_vector(log_weight, "log_weight", n_rows)
        rounds = []
        for each in past:
            _check_keys(each, ("learners", "alpha", "error", "record", "mass"))
            numbers = [each["alpha"], each["error"], *(each["record"] or [])]
            finite = all(type(number) is float and np.isfinite(number) for number in numbers)
            if not finite or len(numbers) != 2 + n_recorded:
                raise ValueError(f"a round has {numbers} for numbers")
            _check_vector(each["mass"], "mass", past[0]["mass"].size)
            rounds.append(Round(each["learners"][0], each["alpha"], each["error"], None, record=each["record"]))
        return cls(log_weight, rounds, [each["mass"] for each in past], kept["ended"])


def _check_keys(found: dict[str, Any], wanted: tuple[str, ...]) -> None:
    if found.keys() != set(wanted):
        raise ValueError(f"it has not exactly {', '.join(wanted)}")


def _check_vector(vector: Any, name: str, size: int) -> None:
    if not isinstance(vector, np.ndarray) or vector.shape != (size,) or vector.dtype != np.float64:
        raise ValueError(f"{name} is not {size} numbers")
    if np.isnan(vector).any() or (vector == np.inf).any():
        raise ValueError(f"{name} has a value that is no weight")


@dataclass(eq=False, repr=False)
class BaseBoosting(TrainsOnRows):
    """What all boosters share: parameters, the loop and its record."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "checkpoint_dir": [str, PathLike, None],
    }
    _settings_of_a_round: ClassVar[tuple[str, ...]] = ()
    """Parameters that count for every round, though others of their name do not: the number of rounds in TrAdaBoost."""

    _data_class = TrainingRows

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 20
    resample: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    checkpoint_dir: str | PathLike[str] | None = None

    estimators_: list[Any] = field(init=False)
    estimator_weights_: Array = field(init=False)
    estimator_errors_: Array = field(init=False)
    sample_weight_: Array = field(init=False)
    mass_history_: Array = field(init=False)
    domains_: NDArray[np.int64] = field(init=False)

    @abstractmethod
    def _round(self, rows: TrainingRows, learners: Learners, log_weight: Array, so_far: list[Round]) -> Round:
        """Train the learners of one round and say how the weights move."""

    def _initial(self, rows: TrainingRows) -> Array:
        return rows.initial_log_weight()

    def _next(self, log_weight: Array, rows: TrainingRows) -> Array:
        """Turn moved weights into a distribution."""
        return normalise(log_weight)

    def _learners(self, rows: TrainingRows) -> Learners:
        classes = self.classes_ if isinstance(self, ClassifierMixin) else None
        return Learners(self._template(), classes, self.resample, self.n_jobs, check_random_state(self.random_state))

    def _check_settings(self, rows: TrainingRows) -> None:
        """Raise where parameters and data do not go together."""

    def _fit(self, rows: TrainingRows, used: NDArray[np.bool_]) -> None:
        self._check_settings(rows)
        learners = self._learners(rows)
        checkpoint = None
        if self.checkpoint_dir is not None:
            checkpoint = Checkpoint(self.checkpoint_dir, self, rows, learners.examples(rows))
        state = self._resume(checkpoint, rows, learners) or State(rows.persist(self._initial(rows)))
        # "for k = 1, ..., K" of every algorithm
        for _ in progress(range(len(state.rounds), self.n_estimators), self.verbose, type(self).__name__):
            if state.ended:
                break
            self._advance(state, rows, learners)
            if checkpoint is not None:
                content = state.last_round(learners), state.to_dict(rows, learners)
                checkpoint.write(len(state.rounds), state.ended, *content)

        rounds, log_weight = state.rounds, state.log_weight
        self.estimators_ = [outcome.learner for outcome in rounds]
        self.estimator_weights_ = np.array([outcome.alpha for outcome in rounds])
        self.estimator_errors_ = np.array([outcome.error for outcome in rounds])
        self.sample_weight_ = rows.scatter_to_input(np.exp(log_weight), used)
        self.domains_ = np.array([-1, *rows.source_numbers])
        self.mass_history_ = np.array([*state.masses, rows.mass(log_weight)])
        self._finish(rows, rounds)

    def _advance(self, state: State, rows: TrainingRows, learners: Learners) -> None:
        """Run one round."""
        outcome = self._round(rows, learners, state.log_weight, state.rounds)
        log_factor, outcome.log_factor = outcome.log_factor, None  # as long as the rows, and not needed again
        if outcome.keep:
            state.rounds.append(outcome)
            state.masses.append(rows.mass(state.log_weight))
        if log_factor is None:
            state.ended = True
        else:
            # D_{k+1} = D_k exp(beta), then normalised (Algorithms 1 and 2: clipped first)
            state.log_weight = rows.persist(self._next(state.log_weight + log_factor, rows))

    def _resume(self, checkpoint: Checkpoint | None, rows: TrainingRows, learners: Learners) -> State | None:
        """Return where an earlier fit stopped; None to begin with the first round."""
        found = None if checkpoint is None else checkpoint.read(self.n_estimators)
        if checkpoint is None or found is None:
            return None
        kept, past = found
        with checkpoint.reading():
            state = State.from_checkpoint(kept, past, len(rows), self._n_recorded(rows))
            for each in past:
                learners.check(each["learners"], rows)
            if (kept["log_weight"] is None) != (rows.to_disk(np.empty(0)) is None):
                raise ValueError("its weights are not kept where those of this fit are")
            learners.set_state(kept["learners"], [each["learners"] for each in past], rows)
        # Weights that live elsewhere are found anew, by rounds whose learners are known.
        return None if kept["log_weight"] is None else state

    def _n_recorded(self, rows: TrainingRows) -> int:
        """How many numbers the algorithm records of a round."""
        return 0

    def _finish(self, rows: TrainingRows, rounds: list[Round]) -> None:
        """Record what only this algorithm has to tell."""

    @property
    def feature_importances_(self) -> Array:
        """Importances of the learners that vote, averaged by the size of their vote weights."""
        check_is_fitted(self)
        voters = self._voters(len(self.estimators_))
        if not all(hasattr(learner, "feature_importances_") for learner in self.estimators_):
            raise AttributeError(
                f"{type(self.estimators_[0]).__name__} has no feature_importances_: "
                "use a base learner that has, such as a decision tree"
            )
        weights = np.abs(self.estimator_weights_[voters])
        table = np.array([learner.feature_importances_ for learner in self.estimators_[voters]])
        return np.average(table, axis=0, weights=weights if weights.any() else None)

    def _voters(self, n_fitted: int) -> slice:
        """Which of the first `n_fitted` learners vote."""
        return slice(0, n_fitted)

    def _stages(self) -> Iterator[slice]:
        for n_fitted in range(1, len(self.estimators_) + 1):
            yield self._voters(n_fitted)
