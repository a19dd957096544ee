"""Calling the learning algorithm A of the paper: any scikit-learn estimator, with weights or a weighted bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from gapmin._utils.typing import Array
from gapmin.boosting._rows import Part, TrainingRows
from gapmin.linear import WeightedLogisticRegression
from gapmin.linear.solvers import LogisticFits

_MOST_DRAWS = 100
"""Bootstraps drawn in the hope of every class before a row of each missing class is put in."""

_FEW = 30
"""Rows of each class that tell what a fitted learner consists of."""


def weight_arguments(estimator: BaseEstimator, weight: Any, prefix: str = "") -> dict[str, Any] | None:
    """Return the arguments of `fit` that carry sample weights, or None where the estimator takes none.

    A pipeline takes them if its last step does. Every other step that can use them gets them too, so that a row of
    weight 2 is a row given twice for the scaler as for the model.
    """
    if not isinstance(estimator, Pipeline):
        return {f"{prefix}sample_weight": weight} if has_fit_parameter(estimator, "sample_weight") else None
    if estimator.steps[-1][1] in (None, "passthrough"):
        return None
    arguments: dict[str, Any] = {}
    for name, step in estimator.steps:
        if step in (None, "passthrough"):
            continue
        step_arguments = weight_arguments(step, weight, f"{prefix}{name}__")
        if step_arguments is not None:
            arguments.update(step_arguments)
        elif step is estimator.steps[-1][1]:
            return None
    return arguments


def seed_unseeded(estimator: BaseEstimator, random_state: np.random.RandomState) -> None:
    """Give a seed to every part of an estimator that has none; one that the user gave stays."""
    names = [name for name, value in sorted(estimator.get_params().items()) if value is None]
    names = [name for name in names if name == "random_state" or name.endswith("__random_state")]
    if names:
        estimator.set_params(**{name: random_state.randint(np.iinfo(np.int32).max) for name in names})


def bootstrap(
    probability: Array, codes: NDArray[np.intp] | None, random_state: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw N of N rows with the given probabilities, again until every class is there."""
    n = probability.size
    cumulative = np.cumsum(probability)
    cumulative /= cumulative[-1]

    def draw(size: int) -> NDArray[np.intp]:
        return np.minimum(np.searchsorted(cumulative, random_state.uniform(size=size), side="right"), n - 1)

    drawn = draw(n)
    if codes is None:
        return drawn
    classes = np.unique(codes)
    for _ in range(_MOST_DRAWS):
        missing = np.setdiff1d(classes, codes[drawn])
        if missing.size == 0:
            return drawn
        drawn = draw(n)
    for label in np.setdiff1d(classes, codes[drawn]):
        members = np.flatnonzero(codes == label)
        spare = np.argmax(np.bincount(codes[drawn])[codes[drawn]])  # a row of the class that was drawn most often
        drawn[spare] = members[np.argmax(probability[members])]
    return drawn


def _few_of_each(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of a few rows of each class, spread over all of them, in order."""
    places = (np.flatnonzero(codes == each) for each in np.unique(codes))
    return np.sort(np.concatenate([own[:: -(-own.size // _FEW)] for own in places]))


class Learners:
    """Train copies of one estimator on parts of the rows, and predict parts of the rows with them.

    Parameters
    ----------
    template : estimator
    classes : ndarray or None
        The labels behind the class numbers; None for a regression.
    resample : bool
        Hand the learner a weighted bootstrap instead of weights; so it is anyway where it takes no weights.
    n_jobs : int or None
        Threads for the learners of one round.
    random_state : RandomState
    """

    def __init__(
        self,
        template: BaseEstimator,
        classes: NDArray[Any] | None,
        resample: bool,
        n_jobs: int | None,
        random_state: np.random.RandomState,
    ) -> None:
        self.template = template
        self.classes = classes
        self.resample = resample or weight_arguments(template, None) is None
        self.random_state = random_state
        self._threads = Parallel(n_jobs=n_jobs, require="sharedmem") if effective_n_jobs(n_jobs) > 1 else None
        self._warm: dict[str, LogisticFits] = {}

    def train(self, parts: list[Part], log_weight: Array) -> list[Any]:
        """Train a learner on each part, with the weights that `log_weight` gives to its rows."""
        # The first part's learner draws the same numbers however many others there are in the round.
        seed = self.random_state.randint(np.iinfo(np.int32).max)
        tasks = [(part, [seed, place]) for place, part in enumerate(parts)]
        if self._threads is None:
            return [self._train(part, log_weight, seed) for part, seed in tasks]
        return self._threads(delayed(self._train)(part, log_weight, seed) for part, seed in tasks)

    def _train(self, part: Part, log_weight: Array, seed: list[int]) -> Any:
        log_part = part.take(log_weight)
        weight = np.exp(log_part - log_part.max())
        random_state = np.random.RandomState(seed)
        if self.classes is not None and np.ptp(part.y) == 0:
            return DummyClassifier(strategy="most_frequent").fit(part.X, self.classes[part.y])
        if isinstance(self.template, WeightedLogisticRegression):
            return self._train_warm(part, weight, random_state)
        learner = clone(self.template)
        seed_unseeded(learner, random_state)
        y = part.y if self.classes is None else self.classes[part.y]
        if self.resample:
            drawn = bootstrap(weight, None if self.classes is None else part.y, random_state)
            return learner.fit(_safe_indexing(part.X, drawn), y[drawn])
        # Weights that sum to 1 would over-regularise a learner that sums its losses: give them the sum of plain rows.
        weight *= part.count / weight.sum()
        # Routing would want the pipeline's steps to ask for the weights; we know who takes them.
        with config_context(enable_metadata_routing=False):
            return learner.fit(part.X, y, **(weight_arguments(learner, weight) or {}))

    def _train_warm(self, part: Part, weight: Array, random_state: np.random.RandomState) -> Any:
        """Our own learner goes on from its last fit to the same rows; a bootstrap is a weight of counts to it."""
        fits = self._fits_to(part)
        if self.resample:
            weight = np.bincount(bootstrap(weight, part.y, random_state), minlength=part.size).astype(float)
        return fits.fit_into(clone(self.template), weight)

    def _fits_to(self, part: Part) -> LogisticFits:
        """Return the fits to a part, which go on from one another."""
        assert self.classes is not None
        if part.name not in self._warm:
            present, codes = np.unique(part.y, return_inverse=True)
            self._warm[part.name] = LogisticFits(self.template, part.X, codes, self.classes[present])
        return self._warm[part.name]

    def of_round(self, learner: Any) -> list[Any]:
        """Return the learners that a checkpoint keeps of the last round, the one that votes first."""
        return [learner]

    def get_state(self) -> dict[str, Any]:
        """Return what the next round needs to know of the past ones, as a checkpoint keeps it."""
        return {"random": self.random_state, "warm": {name: fits.get_state() for name, fits in self._warm.items()}}

    def set_state(self, state: dict[str, Any], rounds: list[list[Any]], rows: TrainingRows) -> None:
        """Go on from such a state, given the learners of the past rounds."""
        self.random_state.set_state(state["random"].get_state())
        parts = {part.name: part for part in [rows.both, rows.target, *rows.sources, *rows.each_source_with_target]}
        for name, fits in state["warm"].items():
            self._fits_to(parts[name]).set_state(fits)

    def examples(self, rows: TrainingRows) -> list[Any]:
        """Return the template and what it is once fitted, to a few rows: what a checkpoint may hold of learners."""
        if isinstance(self.template, WeightedLogisticRegression):
            return [self.template]
        few = _few_of_each(rows.y if self.classes is not None else np.zeros(len(rows)))
        try:
            fitted = self._train_example(rows, few)
        except Exception:  # too few for this learner, it may be: then all of them, as in a round
            fitted = self._train_example(rows, np.arange(len(rows)))
        return [self.template, fitted]

    def _train_example(self, rows: TrainingRows, index: NDArray[np.intp]) -> Any:
        learner = clone(self.template)
        seed_unseeded(learner, np.random.RandomState(0))
        y = rows.y[index]
        return learner.fit(_safe_indexing(rows.X, index), y if self.classes is None else self.classes[y])

    def check(self, learners: list[Any], rows: TrainingRows) -> None:
        """Raise ValueError where learners from a checkpoint are not such as this trains, or do not predict."""
        X = self._few_rows(rows)
        for learner in learners:
            if type(learner) not in (type(self.template), DummyClassifier):
                raise ValueError(f"a learner is {type(learner).__name__}, not {type(self.template).__name__}")
            predicted = np.asarray(learner.predict(X))
            known = predicted.dtype.kind in "fiu" if self.classes is None else np.isin(predicted, self.classes).all()
            if predicted.shape != (X.shape[0],) or not known:
                raise ValueError(f"a {type(learner).__name__} predicts what is no label of these rows")

    def _few_rows(self, rows: TrainingRows) -> Any:
        return _safe_indexing(rows.X, np.arange(min(2, len(rows))))

    def predict(self, learner: Any, part: Part) -> NDArray[Any]:
        """Return class numbers, or for a regression values, of the rows of `part`."""
        fits = self._warm.get(part.name)
        if self.classes is not None and fits is not None and fits.last_learner is learner:
            return renumber(fits.predict_codes(), fits.classes, self.classes)
        return predict_numbers(learner, part.X, self.classes)


def predict_numbers(learner: Any, X: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return a learner's predictions as numbers of `classes`, or for a regression as they are."""
    if isinstance(learner, WeightedLogisticRegression) and classes is not None:
        margin = np.asarray(X @ learner.coef_.T) + learner.intercept_
        codes = (margin[:, 0] > 0).astype(np.intp) if margin.shape[1] == 1 else margin.argmax(axis=1)
        return renumber(codes, learner.classes_, classes)
    predicted = np.asarray(learner.predict(X))
    return predicted if classes is None else np.searchsorted(classes, predicted)


def renumber(codes: NDArray[np.intp], own: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Turn numbers of a learner's own classes into numbers of all."""
    return codes if own.size == classes.size else np.searchsorted(classes, own)[codes]
