"""Office-31 (Saenko et al. 2010) and Office-Home (Venkateswara et al. 2017): things on desks, from several sources."""

from __future__ import annotations

from ._images import TRAIN_SHARE, in_folders, read_tasks
from ._multitask import MultitaskProblem
from .catalogue import data_set


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
    return _load("office31", ("amazon", "dslr", "webcam"), size)


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
    return _load("office-home", ("Art", "Clipart", "Product", "Real World"), size)


def _load(name: str, tasks: tuple[str, ...], size: int) -> MultitaskProblem:
    published = data_set(name)
    folders = {task: file.find() for task, file in zip(tasks, published.files, strict=True)}
    images = read_tasks(in_folders(folders), tasks, size, folders[tasks[0]].parent)
    return MultitaskProblem(name, images, TRAIN_SHARE, description=published.title, every_class=False)
