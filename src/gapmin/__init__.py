"""Learn from other people's data without being hurt by it."""

from gapmin._version import __version__
from gapmin.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.domains import TargetKFold, TargetShuffleSplit, split_domains, stack_domains
from gapmin.selection import TransferClassifierCV, TransferRegressorCV

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "GapBoostClassifier",
    "GapBoostRegressor",
    "TargetKFold",
    "TargetShuffleSplit",
    "TrAdaBoostClassifier",
    "TrAdaBoostRegressor",
    "TransferBoostClassifier",
    "TransferClassifierCV",
    "TransferRegressorCV",
    "__version__",
    "split_domains",
    "stack_domains",
]
