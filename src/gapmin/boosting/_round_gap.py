"""The performance gap under the weights of a round, and the loss bound that follows (Remark 39, `remark7`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from gapmin._utils.typing import Array
from gapmin.boosting._rows import TrainingRows
from gapmin.linear import InstanceWeightingClassifier, InstanceWeightingRegressor, WeightedLogisticRegression


def check_can_record(rows: TrainingRows) -> None:
    """Raise where the gap of a round cannot be measured."""
    if hasattr(rows.weight, "__dask_graph__"):
        raise ValueError("record_gap=True needs all rows in memory: set it to False, or fit the booster without Dask")
    if not rows.sources:
        raise ValueError("record_gap=True needs source rows: set it to False, or give sample_domain")
    try:
        check_array(rows.X, accept_sparse="csr", dtype=np.float64)
    except ValueError as error:
        raise ValueError(
            f"record_gap=True needs features that are finite numbers, whatever the learner takes: {error}"
        ) from error


def measure_round_gap(rows: TrainingRows, weight: Array, learner: Any, n_classes: int | None) -> tuple[float, float]:
    """Return the gap of Definition 5 (`it`) under Gamma = D_k, and B(Gamma) of Corollary 9 (`corollaryit`).

    The learners are linear there, so these are linear models, in logistic or squared loss, whatever the booster trains.
    Of several classes each is set against the rest: the mean gap, and the largest B.
    """
    X = check_array(rows.X, accept_sparse="csr", dtype=np.float64)
    lam = float(learner.lam) if isinstance(learner, WeightedLogisticRegression) else 0.01
    kept = {"sample_domain": rows.domain, "sample_weight": weight + np.finfo(np.float64).tiny}
    if n_classes is None:
        gaps = [InstanceWeightingRegressor(lam=lam).fit(X, rows.y, **kept).gap_]
    else:
        one_against_rest = range(1, n_classes) if n_classes == 2 else range(n_classes)
        setting = InstanceWeightingClassifier(lam=lam)
        gaps = [setting.fit(X, rows.y == c, **kept).gap_ for c in one_against_rest]
    return float(np.mean([gap.value for gap in gaps])), float(max(np.max(gap.loss_bound) for gap in gaps))
