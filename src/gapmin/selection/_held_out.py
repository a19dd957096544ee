"""What is known of a candidate, and of models of the sources alone: predictions of rows they were not trained on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from gapmin._utils.typing import Array
from gapmin.selection._blend import Blend
from gapmin.selection._candidates import POOLING, TARGET_ONLY, Candidate
from gapmin.selection._data import Data
from gapmin.selection._fitting import predict_any


class Fold(NamedTuple):
    """Rows to train on, target rows to test on, and source rows that are held out to judge by."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    held: NDArray[np.intp]


_Kind = TypeVar("_Kind", Candidate, Blend)


@dataclass(eq=False)
class Trial(Generic[_Kind]):
    """What is known of a candidate.

    Attributes
    ----------
    candidate : Candidate or Blend
    predicted : list of ndarray of shape (n_target,) or (n_target, n_classes)
        For each target row by a model that was not trained on it, in each repeat; let go of with the candidate.
    losses, errors : list of ndarray of shape (n_target,)
        Of these predictions.
    by_fold : list of float
        The mean loss of each fold of each repeat.
    on_sources : ndarray of shape (n_held,) or (n_held, n_classes)
        For each source row that the first repeat held out, fold after fold.
    """

    candidate: _Kind
    predicted: list[Array] = field(default_factory=list)
    losses: list[Array] = field(default_factory=list)
    errors: list[Array] = field(default_factory=list)
    by_fold: list[float] = field(default_factory=list)
    on_sources: Array = field(default_factory=lambda: np.empty(0))

    @property
    def n_repeats(self) -> int:
        """In how many repeats it took part."""
        return len(self.losses)

    @property
    def is_target_only(self) -> bool:
        """Whether it leaves the sources out."""
        return self.candidate.method == TARGET_ONLY

    @property
    def mean_loss(self) -> float:
        """The loss of a target row that was not trained on."""
        return float(np.mean(self.losses))

    def less(self, other: Trial[Any]) -> Array:
        """Return the loss less the other's, for each fold that both took part in."""
        n_folds = min(len(self.by_fold), len(other.by_fold))
        return np.subtract(self.by_fold[:n_folds], other.by_fold[:n_folds])

    def __repr__(self) -> str:
        return f"<Trial {self.candidate}: {self.mean_loss:.4g} in {self.n_repeats} repeats>"


class Outsider(NamedTuple):
    """What models of one learner that were trained on sources alone say of rows that they do not know.

    Attributes
    ----------
    on_target : ndarray of shape (n_target,) or (n_target, n_classes)
        Of every target row, the mean over the models of all folds.
    on_sources : ndarray of shape (n_held,) or (n_held, n_classes)
        Of each row of these sources that was held out, fold after fold.
    """

    on_target: Array
    on_sources: Array


def held_out(candidate: Candidate, data: Data, fold: Fold, seed: int) -> Array:
    """Train on the rows of a fold and predict those tested and held out: values, or a probability for each class."""
    X, y, domain = _safe_indexing(data.X, fold.train), data.y[fold.train], data.domain[fold.train]
    asked = np.concatenate([fold.test, fold.held])
    of_target = y[domain < 0]
    if data.classes is not None and candidate.method != POOLING and (of_target == of_target[0]).all():
        # Nothing can be learnt of a target with one class: it is what there is to say.
        return np.tile((data.classes == of_target[0]).astype(float), (asked.size, 1))
    # The rows were checked once, and the settings are ours.
    with warnings.catch_warnings(), config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore", ConvergenceWarning)  # a setting that does not converge may still lose fairly
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)  # in a small fold
        model = candidate.fit(X, y, domain, seed)
        return predict_any(model, _safe_indexing(data.X, asked), data.classes)
