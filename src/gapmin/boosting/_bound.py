"""Proposition 38 (`boostpropositionA`): the target risk of gapBoost's linear ensemble."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gapmin.boosting._rows import TrainingRows, compute_scalars
from gapmin.gap import RiskBound
from gapmin.linear import WeightedLogisticRegression

if TYPE_CHECKING:
    from gapmin.boosting.gapboost import GapBoostClassifier


def why_not(booster: GapBoostClassifier) -> str | None:
    """Return the condition of Proposition 38 that does not hold for a fitted booster, or None."""
    learner = booster.estimators_[0]
    if not all(isinstance(h, WeightedLogisticRegression) for h in booster.estimators_):
        return (
            f"its learners are linear, and {type(learner).__name__} is not known to be: use WeightedLogisticRegression"
        )
    if booster.classes_.size != 2:
        return f"it is for two classes, and there are {booster.classes_.size}"
    if booster.resample:
        return "its learners are trained with weights: fit with resample=False"
    if (booster.estimator_weights_ < 0).any() or not booster.estimator_weights_.any():
        return "its alphas are at least 0, and a learner no better than chance has another: use fewer rounds"
    return None


def measure_for_bound(booster: GapBoostClassifier, rows: TrainingRows, largest: list[float]) -> dict[str, float] | str:
    """Take from the training rows the few numbers that the bound needs, so that they need not be kept.

    Where it does not hold, return why.
    """
    reason = why_not(booster)
    if reason is not None:
        return reason
    target = rows.target
    alpha = booster.estimator_weights_ / booster.estimator_weights_.sum()
    coef = np.array([h.coef_[0] for h in booster.estimators_], dtype=np.float64)
    intercept = np.array([h.intercept_[0] for h in booster.estimators_], dtype=np.float64)
    score, largest_norm = target.project(alpha @ coef)
    R = float(np.sqrt(largest_norm + booster.estimators_[0].fit_intercept))
    margin = (2 * target.y - 1) * (score + alpha @ intercept)
    (empirical,) = compute_scalars(np.average(np.logaddexp(0, -margin), weights=target.take(rows.weight)))
    norms = np.sqrt((coef**2).sum(axis=1) + intercept**2)
    return {
        "empirical": empirical,
        "R": R,
        "gamma_target": max(largest),
        "B_sample": float(alpha @ np.logaddexp(0, R * norms)),
        "n_target": target.count,
    }


def ensemble_bound(booster: GapBoostClassifier, delta: float, R: float | None) -> RiskBound:
    """L(f) <= L_S(f) + 2 rho^2 R^2 gamma / lam sqrt(2 log(4 / delta)) + B sqrt(log(2 / delta) / (2 N_T)).

    rho is 1 for the logistic loss, and gamma is the largest weight of a target row in any round. B is the loss at the
    norm sqrt(log(2) / lam) that every minimiser obeys: uniform, as the concentration needs it.
    """
    check_is_fitted(booster)
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}: give a probability between 0 and 1")
    parts = booster._bound_parts
    if isinstance(parts, str):
        raise ValueError(f"Proposition 38 does not hold here: {parts}")
    if R is not None and not R > 0:
        raise ValueError(f"R is {R}: give a positive bound on the norm of every row")
    radius_from = "given" if R is not None else "measured on its training rows"
    R = parts["R"] if R is None else R
    lam = booster.estimators_[0].lam
    B = float(np.logaddexp(0, R * np.sqrt(np.log(2) / lam)))
    gamma, count = parts["gamma_target"], parts["n_target"]
    assumptions = [
        "f(x) = sum_k alpha_k <h_k, x> with alphas that sum to one, in logistic loss; "
        f"predict votes with vote={booster.vote!r} instead",
        f"||x|| <= R = {R:.4g} for every x of the target ({radius_from})",
        "the weights do not depend on the sample; gapBoost learnt them from it",
    ]
    if booster.estimators_[0].fit_intercept:
        assumptions.append(
            "the penalty holds for all of h; here the intercept is free: for the strict bound fit "
            "WeightedLogisticRegression(fit_intercept=False) on X with a constant column"
        )
    return RiskBound(
        terms={
            "empirical": parts["empirical"],
            "complexity": 2 * R**2 * gamma / lam * float(np.sqrt(2 * np.log(4 / delta))),
            "concentration": B * float(np.sqrt(np.log(2 / delta) / (2 * count))),
        },
        delta=delta,
        assumptions=tuple(assumptions),
        constants={**parts, "R": R, "rho": 1.0, "lam": lam, "B": B},
    )
