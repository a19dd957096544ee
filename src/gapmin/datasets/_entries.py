"""What the catalogue of data sets is made of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ._files import Download, find_file, locate


@dataclass(frozen=True)
class DataFile:
    """A published file, or a folder of them.

    Parameters
    ----------
    path : str
        Relative to `$GAPMIN_DATA` or the user's cache.
    origin : str
        What it is and where it comes from.
    n_bytes : int, optional
        Its size, where it is known.
    sha256 : str, optional
        Of the file as it was published, or else as the loaders are tested with.
    download : Download, optional
        How to get it. Only where a checksum is known to tell whether it arrived.
    instead : tuple of str
        Paths any of which does as well.
    optional : bool, default=False
        Whether the data set can do without.
    """

    path: str
    origin: str
    n_bytes: int | None = None
    sha256: str | None = None
    download: Download | None = None
    instead: tuple[str, ...] = ()
    optional: bool = False

    @property
    def url(self) -> str | None:
        """The address that it is downloaded from, if there is one."""
        return None if self.download is None else self.download.url

    def locate(self) -> Path | None:
        """Return where it, or what does as well, is on this machine; None if it is not."""
        found = (locate(path) for path in (self.path, *self.instead))
        return next((path for path in found if path is not None), None)

    def find(self, folder: str | os.PathLike[str] | None = None, *, progress: bool = False) -> Path:
        """Return where it is, downloaded if that is needed and possible; or raise a `FileNotFoundError`.

        Parameters
        ----------
        folder : path, optional
            Look there and nowhere else.
        progress : bool, default=False
            Whether a download draws a bar on standard error.
        """
        found = self.locate() if folder is None else None
        return found or find_file(self.path, f"({self.origin})", folder, download=self.download, progress=progress)


@dataclass(frozen=True)
class DataSet:
    """A published data set.

    Parameters
    ----------
    name, title : str
    files : tuple of DataFile
    licence : str
        Where it comes from and on which terms.
    used_for : str
        The tables and figures of the paper that it is for.
    """

    name: str
    title: str
    files: tuple[DataFile, ...]
    licence: str
    used_for: str

    @property
    def n_bytes(self) -> int | None:
        """The size of what it needs, where that is known."""
        sizes = [file.n_bytes for file in self.files if not file.optional]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def missing(self) -> list[DataFile]:
        """Return the files it needs that are not on this machine."""
        return [file for file in self.files if not file.optional and file.locate() is None]
