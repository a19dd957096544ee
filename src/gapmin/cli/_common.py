"""What the commands share: asking for extras, refusing bad options, and the exit codes."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import NoReturn

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130


class MissingExtraError(ImportError):
    """A package that comes with an extra is not installed."""


def require(*names: str, extra: str = "demo") -> None:
    """Raise an error that says what to install if one of the packages is missing."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise MissingExtraError(f'{", ".join(missing)} missing: run pip install "gapmin[{extra}]"')


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


def check_writable(command: str, out: Path, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if out.is_dir():
        refuse(command, f"{option} is {out}, a folder: name a file")
    if not out.parent.is_dir():
        refuse(command, f"{option} is {out}, but there is no folder {out.parent}: make it first")
    try:
        tempfile.TemporaryFile(dir=out.parent).close()
    except OSError as error:
        refuse(command, f"{option} is {out}, but {out.parent} cannot be written to: {error.strerror}")
