"""Networks of many tasks as classifiers: classes, their weights, probabilities and accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from gapmin._utils.typing import Array
from gapmin.base import known_tasks, plain, refuse_unnamed
from gapmin.deep._inputs import labels_of
from gapmin.deep._network import NetworkEstimator
from gapmin.deep.config import parameter


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """What all classifiers of many tasks share: everything but the objective."""

    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sample_task": True}

    _label_entry = "classes"

    class_weight: Any = parameter(None, dict, StrOptions({"balanced"}), None, saved=False)

    def _check_labels(self, X: Any, y: ArrayLike | None) -> NDArray[Any]:
        given = labels_of(X, y, classes=True)
        labels = column_or_1d(given, warn=True)
        if labels.dtype.kind in "OUS":
            refuse_unnamed("y", given if np.ndim(given) == 1 else labels, "label every row, or leave it out")
        check_classification_targets(labels)
        return labels

    def _learn_labels(self, labels: NDArray[Any], weight: Array | None) -> None:
        self.classes_ = np.unique(labels)
        if self.classes_.size < 2:
            raise ValueError(f"y has one class ({plain(self.classes_[0])!r}): a classifier needs rows of two or more")

    def _encode(self, labels: NDArray[Any]) -> tuple[NDArray[Any], None]:
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y has the unknown class {plain(labels[unknown][0])!r}: this model knows {self.classes_.tolist()}"
            )
        return np.searchsorted(self.classes_, labels).astype(np.int64), None

    def _label_fingerprint(self) -> str:
        return str(self.classes_.tolist())

    def _labels_to_json(self, to_json: Callable[[NDArray[Any]], dict[str, Any]]) -> dict[str, Any]:
        return to_json(self.classes_)

    def _labels_from_json(self, stored: dict[str, Any], classes_of: Callable[[dict[str, Any]], NDArray[Any]]) -> None:
        self.classes_ = classes_of(stored)

    def _output_sizes(self) -> tuple[int, None]:
        return self.classes_.size, None

    def _row_weights(self, labels: NDArray[Any], task: NDArray[Any], weight: Array | None) -> NDArray[Any] | None:
        if self.class_weight is None:
            return super()._row_weights(labels, task, weight)
        codes = np.searchsorted(self.classes_, labels)
        weight = np.ones(len(codes)) if weight is None else weight
        if isinstance(self.class_weight, dict):
            factors = np.tile(_class_factors(self.class_weight, self.classes_), (self.tasks_.size, 1))
        else:
            counts = np.zeros((self.tasks_.size, self.classes_.size))
            np.add.at(counts, (task, codes), weight)
            factors = 1 / np.where(counts > 0, counts, 1.0)
        found = weight * factors[task, codes]
        if (empty := np.bincount(task, weights=found) == 0).any():
            raise ValueError(
                f"class_weight is {self.class_weight!r}, by which every row of task "
                f"{plain(self.tasks_[np.argmax(empty)])!r} has weight 0: weigh one of its classes"
            )
        return super()._row_weights(labels, task, found)

    def predict_proba(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[np.float32]:
        """Return the probability of each class of `classes_`, by the head of each row's own task.

        Parameters
        ----------
        X : array-like, Tensor or Dataset
            The rows.
        sample_task : array-like of shape (n,)
            May be left out where there is one task.
        """
        logits = self._run(self._rows(X, sample_task), "logits")
        return torch.softmax(torch.from_numpy(logits), dim=1).numpy()

    def predict(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[Any]:
        """Return the label of each row, by the head of its own task.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        sample_task : array-like of shape (n_rows,)
            The task of each row.
        """
        logits = self._run(self._rows(X, sample_task), "logits")
        return self.classes_[logits.argmax(axis=1)]

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        sample_task: ArrayLike | None = None,
    ) -> float:
        """Return the share of rows that are labelled right.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts.
        sample_task : array-like of shape (n_rows,)
            The task of each row.
        """
        predicted = self.predict(X, sample_task=sample_task)
        return float(accuracy_score(labels_of(X, y, classes=True), predicted, sample_weight=sample_weight))

    def task_scores(
        self, X: Any, y: ArrayLike | None = None, *, sample_task: ArrayLike | None = None
    ) -> dict[Any, float]:
        """Return the share of rows that are labelled right by task, for each task that has rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_task : array-like of shape (n_rows,)
            The task of each row.
        """
        predicted = self.predict(X, sample_task=sample_task)
        labels = self._check_labels(X, y)
        check_consistent_length(predicted, labels)
        task = known_tasks(sample_task, len(labels), self.tasks_)
        return {
            name: float(accuracy_score(labels[task == k], predicted[task == k]))
            for k, name in enumerate(self.tasks_.tolist())
            if (task == k).any()
        }


def _class_factors(class_weight: dict[Any, Any], classes: NDArray[Any]) -> Array:
    """Return the weight of each class, 1 where none is given."""
    names = classes.tolist()
    for name, value in class_weight.items():
        if name not in names:
            raise ValueError(f"class_weight has the unknown class {plain(name)!r}: y has {names}")
        if not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
            raise ValueError(f"class_weight has {value!r} for the class {plain(name)!r}: give a number of at least 0")
    return np.array([float(class_weight.get(name, 1.0)) for name in names])
