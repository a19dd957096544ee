"""Does `rank_sources` put a poisoned copy of a source last, and the true source first?

    python benchmarks/ranking.py [--splits 1] [--jobs 1] [--out benchmarks/results/ranking.md]

Every embedded transfer problem in turn and, with $GAPMIN_DATA, the six of 20 Newsgroups: 20 problems, each drawn twice
with its own number of target rows, once with each poison, which makes 40 draws. The sources are the problem's own
(several are pooled), a copy of it with half of its labels shuffled, and a poisoned copy: in the first draw its labels
are false (two classes swapped, several shifted by one, numbers mirrored about their mean), in the second its columns
are permuted. Nothing is tuned by problem. The rows of the target that did not train say which is really worse.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapmin.datasets import embedded_problems, load_newsgroups
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor
from gapmin.selection.ranking import rank_sources

TRUE, HALF, POISONED = "true", "half shuffled", "poisoned"
POISONS = ("false labels", "columns permuted")


def problems() -> list:
    """Return the problems, each with one source."""
    found = [problem.pooled() for problem in embedded_problems()]
    try:
        found += load_newsgroups()
    except (FileNotFoundError, OSError) as error:
        print(f"without 20 Newsgroups: {error}")
    return found


def poisoned(X, y, task: str, poison: str, rng) -> tuple:
    """Return a copy of a source that misleads."""
    if poison == "columns permuted":
        return X[:, rng.permutation(X.shape[1])], y
    if task == "regression":
        return X, 2 * y.mean() - y
    classes, codes = np.unique(y, return_inverse=True)
    return X, classes[(codes + 1) % classes.size]


def half_shuffled(X, y, rng) -> tuple:
    """Return a copy of a source in which half of the labels say nothing."""
    y, rows = y.copy(), rng.permutation(y.size)[: y.size // 2]
    y[rows] = y[rng.permutation(rows)]
    return X, y


def held_out_loss(split, X, y, task: str) -> float:
    """Return the smooth loss on the rows of the target that did not train, with this source added."""
    target = split.sample_domain < 0
    rows, labels = np.concatenate([split.X[target], X]), np.concatenate([split.y[target], y])
    domain = np.repeat([-1, 1], [target.sum(), y.size])
    if task == "regression":
        model = WeightedPoolingRegressor(make_pipeline(StandardScaler(), Ridge()))
        predicted = model.fit(rows, labels, sample_domain=domain).predict(split.X_test)
        return float(np.mean((predicted - split.y_test) ** 2) / np.var(split.y_test))
    model = WeightedPoolingClassifier(make_pipeline(StandardScaler(), WeightedLogisticRegression(tol=1e-5)))
    model.fit(rows, labels, sample_domain=domain)
    truth = split.y_test[:, None] == model.classes_
    return float(np.mean(np.sum((model.predict_proba(split.X_test) - truth) ** 2, axis=1)))


def draw(problem, k: int, poison: str, n_jobs: int) -> dict:
    """Rank the true source, the half shuffled and the poisoned copy of one split."""
    start = time.perf_counter()
    split = problem.split(k)
    rng = np.random.default_rng([k, POISONS.index(poison)])
    target = split.sample_domain < 0
    X, y = split.X[~target], split.y[~target]
    sources = {
        POISONED: poisoned(X, y, problem.task, poison, rng),
        HALF: half_shuffled(X, y, rng),
        TRUE: (X, y),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking = rank_sources(
            (split.X[target], split.y[target]), sources, task=problem.task, n_jobs=n_jobs, random_state=k
        )
    held_out = {name: held_out_loss(split, *pair, problem.task) for name, pair in sources.items()}
    return {
        "problem": problem.name,
        "n_target": int(target.sum()),
        "poison": poison,
        "order": [source.name for source in ranking.sources],
        "ranking": ranking,
        "worse_held_out": held_out[POISONED] > held_out[TRUE],
        "seconds": time.perf_counter() - start,
    }


def page(draws: list[dict]) -> str:
    """Return the counts and a line for each draw as Markdown."""
    n = len(draws)

    def count(wanted) -> str:
        return f"{sum(map(wanted, draws))} of {n}"

    def pair(each) -> list[str]:
        return [name for name in each["order"] if name != HALF]

    def verdicts(name: str) -> str:
        found = [each["ranking"][name].verdict for each in draws]
        return ", ".join(f"{verdict} {found.count(verdict)}" for verdict in ("helps", "neutral", "hurts"))

    counts = {
        "of true and poisoned, the poisoned copy last and the true source first": lambda e: pair(e) == [TRUE, POISONED],
        "of all three, the poisoned copy last": lambda e: e["order"][-1] == POISONED,
        "of all three, the true source first": lambda e: e["order"][0] == TRUE,
        "the poisoned copy is worse on the rows of the target that did not train": lambda e: e["worse_held_out"],
        "the best subset has the poisoned copy in it": lambda e: POISONED in e["ranking"].best_subset,
    }
    columns = ["problem", "target rows", "poison", "loss, target alone", "change: true", HALF, POISONED]
    lines = [
        f"`rank_sources` on {n} draws with its default settings (`benchmarks/ranking.py`, which says what they are).",
        "",
        "| | draws |",
        "|---|---:|",
        *(f"| {what} | {count(wanted)} |" for what, wanted in counts.items()),
        "",
        f"Verdicts of the true source: {verdicts(TRUE)}; {HALF}: {verdicts(HALF)}; {POISONED}: {verdicts(POISONED)}.",
        "",
        f"| {' | '.join([*columns, 'best first', 'best subset'])} |",
        "|---|---:|---|---:|---:|---:|---:|---|---|",
    ]
    for each in draws:
        ranking = each["ranking"]
        changes = " | ".join(f"{ranking[name].loss_change.mean:+.3f}" for name in (TRUE, HALF, POISONED))
        lines.append(
            f"| {each['problem']} | {each['n_target']} | {each['poison']} | {ranking.target_loss:.3f} | {changes} | "
            f"{', '.join(each['order'])} | {', '.join(ranking.best_subset) or 'target alone'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the draws and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=1, help="draws of each problem with each poison")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ranking.md")
    args = parser.parse_args()
    draws = []
    # The second poison has a target sample of its own.
    for problem in problems():
        for k, poison in enumerate(POISONS * args.splits):
            draws.append(draw(problem, k, poison, args.jobs))
            last = draws[-1]
            print(f"{last['problem']}, {poison}: {', '.join(last['order'])} ({last['seconds']:.0f} s)", flush=True)
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(page(draws))
    print(page(draws))


if __name__ == "__main__":
    main()
