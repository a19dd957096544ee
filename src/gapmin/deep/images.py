"""Folders of images, one folder a class, as a torch data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from gapmin._utils.extras import how_to_install

__all__ = ["IMAGENET_MEAN", "IMAGENET_STD", "ImageFolder"]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
"""Of the red, green and blue that torchvision's published weights were trained on."""
IMAGENET_STD = (0.229, 0.224, 0.225)

_SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class ImageFolder(Dataset[tuple[Tensor, int]]):
    """The images of `root/class/...`, in the order of torchvision's class of this name.

    Images are read when asked for, as RGB. Files and folders whose names start with a dot are passed over, and files
    that are no images by their names.

    Parameters
    ----------
    root : path
        The folder, with a folder for each class.
    size : int, optional
        Resize to `size` x `size`, bilinear. By default images keep their sizes, which must then be equal to be put in
        a batch.
    mean, std : three numbers, optional
        Subtracted from the channels, and what they are then divided by; `IMAGENET_MEAN` and `IMAGENET_STD` for a
        network with published weights. By default pixels lie in [0, 1].

    Attributes
    ----------
    classes : list of str
        The names of the folders, sorted.
    class_to_idx : dict
        The number of each class.
    samples : list of (str, int)
        The file and the class of each image.
    targets : list of int
        The class of each image.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from gapmin.deep.images import ImageFolder
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("dog", "cat"):
    ...         (Path(root) / name).mkdir()
    ...         Image.new("RGB", (6, 4), "red").save(Path(root) / name / "1.png")
    ...     images = ImageFolder(root, size=8)
    ...     x, y = images[1]
    >>> images.classes, y, x.shape
    (['cat', 'dog'], 1, torch.Size([3, 8, 8]))
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        size: int | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        if size is not None and size < 1:
            raise ValueError(f"size is {size}: give the pixels of a side, at least 1")
        self.root = Path(root)
        self.size = size
        self._mean = _channels("mean", mean, default=0.0)
        self._std = _channels("std", std, default=1.0)
        if not (self._std > 0).all():
            raise ValueError(f"std is {tuple(self._std.flatten().tolist())}: give three numbers above 0")
        if not self.root.is_dir():
            raise FileNotFoundError(f"{self.root} is not a folder: give the one that holds a folder for each class")
        self.classes = sorted(entry.name for entry in self.root.iterdir() if entry.is_dir() and _is_shown(entry.name))
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [
            (file, number) for name, number in self.class_to_idx.items() for file in _image_files(self.root / name)
        ]
        if not self.samples:
            raise FileNotFoundError(
                f"{self.root} holds no folder with images: put those of each class in a folder of its name, as "
                f"{', '.join(_SUFFIXES)}"
            )
        self.targets = [number for _, number in self.samples]
        without = sorted(set(self.classes) - {self.classes[number] for number in self.targets})
        if without:
            raise FileNotFoundError(f"{self.root / without[0]} holds no images: fill or remove the folder")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """Return one image, (3, height, width), and its class."""
        file, target = self.samples[index]
        pixels = torch.from_numpy(_read_rgb(file, self.size)).permute(2, 0, 1).contiguous()
        return (pixels.float() / 255 - self._mean) / self._std, target

    def __repr__(self) -> str:
        """Return the number of images and of classes."""
        return f"<ImageFolder {str(self.root)!r}: {len(self)} images, {len(self.classes)} classes>"


def _channels(name: str, values: Sequence[float] | None, default: float) -> Tensor:
    numbers = torch.full((3,), default) if values is None else torch.as_tensor(values, dtype=torch.float32)
    if numbers.shape != (3,):
        raise ValueError(f"{name} is {values!r}: give three numbers, one for each of red, green and blue")
    return numbers.reshape(3, 1, 1)


def _is_shown(name: str) -> bool:
    return not name.startswith(".")


def _image_files(folder: Path) -> list[str]:
    return [
        os.path.join(parent, name)
        for parent, _, names in sorted(os.walk(folder, followlinks=True))
        for name in sorted(names)
        if _is_shown(name) and name.lower().endswith(_SUFFIXES)
    ]


def _read_rgb(file: str, size: int | None) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"images are read with Pillow: {how_to_install('deep')}") from error
    try:
        with Image.open(file) as stored:
            image = stored.convert("RGB")
    except Exception as error:  # each format has its own kinds of error for a damaged file
        raise ValueError(f"{file} cannot be read as an image ({error}): replace or remove it") from error
    if size is not None:
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.array(image)
