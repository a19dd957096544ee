"""Cells are run once, side by side, and what one of them does is no concern of the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gapmin import __version__
from gapmin.reproduce import runner
from gapmin.reproduce.cells import Cell, Measured, Outcome, cell
from gapmin.reproduce.runner import missing, on_this_machine, run_cell, run_grid
from gapmin.reproduce.store import Store
from gapmin_support.checks import repeats
from gapmin_support.processes import is_alive, wait_until, workers_of

FRIEDMAN = [cell("transfer", "Friedman", "AdaBoost.R2_T", split, 0, resample=False) for split in range(3)]


def broken(split: int = 0) -> Cell:
    return cell("transfer", "no such problem", "gapBoost", split, 0, resample=False)


def test_a_cell_that_raises_is_an_outcome_with_its_error():
    outcome = run_cell(broken())
    assert outcome.measured is None
    assert outcome.failure.startswith("ValueError: there is no transfer problem 'no such problem'")
    assert outcome.processor_seconds >= 0


def test_a_cell_gives_the_same_wherever_and_whenever_it_is_run(tmp_path):
    alone = [run_cell(each).measured for each in FRIEDMAN]
    with Store(tmp_path).open() as store:
        run_grid(FRIEDMAN[::-1], store, on_this_machine(2))
        found = [store.get(each) for each in FRIEDMAN]
    assert [each.measured for each in found if each] == alone


def test_finished_cells_are_not_run_again_and_failed_ones_only_when_asked(tmp_path):
    cells = [*FRIEDMAN[:2], broken(), FRIEDMAN[0]]
    with Store(tmp_path).open() as store:
        assert missing(cells, store) == cells[:3]
        run_grid(missing(cells, store), store, on_this_machine(1))
        assert missing(cells, store) == []
        assert missing(cells, store, retry_failed=True) == [broken()]


def test_the_share_that_is_done_rises_to_one(tmp_path):
    said: list[tuple[float, int]] = []
    cells = [*FRIEDMAN, broken(), broken(1)]
    with Store(tmp_path).open() as store:
        run_grid(cells, store, on_this_machine(1), on_progress=lambda share, n: said.append((share, n)))
    shares = [share for share, _ in said]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert {n for _, n in said} == {5}


def test_one_thread_in_a_cell(monkeypatch):
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads(_: Cell) -> Measured:
        return Measured(max((each["num_threads"] for each in threadpool_info()), default=1))

    monkeypatch.setattr(runner, "find_measure", lambda kind: threads)
    with threadpool_limits(2):
        if threads(FRIEDMAN[0]).error < 2:
            pytest.skip("no library here uses threads")
        found = run_cell(FRIEDMAN[0]).measured
    assert found is not None
    assert found.error == 1


def test_an_error_that_is_no_number_is_a_failure(monkeypatch):
    monkeypatch.setattr(runner, "find_measure", lambda kind: lambda one: Measured(float("nan")))
    outcome = run_cell(FRIEDMAN[0])
    assert outcome.measured is None
    assert outcome.failure.startswith("ValueError: the error is nan")


def test_an_outcome_says_with_what_it_was_made():
    assert run_cell(FRIEDMAN[0]).version.startswith(f"gapmin {__version__}, Python 3.")


class _Killed:
    """A measure that kills its own process, a number of times."""

    def __init__(self, folder: Path, times: int) -> None:
        self.folder = folder
        self.times = times

    def __call__(self, one: Cell) -> Outcome:
        mark = self.folder / f"{one.split}.{len(list(self.folder.iterdir()))}"
        if one.split == 1 and len(list(self.folder.glob("1.*"))) < self.times:
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return run_cell(one)


@pytest.mark.parametrize("times", [1, *repeats([2])])
def test_a_worker_that_is_killed_is_replaced_and_its_cell_run_again(tmp_path, monkeypatch, times):
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setattr(runner, "run_cell", _Killed(marks, times))
    with Store(tmp_path / "results").open() as store:
        run_grid(FRIEDMAN, store, on_this_machine(2))
        found = [store.get(each) for each in FRIEDMAN]
    assert [each.measured for each in found if each] == [run_cell(each).measured for each in FRIEDMAN]


@pytest.mark.slow
def test_a_worker_may_be_killed_at_every_cell_if_there_is_progress_between(tmp_path, monkeypatch):
    marks = tmp_path / "marks"
    marks.mkdir()

    def dies_once_a_cell(one: Cell) -> Outcome:
        mark = marks / str(one.split)
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(one, Measured(float(one.split)), "", 0.0, "0")

    monkeypatch.setattr(runner, "run_cell", dies_once_a_cell)
    cells = [cell("transfer", "p", "m", split, 0) for split in range(runner.MAX_RESTARTS + 2)]
    with Store(tmp_path / "results").open() as store:
        for each in cells:  # one by one, so that each is met by a kill of its own
            run_grid([each], store, on_this_machine(2))
        assert len(store.outcomes) == len(cells)


@pytest.mark.slow
def test_workers_that_are_killed_again_and_again_end_the_run_with_a_reason(tmp_path, monkeypatch):
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setattr(runner, "run_cell", _Killed(marks, 99))
    with (
        Store(tmp_path / "results").open() as store,
        pytest.raises(runner.WorkersLostError, match="fewer --jobs"),
    ):
        run_grid(FRIEDMAN, store, on_this_machine(2))


def test_workers_end_when_their_parent_is_killed():
    code = (
        "import time\n"
        "from gapmin._utils.parallel import run_parallel\n"
        "print('go', flush=True)\n"
        "list(run_parallel(time.sleep, [(600,)] * 4, 2))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        wait_until(lambda: len(workers_of(parent.pid)) >= 2)
        workers = workers_of(parent.pid)
        parent.kill()
    wait_until(lambda: not any(is_alive(worker) for worker in workers))
