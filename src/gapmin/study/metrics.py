"""What a comparison measures: the metric that is asked for, of every method, and what lies behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as sk

from gapmin._utils.statistics import Z_95
from gapmin._utils.text import format_number
from gapmin._utils.typing import Array
from gapmin.transfer import Score
from gapmin.transfer.result import ERROR_RATE, RMSE
from gapmin.transfer.scoring import Scoring

from ._messages import TableError, did_you_mean
from .methods import BASELINE, COMPARED, MODEL, TARGET_ONLY

PERCENT = (ERROR_RATE, "accuracy", "balanced accuracy")
RANKED = ("ROC AUC", "average precision")
"""Metrics of the order that probabilities give."""
OF_PROBABILITIES = (*RANKED, "log loss", "Brier score")


@dataclass(frozen=True)
class StudyMetric:
    """What is measured.

    Attributes
    ----------
    name : str
        As it is shown.
    higher_is_better : bool
        Whether larger values are better.

    Examples
    --------
    >>> from gapmin.study import StudyMetric
    >>> rate = StudyMetric("error rate")
    >>> rate.shown(0.125), rate.loss(0.125)
    ('12.5%', 0.125)
    """

    name: str
    higher_is_better: bool = False

    def shown(self, value: float) -> str:
        """Return a value as a sentence has it.

        Parameters
        ----------
        value : float
            A value of the metric.

        Examples
        --------
        >>> StudyMetric("error rate").shown(0.1234), StudyMetric("ROC AUC", True).shown(0.9)
        ('12.3%', '0.900')
        """
        return f"{100 * value:.1f}%" if self.name in PERCENT else format_number(value)

    def loss(self, value: float) -> float:
        """Return a number that falls where the metric gets better.

        Parameters
        ----------
        value : float
            A value of the metric.
        """
        return 1 - value if self.higher_is_better else value


CLASS_METRICS: dict[str, StudyMetric] = {
    "error_rate": StudyMetric(ERROR_RATE),
    "accuracy": StudyMetric("accuracy", True),
    "balanced_accuracy": StudyMetric("balanced accuracy", True),
    "roc_auc": StudyMetric("ROC AUC", True),
    "average_precision": StudyMetric("average precision", True),
    "f1": StudyMetric("F1", True),
    "log_loss": StudyMetric("log loss"),
    "brier_score": StudyMetric("Brier score"),
}
VALUE_METRICS: dict[str, StudyMetric] = {
    "rmse": StudyMetric(RMSE),
    "mean_absolute_error": StudyMetric("mean absolute error"),
    "median_absolute_error": StudyMetric("median absolute error"),
    "r2": StudyMetric("R squared", True),
}


def read_metric(name: str | None, task: str) -> StudyMetric:
    """Return the metric of that name, by default the error rate or the root mean squared error.

    Examples
    --------
    >>> read_metric(None, "classification").name, read_metric("neg_mean_absolute_error", "regression").name
    ('error rate', 'mean absolute error')
    """
    known = CLASS_METRICS if task == "classification" else VALUE_METRICS
    if name is None:
        return next(iter(known.values()))
    if not isinstance(name, str):
        raise TableError(f"{name!r} is no name of a metric: use {', '.join(known)}")
    plain = {"neg_root_mean_squared_error": "rmse", "root_mean_squared_error": "rmse"}.get(name, name)
    plain = plain.removeprefix("neg_")
    if plain not in known:
        raise TableError(f"{name!r} is no metric for a {task}: use {', '.join(known)}{did_you_mean(plain, known)}")
    return known[plain]


def score(metric: StudyMetric, predicted: Mapping[Any, Array], y: NDArray[Any], n_classes: int) -> dict[Any, Score]:
    """Return the metric of several predictions with 95% intervals over the rows; the mean where there are repeats.

    `None` among the keys stands for the target alone; ``(key, "change")`` is the score of a key less that one's.
    """
    codes = np.arange(n_classes) if n_classes else None
    measure = None if metric.name in (ERROR_RATE, RMSE) else _measure(metric, y)
    scoring = Scoring((metric.name,), () if measure is None else (measure,), codes, codes, already_mixed=True)
    shape = (-1, y.size, n_classes) if n_classes else (-1, y.size)
    return scoring.score(metric.name, {key: each.reshape(shape) for key, each in predicted.items()}, y)


MetricFunction = Callable[[Any, Any, NDArray[Any]], float]
"""As a scorer of scikit-learn: given a fitted model, X and y."""


def scoring_of(metric: StudyMetric, y: NDArray[Any]) -> MetricFunction | None:
    """Return the `scoring` of `Transfer*CV` that chooses settings by a metric: the higher, the better.

    None for the error rate and the root mean squared error, which are what it takes by default.

    Parameters
    ----------
    metric : StudyMetric
    y : ndarray
        The target's labels: which of two classes is the rarer.
    """
    if metric.name in (ERROR_RATE, RMSE):
        return None
    measure, sign = _measure(metric, y), 1 if metric.higher_is_better else -1

    def scorer(model: Any, X: Any, labels: NDArray[Any]) -> float:
        return sign * measure(model, X, labels)

    scorer.__name__ = metric.name if metric.higher_is_better else f"negative {metric.name}"
    return scorer


def _measure(metric: StudyMetric, y: NDArray[Any]) -> MetricFunction:
    if metric.name in _OF_VALUES:
        return lambda model, X, labels: float(_OF_VALUES[metric.name](labels, model.predict(X)))
    positive = positive_classes(y, np.unique(y).tolist())

    def of_classes(model: Any, X: Any, labels: NDArray[Any]) -> float:
        known = model.classes_.tolist()
        codes = np.array([known.index(each) for each in labels.tolist()], dtype=np.intp)
        return _of_classes(metric.name, model.predict_proba(X), codes, [known.index(each) for each in positive])

    return of_classes


_OF_VALUES: dict[str, Any] = {
    "mean absolute error": sk.mean_absolute_error,
    "median absolute error": sk.median_absolute_error,
    "R squared": sk.r2_score,
}


def _of_classes(name: str, share: Array, y: NDArray[Any], positive: Sequence[int]) -> float:
    """Return a metric of probabilities; of ranks and F1 that of the rarer of two classes, or the mean over classes."""
    decided = share.argmax(axis=1)
    if name == "accuracy":
        return float((decided == y).mean())
    if name == "balanced accuracy":
        return float(np.mean([(decided[y == each] == each).mean() for each in np.unique(y)]))
    if name == "log loss":
        return float(-np.log(share[np.arange(y.size), y]).mean())
    if name == "Brier score":
        return float(((share - (y[:, None] == np.arange(share.shape[1]))) ** 2).sum(axis=1).mean())
    found = []
    for each in positive:
        truth = y == each
        if name == "F1":
            found.append(sk.f1_score(truth, decided == each, zero_division=0))
        elif 0 < truth.sum() < truth.size:
            found.append((sk.roc_auc_score if name == "ROC AUC" else sk.average_precision_score)(truth, share[:, each]))
    if not found:
        raise ValueError(f"{name} is not defined on rows of one class")
    return float(np.mean(found))


def positive_classes(y: NDArray[Any], every: Sequence[Any]) -> list[Any]:
    """Return the classes that ranks are measured of: of two the rarer, else all.

    Examples
    --------
    >>> positive_classes(np.array(["no", "no", "yes"]), ["no", "yes"]), positive_classes(np.arange(3), [0, 1, 2])
    (['yes'], [0, 1, 2])
    """
    if len(every) != 2:
        return list(every)
    counts = [np.sum(y == each) for each in every]
    return [every[0] if counts[0] < counts[1] else every[1]]


@dataclass(frozen=True)
class MethodScore:
    """How a method does on target rows that it did not train on.

    Attributes
    ----------
    method : str
        Its name.
    value, low, high : float
        The metric and its 95% interval.
    change, change_low, change_high : float
        The metric less that of the target alone on the same rows; 0 for the target alone itself.
    """

    method: str
    value: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float


def score_methods(
    metric: StudyMetric, predicted: Mapping[str, Array], y: NDArray[Any], n_classes: int
) -> tuple[MethodScore, ...]:
    """Return the scores of the baseline, the target alone, all sources and the model."""
    asked = {None if method == TARGET_ONLY else method: each for method, each in predicted.items()}
    found = score(metric, asked, y, n_classes)
    scores = []
    for method in (each for each in COMPARED if each in predicted):
        one = found[None if method == TARGET_ONLY else method]
        change = Score(0.0, 0.0, 0.0) if method == TARGET_ONLY else found[method, "change"]
        parts = (one.value, one.low, one.high, change.value, change.low, change.high)
        scores.append(MethodScore(method, *map(float, parts)))
    return tuple(scores)


@dataclass(frozen=True)
class ClassScores:
    """Behind the metric of a classification, of the model on held-out rows.

    Attributes
    ----------
    classes : tuple of str
        The classes.
    confusion : tuple of tuple of int
        A row for each true class, a column for each predicted one.
    recall, precision : tuple of float or None
        By class; None where there is nothing to divide by.
    positive : tuple of str
        The classes that the two areas are the mean of: of two classes the rarer, else all.
    roc_auc, average_precision : float or None
        Of the rarer of two classes, or the mean over the classes.
    average_precision_baseline : float or None
        What a guess has: the share of the positive class.
    calibration : tuple of (float, float, int)
        Of groups of rows by predicted probability: the mean prediction, the share that is true, and the rows.
    """

    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    recall: tuple[float | None, ...]
    precision: tuple[float | None, ...]
    positive: tuple[str, ...]
    roc_auc: float | None
    average_precision: float | None
    average_precision_baseline: float | None
    calibration: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class ValueScores:
    """Behind the metric of a regression, of the model on held-out rows.

    Attributes
    ----------
    points : tuple of (float, float)
        Actual and predicted, of at most 300 rows drawn at random.
    r2, mean_absolute_error, bias : float
        Of the held-out predictions; bias is their mean error.
    half_width : float
        Nine of ten held-out rows are within so much of their prediction.
    """

    points: tuple[tuple[float, float], ...]
    r2: float
    mean_absolute_error: float
    bias: float
    half_width: float


_MOST_POINTS = 300
_MOST_BINS = 8
_ROWS_IN_BIN = 10


def class_scores(share: Array, y: NDArray[Any], classes: Sequence[Any]) -> ClassScores:
    """Return what lies behind the error rate."""
    decided, n_classes = share.argmax(axis=1), len(classes)
    confusion = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(confusion, (y, decided), 1)
    positive = [each for each in positive_classes(y, range(n_classes)) if 0 < (y == each).sum() < y.size]
    areas = [
        (
            sk.roc_auc_score(y == each, share[:, each]),
            sk.average_precision_score(y == each, share[:, each]),
            (y == each).mean(),
        )
        for each in positive
    ]
    auc, precision, guess = (float(each) for each in np.mean(areas, axis=0)) if areas else (None, None, None)
    asked, truth = (
        (share[:, positive[0]], y == positive[0]) if len(positive) == 1 else (share.max(axis=1), decided == y)
    )
    return ClassScores(
        tuple(map(str, classes)),
        tuple(tuple(row) for row in confusion.tolist()),
        tuple(_ratio(confusion[k, k], confusion[k].sum()) for k in range(n_classes)),
        tuple(_ratio(confusion[k, k], confusion[:, k].sum()) for k in range(n_classes)),
        tuple(str(classes[each]) for each in positive),
        auc,
        precision,
        guess,
        _calibration(asked, truth),
    )


def ranks_better_than_a_guess(found: ClassScores) -> bool:
    """Whether the area under the curve lies above 0.5 by more than chance, at the 95% level of a rank sum test.

    Examples
    --------
    >>> y, share = np.arange(60) < 3, np.linspace(1, 0, 60)
    >>> ranks_better_than_a_guess(class_scores(np.column_stack([1 - share, share]), y.astype(int), ["ok", "ill"]))
    True
    """
    if found.roc_auc is None:
        return False
    counts = {name: sum(row) for name, row in zip(found.classes, found.confusion, strict=True)}
    n_rows = sum(counts.values())
    # Of several classes, as if their areas rose and fell together.
    chance = np.mean([np.sqrt((n_rows + 1) / (12 * counts[each] * (n_rows - counts[each]))) for each in found.positive])
    return bool(found.roc_auc > 0.5 + Z_95 * chance)


def _calibration(share: Array, truth: NDArray[np.bool_]) -> tuple[tuple[float, float, int], ...]:
    n_bins = int(np.clip(share.size // _ROWS_IN_BIN, 1, _MOST_BINS))
    parts = np.array_split(np.argsort(share, kind="stable"), n_bins)
    return tuple((float(share[part].mean()), float(truth[part].mean()), int(part.size)) for part in parts)


def _ratio(part: int, whole: int) -> float | None:
    return None if whole == 0 else float(part / whole)


def value_scores(predicted: Array, y: NDArray[Any], seed: int) -> ValueScores:
    """Return what lies behind the root mean squared error."""
    rows = np.sort(np.random.default_rng(seed).permutation(y.size)[:_MOST_POINTS])
    points = tuple((float(a), float(b)) for a, b in zip(y[rows], predicted[rows], strict=True))
    away = predicted - y
    return ValueScores(
        points,
        float(sk.r2_score(y, predicted)),
        float(np.abs(away).mean()),
        float(away.mean()),
        float(np.quantile(np.abs(away), 0.9)),
    )


def mean_details(repeats: Sequence[ClassScores | ValueScores]) -> ClassScores | ValueScores:
    """Return the first of several repeats, with the means of what may be the metric too."""
    first: Any = repeats[0]
    means = ("roc_auc", "average_precision", "r2", "mean_absolute_error")
    known = [name for name in means if getattr(first, name, None) is not None]
    made: ClassScores | ValueScores = replace(
        first, **{name: float(np.mean([getattr(each, name) for each in repeats])) for name in known}
    )
    return made


def score_warnings(found: ClassScores | ValueScores, scores: Sequence[MethodScore], metric: StudyMetric) -> list[str]:
    """Say where a model is of no use although its error looks small."""
    warnings = []
    if isinstance(found, ClassScores):
        predicted = np.sum(found.confusion, axis=0)
        if (predicted > 0).sum() == 1:
            warnings.append(
                f"The model predicts class {found.classes[int(predicted.argmax())]} for every row: it finds no row of "
                "the others. Look at its probabilities, or label more rows of the rare class."
            )
        else:
            lost = [name for name, recall in zip(found.classes, found.recall, strict=True) if recall == 0]
            if lost:
                warnings.append(f"The model finds no row of class {', '.join(lost)}: its recall is 0.")
    by_name = {each.method: each for each in scores}
    model, guess = by_name.get(MODEL), by_name.get(BASELINE)
    if model and guess and metric.loss(model.value) >= metric.loss(guess.value):
        warnings.append(
            f"The model is no better than the baseline: {metric.name} {metric.shown(model.value)} against "
            f"{metric.shown(guess.value)}."
        )
    return warnings
