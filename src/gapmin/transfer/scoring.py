"""Metrics of held-out predictions, with intervals over the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from gapmin._utils.statistics import Z_95
from gapmin._utils.text import one_line
from gapmin._utils.typing import Array

from ._likelihood import mix_uniform
from .result import ERROR_RATE, RMSE, Score

_N_BOOTSTRAPS = 100
"""Bootstrap samples of the rows for the interval of a metric that the user names."""

_OTHER = "name another, such as 'f1_macro' or 'roc_auc_ovr', or give a scorer made with make_scorer"


class _HeldOutValues(RegressorMixin, BaseEstimator):
    """Predictions that scorers may ask for; X are positions."""

    def __init__(self, predicted: Array) -> None:
        self.predicted = predicted
        self.n_features_in_ = 1

    def predict(self, X: Any) -> Array:
        return self.predicted[np.ravel(X)]


class _HeldOutClasses(ClassifierMixin, BaseEstimator):
    """The same of classes, probabilities in the order of `classes_`."""

    def __init__(self, probability: Array, classes: NDArray[Any], decided: NDArray[Any]) -> None:
        self.probability = probability
        self.classes_ = classes
        self.decided = decided
        self.n_features_in_ = 1

    def predict(self, X: Any) -> NDArray[Any]:
        return self.decided[np.ravel(X)]

    def predict_proba(self, X: Any) -> Array:
        return self.probability[np.ravel(X)]


def decide(probability: Array, class_weight: Array | None) -> NDArray[np.intp]:
    """Return the class of each row: the most probable, or the one with the largest product with its weight.

    No uniform guess is mixed in: its share would outweigh that of a rare class.
    """
    return np.argmax(probability if class_weight is None else probability * class_weight, axis=-1)


@dataclass(frozen=True, eq=False)
class Scoring:
    """What is reported, and what settings within a kind are chosen by.

    Attributes
    ----------
    metrics : tuple of str
    scorers : tuple of callable
        Empty where no `scoring` is given: the error rate or the root mean squared error, in closed form.
    classes : ndarray or None
        Of a classification, in their order.
    class_code : ndarray or None
        The code of each class.
    class_weight : ndarray or None
        By which probabilities of codes are multiplied where a class is chosen.
    already_mixed : bool
        Whether probabilities are those of `predict_proba`, mixed with a uniform guess; else scorers are given these.
    """

    metrics: tuple[str, ...]
    scorers: tuple[Callable[..., float], ...] = ()
    classes: NDArray[Any] | None = None
    class_code: NDArray[np.intp] | None = None
    class_weight: Array | None = None
    already_mixed: bool = False

    def decide(self, probability: Array) -> NDArray[np.intp]:
        """Return the code of the class of each row."""
        return decide(probability, self.class_weight)

    def score(self, metric: str, predictions: Mapping[Any, Array], y: NDArray[Any]) -> dict[Any, Score]:
        """Return the score of several predictions, each of shape (n_repeats, n_rows[, n_classes]).

        `None` among the keys stands for the target alone: for every other key, ``(key, "change")`` is its score less
        that one's.
        """
        by_row = self._by_row if not self.scorers else self._by_bootstrap
        return by_row(metric, predictions, y)

    def loss(self, predicted: Array, y: NDArray[Any]) -> float:
        """Return the loss that settings are chosen by where `scoring` is given: less the first metric."""
        return -float(self.scorers[0](self._as_estimator(predicted, y), np.arange(y.size)[:, None], self.labels(y)))

    def check(self, y: NDArray[Any]) -> None:
        """Refuse a metric that is not defined for the labels."""
        guess = np.full((y.size, self.classes.size), 1 / self.classes.size) if self.classes is not None else y + 0.0
        for metric, scorer in zip(self.metrics, self.scorers, strict=False):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = float(scorer(self._as_estimator(guess, y), np.arange(y.size)[:, None], self.labels(y)))
            except Exception as error:
                raise ValueError(
                    f"scoring has {metric!r}, which fails on these labels ({one_line(error)}): {_OTHER}"
                ) from error
            if not np.isfinite(found):
                raise ValueError(f"scoring has {metric!r}, which is {found} on these labels: {_OTHER}")

    def labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the classes with these codes; numbers as they are."""
        if self.classes is None or self.class_code is None:
            return y
        return self.classes[np.argsort(self.class_code)[y]]

    def _as_estimator(self, predicted: Array, y: NDArray[Any]) -> Any:
        if self.classes is None or self.class_code is None:
            return _HeldOutValues(predicted)
        decided = self.labels(self.decide(predicted))
        shown = predicted if self.already_mixed else mix_uniform(predicted)
        return _HeldOutClasses(shown[:, self.class_code], self.classes, decided)

    def _by_row(self, metric: str, predictions: Mapping[Any, Array], y: NDArray[Any]) -> dict[Any, Score]:
        found: dict[Any, Score] = {}
        influence = {}
        for key, predicted in predictions.items():
            if self.classes is not None:
                losses = (self.decide(predicted) != y).mean(axis=0)
                value, influence[key] = float(losses.mean()), losses
            else:
                losses = ((predicted - y) ** 2).mean(axis=0)
                value = float(np.sqrt(losses.mean()))
                influence[key] = losses / (2 * value) if value > 0 else losses
            found[key] = _interval(value, influence[key], lowest=0.0)
        for key in predictions:
            if key is not None and None in found:
                change = found[key].value - found[None].value
                found[key, "change"] = _interval(change, influence[key] - influence[None])
        return found

    def _by_bootstrap(self, metric: str, predictions: Mapping[Any, Array], y: NDArray[Any]) -> dict[Any, Score]:
        scorer, labels = self.scorers[self.metrics.index(metric)], self.labels(y)
        models = {key: [self._as_estimator(each, y) for each in predicted] for key, predicted in predictions.items()}
        random = np.random.default_rng(0)
        draws = [np.arange(y.size), *(random.integers(y.size, size=y.size) for _ in range(_N_BOOTSTRAPS))]
        values = {
            key: np.array([_mean_score(scorer, each, rows, labels) for rows in draws]) for key, each in models.items()
        }
        found = {key: _quantiles(each) for key, each in values.items()}
        if None in values:
            found |= {
                (key, "change"): _quantiles(each - values[None]) for key, each in values.items() if key is not None
            }
        return found


def make_scoring(
    given: Any,
    classes: NDArray[Any] | None,
    class_code: NDArray[np.intp] | None,
    class_weight: Array | None,
) -> Scoring:
    """Return what the user's `scoring` asks for: None, the name of a scorer, a scorer, or a list of these."""
    if given is None:
        return Scoring((ERROR_RATE if classes is not None else RMSE,), (), classes, class_code, class_weight)
    every = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not every:
        raise ValueError("scoring is empty: name at least one metric, such as 'roc_auc', or leave it out")
    names: list[str] = []
    scorers: list[Any] = []
    for each in every:
        scorer = get_scorer(each) if isinstance(each, str) else each
        if not callable(scorer):
            raise ValueError(f"scoring has {each!r}: give names of scikit-learn's scorers, or scorers")
        name = each if isinstance(each, str) else _function_name(each)
        if isinstance(each, str) and name in names:
            raise ValueError(f"scoring names the metric {name!r} twice: name it once")
        names.append(f"{name} {names.count(name) + 1}" if name in names else name)
        scorers.append(scorer)
    return Scoring(tuple(names), tuple(scorers), classes, class_code, class_weight)


def _function_name(scorer: Any) -> str:
    measured = getattr(scorer, "_score_func", scorer)
    while hasattr(measured, "func"):  # of functools.partial
        measured = measured.func
    return str(getattr(measured, "__name__", type(measured).__name__))


def _mean_score(scorer: Any, models: Sequence[Any], rows: NDArray[np.intp], labels: NDArray[Any]) -> float:
    """Return the mean over the repeats; NaN where a metric is not defined on the rows drawn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(np.mean([scorer(each, rows[:, None], labels[rows]) for each in models]))
        except ValueError:
            return float("nan")


def _interval(value: float, influence: Array, lowest: float = -np.inf) -> Score:
    half = Z_95 * float(influence.std(ddof=1)) / np.sqrt(influence.size) if influence.size > 1 else np.inf
    return Score(value, max(value - half, lowest), value + half)


def _quantiles(values: Array) -> Score:
    drawn = values[1:][np.isfinite(values[1:])]
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn.size else (-np.inf, np.inf)
    return Score(float(values[0]), float(low), float(high))
