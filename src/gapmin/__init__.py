"""Learn from other people's data without being hurt by it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gapmin._version import __version__

if TYPE_CHECKING:
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
    from gapmin.study import read_study
    from gapmin.study.comparison import compare
    from gapmin.transfer import Evidence, TransferClassifierCV, TransferRegressorCV, rank_sources

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "Evidence",
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
    "compare",
    "rank_sources",
    "read_study",
    "split_domains",
    "stack_domains",
]

_HOMES = ("boosting", "domains", "transfer")
_OF_TABLES = {"compare": "gapmin.study.comparison", "read_study": "gapmin.study.study"}
_SUBPACKAGES = (*_HOMES, "base", "gap", "linear")


def __getattr__(name: str) -> Any:
    """Import what is asked for: `gapmin --help` and `gapmin.datasets` need none of the estimators."""
    if name in _SUBPACKAGES:
        return import_module(f"gapmin.{name}")
    if name in _OF_TABLES:
        return getattr(import_module(_OF_TABLES[name]), name)
    if name in __all__:
        homes = (import_module(f"gapmin.{home}") for home in _HOMES)
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES})
