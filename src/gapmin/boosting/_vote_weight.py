"""alpha_k: the weight of a learner in the vote, given its error."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

PERFECT = -math.log(np.finfo(np.float64).eps)
"""Weight of a learner without an error, beyond that of all others together."""


def vote_weight(error: float, n_classes: int, others: Iterable[float] = ()) -> float:
    """log((1 - error) / error), plus log(n_classes - 1) for more than two classes (SAMME).

    An error of 0 (or 1) has a large finite weight (or its negative): more than all `others` together, so that the
    learner decides.

    Examples
    --------
    >>> vote_weight(0.25, 2)
    1.0986...
    >>> vote_weight(0.0, 2, [1.0, 2.0])
    39.04...
    """
    if error <= 0:
        return PERFECT + sum(abs(alpha) for alpha in others)
    if error >= 1:
        return -vote_weight(0.0, n_classes, others)
    return math.log1p(-error) - math.log(error) + math.log(n_classes - 1)
