"""What a comparison found, to be shown by whoever shows it, and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gapmin._utils.json_values import to_json
from gapmin.transfer import Evidence

COVERAGE = 0.95
"""Of the intervals of the methods' errors."""

WITHIN, EXTRAPOLATED, BEYOND, NONE = "within", "extrapolated", "beyond", "none"


@dataclass(frozen=True)
class MethodError:
    """How a method did on target rows that it was not trained on.

    Attributes
    ----------
    method : str
    error : float
        The mean over the folds: percent of wrong classes, or the root of the mean squared error.
    low, high : float
        Its 95% interval.
    difference, difference_low, difference_high, p_value : float
        The error less that of the target alone on the same folds, its 95% interval and the p-value of the corrected
        resampled t-test after Holm's correction over the methods; 0, 0, 0 and 1 for the target alone itself.
    errors : tuple of float
        Of each fold.
    """

    method: str
    error: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p_value: float
    errors: tuple[float, ...]


@dataclass(frozen=True)
class LearningCurve:
    """Error by the number of target rows that train.

    Attributes
    ----------
    sizes : tuple of int
        Ascending.
    errors : dict of method to tuple of tuple of float
        For each size the error of each fold.
    """

    sizes: tuple[int, ...]
    errors: dict[str, tuple[tuple[float, ...], ...]]

    def means(self, method: str) -> list[float]:
        """Return the mean error of a method at each size."""
        return [sum(each) / len(each) for each in self.errors[method]]


@dataclass(frozen=True)
class LabelSaving:
    """How many labelled target rows it would take without the sources to err as little as with them.

    Attributes
    ----------
    n_rows : int
        Labelled target rows that were there with the sources.
    n_needed : int
        Rows that would be needed without; of "beyond" those that would not be enough.
    kind : "none", "within", "extrapolated" or "beyond"
        No rows are saved; read off the curve; a power law carried on beyond the curve's end; more than ten times the
        rows, where no more is said.
    """

    n_rows: int
    n_needed: int
    kind: str


@dataclass(frozen=True)
class StudyComparison:
    """Everything that a comparison found.

    Attributes
    ----------
    headline : str
        What to do, in a sentence.
    target_name, label, task : str
    n_target : int
    n_columns, n_features : int
        Columns used, and numbers that they were turned into.
    source_sizes : dict of name to int
    evidence : Evidence
        Of `Transfer*CV` on all rows: what `gapmin fit` and `rank_sources` say too.
    methods : tuple of MethodError
    gaps : dict of name to dict of str to float
        The parts of the performance gap of each source.
    curve : LearningCurve
    saving, saving_at_start : LabelSaving
        With all rows that a fold trains on, and with the fewest of the curve.
    mass : tuple of tuple of float
        Before each round of gapBoost and after the last: the share of the weight of the target, then of each source.
    notes : tuple of str
        What was decided and done with the files.
    n_splits, n_repeats, random_state : int
        How it was run.
    seconds : float
    """

    headline: str
    target_name: str
    label: str
    task: str
    n_target: int
    n_columns: int
    n_features: int
    source_sizes: dict[str, int]
    evidence: Evidence
    methods: tuple[MethodError, ...]
    gaps: dict[str, dict[str, float]]
    curve: LearningCurve
    saving: LabelSaving
    saving_at_start: LabelSaving
    mass: tuple[tuple[float, ...], ...]
    notes: tuple[str, ...]
    n_splits: int
    n_repeats: int
    random_state: int
    seconds: float

    def entry(self, method: str) -> MethodError:
        """Return how a method did."""
        return next(each for each in self.methods if each.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON knows: what is not finite becomes None."""
        return to_json(asdict(self) | {"evidence": self.evidence.to_dict()})
