"""Estimators on two processes: started by `fit` or by torchrun, killed and resumed, or refused before any work."""

import json
import os
import signal
import subprocess
import sys

import cloudpickle
import numpy as np
import psutil
import pytest
import torch
from safetensors import safe_open
from torch import nn

from gapmin.deep import (
    MLP,
    Callback,
    CSVLogger,
    EarlyStopping,
    GapMTNN,
    GapMTNNClassifier,
    MultitaskClassifier,
    Uniform,
)
from gapmin.deep.launch import choose_placement, pick_device
from gapmin.deep.trainer import CHECKPOINT
from gapmin_support.processes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])
TWO = {"devices": 2, "strategy": "ddp", "accelerator": "cpu"}


def data(n=61, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    task = rng.choice(["a", "b", "c"], size=n)
    return X, np.where(X[:, 0] * np.where(task == "a", 1, -1) > 0, "up", "down"), task


def small(kind=GapMTNNClassifier, **params):
    defaults = {
        "extractor": MLP(4, (8,)),
        "head_hidden": 6,
        "epochs": 4,
        "batch_size": 7,
        "lr": 0.02,
        "random_state": 0,
    }
    return kind(**(defaults | params))


def same_weights(one, other, tolerance=1e-4):
    for mine, theirs in zip(one.objective_.state_dict().values(), other.objective_.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=tolerance)


class Deadly(nn.Module):
    """An extractor that kills process 1 in the middle of the third epoch, once, while a file says so."""

    def __init__(self, file):
        super().__init__()
        self.layer, self.file, self.calls = nn.Linear(4, 8), file, 0

    def forward(self, x):
        self.calls += self.training
        if self.calls == 11 and os.environ.get("RANK") == "1" and self.file.exists():
            self.file.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.tanh(self.layer(x))


class Refuse(Callback):
    def epoch(self, trainer, record):
        if record["epoch"] == 2:
            raise LookupError("no more of this")


def test_a_fit_on_two_processes_is_the_fit_on_one(tmp_path):
    X, y, task = data()
    torch.manual_seed(3)
    extractor = MLP(4, (8,))
    settings = {"extractor": extractor, "validation_fraction": 0.2, "epochs": 6}
    one, two = (
        small(**settings, **how, callbacks=[EarlyStopping("loss", patience=2), CSVLogger(tmp_path / name)])
        for name, how in (("one.csv", {"device": "cpu"}), ("two.csv", TWO))
    )
    drawn = torch.get_rng_state()
    for clf in (one, two):
        assert clf.fit(X, y, sample_task=task) is clf
        assert torch.equal(torch.get_rng_state(), drawn)
    same_weights(one, two)
    np.testing.assert_allclose(two.relation_, one.relation_, atol=1e-4)
    assert [record.keys() for record in two.history_] == [record.keys() for record in one.history_]
    for name in ("loss", "validation_loss", "validation_error"):
        np.testing.assert_allclose(*([record[name] for record in clf.history_] for clf in (one, two)), atol=1e-4)
    np.testing.assert_allclose(
        two.predict_proba(X, sample_task=task), one.predict_proba(X, sample_task=task), atol=1e-4
    )
    assert [type(each) for each in two.callbacks_] == [EarlyStopping, CSVLogger]
    assert two.callbacks_[0].best == pytest.approx(one.callbacks_[0].best, abs=1e-4)
    assert len((tmp_path / "two.csv").read_text().splitlines()) == len(two.history_) + 1
    two.save(tmp_path / "model.safetensors")
    again = GapMTNNClassifier.load(tmp_path / "model.safetensors", extractor=extractor)
    assert again.devices == 1
    assert np.array_equal(again.predict(X, sample_task=task), two.predict(X, sample_task=task))


@pytest.mark.slow
@pytest.mark.usefixtures("no_process_stays")
def test_a_killed_process_ends_the_fit_and_the_checkpoint_lets_it_go_on(tmp_path):
    X, y, task = data()
    file, folder = tmp_path / "kill", tmp_path / "checkpoints"
    torch.manual_seed(0)
    settings = {"extractor": Deadly(file)}
    whole = small(**settings).fit(X, y, sample_task=task)
    file.touch()
    killed = small(**settings, **TWO, checkpoint_dir=folder, checkpoint_every=2)
    with pytest.raises(
        RuntimeError, match=r"process 1 of 2 was killed \(SIGKILL\): fit again .* goes on from .*checkpoi"
    ):
        killed.fit(X, y, sample_task=task)
    assert not hasattr(killed, "objective_")
    assert [path.name for path in folder.iterdir()] == [CHECKPOINT]
    with safe_open(str(folder / CHECKPOINT), framework="pt") as file:
        position = json.loads(file.metadata()["gapmin checkpoint"])["state"]["position"]
    assert (position["epoch"], position["step"]) == (2, 2)
    resumed = small(**settings, checkpoint_dir=folder, checkpoint_every=2).fit(X, y, sample_task=task)
    same_weights(whole, resumed)
    assert len(resumed.history_) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("no_process_stays")
def test_an_error_in_a_process_is_the_error_of_the_fit():
    X, y, task = data()
    with pytest.raises(LookupError, match="no more of this") as caught:
        small(**TWO, callbacks=[Refuse()]).fit(X, y, sample_task=task)
    assert "In process 0" in caught.value.__notes__[0]


SCRIPT = """
import json, os, sys
from pathlib import Path
import numpy as np, torch
from gapmin.deep import MultitaskClassifier

class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 5)

    def forward(self, x):
        return torch.tanh(self.layer(x))

torch.manual_seed(0)
X = np.random.default_rng(0).normal(size=(41, 4))
y, task, mine, found = X[:, 0] > 0, np.arange(41) % 3, Mine(), []
for settings in json.loads(sys.argv[1]):
    clf = MultitaskClassifier("amtnn", extractor=mine, epochs=2, batch_size=5, lr=0.01, device="cpu", **settings)
    clf.fit(X, y, sample_task=task)
    assert type(clf.objective_.net.extractor) is Mine
    weights = torch.cat([value.double().flatten() for value in clf.objective_.state_dict().values()])
    found.append([clf.history_[-1]["loss"], clf.relation_.tolist(), weights.tolist()])
file = Path(f"found-{os.environ.get('RANK')}.json")
assert not file.exists()  # a script that is run again
file.write_text(json.dumps(found))
"""


def run(tmp_path, command, *settings):
    """Run the script; return what each of its processes found, and what they wrote to standard error."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, *command, "script.py", json.dumps(settings)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob("found-*.json"))
    return {file.stem: json.loads(file.read_text()) for file in files}, done.stdout + done.stderr


@pytest.mark.slow
def test_torchrun_and_a_plain_script_give_what_one_process_gives(tmp_path):
    """The script has no guard and a class of its own; it runs once, or once in each process of torchrun."""
    for name in ("plain", "torchrun"):
        (tmp_path / name).mkdir()
    found, said = run(tmp_path / "plain", [], {"random_state": 0}, {"random_state": 0, "devices": 2})
    ((alone, itself),) = found.values()
    assert not said
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    settings = {"random_state": 0, "devices": "auto"}, {"random_state": None, "strategy": "ddp"}
    found, _ = run(tmp_path / "torchrun", torchrun, *settings)
    assert found.keys() == {"found-0", "found-1"}
    assert found["found-0"] == found["found-1"]  # also where the seed had to be agreed on
    for weights in (itself, found["found-0"][0]):
        for mine, theirs in zip(weights, alone, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-4)


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them_also_where_one_is_stopped(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("epochs=2", "epochs=100000"))
    parent = subprocess.Popen([sys.executable, str(script), json.dumps([{"devices": 2}])])
    try:
        wait_until(lambda: len(psutil.Process(parent.pid).children()) >= 2, 300)
        children = psutil.Process(parent.pid).children()
        children[1].suspend()
    finally:
        parent.kill()
        parent.wait()
    assert len(children) == 2
    assert not psutil.wait_procs(children, timeout=300)[1]


# Refused before any work is done


class Untouched:
    """Rows that say so when they are looked at."""

    def __len__(self):
        raise AssertionError("work was done")


@pytest.mark.parametrize("kind", [MultitaskClassifier, GapMTNNClassifier])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"devices": 0}, "'devices' parameter .* must be an int in the range .*1.* or a str among .'auto'.. Got 0"),
        ({"devices": "all"}, "'devices' parameter .* Got 'all'"),
        ({"strategy": "fsdp"}, "'strategy' parameter .* must be a str among .*'ddp'.* Got 'fsdp'"),
        ({"accelerator": "tpu"}, "'accelerator' parameter .* Got 'tpu'"),
        ({"accelerator": "gpu"}, "accelerator is 'gpu', but PyTorch finds none here: set accelerator='cpu' or 'auto'"),
        ({"accelerator": "gpu", "device": "cpu"}, "device is 'cpu' and accelerator 'gpu': leave one of them at 'auto'"),
        ({"devices": 2, "device": "cpu:0"}, "devices is 2, but device is 'cpu:0': set device='auto'"),
    ],
)
def test_bad_values_are_refused_first(kind, settings, message, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=message):
        kind(**settings).fit(Untouched(), Untouched())


def test_more_gpus_than_there_are_and_mps_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    with pytest.raises(ValueError, match="devices is 4, but there are 3 GPUs: set devices to as many"):
        choose_placement(4, "auto", "gpu", "auto")
    assert choose_placement("auto", "auto", "auto", "auto").n_processes == 3
    assert pick_device("auto", "cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(ValueError, match="devices is 2, but MPS has one device only"):
        choose_placement(2, "auto", "mps", "auto")


def test_torchrun_says_how_many_processes_there_are(monkeypatch):
    for name, value in (("TORCHELASTIC_RUN_ID", "x"), ("LOCAL_WORLD_SIZE", "2"), ("WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=r"devices is 3, but torchrun started 2 processes here: set devices='auto'"):
        choose_placement(3, "auto", "cpu", "auto")
    for devices, strategy in ((2, "auto"), ("auto", "auto"), (1, "ddp")):
        found = choose_placement(devices, strategy, "cpu", "auto")
        assert (found.n_processes, found.started) == (4, True)
    assert choose_placement(1, "auto", "cpu", "auto").n_processes == 1  # each process a fit of its own


def test_without_lightning_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[distributed\]" in a clone of gapmin, or set devices=1'):
        small(devices=2).fit(Untouched(), Untouched())
    X, y, task = data()
    small(epochs=1, strategy="ddp", accelerator="cpu").fit(X, y, sample_task=task)  # one process needs none


def test_an_objective_that_may_not_sum_over_processes_is_refused():
    class Mine(Uniform):
        pass

    with pytest.raises(ValueError, match=r"Mine is an objective of your own.* set devices=1, or"):
        small(MultitaskClassifier, objective=Mine(), **TWO).fit(Untouched(), Untouched())
    Mine.over_processes = True
    Mine().check_over_processes()
    GapMTNN().check_over_processes()


def test_nobody_imports_lightning_for_one_process():
    script = "import sys, gapmin.deep; print(any(name.startswith('lightning') for name in sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_a_worker_leaves_without_taking_the_interpreter_down():
    """Gloo's threads may still need it, and would abort the process after its work is done."""
    script = """
import atexit, sys
from gapmin.deep._worker import _exit_at_once

class Late:
    def __del__(self):
        print("taken down", flush=True)

late = Late()
atexit.register(print, "handler")
print("out", end="")
print("err", end="", file=sys.stderr)
_exit_at_once(3)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "outhandler\n", "err")
    no_output = (
        "import sys; from gapmin.deep._worker import _exit_at_once; "
        "sys.stdout = None; sys.stderr.close(); _exit_at_once(0)"
    )
    assert subprocess.run([sys.executable, "-c", no_output], timeout=300, check=False).returncode == 0
