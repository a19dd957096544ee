"""The boosters of `gapmin.boosting` on Dask arrays and DataFrames: collections in, collections out."""

from gapmin._utils.extras import install_hint

with install_hint("dask", "gapmin.dask works on Dask collections"):
    import distributed  # noqa: F401 (it needs dask itself)

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
