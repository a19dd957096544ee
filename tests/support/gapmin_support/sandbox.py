"""Run something in a child forked from a warm parent, under limits, and say how it ended."""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable

SECONDS = 20
MEMORY = 2**30

FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.rmdir",
    "os.chmod",
    "os.putenv",
    "subprocess.Popen",
    "shutil.rmtree",
    "shutil.copyfile",
    "socket.connect",
    "socket.bind",
    "pickle.find_class",
    "marshal.loads",
    "ctypes.dlopen",
    "code.__new__",
    "webbrowser.open",
)
"""What a file that only holds data never leads to (names of Python's audit events)."""


def run_forked(
    work: Callable[[], str], folder: str, documented: tuple[type[Exception], ...], seconds: float = SECONDS
) -> tuple[str, str]:
    """Return how `work` ended and a line about it.

    Parameters
    ----------
    work : callable
        Returns a word, such as "loaded".
    folder : str
        The only place where files may be written.
    documented : tuple of exception types
        What reading a bad file may raise.
    seconds : float
        After which it is ended.

    Returns
    -------
    outcome : str
        What `work` returned, or "refused", "executed", "memory", "hung", "crashed", "undocumented".
    line : str
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, folder, documented, writing)
    os.close(writing)
    try:
        answer = _wait_for_answer(reading, time.monotonic() + seconds)
        if answer is None:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    if answer is None:
        return "hung", f"no answer in {seconds} s"
    if os.WIFSIGNALED(status) or not answer:
        return "crashed", f"status {status}, {answer.decode(errors='replace')}"
    outcome, _, line = answer.decode(errors="replace").partition("\n")
    return outcome, line


def _wait_for_answer(reading: int, deadline: float) -> bytes | None:
    answer = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 65536)
            if not part:
                return answer
            answer += part
    return None


def _answer(work: Callable[[], str], folder: str, documented: tuple[type[Exception], ...], writing: int) -> None:
    """Do the work in the child, and end it without running what Python runs at its end."""
    events: list[str] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in FORBIDDEN and not (event == "os.rmdir" and _inside(arguments[0], folder)):
            events.append(f"{event} {arguments!r:.200}")
        elif event == "open" and len(arguments) > 2 and isinstance(arguments[2], int):
            if arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not _inside(arguments[0], folder):
                events.append(f"open to write {arguments[0]!r}")
        elif event in ("os.remove", "os.rename") and not _inside(arguments[0], folder):
            events.append(f"{event} {arguments[0]!r}")

    faulthandler.disable()  # a crash is told by its signal; pytest would print a page about it
    try:
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.addaudithook(watch)
        try:
            outcome, line = work(), ""
        except documented as error:
            outcome, line = "refused", " ".join(str(error).split())
            if "\n" in str(error):
                outcome = "undocumented"
        except MemoryError as error:
            outcome, line = "memory", repr(error)
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            outcome, line = "undocumented", f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        if any(word in line for word in ("Unable to allocate", "MemoryError", "can't allocate memory")):
            outcome = "memory"
        if events:
            outcome, line = "executed", events[0]
        os.write(writing, f"{outcome}\n{line[:2000]}".encode(errors="replace"))
    finally:
        os._exit(0)


def _inside(path: object, folder: str) -> bool:
    if isinstance(path, int):  # a descriptor that is open already
        return True
    try:
        return os.path.realpath(os.fsdecode(path)).startswith(os.path.realpath(folder)) or path == os.devnull  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
