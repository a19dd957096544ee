"""Repeated cross-validation on the target's rows, in which candidates that fall behind are left out of later rounds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from gapmin.boosting._rows import Array
from gapmin.boosting._vote import class_shares
from gapmin.domains import TargetKFold
from gapmin.selection._candidates import TARGET_ONLY, Candidate

_FEWEST_LEFT = 2
"""Candidates that no halving goes below, beside those without transfer."""


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
    def sources(self) -> list[int]:
        """The sources' numbers."""
        return np.unique(self.domain[self.domain > 0]).tolist()

    def shown_error(self, errors: Sequence[Array]) -> float:
        """Return what people read: the share of wrong classes, or the root of the mean squared error."""
        mean = float(np.mean(errors))
        return mean if self.classes is not None else float(np.sqrt(mean))

    def losses(self, predicted: Array) -> tuple[Array, Array]:
        """Return the smooth loss of each target row and its plain error.

        The loss is half the Brier score of the probabilities, or the squared error in units of the target's variance;
        the error is 1 for a wrong class, or the squared error.
        """
        y = self.y[self.target]
        if self.classes is None:
            squared = (predicted - y) ** 2
            variance = float(np.var(y))
            return squared / (variance if variance > 0 else 1.0), squared
        truth = y[:, None] == self.classes
        right = self.classes[predicted.argmax(axis=1)] == y
        return ((predicted - truth) ** 2).sum(axis=1) / 2, (~right).astype(float)


@dataclass
class Trial:
    """What is known of a candidate.

    Attributes
    ----------
    candidate : Candidate
    losses, errors : list of ndarray of shape (n_target,)
        Of each target row when it was not trained on, for each repeat.
    by_fold : list of float
        The mean loss of each fold of each repeat.
    """

    candidate: Candidate
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

    def less(self, other: Trial) -> Array:
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
        self.trials: list[Trial] = []
        self._parallel = Parallel(n_jobs=n_jobs) if effective_n_jobs(n_jobs) > 1 else None

    def folds(self, repeat: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return the rows to train and to test on, fold by fold."""
        splitter = TargetKFold(self.n_splits, shuffle=True, random_state=(self.seed + repeat) % 2**32)
        strata = None if self.data.classes is None else self.data.y
        return list(splitter.split(self.data.domain, strata, groups=self.data.domain))

    def start(self, candidates: Iterable[Candidate]) -> list[Trial]:
        """Put candidates to the first repeat, and return their trials."""
        trials = [Trial(each) for each in candidates]
        self.trials += trials
        if trials:
            self._repeat(trials, 0)
        return trials

    def go_on(self) -> list[Trial]:
        """Make the other repeats, each with the best quarter of the last, and return who took part in all.

        The two best without transfer stay to the end: everything is measured against them.
        """
        left = list(self.trials)
        for repeat in range(1, self.n_repeats):
            alone = sorted((each for each in left if each.is_target_only), key=lambda each: each.mean_loss)
            others = sorted((each for each in left if not each.is_target_only), key=lambda each: each.mean_loss)
            left = [*alone[:2], *others[: max(len(others) // 4, _FEWEST_LEFT)]]
            self._repeat(left, repeat)
        return left

    def _repeat(self, trials: Sequence[Trial], repeat: int) -> None:
        self.on_progress(f"repeat {repeat + 1} of {self.n_repeats}: {len(trials)} candidates")
        data, folds = self.data, self.folds(repeat)
        tasks = [(trial.candidate, place) for trial in trials for place in range(len(folds))]
        if self._parallel is None:
            found = [held_out(each, data, folds[place], self._seed(repeat, place)) for each, place in tasks]
        else:
            found = self._parallel(
                delayed(held_out)(each, data, folds[place], self._seed(repeat, place)) for each, place in tasks
            )
        position = np.full(data.domain.size, -1)
        position[data.target] = np.arange(data.target.size)
        shape = (data.target.size,) if data.classes is None else (data.target.size, data.classes.size)
        for trial, parts in zip(trials, _in_groups(found, len(folds)), strict=True):
            predicted = np.empty(shape)
            for (_, test), part in zip(folds, parts, strict=True):
                predicted[position[test]] = part
            losses, errors = data.losses(predicted)
            trial.losses.append(losses)
            trial.errors.append(errors)
            trial.by_fold += [float(losses[position[test]].mean()) for _, test in folds]

    def _seed(self, repeat: int, place: int) -> int:
        # The same for every candidate: learners that differ in weights alone then draw the same numbers.
        return int(np.random.SeedSequence([self.seed, repeat, place]).generate_state(1)[0] % 2**31)


def held_out(candidate: Candidate, data: Data, fold: tuple[NDArray[np.intp], NDArray[np.intp]], seed: int) -> Array:
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
        return predict(model, _safe_indexing(data.X, test), data.classes)


def predict(model: Any, X: Any, classes: NDArray[Any] | None) -> Array:
    """Return a fitted model's values, or its probabilities in the order of `classes`, 0 for those it does not know."""
    if classes is None:
        return np.asarray(model.predict(X), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(X)
    elif hasattr(model, "decision_function"):
        own = class_shares(model, X)
    else:
        return (np.asarray(model.predict(X))[:, None] == classes).astype(float)
    shares = np.zeros((own.shape[0], classes.size))
    shares[:, np.searchsorted(classes, model.classes_)] = own
    return shares


def _in_groups(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
