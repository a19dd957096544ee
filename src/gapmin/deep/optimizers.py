"""Optimisers and learning rates by name or factory, the same after a resume as without one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from math import cos, pi
from typing import Any

import torch
from torch import nn

from gapmin._utils.text import one_line
from gapmin.deep._names import name_of

OPTIMIZERS: dict[str, Any] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "rmsprop": torch.optim.RMSprop,
}
SCHEDULES = ("step", "cosine", "constant")
_NOT_FUSED = ("rmsprop",)


def make_optimizer(
    given: Any, parameters: Sequence[nn.Parameter], *, lr: float, weight_decay: float, device: torch.device
) -> torch.optim.Optimizer:
    """Return an optimiser of the parameters.

    Parameters
    ----------
    given : str or callable
        A name of `OPTIMIZERS` or a class of `torch.optim`, which get `lr` and `weight_decay` too; or a function of the
        parameters alone.
    parameters : sequence of Parameter
    lr, weight_decay : float
    device : torch.device
    """
    if isinstance(given, str):
        options = {"fused": True} if given not in _NOT_FUSED and device.type in ("cpu", "cuda") else {}
        made: Any = OPTIMIZERS[given](parameters, lr=lr, weight_decay=weight_decay, **options)
        return made
    made = _made_by(
        given, parameters, "optimizer", **({"lr": lr, "weight_decay": weight_decay} if isinstance(given, type) else {})
    )
    if not isinstance(made, torch.optim.Optimizer) or isinstance(made, torch.optim.LBFGS):
        raise TypeError(
            f"optimizer makes {type(made).__name__}: give a name, or what makes an optimiser of torch.optim that steps "
            "by gradients alone"
        )
    known = {id(each) for each in parameters}
    if {id(each) for group in made.param_groups for each in group["params"]} - known:
        raise ValueError("optimizer has parameters that it was not given: make it of those alone")
    return made


def _made_by(factory: Any, what: Any, parameter: str, **settings: float) -> Any:
    """Return what a factory of the user's makes; say of one that takes other arguments what to give."""
    try:
        return factory(what, **settings)
    except TypeError as error:
        given = " and ".join([{"optimizer": "the parameters", "scheduler": "the optimiser"}[parameter], *settings])
        raise TypeError(
            f"{parameter} is {name_of(factory)}, which cannot be made of {given} alone ({one_line(error)}): give a "
            "function that can, such as functools.partial with the other settings"
        ) from error


class LearningRates:
    """The learning rate of each epoch.

    A schedule of PyTorch is stepped once for each epoch that has passed, also after a resume: then it is where it was.

    Parameters
    ----------
    optimizer : Optimizer
    scheduler : str or callable
        A name of `SCHEDULES`, or what makes a scheduler of the optimiser.
    epochs : int
    decay, every : float and int
        Of "step".
    """

    def __init__(self, optimizer: torch.optim.Optimizer, scheduler: Any, epochs: int, decay: float, every: int) -> None:
        self.optimizer, self.scheduler, self.epochs = optimizer, scheduler, epochs
        self.decay, self.every, self.done = decay, every, 0
        self.start = [group["lr"] for group in optimizer.param_groups]
        self.made: Any = None
        if not isinstance(scheduler, str):
            self.made = _made_by(scheduler, optimizer, "scheduler")
            if isinstance(self.made, torch.optim.lr_scheduler.ReduceLROnPlateau) or not hasattr(self.made, "step"):
                raise TypeError(
                    f"scheduler makes {type(self.made).__name__}: give one of {', '.join(SCHEDULES)}, or what makes a "
                    "scheduler of torch.optim.lr_scheduler that needs no figure"
                )

    def go_to(self, epoch: int) -> None:
        """Set the rates of an epoch, counted from 0."""
        if self.made is not None:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*lr_scheduler.step.*")  # before the first step of a resume
                while self.done < epoch:
                    self.made.step()
                    self.done += 1
            return
        factor = {
            "step": self.decay ** (epoch // self.every),
            "cosine": (1 + cos(pi * epoch / max(self.epochs, 1))) / 2,
            "constant": 1.0,
        }[self.scheduler]
        for group, lr in zip(self.optimizer.param_groups, self.start, strict=True):
            group["lr"] = lr * factor
