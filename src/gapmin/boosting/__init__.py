"""gapBoost, gapBoostR and their baselines, as scikit-learn estimators."""

from gapmin.boosting.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gapmin.boosting.gapboost import GapBoostClassifier, GapBoostRegressor
from gapmin.boosting.tradaboost import TrAdaBoostClassifier, TrAdaBoostRegressor
from gapmin.boosting.transferboost import TransferBoostClassifier

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "GapBoostClassifier",
    "GapBoostRegressor",
    "TrAdaBoostClassifier",
    "TrAdaBoostRegressor",
    "TransferBoostClassifier",
]
