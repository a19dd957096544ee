"""Held-out predictions of the model, of the target alone and of all sources: the whole procedure nested in folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.parallel import one_thread
from gapmin._utils.typing import Array
from gapmin.transfer.collect import Collected, fit_hypothesis
from gapmin.transfer.constants import UNIFORM_SHARE, Sources
from gapmin.transfer.importance import N_PERMUTATIONS
from gapmin.transfer.mixture import predict_mean

from .answer import gather, prepared, transfer_model
from .curve import draw_rows
from .methods import ALL_SOURCES, BASELINE, MODEL, TARGET_ONLY
from .metrics import StudyMetric, scoring_of
from .schema import Schema
from .splits import OuterFold, Rows

if TYPE_CHECKING:
    import pandas as pd

MOST_SHUFFLED = 40
"""Columns whose importance is measured: each takes predictions of its own."""

Place = tuple[str, int]
"""A method, and how many target rows it trained on; 0 for all."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of target rows by models that did not train on them.

    Attributes
    ----------
    rows : ndarray of int
        Positions among the stacked rows.
    predicted : dict of (method, size) to ndarray
        Values, or probabilities of the schema's classes; size 0 has all rows that may train. Those of the evidence have
        a first axis of repeats.
    rise : ndarray of shape (n_columns, n_rows), or None
        How much the loss of the model rises where a column is shuffled.
    failure : str
        Why there is none.
    """

    rows: Rows
    predicted: dict[Place, Array] = field(default_factory=dict)
    rise: Array | None = None
    failure: str = ""


@dataclass(frozen=True, eq=False)
class NestedData:
    """What every fold of a nested cross-validation needs.

    Attributes
    ----------
    frame : pandas.DataFrame
        The rows of the target, sorted by time where there is one, then those of the sources.
    y : ndarray
        Numbers, or codes of the schema's classes.
    domain, groups : ndarray
    schema : Schema
    inner_cv : splitter or None
    sizes : tuple of int
        Of the learning curve; the last is all rows that train.
    columns : tuple of str
        Whose importance is measured.
    metric : StudyMetric
        By which settings are chosen.
    seed : int
    """

    frame: pd.DataFrame
    y: NDArray[Any]
    domain: NDArray[np.int64]
    groups: NDArray[np.int64] | None
    schema: Schema
    inner_cv: Any
    sizes: tuple[int, ...]
    columns: tuple[str, ...]
    metric: StudyMetric
    seed: int

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 in a regression."""
        return len(self.schema.classes or ())


def run_fold(data: NestedData, fold: OuterFold) -> HeldOut:
    """Do everything that `gapmin fit` does without the rows of a fold, and predict these."""
    try:
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a solver that has not converged, say: the error tells
            return _run_fold(data, fold)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        return HeldOut(fold.test, failure=str(error).split("\n")[0])


def _run_fold(data: NestedData, fold: OuterFold) -> HeldOut:
    rows = fold.train
    prepare, X = prepared(data.schema, data.frame.iloc[rows], data.domain[rows] < 0, data.seed)
    scoring = scoring_of(data.metric, data.y[rows[data.domain[rows] < 0]])
    model = transfer_model(data.schema.task, data.seed, scoring=scoring, cv=data.inner_cv)
    groups = None if data.groups is None else data.groups[rows]
    found = gather(model, (X, data.y[rows], data.domain[rows]), groups)
    here = prepare.transform(data.frame.iloc[fold.test])

    def mixed(models: Mapping[Sources, Sequence[Any]], weights: Mapping[Sources, float], of: Any) -> Array:
        parts = {members: predict_mean(models[members], of) for members in weights}
        return mixture(model, parts, weights, range(data.n_classes))

    weights = method_weights(found)
    every: tuple[Sources, ...] = tuple(dict.fromkeys(members for each in weights.values() for members in each))
    seed = found.evaluator.seed
    models = {members: fit_hypothesis(found.data, found.evaluated[members], seed) for members in every}
    predicted = {(method, 0): mixed(models, each, here) for method, each in weights.items()}
    predicted[BASELINE, 0] = _constant(data, fold.test.size)
    curve = {method: weights[method] for method in (TARGET_ONLY, MODEL)}
    for size in data.sizes[:-1]:
        fewer = _fewer_rows(found, size, data.seed)
        at_size = {members: fit_hypothesis(fewer, found.evaluated[members], seed) for members in _members(curve)}
        predicted |= {(method, size): mixed(at_size, each, here) for method, each in curve.items()}
    rise = _rises(
        data, fold, predicted[MODEL, 0], lambda frame: mixed(models, weights[MODEL], prepare.transform(frame))
    )
    return HeldOut(fold.test, predicted, rise)


def method_weights(found: Collected) -> dict[str, dict[Sources, float]]:
    """Return the hypotheses of each method, and their weights."""
    numbers = tuple(sorted(each.number for each in found.evidence.sources))
    return {TARGET_ONLY: {(): 1.0}, ALL_SOURCES: {numbers: 1.0}, MODEL: found.kept}


def mixture(
    model: Any, parts: Mapping[Sources, Array], weights: Mapping[Sources, float], classes: Sequence[Any]
) -> Array:
    """Return the weighted mean of hypotheses: values, or what `predict_proba` returns, in the order of `classes`."""
    total = np.asarray(sum(weight * parts[members] for members, weight in weights.items()))
    if not classes:
        return total
    share = np.zeros((len(total), len(classes)))  # a fold may lack a class
    known = [list(classes).index(each) for each in model.classes_.tolist()]
    share[:, known] = model._in_order(total)
    return share


def from_evidence(model: Any, found: Collected, classes: Sequence[Any]) -> HeldOut:
    """Return the held-out predictions that the evidence rests on, with its scores; the same rows chose the weights."""
    evaluator = found.evaluator
    every = method_weights(found) | {MODEL: {each.sources: each.weight for each in found.evidence.hypotheses}}
    predicted = {
        (method, 0): np.array(
            [
                mixture(model, {each: found.evaluated[each].predicted[repeat] for each in weights}, weights, classes)
                for repeat in range(len(evaluator.repeats))
            ]
        )
        for method, weights in every.items()
    }
    predicted[BASELINE, 0] = mixture(model, {(): evaluator.constant()}, {(): 1.0}, classes)[None]
    return HeldOut(found.order[found.data.target[evaluator.rows]], predicted)


def joined(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the predictions of all folds, by rows ascending."""
    rows = np.concatenate([each.rows for each in parts])
    order = np.argsort(rows)
    predicted = {
        place: np.concatenate([each.predicted[place] for each in parts])[order]
        for place in parts[0].predicted
        if all(place in each.predicted for each in parts)
    }
    rises = [each.rise for each in parts if each.rise is not None]
    rise = np.concatenate(rises, axis=1)[:, order] if len(rises) == len(parts) else None
    return HeldOut(rows[order], predicted, rise)


def losses(predicted: Array, y: NDArray[Any], n_classes: int) -> Array:
    """Return the Brier score or the squared error of each row."""
    if not n_classes:
        return np.asarray((predicted - y) ** 2)
    return np.asarray(((predicted - (y[:, None] == np.arange(n_classes))) ** 2).sum(axis=1))


def _members(weights: Mapping[str, Mapping[Sources, float]]) -> list[Sources]:
    return list(dict.fromkeys(members for each in weights.values() for members in each))


def _constant(data: NestedData, n_rows: int) -> Array:
    """Return what the labels of the whole target alone predict, as `from_evidence` does."""
    y = data.y[data.domain < 0]
    if not data.n_classes:
        return np.full(n_rows, y.mean())
    share = np.bincount(y, minlength=data.n_classes) / y.size
    return np.tile((1 - UNIFORM_SHARE) * share + UNIFORM_SHARE / data.n_classes, (n_rows, 1))


def _fewer_rows(found: Collected, size: int, seed: int) -> Any:
    """Return the data with so many target rows, drawn at random, and all rows of the sources."""
    target = found.data.target
    order = np.random.default_rng(seed).permutation(target.size)
    drawn = draw_rows(found.data.y[target], size, order, found.data.n_classes > 0)
    return found.data.take(np.concatenate([target[drawn], np.flatnonzero(found.data.domain > 0)]))


def _rises(data: NestedData, fold: OuterFold, before: Array, predict: Any) -> Array:
    """Return for each column and each row of a fold how much the model's loss rises when the column is shuffled."""
    import pandas as pd

    random = np.random.default_rng(data.seed)
    frame, y = data.frame.iloc[fold.test], data.y[fold.test]
    repeated = pd.concat([frame] * N_PERMUTATIONS, ignore_index=True)
    base = losses(before, y, data.n_classes)
    rise = np.empty((len(data.columns), y.size))
    for k, name in enumerate(data.columns):
        values = frame[name].to_numpy()
        drawn = np.concatenate([random.permutation(values) for _ in range(N_PERMUTATIONS)])
        after = losses(predict(repeated.assign(**{name: drawn})), np.tile(y, N_PERMUTATIONS), data.n_classes)
        rise[k] = after.reshape(N_PERMUTATIONS, -1).mean(axis=0) - base
    return rise
