"""One function makes every pool of processes: none outlives its parent, and all share the same workers."""

import ast
import os
import signal
import subprocess
import sys
import warnings
from contextlib import ExitStack
from operator import truediv
from pathlib import Path

import pytest
from joblib import parallel_config

import gapmin
from gapmin._utils.parallel import ignore_sigint_in_children, run_parallel
from gapmin_support.processes import children_of, is_alive, traces_of, wait_until

SOURCE = Path(gapmin.__file__).parent


@pytest.mark.parametrize("settings", [{}, {"batch_size": 1}, {"threads": True}])
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_order(n_jobs, settings):
    tasks = [(base, 2) for base in range(9)]
    assert list(run_parallel(pow, tasks, n_jobs, **settings)) == [base**2 for base in range(9)]


def test_results_may_come_as_they_are_ready():
    found = run_parallel(pow, [(base, 3) for base in range(9)], 2, batch_size=1, in_order=False)
    assert sorted(found) == [base**3 for base in range(9)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_a_task_is_raised_here(n_jobs):
    with pytest.raises(ZeroDivisionError):
        list(run_parallel(truediv, [(1, 1), (1, 0)], n_jobs))


def test_pools_share_their_workers():
    first = set(run_parallel(os.getpid, [()] * 40, 2, batch_size=1))
    second = set(run_parallel(os.getpid, [()] * 40, 2, in_order=False))
    assert os.getpid() not in first
    assert len(first | second) <= 2


def test_one_job_and_threads_stay_in_this_process():
    assert set(run_parallel(os.getpid, [(), ()], 1)) == {os.getpid()}
    assert set(run_parallel(os.getpid, [(), ()], 2, threads=True)) == {os.getpid()}


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_the_backend_may_be_chosen(backend):
    with parallel_config(backend=backend, n_jobs=2):
        assert list(run_parallel(pow, [(2, 3), (3, 2)], None)) == [8, 9]


@pytest.mark.posix
def test_this_process_still_answers_signals():
    list(run_parallel(pow, [(2, 3), (3, 2)], 2))
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & {signal.SIGINT, signal.SIGHUP}
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_to_stop_early_is_quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run_parallel(pow, [(base, 3) for base in range(40)], 2, batch_size=1)
        assert next(results) == 0
        results.close()


@pytest.mark.posix
def test_ctrl_c_is_not_lost_while_workers_start():
    starting = ignore_sigint_in_children()
    starting.__enter__()
    os.kill(os.getpid(), signal.SIGINT)  # not heard yet: what starts here is not left half made
    with pytest.raises(KeyboardInterrupt):
        starting.__exit__(None, None, None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_no_other_file_makes_a_pool():
    """Threads that share memory (require="sharedmem") start no process."""
    pools = {"Parallel", "ProcessPoolExecutor", "Pool", "Process"}
    found = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in pools
        and not any(each.arg == "require" for each in node.keywords)
    ]
    assert found == ["_utils/parallel.py"]


SCRIPT = """
import os, time
import numpy as np
from gapmin._utils.parallel import run_parallel

def work(rows):
    os.write(1, b"busy\\n")  # at once: print may write the end of the line by itself
    time.sleep(600)

list(run_parallel(work, [(np.zeros(200_000),)] * 4, 2, batch_size=1))
"""


@pytest.mark.posix
@pytest.mark.parametrize(
    ("name", "to_all"),
    [("SIGKILL", False), ("SIGHUP", True), pytest.param("SIGTERM", True, marks=pytest.mark.slow)],
)
def test_a_script_that_is_ended_leaves_nothing_behind(name, to_all):
    """A closed terminal sends SIGHUP to all processes in it; `timeout` and systemd send SIGTERM to all."""
    number = getattr(signal, name)
    script = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, start_new_session=True)
    with script, ExitStack() as at_the_end:
        at_the_end.callback(script.kill)  # or a failure would wait for it
        assert [script.stdout.readline() for _ in range(2)] == [b"busy\n", b"busy\n"]
        started = children_of(script.pid)
        assert any(path.is_dir() for path in traces_of(script.pid))
        (os.killpg if to_all else os.kill)(script.pid, number)
        assert script.wait(60) == -number
        script.stdout.close()
    assert len(started) >= 4  # two workers, two trackers
    wait_until(lambda: not any(is_alive(each) for each in started))
    assert not traces_of(script.pid)
