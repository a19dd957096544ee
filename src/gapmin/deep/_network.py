"""Fit, run, save and load: a network of many tasks as a scikit-learn estimator, whatever its labels are."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import nn

from gapmin._utils.typing import Array
from gapmin.base import check_sample_weight, check_tasks, known_tasks, plain
from gapmin.deep import persistence
from gapmin.deep._inputs import (
    FitRows,
    check_same_rows,
    digest,
    is_dataset,
    read_rows,
    row_shape,
    set_aside,
    without_rows,
)
from gapmin.deep._warm_start import explain_changes, go_on_from, joined_history, state_digest, tasks_again
from gapmin.deep.batches import TaskRows
from gapmin.deep.callbacks import Callback, EarlyStopping, Record
from gapmin.deep.config import AT_LEAST_ONE, TrainingConfig, parameter, training_parameters
from gapmin.deep.engine import DEFAULT_TIMEOUT, Engine
from gapmin.deep.heads import ACTIVATIONS, MultitaskNet, TaskHeads
from gapmin.deep.launch import choose_placement, pick_device
from gapmin.deep.losses import row_losses
from gapmin.deep.nets import EXTRACTORS, LeNet, build_extractor
from gapmin.deep.objectives import Objective
from gapmin.deep.trainer import Trainer

DEFAULT_VALIDATION_FRACTION = 0.1
"""Of early stopping where the user names none, as scikit-learn has it."""


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkEstimator(TrainingConfig, BaseEstimator):
    """What all networks of many tasks share: everything but the labels and the objective."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sample_task": True}

    _label_entry: ClassVar[str]
    """What the file of a model calls what is known of the labels."""

    extractor: str | nn.Module | None = parameter(None, StrOptions(set(EXTRACTORS)), nn.Module, None)
    head_hidden: int | None = parameter(None, Interval(Integral, 0, None, closed="left"), None)
    head_activation: str | None = parameter(None, StrOptions(set(ACTIVATIONS)), None)
    validation_fraction: float | None = parameter(None, Interval(Real, 0, 1, closed="neither"), None)
    early_stopping: bool = parameter(False, "boolean")
    patience: int = parameter(10, AT_LEAST_ONE)
    warm_start: bool = parameter(False, "boolean", saved=False)
    device: str | torch.device = parameter("auto", str, torch.device, saved=False)
    devices: int | str = parameter(1, AT_LEAST_ONE, StrOptions({"auto"}), saved=False)
    strategy: str = parameter("auto", StrOptions({"auto", "ddp"}), saved=False)
    accelerator: str = parameter("auto", StrOptions({"auto", "cpu", "gpu", "cuda", "mps"}), saved=False)
    # As much as PyTorch can count.
    timeout: float = parameter(DEFAULT_TIMEOUT, Interval(Real, 0, 1e9, closed="right"), saved=False)
    channels_last: bool = parameter(True, "boolean")
    num_workers: int = parameter(0, Interval(Integral, 0, None, closed="left"), saved=False)
    random_state: Any = parameter(None, "random_state", saved=False)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sample_task: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation_data: tuple[Any, ...] | None = None,
    ) -> Self:
        """Train one network for all tasks.

        Parameters
        ----------
        X : array-like, Tensor or Dataset
            Rows (n, features), images (n, channels, height, width), or a map-style dataset of images, as `ImageFolder`
            is, whose items are read when they are needed.
        y : array-like of shape (n,)
            Labels: of a classifier of any kind, of a regressor numbers. They may be left out for a dataset that has
            `targets`. Tasks may differ in the classes they have: a head learns a class that its own task lacks only
            from the rows of other tasks. Centroids are compared for the classes that both tasks have.
        sample_task : array-like of shape (n,), optional
            Which task a row belongs to: any labels. None makes all rows one task.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by, relative to the mean over its task: tasks count alike. Rows of
            weight 0 are left out. What gapMTNN measures its relation by counts each row once.
        validation_data : tuple (X, y) or (X, y, sample_task), optional
            Rows that are not trained on but give ``validation_loss`` after each epoch, instead of a share of the rows
            (`validation_fraction`).

        Returns
        -------
        self
            The fitted estimator.
        """
        if self.checkpoint_dir is not None and not isinstance(self.random_state, Integral):
            raise ValueError(
                f"random_state is {self.random_state!r}: with checkpoint_dir give an integer, "
                "or a resumed fit could not be the same as one that was never killed"
            )
        if self.checkpoint_dir is not None:
            self._objective().check_resumable()
        if self.validation_fraction is not None and validation_data is not None:
            raise ValueError(
                f"validation_fraction is {self.validation_fraction} and there is validation_data: give one of them"
            )
        where = choose_placement(self.devices, self.strategy, self.accelerator, self.device, self.timeout)
        if where.n_processes > 1:
            self._objective().check_over_processes()
        fitted: Objective | None = self.objective_ if self.warm_start and hasattr(self, "objective_") else None
        if fitted is None:
            for name in ("objective_", "relation_", "history_", "callbacks_"):
                self.__dict__.pop(name, None)  # a fit that fails leaves no model, not half of two
        with explain_changes(fitted is not None):
            rows = read_rows(self, X, reset=fitted is None)
        labels = self._check_labels(X, y)
        check_consistent_length(np.empty(len(rows)), labels)
        task = check_tasks(sample_task, len(labels))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(labels))
        if weight is not None and not weight.all():
            used = np.flatnonzero(weight)
            if (left_out := np.setdiff1d(task, task[used])).size:
                raise ValueError(
                    f"every row of task {plain(left_out[0])!r} has sample_weight 0: leave the task out, or weigh its "
                    "rows"
                )
            rows, labels, task, weight = without_rows(rows, used), labels[used], task[used], weight[used]
        if fitted is None:
            self._learn_labels(labels, weight)
            self.tasks_, task = np.unique(task, return_inverse=True)
            self.input_shape_ = row_shape(rows)
        with explain_changes(fitted is not None):
            task = task if fitted is None else tasks_again(self, rows, task)
            encoded = self._encode(labels)
        weight = self._row_weights(labels, task, weight)
        if weight is not None:
            self._objective().check_weighs_rows()
        given = FitRows(rows, *encoded, task, weight)
        validation = None if validation_data is None else self._validation_rows(validation_data)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # Rows that were set aside stay so, and probes keep the halves that they train on.
        self._seed = seed = seed if fitted is None else getattr(self, "_seed", seed)
        # What tells a checkpoint of this fit from one of other data.
        fingerprint = {
            "data": digest(given) if self.checkpoint_dir else "",
            "tasks": str(self.tasks_.tolist()),
            "labels": self._label_fingerprint(),
            "validation": self._validation_share(validation),
            "validation_data": digest(validation) if self.checkpoint_dir and validation is not None else "",
            "start": state_digest(fitted) if self.checkpoint_dir and fitted is not None else "",
        }
        arrays = (*given.arrays(), *(() if validation is None else validation.arrays()))
        train = partial(self._train, seed=seed, fingerprint=fingerprint, fitted=fitted)
        objective, history, self.callbacks_ = where.run(train, arrays, self.checkpoint_dir)
        self.history_: list[Record] = history if fitted is None else joined_history(self.history_, history)
        self._set_objective(objective.cpu())
        return self

    def _validation_share(self, validation: FitRows | None) -> float | None:
        """Return the share of rows to be set aside."""
        wanted = self.early_stopping and validation is None and self.validation_fraction is None
        return DEFAULT_VALIDATION_FRACTION if wanted else self.validation_fraction

    def _validation_rows(self, given: Any) -> FitRows:
        """Return the rows of `validation_data`, checked against those of the fit."""
        if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
            raise ValueError(
                f"validation_data is {f'of {len(given)} parts' if hasattr(given, '__len__') else repr(given)}: "
                "give (X, y), or (X, y, sample_task)"
            )
        X, y, sample_task = (*given, None) if len(given) == 2 else given
        try:
            rows = read_rows(self, X, reset=False)
            labels = self._check_labels(X, y)
            check_consistent_length(np.empty(len(rows)), labels)
            task = known_tasks(sample_task, len(labels), self.tasks_)
            encoded = self._encode(labels)
        except ValueError as error:
            raise ValueError(f"validation_data: {error}") from error
        if row_shape(rows) != self.input_shape_:
            raise ValueError(
                f"validation_data has rows of shape {row_shape(rows)}, and X of {self.input_shape_}: give rows of that "
                "shape"
            )
        return FitRows(rows, *encoded, task)

    def _train(
        self, engine: Engine, *arrays: Any, seed: int, fingerprint: dict[str, Any], fitted: Objective | None
    ) -> tuple[Objective, list[Record], list[Callback]]:
        """Build and train the network: all of a fit that each of several processes does."""
        n_parts = len(FitRows._fields)
        given, validation = FitRows(*arrays[:n_parts]), arrays[n_parts:]
        seed = check_same_rows(engine, given, seed)
        tasks = [np.flatnonzero(given.task == k) for k in range(self.tasks_.size)]
        # The networks draw from torch's global generator: the user's own stream goes on as if nothing had been.
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            objective = self._build(self.input_shape_)
            if fitted is not None:
                go_on_from(fitted, objective)
            callbacks = deepcopy(list(self.callbacks or ()))
            if self.early_stopping:
                callbacks.append(EarlyStopping(patience=self.patience))
            trainer = Trainer(
                objective,
                **training_parameters(self) | {"callbacks": callbacks},
                fingerprint=fingerprint,
                task_names=self.tasks_.tolist(),
                seed=seed,
                first_epoch=0 if fitted is None else len(self.history_),
                engine=engine,
            )
            parts: dict[str, TaskRows] = {}
            how = self.channels_last, self.num_workers
            if validation:
                parts["validation"] = FitRows(*validation).by_task(self.tasks_.size, *how)
            for name in ("validation", "holdout"):
                share = fingerprint["validation"] if name == "validation" else objective.holdout_share
                if share:
                    names, needed = self.tasks_.tolist(), name == "holdout"
                    tasks, aside = set_aside(tasks, given.classes, share, seed, names, of_every_task=needed)
                    parts[name] = given.rows_of(aside, *how)
            trainer.fit(given.rows_of(tasks, *how), **parts)
        return objective, trainer.history, callbacks

    def _build(self, shape: tuple[int, ...], width: int | None = None) -> Objective:
        """Return the objective with its network, untrained; `width` is that of an extractor of the user's, if known."""
        name = ("lenet" if len(shape) == 3 else "mlp") if self.extractor is None else self.extractor
        extractor = build_extractor(name, shape, width)
        small = isinstance(extractor, LeNet)
        n_outputs, n_bins = self._output_sizes()
        heads = TaskHeads(
            n_tasks=self.tasks_.size,
            in_features=int(extractor.out_features),  # type: ignore[arg-type]
            hidden=(128 if small else 256) if self.head_hidden is None else self.head_hidden,
            n_classes=n_outputs,
            activation=self.head_activation or ("elu" if small else "relu"),
        )
        net = MultitaskNet(extractor, heads, n_bins)
        if self.channels_last and len(shape) == 3:
            net.extractor.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return self._objective().setup(net)

    @abstractmethod
    def _check_labels(self, X: Any, y: ArrayLike | None) -> NDArray[Any]:
        """Return the labels as a vector; refuse what are none."""

    @abstractmethod
    def _learn_labels(self, labels: NDArray[Any], weight: Array | None) -> None:
        """Take in what there is to know of the labels of a fit."""

    @abstractmethod
    def _encode(self, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return what the loss takes for labels, and of numbers their bins."""

    @abstractmethod
    def _label_fingerprint(self) -> str:
        """Return what tells these labels from those of another fit."""

    @abstractmethod
    def _labels_to_json(self, to_json: Callable[[NDArray[Any]], dict[str, Any]]) -> dict[str, Any]:
        """Return what the file of a model says of the labels."""

    @abstractmethod
    def _labels_from_json(self, stored: dict[str, Any], classes_of: Callable[[dict[str, Any]], NDArray[Any]]) -> None:
        """Take it back; raise `ContentError` where it is none."""

    @abstractmethod
    def _output_sizes(self) -> tuple[int, int | None]:
        """Return how many outputs a head has, and of numbers how many bins."""

    def _row_weights(self, labels: NDArray[Any], task: NDArray[Any], weight: Array | None) -> NDArray[Any] | None:
        """Return the weights of rows, 1 on average over each task's; None where all are alike."""
        if weight is None:
            return None
        weight = weight / weight.max()
        sums = np.bincount(task, weights=weight)
        return np.asarray(weight * (np.bincount(task) / sums)[task], dtype=np.float32)

    @abstractmethod
    def _objective(self) -> Objective:
        """Return a new objective, without a network."""

    def _set_objective(self, objective: Objective) -> None:
        """Take over a trained objective."""
        self.objective_ = objective.eval()
        relation = getattr(objective, "relation", None)
        if relation is not None:
            wide = relation.double().numpy()
            self.relation_ = wide / wide.sum(axis=1, keepdims=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "objective_")

    def _rows(self, X: Any, sample_task: ArrayLike | None) -> TaskRows:
        """Return the rows by task, checked against the fit."""
        check_is_fitted(self)
        rows = read_rows(self, X, reset=False)
        if row_shape(rows) != self.input_shape_:
            raise ValueError(
                f"X has rows of shape {row_shape(rows)}, the model was fitted on {self.input_shape_}: "
                "give rows of that shape"
            )
        task = known_tasks(sample_task, len(rows), self.tasks_)
        tasks = [np.flatnonzero(task == k) for k in range(self.tasks_.size)]
        y = torch.zeros(len(rows), dtype=torch.int64)
        return TaskRows(rows, y, tasks, self.channels_last, num_workers=self.num_workers)

    @torch.no_grad()
    def _run(self, rows: TaskRows, what: str) -> NDArray[np.float32]:
        """Return the own head's outputs (`what` is "logits"), or the features ("z"), of each row in the order given."""
        device = pick_device(self.device, self.accelerator)
        objective = self.objective_.to(device).eval()
        batch_size = int(np.clip(2**24 // max(int(np.prod(self.input_shape_)), 1), 1, 1024))
        parts = [getattr(objective.net.own(batch), what).cpu() for batch in rows.in_order(batch_size, device)]
        self.objective_.cpu()
        found = torch.cat(parts).numpy()
        if not np.isfinite(found).all():
            row = int(np.concatenate(rows.tasks)[np.argmin(np.isfinite(found).all(axis=1))])
            raise ValueError(f"row {row} of X gives numbers that are not finite: look for NaN or huge values in it")
        out = np.empty_like(found)
        out[np.concatenate(rows.tasks)] = found
        return out

    def extract(self, X: Any) -> NDArray[np.float32]:
        """Return the features that the shared extractor makes of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to map to features.
        """
        check_is_fitted(self)
        n_rows = len(X) if is_dataset(X) else (np.shape(X) or (1,))[0]
        return self._run(self._rows(X, np.repeat(self.tasks_[:1], n_rows)), "z")

    def nearest_task(self, X: Any, y: ArrayLike) -> Any:
        """Return the task whose head has the least loss on a few labelled rows of a new task.

        Its name as `sample_task` predicts further rows of the new task.

        Parameters
        ----------
        X : array-like, Tensor or Dataset
            A few rows of the new task.
        y : array-like of shape (n,)
            Their labels.
        """
        labels = self._check_labels(X, y)
        features = torch.from_numpy(self.extract(X))
        check_consistent_length(features, labels)
        targets = torch.from_numpy(self._encode(labels)[0])
        with torch.no_grad():
            heads = self.objective_.net.heads
            sizes = [len(targets), *(0 for _ in range(heads.n_tasks - 1))]
            outputs = heads.all_pairs(features, sizes).logits
            losses = [float(row_losses(each, targets).mean()) for each in outputs]
        return plain(self.tasks_[int(np.argmin(losses))])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: weights as safetensors, the rest as JSON in its header; no pickle.

        Parameters
        ----------
        path : str or Path
            Conventionally ending in ``.safetensors``; replaced whole if it exists.
        """
        check_is_fitted(self)
        persistence.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, extractor: nn.Module | None = None) -> Self:
        """Read a model that `save` wrote.

        Parameters
        ----------
        path : str or Path
            The file.
        extractor : Module, optional
            For a model whose extractor was a module of yours: one of the same shape; its weights are replaced.

        Raises
        ------
        FileNotFoundError
            When there is no such file.
        ValueError
            When the file is no regular file, or not one that `save` wrote for this class. Nothing of a file is built
            before all of its header was checked, and nothing in it is run.
        """
        return persistence.load(cls, path, extractor)
