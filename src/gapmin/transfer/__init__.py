"""Whether other data helps: one evaluation, one rule, one result."""

from .explanation import Explanation, explain
from .importance import ColumnImportance, column_importance
from .pooling import WeightedPoolingClassifier, WeightedPoolingRegressor
from .ranking import rank_sources
from .result import Evidence, Hypothesis, Score, SourceVerdict
from .transfer_cv import TransferClassifierCV, TransferRegressorCV

__all__ = [
    "ColumnImportance",
    "Evidence",
    "Explanation",
    "Hypothesis",
    "Score",
    "SourceVerdict",
    "TransferClassifierCV",
    "TransferRegressorCV",
    "WeightedPoolingClassifier",
    "WeightedPoolingRegressor",
    "column_importance",
    "explain",
    "rank_sources",
]
