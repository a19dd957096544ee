"""How far two domains are apart: Y-discrepancy, discrepancy of the marginals, and Wasserstein distances by class.

Each is a number about distributions, computed here on samples; `Discrepancy` says from which side it errs and what it
takes for granted. POT computes the Wasserstein distances: ``pip install "gapmin[theory]"``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import euclidean_distances
from sklearn.utils import check_array, check_random_state

from gapmin._validation import check_sample_weight
from gapmin.gap import RiskBound
from gapmin.linear._ball import Sample, half_space, largest_squared, scale_rows, search_ball, square, tiny
from gapmin.linear._losses import LOSSES, Array, Loss

__all__ = [
    "Discrepancy",
    "class_wasserstein",
    "class_wasserstein_matrix",
    "marginal_discrepancy",
    "proposition_2",
    "y_discrepancy",
]

_MARGIN = ("logistic", "hinge")
_SAMPLES = "the samples stand in for the distributions"
_FROM_BELOW = "a supremum sought from below by local ascent: the true one may be larger"


@dataclass(frozen=True)
class Discrepancy:
    """A distance between two domains, and what is known of it.

    Attributes
    ----------
    value : float
    kind : {"estimate", "upper bound", "exact"}
        "estimate": a supremum sought from below, so at most the true one. All three speak of the samples.
    assumptions : tuple of str
        What has to be true for `value` to be what `kind` says.
    hypothesis : ndarray of shape (n_features,) or (n_features + 1,), or None
        The h that attains `value`, the coefficient of the constant feature last; None for an upper bound.
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
    """Return dist_Y(T, S) = sup over ||h|| <= radius of |L_T(h) - L_S(h)|, or a bound on it.

    The estimate comes from below. For the margin losses the ascent starts from the relabelled classification of
    Sec. 4.1.2, where positive target and negative source rows are the positive ones: it attains the supremum of the
    0-1 loss, and is a start for the others. For the squared loss the difference is a quadratic on a ball, whose maximum
    is found exactly.

    The upper bound is ``rho * radius * W1(y x on T, y x on S)`` for the margin losses, whose score ``y <h, x>`` changes
    by at most ``||h|| ||y x - y' x'||`` from row to row; and W1 with the cost
    ``rho * (radius * ||x - x'|| + |y - y'|)`` for the others.

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
    radius = _positive("radius", radius, "the ball of hypotheses needs a finite radius above 0")
    if method not in ("estimate", "wasserstein"):
        raise ValueError(f"method is {method!r}: use 'estimate' or 'wasserstein'")
    T, S = _check_pair("target", target, loss, fit_intercept), _check_pair("source", source, loss, fit_intercept)
    _same_columns(T, S, fit_intercept)
    ball = _ball(radius, fit_intercept)
    if method == "wasserstein":
        if rho is None:
            largest = radius * max(float(np.sqrt(square(each.X).max())) for each in (T, S))
            rho = objective.lipschitz(largest, max(float(np.abs(each.y).max()) for each in (T, S)))
        rho = _positive("rho", rho, "give a Lipschitz constant above 0, or None for that of the loss")
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
    """Return dist(T, S) = sup over h, h' in the ball of |L_T(h, h') - L_S(h, h')|, which needs no labels.

    With u = h - h', any vector of norm at most 2 * radius,

    - squared: ``4 radius^2`` times the spectral norm of ``E_T[x x'] - E_S[x x']``, exactly (Mansour et al. 2009);
    - absolute: the supremum of ``|E_T|<u, x>| - E_S|<u, x>||``, from below by ascent;
    - "logistic" or "hinge": the 0-1 loss of half-spaces instead. Where h' is constant, h and h' disagree on a
      half-space A, and ``|P_T(A) - P_S(A)| = |1 - 2 err|`` for the balanced error of A at telling the domains apart;
      the best threshold along a few logistic regressions is reported. It is at most 1, and `radius` plays no part.

    Parameters
    ----------
    X_target, X_source : array-like or sparse matrix of shape (n_rows, n_features)
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
    radius = _positive("radius", radius, "the ball of hypotheses needs a finite radius above 0")
    zero_one = loss in _MARGIN
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


def class_wasserstein(
    Z_a: Any,
    y_a: ArrayLike,
    Z_b: Any,
    y_b: ArrayLike,
    *,
    max_rows: int | None = None,
    random_state: Any = None,
) -> dict[Hashable, float]:
    """Return W1(a(z|y), b(z|y)) for each class y, with the Euclidean distance as the cost: Proposition 2's distances.

    The exact W1 of the samples. That of small samples is too large on average: two samples of one distribution are
    apart, the more so the more features.

    Parameters
    ----------
    Z_a, Z_b : array-like or sparse matrix of shape (n_rows, n_features)
        Representations of the rows of two tasks.
    y_a, y_b : array-like of shape (n_rows,)
        Their classes; each must be present in both.
    max_rows : int, optional
        Draw at most so many rows of each class of each task; time grows with about their cube.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    dict of class to float

    Examples
    --------
    >>> class_wasserstein([[0.0, 0.0], [1.0, 0.0]], ["cat", "dog"], [[3.0, 4.0], [1.0, 0.0]], ["cat", "dog"])
    {'cat': 5.0, 'dog': 0.0}
    """
    Z_a, Z_b = _check_matrix("Z_a", Z_a), _check_matrix("Z_b", Z_b)
    if Z_a.shape[1] != Z_b.shape[1]:
        raise ValueError(f"Z_a has {Z_a.shape[1]} columns, Z_b {Z_b.shape[1]}: give both the same representation")
    y_a, y_b = _check_length("y_a", y_a, Z_a.shape[0]), _check_length("y_b", y_b, Z_b.shape[0])
    rng = check_random_state(random_state)
    classes = np.unique(np.concatenate([y_a, y_b]))
    sides = [_by_class(Z, y, classes, name, max_rows, rng) for Z, y, name in ((Z_a, y_a, "a"), (Z_b, y_b, "b"))]
    return {c: _w1(_distances(a, b)) for c, a, b in zip(classes.tolist(), *sides, strict=True)}


def class_wasserstein_matrix(
    Z: Any, y: ArrayLike, sample_task: ArrayLike, *, max_rows: int | None = None, random_state: Any = None
) -> tuple[NDArray[Any], NDArray[Any], Array]:
    """Return `class_wasserstein` between every two tasks.

    Parameters
    ----------
    Z : array-like or sparse matrix of shape (n_rows, n_features)
        Representations of the rows of all tasks.
    y, sample_task : array-like of shape (n_rows,)
        The class and the task of each row; every task must have every class.
    max_rows, random_state
        As in `class_wasserstein`; a task's rows are drawn once for all its pairs.

    Returns
    -------
    tasks : ndarray of shape (n_tasks,)
    classes : ndarray of shape (n_classes,)
    distances : ndarray of shape (n_tasks, n_tasks, n_classes)
        Symmetric in the tasks; 0 between a task and itself.

    Examples
    --------
    >>> tasks, classes, distances = class_wasserstein_matrix([[0.0], [2.0], [5.0]], [0, 0, 0], ["u", "v", "w"])
    >>> distances[:, :, 0]
    array([[0., 2., 5.],
           [2., 0., 3.],
           [5., 3., 0.]])
    """
    Z = _check_matrix("Z", Z)
    y = _check_length("y", y, Z.shape[0])
    sample_task = _check_length("sample_task", sample_task, Z.shape[0])
    rng = check_random_state(random_state)
    tasks, classes = np.unique(sample_task), np.unique(y)
    rows = [np.flatnonzero(sample_task == task) for task in tasks]
    groups = [
        _by_class(Z[own], y[own], classes, f"task {task!r}", max_rows, rng)
        for task, own in zip(tasks.tolist(), rows, strict=True)
    ]
    distances = np.zeros((tasks.size, tasks.size, classes.size))
    for j, k in zip(*np.triu_indices(tasks.size, 1), strict=True):
        distances[j, k] = distances[k, j] = [_w1(_distances(a, b)) for a, b in zip(groups[j], groups[k], strict=True)]
    return tasks, classes, distances


def proposition_2(
    weighted_risk: float, gamma: ArrayLike, j: int, distances: ArrayLike, *, nu: float, rho: float = 1.0
) -> RiskBound:
    """Return Proposition 2: a bound on the risk of task j from the weighted risk and the distances between tasks.

    L_j(h) <= sum_k gamma_k L_k(h) + nu * rho / n_classes * sum_{k != j} gamma_k sum_y W1(D_j(z|y), D_k(z|y)).

    It is deterministic given the distributions, so `delta` is 0; the chance that lies in samples is not in it.

    Parameters
    ----------
    weighted_risk : float
        sum_k gamma_k L_k(h_j), the first term.
    gamma : array-like of shape (n_tasks,)
        The weights of the tasks for task j: at least 0, summing to one.
    j : int
        The position of the task, from 0.
    distances : array-like of shape (n_tasks, n_tasks, n_classes)
        W1 by tasks and class, from `class_wasserstein_matrix`.
    nu, rho : float
        The Lipschitz constants of the predictor on the representation and of the loss.

    Returns
    -------
    RiskBound
        With the terms "weighted risk" and "semantic distance".

    Examples
    --------
    >>> bound = proposition_2(0.2, [0.75, 0.25], 0, [[[0.0, 0.0], [1.0, 3.0]], [[1.0, 3.0], [0.0, 0.0]]], nu=2.0)
    >>> bound.terms
    {'weighted risk': 0.2, 'semantic distance': 1.0}
    """
    W, share = np.asarray(distances, dtype=np.float64), np.asarray(gamma, dtype=np.float64)
    if W.ndim != 3 or W.shape[0] != W.shape[1] or W.shape[2] == 0:
        raise ValueError(f"distances has shape {W.shape}: give (n_tasks, n_tasks, n_classes)")
    if not (np.isfinite(W) & (W >= 0)).all():
        raise ValueError(f"distances has {W[~(np.isfinite(W) & (W >= 0))][0]}: give finite numbers of at least 0")
    n_tasks, _, n_classes = W.shape
    if share.shape != (n_tasks,):
        raise ValueError(f"gamma has shape {share.shape} for {n_tasks} tasks: give one weight for each")
    if not ((share >= 0).all() and abs(share.sum() - 1) < 1e-6):
        raise ValueError(f"gamma is {share.tolist()}: give weights of at least 0 that sum to one")
    if not (isinstance(j, Integral) and 0 <= j < n_tasks):
        raise ValueError(f"j is {j!r}: give the position of a task, from 0 to {n_tasks - 1}")
    if not (isinstance(weighted_risk, Real) and 0 <= weighted_risk < np.inf):
        raise ValueError(f"weighted_risk is {weighted_risk!r}: give a finite risk of at least 0")
    nu = _positive("nu", nu, "give the predictor's Lipschitz constant")
    rho = _positive("rho", rho, "give the loss's Lipschitz constant")
    others = np.arange(n_tasks) != j
    semantic = nu * rho / n_classes * float(share[others] @ W[j, others].sum(axis=1))
    return RiskBound(
        terms={"weighted risk": float(weighted_risk), "semantic distance": semantic},
        delta=0.0,
        assumptions=(
            "deterministic given the distributions: delta is 0, and the chance in the samples is not counted",
            "the distances and the weighted risk are those of the distributions; samples stand in for them",
            "every class has the same share in every task, or all risks are means over the classes",
            f"the loss is positive and {rho:g}-Lipschitz in the prediction, the predictor {nu:g}-Lipschitz in z",
        ),
        constants={"nu": nu, "rho": rho, "n_classes": float(n_classes), "n_tasks": float(n_tasks)},
    )


def _label_w1(target: Sample, source: Sample, loss: str, radius: float) -> float:
    """Return the largest change of the scores' residuals that the labelled rows allow, moved at least cost."""
    if loss in _MARGIN:
        cost = radius * _distances(*(scale_rows(each.X, each.y) for each in (target, source)))
    else:
        cost = radius * _distances(target.X, source.X) + np.abs(target.y[:, None] - source.y)
    return _w1(cost, target.weight, source.weight)


def _w1(cost: Array, a: Array | None = None, b: Array | None = None) -> float:
    """Return the least cost of moving one sample onto the other, exactly."""
    try:
        import ot  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError('Wasserstein distances need POT: pip install "gapmin[theory]"') from error
    a, b = (np.full(n, 1 / n) if w is None else w for w, n in zip((a, b), cost.shape, strict=True))
    largest = float(tiny(np.max(cost)))  # POT's tolerances are absolute
    value, log = ot.emd2(a, b, np.ascontiguousarray(cost / largest), numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise RuntimeError(f"the transport between {a.size} and {b.size} rows was not solved: {log['warning']}")
    return largest * max(float(value), 0.0)


def _distances(A: Any, B: Any) -> Array:
    """Return Euclidean distances; of sparse rows by products, and again by differences where digits cancel."""
    if not (sp.issparse(A) or sp.issparse(B)):
        return np.asarray(cdist(A, B))
    A, B = sp.csr_matrix(A), sp.csr_matrix(B)
    squared = euclidean_distances(A, B, squared=True)
    i, j = np.nonzero(squared <= 1e-5 * (square(A)[:, None] + square(B)))
    squared[i, j] = square(A[i] - B[j])
    return np.asarray(np.sqrt(squared))


def _by_class(
    Z: Any, y: NDArray[Any], classes: NDArray[Any], side: str, max_rows: int | None, rng: np.random.RandomState
) -> list[Any]:
    """Return the rows of each class, at most `max_rows` of each."""
    if max_rows is not None and not (isinstance(max_rows, Integral) and max_rows >= 1):
        raise ValueError(f"max_rows is {max_rows!r}: use an integer of at least 1, or None for all rows")
    groups = []
    for c in classes.tolist():
        rows = np.flatnonzero(y == c)
        if rows.size == 0:
            raise ValueError(f"{side} has no row of class {c!r}: give rows of it or leave the class out")
        if max_rows is not None and rows.size > max_rows:
            rows = np.sort(rng.choice(rows, int(max_rows), replace=False))
        groups.append(Z[rows])
    return groups


def _ball(radius: float, constant: bool) -> str:
    return f"H is the ball of radius {radius:g}" + (", the constant feature counted" if constant else "")


def _check_loss(loss: str) -> Loss:
    if loss not in LOSSES:
        raise ValueError(f"loss is {loss!r}: use one of {', '.join(map(repr, LOSSES))}")
    return LOSSES[loss]


def _check_steps(max_iter: int) -> int:
    if not (isinstance(max_iter, Integral) and max_iter >= 1):
        raise ValueError(f"max_iter is {max_iter!r}: use an integer of at least 1")
    return int(max_iter)


def _positive(name: str, value: float, remedy: str) -> float:
    if not (isinstance(value, Real) and 0 < value < np.inf):
        raise ValueError(f"{name} is {value!r}: {remedy}")
    return float(value)


def _check_matrix(name: str, X: Any) -> Any:
    """Return X as float64, dense or CSR, with rows and finite."""
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0, input_name=name
    )
    if X.shape[0] == 0:
        raise ValueError(f"{name} has 0 rows: give at least one")
    entries = X.data if sp.issparse(X) else X
    if not np.isfinite(entries).all():
        raise ValueError(f"{name} has the entry {entries[~np.isfinite(entries)][0]}: impute or drop such rows first")
    return X


def _check_length(name: str, y: ArrayLike, n_rows: int) -> NDArray[Any]:
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"{name} has shape {y.shape} for {n_rows} rows: give one entry for each row")
    return y


def _check_rows(name: str, X: Any, weight: ArrayLike | None, constant: bool, y: ArrayLike | None = None) -> Sample:
    """Return the rows that have weight, with a constant feature if asked for; labels 0 where none are given."""
    X = _check_matrix(f"the {name}", X)
    labels = np.zeros(X.shape[0]) if y is None else _check_length(f"y of the {name}", y, X.shape[0])
    weights = check_sample_weight(weight, X.shape[0])
    weights /= weights.max()  # the sum of the largest numbers overflows
    if constant:
        one = np.ones((X.shape[0], 1))
        X = sp.hstack([X, one], format="csr") if sp.issparse(X) else np.hstack([X, one])
    rows = np.flatnonzero(weights)
    return Sample(X[rows], labels[rows], weights[rows] / weights.sum())


def _check_pair(name: str, pair: tuple[Any, ...], loss: str, constant: bool) -> Sample:
    """Return the rows of (X, y) or (X, y, weight), the labels as the loss takes them."""
    if not (isinstance(pair, (tuple, list)) and len(pair) in (2, 3)):
        raise ValueError(f"the {name} is {type(pair).__name__}, not a tuple (X, y) or (X, y, weight)")
    try:
        y = np.asarray(pair[1], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the {name} has labels that are no numbers: give -1 and 1, or numbers to predict") from None
    wrong = ~np.isin(y, [-1, 1]) if loss in _MARGIN else ~np.isfinite(y)
    if wrong.any():
        remedy = f"the {loss} loss takes -1 and 1" if loss in _MARGIN else "drop such rows first"
        raise ValueError(f"the {name} has the label {y[wrong][0]:g}: {remedy}")
    return _check_rows(name, pair[0], pair[2] if len(pair) == 3 else None, constant, y)


def _same_columns(target: Sample, source: Sample, constant: bool) -> None:
    columns = [each.X.shape[1] - constant for each in (target, source)]
    if columns[0] != columns[1]:
        raise ValueError(f"the target has {columns[0]} columns, the source {columns[1]}: give both the same columns")
