"""Estimators that use sources as far as the evidence goes, and nothing to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from gapmin._utils.parallel import run_parallel
from gapmin._utils.typing import Array
from gapmin.base import TransferMetaEstimator
from gapmin.linear import WeightedLogisticRegression

from ._fitting import HALF, NATURAL, TARGET, Data, FittedLearner, Setting
from ._likelihood import VARIANCE_SCALE, mix_uniform
from .collect import collect_evidence, fit_hypothesis
from .evidence import Evidence, Sources
from .library import Learner, default_learners, own_learners

__all__ = ["TransferClassifierCV", "TransferRegressorCV"]


_FEWEST_ROWS = 4
_LARGEST_LABEL = 1e100
_LARGEST_FEATURE = 1e30


class HypothesisMixture(BaseEstimator):
    """Models of several hypotheses, and the weight of each.

    Attributes
    ----------
    models_ : dict of tuple to list of FittedLearner
    weights_ : dict of tuple to float
    """

    def __init__(self, models: dict[Sources, list[FittedLearner]], weights: dict[Sources, float]) -> None:
        self.models = models
        self.weights = weights

    def predict_by_hypothesis(self, X: Any) -> dict[Sources, Array]:
        """Return what each hypothesis predicts: values, or probabilities of all classes."""
        return {
            members: np.mean([model.predict(X) for model in models], axis=0) for members, models in self.models.items()
        }

    def predict(self, X: Any) -> Array:
        """Return the weighted mean of values or probabilities."""
        found = self.predict_by_hypothesis(X)
        return np.asarray(sum(self.weights[members] * predicted for members, predicted in found.items()))


@dataclass(eq=False, repr=False)
class _TransferCV(TransferMetaEstimator):
    """What classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransferMetaEstimator._parameter_constraints,
        "param_grid": [dict, list, None],
        "sources": [StrOptions({"auto", "all", "none"})],
        "prior_odds": [dict, None],
        "aligned": ["boolean"],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
        "max_search_rows": [Interval(Integral, 1, None, closed="left"), None],
    }

    estimator: Any = None
    _: KW_ONLY
    param_grid: Any = None
    sources: str = "auto"
    prior_odds: Mapping[int, float] | None = None
    aligned: bool = False
    n_splits: int = 5
    n_repeats: int | None = None
    max_search_rows: int | None = 20_000
    n_jobs: int | None = None
    random_state: Any = None

    evidence_: Evidence = field(init=False)
    best_estimator_: HypothesisMixture = field(init=False)
    domain_weight_: dict[int, float] = field(init=False)

    def fit(self, X: Any, y: ArrayLike, *, sample_domain: ArrayLike | None = None) -> Self:
        """Weigh the hypotheses on the target's rows, and fit those that have weight on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of the target and of the sources together. With an `estimator` of yours, frames reach it as they are.
        y : array-like of shape (n_rows,)
        sample_domain : array-like of int of shape (n_rows,), optional
            Positive for a source (its number), negative for the target. None makes every row target.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_estimator()
        rows, _ = self._validate_training_data(X, y, sample_domain, None)
        n_classes = self.classes_.size if isinstance(self, ClassifierMixin) else 0
        data = Data(rows.X, self._codes(rows.y), rows.domain, n_classes, self.estimator is None)
        n_target = data.target.size
        if n_target < _FEWEST_ROWS:
            raise ValueError(
                f"the target has {n_target} rows (n_samples = {n_target}), too few to test a choice on: give at least "
                f"{_FEWEST_ROWS}, better 10 or more"
            )
        if not n_classes and (largest := float(np.abs(rows.y).max())) > _LARGEST_LABEL:
            raise ValueError(
                f"y has a value of {largest:.3g}, and squared errors of such labels are more than a number can hold: "
                "divide them by a power of ten"
            )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        numbers = np.unique(data.domain[data.domain > 0]).tolist()
        collected = collect_evidence(
            data,
            self._learners(data),
            names={number: f"source {number}" for number in numbers},
            n_splits=min(self.n_splits, n_target // 2),
            n_repeats=self.n_repeats or (3 if n_target <= 30 else 2),
            seed=seed,
            n_jobs=self.n_jobs,
            aligned=self.aligned,
            odds=self.prior_odds,
            max_source_rows=self.max_search_rows,
        )
        weights = self._used(collected.kept, tuple(numbers))
        tasks = [(data, collected.evaluated[members], seed) for members in weights]
        models = dict(zip(weights, run_parallel(fit_hypothesis, tasks, self.n_jobs, batch_size=1), strict=True))
        self.evidence_ = collected.evidence
        self.best_estimator_ = HypothesisMixture(models, weights)
        chosen = {members: list(collected.evaluated[members].chosen.values()) for members in weights}
        self.domain_weight_ = _domain_weights(data, weights, chosen)
        if not n_classes:
            self._remember_residuals(data, collected.evaluated[max(weights, key=lambda each: weights[each])].predicted)
        return self

    def _used(self, kept: dict[Sources, float], every: Sources) -> dict[Sources, float]:
        """Return the weights of the hypotheses, or the one that the user forces."""
        if self.sources == "auto":
            return kept
        return {(): 1.0} if self.sources == "none" or not every else {tuple(sorted(every)): 1.0}

    def _codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels as the learners see them."""
        return y

    def _remember_residuals(self, data: Data, predicted: Array) -> None:
        """Nothing to remember of classes."""

    def _learners(self, data: Data) -> list[Learner]:
        if self.estimator is None:
            return default_learners(not data.n_classes, data.X, data.n_classes or 1)
        return own_learners(self.estimator, self.param_grid)

    def _check_estimator(self) -> None:
        wanted, other = (
            ("classifier", is_regressor) if isinstance(self, ClassifierMixin) else ("regressor", is_classifier)
        )
        if self.estimator is not None and other(self.estimator):
            raise ValueError(f"estimator is {type(self.estimator).__name__}, which is no {wanted}: give a {wanted}")
        if self.param_grid is not None and self.estimator is None:
            raise ValueError("param_grid is given without an estimator: give the estimator whose settings these are")

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if self.estimator is not None:
            return super()._validate_X(X, reset=reset)
        # The default learners take numbers alone, every one of them; in single precision solvers hardly converge.
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        largest = max(float(X.max()), -float(X.min()))
        if largest > _LARGEST_FEATURE:
            raise ValueError(
                f"X has a value of {largest:.3g} in size, more than trees can square: divide its column by a power of "
                "ten"
            )
        return sp.csr_matrix(X) if sp.issparse(X) else X


def _domain_weights(
    data: Data, weights: Mapping[Sources, float], chosen: Mapping[Sources, Sequence[Setting]]
) -> dict[int, float]:
    """Return the share of the training weight that each domain has, over all models of the mixture."""
    sizes = {int(k): int((data.domain == k).sum()) for k in np.unique(data.domain[data.domain > 0])}
    n_target = data.target.size
    found = dict.fromkeys([-1, *sizes], 0.0)
    for members, weight in weights.items():
        n_sources = sum(sizes[k] for k in members)
        for setting in chosen[members]:
            share = {TARGET: 1.0, HALF: 0.5, NATURAL: n_target / (n_target + n_sources)}.get(setting.form, 0.0)
            found[-1] += weight * share / len(chosen[members])
            for k in members:
                found[k] += weight * (1 - share) * sizes[k] / n_sources / len(chosen[members])
    return found


class TransferClassifierCV(ClassifierMixin, _TransferCV):
    """The classifier to use when you do not want to choose: sources count as far as the evidence goes.

    Every set of sources is a hypothesis. Models with and without the sources predict target rows that they were not
    trained on; the hypotheses are weighed by the likelihood of the labels, and the prediction is the weighted mean.
    `docs/how-it-decides.md` states the rule.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner. None tries linear and kernel models of several strengths, a forest and gradient boosting.
    param_grid : dict or list of dict, default=None
        Settings of `estimator` to try, as in `GridSearchCV`.
    sources : "auto", "all" or "none", default="auto"
        Whether to use sources as far as the evidence goes, or to force the choice.
    prior_odds : dict of int to float, default=None
        What you believe of sources beforehand: 2 makes a source twice as likely to be used, 0.5 half as likely.
    aligned : bool, default=False
        Whether columns are known to be the same. If not, a source whose columns look permuted is trusted less.
    n_splits : int, default=5
        Folds of the target's rows.
    n_repeats : int or None, default=None
        How often the folds are drawn; None takes 3 with up to 30 target rows and 2 with more.
    max_search_rows : int or None, default=20000
        Source rows that the evaluation uses, drawn at random from the larger sources; the last fit has all.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    evidence_ : Evidence
        What the rows say about each source, and the weight of each hypothesis.
    best_estimator_ : HypothesisMixture
        The models and their weights.
    domain_weight_ : dict of int to float
        The share of the training weight that each domain has; the target is -1.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.transfer import TransferClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(330, 6)), np.repeat([-1, 1], [30, 300])
    >>> y = np.where(X.sum(axis=1) > 0, "yes", "no")
    >>> y[sample_domain > 0] = rng.permutation(y[sample_domain > 0])  # a source that knows nothing
    >>> clf = TransferClassifierCV(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> clf.evidence_[1].verdict
    'leave out'
    """

    def _default_learner(self) -> BaseEstimator:
        return WeightedLogisticRegression()

    def _codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Number the classes by how many rows they have and which comes first, so that their names change nothing."""
        _, first, counts = np.unique(y, return_index=True, return_counts=True)
        self._class_code = np.argsort(np.lexsort((first, counts)))
        return np.asarray(self._class_code[y])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`, mixed with 5% of a uniform guess."""
        X = self._checked(X)
        return mix_uniform(self.best_estimator_.predict(X))[:, self._class_code]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])


class TransferRegressorCV(RegressorMixin, _TransferCV):
    """The regressor to use when you do not want to choose: sources count as far as the evidence goes.

    Parameters and attributes are those of `TransferClassifierCV`, but for `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.transfer import TransferRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(320, 6)), np.repeat([-1, 1], [20, 300])
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=320) + 5 * (sample_domain > 0)  # a source of another level
    >>> model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> model.evidence_[1].verdict
    'use'
    """

    residual_scale_: float
    residual_degrees_: float

    def _default_learner(self) -> BaseEstimator:
        return Ridge()

    def predict(self, X: Any) -> Array:
        """Return the value of each row."""
        X = self._checked(X)
        return self.best_estimator_.predict(X)

    def _remember_residuals(self, data: Data, predicted: Array) -> None:
        squares = float(((predicted - data.y[data.target]) ** 2).mean(axis=0).sum())
        n = data.target.size
        self.residual_degrees_ = 2.0 + n
        self.residual_scale_ = float(np.sqrt((2 * VARIANCE_SCALE * data.label_variance + squares) / (2 + n)))

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        """Return the ends of an interval for the label of each row.

        The heaviest hypothesis' held-out residuals give the width: a Student t, as in the evidence.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        level : float, default=0.9

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        if not 0 < level < 1:
            raise ValueError(f"level is {level}: give a share between 0 and 1, such as 0.9")
        half = float(stdtrit(self.residual_degrees_, 0.5 + level / 2)) * self.residual_scale_
        value = self.predict(X)
        return np.column_stack([value - half, value + half])
