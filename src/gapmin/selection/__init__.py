"""Which sources are worth using, and is transfer worth it at all."""

from gapmin.selection._choice import TransferVerdict
from gapmin.selection.explanation import Explanation, explain
from gapmin.selection.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor
from gapmin.selection.ranking import RankedSource, SourceRanking, rank_sources
from gapmin.selection.transfer_cv import TransferClassifierCV, TransferRegressorCV

__all__ = [
    "Explanation",
    "RankedSource",
    "SourceRanking",
    "TransferClassifierCV",
    "TransferRegressorCV",
    "TransferVerdict",
    "WeightedPoolingClassifier",
    "WeightedPoolingRegressor",
    "explain",
    "rank_sources",
]
