"""Fit, predict, save and load: a network of many tasks as a scikit-learn classifier."""

from __future__ import annotations

import os
from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn

from gapmin.base import check_tasks, known_tasks, plain, refuse_unnamed
from gapmin.deep import persistence
from gapmin.deep._inputs import (
    as_tensor,
    check_same_rows,
    digest,
    is_dataset,
    labels_of,
    read_rows,
    row_shape,
    set_aside,
)
from gapmin.deep.batches import Indices, TaskRows
from gapmin.deep.callbacks import Callback, Record
from gapmin.deep.config import AT_LEAST_ONE, TrainingConfig, parameter, training_parameters
from gapmin.deep.engine import DEFAULT_TIMEOUT, Engine
from gapmin.deep.heads import ACTIVATIONS, MultitaskNet, TaskHeads
from gapmin.deep.launch import choose_placement, pick_device
from gapmin.deep.nets import EXTRACTORS, LeNet, build_extractor
from gapmin.deep.objectives import Objective
from gapmin.deep.trainer import Trainer


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkClassifier(TrainingConfig, ClassifierMixin, BaseEstimator):
    """What all classifiers of many tasks share: everything but the objective."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sample_task": True}

    extractor: str | nn.Module | None = parameter(None, StrOptions(set(EXTRACTORS)), nn.Module, None)
    head_hidden: int | None = parameter(None, AT_LEAST_ONE, None)
    head_activation: str | None = parameter(None, StrOptions(set(ACTIVATIONS)), None)
    validation: float | None = parameter(None, Interval(Real, 0, 1, closed="neither"), None)
    device: str | torch.device = parameter("auto", str, torch.device, saved=False)
    devices: int | str = parameter(1, AT_LEAST_ONE, StrOptions({"auto"}), saved=False)
    strategy: str = parameter("auto", StrOptions({"auto", "ddp"}), saved=False)
    accelerator: str = parameter("auto", StrOptions({"auto", "cpu", "gpu", "cuda", "mps"}), saved=False)
    # As much as PyTorch can count.
    timeout: float = parameter(DEFAULT_TIMEOUT, Interval(Real, 0, 1e9, closed="right"), saved=False)
    channels_last: bool = parameter(True, "boolean")
    random_state: Any = parameter(None, "random_state", saved=False)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike | None = None, *, sample_task: ArrayLike | None = None) -> Self:
        """Train one network for all tasks.

        Parameters
        ----------
        X : array-like, Tensor or Dataset
            Rows (n, features), images (n, channels, height, width), or a map-style dataset of images, as `ImageFolder`
            is, whose items are read when they are needed.
        y : array-like of shape (n,)
            Labels of any kind; may be left out for a dataset that has `targets`. Tasks may differ in the classes they
            have: a head learns a class that its own task lacks only from the rows of other tasks, and centroids are
            compared for the classes that both tasks have.
        sample_task : array-like of shape (n,), optional
            Which task a row belongs to: any labels. None makes all rows one task.

        Returns
        -------
        self
        """
        if self.checkpoint_dir is not None and not isinstance(self.random_state, Integral):
            raise ValueError(
                f"random_state is {self.random_state!r}: with checkpoint_dir give an integer, "
                "or a resumed fit could not be the same as one that was never killed"
            )
        where = choose_placement(self.devices, self.strategy, self.accelerator, self.device, self.timeout)
        if where.n_processes > 1:
            self._objective().check_over_processes()
        for name in ("objective_", "relation_", "history_", "callbacks_"):
            self.__dict__.pop(name, None)  # a fit that fails leaves no model, not half of two
        rows = read_rows(self, X, reset=True)
        given = labels_of(X, y)
        labels = column_or_1d(given, warn=True)
        if labels.dtype.kind in "OUS":
            refuse_unnamed("y", given if np.ndim(given) == 1 else labels, "label every row, or leave it out")
        check_consistent_length(np.empty(len(rows)), labels)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"y has one class ({plain(self.classes_[0])!r}): a classifier needs rows of two or more")
        self.tasks_, task = np.unique(check_tasks(sample_task, len(labels)), return_inverse=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # What tells a checkpoint of this fit from one of other data.
        fingerprint = {
            "data": digest(rows, codes, task) if self.checkpoint_dir else "",
            "tasks": str(self.tasks_.tolist()),
            "classes": str(self.classes_.tolist()),
            "validation": self.validation,
        }
        arrays = (rows.numpy() if isinstance(rows, Tensor) else rows, codes, task)
        train = partial(self._train, seed=seed, fingerprint=fingerprint)
        self.input_shape_ = row_shape(rows)
        objective, self.history_, self.callbacks_ = where.run(train, arrays, self.checkpoint_dir)
        self._set_objective(objective.cpu())
        return self

    def _train(
        self,
        engine: Engine,
        X: Any,
        codes: NDArray[Any],
        task: NDArray[Any],
        seed: int,
        fingerprint: dict[str, Any],
    ) -> tuple[Objective, list[Record], list[Callback]]:
        """Build and train the network: all of a fit that each of several processes does."""
        rows = as_tensor(X) if isinstance(X, np.ndarray) else X
        seed = check_same_rows(engine, codes, task, seed)
        tasks = [np.flatnonzero(task == k) for k in range(self.tasks_.size)]
        # The networks draw from torch's global generator: the user's own stream goes on as if nothing had been.
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            objective = self._build(self.input_shape_)
            callbacks = deepcopy(list(self.callbacks or ()))
            trainer = Trainer(
                objective,
                **training_parameters(self) | {"callbacks": callbacks},
                fingerprint=fingerprint,
                task_names=self.tasks_.tolist(),
                seed=seed,
                engine=engine,
            )
            y_codes = torch.from_numpy(codes.astype(np.int64))
            parts: dict[str, list[Indices]] = {}
            for name, share in (("validation", self.validation), ("holdout", objective.holdout_share)):
                if share:
                    tasks, parts[name] = set_aside(tasks, codes, share, seed, self.tasks_.tolist())
            trainer.fit(
                TaskRows(rows, y_codes, tasks, self.channels_last),
                **{name: TaskRows(rows, y_codes, aside, self.channels_last) for name, aside in parts.items()},
            )
        return objective, trainer.history, callbacks

    def _build(self, shape: tuple[int, ...], width: int | None = None) -> Objective:
        """Return the objective with its network, untrained; `width` is that of an extractor of the user's, if known."""
        name = ("lenet" if len(shape) == 3 else "mlp") if self.extractor is None else self.extractor
        extractor = build_extractor(name, shape, width)
        small = isinstance(extractor, LeNet)
        heads = TaskHeads(
            n_tasks=self.tasks_.size,
            in_features=int(extractor.out_features),  # type: ignore[arg-type]
            hidden=self.head_hidden or (128 if small else 256),
            n_classes=self.classes_.size,
            activation=self.head_activation or ("elu" if small else "relu"),
        )
        net = MultitaskNet(extractor, heads)
        if self.channels_last and len(shape) == 3:
            net.extractor.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return self._objective().setup(net)

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
        return TaskRows(rows, torch.zeros(len(rows), dtype=torch.int64), tasks, self.channels_last)

    @torch.no_grad()
    def _run(self, rows: TaskRows, what: str) -> NDArray[np.float32]:
        """Return the own head's logits, or the features, of each row in the order given."""
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

    def predict_proba(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[np.float32]:
        """Return the probability of each class of `classes_`, by the head of each row's own task.

        Parameters
        ----------
        X : array-like, Tensor or Dataset
        sample_task : array-like of shape (n,)
            May be left out where there is one task.
        """
        logits = self._run(self._rows(X, sample_task), "logits")
        return torch.softmax(torch.from_numpy(logits), dim=1).numpy()

    def predict(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[Any]:
        """Return the label of each row, by the head of its own task."""
        logits = self._run(self._rows(X, sample_task), "logits")
        return self.classes_[logits.argmax(axis=1)]

    def extract(self, X: Any) -> NDArray[np.float32]:
        """Return the features that the shared extractor makes of each row."""
        check_is_fitted(self)
        n_rows = len(X) if is_dataset(X) else np.shape(X)[0]
        return self._run(self._rows(X, np.repeat(self.tasks_[:1], n_rows)), "z")

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        sample_task: ArrayLike | None = None,
    ) -> float:
        """Return the share of rows that are labelled right."""
        predicted = self.predict(X, sample_task=sample_task)
        return float(accuracy_score(labels_of(X, y), predicted, sample_weight=sample_weight))

    def task_scores(
        self, X: Any, y: ArrayLike | None = None, *, sample_task: ArrayLike | None = None
    ) -> dict[Any, float]:
        """Return the share of rows that are labelled right by task, for each task that has rows."""
        right = np.asarray(labels_of(X, y)) == self.predict(X, sample_task=sample_task)
        task = known_tasks(sample_task, len(right), self.tasks_)
        return {
            name: float(right[task == k].mean()) for k, name in enumerate(self.tasks_.tolist()) if (task == k).any()
        }

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
