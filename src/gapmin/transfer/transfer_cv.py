"""Estimators that use sources as far as the evidence goes, and nothing to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import validate_data

from gapmin._utils.docstrings import described_as
from gapmin._utils.parallel import run_parallel
from gapmin._utils.progress import counting
from gapmin._utils.typing import Array
from gapmin.base import TransferMetaEstimator
from gapmin.linear import WeightedLogisticRegression

from ._fitting import Data
from ._likelihood import mix_uniform, residual_spread
from .checks import (
    check_class_weight,
    check_groups,
    check_learner,
    check_not_taken,
    check_odds,
    check_size,
    check_target,
    refuse_gone_parameters,
    refuse_unprepared,
)
from .collect import Collected, Options, collect_evidence, fit_hypothesis, forced, held_out_mixture
from .constants import Sources
from .library import Learner, added_methods, default_learners, own_learners
from .mixture import HypothesisMixture, domain_weights, row_weights
from .result import Evidence
from .scoring import Scoring, decide, make_scoring

__all__ = ["TransferClassifierCV", "TransferRegressorCV"]


@refuse_gone_parameters
@dataclass(eq=False, repr=False)
class _TransferCV(TransferMetaEstimator):
    """What classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransferMetaEstimator._parameter_constraints,
        "param_grid": [dict, list, None],
        "methods": ["array-like"],
        "sources": [StrOptions({"auto", "all", "none"})],
        "prior_odds": [dict, None],
        "aligned": ["boolean"],
        "scoring": [str, callable, list, tuple, None],
        "cv": [HasMethods(["split"]), None],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "max_search_rows": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_domain": True, "groups": None}

    estimator: Any = None
    _: KW_ONLY
    param_grid: Any = None
    methods: Sequence[str] = ()
    sources: str = "auto"
    prior_odds: Mapping[int, float] | None = None
    aligned: bool = False
    scoring: Any = None
    cv: Any = None
    n_splits: int = 5
    n_repeats: int | None = None
    time_limit: float | None = None
    max_search_rows: int | None = 20_000
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    evidence_: Evidence = field(init=False)
    best_estimator_: HypothesisMixture = field(init=False)
    domain_weight_: dict[int, float] = field(init=False)
    sample_weight_: Array = field(init=False)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_domain: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **not_taken: Any,
    ) -> Self:
        """Weigh the hypotheses on the target's rows, and fit those that have weight on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of the target and of the sources together. With an `estimator` of yours, frames reach it as they are.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_domain : array-like of int of shape (n_rows,), optional
            Positive for a source (its number), negative for the target. None makes every row target.
        groups : array-like of shape (n_rows,), optional
            Rows of one group, such as a patient or a day, are never divided between training and testing.
        **not_taken : any
            Refused with a reason, such as `sample_weight`.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_not_taken(not_taken, type(self).__name__)
        return self._finish(self._gather(X, y, sample_domain, groups))

    def _finish(self, collected: Collected) -> Self:
        """Fit the hypotheses that have weight, or those that the user forces, on all rows."""
        data, numbers = collected.data, tuple(each.number for each in collected.evidence.sources)
        weights = self._used(collected.kept, numbers)
        seed = collected.evaluator.seed
        tasks = [(data, collected.evaluated[members], seed) for members in weights]
        models = dict(zip(weights, run_parallel(fit_hypothesis, tasks, self.n_jobs, batch_size=1), strict=True))
        self.evidence_ = collected.evidence if self.sources == "auto" else forced(collected, weights, self.sources)
        self.best_estimator_ = HypothesisMixture(models, weights)
        self.domain_weight_ = domain_weights(data, weights, models)
        self.sample_weight_ = row_weights(data, self.domain_weight_, collected.order)
        self._remember_residuals(collected, weights)
        return self

    def _gather(self, X: Any, y: ArrayLike, sample_domain: ArrayLike | None, groups: ArrayLike | None) -> Collected:
        """Check the rows, and return the evidence."""
        self._validate_params()
        check_learner(self.estimator, self.param_grid, classes=isinstance(self, ClassifierMixin))
        rows, _ = self._validate_training_data(X, y, sample_domain, None)
        n_classes = self.classes_.size if isinstance(self, ClassifierMixin) else 0
        data = Data(rows.X, self._codes(rows.y), rows.domain, n_classes, self.estimator is None)
        names = {number: f"source {number}" for number in np.unique(data.domain[data.domain > 0]).tolist()}
        checked_groups = check_groups(groups, data.y.size)
        check_target(data)
        check_odds(self.prior_odds, names)
        learners = self._learners(data)
        scoring = self._scoring(data)
        scoring.check(data.y[data.target])
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with self._progress() as on_progress:
            return collect_evidence(
                data,
                learners,
                scoring,
                Options(
                    seed=seed,
                    n_splits=self.n_splits,
                    n_repeats=self.n_repeats,
                    cv=self.cv,
                    n_jobs=self.n_jobs,
                    aligned=self.aligned,
                    odds=self.prior_odds,
                    max_source_rows=self.max_search_rows,
                    time_limit=self.time_limit,
                    column_names=getattr(self, "feature_names_in_", None),
                    on_progress=on_progress,
                ),
                names=names,
                groups=checked_groups,
            )

    @contextmanager
    def _progress(self) -> Any:
        with counting(100, 0, self.verbose, "held-out predictions") as show:
            yield lambda share: show(round(100 * share), "held-out predictions")

    def _scoring(self, data: Data) -> Scoring:
        return make_scoring(self.scoring, None, None, None)

    def _used(self, kept: dict[Sources, float], every: Sources) -> dict[Sources, float]:
        """Return the weights of the hypotheses, or the one that the user forces."""
        if self.sources == "auto":
            return kept
        return {(): 1.0} if self.sources == "none" or not every else {tuple(sorted(every)): 1.0}

    def _codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels as the learners see them."""
        return y

    def _remember_residuals(self, collected: Collected, weights: Mapping[Sources, float]) -> None:
        """Nothing to remember of classes."""

    def _learners(self, data: Data) -> list[Learner]:
        if self.estimator is None:
            learners = default_learners(not data.n_classes, data.X, data.n_classes or 1)
        else:
            learners = own_learners(self.estimator, self.param_grid)
        return learners + added_methods(self.methods, not data.n_classes, data.n_classes, self.estimator)

    def predict_by_hypothesis(self, X: Any) -> dict[Sources, Array]:
        """Return what each hypothesis says of rows, by the numbers of its sources: values, or probabilities of classes.

        The mean with the weights of `best_estimator_.weights` is the prediction.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        X = self._checked(X)
        return {k: self._in_order(each) for k, each in self.best_estimator_.predict_by_hypothesis(X).items()}

    def _predicted(self, X: Any) -> Array:
        X = self._checked(X)  # first: without a fit it says so
        return self.best_estimator_.predict(X)

    def _in_order(self, predicted: Array) -> Array:
        return predicted

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if self.estimator is not None:
            return super()._validate_X(X, reset=reset)
        # The default learners take numbers alone, every one of them; in single precision solvers hardly converge.
        refuse_unprepared(X)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        check_size(X)
        return sp.csr_matrix(X) if sp.issparse(X) else X


@refuse_gone_parameters
@dataclass(eq=False, repr=False)
class TransferClassifierCV(ClassifierMixin, _TransferCV):
    """The classifier to use when you do not want to choose: sources count as far as the evidence goes.

    Every set of sources is a hypothesis. Models of each predict target rows that they were not trained on; hypotheses
    are weighed by the likelihood of the labels, and the prediction is the weighted mean (`docs/how-it-decides.md`).

    Parameters
    ----------
    estimator : estimator or None, default=None
        The base learner. None tries linear and kernel models of several strengths, a forest and gradient boosting.
    param_grid : dict or list of dict, default=None
        Settings of `estimator` to try, as in `GridSearchCV`.
    methods : sequence of str, default=()
        Further kinds of learner: "gapBoost", "GapWeighting", "TrAdaBoost", "TransferBoost".
    sources : "auto", "all" or "none", default="auto"
        Whether to use sources as far as the evidence goes, or to force the choice.
    prior_odds : dict of int to float, default=None
        What you believe of sources beforehand: 2 makes a source twice as likely to be used, 0.5 half as likely.
    aligned : bool, default=False
        Whether columns are known to be the same. If not, a source whose columns look permuted is trusted less.
    scoring : str, callable, list of these, or None, default=None
        Scorers of scikit-learn. All are reported in `evidence_`, the first chooses settings within a kind of learner.
        Weights stay with the likelihood. None takes the error rate, or for numbers the root mean squared error.
    class_weight : dict, "balanced" or None, default=None
        What a row of each class counts in `predict`, not in probabilities; "balanced" makes classes count alike.
    cv : splitter or None, default=None
        Divides the target's rows, such as `GroupKFold` or `TimeSeriesSplit`, in place of `n_splits` and `n_repeats`.
    n_splits : int, default=5
        Folds of the target's rows; classes keep their shares, and groups stay together.
    n_repeats : int or None, default=None
        How often the folds are drawn; None takes 3 with up to 30 target rows and 2 with more.
    time_limit : float or None, default=None
        Seconds that the fit may take, more or less. When it is late, kinds of learners that were not tried yet are left
        out, then repeats; `evidence_.findings` says so. The result may then depend on the machine.
    max_search_rows : int or None, default=20000
        Source rows that the evaluation uses, drawn at random from the larger sources; the last fit has all.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    evidence_ : Evidence
        What the rows say about each source, and the weight of each hypothesis.
    best_estimator_ : HypothesisMixture
        The models and their weights.
    domain_weight_ : dict of int to float
        The share of the training weight that each domain has; the target is -1.
    sample_weight_ : ndarray of shape (n_rows,)
        The same by row: all rows of a domain weigh the same.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(330, 6)), np.repeat([-1, 1], [30, 300])
    >>> y = np.where(X.sum(axis=1) > 0, "yes", "no")
    >>> y[sample_domain > 0] = rng.permutation(y[sample_domain > 0])  # a source that knows nothing
    >>> clf = TransferClassifierCV(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> clf.evidence_[1].verdict
    'leave out'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_TransferCV._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    class_weight: Any = field(default=None, kw_only=True)

    def _default_learner(self) -> BaseEstimator:
        return WeightedLogisticRegression()

    def _scoring(self, data: Data) -> Scoring:
        check_class_weight(self.class_weight, self.classes_)
        y, weight = data.y[data.target], np.ones(self.classes_.size)
        if self.class_weight == "balanced":  # a class that the target does not have counts once
            weight[np.unique(y)] = compute_class_weight("balanced", classes=np.unique(y), y=y)
        for label, value in self.class_weight.items() if isinstance(self.class_weight, Mapping) else ():
            weight[self._class_code[self.classes_ == label]] = value
        self._class_weight = None if self.class_weight is None else weight
        return make_scoring(self.scoring, self.classes_, self._class_code, self._class_weight)

    def _in_order(self, predicted: Array) -> Array:
        return mix_uniform(predicted)[:, self._class_code]

    def _codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Number the classes by how many rows they have and which comes first, so that their names change nothing."""
        _, first, counts = np.unique(y, return_index=True, return_counts=True)
        self._class_code = np.argsort(np.lexsort((first, counts)))
        return np.asarray(self._class_code[y])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`, mixed with 5% of a uniform guess.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._in_order(self._predicted(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, or with `class_weight` the one with the largest product.

        In the product are probabilities before the uniform guess is mixed in, which would outweigh a rare class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        code = decide(self._predicted(X), self._class_weight)
        return np.asarray(self.classes_[np.argsort(self._class_code)[code]])


@described_as(TransferClassifierCV)
class TransferRegressorCV(RegressorMixin, _TransferCV):
    """The regressor to use when you do not want to choose: sources count as far as the evidence goes.

    Attributes
    ----------
    residual_scale_, residual_degrees_ : float
        Of the Student t that `predict_interval` takes.

    Examples
    --------
    >>> import numpy as np
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
        """Return the value of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to predict.
        """
        return self._predicted(X)

    def _remember_residuals(self, collected: Collected, weights: Mapping[Sources, float]) -> None:
        residuals = held_out_mixture(collected.evaluated, weights) - collected.evaluator.y
        self.residual_scale_, self.residual_degrees_ = residual_spread(residuals, collected.data.label_variance)

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        """Return the ends of an interval for the label of each row.

        The mixture's held-out residuals give the width, the same for every row: a Student t, as in the evidence.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        level : float, default=0.9
            The probability that the interval holds the value.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            The lower and the upper end for each row.
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level is {level!r}: give a share between 0 and 1, such as 0.9")
        predicted = self.predict(X)[:, None]
        return predicted + stdtrit(self.residual_degrees_, 0.5 + level / 2) * self.residual_scale_ * np.array([-1, 1])
