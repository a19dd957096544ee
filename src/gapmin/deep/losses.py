"""Losses averaged by task: a vector for the tasks' own heads, a K x K matrix for every head on every task."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from gapmin.deep.shares import total, whole_sizes


def row_tasks(sizes: Sequence[int], device: torch.device) -> Tensor:
    """Return the number of each row's task.

    Examples
    --------
    >>> row_tasks((2, 0, 1), torch.device("cpu"))
    tensor([0, 0, 2])
    """
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)).to(device)


def part_sums(values: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the sums over parts of the last axis, one after the other, of so many values each.

    Examples
    --------
    >>> import torch
    >>> part_sums(torch.tensor([1.0, 3.0, 5.0]), sizes=(2, 0, 1))
    tensor([4., 0., 5.])
    """
    if len(set(sizes)) == 1:
        return values.unflatten(-1, (len(sizes), sizes[0])).sum(-1)
    return torch.stack([part.sum(-1) for part in values.split(list(sizes), dim=-1)], dim=-1)


def task_means(values: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the mean of the last axis over each task's rows; 0 for a task without rows.

    Examples
    --------
    >>> import torch
    >>> task_means(torch.tensor([1.0, 3.0, 5.0]), sizes=(2, 0, 1))
    tensor([2., 0., 5.])
    """
    counts = torch.tensor([max(size, 1) for size in whole_sizes(sizes)], dtype=values.dtype, device=values.device)
    return total(part_sums(values, sizes), sizes) / counts


def row_losses(outputs: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the loss of each row: the cross entropy of classes, the squared error of numbers, times its weight.

    Parameters
    ----------
    outputs : Tensor of shape (rows, classes), of numbers (rows, 1)
    y : Tensor of shape (rows,)
        Classes as integers, or numbers as floats.
    weight : Tensor of shape (rows,), optional

    Examples
    --------
    >>> import torch
    >>> row_losses(torch.tensor([[1.0], [5.0]]), torch.tensor([2.0, 2.0]), torch.tensor([1.0, 2.0]))
    tensor([ 1., 18.])
    """
    if y.is_floating_point():
        losses = (outputs.squeeze(-1) - y).square()
    else:
        losses = F.cross_entropy(outputs, y, reduction="none")
    return losses if weight is None else losses * weight


def own_losses(logits: Tensor, y: Tensor, sizes: Sequence[int], weight: Tensor | None = None) -> Tensor:
    """Return the K losses L_k(h_k) of each task's head on its own rows."""
    return task_means(row_losses(logits, y, weight), sizes)


def loss_matrix(logits: Tensor, y: Tensor, sizes: Sequence[int], weight: Tensor | None = None) -> Tensor:
    """Return the K x K matrix of losses: entry (j, k) is L_k(h_j), head j on the rows of task k.

    Parameters
    ----------
    logits : Tensor of shape (K, rows, classes)
    y : Tensor of shape (rows,)
    sizes : sequence of int
        Rows of each task.
    weight : Tensor of shape (rows,), optional
    """
    K, n_rows, n_classes = logits.shape
    repeated = None if weight is None else weight.repeat(K)
    losses = row_losses(logits.reshape(-1, n_classes), y.repeat(K), repeated)
    return task_means(losses.view(K, n_rows), sizes)


def chosen_losses(
    logits: Tensor,
    y: Tensor,
    rows: Tensor,
    sizes: Sequence[int],
    sources: Sequence[Sequence[int]],
    relation: Tensor,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the sum over heads j and their `sources` k of relation_jk L_k(h_j), and the K losses L_k(h_k).

    Parameters
    ----------
    logits, rows
        Of `TaskHeads.chosen_pairs`.
    y : Tensor of shape (rows,)
    sizes : sequence of int
    sources : sequence of K sequences of int
    relation : Tensor of shape (K, K)
    weight : Tensor of shape (rows,), optional
    """
    losses = row_losses(logits, y[rows], None if weight is None else weight[rows])
    pairs = [(j, k) for j, tasks in enumerate(sources) for k in tasks]
    sums = total(part_sums(losses, [sizes[k] for _, k in pairs]), sizes)
    counts = torch.tensor([max(whole_sizes(sizes)[k], 1) for _, k in pairs], dtype=losses.dtype, device=losses.device)
    means = sums / counts
    of_head, of_rows = (torch.tensor(each, device=losses.device) for each in zip(*pairs, strict=True))
    return (relation[of_head, of_rows] * means).sum(), means.detach()[of_head == of_rows]
