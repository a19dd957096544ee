"""Adv.H and Adv.W: uniform losses, and an extractor whose features do not tell the tasks apart (Liu et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional as F

from gapmin.deep.config import AT_LEAST_ONE, NOT_NEGATIVE, parameter
from gapmin.deep.critics import PENALTY_ON, PairCritics, TaskDiscriminator
from gapmin.deep.heads import Batch, MultitaskNet
from gapmin.deep.losses import own_losses, row_tasks, task_means
from gapmin.deep.objectives._base import Objective, Step
from gapmin.deep.shares import whole_sizes


@dataclass(eq=False, repr=False)
class AdvH(Objective):
    """The tasks' own losses against a discriminator that is to tell which task a row is from.

    Parameters
    ----------
    adversary : float, default=0.1
        How strongly the extractor works against the discriminator.
    critic_hidden : int, default=128
        The width of the discriminator.

    Examples
    --------
    >>> from gapmin.deep import AdvH, MultitaskClassifier
    >>> MultitaskClassifier(objective=AdvH(adversary=0.2))
    MultitaskClassifier(objective=AdvH(adversary=0.2))
    """

    over_processes = True
    weighs_rows = True

    adversary: float = parameter(0.1, NOT_NEGATIVE)
    critic_hidden: int = parameter(128, AT_LEAST_ONE)

    def prepare(self, net: MultitaskNet) -> None:
        """Make what the objective keeps.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.
        """
        self.discriminator = TaskDiscriminator(net.n_tasks, net.in_features, self.critic_hidden)

    def forward(self, batch: Batch) -> Step:
        """Return sum_k L_k(h_k) and the discriminator's loss, whose gradient reaches the extractor reversed.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        own = self.net.own(batch)
        losses = own_losses(own.logits, batch.y, batch.sizes, batch.weight)
        scores = self.discriminator(own.z, self.adversary)
        task = row_tasks(batch.sizes, batch.y.device)
        # By task, so that a large task does not hide the others.
        confusion = task_means(F.cross_entropy(scores, task, reduction="none"), batch.sizes)
        adversary = confusion.sum() / sum(size > 0 for size in whole_sizes(batch.sizes))
        return Step(losses.sum() + adversary, losses.detach(), {"discriminator": adversary.detach()})


@dataclass(eq=False, repr=False)
class AdvW(Objective):
    """The tasks' own losses against critics that estimate the Wasserstein distance of each two tasks.

    Parameters
    ----------
    adversary : float, default=0.1
        The weight of the distances in the extractor's loss.
    penalty : float, default=10.0
        The weight of the gradient penalty that holds the critics' slope at 1.
    penalty_on : "features" or "net", default="features"
        Whether the slope is that in the extractor's features or, through the net, in its inputs.
    critic_hidden : int, default=128
        The width of the critics.

    Examples
    --------
    >>> from gapmin.deep import AdvW, MultitaskClassifier
    >>> MultitaskClassifier(objective=AdvW(penalty=1.0))
    MultitaskClassifier(objective=AdvW(penalty=1.0))
    """

    over_processes = True
    weighs_rows = True

    adversary: float = parameter(0.1, NOT_NEGATIVE)
    penalty: float = parameter(10.0, NOT_NEGATIVE)
    penalty_on: str = parameter("features", PENALTY_ON)
    critic_hidden: int = parameter(128, AT_LEAST_ONE)

    def prepare(self, net: MultitaskNet) -> None:
        """Make what the objective keeps.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.
        """
        self.critics = PairCritics(net.n_tasks, net.in_features, self.critic_hidden) if net.n_tasks > 1 else None

    def forward(self, batch: Batch) -> Step:
        """Return sum_k L_k(h_k) and what the critics minimise, whose gradient reaches the extractor reversed.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        own = self.net.own(batch)
        losses = own_losses(own.logits, batch.y, batch.sizes, batch.weight)
        if self.critics is None:
            return Step(losses.sum(), losses.detach())
        scale = torch.full((len(batch.sizes),) * 2, self.adversary)
        distances, adversary = self.critics.adversarial_loss(
            self.net.extractor, own.z, batch, scale, self.penalty, self.penalty_on
        )
        return Step(losses.sum() + adversary, losses.detach(), {"wasserstein": distances.sum() / 2})
