"""Where published files are: in the folder that ``$GAPMIN_DATA`` names, in the user's cache, or downloaded to there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gapmin._utils.extras import install_hint

DATA_VARIABLE, CACHE_VARIABLE, OFFLINE_VARIABLE = "GAPMIN_DATA", "GAPMIN_CACHE", "GAPMIN_OFFLINE"
"""The environment variables: the user's own folder, another place for the cache, and any value to forbid downloads."""


class Download(Protocol):
    """A way to get a file that is not on this machine."""

    @property
    def url(self) -> str:
        """The address that the file comes from."""

    def write(self, path: Path, *, progress: bool) -> None:
        """Write the file to `path`; raise an OSError if it cannot be reached, a ValueError if it is not the one."""


@dataclass(frozen=True)
class FromUrl:
    """A file at an address.

    Parameters
    ----------
    url : str
    checksum : str
        The digest of its content as pooch takes it: "sha256:…" or "md5:…".
    """

    url: str
    checksum: str

    def write(self, path: Path, *, progress: bool) -> None:
        """Write the file to `path`, and nothing at all if its content has another checksum."""
        with install_hint("data", f"{self.url} is downloaded with pooch, which is not installed"):
            import pooch
        pooch.get_logger().setLevel("WARNING")
        bar = _Bar(path.name) if progress else None
        downloader = pooch.HTTPDownloader(progressbar=bar or False)
        try:
            pooch.retrieve(self.url, known_hash=self.checksum, path=path.parent, fname=path.name, downloader=downloader)
        except ValueError as error:
            raise ValueError(
                f"{self.url} does not have the checksum {self.checksum} and was not kept: try again later, or get the "
                "file elsewhere"
            ) from error
        finally:
            if bar is not None:  # pooch closes it only after a success
                bar.close()


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
        if folder is not None:
            path = Path(folder) / Path(self.path).name
            if not path.is_file():
                raise FileNotFoundError(f"{path} is not there: give the folder of {path.name} ({self.origin})")
            return path.resolve()
        found = self.locate()
        if found is not None:
            return found
        if self.download is None or os.environ.get(OFFLINE_VARIABLE):
            raise FileNotFoundError(self._where_to_put(why_not_downloaded(self.download)))
        path = cache_folder() / self.path
        try:
            with written_to_cache(path) as draft:
                self.download.write(draft, progress=progress)
        except OSError as error:
            raise FileNotFoundError(self._where_to_put(why_not_downloaded(self.download, error))) from error
        return path.resolve()

    def _where_to_put(self, reason: str) -> str:
        own = Path(os.environ.get(DATA_VARIABLE) or f"${DATA_VARIABLE}") / self.path
        return (
            f"{own} is not there, nor {cache_folder() / self.path}{reason}: put it in one of these places, or set "
            f"{DATA_VARIABLE} to the folder that holds {self.path} ({self.origin})"
        )


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


def locate(name: str) -> Path | None:
    """Return where a file or folder is on this machine, None if it is not."""
    for folder in search_folders():
        if (folder / name).exists():
            return (folder / name).resolve()
    return None


def search_folders() -> list[Path]:
    """Return the folders that are searched, in order: `$GAPMIN_DATA` if set, then the user's cache."""
    own = os.environ.get(DATA_VARIABLE)
    return [*([Path(own)] if own else []), cache_folder()]


def cache_folder() -> Path:
    """Return the folder that downloads and computed features are kept in: `$GAPMIN_CACHE`, or the user's cache."""
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    try:
        import pooch
    except ImportError:  # then nothing can be downloaded, but what others put there is found
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gapmin"
    return Path(pooch.os_cache("gapmin"))


def why_not_downloaded(download: Download | None, error: BaseException | None = None) -> str:
    """Return why a missing file was not downloaded, to go on a sentence with."""
    if download is None:
        return ""
    if error is None:
        return f", and {OFFLINE_VARIABLE} forbids to download {download.url}"
    return f", and {download.url} cannot be downloaded ({_reason(error)})"


def _reason(error: BaseException) -> str:
    answer = getattr(error, "response", None)
    detail = getattr(error, "strerror", None) if answer is None else f"{answer.status_code} {answer.reason}"
    return f"{type(error).__name__}: {detail}" if detail else type(error).__name__


@contextmanager
def written_to_cache(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which then takes its place at `path`, in the cache, in one step."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".partial-") as scratch:
        draft = Path(scratch) / path.name
        yield draft
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.replace(path)


class _Bar:
    """What pooch wants of a progress bar, drawn by rich on standard error."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task(name, total=None)
        self._bars.start()

    @property
    def total(self) -> float | None:
        return self._bars.tasks[0].total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._bars.update(self._task, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        self._bars.advance(self._task, n_bytes)

    def reset(self) -> None:
        self._bars.reset(self._task)

    def close(self) -> None:
        self._bars.stop()
