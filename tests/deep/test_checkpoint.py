"""Checkpoints that were made up: refused in one sentence, before anything of them is taken over."""

import copy
import os
import struct

import numpy as np
import pytest
import torch
from torch import nn

from gapmin.deep import AMTNN, MLP, Callback, EarlyStopping, GapMTNN, LeNet, MultitaskNet, TaskHeads, Trainer
from gapmin.deep._tensorfile import TensorFile, write_tensors
from gapmin.deep.batches import TaskRows
from gapmin.deep.checkpoint import read_checkpoint, write_checkpoint
from gapmin.deep.trainer import CHECKPOINT
from gapmin_support.networkfiles import Content

HEADS = "net.heads.weight1"


def rows_of(*shape):
    x = torch.randn(16, *shape, generator=torch.Generator().manual_seed(0))
    return TaskRows(x, (x.flatten(1)[:, 0] > 0).long(), [np.arange(10), np.arange(10, 16)], channels_last=True)


def trainer_of(folder, objective=None, extractor=None, **settings):
    torch.manual_seed(0)
    extractor = extractor or MLP(4, (3,))
    net = MultitaskNet(extractor, TaskHeads(2, extractor.out_features, hidden=2, n_classes=2))
    settings = {"epochs": 3, "batch_size": 3, "checkpoint_dir": folder, "checkpoint_every": 1, **settings}
    return Trainer((objective or AMTNN(critic_hidden=2)).setup(net), **settings)


def stop_after(n_steps, trainer, rows):
    """Train for so many steps, and stop as if killed."""
    step, taken = trainer.step, []

    def counted(batch):
        if len(taken) == n_steps:
            raise KeyboardInterrupt
        taken.append(batch)
        return step(batch)

    trainer.step = counted
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(rows)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The bytes of a checkpoint in the middle of the second epoch."""
    folder = tmp_path_factory.mktemp("original")
    stop_after(6, trainer_of(folder, callbacks=[EarlyStopping("loss")]), rows_of(4))
    return (folder / CHECKPOINT).read_bytes()


@pytest.fixture
def content(original):
    return Content(original, "gapmin checkpoint")


def assert_refused(folder, fault, **settings):
    """See that a fit is refused, and that its network is as it was."""
    trainer = trainer_of(folder, callbacks=[EarlyStopping("loss")], **settings)
    before, random = copy.deepcopy(trainer.objective.state_dict()), torch.get_rng_state()
    with pytest.raises(ValueError, match=fault) as caught:
        trainer.fit(rows_of(4))
    assert str(caught.value).endswith("name another checkpoint_dir, or remove the file to start anew")
    assert "\n" not in str(caught.value)
    assert all(torch.equal(value, before[name]) for name, value in trainer.objective.state_dict().items())
    assert not trainer.torch_optimizer.state
    assert trainer.callbacks[0].best is None
    assert torch.equal(torch.get_rng_state(), random)


def test_what_is_written_by_hand_is_taken_too(original, content, tmp_path):
    content.write(tmp_path / CHECKPOINT)
    trainer = trainer_of(tmp_path, callbacks=[EarlyStopping("loss")])
    trainer.fit(rows_of(4))
    (tmp_path / CHECKPOINT).write_bytes(original)
    other = trainer_of(tmp_path, callbacks=[EarlyStopping("loss")])
    other.fit(rows_of(4))
    assert trainer.history == other.history
    whole = trainer_of(None, callbacks=[EarlyStopping("loss")])
    whole.fit(rows_of(4))
    assert trainer.history == whole.history
    for name, value in whole.objective.state_dict().items():
        assert torch.equal(value, trainer.objective.state_dict()[name])


# Formats


class Trap:
    """Pickles to what makes a folder when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", ["checkpoint.pt", CHECKPOINT])
@pytest.mark.parametrize("trap", [False, True])
def test_a_pickle_of_an_older_gapmin_is_not_read_but_named(name, trap, tmp_path, monkeypatch):
    state = {"format": 1, "fingerprint": {}, "state": Trap(tmp_path / "ran") if trap else {}}
    torch.save(state, tmp_path / name)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle was read"))
    assert_refused(tmp_path, rf"{name} .*format 1")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_later_format_is_named(content, tmp_path):
    content.said["format"] = 3
    content.write(tmp_path / CHECKPOINT)
    assert_refused(tmp_path, "has checkpoint format 3, this gapmin reads 2")


def test_a_model_that_was_saved_is_no_checkpoint(content, tmp_path):
    content.header["__metadata__"] = {}
    content.key = "gapmin"
    content.write(tmp_path / CHECKPOINT)
    assert_refused(tmp_path, "does not describe a run")


@pytest.mark.parametrize("name", ["format", "fingerprint", "state"])
def test_every_part_of_the_description_is_needed(name, content, tmp_path):
    for value in (None, "text", True, [1]):
        content.said[name] = value
        content.write(tmp_path / CHECKPOINT)
        assert_refused(tmp_path, "is not a checkpoint that can be read")
    del content.said[name]
    content.write(tmp_path / CHECKPOINT)
    assert_refused(tmp_path, "is not a checkpoint that can be read")


def test_only_regular_files_are_opened(tmp_path):
    for name in ("pipe", "folder", "loop", "cut"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe" / CHECKPOINT)
    (tmp_path / "folder" / CHECKPOINT).mkdir()
    (tmp_path / "loop" / CHECKPOINT).symlink_to(CHECKPOINT)
    (tmp_path / "file").write_text("")
    for name, fault in {"pipe": "regular", "folder": "a folder", "loop": "links", "file": "Not a directory"}.items():
        assert_refused(tmp_path / name, rf"{name}.*is not a checkpoint that can be read .*{fault}")


# Order: whose it is, then whether it can be this run's, and only then the tensors


def test_whose_it_is_is_seen_before_a_tensor_is_read(original, tmp_path, monkeypatch):
    (tmp_path / CHECKPOINT).write_bytes(original)
    monkeypatch.setattr(TensorFile, "read", lambda self: pytest.fail("tensors were read"))
    assert_refused(tmp_path, "is of another run: its batch_size is 3, here it is 2", batch_size=2)
    (tmp_path / CHECKPOINT).write_bytes(original[:-1])
    assert_refused(tmp_path, "bytes")


def at(said, *path):
    for name in path:
        said = said[name]
    return said


CHANGES = {
    "no objective": ("objective", {}, "lacks"),
    "a part missing": ("rng", None, "rng is no tensor"),
    "a part more": ("more", 1, "not exactly"),
    "numbers as weights": (("objective", HEADS), 1.0, "not tensors by name"),
    "a weight missing": (("objective", HEADS), ..., f"lacks {HEADS}"),
    "an unknown weight": (("objective", "more"), {"$tensor": "more"}, "asks for the tensor more"),
    "a weight twice": (("objective", HEADS), {"$tensor": f"optimizer/{HEADS}/exp_avg"}, "asked for before"),
    "an unknown tag": (("objective", HEADS), {"$object": "os.system"}, "where a value was due"),
    "an optimizer that is none": ("optimizer", [], "optimizer"),
    "an optimizer of another net": (("optimizer", "more"), {}, "network lacks"),
    "a slot missing": (("optimizer", HEADS, "step"), ..., "not exactly"),
    "a slot that is a number": (("optimizer", HEADS, "step"), 1.0, "no tensor of shape"),
    "a tensor too few": (("callbacks", 0, 1, "weights"), None, "does not ask for"),
    "an epoch in words": (("position", "epoch"), "1", "of epoch 1"),
    "an epoch of truth": (("position", "epoch"), True, "of epoch True"),
    "an epoch too far": (("position", "epoch"), 2, "history is no list of 2"),
    "a step too far": (("position", "step"), 10**9, "an epoch has 4 steps"),
    "a step before the first": (("position", "step"), -1, "an epoch has 4 steps"),
    "no step, but sums": (("position", "step"), 0, "its sums after 0"),
    "stopped in words": (("position", "stopped"), "no", "stopped is no"),
    "sums of numbers": (("position", "sums", "loss"), 1.0, "sums is not tensors"),
    "a sum too long": (("position", "sums", "loss"), {"$tensor": "position/sums/task_loss"}, "asked for|is of"),
    "a position more": (("position", "n_tasks"), 10**9, "not exactly"),
    "no history": ("history", [], "no list of 1 epochs"),
    "a record without loss": (("history", 0, "loss"), ..., "lacks epoch, lr, loss"),
    "a loss in words": (("history", 0, "loss"), "low", "has the figures"),
    "a loss of no task": (("history", 0, "task_loss"), {}, "task_loss of each task"),
    "another epoch": (("history", 0, "epoch"), 7, "has the figures"),
    "callbacks that are none": ("callbacks", {"EarlyStopping": {}}, "callbacks are no list"),
    "a callback without a state": (("callbacks", 0, 1), None, "callbacks are no list"),
    "a callback's state": (("callbacks", 0, 1, "waited"), "long", "state of EarlyStopping is none"),
    "a callback's weights": (("callbacks", 0, 1, "weights", "more"), 1, "state of EarlyStopping is none"),
    "a callback's entry": (("callbacks", 0, 1, "more"), 1, "state of EarlyStopping is none"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_state_that_the_run_could_not_have_is_refused(change, content, tmp_path):
    path, value, fault = CHANGES[change]
    *above, last = [path] if isinstance(path, str) else path
    inner = at(content.said["state"], *above)
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    content.write(tmp_path / CHECKPOINT)
    assert_refused(tmp_path, f"is not a checkpoint that can be read .*({fault})")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (f"objective/{HEADS}", np.zeros((2, 2, 4), np.float32)),
        (f"objective/{HEADS}", np.zeros((2, 2, 3), np.float64)),
        (f"optimizer/{HEADS}/exp_avg", np.zeros((2, 2, 4), np.float32)),
        (f"optimizer/{HEADS}/exp_avg", np.zeros((2, 2, 3), np.int32)),
        (f"optimizer/{HEADS}/step", np.zeros(2, np.float32)),
        (f"callbacks/0/1/weights/{HEADS}", np.zeros((2, 2, 4), np.float32)),
        ("position/seen", np.zeros(3, np.float32)),
        ("position/sums/task_loss", np.zeros(3, np.float32)),
        ("position/sums/task_loss", np.zeros((), np.float32)),
        ("position/sums/loss", np.zeros(2, np.float32)),
        ("position/sums/loss", np.zeros(1, np.int32)),
        ("history/0/relation", np.zeros((3, 3), np.float64)),
        ("rng", np.zeros(16, np.uint8)),
        ("rng", np.zeros(5056, np.uint8)),
    ],
)
def test_tensors_of_another_shape_or_type_are_refused(name, array, content, tmp_path):
    content.replace(name, array)
    content.write(tmp_path / CHECKPOINT)
    assert_refused(tmp_path, "is not a checkpoint that can be read")


def test_random_numbers_are_not_read_from_behind_their_end(content, tmp_path):
    """PyTorch takes such a state, and goes on with what lies in memory behind it."""
    begin, end = content.header["rng"]["data_offsets"]
    state = bytearray(content.data[begin:end])
    state[8:24] = struct.pack("<iiQ", 624, 1, 624)
    torch.Generator().set_state(torch.frombuffer(state, dtype=torch.uint8))
    content.replace("rng", np.frombuffer(state, np.uint8))
    content.write(tmp_path / CHECKPOINT)
    assert_refused(tmp_path, "624 numbers left after number 624")


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625])
def test_any_state_that_pytorch_writes_is_taken(drawn, tmp_path):
    torch.manual_seed(0)
    torch.rand(drawn)
    trainer = trainer_of(tmp_path, epochs=1, objective=GapMTNN(marginal="wasserstein", critic_hidden=2))
    torch.rand(drawn)
    trainer.fit(rows_of(4))
    trainer_of(tmp_path, epochs=1, objective=GapMTNN(marginal="wasserstein", critic_hidden=2)).fit(rows_of(4))


# What comes back


def test_plain_values_and_tensors_come_back(tmp_path):
    weights = torch.arange(6.0).view(2, 3)
    state = {
        "weights": weights.T,
        "again": weights,
        "by": {0: [True, None, "text", -1], "$tensor": {"a/b": weights[0]}, "a": {"b": weights[1]}},
        "figures": [float("inf"), 0.1, np.float64(2.5), np.int64(3), 2**63],
    }
    write_checkpoint(tmp_path / "c", state, {"lr": np.float32(0.5), "shape": (1, 2)})
    found = read_checkpoint(tmp_path / "c", {"shape": [1, 2], "lr": 0.5})
    assert torch.equal(found["weights"], weights.T)
    assert torch.equal(found["again"], weights)
    assert found["by"][0] == [True, None, "text", -1]
    assert torch.equal(found["by"]["$tensor"]["a/b"], weights[0])
    assert torch.equal(found["by"]["a"]["b"], weights[1])
    assert found["figures"] == [float("inf"), 0.1, 2.5, 3, 2**63]


def test_settings_that_python_takes_for_the_same_are_told_apart(tmp_path):
    write_checkpoint(tmp_path / "c", {}, {"a": 1})
    with pytest.raises(ValueError, match="its a is 1, here it is True"):
        read_checkpoint(tmp_path / "c", {"a": True})


class Odd(Callback):
    def state_dict(self):
        return {"object": self}


def test_a_state_that_could_not_be_read_again_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint.safetensors cannot be written \(callbacks/0/1/object is"):
        trainer_of(tmp_path, callbacks=[Odd()]).fit(rows_of(4))
    assert not list(tmp_path.iterdir())


def test_images_go_on_to_the_last_bit(tmp_path):
    """Adam keeps its averages in the memory format of the weights, and a fused step relies on it."""

    def make(folder):
        torch.manual_seed(1)
        extractor = LeNet(2, 8).to(memory_format=torch.channels_last)
        return trainer_of(folder, extractor=extractor, lr=0.05)

    rows, whole = rows_of(2, 8, 8), make(None)
    assert not whole.objective.net.extractor.conv2.weight.is_contiguous()
    whole.fit(rows)
    stop_after(6, make(tmp_path), rows)
    resumed = make(tmp_path)
    resumed.fit(rows)
    assert resumed.history == whole.history
    for name, value in whole.objective.state_dict().items():
        assert torch.equal(value, resumed.objective.state_dict()[name]), name


def test_a_frozen_layer_has_no_state_and_needs_none(tmp_path):
    extractor = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3))
    extractor[0].requires_grad_(False)
    extractor.out_features = 3
    stop_after(6, trainer_of(tmp_path, extractor=extractor), rows_of(4))
    trainer_of(tmp_path, extractor=extractor).fit(rows_of(4))


def test_a_link_in_the_folder_is_replaced_and_not_followed(tmp_path):
    own = tmp_path / "mine.txt"
    own.write_text("mine")
    path = tmp_path / "checkpoint.safetensors"
    path.symlink_to(own)
    write_tensors(path, {"weight": torch.zeros(2)}, {})
    assert own.read_text() == "mine"
    assert not path.is_symlink()
