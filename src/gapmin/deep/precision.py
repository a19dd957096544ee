"""Mixed precision: the extractor computes in half the bits, everything else in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from gapmin.deep.config import PRECISIONS
from gapmin.deep.critics import PairCritics
from gapmin.deep.objectives import Objective
from gapmin.deep.objectives.multi_objective import GradientObjective


def check_precision(precision: str, device: torch.device, objective: Objective) -> None:
    """Refuse what a device cannot compute in, and float16 where gradients would be lost.

    Parameters
    ----------
    precision : "32", "bf16-mixed" or "16-mixed"
    device : torch.device
    objective : Objective
        With its network.
    """
    if precision == "32":
        return
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"precision is {precision!r} and the device {device.type}: set precision='32'")
    if precision == "16-mixed":
        if device.type != "cuda":
            raise ValueError("precision is '16-mixed', which is for CUDA: set precision='bf16-mixed' or '32'")
        critics = any(isinstance(each, PairCritics) for each in objective.modules())
        if critics or isinstance(objective, GradientObjective):
            raise ValueError(
                f"precision is '16-mixed', and gradients that {type(objective).__name__} takes by itself may become 0 "
                "in it: set precision='bf16-mixed' or '32'"
            )
    elif device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise ValueError(
            "precision is 'bf16-mixed', which this CUDA device cannot compute in: set precision='16-mixed' or '32'"
        )


@contextmanager
def mixed_extractor(extractor: nn.Module, precision: str, device: torch.device) -> Iterator[None]:
    """Let a module compute in the precision that is named; its output is float32.

    Parameters
    ----------
    extractor : Module
    precision : "32", "bf16-mixed" or "16-mixed"
    device : torch.device

    Examples
    --------
    >>> import torch
    >>> layer, x = torch.nn.Linear(1, 1, bias=False).requires_grad_(False), torch.ones(1, 1)
    >>> _ = layer.weight.fill_(1.001)
    >>> with mixed_extractor(layer, "bf16-mixed", torch.device("cpu")):
    ...     layer(x)
    tensor([[1.]])
    """
    dtype = PRECISIONS[precision]
    if dtype is None:
        yield
        return
    forward, own = extractor.forward, vars(extractor)
    before = own.get("forward")

    def mixed(x: Tensor) -> Tensor:
        with torch.autocast(device.type, dtype):
            found: Tensor = forward(x)
        return found.float()

    own["forward"] = mixed
    try:
        yield
    finally:
        if before is None:
            own.pop("forward", None)
        else:
            own["forward"] = before
