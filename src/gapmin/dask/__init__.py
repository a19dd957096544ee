"""The boosters of `gapmin.boosting` on Dask arrays and DataFrames: collections in, collections out."""

from gapmin._utils.extras import how_to_install

try:
    import distributed  # noqa: F401 (it needs dask itself)
except ImportError as error:
    raise ImportError(f"gapmin.dask works on Dask collections: {how_to_install('dask')}") from error

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
