"""From the costs of using one task's rows for another to relation coefficients: the convex step of an epoch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from gapmin._utils.typing import Array
from gapmin.linear.solvers import project_simplex


class RunningCost(nn.Module):
    """The weighted mean of a K x K cost over the batches of an epoch, each entry over those that could tell it."""

    total: Tensor
    weight: Tensor

    def __init__(self, n_tasks: int) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(n_tasks, n_tasks))
        self.register_buffer("weight", torch.zeros(n_tasks, n_tasks))

    def add(self, cost: Tensor, weight: Tensor) -> None:
        """Take in a batch's cost; `weight`, which broadcasts to it, weighs its entries: 0 where it tells none."""
        self.total += cost.detach() * weight
        self.weight += weight

    def mean(self) -> Array:
        """Return the mean so far; 0 where nothing was seen."""
        return (self.total / self.weight.clamp_min(1e-12)).double().cpu().numpy()

    def discount(self, share: float = 0.0) -> None:
        """Leave `share` of the weight of what was seen: an epoch begins."""
        self.total *= share
        self.weight *= share


def common_classes(class_counts: ArrayLike) -> NDArray[np.bool_]:
    """Return for each two tasks whether they have a class in common; a task always has one with itself.

    Parameters
    ----------
    class_counts : array-like of shape (K, classes)
        How many rows of each class each task has.

    Examples
    --------
    >>> common_classes([[5, 5, 0], [0, 3, 3], [4, 0, 0]])
    array([[ True,  True,  True],
           [ True,  True, False],
           [ True, False,  True]])
    """
    has = np.asarray(class_counts) > 0
    return np.asarray((has[:, None] & has[None]).any(axis=2) | np.eye(len(has), dtype=bool))


def relation_costs(losses: ArrayLike, alignment: ArrayLike = 0.0, kind: str = "excess") -> Array:
    """Return what a unit of weight on task k costs task j; never below 0.

    Parameters
    ----------
    losses : array-like of shape (K, K)
        L_k(h_j), head j on the rows of task k; for "gap" that of probe heads, each trained on its own task alone.
    alignment : array-like of shape (K, K)
        lambda_1 times the semantic and lambda_2 times the marginal distances.
    kind : "excess", "printed" or "gap"
        "printed": L_k(h_j) as it is, so that a hard task loses its own weight to easy ones. "excess" and "gap"
        subtract L_k(h_k), each task's own, as the definition of the performance gap does. Where h_j does better on
        task k than h_k the difference counts as 0: a task is never asked to prefer another's rows to its own.

    Examples
    --------
    Task 1 is hard (its own head has a loss of 0.9), and is not given away for that:

    >>> relation_costs([[0.1, 1.5], [0.3, 0.9]])
    array([[0. , 0.6],
           [0.2, 0. ]])
    """
    cost = np.array(losses, dtype=np.float64)
    if kind != "printed":
        cost = np.maximum(cost - np.diag(cost), 0.0)
    spread = np.array(np.broadcast_to(np.asarray(alignment, dtype=np.float64), cost.shape))
    np.fill_diagonal(spread, 0.0)
    return np.asarray(np.maximum(cost + spread, 0.0))  # critics may estimate a distance below 0


def relation_by_squares(costs: ArrayLike, strength: float) -> Array:
    """Return for each row the weights on the simplex that minimise ``cost . w + strength ||w||^2``.

    The minimiser is the projection of ``-cost / (2 strength)``; with strength 0 all weight is on the cheapest, shared
    where several are. An infinite cost means no weight.

    Examples
    --------
    >>> relation_by_squares([[0.0, 0.6], [0.2, 0.0]], strength=0.5)
    array([[0.8, 0.2],
           [0.4, 0.6]])
    """
    given = np.asarray(costs, dtype=np.float64)
    least = given.min(axis=1, keepdims=True)
    if strength == 0:
        cheapest = given == least
        return np.asarray(cheapest / cheapest.sum(axis=1, keepdims=True))
    # Only differences within a row count: taken first, costs far from zero lose no digits.
    return project_simplex((least - given) / (2 * strength))


def relation_by_sizes(costs: ArrayLike, strength: float, sizes: ArrayLike) -> Array:
    """Return for each row the weights that minimise ``cost . w + strength sum_k w_k^2 / size_k`` on the simplex.

    The sum is the variance term of the theorem on task weighting: a large task's rows vary less. The minimiser is the
    projection of ``-cost_k size_k / (2 strength)`` in the norm that divides by the sizes:
    ``w_k = size_k max(0, level - cost_k) / (2 strength)``, with the level at which the weights sum to 1. With strength
    0 all weight is on the cheapest, by size where several are. An infinite cost means no weight.

    Parameters
    ----------
    costs : array-like of shape (rows, K)
    strength : float
    sizes : array-like of shape (K,)
        Of the tasks; only their ratios to their mean count.

    Examples
    --------
    A small task learns from a large one that costs it nothing, which has no use for the small one:

    >>> relation_by_sizes([[0.0, 0.0], [0.0, 0.0]], strength=0.05, sizes=[1, 9])
    array([[0.1, 0.9],
           [0.1, 0.9]])
    """
    given, n = np.asarray(costs, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    n = n / n.mean()
    above = given - given.min(axis=1, keepdims=True)  # only differences count
    if strength == 0:
        weights = np.where(above == 0, n, 0.0)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    order = np.argsort(above, axis=1, kind="stable")
    cost, size = np.take_along_axis(above, order, axis=1), n[order]
    # The level if the cheapest, the two cheapest, ... had weight: the true one is the least of them.
    with np.errstate(invalid="ignore"):
        spent = np.cumsum(np.where(np.isfinite(cost), cost * size, np.inf), axis=1)
    level = ((2 * strength + spent) / np.cumsum(size, axis=1)).min(axis=1, keepdims=True)
    weights = n * np.maximum(level - above, 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def relation_by_norm(costs: ArrayLike, strength: float) -> Array:
    """Return for each row the weights on the simplex that minimise ``cost . w + strength ||w||`` (AMTNN's step).

    Where ||w|| = s, the minimiser is that of ``cost . w + strength ||w||^2 / (2 s)``: one number to find for each row.
    """
    if strength == 0:
        return relation_by_squares(costs, 0.0)
    above = np.asarray(costs, dtype=np.float64)
    above = (above - above.min(axis=1, keepdims=True)) / strength
    low, high = np.full(len(above), 1 / np.sqrt(above.shape[1])), np.ones(len(above))
    for _ in range(60):
        s = (low + high) / 2
        too_small = np.linalg.norm(project_simplex(-above * s[:, None]), axis=1) > s
        low, high = np.where(too_small, s, low), np.where(too_small, high, s)
    return project_simplex(-above * ((low + high) / 2)[:, None])


def relation_by_entropy(costs: ArrayLike, strength: float, own: float) -> Array:
    """Return weights with `own` on the task itself, the rest by exp(-cost / strength) (Murugesan et al. 2016).

    These minimise ``cost . w + strength KL(w || uniform)`` over the other tasks' weights.

    Examples
    --------
    >>> relation_by_entropy([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], strength=1.0, own=0.5)[0]
    array([0.5 , 0.25, 0.25])
    """
    score = -np.asarray(costs, dtype=np.float64) / strength
    if len(score) == 1:
        return np.ones((1, 1))
    np.fill_diagonal(score, -np.inf)
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    relation = (1 - own) * weights / weights.sum(axis=1, keepdims=True)
    np.fill_diagonal(relation, own)
    return relation


def min_norm_weights(gram: ArrayLike) -> Array:
    """Return the weights on the simplex that minimise ``w' G w``: the shortest mix of gradients with Gram matrix G.

    Wolfe's algorithm: exact after finitely many steps.

    Examples
    --------
    >>> min_norm_weights([[1.0, 0.0], [0.0, 3.0]])
    array([0.75, 0.25])
    """
    G = np.asarray(gram, dtype=np.float64)
    scale = float(np.diag(G).max(initial=0.0))
    K = len(G)
    if scale <= 0:
        return np.full(K, 1 / K)
    G = G / scale
    shortest = float(np.diag(G).min())
    w = np.zeros(K)
    w[np.argmin(np.diag(G))] = 1.0
    for _ in range(10 * K):
        slope = G @ w
        best = int(np.argmin(slope))
        if slope[best] >= (1 - 1e-10) * (w @ slope) - 1e-14 * shortest or w[best] > 0:
            break
        active = [*np.flatnonzero(w > 0).tolist(), best]
        while True:
            mix = _affine_minimiser(G[np.ix_(active, active)])
            if (mix > 0).all():
                break
            falling = mix <= 0
            now = w[active]
            step = np.min(now[falling] / (now[falling] - mix[falling]))
            w[active] = np.maximum(now + step * (mix - now), 0.0)
            dropped = {i for i, left in zip(active, w[active], strict=True) if left <= 1e-14}
            w[list(dropped)] = 0.0
            active = [i for i in active if i not in dropped]
        w[:] = 0.0
        w[active] = mix
    return w / w.sum()


def _affine_minimiser(G: Array) -> Array:
    """Return the weights of sum 1, of any sign, that minimise w' G w."""
    # In gradients of length one, so that those of almost learnt tasks are not lost to round-off.
    inverse = 1 / np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
    inverse /= inverse.max()
    n = len(G)
    unit = G * np.outer(inverse, inverse)
    unit /= np.diag(unit).max()
    system = np.block([[unit, inverse[:, None]], [inverse, np.zeros((1, 1))]])
    w = inverse * np.linalg.lstsq(system, np.r_[np.zeros(n), 1.0], rcond=None)[0][:n]
    return np.asarray(w / w.sum())
