"""What a comparison found, to be shown by whoever shows it, and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gapmin._utils.json_values import to_json
from gapmin.transfer import Evidence, Score
from gapmin.transfer.importance import ColumnImportance

from .curve import LabelSaving
from .drift import ColumnDrift
from .metrics import ClassScores, MethodScore, StudyMetric, ValueScores

NESTED, SHARED_ROWS = "nested", "not nested"
FORMAT = 2
"""Of the JSON; `docs/compare-schema.json` describes it."""


@dataclass(frozen=True)
class LearningCurve:
    """The metric by the number of target rows that train.

    Attributes
    ----------
    sizes : tuple of int
        Ascending; the last is what the folds train on.
    scores : dict of method to tuple of Score
        At each size.
    """

    sizes: tuple[int, ...]
    scores: dict[str, tuple[Score, ...]]


@dataclass(frozen=True)
class Summary:
    """The answer in plain words.

    Attributes
    ----------
    decision : str
        Which sources to use, which to leave out, and of which nothing is known.
    how_sure : str
        The odds, in a sentence.
    effect : str
        What the model gains over the target alone, in units of the metric.
    next_steps : tuple of str
        What to do next, a sentence each.
    """

    decision: str
    how_sure: str
    effect: str
    next_steps: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The decision and the effect."""
        return f"{self.decision} {self.effect}"


@dataclass(frozen=True)
class StudyComparison:
    """Everything that a comparison found. All errors are of one protocol: no number is there with two values.

    Attributes
    ----------
    summary : Summary
        The answer in sentences.
    warnings : tuple of str
        Where the model is of no use although a number looks good.
    target_name, label, task : str
        What was compared.
    n_target : int
        Labelled rows of the target.
    n_columns, n_features : int
        Columns used, and numbers that were made of them.
    source_sizes : dict of name to int
        Rows of each source.
    evidence : Evidence
        Of `Transfer*CV` on all rows: what `gapmin fit` and `rank_sources` say too.
    protocol : "nested" or "not nested"
        How the scores were measured: all that `gapmin fit` does was done without the rows that are tested; or, in a
        quick comparison, the weights of the sources were chosen by the same rows.
    simplified : tuple of str
        What a quick comparison, or one with a time limit, left out.
    metric : StudyMetric
        What the scores are.
    scores : tuple of MethodScore
        Of the baseline, the target alone, all sources and the model.
    details : ClassScores or ValueScores
        Of the model on the same rows.
    importance : tuple of ColumnImportance
        The largest first; empty where it was not measured.
    curve : LearningCurve or None
        Where a source is used.
    saving : LabelSaving or None
        Read off the curve.
    drift : tuple of ColumnDrift
        The label, then the columns, those that differ most first.
    notes : tuple of str
        What was decided and done with the files.
    n_splits, random_state : int
        How it was run.
    seconds : float
        How long it took.
    """

    summary: Summary
    warnings: tuple[str, ...]
    target_name: str
    label: str
    task: str
    n_target: int
    n_columns: int
    n_features: int
    source_sizes: dict[str, int]
    evidence: Evidence
    protocol: str
    simplified: tuple[str, ...]
    metric: StudyMetric
    scores: tuple[MethodScore, ...]
    details: ClassScores | ValueScores
    importance: tuple[ColumnImportance, ...]
    curve: LearningCurve | None
    saving: LabelSaving | None
    drift: tuple[ColumnDrift, ...]
    notes: tuple[str, ...]
    n_splits: int
    random_state: int
    seconds: float

    @property
    def headline(self) -> str:
        """What to do, in a sentence or two."""
        return self.summary.headline

    def score_of(self, method: str) -> MethodScore:
        """Return how a method did.

        Parameters
        ----------
        method : str
            The name of a method.
        """
        return next(each for each in self.scores if each.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON knows: what is not finite becomes None.

        The evidence has no scores of its own here: those are of the rows that chose the weights, and the ones to quote
        are in `scores`.
        """
        evidence = self.evidence.to_dict()
        for part in ("headline", "model", "change", "baseline", "metrics"):
            del evidence[part]
        for each in evidence["hypotheses"]:
            del each["scores"]
        found = to_json(asdict(self) | {"evidence": evidence})
        return {"format": FORMAT, "headline": self.headline, "verdict": self.evidence.verdict, **found}
