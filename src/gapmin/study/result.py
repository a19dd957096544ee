"""What a comparison found, to be shown by whoever shows it, and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gapmin._utils.json_values import to_json
from gapmin.selection import SourceRanking, TransferVerdict

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
    ranking : SourceRanking
    methods : tuple of MethodError
    verdict : TransferVerdict
        Of `Transfer*CV` on all rows.
    recommended : tuple of str
        The sources that the chosen model uses.
    weights : dict of name to float
        Each domain's share of the weight in the chosen model; the target goes by "target".
    curve : LearningCurve
    saving, saving_at_start : LabelSaving
        With all rows that a fold trains on, and with the fewest of the curve.
    mass : tuple of tuple of float
        Before each round of gapBoost and after the last: the share of the weight of the target, then of each source.
    notes : tuple of str
        What was decided and done with the files.
    n_splits, n_repeats, random_state, max_search_rows, fold_search_rows : int
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
    ranking: SourceRanking
    methods: tuple[MethodError, ...]
    verdict: TransferVerdict
    recommended: tuple[str, ...]
    weights: dict[str, float]
    curve: LearningCurve
    saving: LabelSaving
    saving_at_start: LabelSaving
    mass: tuple[tuple[float, ...], ...]
    notes: tuple[str, ...]
    n_splits: int
    n_repeats: int
    random_state: int
    max_search_rows: int
    fold_search_rows: int
    seconds: float

    def entry(self, method: str) -> MethodError:
        """Return how a method did."""
        return next(each for each in self.methods if each.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON knows: what is not finite becomes None."""
        names = dict(enumerate(self.source_sizes, start=1))
        return to_json(asdict(self) | {"verdict": self.verdict.to_dict(names)})
