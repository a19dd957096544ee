"""A process of a fit that is stopped, or keeps the others waiting, ends the fit; one that is merely slow does not."""

import os
import signal
import sys
import time
from datetime import timedelta

import cloudpickle
import numpy as np
import psutil
import pytest
import torch
from torch import distributed as dist
from torch import nn

pytest.importorskip("lightning_fabric")

from gapmin.deep import MLP, GapMTNNClassifier
from gapmin.deep import _heartbeat as heartbeat
from gapmin.deep._heartbeat import HeartbeatMonitor
from gapmin.deep.launch import Placement, choose_placement

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)).astype(np.float32)
    return X, X[:, 0] > 0, np.arange(40) % 2


class Pausing(nn.Module):
    """An extractor that stops its process or sleeps, in the processes named, at its third batch."""

    def __init__(self, ranks, seconds=None):
        super().__init__()
        self.layer, self.ranks, self.seconds, self.calls = nn.Linear(4, 8), ranks, seconds, 0

    def forward(self, x):
        self.calls += self.training
        if self.training and self.calls == 3 and os.environ.get("RANK") in self.ranks:
            if self.seconds is None:
                os.kill(os.getpid(), signal.SIGSTOP)
            else:
                time.sleep(self.seconds)
        return torch.tanh(self.layer(x))


def fit(extractor, **settings):
    X, y, task = data()
    clf = GapMTNNClassifier(
        extractor=extractor, head_hidden=6, epochs=2, batch_size=7, random_state=0, devices=2, accelerator="cpu"
    )
    return clf.set_params(**settings).fit(X, y, sample_task=task)


@pytest.mark.usefixtures("no_process_stays")
def test_a_stopped_process_ends_the_fit_and_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"process 1 of 2 .* gave no sign of life") as caught:
        fit(Pausing("1"), timeout=6, checkpoint_dir=tmp_path / "run")
    said = str(caught.value)
    assert "timeout is 6 s" in said
    assert f"goes on from the checkpoint in {tmp_path / 'run'}" in said
    assert said.endswith("If such a pause is no fault, set a longer timeout")
    assert not psutil.pid_exists(int(said.partition("process id ")[2].partition(")")[0]))


@pytest.mark.slow
@pytest.mark.usefixtures("no_process_stays")
def test_a_process_that_keeps_another_waiting_ends_the_fit():
    with pytest.raises(RuntimeError, match=r"kept this one waiting for 6 s .*: fit again; .* set a longer timeout"):
        fit(Pausing("1", seconds=600), timeout=6)


@pytest.mark.slow
def test_a_step_that_takes_all_processes_longer_than_the_timeout_does_not():
    assert len(fit(Pausing("01", seconds=8), timeout=6).history_) == 2


def limits_of(engine):
    """Return how long this process waits for others, for gradients and for everything else."""
    groups = dist.group.WORLD, engine.processes.group
    return [group._get_backend(torch.device("cpu")).options._timeout for group in groups]


@pytest.mark.slow
def test_the_timeout_reaches_pytorch():
    where = choose_placement(2, "ddp", "cpu", "auto", timeout=123.5)
    assert where == Placement(torch.device("cpu"), 2, timeout=123.5)
    assert where.run(limits_of, ()) == [timedelta(seconds=123.5)] * 2


def test_the_default_is_pytorchs():
    assert GapMTNNClassifier().timeout == Placement(torch.device("cpu")).timeout
    assert timedelta(seconds=GapMTNNClassifier().timeout) == dist.default_pg_timeout


def test_a_file_does_not_keep_the_timeout(tmp_path):
    fit(MLP(4, (8,)), devices=1, epochs=1, timeout=7).save(tmp_path / "model.safetensors")
    again = GapMTNNClassifier.load(tmp_path / "model.safetensors", extractor=MLP(4, (8,)))
    assert again.timeout == GapMTNNClassifier().timeout


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "60", None])
def test_bad_values_are_refused(timeout):
    with pytest.raises(ValueError, match=r"'timeout' parameter .* must be a float in the range \(0.0, 1000000000.0\]"):
        fit(MLP(4, (8,)), timeout=timeout)


# HeartbeatMonitor is counted by looks


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(heartbeat, "time", clock)
    return clock


def touch(file):
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.touch()
    os.utime(file, ns=(0, before + 1))


def test_a_process_is_silent_from_its_last_sign_on(tmp_path, clock):
    files = [tmp_path / "0", tmp_path / "1"]
    monitor = HeartbeatMonitor(files, timeout=3)
    for file in files:
        touch(file)
    monitor.check()
    for _ in range(8):
        clock.now += 0.5
        touch(files[0])
        monitor.check()
    assert monitor.seconds == [0, 4]
    assert [monitor.is_silent(rank) for rank in (0, 1)] == [False, True]
    touch(files[1])
    monitor.check()
    assert not monitor.is_silent(1)


def test_time_in_which_nobody_looked_is_no_silence(tmp_path, clock):
    """This process was stopped or the machine slept, and the others with it."""
    touch(tmp_path / "0")
    monitor = HeartbeatMonitor([tmp_path / "0"], timeout=30)
    monitor.check()
    clock.now += 3600
    monitor.check()
    assert not monitor.is_silent(0)


def test_a_process_may_take_longer_to_start(tmp_path, clock):
    monitor = HeartbeatMonitor([tmp_path / "0"], timeout=3)
    for second in range(1, 302):
        clock.now = second
        monitor.check()
        assert monitor.is_silent(0) == (second > heartbeat.STARTUP_SECONDS)
