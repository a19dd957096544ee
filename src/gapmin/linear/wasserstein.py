"""Wasserstein distances, exactly, by POT; by class, and what Proposition 40 (`gapMTNNproposition`) makes of them.

POT comes with the extra ``theory``.
"""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import euclidean_distances
from sklearn.utils import check_array, check_random_state

from gapmin._utils.extras import install_hint
from gapmin._utils.typing import Array
from gapmin.gap import RiskBound
from gapmin.linear._matrix import away_from_zero, squared_norms

__all__ = ["class_wasserstein", "class_wasserstein_matrix", "proposition_2"]


def class_wasserstein(
    Z_a: Any,
    y_a: ArrayLike,
    Z_b: Any,
    y_b: ArrayLike,
    *,
    max_rows: int | None = None,
    random_state: Any = None,
) -> dict[Hashable, float]:
    """Return W1(a(z|y), b(z|y)) for each class y, with the Euclidean distance as the cost: Proposition 40's distances.

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
        The distance for each class that both have.

    Examples
    --------
    >>> class_wasserstein([[0.0, 0.0], [1.0, 0.0]], ["cat", "dog"], [[3.0, 4.0], [1.0, 0.0]], ["cat", "dog"])
    {'cat': 5.0, 'dog': 0.0}
    """
    Z_a, Z_b = check_matrix("Z_a", Z_a), check_matrix("Z_b", Z_b)
    if Z_a.shape[1] != Z_b.shape[1]:
        raise ValueError(f"Z_a has {Z_a.shape[1]} columns, Z_b {Z_b.shape[1]}: give both the same representation")
    y_a, y_b = check_length("y_a", y_a, Z_a.shape[0]), check_length("y_b", y_b, Z_b.shape[0])
    rng = check_random_state(random_state)
    classes = np.unique(np.concatenate([y_a, y_b]))
    sides = [_by_class(Z, y, classes, name, max_rows, rng) for Z, y, name in ((Z_a, y_a, "a"), (Z_b, y_b, "b"))]
    return {c: w1(distances_between(a, b)) for c, a, b in zip(classes.tolist(), *sides, strict=True)}


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
        In the order of the rows of `distances`.
    classes : ndarray of shape (n_classes,)
        In the order of its last axis.
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
    Z = check_matrix("Z", Z)
    y = check_length("y", y, Z.shape[0])
    sample_task = check_length("sample_task", sample_task, Z.shape[0])
    rng = check_random_state(random_state)
    tasks, classes = np.unique(sample_task), np.unique(y)
    rows = [np.flatnonzero(sample_task == task) for task in tasks]
    groups = [
        _by_class(Z[own], y[own], classes, f"task {task!r}", max_rows, rng)
        for task, own in zip(tasks.tolist(), rows, strict=True)
    ]
    distances = np.zeros((tasks.size, tasks.size, classes.size))
    for j, k in zip(*np.triu_indices(tasks.size, 1), strict=True):
        distances[j, k] = distances[k, j] = [
            w1(distances_between(a, b)) for a, b in zip(groups[j], groups[k], strict=True)
        ]
    return tasks, classes, distances


def proposition_2(
    weighted_risk: float, gamma: ArrayLike, j: int, distances: ArrayLike, *, nu: float, rho: float = 1.0
) -> RiskBound:
    """Return Proposition 40: a bound on the risk of task j from the weighted risk and the distances between tasks.

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
    nu = check_positive("nu", nu, "give the predictor's Lipschitz constant")
    rho = check_positive("rho", rho, "give the loss's Lipschitz constant")
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


def w1(cost: Array, a: Array | None = None, b: Array | None = None) -> float:
    """Return the least cost of moving one sample onto the other, exactly."""
    with install_hint("theory", "Wasserstein distances need POT"):
        import ot  # type: ignore[import-untyped,import-not-found,unused-ignore]
    a, b = (np.full(n, 1 / n) if w is None else w for w, n in zip((a, b), cost.shape, strict=True))
    largest = float(away_from_zero(np.max(cost)))  # POT's tolerances are absolute
    value, log = ot.emd2(a, b, np.ascontiguousarray(cost / largest), numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise RuntimeError(f"the transport between {a.size} and {b.size} rows was not solved: {log['warning']}")
    return largest * max(float(value), 0.0)


def distances_between(A: Any, B: Any) -> Array:
    """Return Euclidean distances; of sparse rows by products, and again by differences where digits cancel."""
    if not (sp.issparse(A) or sp.issparse(B)):
        return np.asarray(cdist(A, B))
    A, B = sp.csr_matrix(A), sp.csr_matrix(B)
    squared = euclidean_distances(A, B, squared=True)
    i, j = np.nonzero(squared <= 1e-5 * (squared_norms(A)[:, None] + squared_norms(B)))
    squared[i, j] = squared_norms(A[i] - B[j])
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


def check_matrix(name: str, X: Any) -> Any:
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


def check_length(name: str, y: ArrayLike, n_rows: int) -> NDArray[Any]:
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"{name} has shape {y.shape} for {n_rows} rows: give one entry for each row")
    return y


def check_positive(name: str, value: float, remedy: str) -> float:
    if not (isinstance(value, Real) and 0 < value < np.inf):
        raise ValueError(f"{name} is {value!r}: {remedy}")
    return float(value)
