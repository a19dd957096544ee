"""Where published files are: in the folder that ``$GAPMIN_DATA`` names, in the user's cache, or downloaded to there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

FOLDER, CACHE, OFFLINE = "GAPMIN_DATA", "GAPMIN_CACHE", "GAPMIN_OFFLINE"
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
        pooch = _pooch(f"{self.url} is downloaded")
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


def find_file(
    name: str,
    origin: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    download: Download | None = None,
    progress: bool = False,
) -> Path:
    """Return the path of a published file, or raise a `FileNotFoundError` that says where to put it.

    Parameters
    ----------
    name : str
        Relative to `$GAPMIN_DATA`, such as "digits/usps.h5".
    origin : str
        What the file is and where it comes from, to end the error message with.
    folder : path, optional
        The folder to look for the file in, instead of its places in `$GAPMIN_DATA` and in the user's cache.
    download : Download, optional
        How to get the file when it is in neither.
    progress : bool, default=False
        Whether a download draws a bar on standard error.
    """
    if folder is not None:
        path = Path(folder) / Path(name).name
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there: give the folder of {path.name} {origin}")
        return path.resolve()
    found = locate(name)
    if found is not None:
        return found
    if download is None or os.environ.get(OFFLINE):
        raise FileNotFoundError(_where_to_put(name, origin, can_come_from(download)))
    path = cache_folder() / name
    try:
        with written_whole(path) as arriving:
            download.write(arriving, progress=progress)
    except OSError as error:
        raise FileNotFoundError(_where_to_put(name, origin, can_come_from(download, error))) from error
    return path.resolve()


def locate(name: str) -> Path | None:
    """Return where a file or folder is on this machine, None if it is not."""
    for folder in search_folders():
        if (folder / name).exists():
            return (folder / name).resolve()
    return None


def search_folders() -> list[Path]:
    """Return the folders that are searched, in order: `$GAPMIN_DATA` if set, then the user's cache."""
    own = os.environ.get(FOLDER)
    return [*([Path(own)] if own else []), cache_folder()]


def cache_folder() -> Path:
    """Return the folder that downloads and computed features are kept in: `$GAPMIN_CACHE`, or the user's cache."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    try:
        import pooch
    except ImportError:  # then nothing can be downloaded, but what others put there is found
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gapmin"
    return Path(pooch.os_cache("gapmin"))


def can_come_from(download: Download | None, error: BaseException | None = None) -> str:
    """Return how a missing file could be downloaded, or why not, to go on a sentence with."""
    if download is None:
        return ""
    if os.environ.get(OFFLINE):
        return f", and {OFFLINE} forbids to download {download.url}"
    if error is None:
        return f", which can be downloaded from {download.url}"
    return f", and {download.url} cannot be downloaded ({_said(error)})"


def _said(error: BaseException) -> str:
    answer = getattr(error, "response", None)
    detail = getattr(error, "strerror", None) if answer is None else f"{answer.status_code} {answer.reason}"
    return f"{type(error).__name__}: {detail}" if detail else type(error).__name__


def _where_to_put(name: str, origin: str, reason: str) -> str:
    own = Path(os.environ.get(FOLDER) or f"${FOLDER}") / name
    return (
        f"{own} is not there, nor {cache_folder() / name}{reason}: put it in one of these places, or set {FOLDER} to "
        f"the folder that holds {name} {origin}"
    )


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which then takes its place at `path`, in the cache, in one step."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".partial-") as scratch:
        arriving = Path(scratch) / path.name
        yield arriving
        path.parent.mkdir(parents=True, exist_ok=True)
        arriving.replace(path)


def _pooch(what: str) -> Any:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(f'{what} with pooch, which is not installed: run pip install "gapmin[data]"') from error
    return pooch


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
