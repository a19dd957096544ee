"""Where the published files are that nobody may bundle: in the folder that ``$GAPMIN_DATA`` names."""

from __future__ import annotations

import os
from pathlib import Path


def find_file(name: str, origin: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a published file, or raise a `FileNotFoundError` that says where to put it.

    Parameters
    ----------
    name : str
        Relative to `$GAPMIN_DATA`, such as "digits/usps.h5".
    origin : str
        What the file is, to end the error message with.
    folder : path, optional
        The folder to look for the file in, instead of its place in `$GAPMIN_DATA`.
    """
    if folder is not None:
        path = Path(folder) / Path(name).name
    else:
        path = Path(os.environ.get("GAPMIN_DATA") or "$GAPMIN_DATA") / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: set GAPMIN_DATA to the folder that holds {name} {origin}")
    return path.resolve()
