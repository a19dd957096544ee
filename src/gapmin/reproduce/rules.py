"""Which of the paper's rules for weights a booster follows, measured on one split of a small problem (Table 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin.datasets import load_digits_transfer
from gapmin.linear import InstanceWeightingClassifier

from .cells import Cell, Measured
from .transfer import method

PROBLEM = "digits -> mnist, odd"
ETA = 0.25
"""The share of the penalty that source and target have in the gap: the default of the library."""
ROUNDS = 20


def measure(cell: Cell) -> Measured:
    """Measure what the four rules speak of at the start and at the end of the boosting; the error is the test error.

    Notes
    -----
    1. The logistic loss of each round's learner under the weights it was trained with. Also that of the learner of the
       round before under the same weights. Both are averaged over the rounds from the second on.
    2. The largest weight of a row after any round, and 1 / sqrt(N_T).
    3. The target's share of the weight at the end, and when all rows weigh the same.
    4. The performance gap of Definition 5 (`it`) under the weights at hand, those of the start and those of the end,
       with the logistic loss, the penalty of the learner and the eta of the cell.
    """
    problem = load_digits_transfer("digits", binary=True)
    split = problem.split(cell.split, random_state=cell.seed)
    is_target = split.sample_domain < 0

    def after(n_rounds: int) -> Any:
        booster = method(cell.method, {"resample": False}, cell.random_state).set_params(n_estimators=n_rounds)
        return booster.fit(split.X, split.y, sample_domain=split.sample_domain)

    # Trained with weights a booster draws no random numbers: the first k rounds are the same however many follow.
    stages = [after(k) for k in range(1, ROUNDS + 1)]
    last, uniform = stages[-1].sample_weight_, np.full(split.y.size, 1 / split.y.size)

    learners = stages[-1].estimators_
    losses = [np.logaddexp(0, -np.where(split.y == 1, 1, -1) * each.decision_function(split.X)) for each in learners]
    weights = [stage.sample_weight_ for stage in stages[: len(learners) - 1]]

    found = {
        "loss_before": float(np.mean([weight @ loss for weight, loss in zip(weights, losses, strict=False)])),
        "loss_after": float(np.mean([weight @ loss for weight, loss in zip(weights, losses[1:], strict=True)])),
        "largest_weight": max(float(stage.sample_weight_.max()) for stage in stages),
        "cap": float(1 / np.sqrt(is_target.sum())),
        "target_share": float(last[is_target].sum()),
        "target_rows": float(is_target.mean()),
        "gap_first": weighted_gap(split.X, split.y, split.sample_domain, uniform, cell.values["eta"]),
        "gap_last": weighted_gap(split.X, split.y, split.sample_domain, last, cell.values["eta"]),
    }
    error = 100 * float(np.mean(stages[-1].predict(split.X_test) != split.y_test))
    return Measured(error, found, int(is_target.sum()), split.y_test.size)


def weighted_gap(
    X: NDArray[Any], y: NDArray[Any], sample_domain: NDArray[Any], weight: NDArray[np.float64], eta: Any
) -> float:
    """Return the performance gap between source and target when every row has its weight."""
    model = InstanceWeightingClassifier(eta=eta)
    return float(model.fit(X, y, sample_domain=sample_domain, sample_weight=weight).gap_.value)


def follows(parts: dict[str, float]) -> dict[str, bool]:
    """Tell which rules hold on one split."""
    return {
        "Rule 1": parts["loss_after"] < parts["loss_before"],
        "Rule 2": parts["largest_weight"] <= parts["cap"],
        "Rule 3": parts["target_share"] > parts["target_rows"],
        "Rule 4": parts["gap_last"] < parts["gap_first"],
    }
