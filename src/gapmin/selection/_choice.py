"""From the losses of a search to a choice, and what speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapmin._statistics import TTest, corrected_t_test
from gapmin.selection._candidates import METHODS
from gapmin.selection._kinship import standard_errors_needed
from gapmin.selection._search import Search, Trial


@dataclass(frozen=True)
class TransferVerdict:
    """Whether the sources are used, and on what evidence; `str` says it in a sentence or two.

    Attributes
    ----------
    transfers : bool
        Whether the model that was chosen uses any source.
    method : str
        "target only", "pooling", "gap weighting" or "gapBoost"; of a blend the one that has most of the weight.
    chosen : str
        The model in one line.
    error, target_only_error : float
        Cross-validated on the target's rows, of the model chosen and of the best without sources: the share of wrong
        classes, or the root of the mean squared error.
    loss, target_only_loss : float
        The same in the smooth loss by which models are chosen: half the Brier score, or the squared error in units of
        the target's variance.
    difference : float
        The loss of the model chosen, or where it has no sources of the best that has, less that of the best without.
    low, high : float
        Its 95% interval by the corrected resampled t-test.
    p_value : float
        Of the same test. The model was chosen as the best of many on the same rows, which makes it look somewhat better
        than it is: read it as a description, not as a proof.
    n_target, n_source : int
        Rows.
    kinship : float
        How well target and sources predict each other, of the source closest to the target: about 1 for one and the
        same domain, 0 for strangers, below 0 for labels turned round. NaN where it was not measured.
    """

    transfers: bool
    method: str
    chosen: str
    error: float
    target_only_error: float
    loss: float
    target_only_loss: float
    difference: float
    low: float
    high: float
    p_value: float
    n_target: int
    n_source: int
    kinship: float = np.nan

    def __str__(self) -> str:
        rows = f"{self.n_target} target rows"
        if self.n_source == 0:
            return f"There is no source: a model of the {rows} alone."
        evidence = (
            f"the loss on held-out target rows changes by {self.difference:+.3g} "
            f"(95% interval {self.low:+.3g} to {self.high:+.3g}, p = {self.p_value:.2g})"
        )
        if not self.transfers:
            if np.isnan(self.difference):
                return "The sources are left out: none of the methods asked for can use them."
            if self.difference < 0:
                kin = f" at a kinship of {self.kinship:.2f} of 1" if np.isfinite(self.kinship) else ""
                return f"The sources are left out: with the best use of them {evidence}, too little to trust them{kin}."
            return f"The sources are left out: even with the best use of them {evidence}."
        if self.difference >= 0:
            return (
                f"The sources are used ({self.method}) for their kinship, {self.kinship:.2f} of 1: they and the target "
                f"predict each other well, although {evidence}."
            )
        clear = "clearly" if self.high < 0 else "may"
        return (
            f"The sources {clear} help ({self.method}): {evidence}; the best of many on these rows, which flatters it."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"sentence": str(self)}


def beats(one: Trial[Any], other: Trial[Any], n_standard_errors: float) -> bool:
    """Whether a trial's loss is lower than another's by more than so many standard errors of their difference.

    The standard error is that of the one-standard-error rule: the spread of the folds of all repeats, over the root of
    their number. Folds that share rows are not independent, so it is smaller than the truth; `evidence` corrects that.
    """
    gain = other.less(one)
    return bool(gain.mean() > n_standard_errors * gain.std(ddof=1) / np.sqrt(gain.size))


class Choice(NamedTuple):
    """What was chosen, the best without sources, and the best with them, None where there is none."""

    chosen: Trial[Any]
    alone: Trial[Any]
    best: Trial[Any] | None


def choose_blend(search: Search, trials: Sequence[Trial[Any]], n_standard_errors: float = 1.0) -> Choice:
    """Choose between two blends: of those without sources, and of those with them.

    The first, unless the second has a loss that is lower by more than the standard errors needed of the paired
    difference.
    """
    alone = search.blend([each for each in trials if each.is_target_only])
    others = [each for each in trials if not each.is_target_only]
    if not others:
        return Choice(alone, alone, None)
    best = search.blend(others)
    needed = standard_errors_needed(n_standard_errors, kinship_of(search))
    return Choice(best if beats(best, alone, needed) else alone, alone, best)


def kinship_of(search: Search) -> float | None:
    """Return the kinship of the closest source, None where it was not measured."""
    return None if search.source_rows is None else search.source_rows.closest


def choose_one(trials: Sequence[Trial[Any]], n_standard_errors: float = 1.0, kinship: float | None = None) -> Choice:
    """Choose one by the one-standard-error rule in favour of the simpler.

    Without sources, unless the best with sources has a loss that is lower by more than the standard errors needed of
    the paired difference. Then the simplest method that is within one standard error of that best; within a method the
    lowest loss.
    """
    alone = min((each for each in trials if each.is_target_only), key=lambda each: each.mean_loss)
    others = [each for each in trials if not each.is_target_only]
    if not others:
        return Choice(alone, alone, None)
    best = min(others, key=lambda each: each.mean_loss)
    needed = standard_errors_needed(n_standard_errors, kinship)
    if not beats(best, alone, needed):
        return Choice(alone, alone, best)
    near = [each for each in others if not beats(best, each, n_standard_errors)]
    simplest = min(METHODS.index(each.candidate.method) for each in near)
    chosen = min(
        (each for each in near if METHODS.index(each.candidate.method) == simplest), key=lambda each: each.mean_loss
    )
    # The simplest need not itself beat the target alone by enough: then the best, which does.
    return Choice(chosen if beats(chosen, alone, needed) else best, alone, best)


def evidence(search: Search, one: Trial[Any], other: Trial[Any]) -> TTest:
    """Test one trial against another over the folds of the repeats that both took part in."""
    n_target = search.data.target.size
    n_test = n_target / search.n_splits
    return corrected_t_test(one.less(other), n_train=n_target - n_test, n_test=n_test)


def verdict(search: Search, choice: Choice, n_target: int, n_source: int) -> TransferVerdict:
    """Say what was chosen, and what speaks for it or, where the sources are left out, against them."""
    chosen, alone, best = choice
    kin = kinship_of(search)
    test = None if best is None else evidence(search, best if chosen is alone else chosen, alone)
    low, high = (np.nan, np.nan) if test is None else test.interval(0.95)
    return TransferVerdict(
        transfers=chosen is not alone,
        method=chosen.candidate.method,
        chosen=str(chosen.candidate),
        error=search.data.shown_error(chosen.errors),
        target_only_error=search.data.shown_error(alone.errors),
        loss=chosen.mean_loss,
        target_only_loss=alone.mean_loss,
        difference=np.nan if test is None else test.mean,
        low=low,
        high=high,
        p_value=np.nan if test is None else test.p_value,
        n_target=n_target,
        n_source=n_source,
        kinship=np.nan if kin is None else kin,
    )
