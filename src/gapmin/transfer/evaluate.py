"""One engine of held-out predictions: every hypothesis, every learner, the same folds of the target."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from gapmin._utils.parallel import one_thread, run_parallel
from gapmin.boosting._learners import seed_unseeded

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
from .library import AS_IS, RELEVANT, Learner, column_moments

Array = NDArray[np.float64]

TARGET, HALF, NATURAL, RECALIBRATED = "target", "half", "natural", "recalibrated"
"""Forms: the target's rows alone; pooled with half of the weight on the target; pooled as rows are; corrected."""


@dataclass(frozen=True)
class Data:
    """Rows of the target and of its sources.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : ndarray
        Numbers, or codes of classes.
    domain : ndarray of int
        Below 0 for the target, else the number of the source.
    n_classes : int
        0 for a regression.
    numeric : bool
        Whether X is numbers that may be scaled; else it reaches the learner as it is.
    """

    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]
    n_classes: int
    numeric: bool = True

    @cached_property
    def target(self) -> NDArray[np.intp]:
        """The rows of the target."""
        return np.flatnonzero(self.domain < 0)

    def rows_of(self, sources: Sources) -> NDArray[np.intp]:
        """Return the rows of some sources."""
        return np.flatnonzero(np.isin(self.domain, sources))

    @property
    def label_variance(self) -> float:
        """The variance of the target's labels in a regression."""
        variance = float(np.var(self.y[self.target]))
        return variance if variance > 0 else 1.0

    def losses(self, predicted: Array) -> Array:
        """Return the Brier score or the squared error of each target row, for one set of predictions or several."""
        y = self.y[self.target]
        if not self.n_classes:
            return np.asarray((predicted - y) ** 2)
        return np.asarray(((predicted - (y[:, None] == np.arange(self.n_classes))) ** 2).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Setting:
    """A learner in one of its forms."""

    learner: Learner
    form: str

    def __str__(self) -> str:
        return str(self.learner) if self.form == TARGET else f"{self.learner}, {self.form}"


@dataclass(frozen=True)
class Fitted:
    """A fitted learner with the treatment of its columns and the correction of its output.

    Attributes
    ----------
    estimator : estimator
    mean, scale : ndarray or None
        By which columns are centred and divided.
    power : float
    n_classes : int
    correction : tuple of ndarray, or None
        What `correct_values` or `correct_classes` returned.
    """

    estimator: Any
    mean: Array | None
    scale: Array | None
    power: float
    n_classes: int
    correction: tuple[Array, ...] | None = None

    def predict(self, X: Any) -> Array:
        """Return values, or probabilities of all classes."""
        if self.scale is not None:
            X = X.multiply(1 / self.scale).tocsr() if sp.issparse(X) else (X - self.mean) / self.scale
        found = _predict(self.estimator, X, self.n_classes, self.power)
        if self.correction is None:
            return found
        correct = apply_to_classes if self.n_classes else apply_to_values
        return np.asarray(correct(found, *self.correction)[0])


def fit_learner(
    data: Data, learner: Learner, form: str, sources: Sources, train: NDArray[np.intp], seed: int, *, last: bool = False
) -> Fitted:
    """Fit a learner to some target rows and all rows of the sources.

    Parameters
    ----------
    data : Data
    learner : Learner
    form : str
        `RECALIBRATED` trains on the sources alone; the correction is not its business.
    sources : tuple of int
    train : ndarray of int
        Rows of the target.
    seed : int
    last : bool
        Whether to use the parameters of the last fit.
    """
    of_sources = data.rows_of(sources) if form != TARGET else np.empty(0, dtype=np.intp)
    of_target = train if form != RECALIBRATED else np.empty(0, dtype=np.intp)
    rows = np.concatenate([of_target, of_sources])
    X, y = _safe_indexing(data.X, rows), data.y[rows]
    mean = scale = None
    if learner.columns != AS_IS:
        # Means and variances of all rows in play, the target's held-out ones too: they hold no labels.
        whole = np.concatenate([data.target, data.rows_of(sources)]) if form != TARGET else data.target
        mean, scale = column_moments(_safe_indexing(data.X, whole))
        if learner.columns == RELEVANT:
            factor = _relevance(_scaled(X, mean, scale), y, data.n_classes)
            scale = scale / np.maximum(factor, 1e-9)
        X = _scaled(X, mean, scale)
    estimator = learner.make(last=last)
    seed_unseeded(estimator, np.random.RandomState(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit_weighted(estimator, X, y, of_target.size, form)
    return Fitted(estimator, mean, scale, learner.power, data.n_classes)


def _scaled(X: Any, mean: Array, scale: Array) -> Any:
    return X.multiply(1 / scale).tocsr() if sp.issparse(X) else (X - mean) / scale


def _relevance(X: Any, y: NDArray[Any], n_classes: int) -> Array:
    """Return the size of each column's correlation with the label less what chance gives, in units of the mean one."""
    labels = (y[:, None] == np.unique(y)).astype(float) if n_classes else y[:, None].astype(float)
    centred = labels - labels.mean(axis=0)
    n = len(centred)
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).mean(axis=0)).ravel() - mean**2
    spread = np.maximum(square, 0.0)[:, None] * (centred**2).mean(axis=0)
    joint = np.asarray(X.T @ centred) / n
    squares = np.divide(joint**2, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    found = np.maximum(squares.mean(axis=1) - 1 / max(n - 1, 1), 0.0)
    total = float(np.maximum(square, 0.0) @ found)
    return np.sqrt(found * (np.maximum(square, 0.0).sum() / total)) if total > 0 else np.ones(found.size)


def _fit_weighted(estimator: Any, X: Any, y: NDArray[Any], n_target: int, form: str) -> None:
    """Fit with half of the weight on the first rows, the target's; by repeating them where no weights are taken."""
    n_source = len(y) - n_target
    if form != HALF or not n_source or not n_target:
        estimator.fit(X, y)
        return
    inner = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if has_fit_parameter(inner, "sample_weight"):
        name = f"{estimator.steps[-1][0]}__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
        weight = np.repeat([len(y) / 2 / n_target, len(y) / 2 / n_source], [n_target, n_source])
        estimator.fit(X, y, **{name: weight})
        return
    times = max(round(n_source / n_target), 1)
    rows = np.concatenate([np.tile(np.arange(n_target), times), np.arange(n_target, len(y))])
    estimator.fit(_safe_indexing(X, rows), y[rows])


def _predict(estimator: Any, X: Any, n_classes: int, power: float) -> Array:
    if not n_classes:
        return np.asarray(estimator.predict(X), dtype=np.float64)
    known = np.asarray(estimator.classes_, dtype=np.intp)
    if hasattr(estimator, "predict_proba"):
        own = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    elif hasattr(estimator, "decision_function"):
        margin = np.asarray(estimator.decision_function(X), dtype=np.float64)
        margin = np.column_stack([-margin, margin]) / 2 if margin.ndim == 1 else margin
        own = np.exp(margin - margin.max(axis=1, keepdims=True))
    else:
        own = (np.asarray(estimator.predict(X))[:, None] == known).astype(float)
    if power != 1:
        own = (own / own.max(axis=1, keepdims=True)) ** power
    own = own / own.sum(axis=1, keepdims=True)
    found = np.zeros((len(own), n_classes))
    found[:, known] = own
    return found


def held_out(
    data: Data, learner: Learner, form: str, sources: Sources, test: NDArray[np.intp], seed: int
) -> Array | None:
    """Return predictions of some target rows by a model without them; None where the learner fails.

    With `RECALIBRATED` all target rows are predicted by the model of the sources alone, not corrected.

    Parameters
    ----------
    data : Data
    learner : Learner
    form : str
    sources : tuple of int
    test : ndarray of int
        Positions among the target's rows.
    seed : int
    """
    asked = data.target if form == RECALIBRATED else data.target[test]
    try:
        with one_thread():
            model = fit_learner(data, learner, form, sources, np.delete(data.target, test), seed)
            found = model.predict(_safe_indexing(data.X, asked))
    except (ValueError, FloatingPointError, np.linalg.LinAlgError):
        return None
    return found if np.isfinite(found).all() else None


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


class Engine:
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
        honest: bool = True,
    ) -> None:
        self.honest = honest
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
        if without is not None and self.honest:
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
        predicted = np.mean([raw[made.sources, setting, 0, 0] for setting in best.values()], axis=0)
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


def is_own_classifier(estimator: Any) -> bool:
    """Whether a user's estimator is a classifier."""
    return bool(is_classifier(estimator))
