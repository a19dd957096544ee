"""Several ways of training together: their predictions averaged, with weights found on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.typing import Array
from gapmin.selection._blended import BlendedClassifier, BlendedRegressor
from gapmin.selection._candidates import METHODS, TARGET_ONLY, Candidate

_N_VOTES = 20
_FEWEST_VOTES = 2


def greedy_weights(predicted: Array, loss: Callable[[Array], float], first: Array | float = 0.0) -> Array:
    """Return the members' weights in a mean with a low loss: ensemble selection (Caruana and others, 2004).

    There are twenty votes. One after the other goes to the member with which the mean of all votes so far has the
    lowest loss; a member may have several. Who has one alone is left out: it costs a fit and changes next to nothing.

    Parameters
    ----------
    predicted : ndarray of shape (n_members, ...)
    loss : callable
        Of a mean of the members.
    first : ndarray of shape (n_members,), default=0
        Votes that members have to begin with, of the twenty.

    Examples
    --------
    >>> predicted = np.array([[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]])
    >>> greedy_weights(predicted, lambda mean: float(((mean - 0.5) ** 2).mean())).round(2).tolist()
    [0.5, 0.5, 0.0]
    """
    votes = np.zeros(len(predicted)) + first
    total = np.tensordot(votes, predicted, axes=1)
    for n_votes in range(int(votes.sum()) + 1, _N_VOTES + 1):
        chosen = int(np.argmin([loss((total + each) / n_votes) for each in predicted]))
        votes[chosen] += 1
        total += predicted[chosen]
    votes[votes < min(_FEWEST_VOTES, votes.max())] = 0
    return votes / votes.sum()


@dataclass(frozen=True)
class Blend:
    """A weighted mean of candidates, that is asked what a candidate is asked.

    Attributes
    ----------
    members : tuple of Candidate
        The heaviest first.
    weights : tuple of float
        They sum to one.
    """

    members: tuple[Candidate, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, members: Sequence[tuple[Candidate, float]]) -> Self:
        """Return the blend of candidates with their weights."""
        ordered = sorted(members, key=lambda member: -member[1])
        return cls(tuple(candidate for candidate, _ in ordered), tuple(float(weight) for _, weight in ordered))

    @classmethod
    def mean_of(cls, one: Candidate | Blend, other: Candidate | Blend, share: float) -> Self:
        """Return the mean of two, each a candidate or a blend, of which the first has that share of the weight."""
        pairs = []
        for each, part in ((one, share), (other, 1 - share)):
            blend = each if isinstance(each, Blend) else Blend((each,), (1.0,))
            pairs += [(member, part * weight) for member, weight in zip(blend.members, blend.weights, strict=True)]
        return cls.of(pairs)

    @property
    def method(self) -> str:
        """The method that has most of the weight; of those with sources, if any."""

        def weight(method: str) -> float:
            return sum(w for each, w in zip(self.members, self.weights, strict=True) if each.method == method)

        with_sources = [method for method in METHODS if method != TARGET_ONLY and weight(method) > 0]
        return max(with_sources or METHODS, key=weight)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of each member, with its weight."""
        parts = zip(self.members, self.weights, strict=True)
        return {"method": self.method, "blend": [{**each.params, "weight": weight} for each, weight in parts]}

    def final(self, domain: NDArray[np.int64], seed: int, *, thorough: bool = True) -> Any:
        """Return the estimator for the last fit, as a candidate does."""
        kind: Any = BlendedRegressor if self.members[0].is_regression else BlendedClassifier
        members = [each.final(domain, seed + k, thorough=thorough) for k, each in enumerate(self.members)]
        return kind(members, weights=list(self.weights))

    def __str__(self) -> str:
        return " + ".join(f"{weight:.2f} {each}" for each, weight in zip(self.members, self.weights, strict=True))
