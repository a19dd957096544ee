"""A linear representation Phi for two domains, chosen with the gap in the objective (Sec. 4.1.2 and 5).

    minimise over P with orthonormal rows    min_h (1 / N) sum_i loss(<h, P x_i>, y_i) + lam ||h||^2  +  lam1 gap(P)

with the gap of Definition 11 (`deffr`). Its derivative goes through its two minimisers: see `_bilevel`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.linear._bilevel import InnerProblem, PsiObjective, TwoDomainGap, minimise_psi
from gapmin.linear._matrix import MOST_FEATURES
from gapmin.linear._setting import NumericLabels
from gapmin.linear._solver import weighted_gram
from gapmin.linear._transfer import TransferClassifierMixin
from gapmin.linear.feature_transfer import PHI_LEARNT, RepresentedSetting
from gapmin.linear.gap_weighting import GapInObjective

_NO_VARIANCE = 1e-10


class ProjectionObjective(PsiObjective):
    """Psi = P in the framework of Sec. 5.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        Without the constant feature.
    fit : InnerProblem
        h on the projected rows, with whatever constant feature it has.
    gap : TwoDomainGap
    gamma : ndarray of shape (n_rows,)
        The weights of the rows.
    constant : float
        The constant feature that is appended to P x; 0 for none.
    lam1 : float
    """

    def __init__(
        self, X: Any, fit: InnerProblem, gap: TwoDomainGap, gamma: Array, constant: float, lam1: float
    ) -> None:
        self.X, self.fit, self.gap, self.gamma, self.constant, self.lam1 = X, fit, gap, gamma, constant, lam1

    def features(self, psi: Array) -> Array:
        """Return P x of every row, with the constant feature."""
        return _project(self.X, psi, self.constant)

    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return the objective and its derivative."""
        Z = self.features(psi)
        self.fit.X = Z
        h, y, loss = self.fit.fit(self.gamma), self.fit.y, self.fit.loss
        score = Z @ h
        value = float(self.gamma @ loss.value(score, y)) + self.fit.ridge * float(h @ h)
        by_feature = np.outer(self.gamma * loss.gradient(score, y), h)
        if self.lam1 > 0:
            self.gap.take(Z)
            gap, _, slope = self.gap.evaluate_both(self.gamma, features=True)
            value, by_feature = value + self.lam1 * gap, by_feature + self.lam1 * slope
        return value, np.asarray(self.X.T @ by_feature[:, : len(psi)]).T

    def project(self, psi: Array) -> Array:
        """Return the nearest matrix with orthonormal rows: the polar factor."""
        left, _, right = np.linalg.svd(psi, full_matrices=False)
        return left @ right


def _project(X: Any, P: Array, constant: float) -> Array:
    Z = np.asarray(X @ P.T)
    return np.hstack([Z, np.full((len(Z), 1), constant)]) if constant else Z


@dataclass(eq=False, repr=False)
class GapProjection(RepresentedSetting, GapInObjective):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")]
    }

    n_components: int = 10
    _: KW_ONLY
    max_iter: int = 50

    projection_: Array = field(init=False)

    def _read(self, X: Any, *, reset: bool) -> Any:
        return np.asarray(super()._read(X, reset=reset) @ self.projection_.T)

    def _solve(self, X: Any, y: Array, domain: NDArray[np.int64], weight: Array) -> Array:
        raw = X[:, : self.n_features_in_]
        gamma = weight / weight.sum()
        self._learn(raw, y, domain, gamma)
        self._fit_weighted(_project(raw, self.projection_, float(self.fit_intercept)), y, domain, gamma)
        return gamma

    def _learn(self, X: Any, y: Array, domain: NDArray[np.int64], gamma: Array) -> None:
        """Set P: from the leading principal components, and from what is found without the gap, down the objective."""
        if X.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"X has {X.shape[1]} features: the start needs a matrix of that many rows, so reduce them to "
                f"{MOST_FEATURES} or fewer (TruncatedSVD)"
            )
        X, y, s, t, lam = self._in_units(X, y)
        constant = self.fit_intercept / s
        mean = np.asarray(X.T @ gamma)
        sizes, vectors = np.linalg.eigh(weighted_gram(X, gamma) - np.outer(mean, mean))
        # In directions in which the rows do not vary, principal components are arbitrary.
        n_varying = max(int((sizes > _NO_VARIANCE * sizes[-1]).sum()), 1)
        P = vectors[:, ::-1][:, : min(self.n_components, n_varying)].T
        P = P * np.where(P[np.arange(len(P)), np.abs(P).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
        history: list[float] = []
        # With all components P only turns the features.
        if len(P) < n_varying and (domain > 0).any() and self.max_iter > 0:
            Z = _project(X, P, constant)
            gap = self._gap_of_domains(Z, y, domain, lam)
            objective = ProjectionObjective(X, InnerProblem(Z, y, self._loss, lam), gap, gamma, constant, lam1=0.0)
            starts = [P, minimise_psi(objective, P, self.max_iter, self.tol)[0]]
            objective.lam1 = self.lam1
            tried = [minimise_psi(objective, start, self.max_iter, self.tol) for start in starts]
            P, history = min(tried, key=lambda each: each[1][-1])
        self.projection_, self.objective_history_ = P, np.array(history) * t**2
        self.n_iter_ = max(1, len(history) - 1)

    def _chosen_before(self) -> str:
        return PHI_LEARNT


class GapProjectionClassifier(TransferClassifierMixin, GapProjection):
    r"""Linear classifier on a projection of target and source that is learnt with the gap in the objective (Sec. 5).

    Minimises over h and matrices P with orthonormal rows :math:`\frac1N \sum_i \ell(\langle h, P x_i\rangle, y_i) +
    \lambda \|h\|^2 + \lambda_1 \nabla(P)`, the gap that of Definition 11. Not convex: the better of two stationary
    points, found from the principal components and from the P without the gap. Standardise the features first.

    Parameters
    ----------
    n_components : int, default=10
        Rows of P. Where the rows vary in no more directions than that, P has as many, and nothing is learnt.
    gap_data : "crossfit" or "train", default="crossfit"
        Whether each row's part in the gap is measured with minimisers trained on other folds, or on all rows.
    loss : "logistic", default="logistic"
        The gap has to have a derivative.
    lam : float, default=0.01
        Strength of the penalty.
    lam1 : float, default=1.0
        Weight of the gap. Large weights over-fit it: the cross-fitted gap can go below 0.
    eta : float in (0, 0.5), default=0.25
        The share of the penalty that source and target have in the gap.
    fit_intercept : bool, default=True
        Add a constant feature to P x, regularised like the others.
    n_folds : int, default=5
        For gap_data="crossfit".
    max_iter : int, default=50
        Steps at the most.
    tol : float, default=1e-5
        Ends where a step is expected to gain less than this share of the objective.
    random_state : int, RandomState instance or None, default=None
        Deals the rows to folds.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_components)
        On P x.
    intercept_ : ndarray of shape (1,)
        The constant.
    projection_ : ndarray of shape (n_components, n_features)
        P.
    objective_history_ : ndarray
        By step; it never rises.
    n_iter_ : int
        How many steps were taken.
    gap_ : PerformanceGap
        In sample, with the parts "source" and "target".
    sample_weight_, domain_weight_
        As in `InstanceWeightingClassifier`.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(240, 4)), np.repeat([-1, 1], [40, 200])
    >>> side = np.where(sample_domain > 0, -1, 1)
    >>> y = X[:, 0] + side * X[:, 1] + 0.3 * rng.normal(size=240) > 0  # the second feature has the opposite sign
    >>> model = GapProjectionClassifier(1, random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> int(np.abs(model.projection_).argmax())
    0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"logistic"})]}


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(GapProjectionClassifier)
class GapProjectionRegressor(NumericLabels, GapProjection):
    r"""Linear regression on a projection of target and source that is learnt with the gap in the objective (Sec. 5).

    Minimises over h and matrices P with orthonormal rows :math:`\frac1N \sum_i \ell(\langle h, P x_i\rangle, y_i) +
    \lambda \|h\|^2 + \lambda_1 \nabla(P)`, the gap that of Definition 11. Not convex: the better of two stationary
    points, found from the principal components and from the P without the gap.

    Parameters
    ----------
    loss : "squared", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(240, 4)), np.repeat([-1, 1], [40, 200])
    >>> side = np.where(sample_domain > 0, -1, 1)
    >>> y = X[:, 0] + side * X[:, 1]  # the second feature has the opposite sign
    >>> model = GapProjectionRegressor(n_components=1, random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> int(np.abs(model.projection_).argmax())
    0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"loss": [StrOptions({"squared"})]}

    loss: str = "squared"
