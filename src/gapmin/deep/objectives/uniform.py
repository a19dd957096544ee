"""Uniform: every task counts the same, and nothing but the extractor is shared."""

from __future__ import annotations

from gapmin.deep.heads import Batch
from gapmin.deep.losses import own_losses
from gapmin.deep.objectives._base import Objective, Step


class Uniform(Objective):
    """The sum of the tasks' own losses.

    Examples
    --------
    >>> from gapmin.deep import MultitaskClassifier, Uniform
    >>> MultitaskClassifier(objective=Uniform())
    MultitaskClassifier(objective=Uniform())
    """

    over_processes = True

    def forward(self, batch: Batch) -> Step:
        """Return sum_k L_k(h_k)."""
        own = self.net.own(batch)
        losses = own_losses(own.logits, batch.y, batch.sizes)
        return Step(losses.sum(), losses.detach())
