"""Class centroids of every task as moving averages, and how far apart those of two tasks are."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gapmin.deep.shares import total


class Centroids(nn.Module):
    """C_k^c, the mean features of task k's rows of class c, over past batches with falling weight.

    Sums and counts are kept, so that a batch with two rows of a class moves its centroid less than one with twenty.
    A class that is absent from a batch keeps its centroid.

    Parameters
    ----------
    n_tasks, n_classes, n_features : int
    decay : float, default=0.7
        What is left of a class's past when rows of it come in.
    """

    sums: Tensor
    counts: Tensor

    def __init__(self, n_tasks: int, n_classes: int, n_features: int, decay: float = 0.7) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("sums", torch.zeros(n_tasks, n_classes, n_features))
        self.register_buffer("counts", torch.zeros(n_tasks, n_classes))

    def forward(self, features: Tensor, y: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Take in a batch; return sums and counts with its part of the gradient, and keep them without.

        Parameters
        ----------
        features : Tensor of shape (rows, n_features)
        y : Tensor of shape (rows,)
        sizes : sequence of int
        """
        K, C = self.counts.shape
        member = (y.unsqueeze(1) == torch.arange(C, device=y.device)).to(features.dtype)
        if len(set(sizes)) == 1:  # one product for all tasks
            by_task = member.view(K, sizes[0], C)
            batch_sums = by_task.transpose(1, 2) @ features.reshape(K, sizes[0], features.shape[1])
            batch_counts = by_task.sum(1)
        else:
            parts = member.split(list(sizes))
            rows = features.split(list(sizes))
            batch_sums = torch.stack([classes.T @ each for classes, each in zip(parts, rows, strict=True)])
            batch_counts = torch.stack([classes.sum(0) for classes in parts])
        batch_sums, batch_counts = total(batch_sums, sizes), total(batch_counts, sizes)
        decay = torch.where(batch_counts > 0, self.decay, 1.0)
        sums = decay.unsqueeze(-1) * self.sums + batch_sums
        counts = decay * self.counts + batch_counts
        if self.training:
            # Replaced, not written into: the sums just returned may wait for their backward pass.
            self.sums, self.counts = sums.detach(), counts.detach()
        return sums, counts


def pair_distances(sums: Tensor, counts: Tensor, first: Tensor, second: Tensor, reduction: str = "mean") -> Tensor:
    """Return the squared distances between the class centroids of the tasks `first` and `second`, pair by pair.

    Parameters
    ----------
    sums : Tensor of shape (K, classes, d)
    counts : Tensor of shape (K, classes)
    first, second : Tensor of shape (pairs,)
        Numbers of tasks.
    reduction : "mean" or "sum"
        As in `semantic_distances`.
    """
    centroids = sums / counts.clamp_min(1e-12).unsqueeze(-1)
    seen = (counts > 0).to(sums.dtype)
    both = seen[first] * seen[second]
    squared = (centroids[first] - centroids[second]).square()
    distances = ((squared.sum(-1) if reduction == "sum" else squared.mean(-1)) * both).sum(-1)
    return distances if reduction == "sum" else distances / both.sum(-1).clamp_min(1)


def semantic_distances(sums: Tensor, counts: Tensor, reduction: str = "mean") -> Tensor:
    """Return the K x K squared distances between the tasks' class centroids.

    Parameters
    ----------
    sums : Tensor of shape (K, classes, d)
    counts : Tensor of shape (K, classes)
    reduction : "mean" or "sum"
        Over the classes that both tasks have seen and over the features. The paper prints sums, and one weight for
        every data set; a mean is what makes such a weight mean the same everywhere.

    Examples
    --------
    Two tasks, two classes; the second task has not seen class 1:

    >>> import torch
    >>> sums = torch.tensor([[[2.0, 0.0], [1.0, 1.0]], [[0.0, 6.0], [0.0, 0.0]]])
    >>> counts = torch.tensor([[2.0, 1.0], [3.0, 0.0]])
    >>> semantic_distances(sums, counts, "sum")[0, 1]
    tensor(5.)
    """
    K = len(sums)
    tasks = torch.arange(K, device=sums.device)
    return pair_distances(sums, counts, tasks.repeat_interleave(K), tasks.repeat(K), reduction).view(K, K)


def label_entropy(class_counts: Tensor) -> float:
    """Return the entropy of the tasks' labels in nats, the mean over the tasks.

    Parameters
    ----------
    class_counts : Tensor of shape (n_tasks, n_classes)

    Examples
    --------
    >>> import torch
    >>> round(label_entropy(torch.tensor([[50, 50], [94, 6]])), 3)
    0.46
    """
    counts = class_counts.double()
    shares = counts / counts.sum(1, keepdim=True).clamp_min(1)
    return float(torch.special.entr(shares).sum(1).mean())
