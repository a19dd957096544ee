"""The same grid on a real cluster of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from gapmin.reproduce.cells import Cell, Measured, Outcome, cell
from gapmin.reproduce.runner import on_dask, run_cell, run_grid
from gapmin.reproduce.store import Store

distributed = pytest.importorskip("distributed")

CELLS = [
    *(
        cell("transfer", "Friedman", method, split, 0, resample=True)
        for split in range(2)
        for method in ("AdaBoost.R2_T", "gapBoostR")
    ),
    cell("transfer", "no such problem", "gapBoost", 0, 0, resample=False),
]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as running:
        yield running


def test_a_cluster_finds_what_this_machine_finds_to_the_bit(cluster, tmp_path):
    with Store(tmp_path).open() as store:
        run_grid(CELLS, store, on_dask(cluster.scheduler_address))
        found = [store.get(each) for each in CELLS]
    here = [run_cell(each) for each in CELLS]
    assert [each.measured for each in found if each] == [each.measured for each in here]
    assert "no such problem" in found[-1].failure


def test_a_worker_of_the_cluster_may_die(cluster, tmp_path, monkeypatch):
    from gapmin.reproduce import runner

    mark = tmp_path / "died"

    def deadly(one: Cell) -> Outcome:
        if one.method == "dies" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(one, Measured(float(one.split)), "", 0.0, "0")

    monkeypatch.setattr(runner, "run_cell", deadly)
    cells = [cell("transfer", "p", method, split, 0) for split in range(3) for method in ("lives", "dies")]
    with Store(tmp_path / "results").open() as store:
        run_grid(cells, store, on_dask(cluster.scheduler_address))
        assert [store.get(each).measured.error for each in cells] == [0, 0, 1, 1, 2, 2]
    assert mark.exists()


def test_a_scheduler_that_is_lost_ends_the_run_and_keeps_what_is_done(tmp_path, monkeypatch):
    from gapmin.reproduce import runner

    def slow(one: Cell) -> Outcome:
        if one.split:
            time.sleep(60)
        return Outcome(one, Measured(0.0), "", 0.0, "0")

    monkeypatch.setattr(runner, "run_cell", slow)
    cells = [cell("transfer", "p", "m", split, 0) for split in range(2)]
    code = (
        "from distributed import LocalCluster\n"
        "import time\n"
        "if __name__ == '__main__':\n"
        "    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)\n"
        "    print(cluster.scheduler_address, flush=True)\n"
        "    time.sleep(600)\n"
    )
    code = code.replace("processes=False", "processes=False, protocol='tcp', host='127.0.0.1'")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as cluster:
        completed = on_dask(cluster.stdout.readline().strip())

        def kill_after_the_first(share: float, n_cells: int) -> None:
            cluster.kill()

        def run() -> None:
            with Store(tmp_path).open() as store:
                run_grid(cells, store, completed, on_progress=kill_after_the_first)

        with pytest.raises(runner.WorkersLostError, match="was lost: what is done is kept"):
            run()
    assert list(Store(tmp_path).read().outcomes) == [cells[0].key]


def test_a_scheduler_that_does_not_answer_is_refused_before_any_work(tmp_path, capsys):
    from gapmin import cli

    out = tmp_path / "results"
    arguments = ["reproduce", "table1", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9", "--out", str(out)]
    assert cli._run(arguments) == 2
    said = capsys.readouterr().err
    assert "tcp://127.0.0.1:9, where no scheduler answers" in said
    assert not out.exists()
