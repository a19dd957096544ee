"""Reading files of other people, and refusing damaged ones."""

from __future__ import annotations

import io
import pickle
import zlib
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


_BUNCHES_OF_ARRAYS = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("sklearn.utils", "Bunch"),
    ("sklearn.utils._bunch", "Bunch"),
}
_MOST_INFLATED = 2**30


class _PlainUnpickler(pickle.Unpickler):
    """Knows arrays and scikit-learn's dictionaries, and calls nothing else, whatever the file names."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _BUNCHES_OF_ARRAYS:
            raise ValueError(f"it names {module}.{name}, which no such file needs")
        return super().find_class(module, name)


def read_bunches(path: Path) -> Any:
    """Return what scikit-learn's loaders keep on disk, a compressed pickle; no code that it may hold is run."""
    with decoding(path):
        inflate = zlib.decompressobj()
        content = inflate.decompress(path.read_bytes(), _MOST_INFLATED)
        if not inflate.eof:
            raise ValueError(f"it is cut short, or inflates to more than {_MOST_INFLATED} bytes")
        return _PlainUnpickler(io.BytesIO(content)).load()


def first_values(values: NDArray[Any]) -> str:
    """Return the first dozen values for a message."""
    return ", ".join(map(str, values[:12].tolist())) + (", …" if values.size > 12 else "")
