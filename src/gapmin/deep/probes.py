"""Probe heads that say which tasks can teach which: trained on half of a task's rows, scored on the other half."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional as F

from gapmin._utils.typing import Array
from gapmin.deep.losses import row_tasks, task_means
from gapmin.deep.relations import common_classes
from gapmin.deep.shares import total, whole_sizes

_MOMENTS_KEPT = 0.9


class CrossFitProbes(nn.Module):
    """Two linear probes for each task, on features that they do not change.

    A row of half h trains probe h of its task and is scored by the probes of the other half. So every row trains, and
    no probe is scored on a row that it was trained on. Every class of a task counts the same, however rare. Probes
    start at 0, where they give every class the same probability. Features are standardised first, by moving averages
    over the rows of all tasks, so that probes learn at one pace on all networks.

    Parameters
    ----------
    n_tasks, in_features, n_classes : int
    """

    moments: Tensor
    moments_weight: Tensor

    def __init__(self, n_tasks: int, in_features: int, n_classes: int) -> None:
        super().__init__()
        self.n_tasks, self.n_classes = n_tasks, n_classes
        # Of the probe of half 0, then of half 1. Three axes: four would be taken for those of images.
        self.weight = nn.Parameter(torch.zeros(n_tasks, 2 * n_classes, in_features))
        self.bias = nn.Parameter(torch.zeros(n_tasks, 2 * n_classes))
        self.register_buffer("moments", torch.zeros(2, in_features))
        self.register_buffer("moments_weight", torch.zeros(()))

    @torch.no_grad()
    def see(self, z: Tensor, sizes: Sequence[int]) -> None:
        """Take a batch into the moving averages that features are standardised by."""
        self.moments *= _MOMENTS_KEPT
        self.moments_weight *= _MOMENTS_KEPT
        self.moments += total(torch.stack([z.sum(0), z.square().sum(0)]), sizes)
        self.moments_weight += sum(whole_sizes(sizes))

    def _layers(self) -> tuple[Tensor, Tensor]:
        """Return weights and biases that take features as they are, for the probes' own take them standardised.

        So no pass over the features is needed to standardise them.
        """
        mean, square = self.moments / self.moments_weight.clamp_min(1e-12)
        variance = (square - mean.square()).clamp_min(0)
        # A feature that hardly varies stays small.
        weight = self.weight * (variance + 0.01 * variance.mean() + 1e-12).rsqrt()
        return weight, self.bias - weight @ mean

    def losses(self, z: Tensor, y: Tensor, sizes: Sequence[int], half: Tensor, class_counts: Tensor) -> Tensor:
        """Return for each task the mean loss of its probes, each on the rows of its own half.

        Parameters
        ----------
        z : Tensor of shape (rows, in_features)
            Gets no gradient.
        y, half : Tensor of shape (rows,)
        sizes : sequence of int
        class_counts : Tensor of shape (K, classes)
            How many rows of each class each task has.
        """
        rows, (weight, bias) = z.detach(), self._layers()
        K, C = self.n_tasks, self.n_classes
        if len(set(sizes)) == 1:
            both = torch.baddbmm(bias.unsqueeze(1), rows.view(K, sizes[0], -1), weight.transpose(1, 2))
        else:
            parts = zip(rows.split(list(sizes)), weight.unbind(), bias.unbind(), strict=True)
            both = torch.cat([F.linear(*each) for each in parts])
        logits = both.view(-1, 2, C)[torch.arange(len(y), device=y.device), half]
        has = (class_counts > 0).sum(1, keepdim=True)
        balance = class_counts.sum(1, keepdim=True) / (has * class_counts).clamp_min(1)
        losses = F.cross_entropy(logits, y, reduction="none") * balance[row_tasks(sizes, y.device), y]
        return task_means(losses, sizes)

    @torch.no_grad()
    def errors(self, z: Tensor, y: Tensor, half: Tensor | None) -> Tensor:
        """Return the error of each row (first axis) by the probe of each task (second).

        It is 1 less the probability of the row's class. With `half` None, for rows that trained no probe, it is the
        mean over both probes of a task.
        """
        weight, bias = self._layers()
        if half is None:
            return (self._errors(z, y, weight, bias, 0) + self._errors(z, y, weight, bias, 1)) / 2
        found = z.new_empty(len(y), self.n_tasks)
        for trained_on in (0, 1):
            other = (half != trained_on).nonzero().squeeze(1)
            found.index_copy_(0, other, self._errors(z.index_select(0, other), y[other], weight, bias, trained_on))
        return found

    def _errors(self, z: Tensor, y: Tensor, weight: Tensor, bias: Tensor, trained_on: int) -> Tensor:
        of_half = slice(trained_on * self.n_classes, (trained_on + 1) * self.n_classes)
        # Classes before tasks: sums over few classes run along many tasks.
        logits = F.linear(z, weight[:, of_half].transpose(0, 1).flatten(0, 1), bias[:, of_half].T.flatten())
        probability = logits.view(-1, self.n_classes, self.n_tasks).softmax(1)
        return 1 - probability.gather(1, y.view(-1, 1, 1).expand(-1, 1, self.n_tasks)).squeeze(1)


class ProbeScores(nn.Module):
    """Errors of every task's probes on the rows of every task, class by class, over past epochs with falling weight.

    Attributes
    ----------
    errors : Tensor of shape (K, classes, K)
        Entry (j, c, k): the summed errors of task k's probes on the rows of class c of task j.
    squares : Tensor of shape (K, classes, K)
        The same of the squared differences to the errors of task j's own probes.
    counts : Tensor of shape (K, classes)
    """

    errors: Tensor
    squares: Tensor
    counts: Tensor

    def __init__(self, n_tasks: int, n_classes: int) -> None:
        super().__init__()
        self.register_buffer("errors", torch.zeros(n_tasks, n_classes, n_tasks))
        self.register_buffer("squares", torch.zeros(n_tasks, n_classes, n_tasks))
        self.register_buffer("counts", torch.zeros(n_tasks, n_classes))

    def add(self, errors: Tensor, y: Tensor, sizes: Sequence[int]) -> None:
        """Take in the errors of a batch's rows, of `CrossFitProbes.errors`."""
        K, C = self.counts.shape
        task = row_tasks(sizes, y.device)
        differences = errors - errors.gather(1, task.unsqueeze(1))
        rows = torch.cat([errors, differences.square(), torch.ones_like(errors[:, :1])], dim=1)
        member = F.one_hot(task * C + y, K * C).to(errors.dtype)
        sums = total(member.T @ rows, sizes).view(K, C, 2 * K + 1)
        self.errors += sums[:, :, :K]
        self.squares += sums[:, :, K : 2 * K]
        self.counts += sums[:, :, 2 * K]

    def discount(self, share: float) -> None:
        """Leave `share` of the weight of what was seen: an epoch begins."""
        for each in (self.errors, self.squares, self.counts):
            each *= share

    def costs(self, class_counts: ArrayLike) -> Array:
        """Return `transfer_costs` of what was seen."""
        errors, squares, counts = (each.double().cpu().numpy() for each in (self.errors, self.squares, self.counts))
        return transfer_costs(errors, squares, counts, class_counts)


def transfer_costs(errors: ArrayLike, squares: ArrayLike, counts: ArrayLike, class_counts: ArrayLike) -> Array:
    """Return what it costs task j to learn from task k's rows in place of its own, as a share of the error of guessing.

    ``max(E_jk - E_jj + SE_jk, E_jk - best_j) / chance_j``. E_jk is the mean over the classes of task j of the error on
    its rows of a probe that task k's rows trained. SE_jk is the standard error of the difference, best_j the least
    E_jk, chance_j the error of guessing. What is not known to be harmless costs something, the more the fewer rows say
    so. A task with too few rows to learn from pays for teachers that are worse than its best one. Where no probe is
    better than guessing nothing can be taught. 0 for the task itself, infinite for tasks without a common class, never
    below 0.

    Parameters
    ----------
    errors, squares : array-like of shape (K, classes, K)
    counts : array-like of shape (K, classes)
        As in `ProbeScores`.
    class_counts : array-like of shape (K, classes)
        How many rows of each class each task has: rows seen twice tell nothing new.

    Examples
    --------
    A task of two classes, 50 rows each, whose own probe has an error of 0.1 and another task's of 0.2, on every row
    alike:

    >>> errors, squares = [[[5.0, 10.0], [5.0, 10.0]]] * 2, [[[0.0, 0.5], [0.0, 0.5]]] * 2
    >>> transfer_costs(errors, squares, [[50, 50]] * 2, [[50, 50]] * 2)[0]
    array([0. , 0.2])
    """
    n = np.asarray(counts, dtype=np.float64)
    rows = np.asarray(class_counts, dtype=np.float64)
    seen = (n > 0) & (rows > 0)
    n_classes = np.maximum(seen.sum(axis=1), 1)
    n, rows = (np.where(seen, each, 1.0)[:, :, None] for each in (n, rows))
    mean = np.where(seen[:, :, None], np.asarray(errors) / n, 0.0)
    own = mean[np.arange(len(mean)), :, np.arange(len(mean))][:, :, None]
    variance = np.maximum(np.asarray(squares) / n - (mean - own) ** 2, 0.0) / rows
    error = mean.sum(axis=1) / n_classes[:, None]
    deviation = np.sqrt(np.where(seen[:, :, None], variance, 0.0).sum(axis=1)) / n_classes[:, None]
    chance = (1 - 1 / n_classes)[:, None]
    above_own, above_best = error - np.diag(error)[:, None] + deviation, error - error.min(axis=1, keepdims=True)
    excess = np.maximum(above_own, above_best)
    taught = error.min(axis=1, keepdims=True) < chance
    costs = np.where(taught, excess / np.maximum(chance, 1e-12), np.inf)
    costs[~common_classes(class_counts)] = np.inf
    np.fill_diagonal(costs, 0.0)
    return np.asarray(costs)
