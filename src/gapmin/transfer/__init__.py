"""Whether other data helps: one evaluation, one rule, one result. In the making: it will replace `gapmin.selection`."""

from .evidence import Evidence, Hypothesis, SourceVerdict
from .transfer_cv import TransferClassifierCV, TransferRegressorCV

__all__ = ["Evidence", "Hypothesis", "SourceVerdict", "TransferClassifierCV", "TransferRegressorCV"]
