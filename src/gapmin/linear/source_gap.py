"""The performance gap between a target and one source, on a scale that can be compared between sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from gapmin.linear.instance_weighting import InstanceWeightingClassifier, InstanceWeightingRegressor

GAP_PARTS = ("source", "target")


def gap_setting(
    X: Any, y: NDArray[Any], sample_domain: NDArray[np.int64], task: str
) -> tuple[Any, Any, list[NDArray[Any]]]:
    """Return the linear setting whose gap is measured, the standardised features, and the labels of each of its fits.

    Half of the weight is on the target. Features are standardised on all rows (sparse ones are scaled, not centred),
    numbers to predict on the target's. Of two classes one against the other says all; of more, each against the rest.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        Rows of the target and of one source.
    y : ndarray of shape (n_rows,)
    sample_domain : ndarray of int of shape (n_rows,)
    task : "classification" or "regression"
    """
    X = StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X)
    if task == "regression":
        scaler = StandardScaler().fit(y[sample_domain < 0, None])
        return InstanceWeightingRegressor(gamma=0.5), X, [scaler.transform(y[:, None])[:, 0]]
    classes = np.unique(y)
    return (
        InstanceWeightingClassifier(gamma=0.5),
        X,
        [y == each for each in (classes if classes.size > 2 else classes[1:])],
    )


def measure_gap(X: Any, y: NDArray[Any], sample_domain: NDArray[np.int64], task: str) -> dict[str, float]:
    """Return the parts of the gap, on the source and on the target; of several classes the mean over them.

    Examples
    --------
    >>> import numpy as np
    >>> X, sample_domain = np.arange(12.0).reshape(-1, 1) % 6, np.repeat([-1, 1], 6)
    >>> same = measure_gap(X, X[:, 0] > 2, sample_domain, "classification")
    >>> round(abs(same["source"]) + abs(same["target"]), 6)
    0.0
    """
    setting, X, labels = gap_setting(X, y, sample_domain, task)
    gaps = [clone(setting).fit(X, each, sample_domain=sample_domain).gap_ for each in labels]
    return {part: float(np.mean([gap.parts[part] for gap in gaps])) for part in GAP_PARTS}
