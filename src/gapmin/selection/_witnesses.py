"""The same learners with and without a source: what says most surely whether it is of use.

The best of many candidates look better on few rows than they are, those without sources as well as those with them. A
pair that differs in the sources alone was not chosen for its loss, and the mean over learners of several kinds is
steadier than any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from gapmin.selection._candidates import Candidate
    from gapmin.selection._search import Trial

HALF = 0.5
"""The target's share of the weight in what witnesses say of sources."""


class Witnesses(NamedTuple):
    """For each kind of learner, its trial on the target alone and that with some sources.

    Attributes
    ----------
    sources : tuple of int
        The numbers of the sources.
    pairs : tuple of pairs of Trial
    """

    sources: tuple[int, ...]
    pairs: tuple[tuple[Trial[Candidate], Trial[Candidate]], ...]

    @property
    def gain(self) -> float:
        """By how many standard errors over the folds the sources lower the loss, in the mean over the learners."""
        return in_standard_errors(np.mean([np.negative(joined.less(alone)) for alone, joined in self.pairs], axis=0))


class Heard(NamedTuple):
    """What was heard of some sources.

    Attributes
    ----------
    gain, kinship : float
    columns_match : bool or None
        Whether their columns are those of the target; None where there is no telling.
    needed : float
        The gain that is needed for them to be used.
    """

    gain: float
    kinship: float
    columns_match: bool | None
    needed: float

    @property
    def suffices(self) -> bool:
        """Whether the sources are to be used."""
        return self.gain > self.needed


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


def best_of_each_kind(
    alone: Iterable[Trial[Candidate]], joined: Iterable[Trial[Candidate]]
) -> list[tuple[Trial[Candidate], Trial[Candidate]]]:
    """Return the pairs of trials of one learner: of each kind the learner with the lowest loss in both together."""
    partner = {id(each.candidate.learner): each for each in alone}
    pairs = [(partner[id(each.candidate.learner)], each) for each in joined if id(each.candidate.learner) in partner]
    pairs.sort(key=lambda pair: pair[0].mean_loss + pair[1].mean_loss, reverse=True)
    return list({each.candidate.kind: (without, each) for without, each in pairs}.values())  # the last one counts
