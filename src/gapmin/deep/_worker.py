"""One of the processes that `gapmin.deep.launch` starts: ``python -m gapmin.deep._worker FOLDER``."""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import joblib

from gapmin.deep._heartbeat import start_heartbeat
from gapmin.deep.engine import FabricEngine, StoppedElsewhereError, explain_lost_processes, need_fabric
from gapmin.deep.launch import heartbeat_file, pickled


def main(folder: Path) -> int:
    """Do the work of the folder; leave its result or its error there."""
    threading.Thread(target=_end_with_parent, args=[folder], daemon=True).start()
    pickled_work, arrays = joblib.load(folder / "work", mmap_mode="c")
    rank = os.environ["RANK"]
    try:
        work, accelerator, timeout, checkpoint_dir, others = pickle.loads(pickled_work)
        need_fabric()  # imported now, for it takes seconds in which another process would wait for this one
        start_heartbeat(heartbeat_file(folder, int(rank)), timeout)
        _wait_for_all(folder)
        given = [one if other is None else other for one, other in zip(arrays, others, strict=True)]
        with explain_lost_processes(timeout, checkpoint_dir):
            result = work(FabricEngine(accelerator, timeout), *given)
        if rank == "0":
            (folder / "result").write_bytes(pickled(result))
    except StoppedElsewhereError:
        return 1
    except Exception as error:
        where = f"In process {rank}:\n{traceback.format_exc()}"
        error.__cause__ = error.__context__ = None  # told by the traceback, and not always to be pickled
        try:
            failure = pickled((error, where))
        except Exception:
            failure = pickled((RuntimeError(f"{type(error).__name__}: {error}"), where))
        (folder / f"error-{rank}").write_bytes(failure)
        return 1
    return 0


def _wait_for_all(folder: Path) -> None:
    """Wait until every process has started: only from then on does one that keeps the others waiting count as late."""
    while not all(heartbeat_file(folder, rank).exists() for rank in range(int(os.environ["WORLD_SIZE"]))):
        time.sleep(0.01)


def _end_with_parent(folder: Path) -> None:
    """Wait for the end of standard input, which comes when the parent is gone; leave nothing behind."""
    while os.read(0, 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _exit_at_once(code: int) -> NoReturn:
    """End the process as those of `multiprocessing` end, without taking the interpreter down.

    A thread of Gloo may still be letting go of the last tensors. Where the interpreter ends at that moment, the thread
    cannot have its lock any more, and C++ aborts the process after all of its work is done.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # None, or closed, where the parent has none
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit_at_once(main(Path(sys.argv[1])))
