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
    weighs_rows = True

    def forward(self, batch: Batch) -> Step:
        """Return sum_k L_k(h_k).

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        own = self.net.own(batch)
        losses = own_losses(own.logits, batch.y, batch.sizes, batch.weight)
        return Step(losses.sum(), losses.detach())
