"""Which sources help a target: the evidence without the model, and each source's share of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target

from gapmin.base import first_missing
from gapmin.domains import stack_domains

from .collect import Collected, brackets_of
from .constants import Sources
from .evaluate import Evaluator
from .result import Evidence
from .transfer_cv import TransferClassifierCV, TransferRegressorCV

_MOST_EXACT = 5
"""Sources up to which Shapley values go over every set."""

_SOURCE_ORDERS = 20
"""Random orders of more sources."""


def rank_sources(
    target: tuple[Any, Any],
    sources: Mapping[str, tuple[Any, Any]] | Sequence[tuple[Any, Any]],
    *,
    task: str | None = None,
    groups: Sequence[Any] | None = None,
    shapley: bool = False,
    **options: Any,
) -> Evidence:
    """Say which sources help a target, without fitting the model in the end.

    The verdicts and weights are those of `TransferClassifierCV` or `TransferRegressorCV` with the same rows and seed.

    Parameters
    ----------
    target : tuple of X and y
        Rows and labels of the target.
    sources : mapping of name to tuple of X and y, or sequence of such tuples
        Data frames are matched by the names of their columns, in any order; where all are frames, columns are taken
        to be the same (`aligned=True`).
    task : "classification", "regression" or None, default=None
        None goes by the labels.
    groups : sequence of array-like, optional
        The groups of the target's rows, then those of each source's; see `TransferClassifierCV.fit`.
    shapley : bool, default=False
        Whether to share out the evidence for all sources together among them: Shapley values, by linear models or by
        the `estimator` given. Exact with up to five sources, else from random orders, with a standard error. They
        take their time beside a `time_limit`.
    **options
        Parameters of `TransferClassifierCV`, such as `estimator`, `scoring`, `n_jobs` and `random_state`. In
        `prior_odds` sources may have their names.

    Returns
    -------
    Evidence
        A verdict on each source.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(330, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=330)
    >>> sources = {"good": (X[30:180], y[30:180]), "random": (X[180:], rng.permutation(y[180:]))}
    >>> found = rank_sources((X[:30], y[:30]), sources, shapley=True, random_state=0)
    >>> {each.name: each.verdict for each in found.sources}
    {'good': 'use', 'random': 'leave out'}
    """
    named = _named(sources)
    pairs = [_checked(f"source {name!r}" if name else "target", pair) for name, pair in (("", target), *named.items())]
    pairs = [pairs[0], *((_aligned(X, pairs[0][0], name), y) for (X, y), name in zip(pairs[1:], named, strict=True))]
    X, y, sample_domain = stack_domains(target=pairs[0], sources=pairs[1:])
    kind: Any = TransferClassifierCV if _task(task, y) == "classification" else TransferRegressorCV
    if all(hasattr(each, "columns") for each, _ in pairs):
        options.setdefault("aligned", True)
    numbers = {name: number for number, name in enumerate(named, start=1)}
    if isinstance(odds := options.get("prior_odds"), Mapping):
        options["prior_odds"] = {numbers.get(name, name): value for name, value in odds.items()}
    collected = kind(**options)._gather(X, y, sample_domain, _stacked_groups(groups, pairs))
    evidence = collected.evidence.renamed({number: name for name, number in numbers.items()})
    if not shapley:
        return evidence
    shares = shapley_values(collected)
    return replace(
        evidence,
        sources=tuple(
            replace(each, shapley=shares[each.number][0], shapley_error=shares[each.number][1])
            for each in evidence.sources
        ),
    )


def _stacked_groups(groups: Sequence[Any] | None, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return the groups of all rows in the order of the tables."""
    if groups is None:
        return None
    sizes = [len(y) for _, y in pairs]
    parts = [np.asarray(each) for each in groups]
    if [len(each) for each in parts] != sizes:
        raise ValueError(
            f"groups has {[len(each) for each in parts]} entries for tables of {sizes} rows: give the target's groups, "
            "then each source's"
        )
    return np.concatenate(parts)


def shapley_values(collected: Collected) -> dict[int, tuple[float, float | None]]:
    """Return for each source its mean gain of evidence over the orders in which sources can be added.

    Of few sources over all orders; of many over random ones, with a standard error. The values sum to the evidence for
    all sources together.
    """
    engine = collected.evaluator
    fast = [each for each in engine.learners if each.kind == "linear"] or engine.learners
    evaluator = Evaluator(
        engine.data, fast, engine.repeats, engine.asides, scoring=engine.scoring, n_jobs=engine.n_jobs, seed=engine.seed
    )
    numbers = sorted(each.number for each in collected.evidence.sources)
    if len(numbers) <= _MOST_EXACT:
        every = [each for size in range(len(numbers) + 1) for each in combinations(numbers, size)]
        value = _values(evaluator, every)
        return {number: (_exact(number, numbers, value), None) for number in numbers}
    random = np.random.default_rng(engine.seed)
    orders = [random.permutation(numbers).tolist() for _ in range(_SOURCE_ORDERS)]
    chains = [[tuple(sorted(order[:size])) for size in range(len(order) + 1)] for order in orders]
    value = _values(evaluator, list(dict.fromkeys(chain.from_iterable(chains))))
    gains = {number: np.empty(len(orders)) for number in numbers}
    for k, (order, sets) in enumerate(zip(orders, chains, strict=True)):
        for number, before, after in zip(order, sets[:-1], sets[1:], strict=True):
            gains[number][k] = value[after] - value[before]
    return {number: (float(g.mean()), float(g.std(ddof=1) / np.sqrt(g.size))) for number, g in gains.items()}


def _values(evaluator: Evaluator, sets: Sequence[Sources]) -> dict[Sources, float]:
    evaluated = evaluator.evaluate(sets)
    return {members: brackets_of(evaluator, evaluated, members)[1] for members in sets}


def _exact(number: int, numbers: Sequence[int], value: Mapping[Sources, float]) -> float:
    others = [each for each in numbers if each != number]
    total = 0.0
    for size in range(len(others) + 1):
        for members in combinations(others, size):
            gain = value[tuple(sorted((*members, number)))] - value[members]
            total += gain / comb(len(others), size) / len(numbers)
    return total


def _named(sources: Any) -> dict[str, Any]:
    """Return the sources by name, those of a sequence as "source 1", "source 2", …"""
    if isinstance(sources, Mapping):
        named = [(str(name), pair) for name, pair in sources.items()]
    elif isinstance(sources, Sequence) and not isinstance(sources, str):
        named = [(f"source {k}", pair) for k, pair in enumerate(sources, start=1)]
    else:
        raise ValueError(f"sources is {type(sources).__name__}: give a mapping of name to (X, y), or a list of (X, y)")
    if not named:
        raise ValueError("there are no sources: give at least one (X, y)")
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two sources are called {name!r}: give each a name of its own")
    return dict(named)


def _checked(who: str, pair: Any) -> tuple[Any, Any]:
    if not (isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2):
        raise ValueError(f"the {who} is {type(pair).__name__}, not a pair (X, y): give its rows and its labels")
    X, y = pair
    X = X if hasattr(X, "columns") or sp.issparse(X) else np.asarray(X)
    labels = np.asarray(y)
    if (missing := first_missing(y)) is not None:
        raise ValueError(f"the {who} has {missing[1]} for a label in row {missing[0]}: leave out rows without a label")
    if len(X.shape) != 2 or labels.ndim != 1 or X.shape[0] != labels.size:
        raise ValueError(
            f"the {who} has X of shape {X.shape} and y of shape {labels.shape}: give rows, columns and a label a row"
        )
    if not labels.size:
        raise ValueError(f"the {who} has no rows: " + ("give some" if who == "target" else "leave it out"))
    return X, labels


def _aligned(X: Any, target: Any, name: str) -> Any:
    """Return a source's frame with its columns in the target's order, or say what is missing."""
    if not (hasattr(X, "columns") and hasattr(target, "columns")):
        return X
    mine, wanted = list(X.columns), list(target.columns)
    for columns, others, has in ((wanted, mine, "lacks"), (mine, wanted, "has")):
        strange = [column for column in columns if column not in others]
        if strange:
            other = "has" if has == "lacks" else "lacks"
            raise ValueError(
                f"the source {name!r} {has} the column {strange[0]!r}, which the target {other}: give the same columns"
            )
    return X if mine == wanted else X[wanted]


def _task(task: str | None, y: Any) -> str:
    if task in ("classification", "regression"):
        return str(task)
    if task is not None:
        raise ValueError(f"task is {task!r}: use 'classification', 'regression', or None to go by the labels")
    kind = type_of_target(y)
    if kind not in ("binary", "multiclass", "continuous"):
        raise ValueError(f"the labels are {kind} to scikit-learn: give classes or numbers, one for each row")
    if kind == "multiclass" and y.dtype.kind in "iuf" and 2 * (distinct := np.unique(y).size) > y.size:
        raise ValueError(
            f"the labels are {distinct} distinct whole numbers in {y.size} rows: give task='regression', or "
            "task='classification' where they are classes"
        )
    return "regression" if kind == "continuous" else "classification"
