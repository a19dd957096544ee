"""What every objective is: hyper-parameters first, a network by `setup`, then a loss for each batch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import torch
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints
from torch import Tensor, nn

from gapmin.deep.config import Parameters
from gapmin.deep.heads import Batch, MultitaskNet
from gapmin.deep.shares import whole_sizes


class Step(NamedTuple):
    """What an objective says of a batch.

    Attributes
    ----------
    loss : Tensor
        To be minimised: the trainer calls its ``backward()``.
    task_losses : Tensor of shape (K,)
        L_k(h_k), each task's head on its own rows.
    terms : mapping of str to Tensor
        Other terms of the loss, for the history.
    """

    loss: Tensor
    task_losses: Tensor
    terms: Mapping[str, Tensor] = MappingProxyType({})


class Objective(nn.Module, Parameters, BaseEstimator):
    """The base of all objectives.

    An objective is made with its hyper-parameters alone, so that it can be cloned and searched over; `setup` gives it
    a network, and all state it keeps is parameters and buffers. ``forward(batch)`` is the loss, `end_epoch` what is
    done once an epoch, and `relation` the K x K relation coefficients where the method has them.
    """

    over_processes: ClassVar[bool] = False
    """Whether sums and means over rows are those of all processes (as the functions of `gapmin.deep.losses` take them).

    Each class says so for itself: another `forward` may not.
    """

    weighs_rows: ClassVar[bool] = False
    """Whether losses are multiplied by ``batch.weight``, as ``own_losses(..., batch.weight)`` does. As above."""

    net: MultitaskNet
    relation: Tensor

    def __init__(self) -> None:
        super().__init__()

    def __post_init__(self) -> None:
        nn.Module.__init__(self)

    def setup(self, net: MultitaskNet) -> Self:
        """Take the network that is to be trained; check the hyper-parameters.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.

        Returns
        -------
        self
            The objective itself.
        """
        validate_parameter_constraints(
            self._parameter_constraints, BaseEstimator.get_params(self, deep=False), type(self).__name__
        )
        self.net = net
        self.prepare(net)
        return self

    def check_over_processes(self) -> None:
        """Refuse to run on several processes where the means would be those of each."""
        if not vars(type(self)).get("over_processes"):
            raise ValueError(
                f"{type(self).__name__} is an objective of your own, whose means over rows may be those of one "
                "process: set devices=1, or take them by gapmin.deep.losses and set over_processes = True in the class"
            )

    def check_weighs_rows(self) -> None:
        """Refuse weights of rows that would have no effect."""
        if not vars(type(self)).get("weighs_rows"):
            raise ValueError(
                f"{type(self).__name__} is an objective of your own, which may ignore the weights of rows: fit without "
                "sample_weight and class_weight, or give batch.weight to the functions of gapmin.deep.losses and set "
                "weighs_rows = True in the class"
            )

    def check_resumable(self) -> None:
        """Refuse to keep checkpoints of what could not go on as if it had not been killed."""

    def prepare(self, net: MultitaskNet) -> None:
        """Make what the method keeps beside the network: modules and buffers, of the network's sizes.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.
        """

    def set_class_counts(self, class_counts: Tensor) -> None:
        """Take in how many rows of each class (columns) each task (rows) trains on; before the first step.

        Parameters
        ----------
        class_counts : Tensor of shape (n_tasks, n_classes)
            How many rows of each class each task has.
        """

    def forward(self, batch: Batch) -> Step:
        """Return the loss of a batch.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        raise NotImplementedError

    def end_epoch(self) -> None:
        """Do what is done once an epoch."""

    @property
    def holdout_share(self) -> float:
        """The share of each task's rows that is kept from training and shown to `observe` after each epoch."""
        return 0.0

    def observe(self, batch: Batch) -> None:
        """Look at held-out rows, in evaluation mode and without gradients.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return BaseEstimator.__repr__(self, N_CHAR_MAX)

    def _set_relation(self, relation: Any) -> None:
        self.get_buffer("relation").copy_(torch.as_tensor(relation))


def row_counts(batch: Batch) -> Tensor:
    """Return how many rows of each task the batch has."""
    return torch.tensor(whole_sizes(batch.sizes), dtype=torch.get_default_dtype(), device=batch.y.device)


def both_present(batch: Batch) -> Tensor:
    """Return 1 for each two tasks that the batch has rows of both of."""
    there = (row_counts(batch) > 0).to(torch.get_default_dtype())
    return torch.outer(there, there)
