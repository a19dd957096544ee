"""AMTNN: relation coefficients and Wasserstein critics (Shui et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gapmin.deep.config import AT_LEAST_ONE, NOT_NEGATIVE, parameter
from gapmin.deep.critics import PENALTY_ON, PairCritics
from gapmin.deep.heads import Batch, MultitaskNet
from gapmin.deep.losses import loss_matrix
from gapmin.deep.objectives._base import Objective, Step, both_present, row_counts
from gapmin.deep.relations import RunningCost, relation_by_norm, relation_costs


@dataclass(eq=False, repr=False)
class AMTNN(Objective):
    """Weighted losses, Wasserstein distances in feature space, and relation coefficients by a convex step an epoch.

    Task t minimises ``sum_i alpha_ti (L_i(h_t) + distance * W(t, i)) + strength ||alpha_t||_2``, alpha_t on the
    simplex. The critics of W are trained in the same step, by gradient reversal, under a gradient penalty.

    Parameters
    ----------
    distance : float, default=0.1
        The weight of the distances.
    strength : float, default=2.0
        How much the norm of alpha costs: the more, the nearer alpha is to uniform.
    penalty, penalty_on, critic_hidden
        As in `AdvW`.

    Attributes
    ----------
    relation : Tensor of shape (K, K)
        alpha; uniform to begin with.

    Examples
    --------
    >>> from gapmin.deep import AMTNN, MultitaskClassifier
    >>> MultitaskClassifier(objective=AMTNN(strength=1.0))
    MultitaskClassifier(objective=AMTNN(strength=1.0))
    """

    over_processes = True
    weighs_rows = True

    distance: float = parameter(0.1, NOT_NEGATIVE)
    strength: float = parameter(2.0, NOT_NEGATIVE)
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
        K = net.n_tasks
        self.register_buffer("relation", torch.full((K, K), 1 / K))
        self.losses, self.distances = RunningCost(K), RunningCost(K)
        self.critics = PairCritics(K, net.in_features, self.critic_hidden) if K > 1 else None

    def forward(self, batch: Batch) -> Step:
        """Return sum_ti alpha_ti L_i(h_t) and what the critics minimise, reversed for the extractor.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        pairs = self.net.all_pairs(batch)
        losses = loss_matrix(pairs.logits, batch.y, batch.sizes, batch.weight)
        loss = (self.relation * losses).sum()
        terms = {}
        self.losses.add(losses, row_counts(batch))
        if self.critics is not None:
            scale = self.distance * (self.relation + self.relation.T)
            distances, adversary = self.critics.adversarial_loss(
                self.net.extractor, pairs.z, batch, scale, self.penalty, self.penalty_on
            )
            loss = loss + adversary
            self.distances.add(distances, both_present(batch))
            terms["wasserstein"] = distances.sum() / 2
        return Step(loss, losses.detach().diagonal(), terms)

    def end_epoch(self) -> None:
        """Solve for the relation coefficients, given the epoch's losses and distances."""
        costs = relation_costs(self.losses.mean(), self.distance * self.distances.mean(), kind="printed")
        self._set_relation(relation_by_norm(costs, self.strength))
        self.losses.discount()
        self.distances.discount()
