"""The one place that touches mlxtend, which comes with the extra ``data``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.extras import install_hint


def mlxtend_data(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (X, y) of the data set that ``mlxtend.data.<name>()`` bundles."""
    with install_hint("data", f"{name} is bundled with mlxtend, which is not installed"):
        import mlxtend.data
    X, y = getattr(mlxtend.data, name)()
    return X, y


def read_autompg() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the seven features and the miles per gallon of the 392 complete rows of Auto MPG."""
    X, y = mlxtend_data("autompg_data")
    X = X[:, :7]  # the last column, the car's name, is read as NaN
    complete = ~np.isnan(X).any(axis=1)
    return X[complete], y[complete]
