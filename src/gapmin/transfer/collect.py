"""From rows to evidence: the one procedure behind every answer about sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import log
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from gapmin._utils.parallel import one_thread
from gapmin._utils.text import counted
from gapmin._utils.typing import Array

from ._columns import look_permuted
from ._fitting import Data, FittedLearner, correct, fit_learner
from ._likelihood import mix_uniform
from .constants import RECALIBRATED, SMALLEST_WEIGHT, USE_FROM, Sources
from .evaluate import Evaluated, Evaluator
from .evidence import candidate_sets, judge, posterior_weights, prior_weights, union_of_helpful
from .findings import column_findings, leak_findings, link_rows, row_keys
from .folds import draw_asides, draw_folds, folds_of
from .library import Learner
from .result import Evidence, Hypothesis, Score
from .scoring import Scoring

Brackets = tuple[float, float, float]
"""The first bracket, the evidence and its standard error."""


@dataclass(frozen=True)
class Options:
    """How evidence is collected.

    Attributes
    ----------
    n_splits, n_repeats : int or None
        Folds of the target's rows, and how often they are drawn: by default 3 times with up to 30 rows, else twice.
    cv : splitter or None
        In place of these.
    seed : int
    n_jobs : int or None
    aligned : bool
        Whether columns are known to be the same, as after matching them by name; else a source whose columns look
        permuted has less prior weight.
    odds : mapping of int to float, or None
        The user's belief in sources.
    max_source_rows : int or None
        Rows of the sources that are used, drawn at random from the larger ones.
    time_limit : float or None
        In seconds.
    column_names : sequence of str, or None
    on_progress : callable
        Given the share of the present stage that is done.
    """

    seed: int
    n_splits: int = 5
    n_repeats: int | None = None
    cv: Any = None
    n_jobs: int | None = None
    aligned: bool = False
    odds: Mapping[int, float] | None = None
    max_source_rows: int | None = None
    time_limit: float | None = None
    column_names: Sequence[str] | None = None
    on_progress: Callable[[float], object] = lambda share: None


@dataclass(frozen=True)
class Collected:
    """Evidence, and what is needed to fit the models that it weighs.

    Attributes
    ----------
    evidence : Evidence
    evaluated : dict of tuple to Evaluated
    data : Data
        All rows in canonical order, to be fitted to in the end.
    order : ndarray of int
        Where each of them was given.
    evaluator : Evaluator
    """

    evidence: Evidence
    evaluated: dict[Sources, Evaluated]
    data: Data
    order: NDArray[np.intp]
    evaluator: Evaluator

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
    scoring: Scoring,
    options: Options,
    *,
    names: Mapping[int, str],
    groups: NDArray[Any] | None = None,
) -> Collected:
    """Evaluate hypotheses on held-out target rows and weigh them.

    Parameters
    ----------
    data : Data
    learners : sequence of Learner
    scoring : Scoring
    options : Options
    names : mapping of int to str
        Of the sources.
    groups : ndarray or None
        Of all rows.
    """
    numbers = canonical_order(data)
    order = np.concatenate([data.target, *(np.flatnonzero(data.domain == number) for number in numbers)])
    data = data.take(order)
    evaluator, repeated, shared = make_evaluator(
        data, learners, scoring, options, None if groups is None else groups[order], numbers
    )
    searched = evaluator.data
    sets = candidate_sets(numbers)
    evaluated = evaluator.evaluate(sets)
    brackets = {members: brackets_of(evaluator, evaluated, members) for members in sets}
    union = union_of_helpful({members: value for members, (_, value, _) in brackets.items()})
    if union and union not in evaluated and evaluator.is_late():
        evaluator.dropped.append("not the sources that look useful alone together")
    elif union and union not in evaluated:
        sets.append(union)
        evaluated |= evaluator.evaluate([union])
        brackets[union] = brackets_of(evaluator, evaluated, union)
    permuted = [
        number
        for number in ([] if options.aligned else numbers)
        if look_permuted(searched.X, searched.target, np.flatnonzero(searched.domain == number), options.seed)
    ]
    prior = prior_weights(sets, len(numbers), permuted, options.odds) if numbers else np.ones(1)
    reversed_labels = [
        number
        for number in numbers
        if brackets[number,][1] < log(USE_FROM) and _looks_reversed(evaluator, evaluated[number,].source_alone)
    ]
    prior[[bool(set(members) & set(reversed_labels)) for members in sets]] = 0.0
    values = np.array([brackets[members][1] for members in sets])
    weights = dict(zip(sets, posterior_weights(prior, values).tolist(), strict=True))
    scores, model, change, baseline = _scores(evaluator, evaluated, weights)
    hypotheses = [
        Hypothesis(
            members,
            evaluator.log_likelihood(evaluated[members].predicted),
            brackets[members][0],
            evaluated[members].without_rows,
            *brackets[members][1:],
            prior=float(p),
            weight=weights[members],
            scores=scores[members],
            chosen={each.learner.kind: str(each) for each in evaluated[members].chosen},
            kind_weights={each.learner.kind: share for each, share in evaluated[members].chosen.items()},
        )
        for members, p in zip(sets, prior, strict=True)
    ]
    verdicts = judge(hypotheses, names, {number: int((data.domain == number).sum()) for number in numbers})
    noted = {
        number: (
            *(["its columns look permuted: check their order"] if number in permuted else []),
            *(["its labels look reversed"] if number in reversed_labels else []),
            *leak_findings(number, repeated, shared),
            *column_findings(data, number, options.column_names, options.seed),
        )
        for number in numbers
    }
    evidence = Evidence(
        tuple(hypotheses),
        tuple(replace(each, findings=noted[each.number]) for each in verdicts),
        "classification" if data.n_classes else "regression",
        evaluator.y.size,
        scoring.metrics,
        model,
        change,
        baseline,
        (*_limits(evaluator, data, options), *_one_class(evaluator, evaluated, weights)),
    )
    return Collected(evidence, evaluated, data, order, evaluator)


def forced(collected: Collected, weights: Mapping[Sources, float], choice: str) -> Evidence:
    """Return the evidence with the scores of the model that the user forces, and a word on that."""
    evaluator, evaluated, evidence = collected.evaluator, collected.evaluated, collected.evidence
    _, model, change, _ = _scores(evaluator, evaluated, weights)
    finding = f"the model uses {'all' if choice == 'all' else 'no'} sources because sources={choice!r} was given"
    of_mixture = _one_class(evaluator, evaluated, {each.sources: each.weight for each in evidence.hypotheses})
    others = (each for each in evidence.findings if each not in of_mixture)
    findings = (finding, *others, *_one_class(evaluator, evaluated, weights))
    return replace(evidence, model=model, change=change, findings=findings)


def make_evaluator(
    data: Data,
    learners: Sequence[Learner],
    scoring: Scoring,
    options: Options,
    groups: NDArray[Any] | None,
    numbers: Sequence[int],
) -> tuple[Evaluator, dict[int, int], dict[int, int]]:
    """Return the engine on the rows that are searched, and the counts of linked rows; see `link_rows`."""
    keys = row_keys(data)
    searched, repeated, shared = link_rows(data, keys, groups)
    kept = sample_sources(searched, numbers, options.max_source_rows, options.seed)
    if kept.size < data.domain.size:
        searched = searched.take(kept)
    of_target = None if groups is None else groups[data.target]
    if options.cv is not None:
        y = data.y[data.target]
        repeats = folds_of(options.cv, searched, y, of_target)
    else:
        n_target = data.target.size
        n_repeats = options.n_repeats or (3 if n_target <= 30 else 2)
        repeats = draw_folds(searched, min(options.n_splits, n_target // 2), n_repeats, options.seed, of_target)
    evaluator = Evaluator(
        searched,
        learners,
        repeats,
        draw_asides(searched, numbers, len(repeats[0]), options.seed, (keys if groups is None else groups)[kept]),
        scoring=scoring,
        n_jobs=options.n_jobs,
        seed=options.seed,
        time_limit=options.time_limit,
        on_progress=options.on_progress,
    )
    return evaluator, repeated, shared


def fit_hypothesis(data: Data, evaluated: Evaluated, seed: int) -> list[FittedLearner]:
    """Return the models of a hypothesis fitted on all rows, those of the kinds with much weight; see `Choice`."""
    heavy = {setting: weight for setting, weight in evaluated.chosen.items() if weight >= SMALLEST_WEIGHT}
    models = []
    with one_thread():
        for setting, weight in heavy.items():
            model = fit_learner(data, setting.learner, setting.form, evaluated.sources, None, seed)
            model = correct(model, data, None) if setting.form == RECALIBRATED else model
            models.append(replace(model, weight=weight / sum(heavy.values())))
    return models


def canonical_order(data: Data) -> list[int]:
    """Return the sources' numbers in an order that depends on their rows, not on how they were numbered."""
    numbers = np.unique(data.domain[data.domain > 0]).tolist()

    def content(number: int) -> tuple[int, bytes]:
        rows = np.flatnonzero(data.domain == number)
        X = _safe_indexing(data.X, rows)
        digest = sha256(np.ascontiguousarray(data.y[rows]).tobytes())
        for part in (X.indptr, X.indices, X.data) if sp.issparse(X) else (np.asarray(X),):
            digest.update(
                repr(part.tolist()).encode() if part.dtype.hasobject else np.ascontiguousarray(part).tobytes()
            )
        return rows.size, digest.digest()

    return sorted(numbers, key=content)


def sample_sources(data: Data, numbers: Sequence[int], most: int | None, seed: int) -> NDArray[np.intp]:
    """Return all target rows and at most so many source rows, those of the larger sources drawn at random."""
    rows = [np.flatnonzero(data.domain == number) for number in numbers]
    if most is None or sum(each.size for each in rows) <= most:
        return np.arange(data.domain.size)
    random, left, kept = np.random.default_rng(seed), most, [data.target]
    # The smallest first: what they do not need is the others'. Of each at least one row.
    for place, each in enumerate(sorted(rows, key=len)):
        size = min(each.size, max(left // (len(rows) - place), 1))
        kept.append(random.choice(each, size, replace=False))
        left -= size
    return np.sort(np.concatenate(kept))


def brackets_of(evaluator: Evaluator, evaluated: Mapping[Sources, Evaluated], members: Sources) -> Brackets:
    """Return the first bracket, the evidence and its standard error; zeros for the target alone."""
    return evaluator.evidence(evaluated[members], evaluated[()]) if members else (0.0, 0.0, 0.0)


def held_out_mixture(evaluated: Mapping[Sources, Evaluated], weights: Mapping[Sources, float]) -> Array:
    """Return the held-out predictions of a mixture of hypotheses."""
    return np.asarray(sum(weight * evaluated[members].predicted for members, weight in weights.items()))


Scores = dict[str, Score]


def _scores(
    evaluator: Evaluator, evaluated: Mapping[Sources, Evaluated], weights: Mapping[Sources, float]
) -> tuple[dict[Sources, Scores], Scores, Scores, Scores]:
    """Return by metric the scores of each hypothesis, of the mixture, of its change and of the labels alone."""
    asked: dict[Any, Array] = {None: evaluated[()].predicted, "model": held_out_mixture(evaluated, weights)}
    asked["baseline"] = evaluator.constant()[None]
    asked |= {members: made.predicted for members, made in evaluated.items() if members}
    by_hypothesis: dict[Sources, Scores] = {members: {} for members in evaluated}
    model, change, baseline = {}, {}, {}
    for metric in evaluator.scoring.metrics:
        found = evaluator.scoring.score(metric, asked, evaluator.y)
        for members in evaluated:
            by_hypothesis[members][metric] = found[members or None]
        model[metric], baseline[metric] = found["model"], found["baseline"]
        change[metric] = found["model", "change"]
    return by_hypothesis, model, change, baseline


def _limits(evaluator: Evaluator, data: Data, options: Options) -> list[str]:
    """Say which limits were met."""
    found = []
    if evaluator.dropped:
        found.append(
            f"the time limit of {options.time_limit:g} s allowed {', '.join(evaluator.dropped)}: "
            "the result may differ on another machine"
        )
    n_searched, n_rows = evaluator.data.domain.size, data.domain.size
    if n_searched < n_rows:
        n_target = data.target.size
        found.append(
            f"evaluated with {n_searched - n_target:,} of {counted(n_rows - n_target, 'source row')}, drawn at random; "
            "the model is fitted to all"
        )
    return found


def _one_class(
    evaluator: Evaluator, evaluated: Mapping[Sources, Evaluated], weights: Mapping[Sources, float]
) -> list[str]:
    """Say where a mixture predicts one class of several for every row."""
    scoring = evaluator.scoring
    if scoring.classes is None or np.unique(evaluator.y).size < 2:
        return []
    decided = np.unique(scoring.decide(held_out_mixture(evaluated, weights)))
    if decided.size > 1:
        return []
    remedy = ", or set class_weight='balanced'" if scoring.class_weight is None else ""
    return [
        f"the model predicts class {scoring.labels(decided)[0]} for every held-out row: look at predict_proba{remedy}"
    ]


def _looks_reversed(evaluator: Evaluator, predicted: NDArray[Any] | None) -> bool:
    """Tell whether a source's predictions fit far better when reversed, by the odds that count as clear."""
    if predicted is None:
        return False
    turned = softmax(-np.log(mix_uniform(predicted)), axis=1) if evaluator.data.n_classes else -predicted
    fits = [evaluator.corrected_log_likelihood(each, slope=True) for each in (turned, predicted)]
    return fits[0] - fits[1] > log(USE_FROM)
