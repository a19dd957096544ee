"""Any aggregator of torchjd as an objective: what makes one gradient of the gradients of K losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from gapmin._utils.text import counted, one_line
from gapmin.deep.objectives.multi_objective import GradientObjective


class Aggregated(GradientObjective):
    """Multitask learning by an aggregator of torchjd, such as UPGrad.

    The extractor follows what the aggregator makes of the K gradients; each head its own loss. A network estimator
    makes this of an aggregator that it is given: ``MultitaskClassifier(objective=torchjd.aggregation.UPGrad())``. Some
    aggregators need ``pip install "torchjd[full]"``, and all of them memory for K gradients of the extractor.

    Parameters
    ----------
    aggregator : torchjd.aggregation.Aggregator
    """

    weighs_rows = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"aggregator": [nn.Module]}

    def __init__(self, aggregator: nn.Module) -> None:
        super().__init__()
        self.aggregator = aggregator

    def check_resumable(self) -> None:
        """Refuse an aggregator that keeps something between steps, which no checkpoint would hold."""
        if hasattr(self.aggregator, "reset"):
            raise ValueError(
                f"{type(self.aggregator).__name__} keeps something between steps that no checkpoint holds: set "
                "checkpoint_dir=None, or take another objective"
            )

    def check_over_processes(self) -> None:
        """Refuse to run on several processes."""
        raise ValueError(f"{type(self.aggregator).__name__} of torchjd is for one process: set devices=1")

    def _mixed(self, jacobian: list[tuple[Tensor, ...]], losses: Tensor, sizes: Sequence[int]) -> list[Tensor]:
        if not jacobian[0]:
            return []
        rows = torch.stack([torch.cat([gradient.flatten() for gradient in row]) for row in jacobian])
        if not torch.isfinite(rows).all():
            return list(jacobian[0])  # the loss is not finite either: the trainer says so
        try:
            mixed = self.aggregator(rows)
        except ValueError as error:
            raise ValueError(
                f"{type(self.aggregator).__name__} of torchjd cannot take the gradients of "
                f"{counted(len(rows), 'task')} ({one_line(error)}): make it for as many tasks as there are, and with "
                "sampling='cycle', by which every batch has rows of all"
            ) from error
        parts = mixed.split([each.numel() for each in jacobian[0]])
        return [part.view_as(each) for part, each in zip(parts, jacobian[0], strict=True)]


def is_aggregator(value: Any) -> bool:
    """Whether an object is an aggregator of torchjd, without importing it."""
    return any(kind.__module__.startswith("torchjd.") and kind.__name__ == "Aggregator" for kind in type(value).__mro__)
