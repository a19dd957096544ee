"""From the losses of a search to a choice, and what speaks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapmin._utils.statistics import TTest, corrected_t_test
from gapmin.selection._blend import Blend
from gapmin.selection._candidates import METHODS, TARGET_ONLY, Candidate
from gapmin.selection._held_out import Trial
from gapmin.selection._kinship import BY_CHANCE
from gapmin.selection._search import Search
from gapmin.selection._witnesses import in_standard_errors
from gapmin.transfer._columns import is_match

_IN_DOUBT, _SURE = 4.0, 10.0
"""The support of sources, in standard errors, up to which doubt is largest, and from which on there is none."""

_LEAST_SHARE, _SMALL_DOUBT = 0.4, 0.05
"""The share of the model with sources where doubt is largest; doubt that costs fits and changes nothing."""


@dataclass(frozen=True)
class TransferVerdict:
    """Whether the sources are used, and on what evidence; `str` says it in a sentence or two.

    Attributes
    ----------
    transfers : bool
        Whether the model that was chosen uses any source.
    method : str
        "target only", "pooling", "gap weighting" or "gapBoost"; of a blend with sources the one of those
        that has most of the weight.
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
        How well models of the sources alone predict the target, as a share of how well they predict the sources: about
        1 for one and the same domain, 0 for strangers and for sources of too few rows to say (20 with five folds),
        below 0 for labels turned round. Of several sources the least of those that `gain` is of, or their mean where
        these were too many to ask each by itself. NaN where nobody was asked.
    gain, gain_needed : float
        What decides: by how many standard errors over the folds the same learners do better with the sources than
        without, and by how many they must, which is the less the closer the sources are, and the more, the less their
        columns look like the target's. Of several sources those that are used, or else those that come off best. NaN
        where the methods asked for do not tell.
    doubt : float
        How much of the say a model without sources has beside one with them: from 0 where gain, kinship and columns
        all speak for these, to three fifths where they do so only just or a little more. Always 0 with `blend=False`.
    column_likeness : float
        How far the columns of these sources look like the target's, by their means and correlations: 1 where they
        surely do, 0 where there is no telling, and from there down to -1, where they do not and would if they were the
        same. Below -0.1 more is asked of the sources, most from -0.5 on.
    columns_match : bool or None
        The same in a word: True for 1, False for -0.9 and less, which may mean that they are in another order, and
        None between them.
    other_columns : tuple of int
        All sources whose columns do not look like the target's.
    left_out : tuple of int
        The sources without any weight, where others have some.
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
    gain: float = np.nan
    gain_needed: float = np.nan
    doubt: float = 0.0
    column_likeness: float = 0.0
    other_columns: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.in_words()

    @property
    def columns_match(self) -> bool | None:
        return is_match(self.column_likeness)

    def in_words(self, source_names: Mapping[int, str] | None = None) -> str:
        """Say it in a sentence or two.

        Parameters
        ----------
        source_names : dict of int to str, optional
            What sources are called by their number in `sample_domain`; one without a name goes by its number.
        """
        said = self._said
        if self.left_out:
            said += f" Left out: {_sources(self.left_out, source_names)}."
        if self.other_columns:
            whose = _sources(self.other_columns, source_names)
            said += f" The columns of {whose} do not look like the target's: do they mean the same in both?"
        return said

    @property
    def _said(self) -> str:
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
            if self.difference >= 0:
                return f"The sources are left out: even with the best use of them {evidence}."
            return f"The sources are left out, although with the best use of them {evidence}: {self._heard}."
        if self.difference >= 0:
            return f"The sources are used ({self.method}), although {evidence}: {self._heard}."
        clear = "clearly" if self.high < 0 else "may"
        said = (
            f"The sources {clear} help ({self.method}): {evidence}; the best of many on these rows, which flatters it."
        )
        return f"{said} What counts is that {self._heard}." if np.isfinite(self.gain_needed) else said

    @property
    def _heard(self) -> str:
        """What decided, in words."""
        if not np.isfinite(self.gain_needed):
            return "that is too little to trust them"
        gain = (
            f"do {'better' if self.gain >= 0 else 'worse'} with them by {min(abs(self.gain), 99):.1f} standard errors"
        )
        asked = f"at least {self.gain_needed:+.1f} was asked at a kinship of {self.kinship:.2f} of 1"
        if self.columns_match:
            asked += " and with columns that match"
        elif self.column_likeness < -BY_CHANCE:
            asked += f" and a likeness of columns of {self.column_likeness:.2f}"
        doubt = f"; in doubt, a model without them has {100 * self.doubt:.0f}% of the say" if self.doubt > 0 else ""
        return f"the same learners {gain} ({asked}){doubt}"

    def to_dict(self, source_names: Mapping[int, str] | None = None) -> dict[str, Any]:
        """Return the attributes as plain values, and what `in_words` says."""
        values = {name: getattr(self, name) for name in (*self.__dataclass_fields__, "columns_match")}
        return values | {"sentence": self.in_words(source_names)}


def _sources(numbers: Sequence[int], names: Mapping[int, str] | None) -> str:
    if names is None:
        *others, last = map(str, numbers)
        return f"sources {', '.join(others)} and {last}" if others else f"source {last}"
    *others, last = (names.get(number, f"source {number}") for number in numbers)
    return f"{', '.join(others)} and {last}" if others else last


def beats(one: Trial[Any], other: Trial[Any], n_standard_errors: float) -> bool:
    """Whether a trial's loss is lower than another's by more than so many standard errors of their difference.

    The standard error is that of the one-standard-error rule: the spread of the folds of all repeats, over the root of
    their number. Folds that share rows are not independent, so it is smaller than the truth; `evidence` corrects that.
    """
    return in_standard_errors(other.less(one)) > n_standard_errors


class Choice(NamedTuple):
    """What was chosen, the best without sources, and the best with them, None where there is none."""

    chosen: Trial[Any]
    alone: Trial[Any]
    best: Trial[Any] | None


def is_used(search: Search, best: Trial[Any], alone: Trial[Any], n_standard_errors: float) -> bool:
    """Whether a model of trusted sources is used: yes, unless it is clearly worse than the best without.

    Where nobody was heard of the sources, it must itself win by so many standard errors.
    """
    if not search.witnesses:
        return beats(best, alone, n_standard_errors)
    return not evidence(search, best, alone).interval(0.95)[0] > 0


def choose_blend(search: Search, trials: Sequence[Trial[Any]], n_standard_errors: float) -> Choice:
    """Choose between two blends: of those with sources that are trusted, if any, and else of those without.

    In doubt it is a mean of both: a source that is wrongly trusted then does hardly any harm, and one that is rightly
    trusted more than half of its good. The one with sources has two fifths where gain, closeness and columns together
    are less than four standard errors above what is wanted, then the more the further they are, and all of it at ten or
    little less.
    """
    alone = search.blend([each for each in trials if each.is_target_only])
    others = [each for each in trials if not each.is_target_only]
    if not others:
        return Choice(alone, alone, None)
    trusted = search.trusted(trials, n_standard_errors)
    best = search.blend(trusted or others)
    if not (trusted and is_used(search, best, alone, n_standard_errors)):
        return Choice(alone, alone, best)
    heard = search.testimony(n_standard_errors).deciding
    share = 1.0 if heard is None else share_with_sources(heard.support)
    if share > 1 - _SMALL_DOUBT:
        return Choice(best, alone, best)
    return Choice(search.mean_of(best, alone, share), alone, best)


def share_with_sources(support: float) -> float:
    """Return what share of the say the model with sources has beside that without."""
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * float(np.clip((support - _IN_DOUBT) / (_SURE - _IN_DOUBT), 0, 1))


def choose_one(search: Search, trials: Sequence[Trial[Any]], n_standard_errors: float) -> Choice:
    """Choose one: the best without sources, unless the best with sources is trusted; then the simplest near that."""
    alone = min((each for each in trials if each.is_target_only), key=lambda each: each.mean_loss)
    others = [each for each in trials if not each.is_target_only]
    if not others:
        return Choice(alone, alone, None)
    trusted = search.trusted(trials, n_standard_errors)
    best = min(trusted or others, key=lambda each: each.mean_loss)
    if not (trusted and is_used(search, best, alone, n_standard_errors)):
        return Choice(alone, alone, best)
    chosen = simplest_near(best, trusted, n_standard_errors)
    # The simplest need not itself be as good as is asked: then the best, which is.
    return Choice(chosen if is_used(search, chosen, alone, n_standard_errors) else best, alone, best)


def simplest_near(best: Trial[Any], others: Sequence[Trial[Any]], n_standard_errors: float) -> Trial[Any]:
    """Return the simplest method within so many standard errors of the best; within a method the lowest loss."""
    near = [each for each in others if not beats(best, each, n_standard_errors)]
    return min(near, key=lambda each: (METHODS.index(each.candidate.method), each.mean_loss))


def _weight_alone(chosen: Candidate | Blend) -> float:
    """Return the weight of what leaves the sources out, in a model with sources."""
    if not isinstance(chosen, Blend):
        return 0.0
    return sum((w for each, w in zip(chosen.members, chosen.weights, strict=True) if each.method == TARGET_ONLY), 0.0)


def evidence(search: Search, one: Trial[Any], other: Trial[Any]) -> TTest:
    """Test one trial against another over the folds of the repeats that both took part in."""
    n_target = search.data.target.size
    n_test = n_target / search.n_splits
    return corrected_t_test(one.less(other), n_train=n_target - n_test, n_test=n_test)


def verdict(
    search: Search,
    choice: Choice,
    n_standard_errors: float,
    n_target: int,
    n_source: int,
    other_columns: Sequence[int] = (),
    left_out: Sequence[int] = (),
) -> TransferVerdict:
    """Say what was chosen, and what speaks for it or, where the sources are left out, against them."""
    chosen, alone, best = choice
    test = None if best is None else evidence(search, best if chosen is alone else chosen, alone)
    low, high = (np.nan, np.nan) if test is None else test.interval(0.95)
    heard = search.testimony(n_standard_errors).deciding
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
        kinship=np.nan if heard is None else heard.kinship,
        gain=np.nan if heard is None else heard.gain,
        gain_needed=np.nan if heard is None else heard.needed,
        doubt=0.0 if chosen is alone else _weight_alone(chosen.candidate),
        column_likeness=0.0 if heard is None else heard.column_likeness,
        other_columns=tuple(other_columns),
        left_out=tuple(left_out),
    )
