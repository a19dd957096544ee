"""Parameter sharing (Sec. 4.2.2): Definition 27, Lemma 30 (`psmlemma`), Theorem 28 (`psmtheorem`)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from gapmin._utils.docstrings import described_as
from gapmin._utils.typing import Array
from gapmin.linear._bounds import Form
from gapmin.linear._coupled import CoupledTasks, Stability, fit_coupled, single_and_pooled_gap
from gapmin.linear._multitask import MultitaskClassifierMixin, MultitaskRegressorMixin
from gapmin.linear._problem import WeightedRows


def sharing_precision(K: int, lam0: float, lam: float) -> Array:
    """Return the Omega^-1 of the paper's remark, with which task covariance is parameter sharing.

    Examples
    --------
    >>> sharing_precision(2, lam0=1.0, lam=1.0)
    array([[ 0.375, -0.125],
           [-0.125,  0.375]])
    """
    share = lam / (lam0 + lam) / K
    alone, apart = lam0 * share, lam * share
    return (alone + apart) * np.eye(K) - apart / K * np.ones((K, K))


@dataclass(eq=False, repr=False)
class ParameterSharing(CoupledTasks):
    """The part that classifier and regressor share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"lam0": [Interval(Real, 0, None, closed="neither")]}

    lam0: float = 0.01
    lam: float = 0.01
    _: KW_ONLY
    loss: str = "logistic"
    fit_intercept: bool = True

    shared_coef_: Array = field(init=False)
    shared_intercept_: float = field(init=False)

    def _solve(self, tasks: list[WeightedRows], X: Any, y: Array) -> Array:
        H = fit_coupled(tasks, self._loss, sharing_precision(len(tasks), self.lam0, self.lam))
        w0 = self.lam / (self.lam0 + self.lam) * H.mean(axis=0)  # the best one for these h_k = w_0 + w_k
        self.shared_coef_, self.shared_intercept_ = (w0[:-1], float(w0[-1])) if self.fit_intercept else (w0, 0.0)
        single = self.lam0 * (self.lam / (self.lam0 + self.lam))
        self.gap_ = single_and_pooled_gap(self.tasks_.tolist(), tasks, X, y, self._loss, single, self.lam0)
        return H

    def _stability(self, j: int, form: Form) -> Stability:
        """Theorem 28: beta = rho^2 R^2 / (lam0 K N) + rho^2 R^2 / (lam N), with Omega_jj of Remark 32: sharp."""
        K, n = len(self.tasks_), float(self._sizes[j])
        return Stability(
            beta=1 / (self.lam0 * K * n) + 1 / (self.lam * n),
            squared_radius=1 / self.lam0 + K / self.lam,
            lam=self.lam,
            chosen="lam0 and lam were chosen without looking at this sample",
            constants={"lam0": self.lam0},
        )


class ParameterSharingClassifier(MultitaskClassifierMixin, ParameterSharing):
    r"""Linear classifiers that share a part: h_k = w_0 + w_k (Sec. 4.2.2).

    Minimises :math:`\frac1K \sum_k [L_{S_k}(w_0 + w_k) + \lambda_0 \|w_0\|^2 + \lambda \|w_k\|^2]`.

    Parameters
    ----------
    lam0 : float, default=0.01
        Strength of the penalty on the shared part; towards infinity every task is alone.
    lam : float, default=0.01
        Strength of the penalty on each task's own part; towards infinity all tasks are one.
    loss : "logistic" or "hinge", default="logistic"
        What a wrong prediction costs.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_features)
        The coefficients.
    intercept_ : ndarray of shape (n_tasks,)
        The constant.
    tasks_ : ndarray of shape (n_tasks,)
        The tasks, in the order of the rows of `coef_`.
    gap_ : PerformanceGap
        With a part for each task.
    shared_coef_ : ndarray of shape (n_features,)
        The coefficients that all tasks share.
    shared_intercept_ : float
        The shared part w_0.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    >>> clf = ParameterSharingClassifier().fit(X, X[:, 0] > 0, sample_task=task)
    >>> clf.predict([[1.0, 0.0], [-1.0, 0.0]], sample_task=["a", "c"])
    array([ True, False])
    """


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(ParameterSharingClassifier)
class ParameterSharingRegressor(MultitaskRegressorMixin, ParameterSharing):
    r"""Linear regressions that share a part: h_k = w_0 + w_k (Sec. 4.2.2).

    Minimises :math:`\frac1K \sum_k [L_{S_k}(w_0 + w_k) + \lambda_0 \|w_0\|^2 + \lambda \|w_k\|^2]`.

    Parameters
    ----------
    loss : "squared" or "absolute", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    >>> slope = np.where(task == "c", -1.0, 1.0)
    >>> model = ParameterSharingRegressor(lam0=1e-6, lam=1e6).fit(X, slope * X[:, 0], sample_task=task)
    >>> bool(np.ptp(model.coef_[:, 0]) < 1e-4)  # all tasks as one
    True
    """

    loss: str = "squared"
