"""The rows of K tasks, and the batches an epoch makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from gapmin.deep.heads import Batch

Indices = NDArray[np.intp]


class TaskRows:
    """Rows with their classes, and which of them belong to each task.

    Parameters
    ----------
    x : Tensor of shape (rows, ...) or a map-style Dataset
        Of a dataset, item i is the row or a tuple that begins with it; it is read when its batch comes up.
    y : Tensor of shape (rows,)
        Classes as integers from 0, or numbers to predict as floats.
    tasks : sequence of K arrays of int
        The rows of each task.
    channels_last : bool, default=False
        Hand out images in the channels-last memory format.
    weight : Tensor of shape (rows,), optional
        What each row's loss is multiplied by.
    bins : Tensor of shape (rows,), optional
        Of numbers to predict: the bin of each.
    num_workers : int, default=0
        Processes that read the items of a dataset ahead.

    Attributes
    ----------
    half : Tensor of shape (rows,), optional
        Which half of its task each row is in, after `split_in_halves`.
    """

    def __init__(
        self,
        x: Any,
        y: Tensor,
        tasks: Sequence[Indices],
        channels_last: bool = False,
        *,
        weight: Tensor | None = None,
        bins: Tensor | None = None,
        num_workers: int = 0,
    ) -> None:
        self.x, self.y, self.tasks, self.channels_last = x, y, [np.asarray(rows) for rows in tasks], channels_last
        self.weight, self.bins, self.num_workers = weight, bins, num_workers
        self.half: Tensor | None = None

    @property
    def classes(self) -> Tensor:
        """The class of each row; of numbers to predict, their bin."""
        return self.y if self.bins is None else self.bins

    def split_in_halves(self, seed: int) -> None:
        """Put each row into half 0 or 1 of its task, at random, the rows of each class evenly."""
        half = torch.zeros(len(self.y), dtype=torch.int64)
        for k, rows in enumerate(self.tasks):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k, 11)))
            mixed = rng.permutation(rows)
            by_class = mixed[np.argsort(self.classes[torch.from_numpy(mixed)].numpy(), kind="stable")]
            half[torch.from_numpy(by_class)] = torch.arange(len(rows)) % 2
        self.half = half

    @property
    def sizes(self) -> list[int]:
        """How many rows each task has."""
        return [len(rows) for rows in self.tasks]

    def class_counts(self, n_classes: int) -> Tensor:
        """Return how many rows of each class (columns) each task (rows) has."""
        found = [self.classes[torch.from_numpy(rows)] for rows in self.tasks]
        return torch.stack([torch.bincount(each, minlength=n_classes) for each in found])

    def share(self, chosen: Sequence[Indices]) -> Sequence[Indices]:
        """Return those of the chosen rows that are for this process."""
        return chosen

    def take(self, chosen: Sequence[Indices], device: torch.device | str = "cpu") -> Batch:
        """Return the batch of the chosen rows of each task."""
        rows = self._wanted(chosen)
        x = self.x[torch.from_numpy(rows)] if isinstance(self.x, Tensor) else _stack([self.x[int(i)] for i in rows])
        return self._batch(x, chosen, device)

    def batches(
        self, plan: Iterable[Sequence[Indices]], device: torch.device | str = "cpu", seed: Sequence[int] = (0,)
    ) -> Iterator[Batch]:
        """Iterate over the batches of the chosen rows of each task, read ahead where there are workers.

        Parameters
        ----------
        plan : iterable of sequences of K arrays of int
        device : torch.device or str, default="cpu"
        seed : sequence of int
            Of random numbers that a dataset draws in a worker.
        """
        if isinstance(self.x, Tensor) or not self.num_workers:
            yield from (self.take(chosen, device) for chosen in plan)
            return
        plan = list(plan)
        generator = torch.Generator()
        generator.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        loader = DataLoader(
            self.x,
            batch_sampler=[self._wanted(chosen).tolist() for chosen in plan],
            collate_fn=_stack,
            num_workers=min(self.num_workers, max(len(plan), 1)),
            generator=generator,
        )
        for chosen, x in zip(plan, loader, strict=True):
            yield self._batch(x, chosen, device)

    def _wanted(self, chosen: Sequence[Indices]) -> Indices:
        """Return the rows to read; one of another process where none is for this one, for its shape."""
        rows = np.concatenate(self.share(chosen))
        return rows if rows.size else np.concatenate(chosen)[:1]

    def _batch(self, x: Tensor, chosen: Sequence[Indices], device: torch.device | str) -> Batch:
        mine = self.share(chosen)
        rows = np.concatenate(mine)
        x = x[: len(rows)]
        if self.channels_last and x.ndim == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        at = torch.from_numpy(rows)
        y, half, weight, bins = (
            None if each is None else each[at].to(device, non_blocking=True)
            for each in (self.y, self.half, self.weight, self.bins)
        )
        assert y is not None
        return Batch(x.to(device, non_blocking=True), y, [len(each) for each in mine], half, weight, bins)

    def in_order(self, batch_size: int, device: torch.device | str = "cpu") -> Iterator[Batch]:
        """Iterate over all rows once, in their order, task after task."""
        K = len(self.tasks)
        plan = (
            [rows[start : start + batch_size] if j == k else rows[:0] for j in range(K)]
            for k, rows in enumerate(self.tasks)
            for start in range(0, len(rows), batch_size)
        )
        return self.batches(plan, device)

    def side_by_side(self, batch_size: int, device: torch.device | str = "cpu") -> Iterator[Batch]:
        """Iterate over all rows once, in their order, all tasks in each batch as long as they last."""
        starts = range(0, max(self.sizes), batch_size)
        return self.batches(([rows[start : start + batch_size] for rows in self.tasks] for start in starts), device)


def _stack(items: Sequence[Any]) -> Tensor:
    """Return the rows of a dataset's items: each is one, or a tuple that begins with one."""
    return torch.stack([item[0] if isinstance(item, (tuple, list)) else item for item in items]).float()


def epoch_plan(
    tasks: Sequence[Indices], batch_size: int, seed: int, epoch: int, sampling: str = "cycle"
) -> list[list[Indices]]:
    """Return the rows of each task in each batch of an epoch; the same for the same arguments.

    Parameters
    ----------
    tasks : sequence of K arrays of int
    batch_size : int
        At most so many rows of each task in a batch. The batches of an epoch are of one size, give or take a row: a
        last batch of two rows would move the weights as far as any other.
    seed, epoch : int
    sampling : "cycle" or "once"
        Tasks of unequal size: either the smaller ones start anew until the largest is through, so that every batch has
        as many rows of each. Or every row comes once, and a batch has fewer rows of a smaller task, maybe none.

    Examples
    --------
    >>> plan = epoch_plan([np.arange(5), np.arange(5, 7)], batch_size=2, seed=0, epoch=0)
    >>> [[len(rows) for rows in batch] for batch in plan]
    [[2, 2], [2, 2], [1, 1]]
    >>> plan = epoch_plan([np.arange(5), np.arange(5, 7)], batch_size=2, seed=0, epoch=0, sampling="once")
    >>> [[len(rows) for rows in batch] for batch in plan]
    [[2, 1], [2, 1], [1, 0]]
    """
    longest = max(len(rows) for rows in tasks)
    n_steps = -(-longest // batch_size)
    by_task = []
    for k, rows in enumerate(tasks):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(epoch, k)))
        rounds = 1 if sampling == "once" else -(-longest // len(rows))
        order = np.concatenate([rng.permutation(rows) for _ in range(rounds)])[:longest]
        by_task.append(np.array_split(order, n_steps))
    return [list(batch) for batch in zip(*by_task, strict=True)]
