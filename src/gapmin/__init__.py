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
    "rank_sources",
    "split_domains",
    "stack_domains",
]

_HOMES = ("boosting", "domains", "transfer")
_SUBPACKAGES = (*_HOMES, "base", "gap", "linear")


def __getattr__(name: str) -> Any:
    """Import what is asked for: `gapmin --help` and `gapmin.datasets` need none of the estimators."""
    if name in _SUBPACKAGES:
        return import_module(f"gapmin.{name}")
    if name in __all__:
        homes = (import_module(f"gapmin.{home}") for home in _HOMES)
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
