"""Exact gap minimisation over the weights (Sec. 5, Eq. gapobj1): the bilevel problem that the paper avoids.

    minimise over Gamma   min_h sum_i gamma_i loss_i(h) + lam ||h||^2   +   lam1 gap(Gamma)   +   lam2 ||Gamma||^2

The gap depends on Gamma directly and through its two minimisers; their derivative is one linear solve each, by the
implicit function theorem. The problem is not convex: the result is a stationary point, the best of several starts.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.linear._bilevel import (
    InnerProblem,
    TwoDomainGap,
    WeightGroups,
    WeightsObjective,
    assign_folds,
    minimise_psi,
    optimism,
)
from gapmin.linear._exact import LEAST_PENALTY
from gapmin.linear._matrix import MOST_FEATURES, in_unit, largest, unit
from gapmin.linear._setting import NumericLabels
from gapmin.linear._transfer import TransferClassifierMixin
from gapmin.linear.instance_weighting import WeightedSetting

_FIRST_STEPS = 4


@dataclass(eq=False, repr=False, kw_only=True)
class GapInObjective(WeightedSetting):
    """The settings that choose something, Psi, with the gap of target and sources in the objective."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gap_data": [StrOptions({"crossfit", "train"})],
        "lam1": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, 0.5, closed="neither")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    gap_data: str = "crossfit"
    loss: str = "logistic"
    lam: float = 0.01
    lam1: float = 1.0
    eta: float = 0.25
    fit_intercept: bool = True
    n_folds: int = 5
    max_iter: int
    tol: float = 1e-5
    random_state: Any = None

    objective_history_: Array = field(init=False)
    n_iter_: int = field(init=False)

    def _in_units(self, X: Any, y: Array) -> tuple[Any, Array, float, float, float]:
        """Return features and labels of about 1, as the tolerances want them, their units, and `lam` in these."""
        size = largest(y)
        s, t = unit(largest(X)), unit(size, 10.0 if size < 1 else 1e6)
        return in_unit(X, s), in_unit(y, t), s, t, self.lam if s == 1 else max(self.lam / s / s, LEAST_PENALTY)

    def _gap_of_domains(self, X: Any, y: Array, domain: NDArray[np.int64], lam: float) -> TwoDomainGap:
        fold = None
        if self.gap_data == "crossfit":
            fold = assign_folds(domain, None if self._numeric_labels else y, self.n_folds, self.random_state)
        return TwoDomainGap(X, y, domain < 0, self._loss, self.eta * lam, fold)


@dataclass(eq=False, repr=False)
class GapWeighting(GapInObjective):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "level": [StrOptions({"domain", "group", "instance"})],
        "lam2": [Interval(Real, 0, None, closed="left"), None],
        "target_share": [Interval(Real, 0, 1, closed="neither"), None],
        "gamma_max": [Interval(Real, 0, 1, closed="right"), None],
    }
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_domain": True, "sample_group": True}

    level: str = "domain"
    _: KW_ONLY
    target_share: float | None = 0.8
    lam2: float | None = None
    gamma_max: float | None = None
    max_iter: int = 30

    lam2_: float = field(init=False)
    group_weight_: dict[Any, float] = field(init=False)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_domain: ArrayLike | None = None,
        sample_group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the weights, then h* under them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows of the target and of the sources together.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_domain : array-like of int of shape (n_rows,), optional
            Positive for a source, negative for the target. Without sources there is nothing to weigh.
        sample_group : array-like of shape (n_rows,), optional
            For level="group": rows of one domain with the same label share a weight.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplicities: a row of weight 2 stands for two.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels, domain, multiplicity, used = self._check_transfer(X, y, sample_domain, sample_weight)
        if rows.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"X has {rows.shape[1]} features: the derivative of the gap needs a matrix of that many rows, so "
                f"reduce them to {MOST_FEATURES} or fewer (TruncatedSVD)"
            )
        names, of_row = self._group_names(domain, sample_group, used)
        groups = self._groups(domain, multiplicity, of_row, len(names))
        if (domain > 0).any():
            theta = self._minimise(rows, labels, domain, multiplicity, groups)
        else:
            theta, self.objective_history_, self.lam2_ = groups.count / groups.count.sum(), np.empty(0), 0.0
        self.n_iter_ = max(1, self.objective_history_.size - 1)
        gamma = groups.gamma(theta)
        with np.errstate(over="ignore"):  # a bound that overflows is infinite
            self._fit_weighted(rows, labels, domain, gamma)
        self.group_weight_ = dict(zip(names, theta.tolist(), strict=True)) if self.level == "group" else {}
        self.sample_weight_ = np.zeros(used.size)
        self.sample_weight_[used] = gamma
        return self

    def _group_names(
        self, domain: NDArray[np.int64], sample_group: ArrayLike | None, used: NDArray[np.bool_]
    ) -> tuple[list[Any], NDArray[np.intp]]:
        if self.level == "instance":
            return list(range(domain.size)), np.arange(domain.size)
        if self.level == "domain":
            numbers, of_row = np.unique(domain, return_inverse=True)
            return numbers.tolist(), of_row
        if sample_group is None:
            raise ValueError("level='group' needs sample_group: say which group each row belongs to")
        group = np.asarray(sample_group)
        if group.shape != used.shape:
            raise ValueError(f"sample_group has shape {group.shape} for {used.size} rows: give one group for each row")
        labels, codes = np.unique(group[used], return_inverse=True)
        pairs, of_row = np.unique(np.column_stack([domain, codes]), axis=0, return_inverse=True)
        return [(int(d), labels[c].item()) for d, c in pairs], of_row.ravel()

    def _groups(self, domain: NDArray[np.int64], multiplicity: Array, of_row: NDArray[np.intp], n: int) -> WeightGroups:
        count = np.bincount(of_row, multiplicity, minlength=n).astype(np.float64)
        in_target = np.zeros(n, dtype=bool)
        in_target[of_row] = domain < 0
        cap = np.ones(n) if self.gamma_max is None else np.minimum(self.gamma_max * count, 1.0)
        totals = {"all rows": (np.ones(n, dtype=bool), 1.0)}
        if self.target_share is not None and not in_target.all():
            totals = {
                "the target": (in_target, self.target_share),
                "the sources": (~in_target, 1 - self.target_share),
            }
        for name, (part, total) in totals.items():
            if cap[part].sum() < total:
                least = total / count[part].sum()
                raise ValueError(
                    f"gamma_max is {self.gamma_max}: {name} cannot hold {total:.3g} of the weight under it, "
                    f"give at least {least:.3g}"
                )
        return WeightGroups(of_row, multiplicity / count[of_row], count, cap, list(totals.values()))

    def _minimise(
        self, X: Any, y: Array, domain: NDArray[np.int64], multiplicity: Array, groups: WeightGroups
    ) -> Array:
        X, y, _, t, lam = self._in_units(X, y)
        loss_unit = t * t
        gap = self._gap_of_domains(X, y, domain, lam)
        starts = self._starts(domain, multiplicity, groups)
        fit = InnerProblem(X, y, self._loss, lam)
        lam2 = optimism(fit, groups.gamma(starts[0])) if self.lam2 is None else float(self.lam2) / loss_unit
        self.lam2_ = lam2 * loss_unit
        outer = WeightsObjective(fit, gap, groups, multiplicity, self.lam1, lam2)
        first = min(self.max_iter, _FIRST_STEPS) if len(starts) > 1 else self.max_iter
        tried = [minimise_psi(outer, start, first, self.tol) for start in starts]
        theta, history = min(tried, key=lambda each: each[1][-1])
        if len(history) > first < self.max_iter:  # the most promising start goes on
            theta, more = minimise_psi(outer, theta, self.max_iter - first, self.tol)
            history = history + more[1:]
        self.objective_history_ = np.array(history) * loss_unit
        return theta

    def _starts(self, domain: NDArray[np.int64], multiplicity: Array, groups: WeightGroups) -> list[Array]:
        """Weighted pooling: the sources by their rows, and alike; at three shares of the target where it is free."""
        rows_of = {int(k): float(multiplicity[domain == k].sum()) for k in np.unique(domain)}
        sources = [k for k in rows_of if k > 0]
        n_target = sum(n for k, n in rows_of.items() if k < 0)
        n_source = sum(rows_of[k] for k in sources)
        shares = [0.5, 0.8, n_target / (n_target + n_source)] if self.target_share is None else [self.target_share]
        first_row = np.full(groups.count.size, 0)
        first_row[groups.of_row[::-1]] = np.arange(domain.size)[::-1]
        domain_of = domain[first_row]
        within = {k: groups.count * (domain_of == k) / n for k, n in rows_of.items()}
        starts = []
        for share in shares:
            target = sum(share * rows_of[k] / n_target * within[k] for k in rows_of if k < 0)
            by_rows = sum((1 - share) * rows_of[k] / n_source * within[k] for k in sources)
            by_source = sum((1 - share) / len(sources) * within[k] for k in sources)
            mixtures = [by_rows, by_source] if len(sources) > 1 and share == shares[0] else [by_rows]
            starts += [groups.project(np.asarray(target + mixed)) for mixed in mixtures]
        return starts

    def _chosen_before(self) -> str:
        return "the weights were chosen without looking at this sample; here they were learnt from it"


class GapWeightingClassifier(TransferClassifierMixin, GapWeighting):
    r"""Linear classifier under weights that minimise the performance gap (Sec. 5).

    Minimises over h and weights that sum to one :math:`\sum_i \gamma_i \ell(\langle h, x_i\rangle, y_i) +
    \lambda \|h\|^2 + \lambda_1 \nabla(\Gamma) + \lambda_2 \|\Gamma\|^2`. Not convex: a stationary
    point, the best of several starts.

    Parameters
    ----------
    level : "domain", "group" or "instance", default="domain"
        What has a weight of its own: each source, each group of rows (`sample_group` at fit), or each row. Weights of
        rows measured in sample over-fit: they keep the source rows that agree with an over-fitted target model.
    gap_data : "crossfit" or "train", default="crossfit"
        Whether each row's part in the gap is measured with minimisers trained on other folds, or on all rows.
    target_share : float in (0, 1) or None, default=0.8
        The target's share of the weight; None leaves it free. The objective treats the domains alike, so that a free
        share can settle on the source where that is easier to fit.
    lam : float, default=0.01
        Strength of the penalty on h.
    lam1 : float, default=1.0
        Weight of the gap.
    lam2 : float or None, default=None
        Weight of ||Gamma||^2; None takes the optimism of the training loss at the start, found in `lam2_`.
    eta : float in (0, 0.5), default=0.25
        The share of the penalty that source and target have in the gap.
    gamma_max : float or None, default=None
        No row weighs more than this.
    loss : "logistic", default="logistic"
        The gap has to have a derivative.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    n_folds : int, default=5
        For gap_data="crossfit".
    max_iter : int, default=30
        Steps in all; the first few are taken from every start, the rest from the best.
    tol : float, default=1e-5
        Ends where a step is expected to gain less than this share of the objective.
    random_state : int, RandomState instance or None, default=None
        Deals the rows to folds.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The coefficients.
    intercept_ : ndarray of shape (1,)
        The constant.
    sample_weight_ : ndarray of shape (n_rows,)
        Gamma.
    domain_weight_ : dict of int to float
        Its sum over each domain.
    group_weight_ : dict of (domain, group) to float
        Its sum over each group, for level="group".
    objective_history_ : ndarray
        The objective by step, from the best start; it never rises.
    n_iter_ : int
        How many steps these are.
    lam2_ : float
        The weight of ||Gamma||^2.
    gap_ : PerformanceGap
        In sample, under the final weights, with the parts "source" and "target".
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(240, 3)), np.repeat([-1, 1, 2], [40, 100, 100])
    >>> y = X[:, 0] + 0.3 * rng.normal(size=240) > 0
    >>> y[sample_domain == 2] = ~y[sample_domain == 2]  # a source that has it the other way round
    >>> model = GapWeightingClassifier(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> {domain: round(weight, 2) for domain, weight in model.domain_weight_.items()}
    {-1: 0.8, 1: 0.2, 2: 0.0}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"logistic"})]}


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(GapWeightingClassifier)
class GapWeightingRegressor(NumericLabels, GapWeighting):
    r"""Linear regression under weights that minimise the performance gap (Sec. 5).

    Minimises over h and weights that sum to one :math:`\sum_i \gamma_i \ell(\langle h, x_i\rangle, y_i) +
    \lambda \|h\|^2 + \lambda_1 \nabla(\Gamma) + \lambda_2 \|\Gamma\|^2`. Not convex: a stationary
    point, the best of several starts.

    Parameters
    ----------
    loss : "squared", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(240, 3)), np.repeat([-1, 1, 2], [40, 100, 100])
    >>> y = X[:, 0] + 0.3 * rng.normal(size=240)
    >>> y[sample_domain == 2] = -y[sample_domain == 2]  # a source that has it the other way round
    >>> model = GapWeightingRegressor(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> {domain: round(weight, 2) for domain, weight in model.domain_weight_.items()}
    {-1: 0.8, 1: 0.2, 2: 0.0}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"squared"})]}

    loss: str = "squared"
