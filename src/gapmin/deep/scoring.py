"""Scores of models of many tasks by scikit-learn's scorers, which know nothing of tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

_RESPONSES = ("predict", "predict_proba", "decision_function")


def task_scorer(scoring: str | Callable[..., float]) -> TaskScorer:
    """Return a scorer for models that need `sample_task` to predict, for `cross_val_score`, `GridSearchCV` and so on.

    It asks for `sample_task` by scikit-learn's metadata routing, which must be on. The score is over the rows of all
    tasks together.

    Parameters
    ----------
    scoring : str or callable
        The name of a scorer of scikit-learn, such as "roc_auc", or a scorer made with `make_scorer`.

    Returns
    -------
    TaskScorer
        What `scoring=` takes.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.model_selection import cross_val_score
    >>> from gapmin.deep import MultitaskClassifier, task_scorer
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(120, 5)), np.tile(["a", "b"], 60)
    >>> y = X[:, 0] > 0
    >>> clf = MultitaskClassifier(epochs=20, lr=0.01, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     auc = cross_val_score(clf, X, y, cv=2, scoring=task_scorer("roc_auc"), params={"sample_task": task})
    >>> bool(auc.min() > 0.9)
    True
    """
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if not callable(scorer):
        raise TypeError(f"scoring is {scoring!r}: give the name of a scorer of scikit-learn, or a scorer")
    return TaskScorer(scorer)


class TaskScorer:
    """A scorer that hands `sample_task` on to the model's predictions.

    Parameters
    ----------
    scorer : callable
        Takes a model, rows and labels.
    """

    def __init__(self, scorer: Callable[..., float]) -> None:
        self.scorer = scorer

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, *, sample_task: ArrayLike | None = None, **params: Any
    ) -> float:
        """Return the score of a fitted model.

        Parameters
        ----------
        estimator : a fitted model
            Its `predict` and the like take `sample_task`.
        X : array-like
            Rows to predict.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_task : array-like of shape (n_rows,)
            The task of each row.
        **params : any
            What the scorer takes besides.
        """
        return float(self.scorer(_WithTasks(estimator, sample_task), X, y, **params))

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what is asked for: `sample_task`, and what the scorer asks for."""
        request: MetadataRequest = get_routing_for_object(self.scorer)
        request.score.add_request(param="sample_task", alias=True)
        return request

    def __repr__(self) -> str:
        return f"task_scorer({self.scorer!r})"


class _WithTasks:
    """A model whose predictions need no `sample_task`, for it has that of the rows."""

    def __init__(self, estimator: Any, sample_task: ArrayLike | None) -> None:
        self.estimator, self.sample_task = estimator, sample_task

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.estimator, name)
        if name not in _RESPONSES:
            return found

        @wraps(found)
        def respond(X: Any) -> Any:
            return found(X, sample_task=self.sample_task)

        return respond
