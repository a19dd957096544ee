"""Transfer problems and boosters by name: what Tables 2 and 3 and Figures 1 to 3 are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from gapmin.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.datasets import TransferProblem, load_newsgroups, load_office_caltech, load_thirds, make_friedman_transfer
from gapmin.linear import InstanceWeightingClassifier

from .cells import Cell, Measured, Value

NEWSGROUPS = ("comp vs sci", "rec vs sci", "comp vs talk", "comp vs rec", "rec vs talk", "sci vs talk")
OFFICE_CALTECH = tuple(f"{source} -> {target}" for source in "ACDW" for target in "ACDW" if source != target)
THIRDS = ("Concrete", "Housing", "AutoMPG", "Diabetes")
REGRESSION = (*THIRDS, "Friedman")

BASELINES = ("AdaBoost_T", "AdaBoost_T&S", "TrAdaBoost", "TransferBoost")
GAPBOOST = "gapBoost"
SOFT = "gapBoost soft"
POOLING = ("pooling 0.5", "pooling 0.8")
REGRESSORS = ("AdaBoost.R2_T", "AdaBoost.R2_T&S", "TrAdaBoost.R2", "gapBoostR")

_Options = Mapping[str, Value]
_CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "AdaBoost_T": lambda **options: AdaBoostClassifier(train_on="target", **options),
    "AdaBoost_T&S": AdaBoostClassifier,
    "TrAdaBoost": TrAdaBoostClassifier,
    "TransferBoost": TransferBoostClassifier,
    GAPBOOST: GapBoostClassifier,
    SOFT: lambda **options: GapBoostClassifier(target_share=0.8, vote="soft", **options),
}
_REGRESSORS: dict[str, Callable[..., Any]] = {
    "AdaBoost.R2_T": lambda **options: AdaBoostRegressor(train_on="target", **options),
    "AdaBoost.R2_T&S": AdaBoostRegressor,
    "TrAdaBoost.R2": TrAdaBoostRegressor,
    # A fully grown tree fits its rows exactly: only by going on can Table 3 be had (docs/fidelity.md, 6c).
    "gapBoostR": lambda **options: GapBoostRegressor(stop_when_perfect=False, **options),
}


def measure(cell: Cell) -> Measured:
    """Fit a method on one split of each problem that goes by the name; the error is their mean."""
    errors: dict[str, float] = {}
    n_train, n_test = [], []
    for k, problem in enumerate(problems(cell)):
        train_size: Any = cell.values.get("train")
        split = problem.split(cell.split, train_size, random_state=cell.seed)
        model = method(cell.method, cell.values, random_state=cell.random_state + k)
        model.fit(split.X, split.y, sample_domain=split.sample_domain)
        predicted = model.predict(split.X_test)
        errors[problem.name] = problem.error(split.y_test, predicted)
        n_train.append(int((split.sample_domain < 0).sum()))
        n_test.append(split.y_test.size)
    return Measured(
        float(np.mean(list(errors.values()))), errors, n_train=float(np.mean(n_train)), n_test=float(np.mean(n_test))
    )


def problems(cell: Cell) -> tuple[TransferProblem, ...]:
    """Return the problems whose errors a cell averages, their sources pooled as in the paper's tables."""
    name: Any = cell.problem
    if name in NEWSGROUPS:
        return (load_newsgroups(name),)
    if name in OFFICE_CALTECH:
        source, target = name.split(" -> ")
        return load_office_caltech(source, target)
    if name in THIRDS:
        return tuple(problem.pooled() for problem in load_thirds(name.lower()))
    if name == "Friedman":
        # Drawn anew for each split: one draw of five sources would be one lucky or unlucky problem.
        return (make_friedman_transfer(random_state=1000 * cell.seed + cell.split).pooled(),)
    raise ValueError(f"there is no transfer problem {name!r}: use {', '.join((*NEWSGROUPS, *OFFICE_CALTECH))} …")


def method(name: str, setting: _Options, random_state: int) -> Any:
    """Make the unfitted estimator that goes by a name of the paper, with the settings of the cell."""
    if name in POOLING:
        return InstanceWeightingClassifier(gamma=float(name.split()[1]), lam=0.001)
    options: dict[str, Any] = {"resample": setting["resample"], "random_state": random_state}
    for rho in ("rho_source", "rho_target"):
        if f"exp_{rho}" in setting:
            options[rho] = math.log(float(setting[f"exp_{rho}"]))  # type: ignore[arg-type]
    if name in _REGRESSORS:
        return _REGRESSORS[name](estimator=DecisionTreeRegressor(), **options)
    return _CLASSIFIERS[name](**options)
