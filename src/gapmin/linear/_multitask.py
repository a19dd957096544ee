"""What the multitask settings share: `sample_task` at fit, predict and score, a row of coefficients each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from gapmin._utils.typing import Array
from gapmin.base import check_tasks, known_tasks, plain
from gapmin.gap import RiskBound
from gapmin.linear._matrix import stack
from gapmin.linear._problem import WeightedRows
from gapmin.linear._setting import BinaryLabels, LinearSetting, NumericLabels, effective_size, is_logistic


class MultitaskSetting(LinearSetting):
    """A setting with K tasks of equal standing: `sample_task` at fit, predict and score; a row of coefficients each."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sample_task": True}

    tasks_: NDArray[Any]

    @abstractmethod
    def _solve(self, tasks: list[WeightedRows], X: Any, y: Array) -> Array:
        """Fit all tasks; set the gap; return H, a row for each task."""

    def fit(
        self, X: Any, y: ArrayLike, *, sample_task: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit a hypothesis for each task.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows of all tasks together.
        y : array-like of shape (n_rows,)
            Two classes, the same in every task; or numbers.
        sample_task : array-like of shape (n_rows,), optional
            Which task a row belongs to: any labels. None makes all rows one task.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplicities: a row of weight 2 is a row given twice. Every task's loss is an average, so tasks of many
            rows have no more say than tasks of few.

        Returns
        -------
        self
            The fitted estimator.
        """
        features, labels, weight = self._check_rows(X, y, sample_weight)
        task = check_tasks(sample_task, labels.size)
        used = weight > 0
        self.tasks_ = np.unique(task)
        tasks = []
        for each in self.tasks_:
            rows = np.flatnonzero((task == each) & used)
            if not rows.size:
                raise ValueError(
                    f"every row of task {plain(each)!r} has sample_weight 0: leave the task out, or weigh its rows"
                )
            if isinstance(self, ClassifierMixin) and np.unique(labels[rows]).size < 2:
                only = self.classes_[int(labels[rows[0]] > 0)]
                raise ValueError(
                    f"task {plain(each)!r} has one class ({only}) among its {rows.size} rows: add rows of the other "
                    "class to the task, or leave it out"
                )
            tasks.append(WeightedRows(features[rows], labels[rows], weight[rows] / weight[rows].sum()))
        self._sizes = np.array([effective_size(rows.weight) for rows in tasks])
        self._heaviest = np.array([float(rows.weight.max()) for rows in tasks])
        self._n_rows = float(sum(rows.y.size for rows in tasks))
        X_all = stack([rows.X for rows in tasks])
        y_all = np.concatenate([t.y for t in tasks])
        self._training = dict(zip(self.tasks_.tolist(), tasks, strict=True))
        with np.errstate(over="ignore"):  # a bound that overflows is infinite
            H = self._solve(tasks, X_all, y_all)
            self._store_solution(H, tasks)
            self.gap_ = self._with_corollary(self.gap_)
        self._empirical = np.array([rows.loss(self._loss, h) for rows, h in zip(tasks, H, strict=True)])
        return self

    def _index_of(self, task: Any) -> int:
        found = np.flatnonzero(self.tasks_ == task)
        if not found.size:
            raise ValueError(f"task {task!r} is unknown: this model was fitted on {self.tasks_.tolist()}")
        return int(found[0])

    def _over_tasks(self, bound_of: Callable[[int, float], RiskBound], task: Any, delta: float) -> RiskBound:
        """Return the bound of one task; for None that of the mean risk, each task's bound at delta / K."""
        if task is not None or len(self.tasks_) == 1:
            return bound_of(self._index_of(self.tasks_[0] if task is None else task), delta)
        K = len(self.tasks_)
        bounds = [bound_of(j, delta / K) for j in range(K)]
        assumed = list(dict.fromkeys(each for bound in bounds for each in bound.assumptions))
        return RiskBound(
            terms={name: float(np.mean([b.terms[name] for b in bounds])) for name in bounds[0].terms},
            delta=delta,
            assumptions=("the mean over the tasks, each bound holding with probability 1 - delta / K", *assumed),
            constants={name: float(np.mean([b.constants[name] for b in bounds])) for name in bounds[0].constants},
        )

    def _score(self, X: Any, sample_task: ArrayLike | None) -> Array:
        scores = self._scores(X)
        return scores[np.arange(len(scores)), known_tasks(sample_task, len(scores), self.tasks_)]

    def predict(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predicted label of each row, by its own task's hypothesis.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        sample_task : array-like of shape (n_rows,)
            May be left out where there is one task.
        """
        return self._decide(self._score(X, sample_task))


class TaskScoreMixin:
    """The score of a multitask model; before scikit-learn's own, which knows no tasks."""

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, sample_task: ArrayLike | None = None
    ) -> float:
        """Return the accuracy, or for numbers R^2, over all rows given.

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
        predicted = self.predict(X, sample_task=sample_task)  # type: ignore[attr-defined]
        measure = accuracy_score if isinstance(self, ClassifierMixin) else r2_score
        return float(measure(y, predicted, sample_weight=sample_weight))


class MultitaskClassifierMixin(TaskScoreMixin, BinaryLabels):
    """Scores and probabilities for the multitask settings."""

    def decision_function(self, X: Any, *, sample_task: ArrayLike | None = None) -> Array:
        """Return the score of each row under its own task's hypothesis; above 0 is the second class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        sample_task : array-like of shape (n_rows,)
            The task of each row.
        """
        return self._score(X, sample_task)

    @available_if(is_logistic)
    def predict_proba(self, X: Any, *, sample_task: ArrayLike | None = None) -> Array:
        """Return the probabilities of the two classes, in the order of `classes_`."""
        return self._probability(self.decision_function(X, sample_task=sample_task))


class MultitaskRegressorMixin(TaskScoreMixin, NumericLabels):
    """Numbers for the multitask settings."""
