"""Hypothesis transfer (Sec. 4.1.3): Definition 16, Lemma 19 (`lemmahtf`), Theorem 17 (`maintheorem3`)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear._bilevel import PsiObjective, minimise_psi
from gapmin.linear._bounds import Form, GivenConstants, check_delta, uniform_bound
from gapmin.linear._exact import solve, solve_unpenalised
from gapmin.linear._losses import Loss
from gapmin.linear._matrix import dense, largest, unit
from gapmin.linear._problem import Problem, WeightedRows
from gapmin.linear._setting import NumericLabels, effective_size
from gapmin.linear._simplex import minimise_on_simplex, project_simplex
from gapmin.linear._transfer import TransferClassifierMixin, TransferSetting

_XI_STEPS = 1000


def learn_mixture(scores: Array, y: Array, weight: Array, loss: Loss) -> Array:
    """Return the xi on the simplex with the smallest loss of the mixture: the smallest gap, for L(h_T) does not move.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_hypotheses)
        What each hypothesis says of each row.
    y, weight : ndarray of shape (n_rows,)
    loss : Loss
    """
    n, k = scores.shape
    if loss.smooth:

        def evaluate(xi: Array) -> tuple[float, Array]:
            mixed = scores @ xi
            return float(weight @ loss.value(mixed, y)), scores.T @ (weight * loss.gradient(mixed, y))

        return minimise_on_simplex(evaluate, k)
    # The solver of linear programs takes numbers of about 1.
    scale = unit(max(largest(scores), largest(y)))
    scores = scores / scale
    kinks = loss.kinks(y, weight)
    bend = kinks.bend / scale
    # The loss is at least high (bend - sign s) and at least low (bend - sign s): a linear program.
    signed = kinks.sign[:, None] * scores
    above = [sp.hstack([sp.csr_matrix(-a[:, None] * signed), -sp.identity(n)]) for a in (kinks.high, kinks.low)]
    right = [-kinks.high * bend, -kinks.low * bend]
    found = linprog(
        np.concatenate([np.zeros(k), np.ones(n)]),
        A_ub=sp.vstack(above, format="csr"),
        b_ub=np.concatenate(right),
        A_eq=np.concatenate([np.ones(k), np.zeros(n)])[None],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)] * n,
        method="highs",
    )
    return np.maximum(found.x[:k], 0) / np.maximum(found.x[:k], 0).sum()


class MixtureObjective(PsiObjective):
    """Psi = Xi in the framework of Sec. 5.

    min_h L_T(h) + lam ||h - <H, Xi>||^2  +  lam1 L_T(<H, Xi>)

    The gap less L_T(h_T), which Xi does not move. Convex: what is minimised over h is convex in h and Xi together.

    Parameters
    ----------
    rows : WeightedRows
        Of the target.
    hypotheses : ndarray of shape (n_hypotheses, n_features)
    loss : Loss
        A smooth one.
    lam, lam1 : float
    """

    def __init__(self, rows: WeightedRows, hypotheses: Array, loss: Loss, lam: float, lam1: float) -> None:
        self.rows, self.hypotheses, self.loss, self.lam, self.lam1 = rows, hypotheses, loss, lam, lam1
        self.start: Array | None = None

    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return the objective and its derivative."""
        rows, centre = self.rows, psi @ self.hypotheses
        self.start = solve(Problem([rows], self.loss, self.lam, centre[None]), self.start).H
        h, mixed = self.start[0], rows.score(centre)
        value = rows.loss(self.loss, h) + self.lam * float((h - centre) @ (h - centre))
        value += self.lam1 * rows.loss(self.loss, centre)
        pull = np.asarray(rows.X.T @ (rows.weight * self.loss.gradient(mixed, rows.y)))
        return value, self.hypotheses @ (self.lam1 * pull - 2 * self.lam * (h - centre))

    def project(self, psi: Array) -> Array:
        """Return the nearest point of the simplex."""
        return project_simplex(psi)


@dataclass(eq=False, repr=False)
class HypothesisTransfer(TransferSetting):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hypotheses": ["array-like", "sparse matrix", list, tuple],
        "xi": [StrOptions({"learn"}), "array-like", None],
        "lam1": [Interval(Real, 0, None, closed="left"), None],
    }

    hypotheses: Any = ()
    xi: Any = None
    _: KW_ONLY
    loss: str = "logistic"
    lam: float = 0.01
    lam1: float | None = None
    fit_intercept: bool = True

    objective_history_: Array = field(init=False)
    xi_: Array = field(init=False)
    hypotheses_: Array = field(init=False)
    centre_: Array = field(init=False)

    def _solve(self, X: Any, y: Array, domain: NDArray[np.int64], weight: Array) -> Array:
        if isinstance(self.xi, str) and self.lam1 is not None and not self._loss.smooth:
            raise ValueError(
                f"lam1={self.lam1} with loss={self.loss!r}: the gap of a mixture has no derivative there; use "
                f"loss={'squared' if self._numeric_labels else 'logistic'!r}, or lam1=None for the gap alone"
            )
        self.objective_history_ = np.empty(0)
        kept = np.flatnonzero(domain < 0)
        rows = WeightedRows(X[kept], y[kept], weight[kept] / weight[kept].sum())
        self.hypotheses_ = self._read_hypotheses(X.shape[1])
        self.xi_ = self._mix(rows)
        self.centre_ = self.xi_ @ self.hypotheses_
        self._n_rows = effective_size(rows.weight)
        H = solve(Problem([rows], self._loss, self.lam, self.centre_[None])).H
        self._store_solution(H, [rows])
        self._empirical = rows.loss(self._loss, H[0])
        self.gap_ = self._with_corollary(self._gap(rows))
        used = np.zeros(y.size)
        used[kept] = rows.weight
        return used

    def _gap(self, rows: WeightedRows) -> PerformanceGap:
        """Definition 16 (`it`, a label that Definition 5 has too) and Lemma 19.

        L(<H, Xi>) - L(h_T), and ||h*|| <= sqrt(gap / lam) + ||<H, Xi>||.
        """
        plain = solve_unpenalised(rows, self._loss)
        if not plain.attained:
            warnings.warn(
                "the target's rows separate: the logistic loss has no minimiser, and its infimum stands in the gap",
                ConvergenceWarning,
                stacklevel=4,
            )
        mixture = rows.loss(self._loss, self.centre_)
        value = max(mixture - plain.value, 0.0)
        centre = float(np.linalg.norm(self.centre_))
        norm_bound = float(np.sqrt(value / self.lam)) + centre
        # The proof has L(h*) where the lemma has the smaller L(h_T).
        sharp = float(np.sqrt(max(mixture - self._empirical, 0.0) / self.lam)) + centre
        return PerformanceGap(
            value=value,
            parts={"target": value},
            minimisers={"target": plain.h, "mixture": self.centre_},
            norm_bound=norm_bound,
            sharp_norm_bound=min(sharp, norm_bound),
            loss_bound=float("nan"),
            attained=plain.attained,
        )

    def _read_hypotheses(self, d: int) -> Array:
        """Return one row a hypothesis, with the intercept last where this model has one."""
        given = dense(self.hypotheses)
        if isinstance(given, np.ndarray) and given.dtype != object:
            rows = list(np.atleast_2d(given))
        else:
            rows = [row for each in given for row in self._read_one(each)]
        found = np.zeros((len(rows), d))
        for k, row in enumerate(rows):
            row = np.asarray(row, dtype=np.float64)
            if row.shape == (d - 1,) and self.fit_intercept:
                found[k, :-1] = row
            elif row.shape == (d,):
                found[k] = row
            else:
                wanted = f"{d - 1} coefficients, or {d} with the intercept last" if self.fit_intercept else str(d)
                raise ValueError(f"hypothesis {k} has shape {row.shape}: give {wanted}")
        if not np.isfinite(found).all():
            raise ValueError(f"hypothesis {int(np.argmin(np.isfinite(found).all(axis=1)))} has NaN or infinity")
        return found

    def _read_one(self, model: Any) -> list[Array]:
        if not hasattr(model, "coef_"):
            if hasattr(model, "fit"):
                raise ValueError(
                    f"hypothesis {model!r} has no coef_: give a fitted linear model, or an array of coefficients"
                )
            return list(np.atleast_2d(np.asarray(model, dtype=np.float64)))
        known = getattr(model, "classes_", None)
        wanted = getattr(self, "classes_", None)
        if known is not None and wanted is not None and not np.array_equal(known, wanted):
            raise ValueError(
                f"hypothesis {model!r} knows the classes {list(known)}, the target has {list(wanted)}: "
                "give hypotheses for the same two classes"
            )
        coef = np.atleast_2d(dense(model.coef_))
        intercept = np.broadcast_to(np.ravel(getattr(model, "intercept_", 0.0)), (len(coef),))
        if self.fit_intercept:
            return list(np.column_stack([coef, intercept]))
        if np.any(intercept):
            raise ValueError(f"hypothesis {model!r} has an intercept, this model has none: use fit_intercept=True")
        return list(coef)

    def _mix(self, rows: WeightedRows) -> Array:
        n = len(self.hypotheses_)
        if isinstance(self.xi, str):
            if not n:
                raise ValueError("xi='learn' needs at least one hypothesis: give fitted models or arrays")
            if self.lam1 is not None:
                objective = MixtureObjective(rows, self.hypotheses_, self._loss, self.lam, self.lam1)
                xi, history = minimise_psi(objective, np.full(n, 1 / n), _XI_STEPS, 1e-12)
                self.objective_history_ = np.array(history)
                return xi
            scores = np.asarray(rows.X @ self.hypotheses_.T)
            return learn_mixture(scores, rows.y, rows.weight, self._loss)
        if self.xi is None:
            return np.full(n, 1 / n) if n else np.zeros(0)
        xi = np.asarray(self.xi, dtype=np.float64)
        if xi.shape != (n,):
            raise ValueError(f"xi has shape {xi.shape} for {n} hypotheses: give one weight a hypothesis")
        if not np.isfinite(xi).all():
            raise ValueError(f"xi is {xi}: give finite weights")
        return xi

    def _radius(self, R: float, Y: float, j: int) -> float:
        centre = float(np.linalg.norm(self.centre_))
        return float(centre + np.sqrt(self._loss.at_most(R * centre, Y) / self.lam))

    def risk_bound(
        self,
        delta: float = 0.05,
        *,
        form: Form = "printed",
        R: float | None = None,
        Y: float | None = None,
        rho: float | None = None,
        radius: float | None = None,
    ) -> RiskBound:
        """Bound the risk on the target: Theorem 17.

        No source rows, so no discrepancy; both forms have the same terms, and the sharp one a smaller `B_gap`.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 - delta.
        form : "printed" or "sharp", default="printed"
            As printed, sharper, or both.
        R, Y, rho : float, optional
            As in `InstanceWeightingClassifier.risk_bound`.
        radius : float, optional
            By default ||c|| + sqrt(B(c) / lam) for the mixture c, B(c) the largest loss of a hypothesis as long as c.

        Returns
        -------
        RiskBound
            With the terms "empirical", "stability" and "concentration".
        """
        check_is_fitted(self)
        check_delta(delta, form)
        c = self._constants(GivenConstants(R, Y, rho, radius), form, self.lam)
        learnt = "; here xi was learnt from it" if isinstance(self.xi, str) else ""
        chosen = f"hypotheses and xi were chosen without looking at this sample{learnt}"
        return uniform_bound(c, self._empirical, c.change / self._n_rows, self._n_rows, delta, chosen)


class HypothesisTransferClassifier(TransferClassifierMixin, HypothesisTransfer):
    r"""Linear classifier near a mixture of hypotheses learnt elsewhere (Sec. 4.1.3).

    Minimises :math:`\frac1{N_T} \sum_i \ell(\langle h, x_i\rangle, y_i) + \lambda \|h - \langle H, \Xi\rangle\|^2`.

    Parameters
    ----------
    hypotheses : sequence of fitted linear models or of arrays, or array of shape (n_hypotheses, n_features)
        What was learnt elsewhere. An array may carry the intercept as one more, last entry.
    xi : array-like of shape (n_hypotheses,), "learn" or None, default=None
        Their weights. None is uniform; "learn" finds those on the simplex with the smallest gap, or with `lam1` those
        with the smallest objective.
    loss : "logistic" or "hinge", default="logistic"
        What a wrong prediction costs.
    lam : float, default=0.01
        Strength of the pull to the mixture.
    lam1 : float or None, default=None
        For learnt weights: they minimise the loss of h, its pull to the mixture and lam1 times the gap (Sec. 5); None
        minimises the gap alone. For the smooth losses.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The coefficients.
    intercept_ : ndarray of shape (1,)
        The constant.
    gap_ : PerformanceGap
        With the part "target".
    sample_weight_ : ndarray of shape (n_rows,)
        The same for each row of the target, and 0 for others.
    xi_ : ndarray of shape (n_hypotheses,)
        The weights of the hypotheses.
    objective_history_ : ndarray
        By step, for weights learnt with `lam1`; less the loss of h_T, which they do not move.
    hypotheses_ : ndarray of shape (n_hypotheses, n_features + 1)
        As they were read; without the last column where there is no intercept.
    centre_ : ndarray
        Their mixture.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X_theirs, X = rng.normal(size=(500, 3)), rng.normal(size=(40, 3))
    >>> theirs = [LogisticRegression().fit(X_theirs, X_theirs[:, k] > 0) for k in range(3)]
    >>> y = X[:, 1] + 0.5 * rng.normal(size=40) > 0
    >>> clf = HypothesisTransferClassifier(theirs, xi="learn").fit(X, y)
    >>> int(clf.xi_.argmax())
    1
    """


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(HypothesisTransferClassifier)
class HypothesisTransferRegressor(NumericLabels, HypothesisTransfer):
    r"""Linear regression near a mixture of hypotheses learnt elsewhere (Sec. 4.1.3).

    Minimises :math:`\frac1{N_T} \sum_i \ell(\langle h, x_i\rangle, y_i) + \lambda \|h - \langle H, \Xi\rangle\|^2`.

    Parameters
    ----------
    loss : "squared" or "absolute", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> model = HypothesisTransferRegressor([[2.0]], lam=1e6).fit([[0.0], [1.0], [2.0]], [0.0, 2.1, 3.9])
    >>> model.coef_.round(3)
    array([[2.]])
    """

    loss: str = "squared"
