"""What the settings share: parameters, validation, the constant feature, prediction, and the frame of a bound."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from gapmin._validation import check_sample_weight
from gapmin.domains import check_domains
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear._bounds import Constants, Given, find_constants
from gapmin.linear._losses import LOSSES, Array, Loss
from gapmin.linear._matrix import squared_norms, stack, with_constant
from gapmin.linear._problem import Rows


@dataclass
class Facts:
    """What a bound needs to remember of the training rows."""

    R: float
    Y: float
    slope: float
    """The steepest loss of a training row at the solution."""


def row_norm(X: Any) -> float:
    """Return R: the largest norm of a row."""
    return float(np.sqrt(squared_norms(X).max())) if X.shape[0] else 0.0


def effective_size(weight: Array) -> float:
    """Return how many rows of equal weight average as well as these: their number, or less."""
    return float(weight.sum() ** 2 / (weight @ weight))


class LinearSetting(BaseEstimator, metaclass=ABCMeta):
    """A linear model of one of the paper's settings: its objective, gap, lemma and theorem."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    loss: str
    lam: float
    fit_intercept: bool

    coef_: Array
    intercept_: Array
    gap_: PerformanceGap
    n_features_in_: int

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X as numbers: Phi(X) in the settings that have a Phi."""
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)

    def _check_rows(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Array, NDArray[np.float64]]:
        """Validate; return features with the constant one, labels as numbers, weights."""
        self._validate_params()
        X, y = self._read_both(X, y)
        weight = check_sample_weight(sample_weight, X.shape[0])
        labels = self._code(np.asarray(y), weight)
        return (with_constant(X) if self.fit_intercept else X), labels, weight

    def _read_both(self, X: Any, y: Any) -> tuple[Any, Any]:
        return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=self._numeric_labels)

    _numeric_labels: ClassVar[bool]

    @abstractmethod
    def _code(self, y: NDArray[Any], weight: Array) -> Array:
        """Return the labels as numbers: -1 and 1 for classes."""

    def _remember(self, H: Array, tasks: list[Rows]) -> None:
        """Set the coefficients, a row of H for each of the tasks, and what a bound needs of the rows."""
        self._facts = Facts(
            max(row_norm(rows.X) for rows in tasks),
            max(float(np.abs(rows.y).max()) for rows in tasks),
            max(
                float(np.abs(self._loss.gradient(rows.score(h), rows.y)).max())
                for rows, h in zip(tasks, H, strict=True)
            ),
        )
        d = H.shape[1] - self.fit_intercept
        self.coef_ = H[:, :d].copy()
        self.intercept_ = H[:, d].copy() if self.fit_intercept else np.zeros(len(H))

    def _norm(self, row: int = 0) -> float:
        return float(np.sqrt(self.coef_[row] @ self.coef_[row] + self.intercept_[row] ** 2))

    def _with_corollary(self, gap: PerformanceGap) -> PerformanceGap:
        """Corollary 1: the largest loss of a row of norm R under a hypothesis no longer than the lemma says."""
        R, Y = self._facts.R, self._facts.Y
        bounds = [self._loss.at_most(R * norm, Y) for norm in np.atleast_1d(gap.norm_bound)]
        return replace(gap, loss_bound=np.array(bounds) if np.ndim(gap.norm_bound) else bounds[0], R=R, Y=Y)

    def _constants(self, given: Given, *, default_radius: Any, norm: float, norm_bound: float, lam: float) -> Constants:
        return find_constants(
            self._loss,
            given,
            measured_R=self._facts.R,
            measured_Y=self._facts.Y,
            measured_rho=self._facts.slope,
            norm=norm,
            gap_norm_bound=norm_bound,
            lam=lam,
            default_radius=default_radius,
            regression=self._numeric_labels,
        )

    def _ball(self, lam: float) -> Any:
        """Return the norm that every minimiser of loss + lam ||h||^2 obeys, as a function of R and Y."""
        return lambda R, Y: np.sqrt(self._loss.at_most(0.0, Y) / lam)

    def _scores(self, X: Any) -> Array:
        """Return the score of each row under each row of `coef_`."""
        check_is_fitted(self)
        return np.asarray(self._read(X, reset=False) @ self.coef_.T) + self.intercept_

    def __getstate__(self) -> dict[str, Any]:
        # The training rows serve discrepancies while the estimator lives; a saved model does not carry them.
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TwoClasses(ClassifierMixin):
    """Labels of two classes, coded -1 and 1; the sign of the score decides."""

    _numeric_labels: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"logistic", "hinge"})]}

    classes_: NDArray[Any]

    def _code(self, y: NDArray[Any], weight: Array) -> Array:
        check_classification_targets(y)
        self.classes_ = np.unique(y[weight > 0])
        if self.classes_.size > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
                f"{self.classes_.size} classes, so fit one model a class (sklearn.multiclass.OneVsRestClassifier)"
            )
        if self.classes_.size < 2:
            raise ValueError(f"y has one class ({self.classes_[0]}): a classifier needs rows of at least 2 classes")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _decide(self, score: Array) -> NDArray[Any]:
        return self.classes_[(score > 0).astype(np.intp)]

    def _probability(self, score: Array) -> Array:
        other = 1 / (1 + np.exp(np.clip(score, -700, 700)))
        return np.column_stack([other, 1 - other])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class Numbers(RegressorMixin):
    """Labels that are numbers; the score is the prediction."""

    _numeric_labels: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"squared", "absolute"})]}

    def _code(self, y: NDArray[Any], weight: Array) -> Array:
        return np.asarray(y, dtype=np.float64)

    def _decide(self, score: Array) -> Array:
        return score


def _is_logistic(self: Any) -> bool:
    if self.loss != "logistic":
        raise AttributeError(f"loss={self.loss!r} has no probabilities: use loss='logistic'")
    return True


class TransferSetting(LinearSetting):
    """A setting with one target: `sample_domain` at fit, one row of coefficients."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_domain": True}

    def _score(self, X: Any) -> Array:
        return self._scores(X)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return self._decide(self._score(X))

    def _check_transfer(
        self, X: Any, y: ArrayLike, sample_domain: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, Array, NDArray[np.int64], Array]:
        """Validate; return the rows of positive weight."""
        features, labels, weight = self._check_rows(X, y, sample_weight)
        domain = check_domains(sample_domain, labels.size)
        if not (weight[domain < 0] > 0).any():
            raise ValueError("every target row has sample_weight 0: give the rows of the target a positive weight")
        kept = np.flatnonzero(weight > 0)
        if kept.size < weight.size:
            features, labels, domain, weight = features[kept], labels[kept], domain[kept], weight[kept]
        return features, labels, domain, weight


class MultitaskSetting(LinearSetting):
    """A setting with K tasks of equal standing: `sample_task` at fit, predict and score; a row of coefficients each."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sample_task": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sample_task": True}

    tasks_: NDArray[Any]

    @abstractmethod
    def _solve(self, tasks: list[Rows], X: Any, y: Array) -> Array:
        """Fit all tasks; set the gap; return H, a row for each task."""

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_task: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
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
                    f"every row of task {_plain(each)!r} has sample_weight 0: leave the task out, or weigh its rows"
                )
            if isinstance(self, ClassifierMixin) and np.unique(labels[rows]).size < 2:
                only = self.classes_[int(labels[rows[0]] > 0)]
                raise ValueError(
                    f"task {_plain(each)!r} has one class ({only}) among its {rows.size} rows: add rows of the other "
                    "class to the task, or leave it out"
                )
            tasks.append(Rows(features[rows], labels[rows], weight[rows] / weight[rows].sum()))
        self._sizes = np.array([effective_size(rows.weight) for rows in tasks])
        self._heaviest = np.array([float(rows.weight.max()) for rows in tasks])
        self._n_rows = float(sum(rows.y.size for rows in tasks))
        X_all = stack([rows.X for rows in tasks])
        y_all = np.concatenate([t.y for t in tasks])
        self._training = dict(zip(self.tasks_.tolist(), tasks, strict=True))
        H = self._solve(tasks, X_all, y_all)
        self._remember(H, tasks)
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
        said = list(dict.fromkeys(each for bound in bounds for each in bound.assumptions))
        return RiskBound(
            terms={name: float(np.mean([b.terms[name] for b in bounds])) for name in bounds[0].terms},
            delta=delta,
            assumptions=("the mean over the tasks, each bound holding with probability 1 - delta / K", *said),
            constants={name: float(np.mean([b.constants[name] for b in bounds])) for name in bounds[0].constants},
        )

    def _task_of(self, sample_task: ArrayLike | None, n_rows: int) -> NDArray[np.intp]:
        """Return the number of each row's task, or say which task is unknown."""
        if sample_task is None:
            if self.tasks_.size > 1:
                raise ValueError(
                    f"sample_task is missing: this model has {self.tasks_.size} tasks ({self.tasks_.tolist()}), "
                    "so say which one each row belongs to"
                )
            return np.zeros(n_rows, dtype=np.intp)
        task = check_tasks(sample_task, n_rows)
        at = np.full(n_rows, -1)
        for k, each in enumerate(self.tasks_):
            at[task == each] = k
        if (at < 0).any():
            row = int(np.argmin(at))
            raise ValueError(
                f"sample_task has the unknown task {_plain(task[row])!r} at row {row}: "
                f"this model was fitted on {self.tasks_.tolist()}"
            )
        return at

    def _score(self, X: Any, sample_task: ArrayLike | None) -> Array:
        scores = self._scores(X)
        return scores[np.arange(len(scores)), self._task_of(sample_task, len(scores))]

    def predict(self, X: Any, *, sample_task: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predicted label of each row, by its own task's hypothesis.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        sample_task : array-like of shape (n_rows,)
            May be left out where there is one task.
        """
        return self._decide(self._score(X, sample_task))


class ByTask:
    """The score of a multitask model; before scikit-learn's own, which knows no tasks."""

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sample_task: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy, or for numbers R^2, over all rows given."""
        predicted = self.predict(X, sample_task=sample_task)  # type: ignore[attr-defined]
        measure = accuracy_score if isinstance(self, ClassifierMixin) else r2_score
        return float(measure(y, predicted, sample_weight=sample_weight))


class TransferClassifierMixin(TwoClasses):
    """Scores and probabilities for the transfer settings."""

    def decision_function(self, X: Any) -> Array:
        """Return the score <h, x> of each row; above 0 is the second class."""
        return self._score(X)

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the two classes, in the order of `classes_`."""
        return self._probability(self.decision_function(X))


class MultitaskClassifierMixin(ByTask, TwoClasses):
    """Scores and probabilities for the multitask settings."""

    def decision_function(self, X: Any, *, sample_task: ArrayLike | None = None) -> Array:
        """Return the score of each row under its own task's hypothesis; above 0 is the second class."""
        return self._score(X, sample_task)

    @available_if(_is_logistic)
    def predict_proba(self, X: Any, *, sample_task: ArrayLike | None = None) -> Array:
        """Return the probabilities of the two classes, in the order of `classes_`."""
        return self._probability(self.decision_function(X, sample_task=sample_task))


class MultitaskRegressorMixin(ByTask, Numbers):
    """Numbers for the multitask settings."""


def _plain(task: Any) -> Any:
    """Return a label without numpy's name around it."""
    return task.item() if hasattr(task, "item") else task


def check_tasks(sample_task: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """Return one task label a row; one task for None.

    Examples
    --------
    >>> check_tasks(["a", "b"], 3)
    Traceback (most recent call last):
        ...
    ValueError: sample_task has 2 entries for 3 rows: give one task for each row
    """
    if sample_task is None:
        return np.zeros(n_rows, dtype=np.intp)
    task = np.asarray(sample_task)
    if task.ndim != 1:
        raise ValueError(f"sample_task has {task.ndim} dimensions: give one task for each row")
    if _num_samples(task) != n_rows:
        raise ValueError(f"sample_task has {task.size} entries for {n_rows} rows: give one task for each row")
    missing = np.array([each is None or each != each for each in task.tolist()], dtype=bool)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"sample_task has {task[row]} at row {row}: name the task of every row")
    if task.dtype.kind == "O" and len({isinstance(each, str) for each in task.tolist()}) > 1:
        raise ValueError("sample_task has both text and other values: name the tasks in one way")
    return task
