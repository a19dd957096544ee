"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, sync: bool = False, follow_links: bool = True) -> Iterator[Path]:
    """Yield a path beside a file's place; what is written there moves to the place when the block ends.

    A block that raises, or a process that is killed, leaves the old file as it was.

    Parameters
    ----------
    path : path
        Where the file shall be.
    sync : bool, default=False
        Have the content on the disk before it is moved: for files that must outlive a power cut.
    follow_links : bool, default=True
        Whether a symbolic link there is followed, or replaced: in a folder that others filled it may lead to any file
        of the user's.
    """
    place = Path(os.path.realpath(path)) if follow_links else Path(path)
    draft = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        draft.unlink(missing_ok=True)  # a link of that name would be followed
        yield draft
        if sync:
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        os.replace(draft, place)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_atomically(
    content: str | bytes, path: str | os.PathLike[str], *, sync: bool = False, follow_links: bool = True
) -> Path:
    """Write a file beside its place and move it there, so that no reader ever meets half of it."""
    with atomic_path(path, sync=sync, follow_links=follow_links) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)
