"""Instance weighting (Sec. 4.1.1): Definition 5 (`it`), Lemma 8 (`lemmait`), Theorem 6 (`maintheorem1`).

Corollary 9 (`corollaryit`) is in `_setting.py`, for every setting.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear._bilevel import InnerProblem
from gapmin.linear._bound_weights import check_bound_loss, simplex_groups, weigh_by_bound
from gapmin.linear._bounds import Constants, Form, GivenConstants, check_delta, distance, weighted_terms
from gapmin.linear._exact import solve, solve_unpenalised
from gapmin.linear._losses import Loss
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._setting import NumericLabels
from gapmin.linear._transfer import TransferClassifierMixin, TransferSetting


class DomainObjective:
    """One domain's V(h) = weighted loss + eta lam ||h||^2, and its minimiser."""

    def __init__(self, rows: WeightedRows, loss: Loss, ridge: float) -> None:
        self.rows, self.loss, self.ridge = rows, loss, ridge
        self.attained = True
        if ridge > 0:
            self.h = solve(Problem([rows], loss, ridge)).h
        else:
            plain = solve_unpenalised(rows, loss)
            self.h, self.attained = plain.h, plain.attained
            if not plain.attained:
                warnings.warn(
                    "with eta=0 the logistic loss of separable rows has no minimiser; a very long h stands for it and "
                    "the gap is not to be trusted: use eta > 0",
                    ConvergenceWarning,
                    stacklevel=5,
                )

    def V(self, h: Array) -> float:
        """Return the objective of this domain."""
        return self.rows.loss(self.loss, h) + self.ridge * float(h @ h)


def two_domain_gap(source: DomainObjective, target: DomainObjective, lam: float, eta: float) -> PerformanceGap:
    """Return the gap of Definition 5 (`it`) with Lemma 8, without the loss bound.

    The lemma averages two inequalities of its proof, ``||h*||^2 <= ||h_S||^2 + gap_T / (lam (1 - 2 eta))`` and the same
    with S and T exchanged; the smaller of the two is the sharp form. (The proof prints their penalties as
    (1 - eta) ||h_S||^2 - eta ||h_T||^2, which is wrong for each of the two and right for their sum.)
    """
    # Round-off below 0 is 0: h_S and h_T are minimisers.
    gap_source = max(source.V(target.h) - source.V(source.h), 0.0)
    gap_target = max(target.V(source.h) - target.V(target.h), 0.0)
    squares_source, squares_target = float(source.h @ source.h), float(target.h @ target.h)
    printed = (gap_source + gap_target) / (2 * lam * (1 - 2 * eta)) + (squares_source + squares_target) / 2
    by_source = squares_source + gap_target / (lam * (1 - 2 * eta))
    by_target = squares_target + gap_source / (lam * (1 - 2 * eta))
    return PerformanceGap(
        value=gap_source + gap_target,
        parts={"source": gap_source, "target": gap_target},
        minimisers={"source": source.h, "target": target.h},
        norm_bound=float(np.sqrt(printed)),
        sharp_norm_bound=float(np.sqrt(min(by_source, by_target))),
        loss_bound=float("nan"),
        attained=source.attained and target.attained,
    )


class WeightedSetting(TransferSetting):
    """The settings that weigh the rows of target and source in one loss."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"eta": [Interval(Real, 0, 0.5, closed="left")]}

    eta: float
    domain_weight_: dict[int, float]

    def _weights(self, domain: NDArray[np.int64], weight: Array) -> Array:
        """Return Gamma."""
        return weight / weight.sum()

    def _solve(self, X: Any, y: Array, domain: NDArray[np.int64], weight: Array) -> Array:
        gamma = self._weights(domain, weight)
        self._fit_weighted(X, y, domain, gamma)
        return gamma

    def _fit_weighted(self, X: Any, y: Array, domain: NDArray[np.int64], gamma: Array) -> None:
        in_target = domain < 0
        h = solve(Problem([WeightedRows(X, y, gamma)], self._loss, self.lam)).H
        self._store_solution(h, [WeightedRows(X, y, gamma)])
        sides = [
            DomainObjective(WeightedRows(X[part], y[part], gamma[part]), self._loss, self.eta * self.lam)
            for part in (np.flatnonzero(~in_target), np.flatnonzero(in_target))
        ]
        self.gap_ = self._with_corollary(two_domain_gap(sides[0], sides[1], self.lam, self.eta))
        numbers = [int(k) for k in np.unique(domain)]
        self._training = {}
        for k, part in [(-1, in_target), *((k, domain == k) for k in numbers if k > 0)]:
            weight = gamma[part] if gamma[part].any() else np.ones(part.sum())
            self._training[k] = WeightedRows(X[part], y[part], weight)
        self.domain_weight_ = {k: float(gamma[domain == k].sum()) for k in numbers}
        self._gamma = gamma
        self._empirical = float(gamma @ self._loss.value(np.asarray(X @ h[0]), y))

    def risk_bound(
        self,
        delta: float = 0.05,
        *,
        form: Form = "printed",
        discrepancy: Any = None,
        R: float | None = None,
        Y: float | None = None,
        rho: float | None = None,
        radius: float | None = None,
    ) -> RiskBound:
        """Bound the risk on the target: the setting's theorem.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 - delta.
        form : "printed" or "sharp", default="printed"
            The sharp one sums the squares of what each row can change, and is never above the printed one.
        discrepancy : None, float, "estimate", "wasserstein", Discrepancy, or a mapping of these by source, default=None
            Between target and source; None leaves its term out of the total and says so. See `y_discrepancy`.
        R : float, optional
            A bound on the norm of every row, the constant feature counted; by default that of the training rows.
        Y : float, optional
            A bound on the size of every label of a regression; by default that of the training rows.
        rho : float, optional
            The Lipschitz constant of the loss; by default its own on the ball.
        radius : float, optional
            Of the ball that H is; by default sqrt(loss(0) / lam), which every minimiser obeys.

        Returns
        -------
        RiskBound
            With the terms "empirical", "discrepancy", "stability" and "concentration".
        """
        check_is_fitted(self)
        check_delta(delta, form)
        c = self._constants(GivenConstants(R, Y, rho, radius), form, self.lam)
        sources = {k: share for k, share in self.domain_weight_.items() if k > 0}
        apart, assumptions = self._weighted_discrepancy(c, discrepancy, -1, sources)
        return RiskBound(
            terms={"empirical": self._empirical, "discrepancy": apart, **self._stability(c, delta, form)},
            delta=delta,
            assumptions=(*assumptions, self._chosen_before()),
            constants=c.as_dict(
                beta=float(self._gamma.max()) * c.change,
                gamma_inf=float(self._gamma.max()),
                gamma_2=float(np.sqrt(self._gamma @ self._gamma)),
                gamma_source=float(sum(sources.values())),
                n_rows=float(self._gamma.size),
            ),
        )

    def _stability(self, c: Constants, delta: float, form: Form) -> dict[str, float]:
        """Theorem 6: the terms that come from stability."""
        largest, squares = float(self._gamma.max()), float(self._gamma @ self._gamma)
        return weighted_terms(c, largest, squares, float(np.count_nonzero(self._gamma)), delta, form)

    def _chosen_before(self) -> str:
        return "the weights were chosen without looking at this sample"


@dataclass(eq=False, repr=False)
class InstanceWeighting(WeightedSetting):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [Interval(Real, 0, 1, closed="both"), None],
        "weights": [StrOptions({"bound"}), None],
        "discrepancy": [StrOptions({"estimate", "wasserstein"}), Interval(Real, 0, None, closed="left"), Mapping],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    loss: str = "logistic"
    _: KW_ONLY
    lam: float = 0.01
    gamma: float | None = None
    weights: str | None = None
    discrepancy: Any = "estimate"
    delta: float = 0.05
    eta: float = 0.25
    fit_intercept: bool = True

    def _solve(self, X: Any, y: Array, domain: NDArray[np.int64], weight: Array) -> Array:
        if self.weights is None or not (domain > 0).any():
            return super()._solve(X, y, domain, weight)
        check_bound_loss(self._loss, self.loss, self._numeric_labels)
        if self.gamma is not None:
            raise ValueError(f"gamma={self.gamma} with weights='bound': both say how to weigh the domains; give one")
        gamma = self._weights_by_bound(X, y, domain, weight)
        self._fit_weighted(X, y, domain, gamma)
        return gamma

    def _weights_by_bound(self, X: Any, y: Array, domain: NDArray[np.int64], weight: Array) -> Array:
        """Gamma by Theorem 6: a weight for each source, and one for the target."""
        rows = [WeightedRows(X[part], y[part], weight[part]) for part in (domain < 0, domain > 0)]
        c = self._worst_case(rows, self.lam)
        numbers, of_row = np.unique(np.maximum(domain, -1), return_inverse=True)
        target, apart = rows[0], np.zeros(numbers.size)
        for k, number in enumerate(numbers[1:].tolist(), start=1):
            source = WeightedRows(X[domain == number], y[domain == number], weight[domain == number])
            apart[k] = distance(self.discrepancy, number, target, source, self.loss, c)[0]
        groups = simplex_groups(of_row, weight)
        by_rows = groups.count / groups.count.sum()
        of_sources = np.where(numbers > 0, by_rows, 0.0) / by_rows[1:].sum()
        pools = [share * (numbers < 0) + (1 - share) * of_sources for share in (1.0, 0.8, 0.5)]
        theta = weigh_by_bound(
            InnerProblem(X, y, self._loss, self.lam), groups, apart, c, self.delta, [by_rows, *pools]
        )
        return groups.gamma(theta)

    def _chosen_before(self) -> str:
        learnt = "; here they minimise this bound on it" if self.weights == "bound" else ""
        return super()._chosen_before() + learnt

    def _weights(self, domain: NDArray[np.int64], weight: Array) -> Array:
        """Gamma: what was given, or gamma on the target and 1 - gamma on the sources."""
        if self.gamma is None or not (domain > 0).any():
            return super()._weights(domain, weight)
        in_target = domain < 0
        target, source = float(weight[in_target].sum()), float(weight[~in_target].sum())
        return weight * np.where(in_target, self.gamma / target, (1 - self.gamma) / source)


class InstanceWeightingClassifier(TransferClassifierMixin, InstanceWeighting):
    r"""Linear classifier on weighted rows of target and source (Sec. 4.1.1).

    Minimises :math:`\sum_i \gamma_i \ell(\langle h, x_i\rangle, y_i) + \lambda \|h\|^2` with weights that sum to one.

    Parameters
    ----------
    loss : "logistic" or "hinge", default="logistic"
        What a wrong prediction costs.
    lam : float, default=0.01
        Strength of the penalty.
    gamma : float in [0, 1] or None, default=None
        The target's share of the weight, gamma L_T + (1 - gamma) L_S: weighted pooling. None takes weights as given.
    weights : "bound" or None, default=None
        "bound" gives the target and each source the weight with which the bound of Theorem 6 is smallest, in its sharp
        form. It is a stationary point, not above the bound of equal weights, of the target alone, or of weighted
        pooling at 0.5 and 0.8. For the smooth losses. The bound is vacuous at most sizes, and then this is near equal
        weights.
    discrepancy : "estimate", "wasserstein", float, or mapping of source to float, default="estimate"
        For weights="bound": how far the sources are from the target, as in `risk_bound`.
    delta : float in (0, 1), default=0.05
        For weights="bound": it holds with probability 1 - delta.
    eta : float in [0, 0.5), default=0.25
        The share of the penalty that source and target have in the gap.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The coefficients.
    intercept_ : ndarray of shape (1,)
        The constant.
    gap_ : PerformanceGap
        With the parts "source" and "target".
    sample_weight_ : ndarray of shape (n_rows,)
        Gamma.
    domain_weight_ : dict of int to float
        Its sum over each domain.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(60, 2)), np.repeat([-1, 1], [20, 40])
    >>> y = np.where(X[:, 0] + 0.3 * (sample_domain > 0) > 0, "yes", "no")
    >>> clf = InstanceWeightingClassifier(gamma=0.7).fit(X, y, sample_domain=sample_domain)
    >>> clf.gap_.value == clf.gap_.parts["source"] + clf.gap_.parts["target"]
    True
    >>> bound = clf.risk_bound(form="sharp", discrepancy=0.1)
    >>> sorted(bound.terms)
    ['concentration', 'discrepancy', 'empirical', 'stability']
    """


@dataclass(eq=False, repr=False)
@described_as(InstanceWeightingClassifier)
class InstanceWeightingRegressor(NumericLabels, InstanceWeighting):
    r"""Linear regression on weighted rows of target and source (Sec. 4.1.1).

    Minimises :math:`\sum_i \gamma_i \ell(\langle h, x_i\rangle, y_i) + \lambda \|h\|^2` with weights that sum to one.

    Parameters
    ----------
    loss : "squared" or "absolute", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> X, sample_domain = np.arange(6.0).reshape(-1, 1), [-1, -1, -1, 1, 1, 1]
    >>> model = InstanceWeightingRegressor(loss="absolute", lam=1e-6).fit(X, 2 * X[:, 0], sample_domain=sample_domain)
    >>> model.predict([[10.0]]).round(3)
    array([20.])
    """

    loss: str = "squared"
