"""What the six theorems share: constants, stability bounds, and how a discrepancy enters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from gapmin.gap import RiskBound
from gapmin.linear._problem import WeightedRows
from gapmin.linear.discrepancy import y_discrepancy

Form = Literal["printed", "sharp"]


@dataclass(frozen=True)
class Constants:
    """R, rho, B and the rest, measured or given.

    `B` is the loss at the norm that every minimiser obeys, as the concentration needs it; `B_gap` the corollary's,
    which depends on the sample.
    """

    R: float
    Y: float
    radius: float
    rho: float
    B: float
    B_gap: float
    lam: float
    assumptions: tuple[str, ...]

    @property
    def change(self) -> float:
        """rho^2 R^2 / lam."""
        return self.rho**2 * self.R**2 / self.lam

    def as_dict(self, **more: float) -> dict[str, float]:
        """Return the numbers by name."""
        names = ("R", "Y", "radius", "rho", "B", "B_gap", "lam")
        return {**{name: getattr(self, name) for name in names}, **more}


class GivenConstants(NamedTuple):
    """What the user knows of the constants; None is measured."""

    R: float | None
    Y: float | None
    rho: float | None
    radius: float | None


def check_delta(delta: float, form: str) -> None:
    """Raise where a bound is asked for that there is none of."""
    if not (isinstance(delta, Real) and 0 < delta < 1):
        raise ValueError(f"delta is {delta!r}: give a probability between 0 and 1")
    if form not in ("printed", "sharp"):
        raise ValueError(f"form is {form!r}: use 'printed' or 'sharp'")


def weighted_terms(
    c: Constants, largest: float, squares: float, n_rows: float, delta: float, form: Form
) -> dict[str, float]:
    """Return stability and concentration of a loss over rows whose weights w sum to one: Theorem 6 (`maintheorem1`).

    `largest` is |w|_inf, `squares` |w|_2^2.

    Printed: with b = rho^2 R^2 / lam, ``|w|_inf b`` and ``((|w|_inf + |w|_2^2) b + |w|_inf B) sqrt(N log(1 / delta) /
    2)``. Sharp: replacing row i moves each loss by at most w_i b, so the expected excess is at most ``|w|_2^2 b``. Row
    i moves the difference of risks by at most w_i (2 b + B); the sum of squares gives ``(2 b + B) |w|_2 sqrt(log(1 /
    delta) / 2)``.
    """
    wide = float(np.sqrt(np.log(1 / delta) / 2))
    if form == "sharp":
        return {
            "stability": squares * c.change,
            "concentration": (2 * c.change + c.B) * float(np.sqrt(squares)) * wide,
        }
    return {
        "stability": largest * c.change,
        "concentration": ((largest + squares) * c.change + largest * c.B) * float(np.sqrt(n_rows)) * wide,
    }


def uniform_terms(beta: float, B: float, n_rows: float, delta: float) -> dict[str, float]:
    """Return beta and (2 N beta + B) sqrt(log(1 / delta) / (2 N)): stability with N equal rows."""
    wide = float(np.sqrt(np.log(1 / delta) / (2 * n_rows)))
    return {"stability": beta, "concentration": (2 * n_rows * beta + B) * wide}


def uniform_bound(
    c: Constants, empirical: float, beta: float, n_rows: float, delta: float, chosen: str, **constants: float
) -> RiskBound:
    """Return the bound of N equal rows; `chosen` says what must have been chosen without them."""
    return RiskBound(
        terms={"empirical": empirical, **uniform_terms(beta, c.B, n_rows, delta)},
        delta=delta,
        assumptions=(*c.assumptions, chosen),
        constants=c.as_dict(beta=beta, n_rows=n_rows, **constants),
    )


def distance(
    discrepancy: Any, name: Any, target: WeightedRows | None, source: WeightedRows | None, loss_name: str, c: Constants
) -> tuple[float, tuple[str, ...]]:
    """Return the discrepancy between the target and one source or task, NaN where nothing is known.

    `discrepancy` is a number for all, a mapping by name, "estimate" or "wasserstein" to have it computed from the
    training rows, or a `Discrepancy`.
    """
    if isinstance(discrepancy, Mapping):
        if name not in discrepancy:
            raise ValueError(f"discrepancy has no entry for {name!r}: it has {list(discrepancy)}")
        discrepancy = discrepancy[name]
    if discrepancy is None:
        return float("nan"), ("the discrepancy between the domains is unknown and left out of the total",)
    if not isinstance(discrepancy, str) and not hasattr(discrepancy, "__float__"):
        raise ValueError(
            f"discrepancy is {discrepancy!r}: give a number, a mapping by name, 'estimate', 'wasserstein' or None"
        )
    if isinstance(discrepancy, str):
        if discrepancy not in ("estimate", "wasserstein"):
            raise ValueError(
                f"discrepancy is {discrepancy!r}: use 'estimate', 'wasserstein', a number, a mapping or None"
            )
        if target is None or source is None:
            raise ValueError(
                "the training rows were not saved with this estimator: pass a number from y_discrepancy, or fit again"
            )
        discrepancy = y_discrepancy(
            (target.X, target.y, target.weight),
            (source.X, source.y, source.weight),
            loss=loss_name,
            radius=c.radius,
            rho=c.rho,
            method=discrepancy,
            fit_intercept=False,  # the constant feature is among the columns
        )
    assumptions = tuple(getattr(discrepancy, "assumptions", ()))
    value = float(discrepancy)
    if not value >= 0:
        raise ValueError(f"discrepancy is {value}: give a number of at least 0")
    return value, assumptions
