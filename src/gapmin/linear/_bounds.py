"""What the six theorems share: constants, stability bounds, and how a discrepancy enters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from gapmin.linear._losses import Loss
from gapmin.linear._problem import Rows
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


class Given(NamedTuple):
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


def find_constants(
    loss: Loss,
    given: Given,
    *,
    measured_R: float,
    measured_Y: float,
    measured_rho: float,
    norm: float,
    gap_norm_bound: float,
    lam: float,
    default_radius: Any,
    regression: bool,
) -> Constants:
    """Collect the constants of a theorem; what is not given is measured on the training rows, and said to be.

    `default_radius` makes the norm that every minimiser obeys from the largest loss at 0, R and Y.
    """
    R, Y, rho, radius = given
    assumptions = []
    for name, value, measured in (("R", R, measured_R), ("Y", Y, measured_Y)):
        if value is not None and not value >= measured * (1 - 1e-12):
            raise ValueError(f"{name} is {value}, below the {measured:.6g} of the training rows: give a true bound")
    if R is None:
        assumptions.append(f"||x|| <= R = {measured_R:.4g} for every row, the constant feature counted (measured here)")
    else:
        assumptions.append(f"||x|| <= R = {R:.4g} for every row, the constant feature counted")
    R, given_Y = (measured_R if R is None else float(R)), Y
    Y = measured_Y if Y is None else float(Y)
    if regression:
        assumptions.append(f"|y| <= Y = {Y:.4g} for every row" + ("" if given_Y is not None else " (measured here)"))
    every = float(default_radius(R, Y))
    if radius is None:
        radius = every
    elif not radius >= norm * (1 - 1e-12):
        raise ValueError(f"radius is {radius}, below the norm {norm:.6g} of the solution: give a larger one")
    if radius < every:
        assumptions.append(f"no minimiser is longer than {radius:.4g}; for every sample only {every:.4g} is known")
    else:
        assumptions.append(f"H is the ball of radius {radius:.4g}, which every minimiser obeys")
    if rho is None:
        rho = loss.lipschitz(R * radius, Y)
    elif not rho >= measured_rho * (1 - 1e-12):
        raise ValueError(
            f"rho is {rho}, below the slope {measured_rho:.6g} of a training row's loss: give a true bound"
        )
    assumptions.append("the rows are independent draws from their domains")
    return Constants(
        R=R,
        Y=Y,
        radius=radius,
        rho=float(rho),
        B=loss.at_most(R * radius, Y),
        B_gap=loss.at_most(R * gap_norm_bound, Y),
        lam=lam,
        assumptions=tuple(assumptions),
    )


def weighted_terms(
    c: Constants, largest: float, squares: float, n_rows: float, delta: float, form: Form
) -> dict[str, float]:
    """Return stability and concentration of a loss over rows whose weights w sum to one (Theorem 1).

    `largest` is |w|_inf, `squares` |w|_2^2.

    Printed: with b = rho^2 R^2 / lam,
    ``|w|_inf b`` and ``((|w|_inf + |w|_2^2) b + |w|_inf B) sqrt(N log(1 / delta) / 2)``.
    Sharp: replacing row i moves each loss by at most w_i b, so the expected excess is at most ``|w|_2^2 b`` and row i
    moves the difference of risks by at most w_i (2 b + B); the sum of squares gives
    ``(2 b + B) |w|_2 sqrt(log(1 / delta) / 2)``.
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


def distance(
    discrepancy: Any, name: Any, target: Rows | None, source: Rows | None, loss_name: str, c: Constants
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
