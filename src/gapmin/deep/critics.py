"""Critics that tell tasks apart by their features, trained against the extractor by a reversed gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import torch
from sklearn.utils._param_validation import StrOptions
from torch import Tensor, nn
from torch.nn import functional as F

from gapmin.deep.heads import Batch
from gapmin.deep.shares import all_rows, means, points_of_this_process, uniform, whole_sizes

PENALTY_ON = StrOptions({"features", "net"})
"""Where the penalty may hold the slope of the critics: in the extractor's features, or in its inputs."""


class _ReversedLinear(torch.autograd.Function):
    """A linear layer whose input gets the gradient reversed and scaled, output by output; its weights get it as it is.

    So the critic behind it climbs while the extractor before it descends, in one backward pass and with a weight for
    each critic.
    """

    @staticmethod
    def forward(ctx, z, weight, bias, scale):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(z, weight, scale)
        return F.linear(z, weight, bias)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        z, weight, scale = ctx.saved_tensors
        to_input = -(grad * scale) @ weight if ctx.needs_input_grad[0] else None
        return to_input, grad.T @ z, grad.sum(0), None


def reversed_linear(z: Tensor, weight: Tensor, bias: Tensor, scale: Tensor) -> Tensor:
    """Return ``F.linear(z, weight, bias)``; backwards, `z` gets minus `scale` times the gradient.

    Examples
    --------
    >>> import torch
    >>> z = torch.ones(1, 2, requires_grad=True)
    >>> weight = torch.eye(2, requires_grad=True)
    >>> reversed_linear(z, weight, torch.zeros(2), torch.tensor([1.0, 0.5])).sum().backward()
    >>> z.grad, weight.grad
    (tensor([[-1.0000, -0.5000]]), tensor([[1., 1.], [1., 1.]]))
    """
    return _ReversedLinear.apply(z, weight, bias, scale)


class TaskDiscriminator(nn.Module):
    """Which of the K tasks is a row from? The adversary of Liu et al. (2017): d - hidden - ReLU - K."""

    def __init__(self, n_tasks: int, in_features: int, hidden: int = 128) -> None:
        super().__init__()
        self.first = nn.Linear(in_features, hidden)
        self.second = nn.Linear(hidden, n_tasks)

    def forward(self, z: Tensor, scale: float) -> Tensor:
        """Return the scores (rows, K); `z` gets the reversed gradient, `scale` times."""
        scales = torch.full_like(self.first.bias, scale)
        return self.second(F.relu(reversed_linear(z, self.first.weight, self.first.bias, scales)))


class PairCritics(nn.Module):
    """A critic f(z) = v . relu(W z + b) + c for each pair of tasks, all stacked.

    Parameters
    ----------
    n_tasks, in_features : int
    hidden : int, default=128
    kind : "wasserstein" or "h"
        What a critic estimates. The Wasserstein distance is E_j f - E_k f with the slope of f held at 1 by a penalty.
        The H-divergence is 2 (1 - error) - 1 of a logistic discriminator. Its smooth form is log 2 - cross entropy over
        log 2, which is 0 where the tasks cannot be told apart and 1 where they always can.
    """

    def __init__(self, n_tasks: int, in_features: int, hidden: int = 128, kind: str = "wasserstein") -> None:
        super().__init__()
        self.kind = kind
        self.n_tasks = n_tasks
        P = n_tasks * (n_tasks - 1) // 2
        first, second = nn.Linear(in_features, P * hidden), nn.Linear(hidden, max(P, 1))
        self.weight1, self.bias1 = first.weight, first.bias
        self.weight2 = nn.Parameter(second.weight.detach()[:P].clone())
        self.bias2 = nn.Parameter(second.bias.detach()[:P].clone())

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The tasks of each critic."""
        return list(combinations(range(self.n_tasks), 2))

    def forward(self, z: Tensor, sizes: Sequence[int], scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the distances (K, K), what the critics are to minimise, and their hidden layers before the ReLU.

        Parameters
        ----------
        z : Tensor of shape (rows, d)
        sizes : sequence of int
        scale : Tensor of shape (K, K)
            How much of the (reversed) gradient of each distance reaches the extractor.
        """
        P, H = self.weight2.shape
        per_pair = torch.stack([scale[j, k] for j, k in self.pairs]).to(z.dtype).repeat_interleave(H)
        before = reversed_linear(z, self.weight1, self.bias1, per_pair).view(-1, P, H)
        f = torch.einsum("nph,ph->np", F.relu(before), self.weight2) + self.bias2
        parts = f.split(list(sizes))
        distances = z.new_zeros(self.n_tasks, self.n_tasks)
        total = z.new_zeros(())
        present = self._present(sizes)
        values, counts = [], []
        for p, j, k in present:
            a, b = parts[j][:, p], parts[k][:, p]
            values += [a, b] if self.kind == "wasserstein" else [F.softplus(-a), F.softplus(b)]
            counts += [whole_sizes(sizes)[j], whole_sizes(sizes)[k]]
        found = means(values, counts, sizes)
        for (_, j, k), of_j, of_k in zip(present, found[::2], found[1::2], strict=True):
            distance = of_j - of_k if self.kind == "wasserstein" else 1 - (of_j + of_k) / 2 / _LOG2
            total = total - distance
            distances[j, k] = distances[k, j] = distance.detach().clamp_min(0)
        return distances, total, before

    def _present(self, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return (p, j, k) for each pair of tasks that the batch has rows of both of."""
        there = whole_sizes(sizes)
        return [(p, j, k) for p, (j, k) in enumerate(self.pairs) if there[j] and there[k]]

    def adversarial_loss(
        self, extractor: nn.Module, z: Tensor, batch: Batch, scale: Tensor, penalty: float, penalty_on: str
    ) -> tuple[Tensor, Tensor]:
        """Return the distances (K, K) and what to add to the loss: the critics' own, reversed for the extractor.

        Parameters
        ----------
        extractor : Module
        z : Tensor of shape (rows, d)
            The extractor's features of the batch.
        batch : Batch
        scale : Tensor of shape (K, K)
            The weight of each distance in the extractor's loss.
        penalty : float
            The weight of the gradient penalty; it is for the Wasserstein distance only.
        penalty_on : "features" or "net"
        """
        distances, loss, before = self(z, batch.sizes, scale.to(z.device))
        if self.kind == "wasserstein" and penalty:
            slopes = (
                self.penalty_on_features(before, batch.sizes)
                if penalty_on == "features"
                else self.penalty_through_net(extractor, batch.x, batch.sizes)
            )
            loss = loss + penalty * slopes
        return distances, loss

    def penalty_on_features(self, before: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the mean over points between two tasks of (slope - 1)^2, summed over pairs; the features held fixed.

        No second backward pass is needed. W z + b at a point between two rows lies between theirs. The slope of f there
        is W' a with a = v where the hidden unit is on, and its norm is the root of a' (W W') a.

        Parameters
        ----------
        before : Tensor of shape (rows, pairs, hidden)
            The hidden layers before the ReLU, from `forward`.
        """
        P, H = self.weight2.shape
        W = self.weight1.view(P, H, -1)
        gram = W @ W.transpose(1, 2)
        parts = all_rows(before, sizes).split(list(whole_sizes(sizes)))
        values, counts = [], []
        for p, j, k in self._present(sizes):
            first, second = (part[:, p] for part in _paired(parts[j], parts[k]))
            between = _between(first, second, sizes)
            a = self.weight2[p] * (between > 0)
            slope = ((a @ gram[p]) * a).sum(1).clamp_min(1e-12).sqrt()
            values.append((slope - 1).square())
            counts.append(len(first))
        return sum(means(values, counts, sizes), before.new_zeros(()))

    def penalty_through_net(self, extractor: nn.Module, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the same with the slope of f(Phi(x)) in x, between rows of two tasks as they came in.

        The extractor's weights are held fixed: the penalty is on the critics.
        """
        H = self.weight2.shape[1]
        fixed = {name: value.detach() for name, value in extractor.named_parameters()}
        fixed |= {name: value.detach().clone() for name, value in extractor.named_buffers()}
        parts = all_rows(x, sizes).split(list(whole_sizes(sizes)))
        values, counts = [], []
        wanted = torch.is_grad_enabled()
        with torch.enable_grad():  # the slopes are gradients themselves, also where the loss is only looked at
            for p, j, k in self._present(sizes):
                first, second = _paired(parts[j], parts[k])
                between = _between(first, second, sizes).requires_grad_()
                z = torch.func.functional_call(extractor, fixed, (between,))
                rows = slice(p * H, (p + 1) * H)
                f = F.relu(F.linear(z, self.weight1[rows], self.bias1[rows])) @ self.weight2[p]
                (slopes,) = torch.autograd.grad(f.sum(), between, create_graph=True)
                values.append((slopes.flatten(1).square().sum(1).clamp_min(1e-12).sqrt() - 1).square())
                counts.append(len(first))
            total = sum(means(values, counts, sizes), x.new_zeros(()))
        return total if wanted else total.detach()


_LOG2 = math.log(2)


def _paired(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return as many rows of each as the larger has, the rows of the smaller one over and over."""
    n = max(len(a), len(b))
    return a[torch.arange(n, device=a.device) % len(a)], b[torch.arange(n, device=b.device) % len(b)]


def _between(first: Tensor, second: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return a point between each two rows; where processes share a batch, those that are this one's to work on."""
    t = uniform((len(first), *[1] * (first.ndim - 1)), first, sizes)
    return (t * first + (1 - t) * second)[points_of_this_process(sizes)]
