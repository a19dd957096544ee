"""How much each source should weigh: by its size, or by weights that minimise the performance gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array

from gapmin._utils.typing import Array
from gapmin.boosting.building_blocks import TrainingRows
from gapmin.linear import GapWeightingClassifier, GapWeightingRegressor

_DEFAULT_SHARE = 0.5


def gap_source_shares(
    rows: TrainingRows, classes: NDArray[Any] | None, target_share: float | None, random_state: Any
) -> dict[int, float]:
    """Return each source's share of the sources' weight, as `GapWeighting*` by domain finds it on scaled features.

    Several classes are taken each against the rest, and the shares averaged.

    Parameters
    ----------
    rows : TrainingRows
        With at least one source.
    classes : ndarray or None
        None for a regression.
    target_share : float or None
        What the target has of all the weight while the sources' are found; None takes a half.
    random_state : int, RandomState instance or None
    """
    numbers = [int(k) for k in rows.source_numbers]
    if len(numbers) == 1:
        return {numbers[0]: 1.0}
    X = check_array(rows.X, accept_sparse="csr", dtype=np.float64, input_name="X")
    X = StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X, sample_weight=rows.weight)
    share = _DEFAULT_SHARE if target_share is None else target_share
    options: dict[str, Any] = {"target_share": share, "random_state": random_state}
    data: dict[str, Any] = {"sample_domain": rows.domain, "sample_weight": rows.weight}
    if classes is None:
        found = [GapWeightingRegressor(**options).fit(X, _standardised(rows), **data)]
    else:
        of_target = np.unique(rows.y[rows.domain < 0])
        against = of_target[1:] if of_target.size == classes.size == 2 else of_target
        found = [GapWeightingClassifier(**options).fit(X, rows.y == code, **data) for code in against]
    weights = np.array([[model.domain_weight_[k] for k in numbers] for model in found])
    shares = weights.sum(axis=0) / weights.sum()
    return dict(zip(numbers, shares.tolist(), strict=True))


def _standardised(rows: TrainingRows) -> Array:
    """Return the labels of a regression in the target's own units: the penalty of the gap takes them to be about 1."""
    part, weight = rows.y[rows.domain < 0], rows.weight[rows.domain < 0]
    mean = np.average(part, weights=weight)
    spread = np.sqrt(np.average((part - mean) ** 2, weights=weight))
    return (rows.y - mean) / (spread if spread > 0 else 1.0)
