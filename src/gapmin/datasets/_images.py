"""Collections of images by domain and class, in folders or in a tar archive, as arrays of bytes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.extras import install_hint

from ._reading import decoding

SUFFIXES = (".jpg", ".jpeg", ".png")

LabelledImages = tuple[NDArray[np.uint8], NDArray[np.str_]]
"""Images (N, 3, H, W), and the name of the class of each."""


class ImageFile(NamedTuple):
    """An image that is not decoded yet; `task/label/name` is what lists of images call it."""

    task: str
    label: str
    name: str
    read: Callable[[], bytes]


def images_in_folders(folders: Mapping[str, Path]) -> list[ImageFile]:
    """Return the images of `folder/class/file` for the folder of each task, in the order of their names."""
    return [
        ImageFile(task, file.parent.name, file.name, file.read_bytes)
        for task, folder in folders.items()
        for file in sorted(folder.glob("*/*"))
        if _is_image(file.name)
    ]


def images_in_archive(path: Path) -> list[ImageFile]:
    """Return the images of `root/task/class/file` in a tar archive, in its order."""
    pictures = []
    with decoding(path), tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if _is_image(member.name) else None
            if content is not None:
                _, task, label, name = member.name.split("/")
                pictures.append(ImageFile(task, label, name, partial(bytes, content.read())))
    return pictures


def read_tasks(
    pictures: Iterable[ImageFile], tasks: Sequence[str], size: int | None, where: Path
) -> dict[str, LabelledImages]:
    """Read the images of each task.

    Parameters
    ----------
    pictures : iterable of ImageFile
    tasks : sequence of str
        Which tasks to read, in this order; each must have images, of the same classes.
    size : int or None
        Resize to `size` x `size`, bilinear; None wants images that are all of one size.
    where : path
        For messages.
    """
    if size is not None and size < 1:
        raise ValueError(f"size is {size}: give the pixels of a side, at least 1")
    by_task: dict[str, list[ImageFile]] = {task: [] for task in tasks}
    for picture in pictures:
        if picture.task in by_task:
            by_task[picture.task].append(picture)
    classes = {task: {picture.label for picture in own} for task, own in by_task.items()}
    every = set().union(*classes.values())
    for task, own_classes in classes.items():
        if not every or own_classes != every:
            lacking = ", ".join(sorted(every - own_classes)[:5]) or "any class"
            raise ValueError(f"{where} holds no images of {lacking} for {task}: put the published images in its place")
    return {task: _read_all(own, size, where) for task, own in by_task.items()}


def _read_all(pictures: Sequence[ImageFile], size: int | None, where: Path) -> LabelledImages:
    first = _read(pictures[0], size, where)
    images = np.empty((len(pictures), *first.shape), dtype=np.uint8)
    for row, picture in enumerate(pictures):
        image = _read(picture, size, where)
        if image.shape != first.shape:
            raise ValueError(
                f"{where} holds images of {first.shape[2]} x {first.shape[1]} and of {image.shape[2]} x "
                f"{image.shape[1]} pixels: give size, the pixels of a side"
            )
        images[row] = image
    return images, np.array([picture.label for picture in pictures])


def _read(picture: ImageFile, size: int | None, where: Path) -> NDArray[np.uint8]:
    """Return the colours (3, H, W) of an image."""
    with install_hint("data", "images are read with Pillow, which is not installed"):
        from PIL import Image
    with decoding(where / picture.task / picture.label / picture.name):
        image = Image.open(io.BytesIO(picture.read())).convert("RGB")
    if size is not None and image.size != (size, size):
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(image).transpose(2, 0, 1)


def _is_image(name: str) -> bool:
    return name.lower().endswith(SUFFIXES) and not name.rpartition("/")[2].startswith(".")
