"""Multi-Obj: the shortest mix of the tasks' gradients, a descent direction for all of them (MGDA)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.utils._param_validation import StrOptions
from torch import Tensor

from gapmin.deep.config import parameter
from gapmin.deep.heads import Batch, MultitaskNet
from gapmin.deep.losses import own_losses
from gapmin.deep.objectives._base import Objective, Step
from gapmin.deep.relations import min_norm_weights
from gapmin.deep.shares import sizes_of_task, total, whole_sizes


class GradientObjective(Objective):
    """The base of objectives that make one gradient for the extractor of those of the K losses.

    Every task has rows of its own, so the K gradients are K passes over parts of the batch, which together cost one
    pass over the whole. Each head follows its own loss.
    """

    def forward(self, batch: Batch) -> Step:
        """Return the sum of the losses with gradients of its own.

        Parameters
        ----------
        batch : Batch
            Rows of several tasks.
        """
        shared = [p for p in self.net.extractor.parameters() if p.requires_grad]
        heads = list(self.net.heads.parameters())
        losses, jacobian, of_heads = [], [], [torch.zeros_like(p) for p in heads]
        for k, part in self._parts(batch):
            own = self.net.own(part)
            loss = own_losses(own.logits, part.y, part.sizes, part.weight)[k]
            if not torch.is_grad_enabled():
                losses.append(loss)
                continue
            gradients = torch.autograd.grad(loss, shared + heads, allow_unused=True, materialize_grads=True)
            jacobian.append(gradients[: len(shared)])
            for added, gradient in zip(of_heads, gradients[len(shared) :], strict=True):
                added += gradient
            losses.append(loss.detach())
        task_losses = torch.zeros(len(batch.sizes), device=batch.y.device, dtype=losses[0].dtype)
        there = [k for k, size in enumerate(whole_sizes(batch.sizes)) if size]
        task_losses[there] = torch.stack(losses)
        if not torch.is_grad_enabled():
            return Step(task_losses.sum(), task_losses)
        mixed = self._mixed(jacobian, task_losses[there], batch.sizes)
        loss = _GivenGradients.apply(task_losses.sum(), mixed + of_heads, *shared, *heads)
        return Step(loss, task_losses)

    def _parts(self, batch: Batch) -> list[tuple[int, Batch]]:
        """Return each present task's rows as a batch of its own."""
        sizes = list(batch.sizes)
        weights = [None] * len(sizes) if batch.weight is None else batch.weight.split(sizes)
        return [
            (k, Batch(x, y, sizes_of_task(batch.sizes, k), weight=weight))
            for k, (x, y, weight) in enumerate(zip(batch.x.split(sizes), batch.y.split(sizes), weights, strict=True))
            if whole_sizes(batch.sizes)[k]
        ]

    @abstractmethod
    def _mixed(self, jacobian: list[tuple[Tensor, ...]], losses: Tensor, sizes: Sequence[int]) -> list[Tensor]:
        """Return the gradient of each of the extractor's parameters, of a row of them for each task present."""


@dataclass(eq=False, repr=False)
class MultiObjective(GradientObjective):
    """Multitask learning as multi-objective optimisation (Sener & Koltun 2018).

    The extractor follows ``sum_k w_k grad L_k`` with the weights on the simplex that make it shortest; each head its
    own loss.

    Parameters
    ----------
    normalise : "none", "l2", "loss" or "loss+", default="none"
        What the gradients are divided by before the weights are found: nothing, their norms, the losses, or both.

    Attributes
    ----------
    task_weights : Tensor of shape (K,)
        Of the last batch.

    Examples
    --------
    >>> from gapmin.deep import MultiObjective, MultitaskClassifier
    >>> MultitaskClassifier(objective=MultiObjective(normalise="l2"))
    MultitaskClassifier(objective=MultiObjective(normalise='l2'))
    """

    over_processes = True
    weighs_rows = True

    normalise: str = parameter("none", StrOptions({"none", "l2", "loss", "loss+"}))

    def prepare(self, net: MultitaskNet) -> None:
        """Make what the objective keeps.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.
        """
        self.register_buffer("task_weights", torch.full((net.n_tasks,), 1 / net.n_tasks))

    def _mixed(self, jacobian: list[tuple[Tensor, ...]], losses: Tensor, sizes: Sequence[int]) -> list[Tensor]:
        weights = self._weights(jacobian, losses, sizes)
        task_weights = self.get_buffer("task_weights").zero_()
        task_weights[[k for k, size in enumerate(whole_sizes(sizes)) if size]] = weights.to(task_weights)
        rows = zip(*jacobian, strict=True)
        return [torch.stack([w * g for w, g in zip(weights.to(row[0]), row, strict=True)]).sum(0) for row in rows]

    def _weights(self, jacobian: list[tuple[Tensor, ...]], losses: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return MGDA's weights of the present tasks."""
        K = len(jacobian)
        flat = [torch.cat([g.flatten() for g in row]) if row else losses.new_zeros(1) for row in jacobian]
        J = total(torch.stack(flat), sizes)
        gram = (J @ J.T).double().cpu().numpy()
        if not np.isfinite(gram).all():
            return torch.full((K,), 1 / K, dtype=torch.float64)  # the loss is not finite either: the trainer says so
        divisor = np.ones(K)
        if "loss" in self.normalise:
            divisor = divisor * losses.double().cpu().numpy()
        if self.normalise in ("l2", "loss+"):
            divisor = divisor * np.sqrt(np.diag(gram))
        divisor = np.maximum(divisor, 1e-12)
        return torch.from_numpy(min_norm_weights(gram / np.outer(divisor, divisor)))


class _GivenGradients(torch.autograd.Function):
    """A value, as a function of parameters whose gradients are given."""

    @staticmethod
    def forward(ctx, value, gradients, *parameters):  # type: ignore[no-untyped-def]
        ctx.gradients = gradients
        return value.clone()

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return None, None, *[grad * gradient for gradient in ctx.gradients]
