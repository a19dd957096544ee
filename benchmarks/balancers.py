"""Ways to balance the losses of many tasks that others propose: torchjd's, and uncertainty weighting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sklearn.utils._param_validation import StrOptions
from torch import Tensor, nn
from torchjd import aggregation

from gapmin.deep import Batch, MultiObjective, MultitaskNet, Objective, Step
from gapmin.deep.config import parameter
from gapmin.deep.losses import own_losses

BALANCERS = ["UPGrad", "AlignedMTL", "PCGrad", "CAGrad", "NashMTL"]


@dataclass(eq=False, repr=False)
class Balanced(MultiObjective):
    """A mix of the tasks' gradients by a rule of torchjd; each head follows its own loss."""

    rule: str = parameter("UPGrad", StrOptions(set(BALANCERS)))

    def _weights(self, jacobian: list[tuple[Tensor, ...]], losses: Tensor, sizes: Sequence[int]) -> Tensor:
        J = torch.stack([torch.cat([gradient.flatten() for gradient in row]) for row in jacobian]).double()
        gram = J @ J.T
        if self.rule == "NashMTL":  # it takes the gradients themselves: rows with the same products do as well
            values, vectors = torch.linalg.eigh(gram)
            self.__dict__.setdefault("_nash", aggregation.NashMTL(len(gram)))
            return self.__dict__["_nash"].weighting(vectors * values.clamp_min(0).sqrt())
        settings = {"c": 0.4} if self.rule == "CAGrad" else {}  # of its paper, for classification
        return getattr(aggregation, f"{self.rule}Weighting")(**settings)(gram)


@dataclass(eq=False, repr=False)
class Uncertainty(Objective):
    """Losses weighted by learnt uncertainties (Kendall et al. 2018)."""

    def prepare(self, net: MultitaskNet) -> None:
        """Start with weights of 1."""
        self.log_variance = nn.Parameter(torch.zeros(net.n_tasks))

    def forward(self, batch: Batch) -> Step:
        """Return sum_k exp(-s_k) L_k + s_k / 2."""
        losses = own_losses(self.net.own(batch).logits, batch.y, batch.sizes)
        return Step((torch.exp(-self.log_variance) * losses + self.log_variance / 2).sum(), losses.detach())
