"""Batch normalisation over all processes, so that a batch has one mean and one variance however it is shared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gapmin.deep.shares import Processes, total_both_ways


@contextmanager
def synced_norms(module: nn.Module, processes: Processes) -> Iterator[None]:
    """Let the batch normalisation layers of a module see the rows of all processes, as long as this lasts.

    The layers stay what they are, names, weights and all; unlike `torch.nn.SyncBatchNorm` this works on processors too.
    """
    norms: list[Any] = [
        m for m in module.modules() if isinstance(m, _BatchNorm) and type(m).forward is _BatchNorm.forward
    ]
    for norm in norms:
        norm.forward = partial(_forward, norm, processes)
    try:
        yield
    finally:
        for norm in norms:
            del norm.forward


def _forward(norm: Any, processes: Processes, x: Tensor) -> Tensor:
    """Return what the layer makes of x, the statistics being those of all processes' rows."""
    if not norm.training and norm.running_mean is not None:
        return _BatchNorm.forward(norm, x)
    norm._check_input_dim(x)
    if x.dtype in (torch.bfloat16, torch.float16):  # of mixed precision: sums would be of few digits
        x = x.float()
    axes = [axis for axis in range(x.ndim) if axis != 1]
    shape = [1, -1, *[1] * (x.ndim - 2)]
    here = torch.tensor(float(x.numel() // x.shape[1]), dtype=torch.float64, device=x.device)
    n = processes.sum_over_processes(here).item()
    if n < 2:
        raise ValueError(f"batch normalisation needs two values of each channel, a batch has {n:.0f}: raise batch_size")
    mean = total_both_ways(x.sum(axes), processes) / n
    centred = x - mean.view(shape)
    # Twice through x, as the squares of large numbers would cancel.
    variance = total_both_ways(centred.square().sum(axes), processes) / n
    if norm.training and norm.track_running_stats:
        _update_running_statistics(norm, mean.detach(), variance.detach() * (n / (n - 1)))
    out = centred * torch.rsqrt(variance + norm.eps).view(shape)
    return out * norm.weight.view(shape) + norm.bias.view(shape) if norm.affine else out


@torch.no_grad()
def _update_running_statistics(norm: Any, mean: Tensor, variance: Tensor) -> None:
    """Move the running statistics, as `torch.nn.BatchNorm1d` does."""
    norm.num_batches_tracked.add_(1)
    share = 1 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
    norm.running_mean.lerp_(mean.to(norm.running_mean), share)
    norm.running_var.lerp_(variance.to(norm.running_var), share)
