"""What to say of a file whose format is not the one that this gapmin reads."""

from __future__ import annotations

from gapmin._utils.text import one_line
from gapmin._version import __version__


def fault_of_format(number: int, newest: int, writer: object) -> tuple[str, str]:
    """Return what is wrong with the format of a file, and the remedy.

    Parameters
    ----------
    number : int
        The format of the file, not `newest`.
    newest : int
        The one format that is read.
    writer : object
        The version of gapmin that the file names, if it names one.

    Examples
    --------
    >>> fault_of_format(9, 2, None)
    ('it has format 9 and gapmin ... reads up to 2', 'install a newer gapmin, or fit the model again')
    >>> fault_of_format(1, 2, "0.1.0")
    ('it was written by gapmin 0.1.0 in format 1, and gapmin ... reads format 2', 'fit the model again')
    """
    if number > newest:
        return (
            f"it has format {number} and gapmin {__version__} reads up to {newest}",
            "install a newer gapmin, or fit the model again",
        )
    return (
        f"it was written by gapmin {one_line(writer or 'unknown')} in format {number}, "
        f"and gapmin {__version__} reads format {newest}",
        "fit the model again",
    )
