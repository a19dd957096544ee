"""How far two domains are apart: Y-discrepancy and discrepancy of the marginals.

Each is a number about distributions, computed here on samples; `Discrepancy` says whether it is too small or too large,
and what it assumes. POT computes the Wasserstein distances: it comes with the extra ``theory``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gapmin._utils.typing import Array
from gapmin.base import check_sample_weight
from gapmin.linear._ball import half_space, largest_squared, search_ball
from gapmin.linear._losses import LOSS_BY_NAME, MARGIN_LOSSES, Loss
from gapmin.linear._matrix import scale_rows, squared_norms, with_constant
from gapmin.linear._problem import WeightedRows
from gapmin.linear.wasserstein import check_length, check_matrix, check_positive, distances_between, w1

__all__ = [
    "Discrepancy",
    "marginal_discrepancy",
    "y_discrepancy",
]

_SAMPLES = "the samples stand in for the distributions"
_FROM_BELOW = "a supremum sought from below by local ascent: the true one may be larger"


@dataclass(frozen=True)
class Discrepancy:
    """A distance between two domains, and what is known of it.

    Attributes
    ----------
    value : float
        The distance.
    kind : {"estimate", "upper bound", "exact"}
        "estimate": a supremum sought from below, so at most the true one. All three speak of the samples.
    assumptions : tuple of str
        What has to be true for `value` to be what `kind` says.
    hypothesis : ndarray of shape (n_features,) or (n_features + 1,), or None
        The h that attains `value`, the coefficient of the constant feature last; None for an upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.linear import y_discrepancy
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> y = np.sign(X[:, 0])
    >>> found = y_discrepancy((X, y), (X, -y), radius=1.0)  # the source has it the other way round
    >>> found.kind, found.value > 0
    ('estimate', True)
    """

    value: float
    kind: str
    assumptions: tuple[str, ...] = field(repr=False)
    hypothesis: Array | None = field(default=None, repr=False)

    def __float__(self) -> float:
        return self.value


def y_discrepancy(
    target: tuple[Any, ...],
    source: tuple[Any, ...],
    *,
    loss: str = "logistic",
    radius: float,
    method: str = "estimate",
    fit_intercept: bool = True,
    rho: float | None = None,
    max_iter: int = 500,
    random_state: Any = None,
) -> Discrepancy:
    """Return dist_Y(T, S) = sup over ||h|| <= radius of ``|L_T(h) - L_S(h)|``, or a bound on it.

    The estimate comes from below. For the margin losses the ascent starts from the relabelled classification of
    Sec. 4.1.2, where positive target and negative source rows are the positive ones. It attains the supremum of the
    0-1 loss, and is a start for the others. For the squared loss the difference is a quadratic on a ball, whose maximum
    is found exactly.

    The upper bound is ``rho * radius * W1(y x on T, y x on S)`` for the margin losses, whose score ``y <h, x>`` changes
    by at most ``||h|| ||y x - y' x'||`` from row to row. It is W1 with the cost ``rho * (radius * ||x - x'|| + |y -
    y'|)`` for the others.

    Parameters
    ----------
    target, source : (X, y) or (X, y, weight)
        Rows, labels, and weights of at least 0 that are normalised here. Labels are -1 and 1 for the margin losses,
        numbers for the others. X may be sparse.
    loss : {"logistic", "hinge", "squared", "absolute"}, default="logistic"
    radius : float
        The largest norm of a hypothesis; over all linear functions the supremum is infinite.
    method : {"estimate", "wasserstein"}, default="estimate"
    fit_intercept : bool, default=True
        Append a constant feature; its coefficient counts in the norm.
    rho : float, optional
        The Lipschitz constant of the loss, for "wasserstein"; None takes the smallest that holds on the ball.
    max_iter : int, default=500
        The most steps of each ascent.
    random_state : int, RandomState instance or None, default=None
        Draws a few of the starts. None draws the same ones every time, so that the same data give the same estimate.

    Returns
    -------
    Discrepancy
        The value, and the hypothesis that has it.

    Examples
    --------
    With every label flipped, L_T(h) - L_S(h) = -mean(y <h, x>): at most radius times the norm of the mean.

    >>> X, y = [[3.0, 0.0], [0.0, -4.0]], [1, -1]
    >>> flipped = (X, [-1, 1])
    >>> estimate = y_discrepancy((X, y), flipped, radius=2.0, fit_intercept=False)
    >>> print(f"{float(estimate):.3f}", estimate.kind, estimate.hypothesis.round(3))
    5.000 estimate [-1.2 -1.6]
    >>> y_discrepancy((X, y), flipped, radius=2.0, fit_intercept=False, method="wasserstein")
    Discrepancy(value=10.0, kind='upper bound')
    """
    objective = _check_loss(loss)
    radius = check_positive("radius", radius, "the ball of hypotheses needs a finite radius above 0")
    if method not in ("estimate", "wasserstein"):
        raise ValueError(f"method is {method!r}: use 'estimate' or 'wasserstein'")
    T, S = _check_pair("target", target, loss, fit_intercept), _check_pair("source", source, loss, fit_intercept)
    _same_columns(T, S, fit_intercept)
    ball = _ball(radius, fit_intercept)
    if method == "wasserstein":
        if rho is None:
            largest = radius * max(float(np.sqrt(squared_norms(each.X).max())) for each in (T, S))
            rho = objective.lipschitz(largest, max(float(np.abs(each.y).max()) for each in (T, S)))
        rho = check_positive("rho", rho, "give a Lipschitz constant above 0, or None for that of the loss")
        lipschitz = f"the {loss} loss changes at most {rho:g} times as fast as the score on this ball"
        return Discrepancy(rho * _label_w1(T, S, loss, radius), "upper bound", (_SAMPLES, ball, lipschitz))
    if loss == "squared":
        value, h = largest_squared(T, S, radius)
        return Discrepancy(value, "exact", (_SAMPLES, ball), h)
    value, h = search_ball(loss, T, S, radius, _check_steps(max_iter), random_state)
    return Discrepancy(value, "estimate", (_SAMPLES, ball, _FROM_BELOW), h)


def marginal_discrepancy(
    X_target: Any,
    X_source: Any,
    *,
    loss: str = "squared",
    radius: float,
    fit_intercept: bool = True,
    weight_target: ArrayLike | None = None,
    weight_source: ArrayLike | None = None,
    max_iter: int = 500,
    random_state: Any = None,
) -> Discrepancy:
    """Return dist(T, S) = sup over h, h' in the ball of ``|L_T(h, h') - L_S(h, h')|``, which needs no labels.

    With u = h - h', any vector of norm at most 2 * radius,

    - squared: ``4 radius^2`` times the spectral norm of ``E_T[x x'] - E_S[x x']``, exactly (Mansour et al. 2009);
    - absolute: the supremum of ``|E_T|<u, x>| - E_S|<u, x>||``, from below by ascent;
    - "logistic" or "hinge": the 0-1 loss of half-spaces instead. Where h' is constant, h and h' disagree on a
      half-space A, and ``|P_T(A) - P_S(A)| = |1 - 2 err|`` for the balanced error of A at telling the domains apart;
      the best threshold along a few logistic regressions is reported. It is at most 1, and `radius` plays no part.

    Parameters
    ----------
    X_target, X_source : array-like or sparse matrix of shape (n_rows, n_features)
        Rows of the target.
    loss : {"squared", "absolute", "logistic", "hinge"}, default="squared"
    radius : float
        The largest norm of a hypothesis.
    fit_intercept : bool, default=True
        Append a constant feature; its coefficient counts in the norm.
    weight_target, weight_source : array-like of shape (n_rows,), optional
        Weights of at least 0, normalised here.
    max_iter, random_state
        As in `y_discrepancy`.

    Returns
    -------
    Discrepancy
        Its hypothesis is h; h' is -h, and for the 0-1 loss a constant.

    Examples
    --------
    >>> marginal_discrepancy([[1.0], [-1.0]], [[3.0], [-3.0]], radius=0.5)
    Discrepancy(value=8.0, kind='exact')
    >>> marginal_discrepancy([[1.0], [2.0]], [[3.0], [4.0]], loss="logistic", radius=0.5)
    Discrepancy(value=1.0, kind='estimate')
    """
    _check_loss(loss)
    radius = check_positive("radius", radius, "the ball of hypotheses needs a finite radius above 0")
    zero_one = loss in MARGIN_LOSSES
    if zero_one and not fit_intercept:
        raise ValueError("fit_intercept=False leaves out the constant hypothesis of the 0-1 discrepancy: use True")
    constant = fit_intercept and not zero_one
    T, S = (
        _check_rows("target", X_target, weight_target, constant),
        _check_rows("source", X_source, weight_source, constant),
    )
    _same_columns(T, S, constant)
    if zero_one:
        value, h = half_space(T, S)
        half_spaces = f"0-1 loss over pairs of a half-space and a constant, not the {loss} loss; radius plays no part"
        optimistic = "the domain classifier is scored on the rows it was trained on: optimistic for the distributions"
        return Discrepancy(value, "estimate", (_SAMPLES, half_spaces, optimistic, _FROM_BELOW), h)
    ball = _ball(radius, fit_intercept)
    # With labels 0 this is the Y-discrepancy of u on a ball twice as large.
    if loss == "squared":
        value, u = largest_squared(T, S, 2 * radius)
        return Discrepancy(value, "exact", (_SAMPLES, ball), u / 2)
    value, u = search_ball(loss, T, S, 2 * radius, _check_steps(max_iter), random_state)
    return Discrepancy(value, "estimate", (_SAMPLES, ball, _FROM_BELOW), u / 2)


def _label_w1(target: WeightedRows, source: WeightedRows, loss: str, radius: float) -> float:
    """Return the largest change of the scores' residuals that the labelled rows allow, moved at least cost."""
    if loss in MARGIN_LOSSES:
        cost = radius * distances_between(*(scale_rows(each.X, each.y) for each in (target, source)))
    else:
        cost = radius * distances_between(target.X, source.X) + np.abs(target.y[:, None] - source.y)
    return w1(cost, target.weight, source.weight)


def _ball(radius: float, constant: bool) -> str:
    return f"H is the ball of radius {radius:g}" + (", the constant feature counted" if constant else "")


def _check_loss(loss: str) -> Loss:
    if loss not in LOSS_BY_NAME:
        raise ValueError(f"loss is {loss!r}: use one of {', '.join(map(repr, LOSS_BY_NAME))}")
    return LOSS_BY_NAME[loss]


def _check_steps(max_iter: int) -> int:
    if not (isinstance(max_iter, Integral) and max_iter >= 1):
        raise ValueError(f"max_iter is {max_iter!r}: use an integer of at least 1")
    return int(max_iter)


def _check_rows(
    name: str, X: Any, weight: ArrayLike | None, constant: bool, y: ArrayLike | None = None
) -> WeightedRows:
    """Return the rows that have weight, with a constant feature if asked for; labels 0 where none are given."""
    X = check_matrix(f"the {name}", X)
    labels = np.zeros(X.shape[0]) if y is None else check_length(f"y of the {name}", y, X.shape[0])
    weights = check_sample_weight(weight, X.shape[0])
    weights /= weights.max()  # the sum of the largest numbers overflows
    if constant:
        X = with_constant(X)
    rows = np.flatnonzero(weights)
    return WeightedRows(X[rows], labels[rows], weights[rows] / weights.sum())


def _check_pair(name: str, pair: tuple[Any, ...], loss: str, constant: bool) -> WeightedRows:
    """Return the rows of (X, y) or (X, y, weight), the labels as the loss takes them."""
    if not (isinstance(pair, (tuple, list)) and len(pair) in (2, 3)):
        raise ValueError(f"the {name} is {type(pair).__name__}, not a tuple (X, y) or (X, y, weight)")
    try:
        y = np.asarray(pair[1], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the {name} has labels that are no numbers: give -1 and 1, or numbers to predict") from None
    wrong = ~np.isin(y, [-1, 1]) if loss in MARGIN_LOSSES else ~np.isfinite(y)
    if wrong.any():
        remedy = f"the {loss} loss takes -1 and 1" if loss in MARGIN_LOSSES else "drop such rows first"
        raise ValueError(f"the {name} has the label {y[wrong][0]:g}: {remedy}")
    return _check_rows(name, pair[0], pair[2] if len(pair) == 3 else None, constant, y)


def _same_columns(target: WeightedRows, source: WeightedRows, constant: bool) -> None:
    columns = [each.X.shape[1] - constant for each in (target, source)]
    if columns[0] != columns[1]:
        raise ValueError(f"the target has {columns[0]} columns, the source {columns[1]}: give both the same columns")
