"""What the commands share: asking for extras, refusing bad options, errors in one line, and the exit codes."""

from __future__ import annotations

import importlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from gapmin._utils.extras import how_to_install
from gapmin._utils.options import on_command_line
from gapmin._utils.text import printable

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
_LARGEST_SEED = 2**32 - 1


class MissingExtraError(ImportError):
    """A package that comes with an extra is not installed."""


def require(*names: str, extra: str = "cli") -> None:
    """Raise an error that says what to install if one of the packages is missing."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise MissingExtraError(f"{', '.join(missing)} missing: {how_to_install(extra)}")


def refuse(command: str, message: str) -> NoReturn:
    """Say in one line what is wrong with the command, and end."""
    import typer

    typer.echo(f"gapmin {command}: {message}", err=True)
    raise typer.Exit(WRONG_USAGE)


def refuse_below_one(command: str, **options: int | None) -> None:
    """Refuse counts below 1."""
    for name, value in options.items():
        if value is not None and value < 1:
            refuse(command, f"--{name} is {value}: take at least 1")


def check_seed(command: str, seed: int) -> None:
    """Refuse a seed that NumPy does not take."""
    if not 0 <= seed <= _LARGEST_SEED:
        refuse(command, f"--seed is {seed}: take a number from 0 to {_LARGEST_SEED:,}")


def check_not_input(command: str, out: Path, inputs: Sequence[Path], option: str = "--out") -> None:
    """Refuse to write over a file that is read."""
    for path in inputs:
        if os.path.realpath(out) == os.path.realpath(path):  # Path.resolve raises where a link points to itself
            refuse(command, f"{option} is {printable(str(out))}, which is read: name another file")


def check_writable(command: str, out: Path, option: str = "--out", *, force: bool = True) -> None:
    """Refuse a file that cannot be written, or that is there and must not be replaced, before any work is done."""
    shown = printable(str(out))
    try:
        mode = out.stat().st_mode if out.exists() else stat.S_IFREG
    except OSError as error:  # such as a name that is too long
        refuse(command, f"{option} is {shown}, which cannot be written ({error.strerror}): name another file")
    if stat.S_ISDIR(mode):
        refuse(command, f"{option} is {shown}, a folder: name a file")
    if not stat.S_ISREG(mode):  # it would be replaced, not written to
        refuse(command, f"{option} is {shown}, a device or a pipe: name a file")
    folder = Path(os.path.realpath(out)).parent if out.is_symlink() else out.parent
    if not folder.is_dir():
        refuse(command, f"{option} is {shown}, but there is no folder {printable(str(folder))}: make it first")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        refuse(command, f"{option} is {shown}, but {printable(str(folder))} cannot be written to: {error.strerror}")
    if (out.exists() or out.is_symlink()) and not force:
        refuse(command, f"{shown} is there already: name another file, or add --force to replace it")


@contextmanager
def ending_if_unwritable(command: str, out: Path) -> Iterator[None]:
    """Turn what keeps a file from being written, such as a full disk, into a line on standard error."""
    import typer

    try:
        yield
    except OSError as error:
        problem = f"{printable(str(out))} cannot be written ({error.strerror or error})"
        typer.echo(f"gapmin {command}: {problem}: free some space, or name another file", err=True)
        raise typer.Exit(FAILED) from None


@contextmanager
def errors_in_one_line(command: str, *, outcome: str) -> Iterator[None]:
    """Turn what is wrong with somebody's files, and Ctrl-C, into a line on standard error and an exit code.

    `outcome` says what an interrupted command leaves behind.
    """
    import typer

    from gapmin.saved import ModelFileError
    from gapmin.study import TableError

    try:
        with on_command_line():
            yield
    except (TableError, ModelFileError) as error:
        refuse(command, printable(str(error)))
    except KeyboardInterrupt:
        typer.echo(f"gapmin {command}: interrupted, {outcome}", err=True)
        raise typer.Exit(INTERRUPTED) from None
