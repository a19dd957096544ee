"""Where a fit runs: in this process, in those that torchrun started, or in processes of its own."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from torch import distributed as dist

from gapmin.deep._heartbeat import HeartbeatMonitor
from gapmin.deep.engine import (
    DEFAULT_TIMEOUT,
    Engine,
    FabricEngine,
    LostProcessError,
    explain_lost_processes,
    need_fabric,
    resume_hint,
)

_POLL_SECONDS = 0.02
_GRACE_SECONDS = 0.5  # in which the processes that a dead one takes with it end too
_SILENT_SECONDS = 5.0  # without a sign of life, of which there should be one a second


@dataclass(frozen=True)
class Placement:
    """Where a fit runs.

    Attributes
    ----------
    device : torch.device
        Of a fit in one process.
    n_processes : int
    started : bool
        Whether the processes are there already, and this is one of them.
    timeout : float
        Seconds that a process may give no sign of life, or keep the others waiting.
    """

    device: torch.device
    n_processes: int = 1
    started: bool = False
    timeout: float = DEFAULT_TIMEOUT

    def run(self, work: Callable[..., Any], arrays: Sequence[Any], checkpoint_dir: Any = None) -> Any:
        """Return ``work(engine, *arrays)``, of process 0 where this starts processes.

        Parameters
        ----------
        work : callable
        arrays : sequence
            Numpy arrays among it are not copied to each process but mapped from one file.
        checkpoint_dir : path, optional
            For the error that a dead process leads to.
        """
        if self.n_processes == 1:
            return work(Engine(self.device), *arrays)
        if self.started:
            with explain_lost_processes(self.timeout, checkpoint_dir):
                engine = FabricEngine(self.device.type, self.timeout)
                result = work(engine, *arrays)
                engine.close()
            return result
        return self._run_in_processes(work, arrays, checkpoint_dir)

    def _run_in_processes(self, work: Callable[..., Any], arrays: Sequence[Any], checkpoint_dir: Any) -> Any:
        """Start processes, wait for them, return what process 0 made; where one fails, end all and raise its error."""
        with tempfile.TemporaryDirectory(prefix="gapmin-") as name, ExitStack() as cleanup:
            folder = Path(name)
            mapped = [each if isinstance(each, np.ndarray) else None for each in arrays]
            others = [None if isinstance(each, np.ndarray) else each for each in arrays]
            joblib.dump(
                (pickled((work, self.device.type, self.timeout, checkpoint_dir, others)), mapped), folder / "work"
            )
            # Where the processes meet is held here, so that the port is never anybody else's.
            store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
            workers = []
            for rank in range(self.n_processes):
                # In a group of its own, so that Ctrl-C is answered here alone. In the same session, for then the system
                # ends a worker that is stopped when this process dies; others see the end of their standard input.
                worker = subprocess.Popen(
                    [sys.executable, "-m", "gapmin.deep._worker", name],
                    env=_environment(rank, self.n_processes, store.port),
                    stdin=subprocess.PIPE,
                    process_group=0,
                )
                cleanup.callback(_end, worker)
                workers.append(worker)
            monitor = HeartbeatMonitor([heartbeat_file(folder, rank) for rank in range(self.n_processes)], self.timeout)
            while any(worker.poll() is None for worker in workers):
                if any(worker.poll() for worker in workers):
                    time.sleep(_GRACE_SECONDS)
                    break
                monitor.check()
                for rank, worker in enumerate(workers):
                    if worker.poll() is None and monitor.is_silent(rank):
                        raise _silence_error(rank, workers, monitor, checkpoint_dir)
                time.sleep(_POLL_SECONDS)
            if any(worker.poll() for worker in workers):
                raise _first_error(workers, monitor, folder, checkpoint_dir)
            return pickle.loads((folder / "result").read_bytes())


def choose_placement(
    devices: int | str,
    strategy: str,
    accelerator: str,
    device: str | torch.device,
    timeout: float = DEFAULT_TIMEOUT,
) -> Placement:
    """Return where a fit with these parameters runs; raise an error where it cannot."""
    found = pick_device(device, accelerator)
    started = dist.is_available() and dist.is_torchelastic_launched() and (strategy == "ddp" or devices != 1)
    if started:
        here, n = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
        if devices not in (1, "auto", here):
            raise ValueError(f"devices is {devices}, but torchrun started {here} processes here: set devices='auto'")
    else:
        gpus = torch.cuda.device_count() if found.type == "cuda" else 1
        n = gpus if devices == "auto" else int(devices)
    if n == 1:
        return Placement(found)
    need_fabric()
    if found.type == "mps":
        raise ValueError(f"devices is {devices}, but MPS has one device only: set devices=1 or accelerator='cpu'")
    if found.index is not None:
        raise ValueError(f"devices is {devices}, but device is {str(found)!r}: set device='auto' and an accelerator")
    if found.type == "cuda" and not started and n > torch.cuda.device_count():
        raise ValueError(
            f"devices is {devices}, but there are {torch.cuda.device_count()} GPUs: set devices to as many, or "
            "accelerator='cpu'"
        )
    return Placement(found, n, started, float(timeout))


def pick_device(device: str | torch.device = "auto", accelerator: str = "auto") -> torch.device:
    """Return the device; "auto" is CUDA or MPS where there is one, else the processor."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    wanted = {"auto": list(there), "gpu": ["cuda", "mps"]}.get(accelerator, [accelerator])
    if device != "auto":
        try:
            given = torch.device(device)
        except RuntimeError:
            raise ValueError(
                f"device is {device!r}, which PyTorch does not know: give 'auto', 'cpu', 'cuda', 'cuda:1' or 'mps'"
            ) from None
        if accelerator != "auto" and given.type not in wanted:
            raise ValueError(f"device is {str(device)!r} and accelerator {accelerator!r}: leave one of them at 'auto'")
        if not there.get(given.type, True):
            raise ValueError(
                f"device is {str(device)!r}, but PyTorch finds no {given.type} device here: set device='cpu' or "
                f"'auto', or install a PyTorch that supports {given.type}"
            )
        return given
    for kind in wanted:
        if there[kind]:
            return torch.device(kind)
    raise ValueError(f"accelerator is {accelerator!r}, but PyTorch finds none here: set accelerator='cpu' or 'auto'")


def heartbeat_file(folder: Path, rank: int) -> Path:
    """Return the file that a process touches as long as it runs."""
    return folder / f"alive-{rank}"


def pickled(value: Any) -> bytes:
    """Return a value as bytes for `pickle`, along with what was defined in a script or a notebook."""
    try:
        module = import_module("cloudpickle")
    except ImportError:  # joblib's own, up to 1.5
        module = import_module("joblib.externals.cloudpickle")
    return bytes(module.dumps(value))


def _environment(rank: int, n_processes: int, port: int) -> dict[str, str]:
    """Return what torchrun would set, and what Python needs to find the same modules as here."""
    threads = max(torch.get_num_threads() // n_processes, 1)
    return {
        "OMP_NUM_THREADS": str(threads),
        "TORCH_CPP_LOG_LEVEL": "ERROR",  # or DDP warns that all weights are in use, which is as it should be
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(n_processes),
        "LOCAL_WORLD_SIZE": str(n_processes),
        "GROUP_RANK": "0",
        "TORCHELASTIC_RUN_ID": "gapmin",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def _end(worker: subprocess.Popen[bytes]) -> None:
    if worker.poll() is None:
        worker.kill()
    worker.wait()
    if worker.stdin is not None:
        worker.stdin.close()


def _first_error(
    workers: Sequence[subprocess.Popen[bytes]], monitor: HeartbeatMonitor, folder: Path, checkpoint_dir: Any
) -> Exception:
    """Return the error of the process that failed first, not of those that then missed it."""
    codes = [worker.poll() for worker in workers]
    errors = []
    for file in sorted(folder.glob("error-*"), key=lambda file: file.stat().st_mtime_ns):
        error, where = pickle.loads(file.read_bytes())
        error.add_note(where)
        errors.append(error)
    first = min(errors, key=lambda error: isinstance(error, LostProcessError), default=None)
    monitor.check()
    left = [rank for rank, code in enumerate(codes) if code is None and monitor.seconds[rank] > _SILENT_SECONDS]
    if left and (first is None or isinstance(first, LostProcessError)):
        return _silence_error(max(left, key=monitor.seconds.__getitem__), workers, monitor, checkpoint_dir)
    for rank, code in enumerate(codes):
        if code is not None and code < 0:
            how = f"was killed ({signal.Signals(-code).name})"
            return RuntimeError(f"process {rank} of {len(codes)} {how}: {resume_hint(checkpoint_dir)}")
    if first is not None:
        return first
    rank, code = next((rank, code) for rank, code in enumerate(codes) if code)
    return RuntimeError(f"process {rank} of {len(codes)} ended with status {code}: {resume_hint(checkpoint_dir)}")


def _silence_error(
    rank: int, workers: Sequence[subprocess.Popen[bytes]], monitor: HeartbeatMonitor, checkpoint_dir: Any
) -> RuntimeError:
    return RuntimeError(
        f"process {rank} of {len(workers)} (process id {workers[rank].pid}) gave no sign of life for "
        f"{monitor.seconds[rank]:.0f} s, as one that is stopped (timeout is {monitor.timeout:g} s), and was ended: "
        f"{resume_hint(checkpoint_dir)}. If such a pause is no fault, set a longer timeout"
    )
