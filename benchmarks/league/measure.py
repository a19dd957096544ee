"""One fit of the benchmark: a rule, its own model of the target alone, or a rival."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import gapmin
from gapmin.reproduce.cells import Cell, Measured, cell

from .problems import HONEST, SCALED, SHIFTED, draw, problems, problems_for, variants_for
from .rivals import RIVALS, make_rival

NEW, OLD, RIVAL = RULES = ("new", "old", "rivals")
OURS, ALONE = "TransferCV", "target only"
OURS_OLD, ALONE_OLD = f"{OURS}, old", f"{ALONE}, old"
LEAVE_OUT = "leave out"


def cells(rule: str, seeds: Iterable[int]) -> list[Cell]:
    """Return every fit, seed by seed.

    The target alone has no cell for sources of another level, for in a regression their labels do not matter to it.
    """
    ours, alone = (OURS_OLD, ALONE_OLD) if rule == OLD else (OURS, ALONE)

    def methods(variant: str) -> tuple[str, ...]:
        if rule == OLD:  # only the problems' own sources are compared with those of the rule before
            return (ours,) if variant == HONEST else ()
        if rule == RIVAL:
            return RIVALS if variant in (HONEST, SHIFTED, SCALED) else ()
        return (ours,) if variant in (SHIFTED, SCALED) else (ours, alone)

    return [
        cell("league", name, method, 0, seed, variant=variant)
        for seed in seeds
        for name in problems_for(seed)
        for variant in variants_for(problems()[name].task, seed)
        for method in methods(variant)
    ]


def measure(cell: Cell) -> Measured:
    """Fit a method on one split of a problem, and keep what a rule said of the source."""
    problem, split = draw(cell.problem, str(cell.values["variant"]), cell.seed)
    sizes = {"n_train": int((split.sample_domain < 0).sum()), "n_test": split.y_test.size}
    # The same random numbers for a rule and for its target alone, whatever the source: without it they are one model.
    ours = cell.method not in RIVALS
    seed = (replace(cell, method=OURS, setting="{}") if ours else cell).random_state
    if cell.method in (OURS, ALONE):
        errors, said = _new_rule(cell.problem, str(cell.values["variant"]), cell.seed, seed)
        return Measured(errors[cell.method], **sizes, extra=said if cell.method == OURS else {})
    start = time.process_time()
    model = make(cell.method, problem.task, seed).fit(split.X, split.y, sample_domain=split.sample_domain)
    extra: dict[str, Any] = {"seconds": time.process_time() - start, "commit": commit()}
    if cell.method == OURS_OLD:
        said = model.transfer_verdict_
        extra |= {"transfers": bool(said.transfers), "weight": float(1 - model.domain_weight_[-1])}
    error = problem.error(split.y_test, model.predict(split.X_test))
    return Measured(error, **sizes, extra=extra)


@lru_cache(maxsize=1)
def _new_rule(name: str, variant: str, seed: int, random_state: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Evaluate once; return the errors of the rule and of its target alone, and what the rule says of the source."""
    problem, split = draw(name, variant, seed)
    start = time.process_time()
    model = make(OURS, problem.task, random_state)
    with_choice = {OURS: "auto", ALONE: "none", LEAVE_OUT: "all"}
    collected = model._gather(split.X, split.y, split.sample_domain, None)  # one evaluation for all choices
    fitted = {each: copy(model).set_params(sources=each)._finish(collected) for each in with_choice.values()}
    seconds = time.process_time() - start
    errors = {
        method: float(problem.error(split.y_test, fitted[choice].predict(split.X_test)))
        for method, choice in with_choice.items()
    }
    said = _said(fitted["auto"]) | {"error_with_source": errors.pop(LEAVE_OUT)}
    return errors, said | {"seconds": seconds, "commit": commit()}


def make(name: str, task: str, seed: int) -> Any:
    """Return a method, unfitted; a rule is imported only when it is asked for."""
    if name in RIVALS:
        return make_rival(name, task, seed)
    old = name in (OURS_OLD, ALONE_OLD)
    module = import_module("gapmin.selection" if old else "gapmin.transfer")
    search = module.TransferClassifierCV if task == "classification" else module.TransferRegressorCV
    without: dict[str, Any] = {"methods": ["target only"]} if old else {"sources": "none"}
    return search(random_state=seed, **(without if name in (ALONE, ALONE_OLD) else {}))


def _said(model: Any) -> dict[str, Any]:
    """Return what the new rule says of the one source; infinite numbers as large ones."""
    (source,) = model.evidence_.sources
    return {
        "weight": float(model.evidence_.transfer_weight),
        "verdict": source.verdict,
        "bayes_factor": _finite(source.bayes_factor),
        "evidence": _finite(source.evidence),
    }


def _finite(value: float) -> float:
    return math.copysign(min(abs(value), 1e300), value)


@cache
def commit() -> str:
    """Return the commit of the gapmin that is measured, with "-dirty" where files were changed."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    found = subprocess.run(asked, cwd=Path(gapmin.__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip()
