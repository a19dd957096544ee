"""Regression problems of Pardoe & Stone (2010): data sets cut in thirds by a feature; Friedman's function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_diabetes

from ._mlxtend import mlxtend_data, read_autompg
from ._problem import TransferProblem
from ._reading import decoding
from .catalogue import find_file

REGRESSION_TRAIN_ROWS = 25
CORRELATION = 0.4
DISTINCT_VALUES = 20
"""More distinct values than this make a feature continuous, which leaves out indices, years and counts."""

_HOUSING = ("CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT")
_CONCRETE = ("cement", "slag", "fly_ash", "water", "superplasticizer", "coarse_aggregate", "fine_aggregate", "age")
N_CONCRETE = 1030
_AUTOMPG = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "model year", "origin")


def load_thirds(name: Literal["diabetes", "housing", "autompg", "concrete"]) -> tuple[TransferProblem, ...]:
    """Load a regression data set as three transfer problems, as `thirds` makes them.

    Parameters
    ----------
    name : "diabetes", "housing", "autompg" or "concrete"
        Diabetes (442 rows) is scikit-learn's; Boston Housing (506) and Auto MPG (392 complete rows, the names of the
        cars left out) are mlxtend's. Concrete (1,030) is read from `uci/concrete.csv` in the folder that the
        environment variable `GAPMIN_DATA` names, or in the user's cache.

    Returns
    -------
    tuple of three TransferProblem
        With the low, the medium and the high third as the target.

    Raises
    ------
    FileNotFoundError
        When the file of Concrete is not there.
    ValueError
        When it is damaged.

    Examples
    --------
    >>> from gapmin.datasets import load_thirds
    >>> low, medium, high = load_thirds("diabetes")
    >>> low
    <TransferProblem 'diabetes low': target 148 x 9, sources 147 + 147>
    >>> low.description
    'sorted by s3 (correlation -0.39 with the label); the others are the medium and the high third'
    """
    if name == "diabetes":
        bunch = load_diabetes()
        return thirds(bunch.data, bunch.target, name, feature_names=bunch.feature_names)
    if name == "housing":
        return thirds(*mlxtend_data("boston_housing_data"), name, feature_names=_HOUSING)
    if name == "autompg":
        return thirds(*read_autompg(), name, feature_names=_AUTOMPG)
    if name == "concrete":
        return thirds(*_read_concrete(find_file("uci/concrete.csv")), name, feature_names=_CONCRETE)
    raise ValueError(f"name is {name!r}: use 'diabetes', 'housing', 'autompg' or 'concrete'")


def _read_concrete(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    with decoding(path):
        header, *lines = path.read_text().splitlines()
        table = np.array([line.split(",") for line in lines], dtype=np.float64)
    expected = (*_CONCRETE, "strength")
    if tuple(header.split(",")) != expected or table.shape != (N_CONCRETE, len(expected)):
        raise ValueError(
            f"{path} holds {len(lines)} rows below the header {header[:120]!r}: expected {N_CONCRETE} below "
            f"{','.join(expected)!r}"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{path} has numbers that are not finite: put the published file in its place")
    return table[:, :-1], table[:, -1]


def thirds(
    X: ArrayLike, y: ArrayLike, name: str, *, feature_names: Sequence[str] | None = None
) -> tuple[TransferProblem, ...]:
    """Cut a regression data set into three domains by one of its features.

    The rows are sorted by the continuous feature whose correlation with the label is nearest 0.4 in size, cut
    into a low, a medium and a high third, and the feature is dropped. Each third in turn is the target, the
    other two are its sources. A feature with more than 20 distinct values counts as continuous. Rows of equal
    value keep their order; when the rows do not divide by three the lower thirds are one row longer.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.
    name : str
        Of the data set; the problems are called "<name> low", "<name> medium" and "<name> high".
    feature_names : sequence of str, optional
        For the description; without it features are called by their number.

    Returns
    -------
    tuple of three TransferProblem
        25 target rows train.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin.datasets import thirds
    >>> X = np.random.default_rng(0).normal(size=(90, 4))
    >>> y = X @ [0.4, 0.9, 0.0, 0.1]
    >>> for problem in thirds(X, y, "toy"):
    ...     print(problem)
    <TransferProblem 'toy low': target 30 x 3, sources 30 + 30>
    <TransferProblem 'toy medium': target 30 x 3, sources 30 + 30>
    <TransferProblem 'toy high': target 30 x 3, sources 30 + 30>
    """
    X, y = np.asarray(X), np.asarray(y)
    feature, correlation = _moderate_feature(X, y)
    called = feature_names[feature] if feature_names is not None else f"feature {feature}"
    order = np.argsort(X[:, feature], kind="stable")
    rest = np.delete(X, feature, axis=1)
    domains = {
        level: (rest[rows], y[rows])
        for level, rows in zip(("low", "medium", "high"), np.array_split(order, 3), strict=True)
    }

    def problem(level: str) -> TransferProblem:
        others = [other for other in domains if other != level]
        return TransferProblem(
            name=f"{name} {level}",
            target=domains[level],
            sources=tuple(domains[other] for other in others),
            task="regression",
            train_size=REGRESSION_TRAIN_ROWS,
            description=f"sorted by {called} (correlation {correlation:.2f} with the label); "
            f"the others are the {others[0]} and the {others[1]} third",
        )

    return tuple(problem(level) for level in domains)


def _moderate_feature(X: NDArray[Any], y: NDArray[Any]) -> tuple[int, float]:
    """Return the continuous feature whose correlation with y is nearest 0.4 in size, and that correlation."""
    correlation = {
        j: float(np.corrcoef(X[:, j], y)[0, 1]) for j in range(X.shape[1]) if np.unique(X[:, j]).size > DISTINCT_VALUES
    }
    if not correlation:
        raise ValueError(
            f"none of the {X.shape[1]} features has more than {DISTINCT_VALUES} distinct values: "
            "thirds needs a continuous feature to sort by"
        )
    feature = min(correlation, key=lambda j: abs(abs(correlation[j]) - CORRELATION))
    return feature, correlation[feature]


def make_friedman_transfer(
    n_sources: int = 5,
    n_source_rows: int = 100,
    n_target_rows: int = 600,
    *,
    noise: float = 1.0,
    random_state: int = 0,
) -> TransferProblem:
    r"""Make a regression problem whose sources are distorted copies of Friedman's function.

    Ten features are uniform on [0, 1] and the first five make the label,

    .. math::
        y = 10 a_1 \sin(\pi (b_1 x_1 + c_1)(b_2 x_2 + c_2)) + 20 a_2 (b_3 x_3 + c_3 - 0.5)^2
            + 10 a_3 (b_4 x_4 + c_4) + 5 a_4 (b_5 x_5 + c_5) + \mathcal{N}(0, 1).

    The target has a = b = 1 and c = 0, each source its own a, b from N(1, 0.1) and c from N(0, 0.05), the
    second number a standard deviation.

    Parameters
    ----------
    n_sources, n_source_rows, n_target_rows : int, default=5, 100, 600
        How many sources, rows in each source, and rows of the target, 25 of which train.
    noise : float, default=1.0
        Standard deviation of the noise.
    random_state : int, default=0
        Every domain draws from a stream of its own, so asking for more rows or sources leaves the others as
        they were.

    Returns
    -------
    TransferProblem
        The problem.

    Examples
    --------
    >>> from gapmin.datasets import make_friedman_transfer
    >>> make_friedman_transfer(n_sources=2)
    <TransferProblem 'friedman': target 600 x 10, sources 100 + 100>
    """
    target_rng, *source_rngs = np.random.default_rng(random_state).spawn(1 + n_sources)
    undistorted = np.ones(4), np.ones(5), np.zeros(5)
    return TransferProblem(
        name="friedman",
        target=_friedman(n_target_rows, undistorted, noise, target_rng),
        sources=tuple(_friedman(n_source_rows, _distortion(rng), noise, rng) for rng in source_rngs),
        task="regression",
        train_size=REGRESSION_TRAIN_ROWS,
        description=f"Friedman's function with {n_sources} distorted copies as sources",
    )


Coefficients = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _distortion(rng: np.random.Generator) -> Coefficients:
    return rng.normal(1, 0.1, size=4), rng.normal(1, 0.1, size=5), rng.normal(0, 0.05, size=5)


def _friedman(
    n_rows: int, coefficients: Coefficients, noise: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b, c = coefficients
    X = rng.uniform(size=(n_rows, 10))
    x1, x2, x3, x4, x5 = (b * X[:, :5] + c).T
    y = a[0] * 10 * np.sin(np.pi * x1 * x2) + a[1] * 20 * (x3 - 0.5) ** 2 + a[2] * 10 * x4 + a[3] * 5 * x5
    return X, y + noise * rng.normal(size=n_rows)
