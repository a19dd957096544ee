"""What gapMTNN's relation is worth: errors against Uniform, and who shares with whom, on seven problems.

    python benchmarks/relation.py [--problems copies twin] [--seeds 10 11 12 13 14] [--jobs 2] [--net half]

Seeds 0 to 4 are for tuning: settings and defaults may be chosen by them. Seeds 10 to 14 are for judging and are run
once a default is settled; tables that are shown come from these. A seed draws other rows, other first weights and
another order.

- digits, digits1000: MNIST, MNIST-M and USPS, 500 or 1,000 rows each, LeNet.
- copies: two samples of MNIST and a stranger, MNIST with its ten labels permuted; 500 rows each, LeNet.
- twin: 50 rows of MNIST-M beside another 5,000, LeNet.
- pacs, pacs_resnet50: 10% of the rows of PACS, features of AlexNet's frozen convolutions or of ResNet-50, one layer of
  512 units.
- table29: 29 generated tasks of two classes, 6% positives, 80 to 1,500 rows, five groups of related ones and nine tasks
  that stand alone; 100 less the area under the ROC curve in place of the error.

Methods: Uniform and forms of gapMTNN; by --methods also the same network on each task alone ("single-task") and on all
rows as one task ("pooled"), torchjd's UPGrad, AlignedMTL, PCGrad, CAGrad and Nash-MTL on the Gram matrix of the tasks'
gradients, and uncertainty weighting. ``--net half`` has half of LeNet's channels, ``--stopped`` sets a fifth of rows
aside, stops by their loss and goes back to the best epoch, ``--augment`` shifts and rotates images at random.

All but table29 need the data in $GAPMIN_DATA. Every fit is kept in a CSV file at once, so a run that was interrupted
goes on where it stopped: delete the file after a change of the code. The page, ``relation_judging.md`` or
``relation_tuning.md``, has all fits of the CSV files, also those of earlier runs.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from balancers import BALANCERS, Balanced, Uncertainty
from gapmin.datasets import MultitaskProblem, load_digits_multitask, load_pacs_features
from gapmin.deep import (
    MLP,
    GapMTNN,
    MultitaskClassifier,
    Objective,
    RandomRotation,
    RandomShift,
    Uniform,
)
from multitask_grid import beside_the_lowest, read_rows, run_grid, table

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]

METHODS: dict[str, Callable[[], Objective]] = {
    "Uniform": Uniform,
    "gapMTNN": GapMTNN,
    "gapMTNN, no alignment": lambda: GapMTNN(lambda_semantic=0.0, lambda_marginal=0.0),
    "gapMTNN excess": lambda: GapMTNN(relation_cost="excess"),
    "single-task": Uniform,
    "pooled": Uniform,
    **{rule: partial(Balanced, rule=rule) for rule in BALANCERS},
    "uncertainty": Uncertainty,
}
DEFAULT_METHODS = list(METHODS)[:4]
GROUPS = [6, 5, 4, 3, 2] + [1] * 9
DIGITS_ROWS = {"digits": 500, "digits1000": 1000}
TASKS = {
    "digits": ["mnist", "mnist_m", "usps"],
    "digits1000": ["mnist", "mnist_m", "usps"],
    "copies": ["first", "second", "stranger"],
    "twin": ["large", "small"],
    "pacs": ["art_painting", "cartoon", "photo", "sketch"],
    "pacs_resnet50": ["art_painting", "cartoon", "photo", "sketch"],
    "table29": [f"t{k:02}" for k in range(sum(GROUPS))],
}


@cache
def digits():
    """Digits, read once a process."""
    return load_digits_multitask("published")


@cache
def pacs(features: str) -> MultitaskProblem:
    """PACS as features of a network, read once a process."""
    if features == "pacs":
        return load_pacs_features()
    with np.load(Path(os.environ["GAPMIN_DATA"]) / "pacs" / "resnet50_features.npz") as file:
        X, y, task = file["features"].astype(np.float32), file["label"], file["domain"]
    X /= np.sqrt(np.mean(np.square(X)))
    return MultitaskProblem(features, {each: (X[task == each], y[task == each]) for each in TASKS[features]}, 0.1)


def half_lenet() -> nn.Module:
    """LeNet with half of its channels."""
    layers: list[nn.Module] = []
    for channels, wider in ((1, 16), (16, 32)):
        layers += [nn.Conv2d(channels, wider, kernel_size=5, padding=2), nn.MaxPool2d(3, 2), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten())


def joined(parts: list[Rows]) -> Rows:
    """Rows, labels and tasks one after the other."""
    X, y, task = (np.concatenate(each) for each in zip(*parts, strict=True))
    return X, y, task


def samples(name: str, seed: int, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Samples of one digit task without a row in common."""
    X, y = digits().tasks[name][:2]
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum(sizes)
    return [(X[rows], y[rows]) for rows in np.split(order[: ends[-1]], ends[:-1])]


def copies(seed: int) -> tuple[Rows, Rows]:
    """Two samples of one task, and one whose labels mean other digits."""
    parts = samples("mnist", seed, [500] * 3 + [1000] * 3)
    turned = np.random.default_rng(seed).permutation(10)
    named = [
        (X, turned[y] if k % 3 == 2 else y, np.full(len(y), TASKS["copies"][k % 3])) for k, (X, y) in enumerate(parts)
    ]
    return joined(named[:3]), joined(named[3:])


def twin(seed: int) -> tuple[Rows, Rows]:
    """A large and a small sample of one task."""
    parts = samples("mnist_m", seed, [5000, 50, 2000, 2000])
    named = [(X, y, np.full(len(y), TASKS["twin"][k % 2])) for k, (X, y) in enumerate(parts)]
    return joined(named[:2]), joined(named[2:])


def table29(seed: int, columns: int = 20, n_test: int = 1000) -> tuple[Rows, Rows]:
    """Generated tasks: the rules of one group differ a little, those of two groups have nothing in common."""
    rng = np.random.default_rng(seed)
    n_rows = np.clip((rng.pareto(1.2, sum(GROUPS)) + 0.3) * 150, 80, 1500).astype(int)
    train, test = [], []
    for group in np.repeat(range(len(GROUPS)), GROUPS):
        of_group = np.random.default_rng([seed, int(group)])
        first, second = of_group.normal(size=(8, columns)), of_group.normal(size=8)
        first, second = first + 0.15 * rng.normal(size=first.shape), second + 0.15 * rng.normal(size=8)
        n = int(n_rows[len(train)])
        X = rng.normal(size=(n + n_test, columns)) + 0.3 * rng.normal(size=columns)
        score = np.tanh(2 * X @ first.T / columns**0.5) @ second + 0.4 * rng.normal(size=len(X))
        y = (score > np.quantile(score, 0.94)).astype(int)
        y[:2] = 0, 1  # the small ones too have both classes
        rows = X.astype(np.float32), y, np.full(len(y), TASKS["table29"][len(train)])
        train.append(tuple(each[:n] for each in rows))
        test.append(tuple(each[n:] for each in rows))
    return joined(train), joined(test)


def problem(name: str, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows."""
    if name.startswith(("digits", "pacs")):
        split = pacs(name).split(seed, 0.1) if name.startswith("pacs") else digits().split(seed, DIGITS_ROWS[name])
        return (split.X, split.y, split.sample_task), (split.X_test, split.y_test, split.sample_task_test)
    return {"copies": copies, "twin": twin, "table29": table29}[name](seed)


def fit(setting: str, method: str, seed: int) -> dict:
    """Return the error of each task in %, and the relation."""
    name, epochs, *how = setting.split(":")
    torch.set_num_threads(1)
    (X, y, task), (X_test, y_test, task_test) = problem(name, seed)
    torch.manual_seed(seed)  # of the extractors' first weights, which all methods share
    networks: dict[str, dict] = {
        "pacs": {"extractor": MLP(X.shape[1], (512,)), "lr": 2e-4},
        "pacs_resnet50": {"extractor": MLP(X.shape[1], (512,)), "lr": 2e-4},
        "table29": {"extractor": MLP(X.shape[1], (64,)), "head_hidden": 32, "lr": 1e-3},
    }
    half = {"extractor": half_lenet(), "head_hidden": 128, "head_activation": "elu"}
    lenet = half if "half" in how else {"extractor": "lenet"}
    network = networks.get(name) or {**lenet, "lr": 1e-3}
    if "stopped" in how:
        network |= {"early_stopping": True, "validation_fraction": 0.2}
    if "augmented" in how:
        network |= {"augment": [RandomShift(2), RandomRotation(10)]}
    clf = MultitaskClassifier(METHODS[method](), epochs=int(epochs), device="cpu", random_state=seed, **network)
    classes, probability = np.unique(y), np.zeros((len(y_test), np.unique(y).size))
    alone = TASKS[name] if method == "single-task" else [None]
    for each in alone:
        rows, rows_test = (np.full(len(of), True) if each is None else of == each for of in (task, task_test))
        names = (None, None) if method == "pooled" else (task[rows], task_test[rows_test])
        clf.fit(X[rows], y[rows], sample_task=names[0])
        found = clf.predict_proba(X_test[rows_test], sample_task=names[1])
        probability[np.ix_(rows_test, np.searchsorted(classes, clf.classes_))] = found
    errors = {}
    for each in TASKS[name]:
        rows = task_test == each
        if name == "table29":
            errors[each] = 100 * (1 - roc_auc_score(y_test[rows], probability[rows, 1]))
        else:
            errors[each] = 100 * float((classes[probability[rows].argmax(1)] != y_test[rows]).mean())
    relation = [round(float(w), 4) for w in getattr(clf, "relation_", np.empty(0)).ravel()]
    rounded = {each: round(error, 4) for each, error in errors.items()}
    return {**rounded, "relation": " ".join(map(str, relation))}


def sharing(rows: list[dict], name: str) -> str:
    """The mean relation of gapMTNN in words."""
    found = [np.array(r["relation"].split(), dtype=float) for r in rows if r["method"] == "gapMTNN"]
    if not found:
        return ""
    tasks = sorted(TASKS[name])
    relation = np.mean(found, axis=0).reshape(len(tasks), -1)
    if name == "table29":
        group = np.repeat(range(len(GROUPS)), GROUPS)
        same = (group[:, None] == group) & ~np.eye(len(group), dtype=bool)
        own, others = relation.trace() / len(tasks), (relation * same).sum() / len(tasks)
        return f"A task keeps {own:.2f} for itself, gives {others:.2f} to its group, {1 - own - others:.2f} to others."
    lines = [f"| {t} | " + " | ".join(f"{w:.2f}" for w in row) + " |" for t, row in zip(tasks, relation, strict=True)]
    head = ["| learns from | " + " | ".join(tasks) + " |", "|---|" + "---:|" * len(tasks)]
    return "\n".join(head + lines)


def page(folder: Path, kind: str) -> str:
    """Return the page of all fits in the CSV files on seeds of a kind, "tuning" or "judging"."""
    parts = [
        f"# The relation of gapMTNN, {kind} seeds",
        "`python benchmarks/relation.py --help` says what the problems and methods are. A setting is PROBLEM:EPOCHS, "
        "then `half` for LeNet of half width, `stopped` for early stopping on a fifth of the rows, `augmented` for "
        "images shifted and rotated at random. Of table29 the figures are 100 less the area under the ROC curve.",
    ]
    for name, tasks in TASKS.items():
        rows = [r for r in read_rows(folder / f"relation_{name}.csv") if kind_of(r["seed"]) == kind]
        for setting in dict.fromkeys(r["setting"] for r in rows):
            chosen = [r for r in rows if r["setting"] == setting]
            averages: dict[str, dict[int, float]] = {m: {} for m in METHODS if any(r["method"] == m for r in chosen)}
            for r in chosen:
                averages[r["method"]][r["seed"]] = float(np.mean([r[t] for t in tasks]))
            parts += [f"## {setting}", table(chosen, setting, tasks, METHODS, level=0.95)]
            parts += [beside_the_lowest(averages), sharing(chosen, name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def kind_of(seed: int) -> str:
    """Return what a seed is for."""
    return "tuning" if seed < 10 else "judging"


def main() -> None:
    """Run what is missing and show all that has run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--methods", nargs="+", default=DEFAULT_METHODS, choices=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[10, 11, 12, 13, 14])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--net", choices=["full", "half"], default="full")
    parser.add_argument("--stopped", action="store_true")
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    for name in options.problems:
        images = name in (*DIGITS_ROWS, "copies", "twin")
        chosen_ways = {"half": images and options.net == "half", "stopped": options.stopped}
        chosen_ways["augmented"] = images and options.augment
        setting = ":".join([name, str(options.epochs), *(way for way, on in chosen_ways.items() if on)])
        cells = [(setting, m, seed) for seed in options.seeds for m in options.methods]
        run_grid(cells, fit, options.out / f"relation_{name}.csv", options.jobs)
        for kind in dict.fromkeys(map(kind_of, options.seeds)):  # after each problem, should the next be interrupted
            (options.out / f"relation_{kind}.md").write_text(page(options.out, kind))
    for kind in dict.fromkeys(map(kind_of, options.seeds)):
        print(page(options.out, kind))


if __name__ == "__main__":
    import_module("relation").main()  # by its name other processes find what is cached here
