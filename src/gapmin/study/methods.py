"""Who takes part in a comparison: ways of using the sources, from not at all to as far as the evidence goes."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapmin.boosting import (
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.linear import WeightedLogisticRegression
from gapmin.transfer import WeightedPoolingClassifier, WeightedPoolingRegressor

from .answer import transfer_model

TARGET_ONLY, POOLED, WEIGHTED = "target only", "pooled", "weighted pooling"
TRADABOOST, TRANSFERBOOST, GAPBOOST, OURS = "TrAdaBoost", "TransferBoost", "gapBoost", "TransferCV"

DESCRIPTIONS = {
    TARGET_ONLY: "no source: the mean of a linear and a kernel model, a forest and gradient boosting",
    POOLED: "all rows alike in a linear model",
    WEIGHTED: "a linear model of all rows, a fixed share of the weight on the target",
    TRADABOOST: "boosting that takes weight from source rows it gets wrong",
    TRANSFERBOOST: "boosting that also weighs whole sources by whether they help",
    GAPBOOST: "boosting that takes weight from source rows on which source and target disagree",
    OURS: "the same models without and with the sources, weighed by the evidence on target rows",
}


def method_names(task: str) -> tuple[str, ...]:
    """Return who takes part: TransferBoost is for classes alone.

    Examples
    --------
    >>> len(method_names("classification")), len(method_names("regression"))
    (7, 6)
    """
    return tuple(name for name in DESCRIPTIONS if task == "classification" or name != TRANSFERBOOST)


def make_method(name: str, task: str, seed: int) -> Any:
    """Return a method, unfitted and seeded; `TARGET_ONLY` is `OURS` for rows of the target alone."""
    classes = task == "classification"
    pooling: Any = WeightedPoolingClassifier if classes else WeightedPoolingRegressor
    if name in (TARGET_ONLY, OURS):
        return transfer_model(task, seed)
    if name == POOLED:
        return pooling(None if classes else _ridge(), target_share=None, random_state=seed)
    if name == WEIGHTED:
        learner = WeightedLogisticRegression(0.001) if classes else _ridge()
        return pooling(learner, target_share=0.8 if classes else 0.5, random_state=seed)
    if name == GAPBOOST:
        return GapBoostClassifier(random_state=seed) if classes else _gapboost_regressor(seed)
    if name == TRADABOOST:
        return TrAdaBoostClassifier(random_state=seed) if classes else TrAdaBoostRegressor(random_state=seed)
    return TransferBoostClassifier(random_state=seed)


def _ridge() -> Any:
    return make_pipeline(StandardScaler(), Ridge())


def _gapboost_regressor(seed: int) -> Any:
    # A tree that fits its rows exactly would end the boosting in its first round.
    return GapBoostRegressor(stop_when_perfect=False, random_state=seed)
