"""The order of the examples: from what a newcomer wants to what few need."""

from __future__ import annotations

IN_ORDER = (
    "plot_will_it_help.py",
    "plot_reversed_labels.py",
    "plot_another_level.py",
    "plot_many_sources.py",
    "plot_which_rows.py",
    "plot_honest_folds.py",
    "plot_learning_curve.py",
    "plot_weight_by_round.py",
    "plot_regression.py",
    "plot_target_share.py",
    "plot_gap_of_sources.py",
    "plot_risk_bound.py",
    "plot_gap_weighting.py",
    "plot_task_relation.py",
)


class InOrder:
    """Sort by the list above; what is not on it is an error."""

    def __init__(self, source_folder: str) -> None:
        self.source_folder = source_folder

    def __call__(self, name: str) -> int:
        return IN_ORDER.index(name)
