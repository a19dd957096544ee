"""``gapmin reproduce``: killed and resumed equals never killed; what cannot be run is refused before any work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from gapmin import cli
from gapmin.reproduce import NAMES
from gapmin.reproduce.store import JOURNAL, Store
from gapmin_support.outcomes import made_up_outcome
from gapmin_support.processes import wait_until, workers_of

COMMAND = [sys.executable, "-c", "from gapmin.cli import main; main()", "reproduce"]
GRID = ["table1", "--splits", "3", "--jobs", "2"]


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.delenv("GAPMIN_DATA", raising=False)
    monkeypatch.setenv("GAPMIN_CACHE", str(tmp_path / "empty cache"))
    monkeypatch.setenv("GAPMIN_OFFLINE", "1")


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, **options)


def n_done(folder):
    journal = folder / JOURNAL
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@pytest.mark.slow
def test_killed_twice_and_resumed_is_as_never_killed(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(*GRID, "--out", str(whole)).returncode == 0

    with subprocess.Popen([*COMMAND, *GRID, "--out", str(killed)], stdout=subprocess.DEVNULL) as runner:
        wait_until(lambda: n_done(killed) >= 2, 300)
        runner.send_signal(signal.SIGKILL)
    kept = n_done(killed)
    assert 2 <= kept < 12
    assert not (killed / "table1.md").exists()

    with subprocess.Popen([*COMMAND, *GRID, "--out", str(killed)], stdout=subprocess.PIPE, text=True) as runner:
        wait_until(lambda: n_done(killed) > kept, 300)
        workers_of(runner.pid)[0].kill()
        said, _ = runner.communicate()
    assert runner.returncode == 0
    assert f"{12 - kept} cells run, {kept} kept from before" in said

    for name in ("table1.md", "table1.csv", "reproduction.html", "plans.json"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    one, other = (Store(folder).read().outcomes for folder in (whole, killed))
    assert {key: outcome.measured for key, outcome in one.items()} == {
        key: outcome.measured for key, outcome in other.items()
    }


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path):
    out = tmp_path / "results"
    with subprocess.Popen(
        [*COMMAND, *GRID, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as runner:
        wait_until(lambda: n_done(out) >= 1, 300)
        runner.send_signal(signal.SIGINT)
        _, said = runner.communicate()
    assert runner.returncode == 130
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert Store(out).read().outcomes


@pytest.mark.parametrize("name", ["table2", "table3", "table4", "table5", "table6", "table7", "figure1", "all"])
def test_without_data_and_offline_there_is_one_message_and_nothing_written(name, offline, tmp_path, capsys):
    pytest.importorskip("torch")
    out = tmp_path / "results"
    assert cli._run(["reproduce", name, "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("gapmin reproduce: ") == 1
    assert "lacks files that are not in" in said.err
    assert "put them there, or in a folder that GAPMIN_DATA names" in said.err
    assert not out.exists()


def test_finished_results_can_be_shown_without_their_data(offline, tmp_path, capsys):
    from gapmin.reproduce import get_experiment

    out = tmp_path / "results"
    cells = get_experiment("table3").grid(get_experiment("table3").plan(splits=2))
    with Store(out).open() as store:
        for each in cells[1:]:
            store.add(made_up_outcome(each))
    assert cli._run(["reproduce", "table3", "--splits", "2", "--out", str(out)]) == 2  # one cell is to be run yet
    with Store(out).open() as store:
        store.add(made_up_outcome(cells[0]))
    assert cli._run(["reproduce", "table3", "--splits", "2", "--out", str(out)]) == 0
    assert "0 cells run, 120 kept from before" in capsys.readouterr().out


def test_offline_in_a_process_of_its_own_the_exit_code_is_2(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "GAPMIN_DATA"}
    environment |= {"GAPMIN_OFFLINE": "1", "GAPMIN_CACHE": str(tmp_path / "none")}
    done = run("table2", cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert "20news-bydate_py3.pkz" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table9"], "there is no 'table9': use list, all, or some of table1,"),
        (["table1", "--splits", "0"], "--splits is 0: take at least 1"),
        (["table1", "--jobs", "-2"], "--jobs is -2: take at least 1"),
        (["table1", "--epochs", "0"], "--epochs is 0: take at least 1"),
        (["table1", "--seed", "-1"], "--seed is -1: take 0 or more"),
        (["table1", "--backend", "dask"], "--backend dask and --scheduler go together"),
        (["table1", "--scheduler", "tcp://127.0.0.1:9"], "--backend dask and --scheduler go together"),
        (["table1", "--backend", "spark"], "spark"),
        (["table5", "--protocol", "large"], "large"),
        (["table5", "--device", "cuda"], "--device is cuda: the small protocol runs on the cpu, give --protocol paper"),
        (
            ["table5", "--protocol", "paper", "--device", "tpu"],
            "--device is tpu, which is not on this machine: use one",
        ),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli._run(["reproduce", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_refused(tmp_path, capsys):
    file = tmp_path / "results"
    file.write_text("mine")
    assert cli._run(["reproduce", "table1", "--out", str(file)]) == 2
    assert "is a file: name a folder" in capsys.readouterr().err
    assert cli._run(["reproduce", "table1", "--out", str(file / "below")]) == 2
    assert "is a file: name a folder" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_disk_that_is_full_is_said_in_one_line(tmp_path, monkeypatch, capsys):
    def full(self, outcome):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "add", full)
    assert cli._run(["reproduce", "table1", "--splits", "1", "--jobs", "1", "--out", str(tmp_path / "results")]) == 1
    assert "cannot be written to (No space left on device)" in capsys.readouterr().err


def test_the_list_names_every_table_and_figure(capsys, offline):
    assert cli._run(["reproduce", "list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in NAMES)
    assert "office-resnet50" in said
    assert "office31" not in said
    assert cli._run(["reproduce", "list", "--protocol", "paper"]) == 0
    said = capsys.readouterr().out
    assert "missing: office31" in said
    assert "office-resnet50" not in said


def test_help_has_an_example(capsys):
    assert cli._run(["reproduce", "--help"]) == 0
    assert "Example: gapmin reproduce table2 --quick" in capsys.readouterr().out


def test_a_cell_that_fails_is_said_and_the_exit_code_is_1(tmp_path, monkeypatch, capsys):
    from gapmin.reproduce import rules

    def broken(*arguments):
        raise ValueError("the gap cannot be measured")

    out = tmp_path / "results"
    with monkeypatch.context() as patched:
        patched.setattr(rules, "weighted_gap", broken)
        assert cli._run(["reproduce", "table1", "--splits", "1", "--jobs", "1", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert "failed: digits -> mnist, odd, gapBoost, split 0: ValueError: the gap cannot be measured" in said.err
    assert "4 of 4 cells failed; --retry-failed runs them again" in said.err
    assert "4 cells failed and are left out" in (out / "table1.md").read_text()
    # Without the flag a failed cell is not run again; with it, it is.
    assert cli._run(["reproduce", "table1", "--splits", "1", "--jobs", "1", "--out", str(out)]) == 1
    assert "0 cells run, 4 kept from before" in capsys.readouterr().out
    again = ["reproduce", "table1", "--splits", "1", "--jobs", "1", "--out", str(out), "--retry-failed"]
    assert cli._run(again) == 0
    assert "failed" not in (out / "table1.md").read_text()
    assert json.loads((out / "plans.json").read_text())["table1"]["splits"] == 1
