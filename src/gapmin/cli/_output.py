"""Where a command cannot write, or has no memory: a line on standard error and an exit code, no traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gapmin.cli._common import FAILED


def run_command(command: Callable[[], int | str]) -> int | str:
    """Return what a command returns; where the system fails it, say so in a line and return 1.

    A reader that has gone, as in ``| head -1``, is no error to tell of.
    """
    sys.stdout, sys.stderr = _named(sys.stdout, "standard output"), _named(sys.stderr, "standard error")
    try:
        code = command()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError as error:
        _discard(sys.stdout)
        if error.errno != errno.EPIPE:
            _print_error(_describe(error))
    except MemoryError:
        _print_error("there is not enough memory: give fewer rows or columns, or fewer --jobs")
    else:
        return code
    return FAILED


class _Named:
    """A standard stream whose errors carry its name, so that they are told apart from those of files."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._errors():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with self._errors():
            self._stream.flush()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = self._name
            raise


def _named(stream: Any, name: str) -> Any:
    return None if stream is None else _Named(stream, name)  # None where it was closed


def _describe(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = error.filename or "a temporary file"
        return f"{where} cannot be written ({error.strerror}): free some space there, or write elsewhere"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _print_error(problem: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"gapmin: {problem}\n")
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def _discard(stream: Any) -> None:
    """Let what a stream still holds go nowhere: Python writes it on leaving, and would fail again."""
    with suppress(OSError, AttributeError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
