"""What one would do by hand with target and source: the rivals of the rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from gapmin.boosting import GapBoostClassifier, GapBoostRegressor

POOLED, WEIGHTED, AUGMENTED = "pooled", "weighted pooling", "feature augmentation"
BOOSTED, FOREST, GAPBOOST = "boosting, domain column", "random forest", "gapBoost"
RIVALS = (POOLED, WEIGHTED, AUGMENTED, BOOSTED, FOREST, GAPBOOST)
DESCRIPTIONS = {
    POOLED: "all rows alike; linear models, a forest or gradient boosting, chosen by cross-validation on target rows",
    WEIGHTED: "the same with the target's share of the weight (0.2, 0.5 or 0.8) chosen too",
    AUGMENTED: "Daumé's: a linear model with shared, source and target columns, its strength chosen likewise",
    BOOSTED: "HistGradientBoosting on all rows and a column that says which are the target's",
    FOREST: "a random forest on all rows",
    GAPBOOST: "gapBoost as it comes",
}
SHARES = (0.2, 0.5, 0.8)
N_FOLDS = 3

Columns = Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[Any]]
"""Makes the columns that a learner sees of scaled columns and of which rows are the target's."""


def as_they_are(X: NDArray[Any], is_target: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the columns as they are."""
    return X


def with_domain(X: NDArray[Any], is_target: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the columns and one that is 1 in rows of the target, 0 in others."""
    return np.column_stack([X, is_target])


def augmented(X: NDArray[Any], is_target: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the columns thrice: of all rows, of the source's and of the target's, with 0 elsewhere."""
    X = np.column_stack([X, np.ones(len(X))])
    return np.hstack([X, X * ~is_target[:, None], X * is_target[:, None]])


@dataclass(frozen=True)
class Candidate:
    """A learner, the target's share of the weight (None: all rows alike), and the columns that it sees."""

    learner: Any
    share: float | None = None
    columns: Columns = as_they_are


class CrossValidated(BaseEstimator):
    """The candidate with the lowest squared error (Brier score) on held-out target rows; all source rows train."""

    def __init__(self, candidates: Sequence[Candidate], is_classifier: bool, random_state: int = 0) -> None:
        self.candidates = candidates
        self.is_classifier = is_classifier
        self.random_state = random_state

    def fit(self, X: NDArray[Any], y: NDArray[Any], *, sample_domain: NDArray[Any]) -> Self:
        """Choose a candidate where there are several, and fit it on all rows."""
        self.scaler_ = StandardScaler().fit(X)
        self.classes_, labels = np.unique(y, return_inverse=True) if self.is_classifier else (None, y)
        rows, is_target = self.scaler_.transform(X), sample_domain < 0
        best = self.candidates[0]
        if len(self.candidates) > 1:
            losses = [self._held_out(each, rows, labels, is_target) for each in self.candidates]
            best = self.candidates[int(np.argmin(losses))]
        self.columns_, self.learner_ = best.columns, self._fitted(best, rows, labels, is_target)
        return self

    def _fitted(self, candidate: Candidate, X: NDArray[Any], y: NDArray[Any], is_target: NDArray[np.bool_]) -> Any:
        learner = clone(candidate.learner)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=self.random_state)
        columns = candidate.columns(X, is_target)
        if candidate.share is None:
            return learner.fit(columns, y)
        n_target = is_target.sum()
        each = candidate.share / n_target, (1 - candidate.share) / max(y.size - n_target, 1)
        return learner.fit(columns, y, sample_weight=y.size * np.where(is_target, *each))

    def _held_out(self, candidate: Candidate, X: NDArray[Any], y: NDArray[Any], is_target: NDArray[np.bool_]) -> float:
        own, loss = np.flatnonzero(is_target), 0.0
        for _, left_out in KFold(N_FOLDS, shuffle=True, random_state=self.random_state).split(own):
            test = own[left_out]
            train = np.delete(np.arange(y.size), test)
            learner = self._fitted(candidate, X[train], y[train], is_target[train])
            columns = candidate.columns(X[test], is_target[test])
            if not self.is_classifier:
                loss += float(((learner.predict(columns) - y[test]) ** 2).sum())
                continue
            wrong = np.zeros((test.size, len(self.classes_)))
            wrong[:, learner.classes_] = learner.predict_proba(columns)
            wrong[np.arange(test.size), y[test]] -= 1
            loss += float((wrong**2).sum())
        return loss

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return what the chosen candidate predicts of rows of the target."""
        found = self.learner_.predict(self.columns_(self.scaler_.transform(X), np.ones(len(X), dtype=bool)))
        return self.classes_[found] if self.is_classifier else found


def make_rival(name: str, task: str, seed: int) -> Any:
    """Return a rival by name, unfitted."""
    classes = task == "classification"
    if name == GAPBOOST:
        # A tree that fits its rows exactly would end the boosting of a regression in its first round.
        return (
            GapBoostClassifier(random_state=seed)
            if classes
            else GapBoostRegressor(stop_when_perfect=False, random_state=seed)
        )
    linear = [LogisticRegression(C=C, max_iter=300) if classes else Ridge(0.1 / C) for C in (1.0, 0.1, 0.01, 0.001)]
    boosting: Any = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    forest: Any = RandomForestClassifier if classes else RandomForestRegressor
    trees = {"n_estimators": 50, "max_features": "sqrt" if classes else 0.33}
    learners = [*linear[:3], forest(**trees), forest(min_samples_leaf=5, **trees), boosting(max_iter=50)]
    candidates = {
        POOLED: [Candidate(each) for each in [*learners, boosting(max_iter=50, max_leaf_nodes=7)]],
        WEIGHTED: [Candidate(each, share) for share in SHARES for each in [linear[0], linear[2], *learners[4:]]],
        AUGMENTED: [Candidate(each, columns=augmented) for each in linear],
        BOOSTED: [Candidate(boosting(), columns=with_domain)],
        FOREST: [Candidate(forest())],
    }
    return CrossValidated(candidates[name], classes, seed)
