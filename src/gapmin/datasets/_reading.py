"""Reading files of other people, and refusing damaged ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn whatever is raised while `path` is read into a ValueError that names it."""
    try:
        yield
    except Exception as error:  # gzip, zipfile, NumPy, SciPy and HDF5 each have errors of their own for damaged bytes
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}): put the published file in its place"
        ) from error


def read_mat(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of these names in a MATLAB file."""
    from scipy.io import loadmat

    with decoding(path):
        content = loadmat(path, variable_names=names)
        return {name: content[name] for name in names}


def some(values: NDArray[Any]) -> str:
    """Return the first dozen values for a message."""
    return ", ".join(map(str, values[:12].tolist())) + (", …" if values.size > 12 else "")
