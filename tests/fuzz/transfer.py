"""Degenerate tables for `Transfer*CV`: whatever the rows are, the result has its properties or there is a clear error.

    python tests/fuzz/transfer.py --cases 500 --seed 22

Each case draws rows (constant columns, one row a class, a source of one row, classes only in a source, twenty sources,
sparse, float32, extreme scales), fits with warnings as errors, and asserts that predictions are finite, probabilities
and weights sum to one, inputs stay, and that other numbers of the sources and other names of the classes change nothing
beyond 1e-6.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gapmin.transfer import TransferClassifierCV, TransferRegressorCV

SHAPES = ("plain", "constant column", "one row a class", "one source row", "classes only in a source", "twenty sources")
SHAPES += ("sparse", "float32", "huge", "tiny", "far from zero", "equal rows", "few rows", "one label", "many classes")
CLOSE = 1e-6


@dataclass(frozen=True)
class Case:
    """Rows of one case."""

    shape: str
    regression: bool
    X: Any
    y: NDArray[Any]
    domain: NDArray[np.int64]


def draw(seed: int, number: int) -> Case:
    """Return a case; the same seed and number give the same rows."""
    rng = np.random.default_rng([seed, number])
    shape, regression = SHAPES[number % len(SHAPES)], bool(rng.integers(2))
    n_sources = 20 if shape == "twenty sources" else int(rng.integers(1, 4))
    sizes = [int(rng.integers(4, 9)) if shape == "few rows" else int(rng.integers(8, 30))]
    sizes += [int(rng.integers(3, 40)) for _ in range(n_sources)]
    if shape == "one source row":
        sizes[1] = 1
    domain = np.repeat([-1, *range(1, n_sources + 1)], sizes).astype(np.int64)
    X = rng.normal(size=(domain.size, int(rng.integers(1, 8))))
    value = X[:, 0] + 0.3 * rng.normal(size=domain.size)
    y: NDArray[Any] = value if regression else (value > 0).astype(int) + (value > 1)
    if not regression:
        y[:2] = [0, 1]
    if shape == "constant column":
        X[:, 0] = 3.0
    elif shape == "one row a class" and not regression:
        y[: sizes[0]] = np.arange(sizes[0]) % 4 // 3
        y[0] = 2
    elif shape == "classes only in a source" and not regression:
        y[domain == 1] += 5
    elif shape == "sparse":
        X = sp.csr_matrix(np.where(rng.uniform(size=X.shape) < 0.6, 0.0, X))
    elif shape == "float32":
        X = X.astype(np.float32)
    elif shape in ("huge", "tiny"):
        X = X * (1e25 if shape == "huge" else 1e-25)
        y = y * (1e60 if shape == "huge" else 1e-60) if regression else y
    elif shape == "far from zero":
        X = X + 1e9
        y = y + 1e9 if regression else y
    elif shape == "equal rows":
        X = np.repeat(X[:1], len(X), axis=0)
    elif shape == "one label":
        y = np.where(domain < 0, y[0], y)
    elif shape == "many classes" and not regression:
        y = rng.integers(8, size=y.size)
    return Case(shape, regression, X, y, domain)


def check(case: Case, seed: int) -> str:
    """Return "fitted" or "refused"; raise where a promise is broken."""
    kind: Any = TransferRegressorCV if case.regression else TransferClassifierCV
    before = [np.array(each.toarray() if sp.issparse(each) else each) for each in (case.X, case.y, case.domain)]
    options = {"n_splits": 2 + seed % 4, "n_repeats": 1, "random_state": seed}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = kind(**options).fit(case.X, case.y, sample_domain=case.domain)
    except ValueError as error:
        if ": " not in str(error):  # a message of ours: what is wrong, and after a colon what to do
            raise
        return "refused"
    after = [each.toarray() if sp.issparse(each) else each for each in (case.X, case.y, case.domain)]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True)), "an input was changed"
    predicted = model.predict(case.X)
    weights = [each.weight for each in model.evidence_.hypotheses]
    assert abs(sum(weights) - 1) < CLOSE, f"weights {weights}"
    assert min(weights) >= 0, f"weights {weights}"
    assert abs(sum(model.domain_weight_.values()) - 1) < CLOSE, "weights of domains"
    assert abs(model.sample_weight_.sum() - 1) < CLOSE, "weights of rows"
    if case.regression:
        assert np.isfinite(predicted).all(), "predictions are not finite"
        assert np.isfinite(model.predict_interval(case.X)).all(), "intervals are not finite"
    else:
        share = model.predict_proba(case.X)
        assert np.isfinite(share).all(), "probabilities are not finite"
        assert np.allclose(share.sum(axis=1), 1), "probabilities do not sum to one"
    _check_names(case, kind(**options), model)
    return "fitted"


def _check_names(case: Case, again: Any, model: Any) -> None:
    """Other numbers of the sources, in another order of rows, and other names of the classes change nothing."""
    numbers = np.unique(case.domain[case.domain > 0])
    renumbered = np.where(case.domain < 0, -1, numbers.max() + 1 - case.domain)
    order = np.argsort(renumbered, kind="stable")
    # The codes of classes go by frequency and by which comes first: the same target first in both.
    y = case.y if case.regression else np.array([f"class {9 - each}" for each in case.y])
    again.fit(case.X[order], y[order], sample_domain=renumbered[order])
    for each in model.evidence_.sources:
        other = again.evidence_[int(numbers.max() + 1 - each.number)]
        assert abs(other.weight - each.weight) < CLOSE, f"source {each.number}: weight {each.weight}, {other.weight}"
        assert other.verdict == each.verdict, f"source {each.number}: {each.verdict}, {other.verdict}"
    if case.regression:
        one, two = model.predict(case.X), again.predict(case.X)
        assert np.abs(one - two).max() <= CLOSE * max(np.abs(case.y).max(), 1e-300), "predictions differ"
    else:
        one, two = model.predict_proba(case.X), again.predict_proba(case.X)
        order = [int(np.flatnonzero(again.classes_ == f"class {9 - each}")[0]) for each in model.classes_]
        assert np.abs(one - two[:, order]).max() <= CLOSE, "probabilities differ"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=22)
    options = parser.parse_args()
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(options.first, options.first + options.cases):
        case = draw(options.seed, number)
        try:
            outcome = check(case, number)
        except Exception as error:  # of any kind: it is what is looked for
            outcome = "broken"
            print(f"case {number}, {case.shape}: {type(error).__name__} {error}", flush=True)
        outcomes[case.shape, outcome] += 1
    for (shape, outcome), count in sorted(outcomes.items()):
        print(f"{shape}: {outcome} {count}")
    sys.exit(any(outcome == "broken" for _, outcome in outcomes))


if __name__ == "__main__":
    main()
