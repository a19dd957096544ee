"""The boosters of `gapmin.boosting` on Dask arrays and DataFrames: collections in, collections out."""

try:
    import distributed  # noqa: F401 (it needs dask itself)
except ImportError as error:
    raise ImportError('gapmin.dask works on Dask collections: run pip install "gapmin[dask]"') from error

from gapmin.dask._estimators import (
    DaskAdaBoostClassifier,
    DaskAdaBoostRegressor,
    DaskGapBoostClassifier,
    DaskGapBoostRegressor,
    DaskTrAdaBoostClassifier,
    DaskTrAdaBoostRegressor,
    DaskTransferBoostClassifier,
)

__all__ = [
    "DaskAdaBoostClassifier",
    "DaskAdaBoostRegressor",
    "DaskGapBoostClassifier",
    "DaskGapBoostRegressor",
    "DaskTrAdaBoostClassifier",
    "DaskTrAdaBoostRegressor",
    "DaskTransferBoostClassifier",
]
