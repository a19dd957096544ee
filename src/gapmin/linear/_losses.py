"""The losses of the paper, written once: value, gradient, curvature, and the constants that the bounds need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gapmin._utils.typing import Array


@dataclass(frozen=True)
class Kinks:
    """A piecewise linear loss as the largest of a * (bend - sign * score) over low <= a <= high, row by row."""

    sign: Array
    bend: Array
    low: Array
    high: Array


class Loss(ABC):
    """A convex loss of a real score h(x) and a label y; labels of classes are -1 and 1.

    `R` is the largest norm of a row, `radius` that of a hypothesis, `Y` the largest label in size, so that
    ``size = R * radius`` is the largest score.
    """

    smooth: bool
    most_curved: float = 0.0
    """No curvature of a smooth loss is larger."""

    @abstractmethod
    def value(self, score: Array, y: Array) -> Array:
        """Return the loss of each row."""

    @abstractmethod
    def gradient(self, score: Array, y: Array) -> Array:
        """Return its derivative in the score; at a kink, the one on the side of the larger loss."""

    def curvature(self, score: Array, y: Array) -> Array:
        """Return its second derivative in the score: 0 but for a smooth loss."""
        return np.zeros_like(score)

    def lipschitz(self, size: float, Y: float) -> float:
        """Return rho: how fast the loss can change where no score is larger than `size`; 1 for the margin losses."""
        return 1.0

    @abstractmethod
    def at_most(self, size: float, Y: float) -> float:
        """Return B: the largest loss where no score is larger than `size`."""

    def kinks(self, y: Array, weight: Array) -> Kinks:
        """Return the weighted loss as a maximum over a box, where it is piecewise linear."""
        raise TypeError(f"the {type(self).__name__} loss is not piecewise linear")


def log_loss(margin: Array) -> tuple[Array, Array]:
    """Return log(1 + exp(-margin)) and the probability of the other class, without overflow."""
    small = np.exp(-np.abs(margin))
    loss = np.log1p(small)
    loss -= np.minimum(margin, 0)
    return loss, np.where(margin >= 0, small, 1) / (1 + small)


class Logistic(Loss):
    """log(1 + exp(-y h(x)))."""

    smooth = True
    most_curved = 0.25

    def value(self, score: Array, y: Array) -> Array:
        """Return the loss of each row."""
        return log_loss(y * score)[0]

    def gradient(self, score: Array, y: Array) -> Array:
        """Return -y times the probability of the other class."""
        return -y * log_loss(y * score)[1]

    def curvature(self, score: Array, y: Array) -> Array:
        """Return p (1 - p), also where one of them is below the precision of the other."""
        small = np.exp(-np.abs(score))
        return small / (1 + small) ** 2

    def at_most(self, size: float, Y: float) -> float:
        """Return log(1 + exp(size))."""
        return float(np.logaddexp(0, size))


class Hinge(Loss):
    """max(0, 1 - y h(x))."""

    smooth = False

    def value(self, score: Array, y: Array) -> Array:
        """Return the loss of each row."""
        return np.maximum(0.0, 1 - y * score)

    def gradient(self, score: Array, y: Array) -> Array:
        """Return -y where the margin is below 1."""
        return np.where(y * score < 1, -y, 0.0)

    def at_most(self, size: float, Y: float) -> float:
        """Return 1 + size."""
        return 1 + size

    def kinks(self, y: Array, weight: Array) -> Kinks:
        """Return a in [0, weight] times 1 - y h(x)."""
        return Kinks(y, np.ones_like(y), np.zeros_like(weight), weight)


def _power(base: float, exponent: float) -> float:
    """Return a power; infinity where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.float64(base) ** exponent)


@dataclass(frozen=True)
class Power(Loss):
    """|h(x) - y|^q, q >= 1: the l_q loss of Corollary 9 (`corollaryit`)."""

    q: float

    @property
    def most_curved(self) -> float:  # type: ignore[override]
        """No curvature is larger, for q = 2."""
        return 2.0 if self.q == 2 else np.inf

    def __post_init__(self) -> None:
        if not self.q >= 1:
            raise ValueError(f"q is {self.q}: the l_q loss is convex for q >= 1 only")

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether it has a bounded curvature; the solvers take q = 1 and q = 2."""
        return self.q >= 2

    def value(self, score: Array, y: Array) -> Array:
        """Return the loss of each row."""
        return np.abs(score - y) ** self.q

    def gradient(self, score: Array, y: Array) -> Array:
        """Return q |r|^(q - 1) sign(r) for the residual r = h(x) - y."""
        residual = score - y
        return self.q * np.abs(residual) ** (self.q - 1) * np.sign(residual)

    def curvature(self, score: Array, y: Array) -> Array:
        """Return q (q - 1) |r|^(q - 2)."""
        if self.q == 1:
            return super().curvature(score, y)
        with np.errstate(divide="ignore"):
            return self.q * (self.q - 1) * np.abs(score - y) ** (self.q - 2)

    def lipschitz(self, size: float, Y: float) -> float:
        """Return q (Y + size)^(q - 1): 1 for the absolute loss, 2 (Y + size) for the squared."""
        return self.q * _power(Y + size, self.q - 1)

    def at_most(self, size: float, Y: float) -> float:
        """Return (Y + size)^q."""
        return _power(Y + size, self.q)

    def kinks(self, y: Array, weight: Array) -> Kinks:
        """Return a in [-weight, weight] times y - h(x), for q = 1."""
        if self.q != 1:
            return super().kinks(y, weight)
        return Kinks(np.ones_like(y), y, -weight, weight)


LOSS_BY_NAME: dict[str, Loss] = {
    "logistic": Logistic(),
    "hinge": Hinge(),
    "squared": Power(2.0),
    "absolute": Power(1.0),
}
"""The losses by the names that the estimators know."""

MARGIN_LOSSES = ("logistic", "hinge")
"""Those of labels -1 and 1."""
