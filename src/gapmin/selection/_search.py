"""Repeated cross-validation on the target's rows, in which candidates that fall behind are left out of later rounds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from gapmin.boosting._rows import Array
from gapmin.domains import TargetKFold
from gapmin.selection._blend import Blend, greedy_weights
from gapmin.selection._candidates import TARGET_ONLY, Candidate
from gapmin.selection._fitting import predict_any

_FEWEST_LEFT = 8
_FEWEST_ALONE = 3
"""Candidates with and without sources that no halving goes below: the members of a blend."""


@dataclass(frozen=True)
class Data:
    """The rows of a search.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : ndarray
    domain : ndarray of int
    classes : ndarray or None
        None for a regression.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    classes: NDArray[Any] | None

    @property
    def target(self) -> NDArray[np.intp]:
        """The rows of the target."""
        return np.flatnonzero(self.domain < 0)

    @property
    def position(self) -> NDArray[np.intp]:
        """The place of each row among those of the target; -1 for a source's."""
        return np.where(self.domain < 0, np.cumsum(self.domain < 0) - 1, -1)

    @property
    def sources(self) -> list[int]:
        """The sources' numbers."""
        return np.unique(self.domain[self.domain > 0]).tolist()

    def shown_error(self, errors: Sequence[Array]) -> float:
        """Return what people read: the share of wrong classes, or the root of the mean squared error."""
        mean = float(np.mean(errors))
        return mean if self.classes is not None else float(np.sqrt(mean))

    def losses(self, predicted: Array) -> tuple[Array, Array]:
        """Return the smooth loss of each target row and its plain error, of one repeat or of several.

        The loss is half the Brier score of the probabilities, or the squared error in units of the target's variance;
        the error is 1 for a wrong class, or the squared error.
        """
        y = self.y[self.target]
        if self.classes is None:
            squared = (predicted - y) ** 2
            variance = float(np.var(y))
            return squared / (variance if variance > 0 else 1.0), squared
        truth = y[:, None] == self.classes
        right = self.classes[predicted.argmax(axis=-1)] == y
        return ((predicted - truth) ** 2).sum(axis=-1) / 2, (~right).astype(float)


_Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
_Kind = TypeVar("_Kind", Candidate, Blend)


@dataclass(eq=False)
class Trial(Generic[_Kind]):
    """What is known of a candidate.

    Attributes
    ----------
    candidate : Candidate or Blend
    predicted : list of ndarray of shape (n_target,) or (n_target, n_classes)
        For each target row by a model that was not trained on it, in each repeat; let go of with the candidate.
    losses, errors : list of ndarray of shape (n_target,)
        Of these predictions.
    by_fold : list of float
        The mean loss of each fold of each repeat.
    """

    candidate: _Kind
    predicted: list[Array] = field(default_factory=list)
    losses: list[Array] = field(default_factory=list)
    errors: list[Array] = field(default_factory=list)
    by_fold: list[float] = field(default_factory=list)

    @property
    def n_repeats(self) -> int:
        """In how many repeats it took part."""
        return len(self.losses)

    @property
    def is_target_only(self) -> bool:
        """Whether it leaves the sources out."""
        return self.candidate.method == TARGET_ONLY

    @property
    def mean_loss(self) -> float:
        """The loss of a target row that was not trained on."""
        return float(np.mean(self.losses))

    def less(self, other: Trial[Any]) -> Array:
        """Return the loss less the other's, for each fold that both took part in."""
        n_folds = min(len(self.by_fold), len(other.by_fold))
        return np.subtract(self.by_fold[:n_folds], other.by_fold[:n_folds])

    def __repr__(self) -> str:
        return f"<Trial {self.candidate}: {self.mean_loss:.4g} in {self.n_repeats} repeats>"


class Search:
    """Folds of the target's rows, dealt anew in each repeat and the same for every candidate.

    Parameters
    ----------
    data : Data
    n_splits, n_repeats : int
    n_jobs : int or None
    seed : int
    on_progress : callable
        Told what is being done.
    """

    def __init__(
        self,
        data: Data,
        n_splits: int,
        n_repeats: int,
        n_jobs: int | None,
        seed: int,
        on_progress: Callable[[str], object] = lambda doing: None,
    ) -> None:
        self.data = data
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.seed = seed
        self.on_progress = on_progress
        self.trials: list[Trial[Candidate]] = []
        self._parallel = Parallel(n_jobs=n_jobs) if effective_n_jobs(n_jobs) > 1 else None

    def folds(self, repeat: int) -> list[_Fold]:
        """Return the rows to train and to test on, fold by fold."""
        splitter = TargetKFold(self.n_splits, shuffle=True, random_state=(self.seed + repeat) % 2**32)
        strata = None if self.data.classes is None else self.data.y
        return list(splitter.split(self.data.domain, strata, groups=self.data.domain))

    def start(self, candidates: Iterable[Candidate]) -> list[Trial[Candidate]]:
        """Put candidates to the first repeat, and return their trials."""
        trials = [Trial(each) for each in candidates]
        self.trials += trials
        if trials:
            self._repeat(trials, 0)
        return trials

    def go_on(self) -> list[Trial[Candidate]]:
        """Make the other repeats, each with the best quarter of the last, and return who took part in all.

        Of those without sources three stay to the end, and of the others eight: so many are blended.
        """
        left = self._best(self.trials)
        for repeat in range(1, self.n_repeats):
            self._repeat(left, repeat)
            left = self._best(left)
        return left

    def _best(self, trials: Sequence[Trial[Candidate]]) -> list[Trial[Candidate]]:
        ranked = sorted(trials, key=lambda each: each.mean_loss)
        alone = [each for each in ranked if each.is_target_only]
        others = [each for each in ranked if not each.is_target_only]
        left = [*alone[:_FEWEST_ALONE], *others[: max(len(others) // 4, _FEWEST_LEFT)]]
        for trial in trials:
            if trial not in left:
                trial.predicted.clear()
        return left

    def blend(self, trials: Sequence[Trial[Candidate]]) -> Trial[Any]:
        """Return the weighted mean of trials that took part in all repeats, as a trial of its own."""
        stacked = np.array([trial.predicted for trial in trials])
        weights = greedy_weights(stacked, lambda mean: self.data.losses(mean)[0].mean())
        members = [(trial.candidate, weight) for trial, weight in zip(trials, weights, strict=True) if weight > 0]
        if len(members) == 1:
            return trials[int(weights.argmax())]
        blended = Trial(Blend.of(members))
        for repeat, mean in enumerate(np.tensordot(weights, stacked, axes=1)):
            self._note(blended, mean, self.folds(repeat))
        return blended

    def _repeat(self, trials: Sequence[Trial[Candidate]], repeat: int) -> None:
        self.on_progress(f"repeat {repeat + 1} of {self.n_repeats}: {len(trials)} candidates")
        data, folds = self.data, self.folds(repeat)
        tasks = [(trial.candidate, place) for trial in trials for place in range(len(folds))]
        if self._parallel is None:
            found = [held_out(each, data, folds[place], self._seed(repeat, place)) for each, place in tasks]
        else:
            found = self._parallel(
                delayed(held_out)(each, data, folds[place], self._seed(repeat, place)) for each, place in tasks
            )
        shape = (data.target.size,) if data.classes is None else (data.target.size, data.classes.size)
        for trial, parts in zip(trials, _in_groups(found, len(folds)), strict=True):
            predicted = np.empty(shape)
            for (_, test), part in zip(folds, parts, strict=True):
                predicted[data.position[test]] = part
            self._note(trial, predicted, folds)

    def _note(
        self, trial: Trial[Any], predicted: Array, folds: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
    ) -> None:
        """Add a repeat to what is known of a trial."""
        losses, errors = self.data.losses(predicted)
        trial.predicted.append(predicted)
        trial.losses.append(losses)
        trial.errors.append(errors)
        trial.by_fold += [float(losses[self.data.position[test]].mean()) for _, test in folds]

    def _seed(self, repeat: int, place: int) -> int:
        # The same for every candidate: learners that differ in weights alone then draw the same numbers.
        return int(np.random.SeedSequence([self.seed, repeat, place]).generate_state(1)[0] % 2**31)


def held_out(candidate: Candidate, data: Data, fold: _Fold, seed: int) -> Array:
    """Train on the rows of a fold and predict the others: values, or a probability for each class."""
    train, test = fold
    X, y, domain = _safe_indexing(data.X, train), data.y[train], data.domain[train]
    of_target = y[domain < 0]
    if data.classes is not None and candidate.method != "pooling" and (of_target == of_target[0]).all():
        # Nothing can be learnt of a target with one class: it is what there is to say.
        return np.tile((data.classes == of_target[0]).astype(float), (test.size, 1))
    # The rows were checked once, and the settings are ours.
    with warnings.catch_warnings(), config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore", ConvergenceWarning)  # a setting that does not converge may still lose fairly
        model = candidate.fit(X, y, domain, seed)
        return predict_any(model, _safe_indexing(data.X, test), data.classes)


def _in_groups(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
