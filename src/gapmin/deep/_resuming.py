"""What the state of a run must look like for that very run to go on from it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from math import inf, prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gapmin._utils.text import one_line
from gapmin.deep._plain import ContentError, is_int
from gapmin.deep._tensorfile import StoredTensor, mismatch

if TYPE_CHECKING:
    from gapmin.deep.callbacks import Callback
    from gapmin.deep.trainer import Trainer

_PARTS = ("objective", "optimizer", "position", "history", "callbacks", "rng")


def check_state(state: Any, trainer: Trainer, n_steps: int) -> None:
    """Refuse a state that this trainer could not have had, by its names, shapes and types.

    Parameters
    ----------
    state : dict
        With a `StoredTensor` in the place of each tensor.
    trainer : Trainer
    n_steps : int
        Of an epoch.
    """
    scaler = trainer.scaler.state_dict()
    _check_keys(state, (*_PARTS, *(["scaler"] if scaler else [])), "its state")
    if scaler:
        _check_keys(state["scaler"], scaler, "its scaler")
        if not all(type(each) in (int, float) and 0 <= each < inf for each in state["scaler"].values()):
            raise ContentError(f"its scaler is {one_line(state['scaler'])}")
    check_module(trainer.objective, state["objective"], "its objective")
    _check_optimizer(trainer, state["optimizer"])
    _check_position(state["position"], trainer.objective.net.n_tasks, n_steps)
    _check_history(state["history"], state["position"]["epoch"], trainer)
    rng = trainer.engine.rng_state()
    _check_tensor(state["rng"], tuple(rng.shape), rng.dtype, "rng")
    states = state["callbacks"]
    if not isinstance(states, list) or not all(
        isinstance(each, list) and [type(part) for part in each] == [str, dict] for each in states
    ):
        raise ContentError("its callbacks are no list of names and states")
    for callback, mine in match_callbacks(trainer.callbacks, states):
        try:
            callback.check_state(mine, trainer)
        except (ValueError, ContentError) as error:
            raise ContentError(f"its state of {type(callback).__name__} is none: {one_line(error)}") from error


def match_callbacks(callbacks: list[Callback], states: list[Any]) -> Iterator[tuple[Callback, Any]]:
    """Yield each callback with its state, by kind and order; one that was not there before starts anew."""
    left = list(states)
    for callback in callbacks:
        mine = next((each for each in left if each[0] == type(callback).__name__), None)
        if mine is not None:
            left.remove(mine)
            yield callback, mine[1]


def check_generator(state: Tensor) -> None:
    """Refuse the state of a random number generator that PyTorch could not have written.

    PyTorch itself takes one whose next number lies behind the end of its numbers, and reads on from there.
    """
    _, left, _, following = struct.unpack("<QiiQ", state[:24].numpy().tobytes())
    if left + following != 625 and (left, following) != (1, 0):
        raise ContentError(f"its rng has {left} numbers left after number {following} of 624")
    try:
        torch.Generator().set_state(state)
    except RuntimeError as error:
        raise ContentError(f"its rng is no state of a generator: {one_line(error)}") from error


def _check_keys(found: Any, wanted: Any, what: str) -> None:
    if not isinstance(found, dict) or found.keys() != set(wanted):
        raise ContentError(f"{what} has not exactly {', '.join(wanted)}")


def _check_tensor(found: Any, shape: tuple[int, ...], dtype: torch.dtype, what: str) -> None:
    if not isinstance(found, StoredTensor) or found.shape != shape or found.dtype != dtype:
        raise ContentError(f"its {one_line(what)} is no tensor of shape {shape} and {dtype}")


def check_module(module: nn.Module, found: Any, what: str) -> None:
    """Refuse what is not the state of a module."""
    fault = mismatch(module.state_dict(), _tensors(found, what))
    if fault is not None:
        raise ContentError(f"{what} does not fit the network: {fault}")


def _tensors(found: Any, what: str) -> Mapping[str, StoredTensor]:
    if not isinstance(found, dict) or not all(isinstance(each, StoredTensor) for each in found.values()):
        raise ContentError(f"{what} is not tensors by name")
    return found


def _check_optimizer(trainer: Trainer, found: Any) -> None:
    if not isinstance(found, dict):
        raise ContentError("its optimizer is no dictionary")
    parameters = dict(trainer.objective.named_parameters())
    slots = _slots(trainer)
    for name, stored in found.items():
        if name not in parameters:
            raise ContentError(f"its optimizer has {one_line(name)}, which the network lacks")
        _check_keys(stored, slots, f"its optimizer's {name}")
        parameter = parameters[name]
        for slot, like in slots.items():
            shape, dtype = (tuple(parameter.shape), parameter.dtype) if like.ndim else ((), like.dtype)
            _check_tensor(stored[slot], shape, dtype, f"optimizer's {name} {slot}")


def _slots(trainer: Trainer) -> dict[str, Tensor]:
    """Return what the optimiser keeps of a parameter, seen on one of a single number."""
    parameter = nn.Parameter(torch.zeros(1, device=trainer.device))
    parameter.grad = torch.zeros_like(parameter)
    optimizer = trainer.make_optimizer([parameter])
    optimizer.step()
    return optimizer.state[parameter]


def _check_position(found: Any, n_tasks: int, n_steps: int) -> None:
    _check_keys(found, ("epoch", "step", "stopped", "sums", "seen"), "its position")
    epoch, step, sums = found["epoch"], found["step"], _tensors(found["sums"], "its sums")
    if not is_int(epoch) or not 0 <= epoch < 2**31 or not is_int(step) or not 0 <= step < n_steps:
        raise ContentError(
            f"it is at step {one_line(step)} of epoch {one_line(epoch)}, and an epoch has {n_steps} steps"
        )
    if not isinstance(found["stopped"], bool):
        raise ContentError(f"its stopped is {one_line(found['stopped'])}")
    if bool(step) != bool(sums) or (step and not {"loss", "task_loss"} <= sums.keys()):
        raise ContentError(f"its sums after {step} steps are of {one_line(list(sums))}")
    for name, stored in sums.items():
        fits = stored.shape == (n_tasks,) if name == "task_loss" else prod(stored.shape) == 1
        if not fits or not stored.dtype.is_floating_point:
            raise ContentError(f"its sum {one_line(name)} is of {stored.dtype} and shape {one_line(stored.shape)}")
    _check_tensor(found["seen"], (n_tasks,), torch.get_default_dtype(), "seen")


def _check_history(found: Any, n_epochs: int, trainer: Trainer) -> None:
    if not isinstance(found, list) or len(found) != n_epochs:
        raise ContentError(f"its history is no list of {n_epochs} epochs")
    K = trainer.objective.net.n_tasks
    for number, record in enumerate(found, start=1):
        if not isinstance(record, dict) or not {"epoch", "lr", "loss", "task_loss"} <= record.keys():
            raise ContentError(f"its record of epoch {number} lacks epoch, lr, loss or task_loss")
        losses = record["task_loss"]
        if not isinstance(losses, dict) or losses.keys() != set(trainer.task_names):
            raise ContentError(f"its record of epoch {number} has no task_loss of each task")
        figures = (record["epoch"], record["lr"], record["loss"], *losses.values())
        if record["epoch"] != number or not all(type(each) in (int, float) for each in figures):
            raise ContentError(f"its record of epoch {number} has the figures {one_line(figures)}")
        if "relation" in record:
            _check_tensor(record["relation"], (K, K), torch.float64, f"relation of epoch {number}")
