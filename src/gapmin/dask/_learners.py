"""Calling the learning algorithm on rows in chunks: our own learners, least squares, or one with a fit of Dask's."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, Ridge

from gapmin.boosting.building_blocks import Learners, predict_numbers
from gapmin.dask._chunks import chunked_matrix
from gapmin.dask._draws import draw_bootstrap
from gapmin.dask._fits import Job
from gapmin.dask._foreign import ForeignOnDask, has_dask_fit
from gapmin.dask._least_squares import LeastSquaresOnDask
from gapmin.dask._logistic import LogisticsOnDask
from gapmin.dask._rows import DaskPart, DaskRows
from gapmin.linear import WeightedLogisticRegression


class DaskLearners(Learners):
    """Train copies of one estimator on parts of the rows, and predict parts of the rows with them.

    The learners of a call of `train` share their passes over X, and one pass more predicts all rows with all of them.
    """

    def __init__(
        self,
        template: Any,
        classes: NDArray[Any] | None,
        resample: bool,
        random_state: np.random.RandomState,
        rows: DaskRows,
    ) -> None:
        super().__init__(template, classes, resample, None, random_state)
        self.rows = rows
        self._fits = self._algorithm()
        self._trained: list[Any] = []
        self._known: deque[list[Any]] = deque()
        self._random_at_start = copy.deepcopy(random_state)
        self._predicted: Any = None

    def _algorithm(self) -> LogisticsOnDask | LeastSquaresOnDask | ForeignOnDask:
        if isinstance(self.template, WeightedLogisticRegression):
            assert self.classes is not None
            return LogisticsOnDask(self.template, self.rows, self.classes)
        if isinstance(self.template, Ridge | LinearRegression) and self.classes is None:
            return LeastSquaresOnDask(self.template, self.rows)
        if has_dask_fit(self.template):
            return ForeignOnDask(self.template, self.rows, self.classes)
        ours = "Ridge or LinearRegression" if self.classes is None else "gapmin.linear.WeightedLogisticRegression"
        raise ValueError(
            f"{type(self.template).__name__} cannot be trained on rows in chunks: use {ours}, or an estimator for Dask "
            "such as those of xgboost.dask"
        )

    def train(self, parts: list[Any], log_weight: Any) -> list[Any]:
        """Train a learner on each part, with the weights that `log_weight` gives to its rows."""
        seed = self.random_state.randint(np.iinfo(np.int32).max)
        self._trained = self._known.popleft() if self._known else self._fit(parts, log_weight, seed)
        if len(self._trained) != len(parts):
            raise ValueError(
                f"the checkpoint has {len(self._trained)} learners of a round, and this fit trains {len(parts)}: name "
                "another checkpoint_dir"
            )
        self._predicted = None
        return self._trained

    def of_round(self, learner: Any) -> list[Any]:
        """Return all learners of the last round: with them its weights can be found again."""
        return self._trained

    def get_state(self) -> dict[str, Any]:
        """Return the random numbers at the start, from which a fit that goes on begins again."""
        return {"random": self._random_at_start}

    def set_state(self, state: dict[str, Any], rounds: list[list[Any]], rows: Any) -> None:
        """Begin again, and take the learners of the past rounds instead of training them."""
        self.random_state.set_state(state["random"].get_state())
        self._random_at_start = state["random"]
        self._known = deque(rounds)

    def examples(self, rows: Any) -> list[Any]:
        """Return the template, which says enough of our own learners; refuse one with a fit of its own."""
        if isinstance(self._fits, ForeignOnDask):
            raise ValueError(
                f"{type(self.template).__name__} cannot be kept in a checkpoint (its fitted model is compiled): use "
                "another learner, or checkpoint_dir=None"
            )
        return [self.template]

    def _few_rows(self, rows: Any) -> Any:
        return np.zeros((2, self.rows.X.shape[1]))

    def _fit(self, parts: list[DaskPart], log_weight: Any, seed: int) -> list[Any]:
        log_mass = self.rows.log_mass(log_weight)
        jobs = []
        for k, part in enumerate(parts):
            if self._has_one_class(part):
                continue
            mass, random_state = float(logsumexp(log_mass[part.columns])), np.random.RandomState([seed, k])
            if self.resample:
                drawn = draw_bootstrap(self.rows, part, log_weight, mass, random_state)
                jobs.append(Job(part, drawn, float(np.log(part.size)), random_state))
            else:
                jobs.append(Job(part, log_weight, mass, random_state))
        fitted = iter(self._fits.fit(jobs))
        return [self._constant(part) if self._has_one_class(part) else next(fitted) for part in parts]

    def _has_one_class(self, part: DaskPart) -> bool:
        return self.classes is not None and part.classes.size == 1

    def _constant(self, part: DaskPart) -> DummyClassifier:
        assert self.classes is not None
        return DummyClassifier(strategy="most_frequent").fit(
            np.zeros((1, self.rows.X.shape[1])), self.classes[part.classes]
        )

    def predict(self, learner: Any, part: Any) -> Any:
        """Return class numbers, or for a regression values, of the rows of `part`."""
        if self._predicted is None:
            self._predicted = self._predict_all()
        place = next(k for k, each in enumerate(self._trained) if each is learner)
        return part.take(self._predicted[:, place])

    def _predict_all(self) -> Any:
        """Return a column for each learner of the last round: one pass over X."""
        rows = self.rows
        dtype = np.dtype(np.float64) if self.classes is None else rows.y.dtype
        settings = {"learners": self._trained, "classes": self.classes, "dtype_": dtype}
        return chunked_matrix(_predictions, rows.sizes, len(self._trained), dtype, rows.X, **settings).persist()


def _predictions(X: Any, learners: list[Any], classes: NDArray[Any] | None, dtype_: Any) -> NDArray[Any]:
    if X.shape[0] == 0:
        return np.empty((0, len(learners)), dtype=dtype_)
    return np.column_stack([predict_numbers(learner, X, classes) for learner in learners]).astype(dtype_)
