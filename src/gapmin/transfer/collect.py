"""From rows to evidence: the one procedure behind every answer about sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from gapmin.transfer._columns import is_match, likeness

from ._fitting import RECALIBRATED, Data, FittedLearner, fit_learner
from ._likelihood import correct_classes, correct_values, mix_uniform
from .evaluate import Evaluated, Evaluator, draw_folds
from .evidence import (
    USE_FROM,
    Evidence,
    Hypothesis,
    Sources,
    candidate_sets,
    judge,
    posterior_weights,
    prior_weights,
    union_of_helpful,
)
from .library import Learner

SMALLEST_WEIGHT = 0.01
"""Hypotheses with less weight are not fitted in the end; their weight goes to the others."""


@dataclass(frozen=True)
class Collected:
    """Evidence, and what is needed to fit the models that it weighs.

    Attributes
    ----------
    evidence : Evidence
    evaluated : dict of tuple to Evaluated
    """

    evidence: Evidence
    evaluated: dict[Sources, Evaluated]

    @property
    def kept(self) -> dict[Sources, float]:
        """The weights of the hypotheses that are worth fitting, which sum to one."""
        weights = {each.sources: each.weight for each in self.evidence.hypotheses}
        heavy = {members: weight for members, weight in weights.items() if weight >= SMALLEST_WEIGHT}
        total = sum(heavy.values())
        return {members: weight / total for members, weight in heavy.items()}


def collect_evidence(
    data: Data,
    learners: Sequence[Learner],
    *,
    names: Mapping[int, str],
    n_splits: int,
    n_repeats: int,
    seed: int,
    n_jobs: int | None = None,
    aligned: bool = False,
    odds: Mapping[int, float] | None = None,
    max_source_rows: int | None = None,
) -> Collected:
    """Evaluate hypotheses on held-out target rows and weigh them.

    Parameters
    ----------
    data : Data
    learners : sequence of Learner
    names : mapping of int to str
        Of the sources.
    n_splits, n_repeats : int
        Folds of the target's rows, and how often they are drawn.
    seed : int
    n_jobs : int or None
    aligned : bool
        Whether columns are known to be the same, as after matching them by name; else a source whose columns look
        permuted has less prior weight.
    odds : mapping of int to float, optional
        The user's belief in sources.
    max_source_rows : int or None
        Rows of the sources that are used, drawn at random from the larger ones.
    """
    numbers = canonical_order(data)
    sizes = {number: int((data.domain == number).sum()) for number in numbers}
    searched, repeated = without_repeated_rows(data)
    searched = sample_sources(searched, numbers, max_source_rows, seed)
    evaluator = Evaluator(
        searched,
        learners,
        draw_folds(searched, n_splits, n_repeats, seed),
        n_jobs=n_jobs,
        seed=seed,
    )
    sets = candidate_sets(numbers)
    evaluated = evaluator.evaluate(sets)
    brackets = {members: _brackets(evaluator, evaluated, members) for members in sets}
    union = union_of_helpful({members: value for members, (_, value, _) in brackets.items()})
    if union and union not in evaluated:
        sets.append(union)
        evaluated |= evaluator.evaluate([union])
        brackets[union] = _brackets(evaluator, evaluated, union)
    permuted = [] if aligned else [number for number in numbers if _looks_permuted(searched, number, seed)]
    prior = prior_weights(sets, len(numbers), permuted, odds) if numbers else np.ones(1)
    weight = posterior_weights(prior, np.array([brackets[members][1] for members in sets]))
    hypotheses = [
        Hypothesis(
            members,
            evaluator.log_likelihood(evaluated[members].predicted),
            brackets[members][0],
            evaluated[members].without_rows,
            brackets[members][1],
            brackets[members][2],
            float(p),
            float(w),
            chosen={kind: str(setting) for kind, setting in evaluated[members].chosen.items()},
        )
        for members, p, w in zip(sets, prior, weight, strict=True)
    ]
    verdicts = judge(hypotheses, names, sizes, {})
    noted = _findings(evaluator, evaluated, names, permuted, repeated)
    verdicts = tuple(replace(each, findings=tuple(noted.get(each.number, ()))) for each in verdicts)
    evidence = Evidence(
        tuple(hypotheses), verdicts, "classification" if data.n_classes else "regression", searched.target.size
    )
    return Collected(evidence, evaluated)


def fit_hypothesis(data: Data, evaluated: Evaluated, seed: int) -> list[FittedLearner]:
    """Return the models of a hypothesis, one of each kind, fitted on all rows."""
    models = []
    for setting in evaluated.chosen.values():
        model = fit_learner(data, setting.learner, setting.form, evaluated.sources, data.target, seed, last=True)
        if setting.form == RECALIBRATED:
            predicted, y = model.predict(_safe_indexing(data.X, data.target)), data.y[data.target]
            whole = np.ones((1, y.size), dtype=bool)
            correct: Any = correct_classes if data.n_classes else correct_values
            model = replace(model, correction=correct(predicted, y, whole, slope=True))
        models.append(model)
    return models


def canonical_order(data: Data) -> list[int]:
    """Return the sources' numbers in an order that depends on their rows, not on how they were numbered."""
    numbers = np.unique(data.domain[data.domain > 0]).tolist()

    def content(number: int) -> tuple[int, float, float]:
        rows = np.flatnonzero(data.domain == number)
        y = data.y[rows].astype(float)
        return rows.size, float(y.sum()), float((y * np.arange(1, y.size + 1)).sum())

    return sorted(numbers, key=content)


def without_repeated_rows(data: Data) -> tuple[Data, dict[int, int]]:
    """Leave out source rows that are also in the target, label and all: they would make the source look better.

    Returns
    -------
    Data
    dict of int to int
        How many rows of each source were left out.
    """
    if not data.numeric or sp.issparse(data.X):
        return data, {}
    table = np.column_stack([np.asarray(data.X, dtype=np.float64), data.y.astype(np.float64)])
    keys = np.ascontiguousarray(table).view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    repeated = (data.domain > 0) & np.isin(keys, keys[data.target])
    if not repeated.any():
        return data, {}
    counts = {int(k): int(((data.domain == k) & repeated).sum()) for k in np.unique(data.domain[repeated])}
    # A source that repeats the target entirely keeps its rows: without any it could not be judged at all.
    whole = [k for k, n in counts.items() if n == int((data.domain == k).sum())]
    repeated &= ~np.isin(data.domain, whole)
    return _take(data, np.flatnonzero(~repeated)), counts


def sample_sources(data: Data, numbers: Sequence[int], most: int | None, seed: int) -> Data:
    """Leave out rows of the larger sources at random where there are more than are to be used."""
    rows = [np.flatnonzero(data.domain == number) for number in numbers]
    if most is None or sum(each.size for each in rows) <= most:
        return data
    random, left, kept = np.random.default_rng(seed), most, [data.target]
    # The smallest first: what they do not need is the others'. Of each at least one row.
    for place, each in enumerate(sorted(rows, key=len)):
        size = min(each.size, max(left // (len(rows) - place), 1))
        kept.append(random.choice(each, size, replace=False))
        left -= size
    return _take(data, np.sort(np.concatenate(kept)))


def _take(data: Data, rows: NDArray[np.intp]) -> Data:
    return Data(_safe_indexing(data.X, rows), data.y[rows], data.domain[rows], data.n_classes, data.numeric)


def _brackets(
    evaluator: Evaluator, evaluated: Mapping[Sources, Evaluated], members: Sources
) -> tuple[float, float, float]:
    """Return the first bracket, the evidence and its standard error; zeros for the target alone."""
    return evaluator.evidence(evaluated[members], evaluated[()]) if members else (0.0, 0.0, 0.0)


def _looks_permuted(data: Data, number: int, seed: int) -> bool:
    return is_match(likeness(data.X, data.target, np.flatnonzero(data.domain == number), seed)) is False


def _findings(
    evaluator: Evaluator,
    evaluated: Mapping[Sources, Evaluated],
    names: Mapping[int, str],
    permuted: Sequence[int],
    repeated: Mapping[int, int],
) -> dict[int, list[str]]:
    """Return what was noticed about each source."""
    noted: dict[int, list[str]] = {}
    for number in names:
        found = noted.setdefault(number, [])
        made = evaluated.get((number,))
        if made is not None and made.source_alone is not None and _looks_reversed(evaluator, made.source_alone):
            found.append("its labels look reversed")
        if number in permuted:
            found.append("its columns look permuted: check their order")
        if number in repeated:
            found.append(f"{repeated[number]} of its rows are also in the target and were not used as evidence")
    return noted


def _looks_reversed(evaluator: Evaluator, predicted: NDArray[Any]) -> bool:
    """Tell whether a source's predictions fit far better when turned round, by the odds that count as clear."""
    turned = softmax(-np.log(mix_uniform(predicted)), axis=1) if evaluator.data.n_classes else -predicted
    fits = [
        np.mean(
            [
                evaluator.log_likelihood(evaluator.correct(each, repeat, slope=True)[None])
                for repeat in range(len(evaluator.repeats))
            ]
        )
        for each in (turned, predicted)
    ]
    return bool(fits[0] - fits[1] > np.log(USE_FROM))
