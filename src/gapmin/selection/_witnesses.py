"""The same learners with and without a source: what says most surely whether it is of use.

The best of many candidates look better on few rows than they are, those without sources as well as those with them. A
pair that differs in the sources alone was not chosen for its loss, and the mean over learners of several kinds is
steadier than any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gapmin.selection._candidates import Candidate
from gapmin.selection._held_out import Outsider, Trial

Pair: TypeAlias = tuple[Trial[Candidate], Trial[Candidate]]
"""Of one learner, on the target alone and with sources."""

HALF = 0.5
"""The target's share of the weight in what witnesses say of sources."""


class Witnesses(NamedTuple):
    """For each kind of learner, its trial on the target alone, that with some sources, and what it says of these alone.

    Attributes
    ----------
    sources : tuple of int
        The numbers of the sources.
    pairs : tuple of pairs of Trial
        On the target alone, and with the sources.
    sources_alone : tuple of Outsider
        On the sources alone; none where these have too few rows.
    """

    sources: tuple[int, ...]
    pairs: tuple[Pair, ...]
    sources_alone: tuple[Outsider, ...] = ()

    @property
    def gain(self) -> float:
        """By how many standard errors over the folds the sources lower the loss, in the mean over the learners."""
        return in_standard_errors(np.mean([np.negative(joined.less(alone)) for alone, joined in self.pairs], axis=0))


class Heard(NamedTuple):
    """What was heard of some sources.

    Attributes
    ----------
    gain, kinship : float
    column_likeness : float
        How far their columns look like the target's: 1 if surely, -1 if not at all.
    needed : float
        The gain that is needed for them to be used.
    support : float
        By how much gain and credit together are above what is wanted: not less than the gain is above what is needed,
        for which not all of the credit may count.
    """

    gain: float
    kinship: float
    column_likeness: float
    needed: float
    support: float

    @property
    def suffices(self) -> bool:
        """Whether the sources are to be used."""
        return self.gain > self.needed


@dataclass(frozen=True)
class Testimony:
    """What was heard of several sets of sources, and what follows from it.

    Attributes
    ----------
    sources : tuple of int
        All of them.
    heard : dict of tuple of int to Heard
        Of each set of sources, those that come off best first; none where nobody was asked.
    """

    sources: tuple[int, ...]
    heard: Mapping[tuple[int, ...], Heard]

    @property
    def trusted(self) -> list[tuple[int, ...]]:
        """The sets of which enough was heard."""
        return [sources for sources, heard in self.heard.items() if heard.suffices]

    @property
    def deciding(self) -> Heard | None:
        """What was heard of all sources where they are trusted together, else of those that come off best."""
        if self.sources in self.trusted:
            return self.heard[self.sources]
        return next(iter(self.heard.values()), None)

    @property
    def worth_keeping(self) -> tuple[int, ...]:
        """The sources to go on with: all, or those of several that are trusted by themselves.

        All of them where none is trusted by itself or they were not asked one by one, and where they are trusted
        together and come off best together: two sources may be of use that are of none alone.
        """
        trusted = self.trusted
        by_themselves = tuple(number for number in self.sources if (number,) in trusted)
        if not by_themselves or trusted[0] == self.sources:
            return self.sources
        return by_themselves


def in_standard_errors(values: ArrayLike) -> float:
    """Return a mean in units of its standard error; 0 where every value is 0, infinite where all are equal.

    Examples
    --------
    >>> round(in_standard_errors([0.0, 2.0, 4.0, 6.0]), 3)
    2.324
    """
    values = np.asarray(values, dtype=float)
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if np.ptp(values) == 0:  # asked here: the spread of equal values need not round to 0
        return float(np.sign(mean)) * np.inf if mean else 0.0
    return mean / (spread / float(np.sqrt(values.size)))


def best_of_each_kind(alone: Iterable[Trial[Candidate]], joined: Iterable[Trial[Candidate]]) -> list[Pair]:
    """Return the pairs of trials of one learner: of each kind the learner with the lowest loss in both together."""
    partner = {id(each.candidate.learner): each for each in alone}
    pairs = [(partner[id(each.candidate.learner)], each) for each in joined if id(each.candidate.learner) in partner]
    pairs.sort(key=lambda pair: pair[0].mean_loss + pair[1].mean_loss, reverse=True)
    return list({each.candidate.kind: (without, each) for without, each in pairs}.values())  # the last one counts
