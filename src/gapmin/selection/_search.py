"""Repeated cross-validation on the target's rows, in which candidates that fall behind are left out of later rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.parallel import run_parallel
from gapmin._utils.typing import Array
from gapmin.domains import TargetKFold
from gapmin.selection._blend import Blend, greedy_weights
from gapmin.selection._candidates import GAPBOOST, POOLING, Candidate
from gapmin.selection._data import Data
from gapmin.selection._held_out import Fold, Outsider, Trial, held_out
from gapmin.selection._kinship import (
    FEWEST_ROWS,
    Kinship,
    SourceRows,
    agreement,
    credit,
    kinship,
    standard_errors_needed,
    together,
)
from gapmin.selection._witnesses import Heard, Testimony, Witnesses
from gapmin.transfer._columns import is_match, likeness

_FEWEST_LEFT = 8
_FEWEST_ALONE = 3
"""Candidates with and without sources that no halving goes below: the members of a blend."""

_FIRST_VOTES = (5, 4, 3, 2)
"""Of the twenty in a blend with sources, how many the best of each kind of learner has to begin with: the best most."""

_HELD_SHARE, _MOST_HELD = 0.1, 200
"""Of a source's rows, how many a fold of the first repeat holds out."""


class Search:
    """Folds of the target's rows, dealt anew in each repeat and the same for every candidate.

    Parameters
    ----------
    data : Data
    n_splits, n_repeats : int
    n_jobs : int or None
    seed : int
    check_columns : bool, default=True
        Whether to compare the columns of each source with the target's.
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
        *,
        check_columns: bool = True,
        on_progress: Callable[[str], object] = lambda doing: None,
    ) -> None:
        self.data = data
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.n_jobs = n_jobs
        self.seed = seed
        self.check_columns = check_columns
        self.on_progress = on_progress
        self.trials: list[Trial[Candidate]] = []
        self.witnesses: list[Witnesses] = []
        self.source_rows: SourceRows | None = None
        self._likeness: dict[int, float] = {}
        self._learners_on_sources: dict[int, Array] = {}

    def folds(self, repeat: int) -> list[Fold]:
        """Return the rows to train and to test on, fold by fold.

        In the first repeat each fold also holds out a tenth of every source that has ten rows, no row twice, for as
        many folds as there are rows left; in the others all of them train.
        """
        splitter = TargetKFold(self.n_splits, shuffle=True, random_state=(self.seed + repeat) % 2**32)
        strata = None if self.data.classes is None else self.data.y
        pairs = list(splitter.split(self.data.domain, strata, groups=self.data.domain))
        if repeat > 0:
            return [Fold(train, test, np.empty(0, dtype=np.intp)) for train, test in pairs]
        held = self._held_out(len(pairs))
        return [Fold(np.setdiff1d(train, part), test, part) for (train, test), part in zip(pairs, held, strict=True)]

    def _held_out(self, n_folds: int) -> list[NDArray[np.intp]]:
        random = np.random.default_rng(self.seed)
        parts: list[list[NDArray[np.intp]]] = [[] for _ in range(n_folds)]
        for number in self.data.sources:
            rows = random.permutation(np.flatnonzero(self.data.domain == number))
            size = min(int(_HELD_SHARE * rows.size), _MOST_HELD)
            for place, part in enumerate(parts):
                part.append(rows[place * size : (place + 1) * size])
        return [np.concatenate(part) if part else np.empty(0, dtype=np.intp) for part in parts]

    def start(self, candidates: Iterable[Candidate]) -> list[Trial[Candidate]]:
        """Put candidates to the first repeat, and return their trials."""
        trials = [Trial(each) for each in candidates]
        self.trials += trials
        if trials:
            self._repeat(trials, 0)
        return trials

    def on_sources_alone(self, candidates: Sequence[Candidate], sources: Sequence[int]) -> list[Outsider]:
        """Return what candidates for the target alone say that had these sources in its place, in the first repeat.

        They are nothing to choose from: they say what the sources know of the target by themselves. As they know none
        of its rows, those of each fold are asked about all of them. There are none where too few rows of the sources
        are held out to compare with.
        """
        among, target = np.isin(self.data.domain, sources), self.data.target
        folds = [Fold(f.train[among[f.train]], target, f.held[among[f.held]]) for f in self.folds(0)]
        if sum(fold.held.size for fold in folds) < FEWEST_ROWS:
            return []
        data = replace(self.data, domain=-self.data.domain)
        tasks = [(each, data, fold, self._seed(0, place)) for each in candidates for place, fold in enumerate(folds)]
        cut = target.size
        return [
            Outsider(np.mean([part[:cut] for part in parts], axis=0), np.concatenate([part[cut:] for part in parts]))
            for parts in _in_groups(self._each(tasks), len(folds))
        ]

    def hear(self, witnesses: Sequence[Witnesses]) -> None:
        """Let what the same learners with and without sources, and on these alone, say of them count from now on.

        Of a source that was tried by itself these witnesses say how close it is; of the others those of all sources.
        """
        self.witnesses = list(witnesses)
        if self.witnesses:
            self._likeness = {number: self._compare_columns(number) for number in self.data.sources}
        held = np.concatenate([fold.held for fold in self.folds(0)])
        if not self.witnesses or not held.size:
            return
        found = {number: self._kinship(number, held) for number in self.data.sources}
        self.source_rows = SourceRows(self.data, held, {k: kin for k, kin in found.items() if kin is not None})
        self._learners_on_sources = {
            id(each.candidate.learner): each.on_sources
            for each in self.trials
            if each.candidate.method == POOLING and dict(each.candidate.settings) == {"target_share": None}
        }

    def _compare_columns(self, number: int) -> float:
        data = self.data
        if not self.check_columns:
            return 0.0
        return likeness(data.X, data.target, np.flatnonzero(data.domain == number), self.seed)

    def _kinship(self, number: int, held: NDArray[np.intp]) -> Kinship | None:
        """Return the kinship of a source, None where too few of the held-out rows are its own."""
        y, domain, classes = self.data.y, self.data.domain, self.data.classes
        witnesses = min((each for each in self.witnesses if number in each.sources), key=lambda each: len(each.sources))
        called, asked = witnesses.sources_alone, held[np.isin(domain[held], witnesses.sources)]
        mine = domain[asked] == number
        if mine.sum() < FEWEST_ROWS:
            return None
        return kinship(
            here=[agreement(each.on_target, y[self.data.target], classes) for each in called],
            own=[agreement(each.on_sources[mine], y[asked[mine]], classes) for each in called],
        )

    def testimony(self, n_standard_errors: float) -> Testimony:
        """Return what was heard of each set of sources."""
        found = {}
        known = {} if self.source_rows is None else self.source_rows.kinship
        asked = {each.sources for each in self.witnesses}
        for each in self.witnesses:
            one_by_one = all((number,) in asked for number in each.sources)
            kin = together([known[number] for number in each.sources if number in known], one_by_one=one_by_one)
            worst = min(self._likeness[number] for number in each.sources)
            worth = credit(kin, worst, self.data.target.size)
            needed = standard_errors_needed(n_standard_errors, worth, self.data.target.size)
            found[each.sources] = Heard(each.gain, kin.closeness, worst, needed, each.gain + worth - n_standard_errors)
        best_first = sorted(found.items(), key=lambda item: item[1].needed - item[1].gain)
        return Testimony(tuple(self.data.sources), dict(best_first))

    @property
    def other_columns(self) -> tuple[int, ...]:
        """The sources whose columns do not look like the target's."""
        return tuple(number for number, found in self._likeness.items() if is_match(found) is False)

    def trusted(self, trials: Sequence[Trial[Candidate]], n_standard_errors: float) -> list[Trial[Candidate]]:
        """Return the trials with sources that use no others than are trusted together; all where nobody was heard.

        Of several sources the witnesses of those that are trusted are added: of what was tried with all of them, none
        may be left.
        """
        others = [trial for trial in trials if not trial.is_target_only]
        testimony = self.testimony(n_standard_errors)
        sets = testimony.trusted
        if not self.witnesses or testimony.sources in sets:
            return others
        found = [trial for trial in others if trial.candidate.sources in sets]
        joined = (pair[1] for each in self.witnesses if each.sources in sets for pair in each.pairs)
        return [*found, *(trial for trial in joined if trial not in found and trial in self.trials)]

    def _on_sources(self, trial: Trial[Candidate]) -> Array:
        """Return a trial's predictions of the held-out source rows.

        They are those of its learner on source and target alike, where that was tried: they shall say which learner
        suits such rows, not that more weight on the sources suits the sources.
        """
        return self._learners_on_sources.get(id(trial.candidate.learner), trial.on_sources)

    def merit(self, trial: Trial[Candidate]) -> float:
        """Return the loss by which candidates are ranked: on the target's rows, and with sources on theirs too."""
        if self.source_rows is None or trial.is_target_only:
            return trial.mean_loss
        return trial.mean_loss + self.source_rows.loss(self._on_sources(trial))

    def go_on(self) -> list[Trial[Candidate]]:
        """Make the other repeats, each with the best quarter of the last, and return who is left in the end.

        Of those without sources three stay, and of the others eight and the best of each kind: these are blended. The
        witnesses take part to the end, whatever their loss.
        """
        called = self._called()
        left = self._best(self.trials)
        for repeat in range(1, self.n_repeats):
            self._repeat(list((called | {id(trial): trial for trial in left}).values()), repeat)
            left = self._best(left)
        return left

    def _best(self, trials: Sequence[Trial[Candidate]]) -> list[Trial[Candidate]]:
        ranked = sorted(trials, key=self.merit)
        alone = [each for each in ranked if each.is_target_only]
        others = [each for each in ranked if not each.is_target_only]
        many = max(len(others) // 4, _FEWEST_LEFT)
        favourites = _best_of_kinds(others)
        left = [*alone[:_FEWEST_ALONE], *others[:many], *(each for each in others[many:] if each in favourites)]
        called = self._called()
        for trial in trials:
            if trial not in left and id(trial) not in called:
                trial.predicted.clear()
        return left

    def _called(self) -> dict[int, Trial[Candidate]]:
        return {id(trial): trial for each in self.witnesses for pair in each.pairs for trial in pair}

    def blend(self, trials: Sequence[Trial[Candidate]]) -> Trial[Any]:
        """Return the weighted mean of trials that took part in all repeats, as a trial of its own."""
        stacked = np.array([trial.predicted for trial in trials])
        weights = self._weights(trials, stacked)
        members = [(trial.candidate, weight) for trial, weight in zip(trials, weights, strict=True) if weight > 0]
        if len(members) == 1:
            return trials[int(weights.argmax())]
        blended = Trial(Blend.of(members))
        for repeat, mean in enumerate(np.tensordot(weights, stacked, axes=1)):
            self._note(blended, mean, self.folds(repeat))
        return blended

    def mean_of(self, one: Trial[Any], other: Trial[Any], share: float) -> Trial[Any]:
        """Return the mean of two trials that took part in all repeats, the first with that share, as a trial."""
        both = Trial(Blend.mean_of(one.candidate, other.candidate, share))
        for repeat, (first, second) in enumerate(zip(one.predicted, other.predicted, strict=True)):
            self._note(both, share * first + (1 - share) * second, self.folds(repeat))
        return both

    def _weights(self, trials: Sequence[Trial[Candidate]], stacked: Array) -> Array:
        """Return the weights that make the loss on held-out rows low: the target's, and with sources theirs too.

        With sources the best of each kind of learner has some of the votes before any is counted: on few rows the best
        of all is often best by chance, and learners of different kinds make different mistakes.
        """

        def on_target(mean: Array) -> float:
            return float(self.data.losses(mean)[0].mean())

        if any(trial.is_target_only for trial in trials):
            return greedy_weights(stacked, on_target)
        votes = dict(zip(map(id, _best_of_kinds(sorted(trials, key=self.merit))), _FIRST_VOTES, strict=False))
        first = np.array([votes.get(id(trial), 0) for trial in trials], dtype=float)
        rows = self.source_rows
        if rows is None:
            return greedy_weights(stacked, on_target, first)
        others = np.array([self._on_sources(trial) for trial in trials])
        shape, cut = stacked.shape[1:], stacked[0].size

        def on_both(mean: Array) -> float:
            return on_target(mean[:cut].reshape(shape)) + rows.loss(mean[cut:].reshape(others.shape[1:]))

        n_trials = len(trials)
        together = np.hstack([stacked.reshape(n_trials, -1), others.reshape(n_trials, -1)])
        return greedy_weights(together, on_both, first)

    def _repeat(self, trials: Sequence[Trial[Candidate]], repeat: int) -> None:
        self.on_progress(f"repeat {repeat + 1} of {self.n_repeats}: {len(trials)} candidates")
        folds = self.folds(repeat)
        tasks = [
            (trial.candidate, self.data, fold, self._seed(repeat, place))
            for trial in trials
            for place, fold in enumerate(folds)
        ]
        found = self._each(tasks)
        n_target, position, classes = self.data.target.size, self.data.position, self.data.classes
        shape = (n_target,) if classes is None else (n_target, classes.size)
        for trial, parts in zip(trials, _in_groups(found, len(folds)), strict=True):
            predicted = np.empty(shape)
            for fold, part in zip(folds, parts, strict=True):
                predicted[position[fold.test]] = part[: fold.test.size]
            if repeat == 0:
                held = [part[fold.test.size :] for fold, part in zip(folds, parts, strict=True)]
                trial.on_sources = np.concatenate(held)
            self._note(trial, predicted, folds)

    def _each(self, tasks: Sequence[tuple[Candidate, Data, Fold, int]]) -> Sequence[Array]:
        """Return what is predicted in each task."""
        # The last learners are the slowest: they go first, so that no process waits for another in the end.
        return list(run_parallel(held_out, tasks[::-1], self.n_jobs, batch_size=1))[::-1]

    def _note(self, trial: Trial[Any], predicted: Array, folds: Sequence[Fold]) -> None:
        """Add a repeat to what is known of a trial."""
        losses, errors = self.data.losses(predicted)
        trial.predicted.append(predicted)
        trial.losses.append(losses)
        trial.errors.append(errors)
        trial.by_fold += [float(losses[self.data.position[fold.test]].mean()) for fold in folds]

    def _seed(self, repeat: int, place: int) -> int:
        # The same for every candidate: learners that differ in weights alone then draw the same numbers.
        return int(np.random.SeedSequence([self.seed, repeat, place]).generate_state(1)[0] % 2**31)


def _best_of_kinds(ranked: Sequence[Trial[Candidate]]) -> list[Trial[Candidate]]:
    """Return the first of each kind of learner, in their order; gapBoost, which is made of another's, is none."""
    kinds: dict[str, Trial[Candidate]] = {}
    for trial in ranked:
        kinds.setdefault(trial.candidate.kind, trial)
    kinds.pop(GAPBOOST, None)
    return list(kinds.values())


def _in_groups(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
