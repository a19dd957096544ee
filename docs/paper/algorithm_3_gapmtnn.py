"""Algorithm 3, gapMTNN, one epoch: the printed lines, one after the other.

"correction D1" is row D1 of docs/fidelity.md. The optimiser is the printed step, not Adam (D21c).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


class Head(NamedTuple):
    """h_k: d features - H - activation - classes."""

    weight1: Tensor
    bias1: Tensor
    weight2: Tensor
    bias2: Tensor
    activation: Callable[[Tensor], Tensor]

    def hidden(self, z: Tensor) -> Tensor:
        """Return the features of Appendix C, "with size 256"."""
        return self.activation(z @ self.weight1.T + self.bias1)

    def __call__(self, z: Tensor) -> Tensor:
        return self.hidden(z) @ self.weight2.T + self.bias2  # correction D21b; printed: its softmax

    @property
    def parameters(self) -> list[Tensor]:
        """What line 4 moves."""
        return [self.weight1, self.bias1, self.weight2, self.bias2]


class MovingAverage(NamedTuple):
    """The sums and counts of the class centroids C_k^c (correction D3): (K, classes, H) and (K, classes)."""

    sums: Tensor
    counts: Tensor


def gapmtnn_epoch(
    phi: torch.nn.Module,
    h: Sequence[Head],
    batches: Sequence[Sequence[tuple[Tensor, Tensor]]],
    Gamma: Tensor,
    past: MovingAverage,
    alpha: float,
    lambda_1: float,
    lambda_2: float,
    lambda_3: float,
    decay: float = 0.7,
) -> tuple[Tensor, MovingAverage]:
    """Input: {S_k}, initial task weights {Gamma^k}, and a learning rate alpha.

    A batch has (x^k, y^k) for each task k, rows of every one. phi and h are changed where they are.
    """
    K = len(h)
    costs = []
    # line 1: DNN parameter training stage (given {Gamma^k})
    # line 2: for min-batch {(x_i^k, y_i^k)} from task {S_k}
    for batch in batches:
        z = [phi(x) for x, _ in batch]
        # line 3: compute the feature centroids on the current batch; use moving average to update {C_k^c}
        past_sums, past_counts = past
        sums, counts = past_sums.clone(), past_counts.clone()
        for k, (_, y) in enumerate(batch):
            features = h[k].hidden(z[k])  # correction D2; printed: Phi(x)
            for c in range(counts.shape[1]):
                if (y == c).any():
                    sums[k, c] = decay * past_sums[k, c] + features[y == c].sum(0)  # correction D1; printed: over S_k
                    counts[k, c] = decay * past_counts[k, c] + (y == c).sum()
        past = MovingAverage(sums.detach(), counts)  # correction D3; printed: what a gradient reaches is not said

        L = [[F.cross_entropy(h[j](z[k]), batch[k][1]) for k in range(K)] for j in range(K)]  # L_k(h_j)
        nabla = [[_semantic(sums, counts, j, k) for k in range(K)] for j in range(K)]
        r = [[_marginal(sums, counts, j, k) for k in range(K)] for j in range(K)]  # correction D7; printed: dist
        weighted_loss = [sum(Gamma[j, k] * L[j][k] for k in range(K)) for j in range(K)]
        nabla_of = [sum(Gamma[j, k] * nabla[j][k] for k in range(K) if k != j) for j in range(K)]
        r_of = [sum(Gamma[j, k] * r[j][k] for k in range(K) if k != j) for j in range(K)]

        # line 4: Phi <- Phi - alpha d(sum_k L_S^k + lambda_1 nabla_k + lambda_2 r_k) / dPhi,
        #         h_k <- h_k - alpha dL_S^k / dh_k
        everything = sum(weighted_loss[k] + lambda_1 * nabla_of[k] + lambda_2 * r_of[k] for k in range(K))
        of_phi = list(phi.parameters())
        steps = [(of_phi, torch.autograd.grad(everything, of_phi, retain_graph=True))]
        for k in range(K):
            own = h[k].parameters
            steps.append((own, torch.autograd.grad(weighted_loss[k], own, retain_graph=True)))
        with torch.no_grad():
            for parameters, gradients in steps:
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter -= alpha * gradient
        costs.append(
            [
                [(L[j][k] + (lambda_1 * nabla[j][k] + lambda_2 * r[j][k]) * (j != k)).item() for k in range(K)]
                for j in range(K)
            ]
        )
    # line 5: end for
    # line 6: update {Gamma^k} by optimizing over Eq. (gapmobj1) (given Phi and {h_k})
    sizes = [[len(y) for _, y in batch] for batch in batches]
    assert all(each == sizes[0] for each in sizes), "batches of one size, so that a mean over them is one over rows"
    cost = np.mean(costs, axis=0)  # correction D10; printed: given Phi and {h_k}, as the epoch left them
    # correction D20; printed: lambda_3 without a value
    Gamma = torch.tensor(np.array([_best_on_simplex(row, lambda_3) for row in cost]))
    return Gamma, past


def _semantic(sums: Tensor, counts: Tensor, j: int, k: int) -> Tensor:
    """Return sum_c ||C_j^c - C_k^c||^2 over the classes that both tasks have had."""
    # correction D4; printed: over all classes
    both = [c for c in range(counts.shape[1]) if counts[j, c] > 0 and counts[k, c] > 0]
    return sum((_squared(sums[j, c] / counts[j, c], sums[k, c] / counts[k, c]) for c in both), torch.tensor(0.0))


def _marginal(sums: Tensor, counts: Tensor, j: int, k: int) -> Tensor:
    """Return dist(D_j, D_k): the squared distance of the tasks' means."""
    return _squared(sums[j].sum(0) / counts[j].sum(), sums[k].sum(0) / counts[k].sum())


def _squared(one: Tensor, other: Tensor) -> Tensor:
    return ((one - other) ** 2).sum()


def _best_on_simplex(cost: np.ndarray, lambda_3: float) -> np.ndarray:
    """Return the weights that minimise cost . w + lambda_3 ||w||^2 (correction D8; printed: CVXPY).

    For every set of tasks the minimiser with no weight elsewhere; of those without a negative weight, the best.
    """
    candidates = []
    tasks = range(len(cost))
    for size in range(1, len(cost) + 1):
        for chosen in map(list, combinations(tasks, size)):
            w = np.zeros(len(cost))
            w[chosen] = (1 + (cost[chosen].mean() - cost[chosen]) * size / (2 * lambda_3)) / size
            if (w >= 0).all():
                candidates.append(w)
    return min(candidates, key=lambda w: float(cost @ w + lambda_3 * w @ w))
