"""The published data sets: which of their files are on this machine, and how to get the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ._files import DATA_VARIABLE, DataFile, DataSet, cache_folder, search_folders, why_not_downloaded
from ._mlxtend import read_autompg
from ._published import DATA_SETS

__all__ = [
    "DATA_SETS",
    "DATA_VARIABLE",
    "DataFile",
    "DataSet",
    "cache_folder",
    "data_set",
    "fetch",
    "find_file",
    "missing_files",
    "read_autompg",
    "search_folders",
]

_FILE_BY_PATH = {file.path: file for each in DATA_SETS.values() for file in each.files}


def data_set(name: str) -> DataSet:
    """Return the data set of that name."""
    if name not in DATA_SETS:
        raise ValueError(f"there is no data set {name!r}: use one of {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def find_file(path: str) -> Path:
    """Return where a file of the catalogue is, downloaded if that is needed and possible.

    Parameters
    ----------
    path : str
        As in the catalogue, such as "digits/usps.h5".

    Raises
    ------
    FileNotFoundError
        When it is not on this machine and cannot be downloaded; the message says where to put it.
    """
    return _FILE_BY_PATH[path].find()


def missing_files(name: str) -> list[DataFile]:
    """Return the files that a data set needs and that are neither in `$GAPMIN_DATA` nor in the user's cache.

    Examples
    --------
    >>> from gapmin.datasets.catalogue import missing_files
    >>> [file.path for file in missing_files("concrete")]  # doctest: +SKIP
    ['uci/concrete.csv']
    """
    return data_set(name).missing()


def _explain(name: str, reasons: Mapping[DataFile, str]) -> str:
    """Return where to get the files that are missing, and where to put them; each with why it was not downloaded."""
    lines = [f"  {file.path}: {file.origin}{reason}" for file, reason in reasons.items()]
    folders = " nor in ".join(map(str, search_folders()))
    there = (
        "in one of these folders"
        if os.environ.get(DATA_VARIABLE)
        else f"there, or in a folder that {DATA_VARIABLE} names"
    )
    return "\n".join([f"{name} lacks files that are not in {folders}; put them {there}:", *lines])


def fetch(name: str, *, progress: bool = False) -> list[Path]:
    """Download what is missing of a data set, and return where its files are.

    Parameters
    ----------
    name : str
    progress : bool, default=False
        Whether to draw a bar on standard error.

    Raises
    ------
    FileNotFoundError
        When files cannot be had. Its message says of each where to get it and where to put it; the others are there.
    ValueError
        When a file arrived with another checksum; it is not kept.

    Examples
    --------
    >>> from gapmin.datasets.catalogue import fetch
    >>> fetch("svhn")  # doctest: +SKIP
    [PosixPath('/home/me/.cache/gapmin/svhn/train_32x32.mat'), PosixPath('/home/me/.cache/gapmin/svhn/test_32x32.mat')]
    """
    paths: list[Path] = []
    reasons: dict[DataFile, str] = {}
    for file in data_set(name).files:
        try:
            paths.append(file.find(progress=progress))
        except FileNotFoundError as error:
            if not file.optional:
                reasons[file] = why_not_downloaded(file.download, error.__cause__)
    if reasons:
        raise FileNotFoundError(_explain(name, reasons))
    return paths
