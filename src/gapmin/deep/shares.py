"""A batch that several processes share: sums, means and rows of the whole of it, whichever process has them.

Every process computes the loss of the whole batch, from sums over all processes, and back-propagates it to its own
rows. So the gradients that the processes find add up to that of the whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from gapmin.deep.batches import Indices, TaskRows
from gapmin.deep.heads import Batch


class Processes:
    """The processes that train one network together, seen from one of them.

    Parameters
    ----------
    group : ProcessGroup
        Of their own, so that what is sent here never meets what DDP sends for the gradients.

    Attributes
    ----------
    rank, size : int
    generator : torch.Generator
        The random numbers that all processes must draw alike.
    """

    def __init__(self, group: Any) -> None:
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.generator = torch.Generator()

    def sum_over_processes(self, x: Tensor) -> Tensor:
        """Return the sum over all processes; no gradient."""
        out = x.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(out, group=self.group)
        return out

    def gather(self, x: Tensor) -> Tensor:
        """Return the tensors of all processes, all of one shape, stacked; no gradient."""
        out = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(out, x.detach().contiguous(), group=self.group)
        return torch.stack(out)


class SharedSizes(tuple[int, ...]):
    """The number of rows of each task in this process's share of a batch; `whole` has those of the whole batch.

    It stands where a batch's `sizes` stand, so that who takes a mean by task need not be told of processes.
    """

    whole: tuple[int, ...]
    processes: Processes

    @classmethod
    def make(cls, here: Sequence[int], whole: Sequence[int], processes: Processes) -> SharedSizes:
        """Return the shares with what belongs to them."""
        shares = cls(here)
        shares.whole, shares.processes = tuple(whole), processes
        return shares


class SharedRows(TaskRows):
    """Rows of which each process takes every so many-th of a batch.

    All processes have all rows and plan the same batches. Row i of a batch, task after task, goes to process i modulo
    their number: shares differ by one row at most, and a process may have none of a small task.
    """

    def __init__(self, rows: TaskRows, processes: Processes) -> None:
        self.__dict__.update(rows.__dict__)
        self.processes = processes

    def share(self, chosen: Sequence[Indices]) -> Sequence[Indices]:
        """Return those of the chosen rows that are for this process."""
        rank, size = self.processes.rank, self.processes.size
        mine, start = [], 0
        for rows in chosen:
            mine.append(rows[(rank - start) % size :: size])
            start += len(rows)
        return mine

    def _batch(self, x: Tensor, chosen: Sequence[Indices], device: torch.device | str) -> Batch:
        batch = super()._batch(x, chosen, device)
        return batch._replace(sizes=SharedSizes.make(batch.sizes, [len(rows) for rows in chosen], self.processes))


def whole_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Return the number of rows of each task in the whole batch."""
    return sizes.whole if isinstance(sizes, SharedSizes) else sizes


def sizes_of_task(sizes: Sequence[int], k: int) -> Sequence[int]:
    """Return the sizes of the batch that has the rows of task k alone.

    Examples
    --------
    >>> sizes_of_task((3, 2), 1)
    [0, 2]
    """
    here = [size if j == k else 0 for j, size in enumerate(sizes)]
    return (
        SharedSizes.make(here, sizes_of_task(sizes.whole, k), sizes.processes)
        if isinstance(sizes, SharedSizes)
        else here
    )


def total(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the sum over all processes of what each has of a batch.

    What is made of it must be the same in every process; backwards, each has the whole gradient already.
    """
    return _Total.apply(x, sizes.processes, False) if isinstance(sizes, SharedSizes) else x


def means(values: Sequence[Tensor], counts: Sequence[int], sizes: Sequence[int]) -> Sequence[Tensor]:
    """Return the mean of each of `values`, of which there are so many over all processes."""
    if not isinstance(sizes, SharedSizes):
        return [each.mean() for each in values]
    if not values:
        return []
    return [each / n for each, n in zip(total(torch.stack([v.sum() for v in values]), sizes), counts, strict=True)]


def all_rows(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return what belongs to the rows of the whole batch, in its order; no gradient."""
    if not isinstance(sizes, SharedSizes):
        return x.detach()
    n = sum(sizes.whole)
    padded = x.new_zeros(-(-n // sizes.processes.size), *x.shape[1:])
    padded[: len(x)] = x.detach()
    # Row i of process r is row r + i * (number of processes) of the batch.
    return sizes.processes.gather(padded).transpose(0, 1).flatten(0, 1)[:n]


def points_of_this_process(sizes: Sequence[int]) -> slice:
    """Return which of points that all processes have alike are for this one to work on."""
    return slice(sizes.processes.rank, None, sizes.processes.size) if isinstance(sizes, SharedSizes) else slice(None)


def uniform(shape: Sequence[int], like: Tensor, sizes: Sequence[int]) -> Tensor:
    """Draw numbers between 0 and 1, the same in all processes."""
    if not isinstance(sizes, SharedSizes):
        return torch.rand(*shape, dtype=like.dtype, device=like.device)
    return torch.rand(*shape, dtype=like.dtype, generator=sizes.processes.generator).to(like.device)


class _Total(torch.autograd.Function):
    """The sum over processes; backwards, gradients add up as well (`both_ways`), or each process has the whole one."""

    @staticmethod
    def forward(ctx, x, processes, both_ways):  # type: ignore[no-untyped-def]
        ctx.processes = processes if both_ways else None
        return processes.sum_over_processes(x)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return grad if ctx.processes is None else _Total.apply(grad, ctx.processes, True), None, None


def total_both_ways(x: Tensor, processes: Processes) -> Tensor:
    """Return the sum over all processes, of which each makes something for its own rows: gradients add up as well."""
    return _Total.apply(x, processes, True)
