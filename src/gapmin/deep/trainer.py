"""The one training loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gapmin._utils.progress import counting
from gapmin._version import __version__
from gapmin.deep._names import name_of
from gapmin.deep._plain import ContentError
from gapmin.deep._resuming import check_generator, check_state, match_callbacks
from gapmin.deep.batches import Indices, TaskRows, epoch_plan
from gapmin.deep.callbacks import Callback, Record
from gapmin.deep.checkpoint import read_checkpoint, refused, write_checkpoint
from gapmin.deep.config import TrainingConfig
from gapmin.deep.engine import Engine, Forward
from gapmin.deep.evaluation import task_figures
from gapmin.deep.heads import Batch
from gapmin.deep.objectives import Objective, Step
from gapmin.deep.optimizers import LearningRates, make_optimizer
from gapmin.deep.precision import check_precision, mixed_extractor
from gapmin.deep.transforms import as_list, transform_batch

CHECKPOINT = "checkpoint.safetensors"


@dataclass(eq=False, repr=False)
class Trainer(TrainingConfig):
    """An optimiser on an objective, epoch by epoch, over the batches of K tasks.

    Parameters
    ----------
    objective : Objective
        With its network, after ``setup``.
    epochs : int, default=120
        How often every row is seen.
    batch_size : int, default=64
        Rows of each task in a batch.
    lr : float, default=2e-4
        The learning rate.
    lr_decay : float, default=0.95
        What the rate is multiplied by every `lr_every` epochs.
    lr_every : int, default=5
        After so many epochs the learning rate falls.
    weight_decay : float, default=1e-4
        The strength of the L2 penalty of the optimiser.
    optimizer, scheduler : str or callable, default="adam" and "step"
        See `gapmin.deep.optimizers`.
    gradient_clip : float, optional
        The largest norm of the network's gradient.
    precision : "32", "bf16-mixed" or "16-mixed", default="32"
        What the extractor computes in, see `gapmin.deep.precision`.
    sampling : "cycle" or "once", default="cycle"
        How tasks of unequal size make up an epoch, see `epoch_plan`.
    augment : callable or sequence of callables, optional
        What is done to each batch of rows before it is trained on.
    device : str or torch.device, default="cpu"
        Where to train.
    callbacks : sequence of Callback
        What is called before, between and after epochs.
    checkpoint_dir : path, optional
        Where to keep a checkpoint; if there is one of this very run, it goes on from there.
    checkpoint_every : int, optional
        Steps between checkpoints; by default one at the end of each epoch.
    fingerprint : dict
        What tells this run from others, beside the settings above.
    seed : int, default=0
        Of the order of rows.
    first_epoch : int, default=0
        Epochs of earlier fits of the network: the order of rows is that of the epochs that follow.
    verbose : int, default=0
        1 shows a progress bar.
    engine : Engine, optional
        What runs the steps, on its own device; by default plain PyTorch in this process. Where there are several
        processes, each makes a trainer of the same arguments; callbacks run in process 0, which also writes the
        checkpoints. These do not depend on the number of processes.
    task_names : sequence of str, optional
        What the tasks are called in messages.

    Attributes
    ----------
    history : list of dict
        A record for each epoch: ``epoch``, ``lr``, ``loss``, ``task_loss`` by task, the objective's own terms,
        ``relation`` where it has one, and with validation rows ``validation_loss``, ``validation_task_loss``, and of
        classes ``validation_error`` and ``validation_task_error``.
    """

    objective: Objective
    _: KW_ONLY
    device: torch.device | str = "cpu"
    fingerprint: dict[str, Any] = field(default_factory=dict)
    task_names: Sequence[Any] = ()
    seed: int = 0
    first_epoch: int = 0
    engine: Engine = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        objective = self.objective
        self.engine = self.engine or Engine(self.device)
        self.device = self.engine.device
        self.callbacks = list(self.callbacks or ())
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"callbacks has {callback!r}: give objects of Callback")
        self.path = None if self.checkpoint_dir is None else Path(self.checkpoint_dir) / CHECKPOINT
        self.verbose = self.verbose if self.engine.rank == 0 else 0
        self.task_names = [str(name) for name in (self.task_names or range(objective.net.n_tasks))]
        self.fingerprint = {
            "version": __version__,
            "objective": repr(objective),
            "shapes": {name: list(value.shape) for name, value in objective.state_dict().items()},
            "network": repr(objective.net),
            "batch_size": self.batch_size,
            "lr": [self.lr, self.lr_decay, self.lr_every, self.weight_decay],
            "optimizer": [name_of(self.optimizer), name_of(self.scheduler), self.gradient_clip],
            "precision": self.precision,
            "sampling": self.sampling,
            "augment": name_of(self.augment),
            "seed": [self.seed, self.first_epoch],
            **(self.fingerprint or {}),
        }
        if self.augment is not None:
            as_list(self.augment)
        check_precision(self.precision, torch.device(self.device), objective)
        # Of float16, whose small gradients would be 0.
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.precision == "16-mixed")
        self.history: list[Record] = []
        self.validates = False
        self._forward: Forward = objective
        objective.to(self.device)
        self.make_optimizer = partial(
            make_optimizer, self.optimizer, lr=self.lr, weight_decay=self.weight_decay, device=self.device
        )
        self.torch_optimizer = self.make_optimizer(list(objective.parameters()))
        self.rates = LearningRates(self.torch_optimizer, self.scheduler, self.epochs, self.lr_decay, self.lr_every)

    def fit(self, rows: TaskRows, validation: TaskRows | None = None, holdout: TaskRows | None = None) -> list[Record]:
        """Train, from the start or from the checkpoint; return the history.

        Parameters
        ----------
        rows : TaskRows
            To train on.
        validation : TaskRows, optional
            To measure the error on after each epoch.
        holdout : TaskRows, optional
            For the objective to look at after each epoch.

        Returns
        -------
        list of Record
            One for each epoch.
        """
        self.validates = validation is not None
        rows.split_in_halves(self.seed)
        share = self.engine.rows
        mixed = mixed_extractor(self.objective.net.extractor, self.precision, torch.device(self.device))
        try:
            with mixed, self.engine.training(self.objective, self.path) as self._forward:
                self._run(share(rows), validation and share(validation), holdout and share(holdout))
        finally:
            self._forward = self.objective
        self.objective.eval()
        return self.history

    def _run(self, rows: TaskRows, validation: TaskRows | None, holdout: TaskRows | None) -> None:
        self.objective.set_class_counts(rows.class_counts(self.objective.net.n_classes).to(self.device))
        at = self._resume(-(-max(rows.sizes) // self.batch_size))
        self.engine.on_rank_zero(lambda: self._notify("begin"))
        name = type(self.objective).__name__
        with counting(self.epochs, at.epoch, self.verbose, name) as advance:
            while at.epoch < self.epochs and not at.stopped:
                record = self._epoch(at, rows, validation, holdout)
                shown = {"validation_loss": ", validation loss {:.3f}", "validation_error": ", error {:.1%}"}
                more = "".join(text.format(record[key]) for key, text in shown.items() if key in record)
                advance(at.epoch, f"{name}: loss {record['loss']:.3f}{more}")
        self.engine.on_rank_zero(lambda: self._notify("end"))
        self.engine.broadcast_state(self.objective)

    def _notify(self, event: str, *details: Any) -> bool:
        """Call a method of every callback; return whether any of them asks to stop."""
        answers = [getattr(callback, event)(self, *details) for callback in self.callbacks]  # each sees every epoch
        return any(answers)

    def _epoch(self, at: _Position, rows: TaskRows, validation: TaskRows | None, holdout: TaskRows | None) -> Record:
        self.rates.go_to(at.epoch)
        epoch = self.first_epoch + at.epoch
        plan = epoch_plan(rows.tasks, self.batch_size, self.seed, epoch, self.sampling)
        self.objective.train()
        batches = rows.batches(plan[at.step :], self.device, (self.seed, epoch, at.step))
        while at.step < len(plan):
            self.engine.begin_step(self.seed, epoch, at.step)
            step = self.step(self._augmented(next(batches), at, plan[at.step]))
            at.add(step, [len(each) > 0 for each in plan[at.step]])
            if self.checkpoint_every and at.step % self.checkpoint_every == 0 and at.step < len(plan):
                self._checkpoint(at)
        means = at.means(self.task_names)
        if not np.isfinite(means["loss"]):
            raise ValueError(
                f"the loss is {means['loss']} in epoch {at.epoch + 1}: take a smaller lr ({self.lr} now), "
                "scale the features, or lower the objective's weights"
            )
        if holdout is not None:
            self.objective.eval()
            with torch.no_grad():
                for batch in holdout.side_by_side(max(self.batch_size, 256), self.device):
                    self.objective.observe(batch)
        self.objective.end_epoch()
        record = {
            "epoch": at.epoch + 1,
            "lr": float(self.torch_optimizer.param_groups[0]["lr"]),
            **means,
            **self._evaluate(validation),
        }
        self.history.append(record)
        at.epoch, at.step, at.sums, at.seen = at.epoch + 1, 0, {}, torch.zeros_like(at.seen)
        self.history[-1], at.stopped = self.engine.on_rank_zero(lambda: (record, self._notify("epoch", record)))
        self.engine.broadcast_state(self.objective)
        self._checkpoint(at)
        return self.history[-1]

    def _augmented(self, batch: Batch, at: _Position, chosen: list[Indices]) -> Batch:
        if self.augment is None:
            return batch
        n_rows = sum(map(len, chosen))
        position = (self.seed, self.first_epoch + at.epoch, at.step)
        return batch._replace(
            x=transform_batch(self.augment, batch.x, n_rows, position, self.engine.rank, self.engine.size)
        )

    def step(self, batch: Any) -> Step:
        """Take one step of the optimiser.

        Parameters
        ----------
        batch : Batch
            Rows of every task.

        Returns
        -------
        Step
            The losses of the batch.
        """
        self.torch_optimizer.zero_grad(set_to_none=True)
        step = self._forward(batch)
        self.engine.backward(self.scaler.scale(step.loss))
        if self.gradient_clip is not None:
            self.scaler.unscale_(self.torch_optimizer)
            torch.nn.utils.clip_grad_norm_(self.objective.net.parameters(), self.gradient_clip)
        self.scaler.step(self.torch_optimizer)
        self.scaler.update()
        return step

    def _evaluate(self, validation: TaskRows | None) -> Record:
        """Return what is known once an epoch is over: the relation, and the errors on validation rows."""
        record: Record = {}
        if (relation := getattr(self.objective, "relation", None)) is not None:
            record["relation"] = relation.double().cpu().tolist()
        if validation is not None:
            there = np.array(validation.sizes) > 0
            for name, values in task_figures(self.objective, validation, self.device, self.engine).items():
                known = zip(self.task_names, values, there, strict=True)
                record[f"validation_{name}"] = float(np.mean(np.array(values)[there]))
                record[f"validation_task_{name}"] = {task: value for task, value, known_here in known if known_here}
        return record

    def _checkpoint(self, at: _Position) -> None:
        if self.path is not None:
            path = self.path
            self.engine.on_rank_zero(lambda: write_checkpoint(path, self._state(at), self.fingerprint))

    def _state(self, at: _Position) -> dict[str, Any]:
        names = self._optimized()
        return {
            "objective": self.objective.state_dict(),
            "optimizer": {names[i]: slots for i, slots in self.torch_optimizer.state_dict()["state"].items()},
            "position": vars(at),
            # As tensors, the relations of many epochs of many tasks do not weigh down the checkpoint's header.
            "history": _with_relation(self.history, partial(torch.tensor, dtype=torch.float64)),
            "callbacks": [[type(callback).__name__, callback.state_dict()] for callback in self.callbacks],
            "rng": self.engine.rng_state(),
            **({"scaler": self.scaler.state_dict()} if self.scaler.is_enabled() else {}),
        }

    def _read(self, n_steps: int) -> dict[str, Any] | None:
        assert self.path is not None
        state = read_checkpoint(self.path, self.fingerprint, lambda found: check_state(found, self, n_steps))
        if state is not None:
            try:
                check_generator(state["rng"])
            except ContentError as error:
                raise refused(self.path, error) from error
        return state

    def _resume(self, n_steps: int) -> _Position:
        state = None if self.path is None else self.engine.on_rank_zero(lambda: self._read(n_steps))
        if state is None:
            self.history = []
            return _Position(0, 0, stopped=False, sums={}, seen=torch.zeros(self.objective.net.n_tasks))
        if state["position"]["epoch"] > self.epochs:
            raise ValueError(
                f"{self.path} is {state['position']['epoch']} epochs far, and epochs is {self.epochs}: "
                "ask for as many, or name another checkpoint_dir"
            )
        try:
            for callback, mine in match_callbacks(self.callbacks, state["callbacks"]):
                callback.load_state_dict(mine)
        except Exception as error:  # whatever the callback's own code makes of a state that is not its own
            raise refused(self.path, f"{type(error).__name__} of a callback: {error}") from error
        self.objective.load_state_dict(state["objective"])
        self._load_optimizer(state["optimizer"])
        self.scaler.load_state_dict(state.get("scaler", {}))
        sums = {name: value.to(self.device) for name, value in state["position"]["sums"].items()}
        self.history = _with_relation(state["history"], Tensor.tolist)
        self.engine.set_rng_state(state["rng"])
        return _Position(**state["position"] | {"sums": sums})

    def _optimized(self) -> list[str]:
        """Return the names of the parameters in the order in which the optimiser has them."""
        names = {id(parameter): name for name, parameter in self.objective.named_parameters()}
        return [names[id(each)] for group in self.torch_optimizer.param_groups for each in group["params"]]

    def _load_optimizer(self, state: dict[str, dict[str, Tensor]]) -> None:
        slots, parameters = {}, dict(self.objective.named_parameters())
        for i, name in enumerate(self._optimized()):
            if name in state:
                parameter = parameters[name]
                # In the memory format of the parameter: a fused step goes through the memory of both in one order.
                slots[i] = {
                    slot: torch.empty_like(parameter).copy_(value) if value.ndim else value
                    for slot, value in state[name].items()
                }
        groups = self.torch_optimizer.state_dict()["param_groups"]
        self.torch_optimizer.load_state_dict({"state": slots, "param_groups": groups})


def _with_relation(history: list[Record], convert: Callable[[Any], Any]) -> list[Record]:
    return [each | {"relation": convert(each["relation"])} if "relation" in each else each for each in history]


@dataclass
class _Position:
    """Where a run is, and the sums of the epoch so far."""

    epoch: int
    step: int
    stopped: bool
    sums: dict[str, Tensor]
    seen: Tensor  #: how many batches had rows of each task

    def add(self, step: Step, present: Sequence[bool]) -> None:
        self.step += 1
        # Kept where they are: moving them to the processor at each step would wait for the device.
        for name, value in {"loss": step.loss, "task_loss": step.task_losses, **step.terms}.items():
            self.sums[name] = self.sums.get(name, 0.0) + torch.as_tensor(value).detach()
        self.seen += torch.tensor(present, dtype=torch.float32)

    def means(self, task_names: Sequence[str]) -> Record:
        """Return the epoch's averages: over batches, and for a task over those that had rows of it."""
        sums = {name: value.double().cpu() for name, value in self.sums.items()}
        by_task = (sums.pop("task_loss") / self.seen.clamp_min(1)).tolist()
        means: Record = {name: float(value) / self.step for name, value in sums.items()}
        return {"loss": means.pop("loss"), "task_loss": dict(zip(task_names, by_task, strict=True)), **means}


__all__ = ["CHECKPOINT", "Trainer"]
