"""Transfer that does not hurt, and nothing to choose: methods and settings by cross-validation on the target."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from gapmin._utils.typing import Array
from gapmin.base import DomainData, TransferMetaEstimator, fit_with_domains
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._blend import Blend
from gapmin.selection._blended import BlendedClassifier, BlendedRegressor
from gapmin.selection._candidates import METHODS, Kit, Learner, default_learners, own_learners
from gapmin.selection._choice import Choice, TransferVerdict, choose_blend, choose_one, verdict
from gapmin.selection._data import Data
from gapmin.selection._fitting import inner_model, predict_any
from gapmin.selection._plan import go_further, look
from gapmin.selection._search import Search

__all__ = ["TransferClassifierCV", "TransferRegressorCV"]

_FEWEST_ROWS = 4
_LARGEST_LABEL = 1e100
_LARGEST_FEATURE = 1e30


class _TransferCV(TransferMetaEstimator):
    """The part that classifier and regressor share."""

    _thorough = True  # whether the last fit has more trees, stages and rounds than the search

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransferMetaEstimator._parameter_constraints,
        "param_grid": [dict, list, None],
        "methods": ["array-like", None],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
        "n_standard_errors": [Interval(Real, 0, None, closed="left")],
        "blend": ["boolean"],
        "check_columns": ["boolean"],
        "max_search_rows": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    param_grid: Any
    methods: Sequence[str] | None
    n_splits: int
    n_repeats: int | None
    n_standard_errors: float
    blend: bool
    check_columns: bool
    max_search_rows: int | None
    verbose: int

    best_estimator_: Any
    target_only_estimator_: Any
    best_params_: dict[str, Any]
    cv_results_: dict[str, Any]
    transfer_verdict_: TransferVerdict
    sample_weight_: Array
    domain_weight_: dict[int, float]

    def __init__(
        self,
        estimator: Any = None,
        *,
        param_grid: Any = None,
        methods: Sequence[str] | None = None,
        n_splits: int = 5,
        n_repeats: int | None = None,
        n_standard_errors: float = 1.0,
        blend: bool = True,
        check_columns: bool = True,
        max_search_rows: int | None = 20_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.methods = methods
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.n_standard_errors = n_standard_errors
        self.blend = blend
        self.check_columns = check_columns
        self.max_search_rows = max_search_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, *, sample_domain: ArrayLike | None = None) -> Self:
        """Search on the target's rows, and fit what was chosen on all rows.

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
        self._check_methods()
        rows, _ = self._validate_training_data(X, y, sample_domain, None)
        regression = not isinstance(self, ClassifierMixin)
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        search, used, other_columns = self._searched(rows, regression, seed)
        choose = choose_blend if self.blend else choose_one
        choice = choose(search, search.go_on(), self.n_standard_errors)
        self._say("the last fit")
        model = choice.chosen.candidate.final(used.domain, seed, thorough=self._thorough)
        with warnings.catch_warnings():
            if self.estimator is None:  # the settings are not the user's to change
                warnings.simplefilter("ignore", ConvergenceWarning)
            if isinstance(model, BlendedClassifier | BlendedRegressor):
                model.fit(used.X, self._labels(used), sample_domain=used.domain, n_jobs=self.n_jobs)
            else:
                fit_with_domains(model, used.X, self._labels(used), used.domain)
        self.best_estimator_ = model
        self.target_only_estimator_ = choice.alone.candidate.final(used.domain, seed, thorough=self._thorough)
        self._record(search, choice, rows, other_columns)
        return self

    def _searched(self, rows: DomainData, regression: bool, seed: int) -> tuple[Search, DomainData, list[int]]:
        """Return a search with everything tried, the rows that it was about, and the sources with other columns.

        Of several sources those that are not trusted are left out, and the search begins anew: else they would have
        their say on which learner to use with the others.
        """
        methods = METHODS if self.methods is None else self.methods
        other_columns: set[int] = set()
        while True:
            search = self._search(rows, regression, seed)
            kit, learners = Kit(regression, search.data.sources), self._learners(regression, search.data)
            trials = look(search, kit, learners, methods)
            other_columns |= set(search.other_columns)
            kept = search.testimony(self.n_standard_errors).worth_keeping
            if len(kept) == len(kit.sources):
                go_further(search, kit, learners, methods, trials)
                return search, rows, sorted(other_columns)
            self._say(f"anew with {len(kept)} of {len(kit.sources)} sources")
            rows = _of_domains(rows, kept)

    def _labels(self, rows: DomainData) -> NDArray[Any]:
        return self.classes_[rows.y] if isinstance(self, ClassifierMixin) else rows.y

    def _search(self, rows: DomainData, regression: bool, seed: int) -> Search:
        """Return the search on the rows, those of large sources sampled."""
        data = Data(rows.X, self._labels(rows), rows.domain, None if regression else self.classes_)
        n_target = int((rows.domain < 0).sum())
        if n_target < _FEWEST_ROWS:
            raise ValueError(
                f"the target has {n_target} rows (n_samples = {n_target}), too few to test a choice on: give at least "
                f"{_FEWEST_ROWS}, better 10 or more"
            )
        if regression and (largest := float(np.abs(rows.y).max())) > _LARGEST_LABEL:
            raise ValueError(
                f"y has a value of {largest:.3g}, and squared errors of such labels are more than a number can hold: "
                "divide them by a power of ten"
            )
        n_splits = min(self.n_splits, n_target // 2)
        n_repeats = self.n_repeats or (3 if n_target <= 30 else 2)
        return Search(
            self._sampled(data, seed),
            n_splits,
            n_repeats,
            self.n_jobs,
            seed,
            check_columns=self.check_columns,
            on_progress=self._say,
        )

    def _say(self, doing: str) -> None:
        if self.verbose:
            from gapmin._utils.progress import log

            log(f"{type(self).__name__}: {doing}")

    def _sampled(self, data: Data, seed: int) -> Data:
        """Leave out rows of the larger sources at random where there are more than the search is to use."""
        rows = {number: np.flatnonzero(data.domain == number) for number in data.sources}
        if self.max_search_rows is None or sum(each.size for each in rows.values()) <= self.max_search_rows:
            return data
        random, left, kept = np.random.default_rng(seed), self.max_search_rows, [data.target]
        # The smallest first: what they do not need is the others'. Of each at least a row, or nobody would hear of it.
        for place, each in enumerate(sorted(rows.values(), key=len)):
            size = min(each.size, max(left // (len(rows) - place), 1))
            kept.append(random.choice(each, size, replace=False))
            left -= size
        used = np.sort(np.concatenate(kept))
        return Data(_safe_indexing(data.X, used), data.y[used], data.domain[used], data.classes)

    def _learners(self, regression: bool, data: Data) -> list[Learner]:
        if self.estimator is None:
            return default_learners(regression, data.X, 1 if data.classes is None else data.classes.size)
        return own_learners(self.estimator, self.param_grid)

    def _record(self, search: Search, choice: Choice, rows: DomainData, other_columns: Sequence[int]) -> None:
        n_target = int((rows.domain < 0).sum())
        trials = search.trials
        self.cv_results_ = {
            "candidate": [str(trial.candidate) for trial in trials],
            "method": [trial.candidate.method for trial in trials],
            "params": [trial.candidate.params for trial in trials],
            "mean_loss": np.array([trial.mean_loss for trial in trials]),
            "mean_error": np.array([search.data.shown_error(trial.errors) for trial in trials]),
            "n_repeats": np.array([trial.n_repeats for trial in trials]),
        }
        weights = [_weight_of(trial.candidate, choice.chosen.candidate) for trial in trials]
        self.cv_results_["weight"] = np.array(weights)
        self.best_index_ = int(np.argmax(weights))
        self.best_params_ = trials[self.best_index_].candidate.params
        kept = (rows.domain < 0) | np.isin(rows.domain, search.data.sources)
        self.sample_weight_ = np.zeros(len(rows))
        self.sample_weight_[kept] = inner_model(self.best_estimator_).sample_weight_
        numbers = np.unique(rows.domain)
        self.domain_weight_ = {int(k): float(self.sample_weight_[rows.domain == k].sum()) for k in numbers}
        used = {number for number, weight in self.domain_weight_.items() if number > 0 and weight > 0}
        left_out = [number for number in self.domain_weight_ if number > 0 and used and number not in used]
        self.transfer_verdict_ = verdict(
            search, choice, self.n_standard_errors, n_target, len(rows) - n_target, other_columns, left_out
        )

    def _check_methods(self) -> None:
        wanted, other = (
            ("classifier", is_regressor) if isinstance(self, ClassifierMixin) else ("regressor", is_classifier)
        )
        if self.estimator is not None and other(self.estimator):
            raise ValueError(f"estimator is {type(self.estimator).__name__}, which is no {wanted}: give a {wanted}")
        if self.param_grid is not None and self.estimator is None:
            raise ValueError("param_grid is given without an estimator: give the estimator whose settings these are")
        if self.methods is None:
            return
        strange = [each for each in self.methods if each not in METHODS]
        if strange or isinstance(self.methods, str):
            value = self.methods if isinstance(self.methods, str) else strange[0]
            raise ValueError(f"methods has {value!r}: give a list with some of {', '.join(map(repr, METHODS))}")

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if self.estimator is None:
            # The default learners take numbers alone, every one of them; in single precision solvers hardly converge.
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
            largest = max(float(X.max()), -float(X.min()))
            if largest > _LARGEST_FEATURE:
                raise ValueError(
                    f"X has a value of {largest:.3g} in size, more than trees can square: divide its column by a power "
                    "of ten"
                )
            return X
        return super()._validate_X(X, reset=reset)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or the value of each row."""
        X = self._checked(X)
        return np.asarray(self.best_estimator_.predict(X))


def _of_domains(rows: DomainData, sources: Sequence[int]) -> DomainData:
    """Return the target's rows and those of some sources."""
    kept = np.flatnonzero((rows.domain < 0) | np.isin(rows.domain, sources))
    return rows.take(kept)


def _weight_of(candidate: Any, chosen: Any) -> float:
    """Return the weight of a candidate in what was chosen."""
    if isinstance(chosen, Blend):
        return sum(weight for each, weight in zip(chosen.members, chosen.weights, strict=True) if each is candidate)
    return float(candidate is chosen)


def _gives_shares(model: _TransferCV) -> bool:
    return model.estimator is None or hasattr(model.estimator, "predict_proba") or not is_classifier(model.estimator)


class TransferClassifierCV(ClassifierMixin, _TransferCV):
    """The classifier to use when you do not want to choose: transfer where it helps, none where it does not.

    Target only, weighted pooling, source weights that minimise the performance gap, and gapBoost compete in a repeated
    cross-validation on the target's rows. The best of each side are not chosen from but averaged, with weights that
    make the held-out loss low: with few rows to tell them apart, the mean is safer than any one of them. The sources
    are used only if they lower the loss of the same learners by more than one standard error; less will do where models
    of the source alone predict the target well or the columns surely match, and more is asked where they have it the
    other way round or the columns do not look alike (`n_standard_errors`). Of several sources some may be used and
    others not. In doubt a model without sources has a say too, at most three fifths of it: the less, the more speaks
    for the sources. Of the models with sources, what a learner makes of source rows that were held out counts too.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner. None tries linear and kernel models of several strengths, a forest and gradient boosting.
    param_grid : dict or list of dict, default=None
        Settings of `estimator` to try, as in `GridSearchCV`.
    methods : list of str or None, default=None
        Some of "target only", "pooling", "gap weighting", "gapBoost"; None tries all. Target only always takes part.
    n_splits : int, default=5
        Folds of the target's rows.
    n_repeats : int or None, default=None
        How often the folds are dealt anew; None goes by the number of target rows. After each repeat all but the best
        quarter of the candidates, and no fewer than are blended, are left out.
    n_standard_errors : float, default=1
        By how many standard errors over the folds the same learners must do better with the sources than without, for
        the sources to be used, if source and target are strangers (`transfer_verdict_.kinship` is 0). Ten times the
        kinship fewer, or more where it is below 0, for labels turned round. Up to ten more with ten target rows, and
        five with forty or more, for a source whose columns do not look like the target's, by their means and
        correlations (none down to a `transfer_verdict_.column_likeness` of -0.1, all from -0.5 on), and three fewer
        where they surely do and its labels make sense and do not contradict the target's. In all no more than four
        fewer with ten target rows and two with forty or more: a source that is as good as the target's own rows is used
        unless it loses by more than three, or one. Several sources are asked together and, up to eight, each by itself,
        and those that are trusted by themselves together; models may use no others. Methods without pooling leave
        nobody to ask: the model with sources must then itself win by so many. With `blend=False` it is also how far
        behind a simpler one may be.
    blend : bool, default=True
        Average the best eight with sources and the best of each kind of learner, or the best three without. False takes
        one model: with sources the simplest that is within a standard error of the best.
    check_columns : bool, default=True
        Compare the columns of each source with the target's. False where they are known to be the same, as those that
        the command line aligns by name, or were standardised, after which their means tell little.
    max_search_rows : int or None, default=20000
        Source rows that the search uses, drawn at random from the larger sources; the last fit has all. None uses all
        in the search too.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    transfer_verdict_ : TransferVerdict
        What was chosen, and on what evidence.
    best_estimator_ : estimator
        The blend, or the one model, fitted on all rows.
    target_only_estimator_ : estimator
        The best without sources, not fitted: to compare with.
    best_params_ : dict
        Of the member with the most weight.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of lists and arrays
        For each candidate: "candidate", "method", "params", "mean_loss", "mean_error", "n_repeats" and "weight", its
        share of the model chosen.
    sample_weight_ : ndarray of shape (n_rows,)
        The weight of each row in the end.
    domain_weight_ : dict of int to float
        Its sum over each domain.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import TransferClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(330, 6)), np.repeat([-1, 1], [30, 300])
    >>> y = np.where(X.sum(axis=1) > 0, "yes", "no")
    >>> y[sample_domain > 0] = rng.permutation(y[sample_domain > 0])  # a source that knows nothing
    >>> clf = TransferClassifierCV(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> clf.transfer_verdict_.transfers
    False
    """

    def _default_learner(self) -> BaseEstimator:
        return WeightedLogisticRegression()

    @available_if(_gives_shares)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of `classes_`."""
        X = self._checked(X)
        return predict_any(self.best_estimator_, X, self.classes_)


class TransferRegressorCV(RegressorMixin, _TransferCV):
    """The regressor to use when you do not want to choose: transfer where it helps, none where it does not.

    Parameters and attributes are those of `TransferClassifierCV`, but for `classes_`. With no `estimator`, ridge and
    kernel ridge regressions on scaled features, a forest, gradient boosting, and gapBoostR with trees compete.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import TransferRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(320, 6)), np.repeat([-1, 1], [20, 300])
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=320)
    >>> model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> model.transfer_verdict_.transfers
    True
    """

    def _default_learner(self) -> BaseEstimator:
        from sklearn.linear_model import Ridge

        return Ridge()
