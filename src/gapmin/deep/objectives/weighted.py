"""Weighted: heads also learn from the other tasks' rows, the more the better they do on them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import torch
from sklearn.utils._param_validation import Interval

from gapmin.deep.config import POSITIVE, parameter
from gapmin.deep.heads import Batch, MultitaskNet
from gapmin.deep.losses import loss_matrix
from gapmin.deep.objectives._base import Objective, Step, row_counts
from gapmin.deep.relations import RunningCost, relation_by_entropy


@dataclass(eq=False, repr=False)
class Weighted(Objective):
    """A weighted risk over all tasks, the weights by a probabilistic rule (after Murugesan et al. 2016).

    Task j minimises ``own * L_j(h_j) + (1 - own) * sum_{k != j} eta_jk L_k(h_j)``; after each epoch
    ``eta_jk`` is proportional to ``exp(-L_k(h_j) / temperature)``, which minimises that sum plus `temperature` times
    the divergence of eta from the uniform distribution. The published algorithm is online and linear: a round there
    is an epoch here, and the losses are the epoch's averages.

    Parameters
    ----------
    own : float, default=0.5
        The weight of a task's own rows.
    temperature : float, default=1.0
        The larger, the more equal the weights.

    Attributes
    ----------
    relation : Tensor of shape (K, K)
        Row j: the weight of each task in the loss of task j.

    Examples
    --------
    >>> from gapmin.deep import Weighted, MultitaskClassifier
    >>> MultitaskClassifier(objective=Weighted(own=0.8))
    MultitaskClassifier(objective=Weighted(own=0.8))
    """

    over_processes = True
    weighs_rows = True

    own: float = parameter(0.5, Interval(Real, 0, 1, closed="both"))
    temperature: float = parameter(1.0, POSITIVE)

    def prepare(self, net: MultitaskNet) -> None:
        """Make what the objective keeps.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.
        """
        K = net.n_tasks
        self.register_buffer("relation", torch.empty(K, K))
        self.losses = RunningCost(K)
        if not self.relation.is_meta:
            self._set_relation(relation_by_entropy(torch.zeros(K, K), 1.0, self.own))

    def forward(self, batch: Batch) -> Step:
        """Return sum_jk relation_jk L_k(h_j).

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        pairs = self.net.all_pairs(batch)
        losses = loss_matrix(pairs.logits, batch.y, batch.sizes, batch.weight)
        self.losses.add(losses, row_counts(batch))
        return Step((self.relation * losses).sum(), losses.detach().diagonal())

    def end_epoch(self) -> None:
        """Estimate the relation from the losses of the epoch."""
        self._set_relation(relation_by_entropy(self.losses.mean(), self.temperature, self.own))
        self.losses.discount()
