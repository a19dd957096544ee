"""Weights that minimise the bound itself: Theorems 6 and 22 in their sharp form (Remarks 7 and 23).

    minimise over theta on the simplex
        L^Gamma(h*)  +  sum_k theta_k dist_k  +  b ||Gamma||_2^2  +  (2 b + B) sqrt(log(1 / delta) / 2) ||Gamma||_2

Gamma has theta_k on the rows of domain or task k, in proportion to their multiplicities. Everything but the first term
is convex; the first moves with h*. See docs/bounds.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.typing import Array
from gapmin.linear._bilevel import InnerProblem, OverGroups, WeightGroups, minimise_psi
from gapmin.linear._bounds import Constants
from gapmin.linear._losses import Loss

_WEIGHT_STEPS = 200


class BoundObjective(OverGroups):
    """The right-hand side of the theorem, with its derivative.

    Parameters
    ----------
    fit : InnerProblem
        h* under the weights, with lam as its ridge.
    groups : WeightGroups
    apart : ndarray of shape (n_groups,)
        How far each group's domain is from the target.
    c : Constants
    delta : float
    """

    def __init__(self, fit: InnerProblem, groups: WeightGroups, apart: Array, c: Constants, delta: float) -> None:
        super().__init__(fit, groups)
        self.apart, self.stability = apart, c.change
        self.concentration = (2 * c.change + c.B) * float(np.sqrt(np.log(1 / delta) / 2))

    def evaluate(self, psi: Array) -> tuple[float, Array]:
        """Return the bound and its derivative."""
        gamma, h, losses = self.fit_under(psi)
        squares = float(gamma @ gamma)
        value = float(gamma @ losses) + float(psi @ self.apart)
        value += self.stability * squares + self.concentration * float(np.sqrt(squares))
        # The loss at h* is the minimum of the objective, whose derivative is each row's loss, less ridge ||h*||^2.
        moved, _ = self.fit.pull_back(-2 * self.fit.ridge * h)
        spread = (2 * self.stability + self.concentration / np.sqrt(squares)) * gamma
        return value, self.groups.back(losses + moved + spread) + self.apart


def weigh_by_bound(
    fit: InnerProblem, groups: WeightGroups, apart: Array, c: Constants, delta: float, starts: list[Array]
) -> Array:
    """Return the theta with the smallest bound found from several starts: never above that of any start."""
    if not np.isfinite([c.change, c.B, *apart]).all():
        raise ValueError(
            f"the bound is not finite (R={c.R:.3g}, rho={c.rho:.3g}, B={c.B:.3g}), so no weights minimise it: "
            "divide the features and labels by their size"
        )
    objective = BoundObjective(fit, groups, apart, c, delta)
    tried = [minimise_psi(objective, start, _WEIGHT_STEPS, 1e-12) for start in starts]
    return min(tried, key=lambda each: each[1][-1])[0]


def simplex_groups(of_row: NDArray[np.intp], weight: Array) -> WeightGroups:
    """Return the groups of rows whose weights sum to one, each row's share of its group in proportion to `weight`."""
    count = np.bincount(of_row, weight).astype(np.float64)
    everywhere = np.ones(count.size, dtype=bool)
    return WeightGroups(of_row, weight / count[of_row], count, np.ones(count.size), [(everywhere, 1.0)])


def check_bound_loss(loss: Loss, name: str, numeric: bool) -> None:
    """Raise where the bound has no derivative."""
    if not loss.smooth:
        smooth = "squared" if numeric else "logistic"
        raise ValueError(f"weights='bound' with loss={name!r}: h* has no derivative there; use loss={smooth!r}")
