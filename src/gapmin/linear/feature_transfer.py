"""Feature representation (Sec. 4.1.2) by any given Phi: Definition 11 (`deffr`), Lemma 13 (`lemmafr`), Theorem 12.

Theorem 12 is `maintheorem2` in the paper's source.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted, validate_data

from gapmin._utils.docstrings import described_as
from gapmin.linear._bounds import Constants, Form, uniform_terms
from gapmin.linear._setting import NumericLabels, effective_size
from gapmin.linear._transfer import TransferClassifierMixin
from gapmin.linear.instance_weighting import WeightedSetting

PHI_GIVEN = "Phi was chosen without looking at this sample"
PHI_LEARNT = "Phi was chosen without looking at this sample; here it was fitted on it"


class Representation:
    """Phi before the constant feature: a fitted transformer is used as it is, another one is fitted on the rows."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"transformer": [HasMethods(["fit", "transform"]), None]}

    transformer: Any
    transformer_: Any

    def _read(self, X: Any, *, reset: bool) -> Any:
        if self.transformer is None:
            return super()._read(X, reset=reset)  # type: ignore[misc]
        validate_data(self, X, skip_check_array=True, reset=reset)
        return self._checked(self.transformer_.transform(X))

    def _read_both(self, X: Any, y: Any) -> tuple[Any, Any]:
        self.__dict__.pop("transformer_", None)
        self._phi_learnt = False
        if self.transformer is None:
            return super()._read_both(X, y)  # type: ignore[misc]
        validate_data(self, X, skip_check_array=True)
        y = _check_y(y, y_numeric=self._numeric_labels, estimator=self)  # type: ignore[attr-defined]
        check_consistent_length(X, y)
        try:
            check_is_fitted(self.transformer)
            self.transformer_ = self.transformer
        except (NotFittedError, TypeError, AttributeError):  # the last two where it is no estimator of scikit-learn's
            self.transformer_, self._phi_learnt = clone(self.transformer, safe=False).fit(X, y), True
        return self._checked(self.transformer_.transform(X)), y

    def _checked(self, Z: Any) -> Any:
        """Return Phi(x) as numbers, or say what is wrong with it."""
        try:
            return check_array(Z, accept_sparse="csr", dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"what {type(self.transformer).__name__} made of X cannot be used: {error}") from error


class RepresentedSetting(WeightedSetting):
    """The settings in which every row weighs 1 / N, on a representation."""

    def _stability(self, c: Constants, delta: float, form: Form) -> dict[str, float]:
        """Theorem 12: what the sharp form of Theorem 6 is for equal weights, so both forms are the same here."""
        n_rows = effective_size(self._gamma)
        return uniform_terms(c.change / n_rows, c.B, n_rows, delta)


@dataclass(eq=False, repr=False)
class FeatureTransfer(Representation, RepresentedSetting):
    """The part that classifier and regressor share: every row weighs 1 / N, on Phi(x)."""

    transformer: Any = None
    _: KW_ONLY
    loss: str = "logistic"
    lam: float = 0.01
    eta: float = 0.25
    fit_intercept: bool = True

    def _chosen_before(self) -> str:
        return PHI_LEARNT if self._phi_learnt else PHI_GIVEN


class FeatureTransferClassifier(TransferClassifierMixin, FeatureTransfer):
    r"""Linear classifier on a representation of target and source (Sec. 4.1.2).

    Minimises :math:`\frac1N \sum_i \ell(\langle h, \Phi(x_i)\rangle, y_i) + \lambda \|h\|^2` over all rows.

    Parameters
    ----------
    transformer : scikit-learn transformer or None, default=None
        Phi. A fitted one is used as it is (wrap it in `sklearn.frozen.FrozenEstimator` where the model is cloned, as in
        cross-validation); one that is not is fitted on the rows given. None is the identity.
    loss : "logistic" or "hinge", default="logistic"
        What a wrong prediction costs.
    lam : float, default=0.01
        Strength of the penalty.
    eta : float in [0, 0.5), default=0.25
        The share of the penalty that source and target have in the gap.
    fit_intercept : bool, default=True
        Add a constant feature to Phi(x), regularised like the others.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_components)
        The coefficients.
    intercept_ : ndarray of shape (1,)
        The constant.
    gap_ : PerformanceGap
        With the parts "source" and "target".
    transformer_ : transformer
        Phi, where one was given.
    sample_weight_, domain_weight_
        As in `InstanceWeightingClassifier`: every row counts the same.
    classes_ : ndarray of shape (2,)
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(60, 5)), np.repeat([-1, 1], [20, 40])
    >>> y = X[:, 0] > 0
    >>> phi = PCA(3).fit(rng.normal(size=(200, 5)))
    >>> clf = FeatureTransferClassifier(phi).fit(X, y, sample_domain=sample_domain)
    >>> clf.coef_.shape
    (1, 3)
    """


@dataclass(eq=False, repr=False, kw_only=True)
@described_as(FeatureTransferClassifier)
class FeatureTransferRegressor(NumericLabels, FeatureTransfer):
    r"""Linear regression on a representation of target and source (Sec. 4.1.2).

    Minimises :math:`\frac1N \sum_i \ell(\langle h, \Phi(x_i)\rangle, y_i) + \lambda \|h\|^2` over all rows.

    Parameters
    ----------
    loss : "squared" or "absolute", default="squared"
        What a wrong prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> X, sample_domain = np.arange(8.0).reshape(-1, 1), [-1, -1, -1, -1, 1, 1, 1, 1]
    >>> phi = PolynomialFeatures(2, include_bias=False).fit(X)
    >>> model = FeatureTransferRegressor(phi, lam=1e-9).fit(X, X[:, 0] ** 2, sample_domain=sample_domain)
    >>> model.predict([[10.0]]).round(2)
    array([100.])
    """

    loss: str = "squared"
