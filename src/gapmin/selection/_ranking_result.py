"""The ranking of sources as a result: to read, to draw, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapmin._utils.json_values import to_json
from gapmin._utils.statistics import TTest
from gapmin.selection._trials import SubsetStep

HELPS, NEUTRAL, HURTS = "helps", "neutral", "hurts"
TOGETHER = "all together"


@dataclass(frozen=True)
class Change:
    """What adding a source changes, over the folds of the target: below 0 is better.

    Attributes
    ----------
    mean : float
    low, high : float
        The ends of its interval.
    p_value : float
        Of the corrected resampled t-test that nothing changes.
    """

    mean: float
    low: float
    high: float
    p_value: float

    @classmethod
    def of(cls, test: TTest, level: float) -> Change:
        """Return the change that a test was made of."""
        return cls(test.mean, *test.interval(level), test.p_value)


@dataclass(frozen=True)
class RankedSource:
    """What is known of one source, or of several taken together.

    Attributes
    ----------
    name : str
    n_rows : int
        Used, which is fewer than given under `max_source_rows`.
    gap : float or None
        The performance gap of instance weighting, half of the weight on the target; None where X is not numeric.
    gap_parts : dict of str to float, or None
        What it is the sum of: "source" and "target".
    error, loss : float
        Of the target's cross-validation with the source added: percent wrong and half the Brier score of classes, root
        mean squared error and squared error over the target's variance of numbers.
    error_change, loss_change : Change
        Against the target alone on the same folds.
    kept_weight : float
        The share of its weight that gapBoost, fitted to all sources with its printed settings, lets it keep; above 1
        where it gains. A hint, not a proof: rows that the ensemble gets wrong gain weight in any source.
    verdict : "helps", "neutral" or "hurts"
        Where the interval of `loss_change` is: below 0, around it or above.
    """

    name: str
    n_rows: int
    gap: float | None
    gap_parts: dict[str, float] | None
    error: float
    error_change: Change
    loss: float
    loss_change: Change
    kept_weight: float
    verdict: str


@dataclass(frozen=True)
class SourceRanking:
    """The sources of a target, best first: by the change of the smooth loss.

    Attributes
    ----------
    sources : tuple of RankedSource
    together : RankedSource
        All sources at once.
    best_subset : tuple of str
        The sources that a forward search would use, in the order it took them; empty for the target alone.
    subset_path : tuple of SubsetStep
        Its steps, with the one that ended it.
    target_error, target_loss : float
        Of the target alone.
    task : "classification" or "regression"
    level : float
        Of the intervals.
    n_target : int
    notes : tuple of str
        What a reader should know: rows left out, classes that only a source has.
    """

    sources: tuple[RankedSource, ...]
    together: RankedSource
    best_subset: tuple[str, ...]
    subset_path: tuple[SubsetStep, ...]
    target_error: float
    target_loss: float
    task: str
    level: float
    n_target: int
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> RankedSource:
        """Return the source of that name."""
        for each in self.sources:
            if each.name == name:
                return each
        raise KeyError(f"there is no source {name!r}: choose from {[each.name for each in self.sources]}")

    def to_frame(self) -> Any:
        """Return a row for each source, best first, as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_frame makes a table of pandas: pip install "gapmin[cli]"') from error
        return pd.DataFrame([_flat(each) for each in self.sources])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON knows: what is not finite becomes None."""
        return to_json(asdict(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the change of the loss with its interval for each source, and return the `RankingDisplay`."""
        from gapmin.plotting.ranking_displays import RankingDisplay

        return RankingDisplay.from_ranking(self, ax=ax)

    def summary(self) -> str:
        """Return in a sentence which sources to use, and which hurt."""
        unit = "%" if self.task == "classification" else ""
        if self.best_subset:
            best = [step for step in self.subset_path if step.kept][-1]
            verb = "falls" if best.error < self.target_error else "goes"
            said = (
                f"Use {_listed(self.best_subset)}: the error of the target {verb} "
                f"from {self.target_error:.3g}{unit} to {best.error:.3g}{unit}"
            )
        else:
            said = f"Use the target alone: no source makes its error of {self.target_error:.3g}{unit} clearly smaller"
        hurting = [each.name for each in self.sources if each.verdict == HURTS]
        return said + (f"; {_listed(hurting)} would hurt." if hurting else ".")

    def __str__(self) -> str:
        unit = "%" if self.task == "classification" else ""
        head = ("source", "rows", "gap", "error", "change", f"change of loss, {100 * self.level:g}%", "kept", "verdict")
        shown = [*self.sources, *([self.together] if len(self.sources) > 1 else [])]
        lines: list[tuple[str, ...]] = [
            ("target alone", f"{self.n_target:,}", "", f"{self.target_error:.3g}{unit}", "", "", "", "")
        ]
        lines += [_line(each, unit) for each in shown]
        widths = [max(len(row[k]) for row in [head, *lines]) for k in range(len(head))]
        table = [
            "  ".join(
                cell.ljust(width) if k in (0, len(head) - 1) else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [head, *lines]
        ]
        return "\n".join([*table, "", self.summary(), *(f"Note: {note}." for note in self.notes)])


def _flat(source: RankedSource) -> dict[str, Any]:
    parts = source.gap_parts or {"source": np.nan, "target": np.nan}
    row: dict[str, Any] = {"source": source.name, "n_rows": source.n_rows}
    row |= {"gap": np.nan if source.gap is None else source.gap}
    row |= {f"gap_{part}": value for part, value in parts.items()}
    for what in ("error", "loss"):
        change = getattr(source, f"{what}_change")
        row |= {what: getattr(source, what), f"{what}_change": change.mean}
        row |= {f"{what}_{end}": getattr(change, end) for end in ("low", "high", "p_value")}
    return row | {"kept_weight": source.kept_weight, "verdict": source.verdict}


def _line(source: RankedSource, unit: str) -> tuple[str, ...]:
    change = source.loss_change
    return (
        source.name,
        f"{source.n_rows:,}",
        "" if source.gap is None else f"{source.gap:.3g}",
        f"{source.error:.3g}{unit}",
        f"{source.error_change.mean:+.2g}",
        f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})",
        f"{100 * source.kept_weight:.0f}%",
        source.verdict,
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
