"""What a fitted network says of its tasks: Proposition 40 (`gapMTNNproposition`), and the gaps between probe heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from gapmin.base import plain
from gapmin.deep._classifier import NetworkClassifier
from gapmin.deep._inputs import labels_of, set_aside
from gapmin.deep.batches import TaskRows, epoch_plan
from gapmin.deep.heads import SLOPE_OF_CROSS_ENTROPY, TaskHeads
from gapmin.deep.losses import loss_matrix, own_losses
from gapmin.gap import RiskBound
from gapmin.linear import class_wasserstein_matrix, proposition_2

_PROBE_EPOCHS = 20


@dataclass(frozen=True)
class TaskGaps:
    """How far apart tasks are in the learnt features.

    Attributes
    ----------
    tasks : list
    losses : ndarray of shape (n_tasks, n_tasks)
        Entry (j, k): the mean loss of task j's probe head on task k.
    gaps : ndarray of shape (n_tasks, n_tasks)
        losses[j, k] - losses[k, k]: what task k would lose by taking j's head for its own. Small means related; on
        rows the probes were not trained on it can be below 0, where j's rows are the better teacher.
    """

    tasks: list[Any]
    losses: NDArray[np.float64]
    gaps: NDArray[np.float64]

    @property
    def affinity(self) -> NDArray[np.float64]:
        """Minus the mean of the gaps in both directions: symmetric, the more the nearer."""
        return -(self.gaps + self.gaps.T) / 2


class DiagnosedClassifier(NetworkClassifier):
    """A classifier of many tasks with the diagnostics as methods."""

    def proposition_2(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sample_task: ArrayLike | None = None,
        max_rows: int | None = 100,
    ) -> dict[Any, RiskBound]:
        """Return Proposition 40 for each task, the rows given standing in for the distributions: a diagnostic.

        The weighted risk of the task's head, and how far apart the tasks' classes are in feature space (exact
        Wasserstein distances by POT, from the extra ``theory``).

        Parameters
        ----------
        X, y, sample_task
            Rows of every task, each with every class that is to count.
        max_rows : int, optional
            Rows of each class of each task that the distances are taken over; None takes all.
        """
        rows, codes = self._labelled(X, y, sample_task)
        order = np.concatenate(rows.tasks)
        features, y_codes = self._run(rows, "z")[order], codes[order]
        _, _, distances = class_wasserstein_matrix(
            features, self.classes_[y_codes], np.repeat(self.tasks_, rows.sizes), max_rows=max_rows, random_state=0
        )
        heads = self.objective_.net.heads
        with torch.no_grad():
            slopes = heads.lipschitz().tolist()
            logits = heads.all_pairs(torch.from_numpy(features), rows.sizes).logits
            losses = loss_matrix(logits, torch.from_numpy(y_codes), rows.sizes).double().numpy()
        relation = getattr(self, "relation_", np.eye(len(slopes)))
        return {
            task: proposition_2(
                float(relation[j] @ losses[j]),
                relation[j],
                j,
                distances,
                nu=max(slopes[j], 1e-12),
                rho=SLOPE_OF_CROSS_ENTROPY,
            )
            for j, task in enumerate(self.tasks_.tolist())
        }

    def task_gaps(
        self, X: Any, y: ArrayLike | None = None, *, sample_task: ArrayLike | None = None, random_state: int = 0
    ) -> TaskGaps:
        """Return the pairwise performance gap of the tasks in the learnt features, as a score of their affinity.

        A probe head is trained on each task alone, on half of the rows, the features fixed; the other half says how
        much worse task j's probe does on task k than task k's own.

        Parameters
        ----------
        X, y, sample_task
            The rows.
        random_state : int, default=0
            Seed.
        """
        rows, codes = self._labelled(X, y, sample_task)
        features = torch.from_numpy(self._run(rows, "z"))
        y_codes = torch.from_numpy(codes.astype(np.int64))
        heads = self.objective_.net.heads
        left, aside = set_aside(rows.tasks, codes, 0.5, random_state)
        train, test = TaskRows(features, y_codes, left), TaskRows(features, y_codes, aside)
        with torch.random.fork_rng(), torch.enable_grad():
            torch.manual_seed(random_state)
            probes = TaskHeads(heads.n_tasks, features.shape[1], heads.hidden, heads.n_classes, heads.activation)
            optimizer = torch.optim.Adam(probes.parameters(), lr=1e-3)
            for epoch in range(_PROBE_EPOCHS):
                for chosen in epoch_plan(train.tasks, 64, random_state, epoch):
                    batch = train.take(chosen)
                    optimizer.zero_grad()
                    own_losses(probes.own(batch.x, batch.sizes).logits, batch.y, batch.sizes).sum().backward()
                    optimizer.step()
        with torch.no_grad():
            batch = test.take(test.tasks)
            logits = probes.all_pairs(batch.x, batch.sizes).logits
            losses = loss_matrix(logits, batch.y, batch.sizes).double().numpy()
        return TaskGaps(self.tasks_.tolist(), losses, losses - np.diag(losses))

    def _labelled(self, X: Any, y: ArrayLike | None, sample_task: ArrayLike | None) -> tuple[TaskRows, NDArray[Any]]:
        rows = self._rows(X, sample_task)
        if not all(rows.sizes):
            raise ValueError(f"task {plain(self.tasks_[np.argmin(rows.sizes)])!r} has no rows: give some of every task")
        labels = column_or_1d(labels_of(X, y, classes=True))
        check_consistent_length(np.empty(len(rows.y)), labels)
        return rows, self._encode(labels)[0]
