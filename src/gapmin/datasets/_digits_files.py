"""Reading the published files of MNIST, MNIST-M, USPS and SVHN, and refusing damaged ones."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.extras import install_hint

from ._problem import LabelledRows
from ._reading import decoding, first_values, read_mat

IDX_BYTES = 0x0800
"""The magic number of an idx file of unsigned bytes, to which the number of dimensions is added."""


def read_mnist(images_path: Path, labels_path: Path) -> LabelledRows:
    """Return 28 x 28 bytes an image."""
    both = f"{images_path} with {labels_path.name}"
    return _checked(_read_idx(images_path, 3), _read_idx(labels_path, 1), (28, 28), both)


def read_mnist_m(path: Path) -> tuple[LabelledRows, LabelledRows]:
    """Return 32 x 32 x 3 bytes an image, of the training and of the test part."""

    def part(name: str) -> LabelledRows:
        with decoding(path), np.load(path, allow_pickle=False) as archive:
            images, labels = archive[f"{name}_x"], archive[f"{name}_y"]
        if images.dtype != np.uint8:
            raise ValueError(f"{path} holds {images.dtype} values in {name}_x: expected bytes (uint8)")
        return _checked(images, labels, (32, 32, 3), path)

    return part("train"), part("test")


def read_usps(path: Path) -> tuple[LabelledRows, LabelledRows]:
    """Return 16 x 16 numbers between 0 and 1 an image, of the training and of the test part."""
    with install_hint("data", f"{path.name} is an HDF5 file, which needs h5py, which is not installed"):
        import h5py

    def part(name: str) -> LabelledRows:
        with decoding(path), h5py.File(path) as file:
            rows = np.asarray(file[f"{name}/data"], dtype=np.float32)
            labels = np.asarray(file[f"{name}/target"])
        rows, labels = _checked(rows, labels, (256,), path)
        if not ((rows >= 0) & (rows <= 1)).all():
            raise ValueError(f"{path} holds values from {rows.min()} to {rows.max()}: expected 0 to 1")
        return rows.reshape(-1, 16, 16), labels

    return part("train"), part("test")


def read_svhn(path: Path) -> LabelledRows:
    """Return 32 x 32 x 3 bytes an image.

    X holds them in MATLAB's order, (32, 32, 3, N), and y counts digits from 1 to 10, which is a 0.
    """
    arrays = read_mat(path, "X", "y")
    images, labels = arrays["X"], arrays["y"]
    if images.dtype != np.uint8 or images.ndim != 4 or labels.shape != (images.shape[3], 1):
        raise ValueError(
            f"{path} holds {images.dtype} values of shape {images.shape} in X and labels of shape {labels.shape} in y: "
            "expected bytes (uint8) of shape (32, 32, 3, N) and (N, 1)"
        )
    labels = np.where(labels == 10, 0, np.where(labels == 0, 10, labels))  # a published file has no 0
    return _checked(np.moveaxis(images, 3, 0), labels.ravel(), (32, 32, 3), path)


def _read_idx(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """Return the array of unsigned bytes in a gzipped idx file.

    Four bytes of magic number and four for each size, the most significant first; then the values.
    """
    with decoding(path):
        content = gzip.decompress(path.read_bytes())
        magic, *shape = np.frombuffer(content, dtype=">u4", count=1 + n_dimensions).tolist()
    if magic != IDX_BYTES + n_dimensions:
        raise ValueError(
            f"{path} starts with {magic:#06x}, not {IDX_BYTES + n_dimensions:#06x}: "
            f"expected an idx file of bytes in {n_dimensions} dimensions"
        )
    header_size = 4 * (1 + n_dimensions)
    n_bytes = len(content) - header_size
    if n_bytes != math.prod(shape):
        raise ValueError(f"{path} announces {' x '.join(map(str, shape))} bytes and holds {n_bytes}: get it again")
    return np.frombuffer(content, dtype=np.uint8, offset=header_size).reshape(shape)


def _checked(images: NDArray[Any], labels: NDArray[Any], shape: tuple[int, ...], where: Path | str) -> LabelledRows:
    if images.shape[1:] != shape or labels.shape != images.shape[:1]:
        raise ValueError(
            f"{where} holds images of shape {images.shape} and labels of shape {labels.shape}: "
            f"expected images of shape {shape} and one label for each"
        )
    if labels.dtype.kind not in "iu" or not np.isin(labels, range(10)).all():
        raise ValueError(
            f"{where} holds the {labels.dtype} labels {first_values(np.unique(labels))}: expected integers 0 to 9"
        )
    return images, labels.astype(np.int64)
