"""Collections of images of one set of classes from several sources: Office-31, Office-Home and PACS."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ._files import locate
from ._images import images_in_archive, images_in_folders, read_tasks
from ._multitask import TRAIN_SHARE, MultitaskProblem
from ._published import PACS_TASKS, pacs_list
from ._reading import decoding
from .catalogue import data_set

Splits = Literal["auto", "published", "random"]

ARCHIVE_SIZE = 128


def load_office31(size: int = 224) -> MultitaskProblem:
    """Load the three tasks of Office-31 as images `(N, 3, size, size)` of bytes.

    Each tells 31 kinds of things on a desk apart: 2,817 images from Amazon ("amazon"), 498 of a reflex camera ("dslr")
    and 795 of a webcam ("webcam").

    Parameters
    ----------
    size : int, default=224
        Pixels of a side, to which images are resized; at 224 they take 620 MB.

    Returns
    -------
    MultitaskProblem
        Labels are the names of the classes. A tenth of each task trains, drawn at random and not always of every class
        (of "dslr" it is 50 images); the rest tests. The paper's own splits are not published.

    Raises
    ------
    FileNotFoundError
        When the images are not there, as `office31/amazon/images/<class>/*.jpg` and so on, the published layout.
    ValueError
        When an image is damaged, or a task lacks a class that others have.

    Notes
    -----
    Bytes are 0 to 255; a network wants `X / 255`, normalised as its weights were trained. `frozen_features` does that
    itself.

    References
    ----------
    Saenko et al., "Adapting Visual Category Models to New Domains", ECCV 2010.

    Examples
    --------
    >>> from gapmin.datasets import load_office31
    >>> load_office31()  # doctest: +SKIP
    <MultitaskProblem 'office31': amazon 2817, dslr 498, webcam 795 rows of 3 x 224 x 224>
    """
    return _load_office("office31", ("amazon", "dslr", "webcam"), size)


def load_office_home(size: int = 224) -> MultitaskProblem:
    """Load the four tasks of Office-Home as images `(N, 3, size, size)` of bytes.

    Each tells 65 kinds of things in offices and homes apart: 2,427 works of art ("Art"), 4,365 clip arts ("Clipart"),
    4,439 products on white ("Product") and 4,357 photos ("Real World").

    Parameters
    ----------
    size : int, default=224
        Pixels of a side, to which images are resized; at 224 they take 2.3 GB.

    Returns
    -------
    MultitaskProblem
        Labels are the names of the classes. A tenth of each task trains, drawn at random and not always of every class;
        the rest tests. The paper's own splits are not published.

    Raises
    ------
    FileNotFoundError
        When the images are not there, as `OfficeHomeDataset_10072016/Art/<class>/*.jpg` and so on, as published.
    ValueError
        When an image is damaged, or a task lacks a class that others have.

    Notes
    -----
    Bytes are 0 to 255, as those of `load_office31`.

    References
    ----------
    Venkateswara et al., "Deep Hashing Network for Unsupervised Domain Adaptation", CVPR 2017.

    Examples
    --------
    >>> from gapmin.datasets import load_office_home
    >>> load_office_home()  # doctest: +SKIP
    <MultitaskProblem 'office-home': Art 2427, Clipart 4365, Product 4439, Real World 4357 rows of 3 x 224 x 224>
    """
    return _load_office("office-home", ("Art", "Clipart", "Product", "Real World"), size)


def _load_office(name: str, tasks: tuple[str, ...], size: int) -> MultitaskProblem:
    published = data_set(name)
    folders = {task: file.find() for task, file in zip(tasks, published.files, strict=True)}
    images = read_tasks(images_in_folders(folders), tasks, size, folders[tasks[0]].parent)
    return MultitaskProblem(name, images, TRAIN_SHARE, description=published.title, every_class=False)


def load_pacs(size: int | None = 128, splits: Splits = "auto") -> MultitaskProblem:
    """Load the four tasks of PACS as images `(N, 3, size, size)` of bytes.

    Each task tells a dog, an elephant, a giraffe, a guitar, a horse, a house and a person apart: 2,048 art paintings,
    2,344 cartoons, 1,670 photos and 3,929 sketches.

    Parameters
    ----------
    size : int or None, default=128
        Pixels of a side, to which images are resized. None keeps them as they are: 227 as published.
    splits : "auto", "published" or "random", default="auto"
        "published": the rows of `<task>_train_kfold.txt` are the ones to train from, and those of
        `<task>_test_kfold.txt` that are not among them test. "random": what a split does not draw tests. "auto" takes
        the published lists when all of them are there.

    Returns
    -------
    MultitaskProblem
        A tenth of each task trains. Labels are the names of the classes.

    Raises
    ------
    FileNotFoundError
        When the images are not there, or with `splits="published"` the lists.
    ValueError
        When an image or a list is damaged.

    Notes
    -----
    Images are read from the archive `pacs/pacs-128-q90.tar`, which is for `size=128`, or from the published folder,
    unpacked to `pacs/PACS` or `pacs/kfold`; the folder comes first for other sizes, as it has more pixels. Rows keep
    the order of the archive, or of the names. The lists lie in `pacs`.

    The published test lists name *all* images of a task, the training rows too: they are meant for testing a model
    that never saw the task. So the rows that train are left out here, and what tests is the published validation part.

    Bytes are 0 to 255, four images to the space of one in float32; a network wants `X / 255`, normalised as its
    weights were trained. `frozen_features` does that itself.

    References
    ----------
    Li et al., "Deeper, Broader and Artier Domain Generalization", ICCV 2017.

    Examples
    --------
    >>> from gapmin.datasets import load_pacs
    >>> load_pacs()  # doctest: +SKIP
    <MultitaskProblem 'pacs': art_painting 2048, cartoon 2344, photo 1670, sketch 3929 rows of 3 x 128 x 128>
    """
    if splits not in get_args(Splits):
        raise ValueError(f"splits is {splits!r}: use one of {', '.join(map(repr, get_args(Splits)))}")
    lists = None if splits == "random" else _lists(required=splits == "published")
    where = images_path(size)
    pictures = (
        images_in_archive(where) if where.is_file() else images_in_folders({task: where / task for task in PACS_TASKS})
    )
    tasks = read_tasks(pictures, PACS_TASKS, size, where)
    if lists is None:
        return MultitaskProblem("pacs", tasks, TRAIN_SHARE, description=f"PACS from {where.name}, random splits")
    train, test = {}, {}
    for task, (X, y) in tasks.items():
        names = [_stem(picture.label, picture.name) for picture in pictures if picture.task == task]
        trains, tests = (_are_listed(names, path) for path in lists[task])
        train[task] = X[trains], y[trains]
        test[task] = X[tests & ~trains], y[tests & ~trains]
    return MultitaskProblem("pacs", train, TRAIN_SHARE, test, f"PACS from {where.name}, published split")


def images_path(size: int | None) -> Path:
    """Return where the images of that size are best read from."""
    archive, *_ = data_set("pacs").files
    order = [archive.path, *archive.instead] if size == ARCHIVE_SIZE else [*archive.instead, archive.path]
    found = (locate(name) for name in order)
    return next((path for path in found if path is not None), None) or archive.find()


def _lists(required: bool) -> dict[str, tuple[Path, Path]] | None:
    """Return the list of the rows that train and the list of those that test, for each task."""
    _, *lists = data_set("pacs").files
    if not required and any(file.locate() is None for file in lists):
        return None
    paths = {file.path: file.find() for file in lists}
    return {task: (paths[pacs_list(task, "train")], paths[pacs_list(task, "test")]) for task in PACS_TASKS}


def _are_listed(names: list[tuple[str, str]], path: Path) -> NDArray[np.bool_]:
    """Return which of the images, (class, name without suffix), are in a list.

    Its lines are like `photo/dog/056_0001.jpg 1`, where classes in the order of their names are counted from 1. The
    suffix may be another: the archive has JPEG files where sketches were published as PNG.
    """
    number = {label: k for k, label in enumerate(sorted({label for label, _ in names}), start=1)}
    listed = set()
    for line in path.read_text().splitlines():
        with decoding(path):
            image, label_number = line.rsplit(maxsplit=1)
            _, label, file = image.split("/")
            if number[label] != int(label_number):
                raise ValueError(f"{line!r} numbers a class that has the number {number[label]}")
        listed.add(_stem(label, file))
    unknown = listed - set(names)
    if unknown or not listed:
        which = "/".join(min(unknown)) if unknown else "nothing"
        raise ValueError(f"{path} lists {which}, of which there is no image: get the images and the lists anew")
    return np.array([name in listed for name in names])


def _stem(label: str, file: str) -> tuple[str, str]:
    return label, file.rpartition(".")[0]
