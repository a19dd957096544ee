"""One engine of held-out predictions: every hypothesis, every learner, the same folds of the target."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from gapmin._utils.parallel import run_parallel
from gapmin._utils.typing import Array

from ._fitting import HALF, NATURAL, RECALIBRATED, TARGET, Data, Setting, held_out
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
from .evidence import Sources, combine_brackets
from .library import Learner


def draw_folds(data: Data, n_splits: int, n_repeats: int, seed: int) -> list[list[NDArray[np.intp]]]:
    """Return the folds of each repeat, as positions among the target's rows; classes keep their shares."""
    y = data.y[data.target]
    repeats = []
    for repeat in range(n_repeats):
        state = int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
        kind: Any = StratifiedKFold if data.n_classes else KFold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes with fewer rows than folds
            splitter = kind(n_splits, shuffle=True, random_state=state)
            repeats.append([test for _, test in splitter.split(np.zeros((y.size, 1)), y)])
    return repeats


@dataclass(frozen=True)
class Evaluated:
    """The held-out predictions of one hypothesis.

    Attributes
    ----------
    sources : tuple of int
    predicted : ndarray of shape (n_repeats, n_target) or (n_repeats, n_target, n_classes)
        The mean over the kinds.
    chosen : dict of str to Setting
        By kind.
    without_rows : float
        The second bracket.
    source_alone : ndarray or None
        What models of the sources alone say of every target row.
    """

    sources: Sources
    predicted: Array
    chosen: dict[str, Setting]
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
    repeats : list of list of ndarray
        From `draw_folds`.
    n_jobs : int or None
    seed : int
    """

    def __init__(
        self,
        data: Data,
        learners: Sequence[Learner],
        repeats: list[list[NDArray[np.intp]]],
        *,
        n_jobs: int | None,
        seed: int,
    ) -> None:
        self.data = data
        self.learners = list(learners)
        self.repeats = repeats
        self.n_jobs = n_jobs
        self.seed = seed

    def evaluate(self, sets: Sequence[Sources]) -> dict[Sources, Evaluated]:
        """Return the held-out predictions of each hypothesis.

        Every setting is tried on the first repeat. On all repeats, the rows of a fold are predicted by the settings
        that did best on the other rows, so that no row chooses the setting that predicts it.
        """
        settings = {members: self._settings(members) for members in sets}
        whole = [(members, each, 0, k) for members in sets for each in settings[members] for k in self._all(each)]
        raw = self._run(whole)
        tried = {members: self._first_repeat(members, settings[members], raw) for members in sets}
        places = [(repeat, k) for repeat, folds in enumerate(self.repeats) for k in range(len(folds))]
        used = {
            (members, *place): self._choose(tried[members], self.repeats[place[0]][place[1]])
            for members in sets
            for place in places
        }
        later = dict.fromkeys(
            (members, each, repeat, k)
            for (members, repeat, k), best in used.items()
            for each in best.values()
            if repeat and each.form != RECALIBRATED
        )
        raw.update(self._run(list(later)))
        return {members: self._assemble(members, tried[members], used, raw) for members in sets}

    def _all(self, setting: Setting) -> Sequence[int]:
        """Return the folds that a setting is fitted for; a model of the sources alone is fitted once."""
        return (0,) if setting.form == RECALIBRATED else range(len(self.repeats[0]))

    def _first_repeat(
        self, members: Sources, settings: Sequence[Setting], raw: Mapping[Key, Array | None]
    ) -> dict[Setting, Array]:
        """Return the held-out predictions of the first repeat, of the settings that could be fitted everywhere."""
        found = {}
        for each in settings:
            if each.form == RECALIBRATED:
                alone = raw[members, each, 0, 0]
                if alone is not None:
                    found[each] = self.correct(alone, 0, slope=True)
                continue
            parts = [raw[members, each, 0, k] for k in range(len(self.repeats[0]))]
            if all(part is not None for part in parts):
                found[each] = self._joined(parts, self.repeats[0])
        if not found:
            raise ValueError("no learner could be trained on these rows: give more rows, or another estimator")
        return found

    def _joined(self, parts: Sequence[Any], folds: Sequence[NDArray[np.intp]]) -> Array:
        """Return the predictions of all target rows from those of the folds."""
        shape = (self.data.target.size, self.data.n_classes) if self.data.n_classes else (self.data.target.size,)
        found = np.empty(shape)
        for part, test in zip(parts, folds, strict=True):
            found[test] = part
        return found

    def _choose(self, tried: Mapping[Setting, Array], without: NDArray[np.intp] | None = None) -> dict[str, Setting]:
        """Return for each kind the setting with the lowest loss on the first repeat, on rows other than `without`."""
        kept = np.ones(self.data.target.size, dtype=bool)
        if without is not None:
            kept[without] = False
        best: dict[str, tuple[float, Setting]] = {}
        for setting, predicted in tried.items():
            loss = float(self.data.losses(predicted)[kept].mean())
            kind = setting.learner.kind
            if kind not in best or loss < best[kind][0]:
                best[kind] = (loss, setting)
        return {kind: setting for kind, (_, setting) in best.items()}

    def _assemble(
        self,
        members: Sources,
        tried: Mapping[Setting, Array],
        used: Mapping[tuple[Sources, int, int], dict[str, Setting]],
        raw: Mapping[Key, Array | None],
    ) -> Evaluated:
        corrected: dict[tuple[Setting, int], Array] = {}
        repeats = []
        for repeat, folds in enumerate(self.repeats):
            parts = []
            for k, test in enumerate(folds):
                kinds = []
                for each in used[members, repeat, k].values():
                    if each.form == RECALIBRATED:
                        if (each, repeat) not in corrected:
                            alone: Any = raw[members, each, 0, 0]
                            corrected[each, repeat] = self.correct(alone, repeat, slope=True)
                        kinds.append(corrected[each, repeat][test])
                    else:
                        part = raw[members, each, repeat, k]
                        kinds.append(tried[each][test] if part is None else part)
                parts.append(np.mean(kinds, axis=0))
            repeats.append(self._joined(parts, folds))
        made = Evaluated(members, np.array(repeats), self._choose(tried))
        return self._with_sources_alone(made, tried, raw) if members else made

    def _settings(self, members: Sources) -> list[Setting]:
        forms = (HALF, NATURAL, RECALIBRATED) if members else (TARGET,)
        return [Setting(learner, form) for learner in self.learners for form in forms]

    def _run(self, keys: Sequence[Key]) -> dict[Key, Array | None]:
        tasks = [
            (
                self.data,
                setting.learner,
                setting.form,
                members,
                self.repeats[repeat][k],
                int(np.random.SeedSequence([self.seed, repeat, k]).generate_state(1)[0] >> 2),
            )
            for members, setting, repeat, k in keys
        ]
        return dict(zip(keys, run_parallel(held_out, tasks, self.n_jobs), strict=True))

    def correct(self, predicted: Array, repeat: int, *, slope: bool) -> Array:
        """Return a source's predictions, corrected for each fold on the other folds' rows."""
        y = self.data.y[self.data.target]
        folds = self.repeats[repeat]
        train = np.ones((len(folds), y.size), dtype=bool)
        for k, test in enumerate(folds):
            train[k, test] = False
        if self.data.n_classes:
            every = apply_to_classes(predicted, *correct_classes(predicted, y, train, slope=slope))
        else:
            every = apply_to_values(predicted, *correct_values(predicted, y, train, slope=slope))
        found = np.empty_like(predicted)
        for k, test in enumerate(folds):
            found[test] = every[k][test]
        return found

    def _with_sources_alone(
        self, made: Evaluated, tried: Mapping[Setting, Array], raw: Mapping[Key, Array | None]
    ) -> Evaluated:
        """Add the second bracket: models of the sources alone against the label frequencies."""
        alone = {each: predicted for each, predicted in tried.items() if each.form == RECALIBRATED}
        if not alone:
            return made
        best = self._choose(alone)
        found: list[Any] = [raw[made.sources, setting, 0, 0] for setting in best.values()]
        predicted = np.mean(found, axis=0)
        log_likelihoods = [self.log_likelihood(predicted[None])]
        for slope in (False, True):
            corrected = [self.correct(predicted, repeat, slope=slope) for repeat in range(len(self.repeats))]
            log_likelihoods.append(self.log_likelihood(np.array(corrected)))
        bracket = mixture_log_likelihood(log_likelihoods) - self.labels_alone()
        return replace(made, without_rows=bracket, source_alone=predicted)

    def log_likelihood(self, predicted: Array) -> float:
        """Return the log-likelihood of the target's labels, the mean over the repeats."""
        y = self.data.y[self.data.target]
        if self.data.n_classes:
            return float(class_log_likelihood(predicted, y).sum(axis=-1).mean())
        return float(value_log_likelihood(predicted - y, self.data.label_variance).mean())

    def labels_alone(self) -> float:
        """Return the log-likelihood of the target's labels given the others' alone."""
        y = self.data.y[self.data.target]
        n = y.size
        if self.data.n_classes:
            counts = np.bincount(y, minlength=self.data.n_classes)
            others = np.tile(counts.astype(float), (n, 1))
            others[np.arange(n), y] -= 1
            return self.log_likelihood(((others + 1) / (n - 1 + self.data.n_classes))[None])
        return self.log_likelihood(((y.sum() - y) / (n - 1))[None])

    def evidence(self, made: Evaluated, alone: Evaluated) -> tuple[float, float, float]:
        """Return the first bracket, the evidence and its standard error over the rows."""
        y, n = self.data.y[self.data.target], self.data.target.size
        first = self.log_likelihood(made.predicted) - self.log_likelihood(alone.predicted)
        if self.data.n_classes:
            rows = [class_log_likelihood(each.predicted, y).mean(axis=0) for each in (made, alone)]
        else:
            variance = self.data.label_variance
            rows = [row_value_log_likelihood(each.predicted - y, variance).mean(axis=0) for each in (made, alone)]
        error = float(np.sqrt(n) * np.std(rows[0] - rows[1], ddof=1))
        return first, combine_brackets(first, made.without_rows, n), error
