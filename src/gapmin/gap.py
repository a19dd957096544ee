"""The result that every bound returns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RiskBound"]


@dataclass(frozen=True)
class RiskBound:
    """A bound on the target risk: the right-hand side of a theorem, term by term.

    Attributes
    ----------
    terms : dict of str to float
        Each term by name; the empirical one included.
    delta : float
        The bound holds with probability 1 - delta.
    assumptions : tuple of str
        What has to be true for it to hold, and where this fit departs from it.
    constants : dict of str to float
        What the terms were computed from.
    """

    terms: dict[str, float]
    delta: float
    assumptions: tuple[str, ...]
    constants: dict[str, float]

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())
