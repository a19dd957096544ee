"""What the multitask benchmarks share: the seven methods, a grid of fits kept in a CSV file, and its table.

A fit is kept as soon as it is made, so a run that was interrupted goes on where it stopped: delete the file after a
change of the code.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from scipy import stats

from gapmin.datasets import MultitaskSplit
from gapmin.deep import MultitaskClassifier
from gapmin.reproduce import names
from gapmin.reproduce.networks import NETWORK_OBJECTIVES

METHODS: dict[str, Callable] = {name: NETWORK_OBJECTIVES[name] for name in names.NETWORK_METHODS}
KEY = ("setting", "method", "seed")


def measure(clf: MultitaskClassifier, split: MultitaskSplit, tasks: list[str]) -> dict:
    """Fit on one thread; return the error of each task in %, the seconds and the relation."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    clf.fit(split.X, split.y, sample_task=split.sample_task)
    seconds = time.perf_counter() - start
    wrong = clf.predict(split.X_test, sample_task=split.sample_task_test) != split.y_test
    errors = {task: round(100 * float(wrong[split.sample_task_test == task].mean()), 4) for task in tasks}
    relation = [round(float(w), 4) for w in clf.relation_.ravel()] if hasattr(clf, "relation_") else []
    return {**errors, "seconds": round(seconds, 1), "relation": " ".join(map(str, relation))}


def run_grid(cells: Iterable[tuple[str, str, int]], fit: Callable, path: Path, n_jobs: int) -> list[dict]:
    """Make the fits that the file lacks, `fit(setting, method, seed)` giving errors by task; return all rows."""
    done = read_rows(path)
    kept = {tuple(str(row[name]) for name in KEY) for row in done}
    missing = [cell for cell in cells if tuple(map(str, cell)) not in kept]
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(
        delayed(_cell)(fit, cell) for cell in missing
    )
    for number, row in enumerate(results, start=1):
        fresh = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        print(f"{number} of {len(missing)}: {row}", flush=True)
    return read_rows(path)


def _cell(fit: Callable, cell: tuple[str, str, int]) -> dict:
    return dict(zip(KEY, cell, strict=True)) | fit(*cell)


def read_rows(path: Path) -> list[dict]:
    """Return the rows of a CSV file, numbers as numbers; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{name: _number(value) for name, value in row.items()} for row in csv.DictReader(file)]


def _number(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and "." not in text else value


def table(
    rows: list[dict], setting: str, tasks: list[str], methods: Iterable[str] = METHODS, level: float = 0.9
) -> str:
    """Return a Markdown table: mean and standard error by task, the average, and its paired difference to Uniform.

    The difference is over the seeds that both have, with its t-interval at that level.
    """
    methods = list(methods)
    chosen = [row for row in rows if row["setting"] == setting]
    by_method = {m: sorted((r for r in chosen if r["method"] == m), key=lambda r: r["seed"]) for m in methods}
    methods = [m for m in methods if by_method[m]]
    n_seeds = {len(by_method[m]) for m in methods}
    lines = ["| | " + " | ".join(methods) + " |", "|---|" + "---:|" * len(methods)]
    averages = {m: {r["seed"]: float(np.mean([r[t] for t in tasks])) for r in by_method[m]} for m in methods}
    for task in tasks:
        values = [np.array([r[task] for r in by_method[m]]) for m in methods]
        lines.append(f"| {task} | " + " | ".join(map(_mean, values)) + " |")
    means = {m: np.array([*averages[m].values()]) for m in methods}
    best = min(methods, key=lambda m: means[m].mean())
    cells = [f"**{_mean(means[m])}**" if m == best else _mean(means[m]) for m in methods]
    lines.append("| average | " + " | ".join(cells) + " |")
    if "Uniform" in methods:
        differences = []
        for m in methods:
            d = paired(averages[m], averages["Uniform"])
            if m == "Uniform" or d.size < 2:
                differences.append("")
                continue
            half = stats.t.ppf((1 + level) / 2, d.size - 1) * d.std(ddof=1) / d.size**0.5
            differences.append(f"{d.mean():+.2f} [{d.mean() - half:+.2f}, {d.mean() + half:+.2f}]")
        lines.append(f"| minus Uniform, {level:.0%} | " + " | ".join(differences) + " |")
    return (
        f"{setting}, {', '.join(map(str, sorted(n_seeds)))} seeds, error in %, mean ± standard error:\n\n"
        + "\n".join(lines)
    )


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> np.ndarray:
    """Return the differences of two methods' figures on the seeds that both have."""
    return np.array([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])


def beside_the_lowest(figures: Mapping[str, Mapping[int, float]], digits: int = 2) -> str:
    """Return which method is lowest, and which are within one standard error of the paired difference to it.

    Parameters
    ----------
    figures : mapping
        Of each method, its figure by seed. Methods with fewer seeds than another are not compared.
    digits : int, default=2
        Behind the point.
    """
    most = max(map(len, figures.values()))
    compared = {m: np.mean([*each.values()]) for m, each in figures.items() if len(each) == most}
    lowest = min(compared, key=lambda m: compared[m])
    groups: dict[str, list[str]] = {"within one standard error of it": [], "above": []}
    for m in sorted(compared, key=lambda m: compared[m]):
        d = paired(figures[m], figures[lowest])
        if m == lowest or d.size < 2:
            continue
        error = d.std(ddof=1) / d.size**0.5
        group = "within one standard error of it" if d.mean() <= error else "above"
        groups[group].append(f"{m} ({d.mean():+.{digits}f} ± {error:.{digits}f})")
    groups["fewer seeds, not compared"] = [m for m in figures if m not in compared]
    parts = [f"{name}: {', '.join(each)}" for name, each in groups.items() if each]
    return "; ".join([f"Lowest: {lowest}", *parts]) + "."


def _mean(values: np.ndarray) -> str:
    if values.size < 2:
        return f"{values.mean():.2f}"
    return f"{values.mean():.2f} ± {values.std(ddof=1) / values.size**0.5:.2f}"
