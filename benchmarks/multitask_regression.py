"""Many tasks with numbers for labels: schools (139) and Parkinsons (42 patients), networks against linear settings.

    python -m benchmarks.multitask_regression --seeds 10 11 12 13 14

writes ``benchmarks/results/multitask_regression.csv`` and ``.md``. Each seed draws 30% of every task's rows to train;
the others are predicted. Figures are the root mean squared error over all of these. Seeds 0 to 4 are for tuning: the
networks' settings below were looked at on them. Seeds 10 to 14 are what is judged. Strengths of the linear settings are
chosen within each training set, by three folds of its rows.

All networks are the same but for what trains them: each task by itself, all rows as one task, `Uniform`, gapMTNN,
uncertainty weighting, and torchjd's UPGrad, AlignedMTL, PCGrad, CAGrad and Nash-MTL. The last five are left out on
schools: they need a gradient of the extractor for each of its 139 tasks in every step.

The data are read from ``$GAPMIN_DATA``: ``mtl/school.mat`` and ``uci/parkinsons_updrs.data``.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from benchmarks.balancers import BALANCERS, Balanced, Uncertainty
from benchmarks.multitask_grid import beside_the_lowest, paired, run_grid
from scipy import stats
from scipy.io import loadmat
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from gapmin.deep import MLP, MultitaskRegressor
from gapmin.linear import ParameterSharingRegressor, TaskCovarianceRegressor

RESULTS = Path(__file__).parent / "results"
TUNING, JUDGED = range(5), range(10, 15)
TRAIN_SHARE = 0.3
SETTINGS = ("schools", "Parkinsons")
STRENGTHS = (1e-3, 1e-2, 1e-1)
ALPHAS = (0.1, 1.0, 10.0, 100.0)

NETWORK = {
    "head_hidden": 0,
    "epochs": 400,
    "batch_size": 32,
    "lr": 3e-3,
    "early_stopping": True,
    "validation_fraction": 0.2,
    "patience": 30,
    "device": "cpu",
}
METHODS = (
    "single task (ridge)",
    "pooled (ridge)",
    "ParameterSharing",
    "TaskCovariance",
    "network, single task",
    "network, pooled",
    "network, Uniform",
    "network, gapMTNN",
    "network, uncertainty",
    *(f"network, {rule}" for rule in BALANCERS),
)
MOST_TASKS_OF_BALANCERS = 50


@lru_cache
def data(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels and tasks; columns that are alike everywhere are left out."""
    folder = Path(os.environ["GAPMIN_DATA"])
    if name == "schools":
        cells = loadmat(folder / "mtl" / "school.mat")
        parts = [(x, np.ravel(y)) for x, y in zip(cells["X"].ravel(), cells["Y"].ravel(), strict=True)]
        X, y = np.vstack([x for x, _ in parts]), np.concatenate([each for _, each in parts])
        task = np.repeat(np.arange(len(parts)), [len(each) for _, each in parts])
    else:
        frame = pd.read_csv(folder / "uci" / "parkinsons_updrs.data", sep="\t")
        y, task = frame["total_UPDRS"].to_numpy(), frame["subject#"].to_numpy()
        X = frame.drop(columns=["subject#", "motor_UPDRS", "total_UPDRS"]).to_numpy()
    X = X[:, np.ptp(X, axis=0) > 0].astype(float)
    return X, y.astype(float), task


def split(name: str, seed: int) -> tuple[Any, ...]:
    """Return the training rows and the others, columns standardised by the former."""
    X, y, task = data(name)
    rng = np.random.default_rng(seed)
    train = np.zeros(len(y), dtype=bool)
    for each in np.unique(task):
        rows = rng.permutation(np.flatnonzero(task == each))
        train[rows[: max(round(TRAIN_SHARE * len(rows)), 3)]] = True
    X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], task[train], X[~train], y[~train], task[~train]


def fit(name: str, method: str, seed: int) -> dict[str, Any]:
    """Return the root mean squared error of a method, over all rows that did not train, and the seconds."""
    torch.set_num_threads(1)
    X, y, task, X_test, y_test, task_test = split(name, seed)
    start = time.perf_counter()
    predicted = _predict(method, seed, X, y, task, X_test, task_test)
    rmse = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
    return {"rmse": round(rmse, 4), "seconds": round(time.perf_counter() - start, 1)}


def _predict(method: str, seed: int, X: Any, y: Any, task: Any, X_test: Any, task_test: Any) -> np.ndarray:
    if method == "single task (ridge)":
        found = np.empty(len(X_test))
        for each in np.unique(task):
            here, there = task == each, task_test == each
            found[there] = RidgeCV(ALPHAS).fit(X[here], y[here]).predict(X_test[there])
        return found
    if method == "pooled (ridge)":
        return RidgeCV(ALPHAS).fit(X, y).predict(X_test)
    if method.startswith("network"):
        rule = method.removeprefix("network, ")
        named: dict[str, Any] = {"gapMTNN": "gapmtnn", "uncertainty": Uncertainty()}
        objective = Balanced(rule=rule) if rule in BALANCERS else named.get(rule, "uniform")
        torch.manual_seed(seed)  # of the extractor's first weights, which all methods share
        net = MultitaskRegressor(objective, extractor=MLP(X.shape[1], (64,)), random_state=seed, **NETWORK)
        if rule == "single task":
            found = np.empty(len(X_test))
            for each in np.unique(task):
                here, there = task == each, task_test == each
                found[there] = net.fit(X[here], y[here]).predict(X_test[there])
            return found
        if rule == "pooled":
            return net.fit(X, y).predict(X_test)
        return net.fit(X, y, sample_task=task).predict(X_test, sample_task=task_test)
    level, unit = y.mean(), y.std()
    scaled = (y - level) / unit
    if method == "ParameterSharing":
        settings = [{"lam0": lam0, "lam": lam} for lam0 in STRENGTHS for lam in STRENGTHS]
        kind: Any = ParameterSharingRegressor
    else:
        settings, kind = [{"lam": lam} for lam in STRENGTHS], TaskCovarianceRegressor
    losses = []
    folds = [(a, b) for a, b in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, task)]
    for setting in settings:
        wrong = 0.0
        for a, b in folds:
            b = b[np.isin(task[b], task[a])]
            model = kind(**setting).fit(X[a], scaled[a], sample_task=task[a])
            wrong += float(((model.predict(X[b], sample_task=task[b]) - scaled[b]) ** 2).sum())
        losses.append(wrong)
    model = kind(**settings[int(np.argmin(losses))]).fit(X, scaled, sample_task=task)
    return model.predict(X_test, sample_task=task_test) * unit + level


def report(rows: list[dict]) -> str:
    """Return for each data set a table of means, standard errors and paired differences, and which is lowest."""
    parts = []
    for name in SETTINGS:
        found = {
            m: {r["seed"]: r["rmse"] for r in rows if (r["setting"], r["method"]) == (name, m) and r["seed"] in JUDGED}
            for m in METHODS
        }
        found = {m: each for m, each in found.items() if each}
        if not found:
            continue
        lines = [f"| {name} | seeds | RMSE | minus the network of Uniform, 95% |", "|---|---:|---:|---:|"]
        for m, each in found.items():
            values = np.array([*each.values()])
            error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.3f}" if len(values) > 1 else ""
            d = paired(each, found.get("network, Uniform", {}))
            cell = ""
            if m != "network, Uniform" and len(d) > 1:
                half = stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / len(d) ** 0.5
                cell = f"{d.mean():+.3f} [{d.mean() - half:+.3f}, {d.mean() + half:+.3f}]"
            lines.append(f"| {m} | {len(values)} | {values.mean():.3f}{error} | {cell} |")
        parts += ["\n".join(lines), beside_the_lowest(found, digits=3)]
    return "\n\n".join(parts)


def main() -> None:
    """Make the fits that are missing, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(JUDGED))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    cells = [
        (name, method, seed)
        for seed in args.seeds
        for name in args.settings
        for method in args.methods
        if not (
            method.removeprefix("network, ") in BALANCERS and np.unique(data(name)[2]).size > MOST_TASKS_OF_BALANCERS
        )
    ]
    rows = run_grid(cells, fit, RESULTS / "multitask_regression.csv", args.jobs)
    text = (
        "# Regression with many tasks\n\n`python -m benchmarks.multitask_regression`: 30% of each task's rows train, "
        "the root mean squared error is over all others; mean ± standard error over seeds that nothing was tuned on "
        "(10 to 14). On schools, of 139 tasks, methods that need a gradient for each task are left out "
        f"({', '.join(BALANCERS)}).\n\n" + report(rows) + "\n"
    )
    (RESULTS / "multitask_regression.md").write_text(text)
    print(text)


if __name__ == "__main__":
    import_module("benchmarks.multitask_regression").main()  # by its name other processes find what is cached here
