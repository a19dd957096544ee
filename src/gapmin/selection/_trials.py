"""Weighted pooling of the target with any set of sources, cross-validated on the same folds of the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from gapmin._utils.parallel import one_thread, run_parallel
from gapmin._utils.progress import counting
from gapmin._utils.statistics import TTest, corrected_t_test
from gapmin.domains import TargetKFold
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._ranking_inputs import RankingData
from gapmin.selection.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor

Array = NDArray[np.float64]
Sources = frozenset[int]
TARGET_ONLY: Sources = frozenset()


@dataclass(frozen=True)
class Fold:
    """Rows of the target that train and that are tested, and the seed of the fits on them."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seed: int


def n_folds(data: RankingData, n_splits: int) -> int:
    """Return `n_splits`, or as many folds as the target's rows and its largest class allow."""
    y = data.y[data.domain < 0]
    most = y.size if data.task == "regression" else int(np.unique(y, return_counts=True)[1].max())
    return min(n_splits, most)


def draw_folds(data: RankingData, n_splits: int, n_repeats: int, seed: int) -> list[Fold]:
    """Cut the target `n_repeats` times into `n_splits` folds; each fold has a seed that all its fits share."""
    rng = np.random.RandomState(seed)
    y = data.y[data.domain < 0]
    folds = []
    for _ in range(n_repeats):
        cut = TargetKFold(n_splits, shuffle=True, random_state=rng.randint(2**31 - 1), stratify="auto")
        if data.task == "regression":
            cut.stratify = False
        folds += [Fold(train, test, rng.randint(2**31 - 1)) for train, test in cut.split(y, y)]
    return folds


def default_classifier() -> Any:
    """Return a logistic regression as exact as a mean over folds needs it, in half the time of the usual one."""
    return WeightedLogisticRegression(tol=1e-5)


def default_learner(data: RankingData) -> Any:
    """Return a linear model on standardised features; sparse ones are scaled and stay sparse."""
    model = default_classifier() if data.task == "classification" else Ridge()
    return make_pipeline(StandardScaler(with_mean=not sp.issparse(data.X)), model)


def losses(data: RankingData, estimator: Any, target_share: float | None, fold: Fold, sources: Sources) -> Array:
    """Return error and smooth loss on the test rows of a fold, trained on the others and on these sources."""
    rows = np.concatenate([fold.train, data.rows(sorted(sources))])
    X_test, y_test = _safe_indexing(data.X, fold.test), data.y[fold.test]
    kind = WeightedPoolingClassifier if data.task == "classification" else WeightedPoolingRegressor
    # The weighted variance of a constant column may round below 0, which scikit-learn's scaler mends after its warning.
    with one_thread(), np.errstate(invalid="ignore"):
        model = kind(clone(estimator), target_share=target_share, random_state=fold.seed)
        model.fit(_safe_indexing(data.X, rows), data.y[rows], sample_domain=data.domain[rows])
        predicted = model.predict(X_test)
        if data.task == "regression":
            squared = float(np.mean((predicted - y_test) ** 2))
            return np.array([np.sqrt(squared), squared / np.var(data.y[data.domain < 0])])
        wrong = 100 * float(np.mean(predicted != y_test))
        return np.array([wrong, _half_brier(model, X_test, y_test, predicted)])


def _half_brier(model: WeightedPoolingClassifier, X: Any, y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return half the squared distance of the probabilities from the truth, summed over classes: from 0 to 1."""
    learner = model.estimator_
    if hasattr(learner, "predict_proba") or hasattr(learner, "decision_function"):
        shares = model.predict_proba(X)
    else:
        shares = (predicted[:, None] == model.classes_).astype(np.float64)
    # The label's own term as p^2 becomes (1 - p)^2; a class that did not train has p = 0.
    own = np.sum(shares * (y[:, None] == model.classes_), axis=1)
    return float(np.mean(np.sum(shares**2, axis=1) - 2 * own + 1)) / 2


@dataclass
class Trials:
    """Losses of sets of sources by fold, each computed once.

    Parameters
    ----------
    data : RankingData
    estimator : estimator
    target_share : float or None
    folds : list of Fold
    n_jobs : int or None
        Processes; the result does not depend on it.
    verbose : int
    """

    data: RankingData
    estimator: Any
    target_share: float | None
    folds: list[Fold]
    n_jobs: int | None
    verbose: int
    _known: dict[Sources, Array] = field(default_factory=dict)

    def run(self, wanted: Iterable[Sources], description: str) -> None:
        """Compute what is not known yet."""
        new = [each for each in dict.fromkeys(wanted) if each not in self._known]
        given = (self.data, self.estimator, self.target_share)
        tasks = [(*given, fold, each) for each in new for fold in self.folds]
        found = []
        with counting(len(tasks), 0, self.verbose, description) as show:
            for result in run_parallel(losses, tasks, self.n_jobs):
                found.append(result)
                show(len(found), description)
        table = np.reshape(found, (len(new), len(self.folds), 2))
        self._known.update(zip(new, table, strict=True))

    def mean(self, sources: Sources) -> tuple[float, float]:
        """Return the mean error and the mean smooth loss over the folds."""
        error, loss = self._known[sources].mean(axis=0)
        return float(error), float(loss)

    def compare(self, sources: Sources, with_: Sources = TARGET_ONLY) -> tuple[TTest, TTest]:
        """Test the change of error and smooth loss from one set of sources to another, fold by fold."""
        n_test = float(np.mean([fold.test.size for fold in self.folds]))
        n_train = float(np.mean([fold.train.size for fold in self.folds]))
        change = self._known[sources] - self._known[with_]
        return corrected_t_test(change[:, 0], n_train, n_test), corrected_t_test(change[:, 1], n_train, n_test)


@dataclass(frozen=True)
class SubsetStep:
    """One step of the forward search for the best set of sources.

    Attributes
    ----------
    added : str
        The source that lowers the mean loss most, beside those added before.
    error, loss : float
        Of the target's cross-validation with it.
    change : float
        Of the mean loss, against the step before; for the first against the target alone.
    standard_error : float
        Of that change, by the corrected resampled t-test.
    kept : bool
        Whether the loss falls by more than the standard error. The first step that does not ends the search.
    """

    added: str
    error: float
    loss: float
    change: float
    standard_error: float
    kept: bool


def forward_search(trials: Trials) -> tuple[SubsetStep, ...]:
    """Add the source that lowers the mean loss most, as long as it gains more than one standard error."""
    names = trials.data.names
    left, chosen = list(range(1, len(names) + 1)), TARGET_ONLY
    path: list[SubsetStep] = []
    while left and (not path or path[-1].kept):
        trials.run([chosen | {source} for source in left], f"sets of {len(chosen) + 1}")
        best = min(left, key=lambda source: trials.mean(chosen | {source})[1])
        bigger = chosen | {best}
        change = trials.compare(bigger, chosen)[1]
        kept = bool(-change.mean > change.standard_error)
        path.append(SubsetStep(names[best - 1], *trials.mean(bigger), change.mean, change.standard_error, kept))
        left.remove(best)
        chosen = bigger
    return tuple(path)
