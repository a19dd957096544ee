"""Features of a ResNet-50 that ImageNet trained, computed beforehand, as multitask problems."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from ._multitask import TRAIN_SHARE, MultitaskProblem
from ._published import PACS_TASKS
from ._reading import decoding
from .catalogue import data_set

Collection = Literal["pacs", "office"]
N_FEATURES = 2048
_DATA_SET_OF = {"pacs": "pacs-resnet50", "office": "office-resnet50"}
_TASKS = {"pacs": PACS_TASKS, "office": ("amazon", "dslr", "webcam")}


def load_resnet50_features(collection: Collection) -> MultitaskProblem:
    """Load the 2,048 features that a ResNet-50 has for the images of PACS, or for ten classes of Office-31.

    Parameters
    ----------
    collection : "pacs" or "office"
        The four tasks of PACS with seven classes; or the images of Amazon (958), DSLR (157) and Webcam (295) of
        Office-Caltech, which are those of ten of the 31 classes of Office-31.

    Returns
    -------
    MultitaskProblem
        A tenth of each task trains. The features, as float32, are divided by one number so that their mean square over
        all rows is one. Labels are the names of the classes. The rows of "office" that train need not hold every
        class: a tenth of DSLR is 16 rows.

    Raises
    ------
    FileNotFoundError
        When the file is not there.
    ValueError
        When it is damaged, or holds other features than it should.

    Examples
    --------
    >>> from gapmin.datasets import load_resnet50_features
    >>> load_resnet50_features("office")  # doctest: +SKIP
    <MultitaskProblem 'office, resnet50': amazon 958, dslr 157, webcam 295 rows of 2048>
    >>> load_resnet50_features("imagenet")
    Traceback (most recent call last):
        ...
    ValueError: collection is 'imagenet': use 'pacs' or 'office'
    """
    if collection not in get_args(Collection):
        raise ValueError(f"collection is {collection!r}: use {' or '.join(map(repr, get_args(Collection)))}")
    published = data_set(_DATA_SET_OF[collection])
    path = published.files[0].find()
    with decoding(path), np.load(path, allow_pickle=False) as arrays:
        features, domain, label = (arrays[name] for name in ("features", "domain", "label"))
    tasks = _TASKS[collection]
    if features.shape != (label.size, N_FEATURES) or domain.shape != label.shape or not set(tasks) <= {*domain}:
        raise ValueError(
            f"{path} holds features of shape {features.shape} with {label.size} labels and the domains "
            f"{', '.join(sorted({*map(str, domain)}))}: expected {N_FEATURES} features and one label for each image of "
            f"{', '.join(tasks)}"
        )
    rows = {task: (features[domain == task].astype(np.float32), label[domain == task]) for task in tasks}
    scale = np.sqrt(
        sum(np.square(X, dtype=np.float64).sum() for X, _ in rows.values()) / sum(X.size for X, _ in rows.values())
    )
    if not np.isfinite(scale) or scale == 0:
        raise ValueError(f"{path} holds features with the mean square {scale**2}: compute them again")
    return MultitaskProblem(
        f"{collection}, resnet50",
        {task: (X / np.float32(scale), y) for task, (X, y) in rows.items()},
        TRAIN_SHARE,
        description=f"{published.title}, frozen",
        every_class=collection == "pacs",
    )
