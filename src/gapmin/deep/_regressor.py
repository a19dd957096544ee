"""Networks of many tasks as regressors: labels on one scale, their bins, and R squared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length

from gapmin._utils.text import one_line
from gapmin._utils.typing import Array
from gapmin.base import known_tasks
from gapmin.deep._inputs import labels_of
from gapmin.deep._network import NetworkEstimator
from gapmin.deep._plain import ContentError
from gapmin.deep.config import parameter


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkRegressor(RegressorMixin, NetworkEstimator):
    """What regressors of many tasks share: everything but the objective."""

    _label_entry = "label"

    n_bins: int = parameter(5, Interval(Integral, 2, None, closed="left"))

    def _check_labels(self, X: Any, y: ArrayLike | None) -> NDArray[Any]:
        labels = np.asarray(column_or_1d(labels_of(X, y, classes=False), warn=True), dtype=np.float64)
        wrong = ~np.isfinite(labels)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"y has {labels[row]} at row {row}: Input y contains NaN or infinity: give finite numbers")
        return labels

    def _learn_labels(self, labels: NDArray[Any], weight: Array | None) -> None:
        largest = float(np.abs(labels).max()) or 1.0  # of huge labels the square alone would overflow
        mean = float(np.average(labels / largest, weights=weight))
        scale = float(np.sqrt(np.average((labels / largest - mean) ** 2, weights=weight)) * largest)
        self.label_mean_ = mean * largest
        self.label_scale_ = max(scale, 1e-12 * largest)  # of labels that are all alike: so are predictions
        self.bin_edges_ = np.unique(np.quantile(labels, np.linspace(0, 1, self.n_bins + 1)[1:-1]))

    def _encode(self, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        scaled = ((labels - self.label_mean_) / self.label_scale_).astype(np.float32)
        return scaled, np.searchsorted(self.bin_edges_, labels, side="left").astype(np.int64)

    def _label_fingerprint(self) -> str:
        return f"mean {self.label_mean_!r}, scale {self.label_scale_!r}, {self.bin_edges_.size + 1} bins"

    def _labels_to_json(self, to_json: Callable[[NDArray[Any]], dict[str, Any]]) -> dict[str, Any]:
        return {"mean": self.label_mean_, "scale": self.label_scale_, "bin_edges": self.bin_edges_.tolist()}

    def _labels_from_json(self, stored: dict[str, Any], classes_of: Callable[[dict[str, Any]], NDArray[Any]]) -> None:
        edges = stored.get("bin_edges")
        if stored.keys() != {"mean", "scale", "bin_edges"} or not isinstance(edges, list):
            raise ContentError(f"its label is {one_line(stored)}")
        numbers = [stored["mean"], stored["scale"], *edges]
        if not all(type(each) is float and np.isfinite(each) for each in numbers) or stored["scale"] <= 0:
            raise ContentError(f"its label {one_line(stored)} is not a mean, a scale above 0 and edges of bins")
        if not edges or edges != sorted(set(edges)):
            raise ContentError(f"its bin_edges {one_line(edges)} do not ascend")
        self.label_mean_, self.label_scale_, self.bin_edges_ = stored["mean"], stored["scale"], np.array(edges)

    def _output_sizes(self) -> tuple[int, int]:
        return 1, self.bin_edges_.size + 1

    def predict(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the number predicted for each row, by the head of its own task.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        sample_task : array-like of shape (n_rows,)
            The task of each row.
        """
        found = self._run(self._rows(X, sample_task), "logits")[:, 0].astype(np.float64)
        return found * self.label_scale_ + self.label_mean_

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        sample_task: ArrayLike | None = None,
    ) -> float:
        """Return R squared over all rows.

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
        return float(r2_score(labels_of(X, y, classes=False), predicted, sample_weight=sample_weight))

    def task_scores(
        self, X: Any, y: ArrayLike | None = None, *, sample_task: ArrayLike | None = None
    ) -> dict[Any, float]:
        """Return R squared by task, for each task that has rows; NaN for a task with one row.

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
            name: float(r2_score(labels[task == k], predicted[task == k])) if (task == k).sum() > 1 else float("nan")
            for k, name in enumerate(self.tasks_.tolist())
            if (task == k).any()
        }
