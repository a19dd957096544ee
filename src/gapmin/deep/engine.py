"""What runs the steps of a training: this process alone on plain PyTorch, or several together by Lightning Fabric."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from gapmin._utils.extras import how_to_install
from gapmin.deep.batches import TaskRows
from gapmin.deep.heads import Batch
from gapmin.deep.norms import synced_norms
from gapmin.deep.objectives import Objective, Step
from gapmin.deep.shares import Processes, SharedRows

Returned = TypeVar("Returned")
Forward = Callable[[Batch], Step]

DEFAULT_TIMEOUT = 1800.0
"""Seconds, as PyTorch and Lightning have it."""


class Engine:
    """One process: nothing is to be shared, nobody to agree with.

    Parameters
    ----------
    device : str or torch.device, default="cpu"
    """

    rank = 0
    size = 1

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)

    @contextmanager
    def training(self, objective: Objective, checkpoint: Path | None = None) -> Iterator[Forward]:
        """Yield what makes a `Step` of a batch, as long as the training lasts."""
        yield objective

    def rows(self, rows: TaskRows) -> TaskRows:
        """Return the rows as this process is to take batches of them."""
        return rows

    def begin_step(self, *position: int) -> None:
        """Make ready for the step at this position of the run."""

    def backward(self, loss: Tensor) -> None:
        """Compute the gradients of the whole batch."""
        loss.backward()

    def sum_over_processes(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over all processes."""
        return counts

    def on_rank_zero(self, work: Callable[[], Returned]) -> Returned:
        """Let process 0 do something; all get what it returned, or an error where it raised one."""
        return work()

    def broadcast_state(self, objective: Objective) -> None:
        """Give all processes the state of process 0's objective."""

    def rng_state(self) -> Tensor:
        """Return the state of the random numbers that a resumed run goes on with."""
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor) -> None:
        """Go on with these."""
        torch.set_rng_state(state)


class StoppedElsewhereError(RuntimeError):
    """Process 0 raised an error; this one did not."""


class LostProcessError(RuntimeError):
    """Another process of the fit is gone, or keeps this one waiting for too long."""


@contextmanager
def explain_lost_processes(timeout: float, checkpoint: str | os.PathLike[str] | None) -> Iterator[None]:
    """Say of an error of a collective that it is another process's, and what to do."""
    try:
        yield
    except LostProcessError:
        raise
    except (RuntimeError, dist.DistError) as error:
        if not isinstance(error, dist.DistError) and not any(word in str(error) for word in ("gloo", "Gloo", "NCCL")):
            raise
        if any(word in str(error).lower() for word in ("timed out", "timeout")):
            raise LostProcessError(
                f"another process of this fit kept this one waiting for {timeout:g} s ({error}): "
                f"{resume_hint(checkpoint)}; where it is merely slow, set a longer timeout"
            ) from error
        raise LostProcessError(f"another process of this fit is gone ({error}): {resume_hint(checkpoint)}") from error


class FabricEngine(Engine):
    """One of several processes that train together: DDP through Lightning Fabric.

    The processes are there already: torchrun started them, or `gapmin.deep.launch` in the same way.

    Parameters
    ----------
    accelerator : "cpu" or "cuda"
    timeout : float
        Seconds that this process waits for another.
    """

    def __init__(self, accelerator: str = "cpu", timeout: float = DEFAULT_TIMEOUT) -> None:
        self.timeout = timeout
        limit = timedelta(seconds=timeout)
        fabric, environments, strategies = (need_fabric(name) for name in ("", ".plugins.environments", ".strategies"))
        local = int(os.environ["LOCAL_WORLD_SIZE"])
        # Buffers agree by themselves. Unused: a batch may lack a task, and with it the critics of its pairs.
        known = signature(DistributedDataParallel).parameters
        buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
        strategy = strategies.DDPStrategy(find_unused_parameters=True, timeout=limit, **{buffers: False})
        self.fabric = fabric.Fabric(
            accelerator=accelerator,
            devices=local,
            num_nodes=int(os.environ["WORLD_SIZE"]) // local,
            strategy=strategy,
            plugins=[environments.TorchElasticEnvironment()],
        )
        with _quiet("lightning.fabric", "lightning_fabric", "lightning_utilities"):
            self.fabric.launch()
        super().__init__(self.fabric.device)
        self.processes = Processes(dist.new_group(timeout=limit))
        self.rank, self.size = self.processes.rank, self.processes.size

    def close(self) -> None:
        """Leave the group of this fit; that of the processes as a whole stays for the next."""
        dist.destroy_process_group(self.processes.group)

    @contextmanager
    def training(self, objective: Objective, checkpoint: Path | None = None) -> Iterator[Forward]:
        """Yield the objective behind DDP."""
        self.processes.generator.set_state(torch.get_rng_state())
        with (
            explain_lost_processes(self.timeout, checkpoint),
            warnings.catch_warnings(),
            synced_norms(objective, self.processes),
        ):
            # Of filters with one channel, whose memory may be laid out in two ways that are the same.
            warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
            model = self.fabric.strategy.setup_module(_Unwrapping(objective))
            yield lambda batch: model(_WrappedBatch(batch))

    def rows(self, rows: TaskRows) -> TaskRows:
        """Return rows of which this process takes its share of each batch."""
        return SharedRows(rows, self.processes)

    def begin_step(self, *position: int) -> None:
        """Give this process random numbers of its own for its rows (dropout), by the position in the run."""
        seed = np.random.SeedSequence([*position, self.rank]).generate_state(1, np.uint64)[0]
        torch.manual_seed(int(seed >> np.uint64(1)))

    def backward(self, loss: Tensor) -> None:
        """Let DDP average the gradients; that of the whole batch is their sum."""
        (loss * self.size).backward()

    def sum_over_processes(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over all processes."""
        return self.processes.sum_over_processes(torch.from_numpy(counts).to(self.device)).cpu().numpy()

    def on_rank_zero(self, work: Callable[[], Returned]) -> Returned:
        """Let process 0 do something; all get what it returned, or an error where it raised one."""
        outcome: tuple[Any, str | None] = None, None
        raised: Exception | None = None
        if self.rank == 0:
            try:
                outcome = work(), None
            except Exception as error:
                raised, outcome = error, (None, f"{type(error).__name__}: {error}")
        value, failed = self.fabric.broadcast(outcome)
        if raised is not None:
            raise raised
        if failed is not None:
            raise StoppedElsewhereError(f"process 0 stopped the fit: {failed}")
        return value

    def broadcast_state(self, objective: Objective) -> None:
        """Give all processes the state of process 0's objective."""
        for value in objective.state_dict().values():
            sent = value.contiguous()  # weights of images in the channels-last format are not
            dist.broadcast(sent, 0, group=self.processes.group)
            value.copy_(sent)

    def rng_state(self) -> Tensor:
        """Return the state of the numbers drawn alike, which are as many on any number of processes."""
        return self.processes.generator.get_state()

    def set_rng_state(self, state: Tensor) -> None:
        """Go on with these."""
        self.processes.generator.set_state(state)


class _WrappedBatch:
    """A batch that DDP passes on as it is: what it moves to a device it makes anew, `SharedSizes` as plain tuples."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch


class _Unwrapping(nn.Module):
    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, wrapped: _WrappedBatch) -> Step:
        return self.objective(wrapped.batch)


def need_fabric(part: str = "") -> Any:
    """Return Lightning Fabric or a part of it; say what to install where it is missing."""
    try:
        return import_module(f"lightning_fabric{part}")
    except ImportError as error:
        raise ImportError(
            f"a fit on several processes needs Lightning Fabric: {how_to_install('distributed')}, or set devices=1"
        ) from error


def resume_hint(checkpoint: str | os.PathLike[str] | None) -> str:
    """Say what to do when a process of a fit is gone."""
    if checkpoint is None:
        return "fit again; with checkpoint_dir it would go on from the last checkpoint"
    return f"fit again with the same arguments, and it goes on from the checkpoint in {checkpoint}"


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Keep loggers from announcing that processes start."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
