"""One engine of held-out predictions: every hypothesis, every learner, the same folds of the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.parallel import run_parallel
from gapmin._utils.text import counted, joined
from gapmin._utils.typing import Array

from ._fitting import HALF, METHOD, NATURAL, WITHOUT_SOURCES, Data, Setting, TargetFold, held_out
from ._likelihood import (
    apply_to_classes,
    apply_to_values,
    class_log_likelihood,
    correct_classes,
    correct_values,
    mixture_log_likelihood,
    row_value_log_likelihood,
    value_log_likelihood,
)
from .choice import Choice, Trials
from .constants import RECALIBRATED, Sources
from .evidence import combine_brackets
from .library import Learner
from .scoring import Scoring

_SHARE_OF_SEARCH = 0.6
"""Of a time limit; the rest is for the last fit."""


@dataclass(frozen=True)
class Evaluated:
    """The held-out predictions of one hypothesis.

    Attributes
    ----------
    sources : tuple of int
    predicted : ndarray of shape (n_repeats, n_rows) or (n_repeats, n_rows, n_classes)
        Of the target rows that the folds test: the weighted mean over the kinds.
    chosen : dict of Setting to float
        One of each kind, and its weight.
    without_rows : float
        The second bracket.
    source_alone : ndarray or None
        What models of the sources alone say of every target row.
    """

    sources: Sources
    predicted: Array
    chosen: Choice
    without_rows: float = 0.0
    source_alone: Array | None = None


Key = tuple[Sources, Setting, int, int]
"""A fit: the hypothesis, the setting, the repeat and the fold."""


class Evaluator:
    """Evaluates hypotheses on the same folds.

    Parameters
    ----------
    data : Data
    learners : sequence of Learner
    repeats : list of list of tuple of ndarray
        From `folds.draw_folds` or `folds.folds_of`.
    asides : list of ndarray of int
        From `folds.draw_asides`: source rows that do not train in a fold of the first repeat.
    scoring : Scoring
    n_jobs : int or None
    seed : int
    time_limit : float or None
        Seconds of the search and the last fit together. When six tenths have passed, kinds of learners that were not
        tried yet are left out, in their order in the library from the end; then repeats.
    on_progress : callable
        Given the share of the present stage that is done.
    """

    def __init__(
        self,
        data: Data,
        learners: Sequence[Learner],
        repeats: list[list[TargetFold]],
        asides: list[NDArray[np.intp]],
        *,
        scoring: Scoring,
        n_jobs: int | None,
        seed: int,
        time_limit: float | None = None,
        on_progress: Callable[[float], object] = lambda share: None,
    ) -> None:
        self.data = data
        self.learners = list(learners)
        self.repeats = repeats
        self.asides = asides
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.seed = seed
        self.ends = None if time_limit is None else time.monotonic() + _SHARE_OF_SEARCH * time_limit
        self.on_progress = on_progress
        self.dropped: list[str] = []
        self._is_settled = False
        self.rows = np.sort(np.concatenate([test for _, test in repeats[0]]))
        """Positions among the target's rows that are tested."""
        self.y = data.y[data.target][self.rows]
        self._place = np.full(data.target.size, -1)
        self._place[self.rows] = np.arange(self.rows.size)

    def evaluate(self, sets: Sequence[Sources]) -> dict[Sources, Evaluated]:
        """Return the held-out predictions of each hypothesis.

        Every setting is tried on the first repeat, pooling with half of the weight on the target only for learners
        that did best otherwise. On all repeats, the rows of a fold are predicted by the settings that did best on the
        other rows, so that no row chooses the setting that predicts it. What a time limit leaves out of the first call
        is left out of all.
        """
        raw = self._first_fits(sets)
        trials = {members: self._first_repeat(members, raw) for members in sets}
        raw |= self._run(
            [
                (members, Setting(learner, HALF), 0, k)
                for members in sets
                for learner in self._best_learners(members, trials[members])
                for k in range(len(self.repeats[0]))
            ]
        )
        trials = {members: self._first_repeat(members, raw) for members in sets}
        used = {
            (members, repeat, k): choice
            for members in sets
            for repeat, folds in enumerate(self.repeats)
            for k, choice in enumerate(self._choose(trials[members], folds))
        }
        for repeat in range(1, len(self.repeats)):
            if not self._is_settled and self.is_late():
                self.dropped.append(f"{counted(repeat, 'repeat')} of {len(self.repeats)}")
                self.repeats = self.repeats[:repeat]
                break
            later = [
                (members, each, repeat, k)
                for (members, r, k), choice in used.items()
                if r == repeat
                for each in choice
                if each.form != RECALIBRATED
            ]
            raw |= self._run(later)
        self._is_settled = True
        return {members: self._assemble(members, trials[members], used, raw) for members in sets}

    def _best_learners(self, members: Sources, trials: Trials) -> list[Learner]:
        """Return the learners that some fold's other rows choose, in any form; none for the target alone."""
        if not members:
            return []
        chosen = [each.learner for choice in self._choose(trials, self.repeats[0]) for each in choice]
        return [learner for learner in dict.fromkeys(chosen) if not learner.by_domain]

    def is_late(self) -> bool:
        """Whether the time of the search has passed."""
        return self.ends is not None and time.monotonic() > self.ends

    def _first_fits(self, sets: Sequence[Sources]) -> dict[Key, Array | str]:
        """Fit every setting on the first repeat; with a time limit kind by kind, until it is late."""
        kinds = list(dict.fromkeys(learner.kind for learner in self.learners))
        stages = [[kind] for kind in kinds] if self.ends is not None else [kinds]
        raw: dict[Key, Array | str] = {}
        for place, stage in enumerate(stages):
            if place and not self._is_settled and self.is_late():
                left = [kind for each in stages[place:] for kind in each]
                self.dropped.append(f"no {joined(left)}")
                self.learners = [learner for learner in self.learners if learner.kind not in left]
                break
            raw |= self._run(
                [
                    (members, each, 0, k)
                    for members in sets
                    for each in self._settings(members)
                    if each.learner.kind in stage
                    for k in self._folds_of(each)
                ]
            )
        return raw

    def _folds_of(self, setting: Setting) -> Sequence[int]:
        """Return the folds that a setting is fitted for; a model of the sources alone is fitted once."""
        return (0,) if setting.form == RECALIBRATED else range(len(self.repeats[0]))

    def _first_repeat(self, members: Sources, raw: Mapping[Key, Array | str]) -> Trials:
        """Return the held-out predictions of the first repeat, of the settings that could be fitted everywhere."""
        found, aside = {}, {}
        asked = self._asides(members)
        for each in dict.fromkeys(setting for of, setting, _, _ in raw if of == members):
            parts: list[Any] = [raw[members, each, 0, k] for k in self._folds_of(each)]
            if any(isinstance(part, str) for part in parts):
                continue
            if each.form == RECALIBRATED:
                found[each] = self.correct(parts[0], 0, slope=True)
                continue
            n_tested = [test.size for _, test in self.repeats[0]]
            found[each] = self._joined([part[:n] for part, n in zip(parts, n_tested, strict=True)], 0)
            predicted = np.concatenate([part[n:] for part, n in zip(parts, n_tested, strict=True)])
            aside[each] = predicted, np.concatenate(asked)
        if not found:
            reason = next(str(made) for (of, *_), made in raw.items() if of == members and isinstance(made, str))
            raise ValueError(
                f"no learner could be trained on these rows ({reason}): give more rows, or another estimator"
            )
        # They shall say which learner suits such rows, not that more weight on the sources suits the sources.
        pooled = {each: Setting(each.learner, METHOD if each.learner.by_domain else NATURAL) for each in found}
        return Trials.of(self.data, found, self.y, {each: aside[of] for each, of in pooled.items() if of in aside})

    def _asides(self, members: Sources) -> list[NDArray[np.intp]]:
        """Return the rows of these sources that are set aside in each fold of the first repeat."""
        return [rows[np.isin(self.data.domain[rows], members)] for rows in self.asides]

    def _joined(self, parts: Sequence[Any], repeat: int) -> Array:
        """Return the predictions of all tested rows from those of the folds."""
        found = np.empty((self.rows.size, self.data.n_classes) if self.data.n_classes else self.rows.size)
        for part, (_, test) in zip(parts, self.repeats[repeat], strict=True):
            found[self._place[test]] = part[: test.size]
        return found

    def _choose(self, trials: Trials, folds: Sequence[TargetFold]) -> list[Choice]:
        """Return the choices of the rows that each fold does not test."""
        found = []
        for _, test in folds:
            kept = np.ones(self.rows.size, dtype=bool)
            kept[self._place[test]] = False
            found.append(self._choose_on(trials, kept))
        return found

    def _choose_on(self, trials: Trials, kept: NDArray[np.bool_]) -> Choice:
        """Return the choice of some target rows; by the user's metric, where there is one."""
        if not self.scoring.scorers or not kept.any():
            return trials.choose(kept)
        try:
            metric = [self.scoring.loss(each[kept], self.y[kept]) for each in trials.predicted.values()]
        except ValueError:  # it is not defined on these rows
            return trials.choose(kept)
        return trials.choose(kept, np.array(metric))

    def _assemble(
        self,
        members: Sources,
        trials: Trials,
        used: Mapping[tuple[Sources, int, int], Choice],
        raw: Mapping[Key, Array | str],
    ) -> Evaluated:
        corrected: dict[tuple[Setting, int], Array] = {}
        repeats = []
        for repeat, folds in enumerate(self.repeats):
            parts = []
            for k, (_, test) in enumerate(folds):
                place, mean = self._place[test], 0.0
                for each, weight in used[members, repeat, k].items():
                    if each.form == RECALIBRATED:
                        if (each, repeat) not in corrected:
                            alone: Any = raw[members, each, 0, 0]
                            corrected[each, repeat] = self.correct(alone, repeat, slope=True)
                        part: Any = corrected[each, repeat][place]
                    else:
                        part = raw[members, each, repeat, k]
                        part = trials.predicted[each][place] if isinstance(part, str) else part[: test.size]
                    mean = mean + weight * part
                parts.append(mean)
            repeats.append(self._joined(parts, repeat))
        every = np.ones(self.rows.size, dtype=bool)
        made = Evaluated(members, np.array(repeats), self._choose_on(trials, every))
        return self._with_sources_alone(made, trials, raw) if members else made

    def _settings(self, members: Sources) -> list[Setting]:
        found = []
        for learner in self.learners:
            pooled = (METHOD,) if learner.by_domain else (NATURAL, RECALIBRATED)
            forms = pooled if members else () if learner.by_domain else (WITHOUT_SOURCES,)
            found += [Setting(learner, form) for form in forms]
        return found

    def _run(self, keys: Sequence[Key]) -> dict[Key, Array | str]:
        """Fit, all folds of a setting in one piece of work."""
        work: dict[tuple[Sources, Setting], list[Key]] = {}
        for key in keys:
            work.setdefault(key[:2], []).append(key)
        nothing = np.empty(0, dtype=np.intp)
        asides = {members: self._asides(members) for members in {members for members, _ in work}}
        tasks = [
            (
                self.data,
                setting.learner,
                setting.form,
                members,
                [self.repeats[repeat][k] for _, _, repeat, k in group],
                [
                    int(np.random.SeedSequence([self.seed, repeat, k]).generate_state(1)[0] >> 2)
                    for *_, repeat, k in group
                ],
                [nothing if repeat or setting.form == RECALIBRATED else asides[members][k] for *_, repeat, k in group],
            )
            for (members, setting), group in work.items()
        ]
        found: dict[Key, Array | str] = {}
        for place, (group, made) in enumerate(
            zip(work.values(), run_parallel(held_out, tasks, self.n_jobs, batch_size=1), strict=True), start=1
        ):
            found |= dict(zip(group, made, strict=True))
            self.on_progress(place / len(tasks))
        return found

    def correct(self, predicted: Array, repeat: int, *, slope: bool) -> Array:
        """Return a source's predictions of the tested rows, corrected for each fold on the rows that train."""
        y = self.data.y[self.data.target]
        folds = self.repeats[repeat]
        train = np.zeros((len(folds), y.size), dtype=bool)
        for mask, (rows, _) in zip(train, folds, strict=True):
            mask[rows] = True
        if self.data.n_classes:
            every = apply_to_classes(predicted, *correct_classes(predicted, y, train, slope=slope))
        else:
            every = apply_to_values(predicted, *correct_values(predicted, y, train, slope=slope))
        return self._joined([each[test] for each, (_, test) in zip(every, folds, strict=True)], repeat)

    def _with_sources_alone(self, made: Evaluated, trials: Trials, raw: Mapping[Key, Array | str]) -> Evaluated:
        """Add the second bracket: models of the sources alone against the label frequencies.

        Their settings are chosen by the source rows that were set aside, as if no target row were known.
        """
        alone = {each: raw[made.sources, each, 0, 0] for each in trials.predicted if each.form == RECALIBRATED}
        if not alone:
            return made
        choice = self._choose_on(trials.only(list(alone)), np.full(self.rows.size, not trials.n_aside))
        predicted = np.asarray(sum(weight * np.asarray(alone[each]) for each, weight in choice.items()))
        log_likelihoods = [
            self.log_likelihood(predicted[None, self.rows]),
            *(self.corrected_log_likelihood(predicted, slope=slope) for slope in (False, True)),
        ]
        bracket = mixture_log_likelihood(log_likelihoods) - self.labels_alone()
        return replace(made, without_rows=bracket, source_alone=predicted)

    def corrected_log_likelihood(self, predicted: Array, *, slope: bool) -> float:
        """Return the log-likelihood of a source's predictions of all target rows, corrected as `correct` does."""
        repeats = range(len(self.repeats))
        return self.log_likelihood(np.array([self.correct(predicted, repeat, slope=slope) for repeat in repeats]))

    def log_likelihood(self, predicted: Array) -> float:
        """Return the log-likelihood of the tested rows' labels, the mean over the repeats."""
        if self.data.n_classes:
            return float(class_log_likelihood(predicted, self.y).sum(axis=-1).mean())
        return float(value_log_likelihood(predicted - self.y, self.data.label_variance).mean())

    def labels_alone(self) -> float:
        """Return the log-likelihood of the tested rows' labels given the other labels: frequencies or the mean."""
        y, n = self.data.y[self.data.target], self.data.target.size
        if not self.data.n_classes:
            return self.log_likelihood((y.sum() - self.y)[None] / (n - 1))
        others = np.tile(np.bincount(y, minlength=self.data.n_classes).astype(float), (self.y.size, 1))
        others[np.arange(self.y.size), self.y] -= 1
        return self.log_likelihood((others + 1)[None] / (n - 1 + self.data.n_classes))

    def constant(self) -> Array:
        """Return what scores are compared with: of each tested row the share of each class in the target, or the mean.

        No row is left out: of two classes of one size the other would always be the more frequent.
        """
        y = self.data.y[self.data.target]
        if self.data.n_classes:
            return np.tile(np.bincount(y, minlength=self.data.n_classes) / y.size, (self.y.size, 1))
        return np.full(self.y.size, y.mean())

    def evidence(self, made: Evaluated, alone: Evaluated) -> tuple[float, float, float]:
        """Return the first bracket, the evidence and its standard error over the rows."""
        n = self.y.size
        first = self.log_likelihood(made.predicted) - self.log_likelihood(alone.predicted)
        if self.data.n_classes:
            rows = [class_log_likelihood(each.predicted, self.y).mean(axis=0) for each in (made, alone)]
        else:
            variance = self.data.label_variance
            rows = [row_value_log_likelihood(each.predicted - self.y, variance).mean(axis=0) for each in (made, alone)]
        error = float(np.sqrt(n) * np.std(rows[0] - rows[1], ddof=1))
        return first, combine_brackets(first, made.without_rows, n), error
