"""Transfer problems and boosters by name: what Tables 2 and 3, Figures 1 to 3 and the demo are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
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
from gapmin.datasets import (
    TransferProblem,
    embedded_problems,
    load_newsgroups,
    load_office_caltech,
    load_thirds,
    make_friedman_transfer,
)
from gapmin.gap import gap_test
from gapmin.linear import InstanceWeightingClassifier, WeightedLogisticRegression
from gapmin.linear.source_gap import gap_setting, measure_gap

from .cells import Cell, Measured, SettingValue
from .names import GAPBOOST, GAPBOOSTR_PRINTED, POOLING, SOFT, TRADABOOST_R2_PRINTED

NEWSGROUPS = ("comp vs sci", "rec vs sci", "comp vs talk", "comp vs rec", "rec vs talk", "sci vs talk")
OFFICE_CALTECH = tuple(f"{source} -> {target}" for source in "ACDW" for target in "ACDW" if source != target)
THIRDS = ("Concrete", "Housing", "AutoMPG", "Diabetes")
REGRESSION = (*THIRDS, "Friedman")
AUTHORS_DEMO = "authors' demo"
"""A value of the setting "protocol": raw left singular vectors and no penalty, as in the authors' public demo."""
NO_PENALTY = 1e-9
"""lam of a learner without one: where rows separate, no penalty at all would leave no minimiser."""

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
    TRADABOOST_R2_PRINTED: lambda **options: TrAdaBoostRegressor(error_on="all", **options),
    # A fully grown tree given weights fits its rows exactly, and printed boosting ends there (docs/fidelity.md, 6c).
    GAPBOOSTR_PRINTED: GapBoostRegressor,
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
        errors[problem.name] = problem.error(split.y_test, model.predict(split.X_test))
        n_train.append(int((split.sample_domain < 0).sum()))
        n_test.append(split.y_test.size)
    return Measured(
        float(np.mean(list(errors.values()))), errors, n_train=float(np.mean(n_train)), n_test=float(np.mean(n_test))
    )


def measure_weights(cell: Cell) -> Measured:
    """Fit a booster on an embedded problem and record the weight of each domain and the disagreement, by round."""
    problem = embedded()[cell.problem].pooled()
    split = problem.split(cell.split, random_state=cell.seed)
    model = method(cell.method, cell.values, cell.random_state)
    model.fit(split.X, split.y, sample_domain=split.sample_domain)
    histories = {
        "mass": model.mass_history_.tolist(),
        "domains": model.domains_.tolist(),
        "disagreement": model.gap_history_.tolist(),
    }
    return Measured(problem.error(split.y_test, model.predict(split.X_test)), extra=histories)


def measure_source_gap(cell: Cell) -> Measured:
    """Measure the gap between the target's training rows and one source of an embedded problem, and test it.

    The parts are those of the gap, on the source and on the target, and the error is their sum. With more than two
    classes they are means over the classes, each against the rest, and the gap is not tested.
    """
    problem, source = embedded()[cell.problem], cell.values["source"]
    split = problem.split(cell.split, random_state=cell.seed)
    used = (split.sample_domain < 0) | (split.sample_domain == source)
    X, y, sample_domain = split.X[used], split.y[used], split.sample_domain[used]
    parts = measure_gap(X, y, sample_domain, problem.task)
    model, X, labels = gap_setting(X, y, sample_domain, problem.task)
    tested: dict[str, float] = {}
    if len(labels) == 1:
        n_permutations: Any = cell.values["n_permutations"]
        test = gap_test(
            model, X, labels[0], sample_domain=sample_domain, n_permutations=n_permutations, random_state=cell.seed
        )
        tested = {"by_chance": float(np.median(test.null)), "p_value": test.p_value}
    return Measured(sum(parts.values()), parts, extra=tested)


@cache
def embedded() -> dict[str, TransferProblem]:
    """Return the embedded problems by name, with their sources apart."""
    return {problem.name: problem for problem in embedded_problems()}


def problems(cell: Cell) -> tuple[TransferProblem, ...]:
    """Return the problems whose errors a cell averages, their sources pooled as in the paper's tables."""
    name: Any = cell.problem
    if name in NEWSGROUPS:
        return (load_newsgroups(name, scaled="raw" if _of_demo(cell.values) else True),)
    if name in OFFICE_CALTECH:
        source, target = name.split(" -> ")
        return load_office_caltech(source, target)
    if name in THIRDS:
        return tuple(problem.pooled() for problem in load_thirds(name.lower()))
    if name == "Friedman":
        # Drawn anew for each split: one draw of five sources would be one lucky or unlucky problem.
        return (make_friedman_transfer(random_state=1000 * cell.seed + cell.split).pooled(),)
    if name in embedded():
        return (embedded()[name].pooled(),)
    raise ValueError(f"there is no transfer problem {name!r}: use {', '.join((*NEWSGROUPS, *OFFICE_CALTECH))} …")


def method(name: str, setting: Mapping[str, SettingValue], random_state: int) -> Any:
    """Make the unfitted estimator that goes by a name of the paper, with the settings of the cell."""
    if name in POOLING:
        return InstanceWeightingClassifier(gamma=float(name.split()[1]), lam=0.001)
    options: dict[str, Any] = {"resample": setting["resample"], "random_state": random_state}
    for rho in ("rho_source", "rho_target"):
        if f"exp_{rho}" in setting:
            options[rho] = math.log(float(setting[f"exp_{rho}"]))  # type: ignore[arg-type]
    if name in _REGRESSORS:
        return _REGRESSORS[name](estimator=DecisionTreeRegressor(max_depth=setting.get("max_depth")), **options)
    if _of_demo(setting):
        options["estimator"] = WeightedLogisticRegression(lam=NO_PENALTY)
    return _CLASSIFIERS[name](**options)


def _of_demo(setting: Mapping[str, SettingValue]) -> bool:
    return setting.get("protocol") == AUTHORS_DEMO
