"""The training loop: what an epoch is, what the history says, and that a run that was killed ends like any other."""

import copy
import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gapmin.deep import (
    AMTNN,
    MLP,
    Callback,
    CSVLogger,
    EarlyStopping,
    GapMTNN,
    MultiObjective,
    MultitaskNet,
    TaskHeads,
    TensorBoard,
    Trainer,
    Uniform,
    Weighted,
)
from gapmin.deep.batches import TaskRows, epoch_plan
from gapmin.deep.checkpoint import read_checkpoint, write_checkpoint
from gapmin.deep.evaluation import task_figures
from gapmin.deep.trainer import CHECKPOINT

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=4)


def tasks_of(sizes):
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]


@settings(deadline=None)
@given(SIZES, st.integers(1, 9), st.integers(0, 2**31), st.integers(0, 5))
def test_an_epoch_goes_through_the_largest_task_once_and_fills_up_with_the_others(sizes, batch_size, seed, epoch):
    tasks = tasks_of(sizes)
    plan = epoch_plan(tasks, batch_size, seed, epoch)
    longest = max(sizes)
    assert len(plan) == -(-longest // batch_size)
    for k, rows in enumerate(tasks):
        order = np.concatenate([batch[k] for batch in plan])
        assert len(order) == longest
        lengths = [len(batch[k]) for batch in plan]
        assert max(lengths) <= batch_size
        assert max(lengths) - min(lengths) <= 1  # no small last batch
        assert lengths == [len(batch[0]) for batch in plan]
        # Round by round every row once: counts never differ by more than one.
        counts = np.bincount(order - rows[0], minlength=len(rows))
        assert counts.max() - counts.min() <= 1
        for start in range(0, longest - len(rows) + 1, len(rows)):
            assert sorted(order[start : start + len(rows)]) == rows.tolist()


@settings(deadline=None)
@given(SIZES, st.integers(1, 9), st.integers(0, 2**31), st.integers(0, 5))
def test_once_is_every_row_once_spread_over_the_epoch(sizes, batch_size, seed, epoch):
    tasks = tasks_of(sizes)
    plan = epoch_plan(tasks, batch_size, seed, epoch, "once")
    assert len(plan) == -(-max(sizes) // batch_size)
    for k, rows in enumerate(tasks):
        assert sorted(np.concatenate([batch[k] for batch in plan])) == rows.tolist()
        lengths = [len(batch[k]) for batch in plan]
        assert max(lengths) - min(lengths) <= 1
        assert max(lengths) <= batch_size


@settings(deadline=None)
@given(SIZES, st.integers(1, 9), st.integers(0, 2**31), st.integers(0, 5), st.sampled_from(["cycle", "once"]))
def test_the_same_arguments_give_the_same_epoch(sizes, batch_size, seed, epoch, sampling):
    one, other = (epoch_plan(tasks_of(sizes), batch_size, seed, epoch, sampling) for _ in range(2))
    assert all(np.array_equal(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("sampling", ["cycle", "once"])
def test_epochs_seeds_and_tasks_are_shuffled_differently(sampling):
    def first(seed, epoch, k):
        return np.concatenate([batch[k] for batch in epoch_plan([np.arange(40)] * 2, 8, seed, epoch, sampling)])

    orders = [first(0, 0, 0), first(0, 1, 0), first(1, 0, 0), first(0, 0, 1), np.arange(40)]
    for i, one in enumerate(orders):
        assert not any(np.array_equal(one, other) for other in orders[:i])


def rows_of(sizes=(12, 7), seed=0):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(sum(sizes), 4, generator=rng)
    return TaskRows(x, (x[:, 0] > 0).long(), tasks_of(sizes))


def trainer_of(objective=None, extractor=None, K=2, **settings):
    torch.manual_seed(0)
    extractor = extractor or MLP(4, (5,))
    net = MultitaskNet(extractor, TaskHeads(K, 5, hidden=4, n_classes=2))
    return Trainer((objective or Uniform()).setup(net), **{"epochs": 2, "batch_size": 4, **settings})


def same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


def test_the_rate_falls_every_so_many_epochs():
    history = trainer_of(epochs=7, lr=0.1, lr_decay=0.5, lr_every=3).fit(rows_of())
    assert [record["lr"] for record in history] == pytest.approx([0.1] * 3 + [0.05] * 3 + [0.025])
    assert [record["epoch"] for record in history] == [1, 2, 3, 4, 5, 6, 7]


def test_the_rate_is_what_adam_uses():
    """Adam's first step is of length lr in every coordinate."""
    for lr in (0.1, 0.01):
        trainer = trainer_of(epochs=1, batch_size=12, lr=lr, weight_decay=0.0)
        before = copy.deepcopy(trainer.objective.state_dict())
        trainer.fit(rows_of())
        moved = torch.cat([(v - before[n]).abs().flatten() for n, v in trainer.objective.state_dict().items()])
        torch.testing.assert_close(moved[moved > lr / 2], torch.full_like(moved[moved > lr / 2], lr), rtol=1e-2, atol=0)
        assert (moved > lr / 2).any()


def test_training_is_adam_with_weight_decay_on_the_planned_batches():
    settings = {"lr": 0.02, "weight_decay": 0.1}
    trainer, rows = trainer_of(Weighted(), epochs=3, seed=5, lr_decay=1.0, **settings), rows_of()
    by_hand = copy.deepcopy(trainer.objective)
    trainer.fit(rows)
    adam = torch.optim.Adam(by_hand.parameters(), **settings)
    for epoch in range(3):
        for chosen in epoch_plan(rows.tasks, 4, 5, epoch):
            adam.zero_grad()
            by_hand(rows.take(chosen)).loss.backward()
            adam.step()
        by_hand.end_epoch()
    for one, other in zip(trainer.objective.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert not trainer.objective.training


@pytest.mark.parametrize("sampling", ["cycle", "once"])
def test_the_history_has_the_means_of_the_epoch(sampling):
    trainer, rows = trainer_of(GapMTNN(), epochs=1, batch_size=2, sampling=sampling, seed=3), rows_of((9, 2))
    trainer.task_names = ["large", "small"]
    steps, step = [], trainer.step

    def noted(batch):
        steps.append((batch.sizes, step(batch)))
        return steps[-1][1]

    trainer.step = noted
    (record,) = trainer.fit(rows)
    assert record["loss"] == pytest.approx(np.mean([s.loss.item() for _, s in steps]))
    for name in ("semantic", "marginal"):
        assert record[name] == pytest.approx(np.mean([s.terms[name].item() for _, s in steps]))
    for k, name in enumerate(("large", "small")):
        seen = [s.task_losses[k].item() for sizes, s in steps if sizes[k]]
        assert record["task_loss"][name] == pytest.approx(np.mean(seen))
    assert len(steps) == 5
    assert sum(sizes[1] > 0 for sizes, _ in steps) == (5 if sampling == "cycle" else 2)
    assert record["relation"] == trainer.objective.relation.tolist()


def test_validation_errors_are_shares_of_wrong_rows_and_tasks_count_alike():
    trainer, rows, validation = trainer_of(lr=0.01), rows_of(), rows_of((8, 3), seed=1)
    history = trainer.fit(rows, validation)
    trainer.objective.eval()
    wrong = []
    for k in range(2):
        batch = validation.take([each if j == k else each[:0] for j, each in enumerate(validation.tasks)])
        wrong.append((trainer.objective.net.own(batch).logits.argmax(1) != batch.y).double().mean().item())
    assert list(history[-1]["validation_task_error"].values()) == pytest.approx(wrong)
    assert history[-1]["validation_error"] == pytest.approx(np.mean(wrong))
    assert task_figures(trainer.objective, validation)["error"] == pytest.approx(wrong)


def test_validating_changes_no_training():
    extractor = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.5))
    one, other = (trainer_of(extractor=copy.deepcopy(extractor)) for _ in range(2))
    torch.manual_seed(1)
    one.fit(rows_of((12, 8)))
    torch.manual_seed(1)
    other.fit(rows_of((12, 8)), rows_of((8, 3), seed=1))
    same(one.objective.state_dict(), other.objective.state_dict())


@pytest.mark.parametrize("objective", [Uniform(), Weighted(), AMTNN(), MultiObjective(), GapMTNN()], ids=repr)
def test_a_loss_that_is_not_finite_is_an_error_that_helps(objective):
    rows = rows_of()
    rows.x[0] = float("inf")
    with pytest.raises(ValueError, match=r"the loss is nan in epoch 1: take a smaller lr"):
        trainer_of(objective).fit(rows)


# Callbacks


class Watch(Callback):
    """Keep the weights of every epoch, and feed a figure to the record."""

    def __init__(self, figures=()):
        self.figures, self.states, self.calls = list(figures), [], []

    def begin(self, trainer):
        self.calls.append("begin")

    def epoch(self, trainer, record):
        if self.figures:
            record["figure"] = self.figures[len(self.states)]
        self.states.append(copy.deepcopy(trainer.objective.state_dict()))
        self.calls.append(record["epoch"])

    def end(self, trainer):
        self.calls.append("end")


def test_callbacks_are_called_before_after_each_epoch_and_at_the_end():
    watch = Watch()
    trainer_of(epochs=3, callbacks=[watch]).fit(rows_of())
    assert watch.calls == ["begin", 1, 2, 3, "end"]


@pytest.mark.parametrize("restore", [True, False])
def test_early_stopping_waits_and_goes_back_to_the_best(restore):
    watch = Watch([5.0, 3.0, 4.0, 2.0, 2.0, 2.5, 1.9, 0.0])
    stopping = EarlyStopping("figure", patience=3, min_delta=0.2, restore_best=restore)
    trainer = trainer_of(GapMTNN(), epochs=20, lr=0.05, callbacks=[watch, stopping])
    trainer.fit(rows_of())
    # 1.9 is no fall of 0.2 from 2.0: epochs 5, 6 and 7 wait.
    assert len(trainer.history) == 7
    same(trainer.objective.state_dict(), watch.states[3 if restore else 6])


def test_early_stopping_forgets_a_former_fit():
    stopping = EarlyStopping("loss", patience=1)
    lengths = []
    for _ in range(2):
        watch = trainer_of(epochs=4, lr=0.01, callbacks=[stopping])
        lengths.append(len(watch.fit(rows_of())))
    assert lengths[0] == lengths[1]


def test_early_stopping_names_what_it_could_watch():
    with pytest.raises(ValueError, match=r"'accuracy', which is not among .*'loss'"):
        trainer_of(callbacks=[EarlyStopping("accuracy")]).fit(rows_of())
    with pytest.raises(ValueError, match=r"'validation_loss'.*: set validation"):
        trainer_of(callbacks=[EarlyStopping()]).fit(rows_of())


def test_the_csv_file_is_the_history(tmp_path):
    file = tmp_path / "history.csv"
    trainer = trainer_of(GapMTNN(), epochs=3, callbacks=[CSVLogger(file)])
    trainer.fit(rows_of(), rows_of(seed=1))
    with file.open(newline="") as lines:
        found = list(csv.DictReader(lines))
    assert len(found) == 3
    for line, record in zip(found, trainer.history, strict=True):
        assert int(line["epoch"]) == record["epoch"]
        assert float(line["loss"]) == record["loss"]
        assert float(line["task_loss 1"]) == record["task_loss"]["1"]
        assert float(line["relation 0 1"]) == record["relation"][0][1]
        assert float(line["validation_error"]) == record["validation_error"]
    assert [path.name for path in tmp_path.iterdir()] == ["history.csv"]


def test_the_csv_file_needs_its_folder_before_any_training(tmp_path):
    watch = Watch()
    with pytest.raises(ValueError, match="there is no folder"):
        trainer_of(callbacks=[CSVLogger(tmp_path / "none" / "history.csv"), watch]).fit(rows_of())
    assert not watch.calls


def test_tensorboard_gets_every_figure(tmp_path):
    trainer = trainer_of(GapMTNN(), epochs=3, callbacks=[TensorBoard(tmp_path)])
    trainer.fit(rows_of())
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    for tag, figure in (
        ("loss", lambda record: record["loss"]),
        ("task_loss/0", lambda record: record["task_loss"]["0"]),
        ("relation/1 0", lambda record: record["relation"][1][0]),
    ):
        assert [event.step for event in events.Scalars(tag)] == [1, 2, 3]
        assert [event.value for event in events.Scalars(tag)] == pytest.approx([figure(r) for r in trainer.history])


# Checkpoints

# PyTorch is imported once; each run is a process of its own, forked from there, and killed for good.
SCRIPT = """
import os, signal, sys
import safetensors.torch
import torch
from torch import nn
from gapmin.deep import *
from gapmin.deep.batches import TaskRows

torch.set_num_threads(1)
OBJECTIVES = {
    "gapmtnn": lambda: GapMTNN(relation_cost="excess", marginal="wasserstein", critic_hidden=4),
    "probes": lambda: GapMTNN(lambda_semantic=10.0, lambda_relation=1.0),
    "multi": MultiObjective,
    "amtnn": lambda: AMTNN(critic_hidden=4),
    "dropout": Uniform,
}
taken, save = 0, safetensors.torch.save_file
torch.optim.Adam([nn.Parameter(torch.zeros(1))])  # what PyTorch imports late, it is to import before the forks

def fit(name, folder, out, kill_at, how):
    torch.manual_seed(0)
    layers = nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.3)
    net = MultitaskNet(nn.Sequential(*layers) if name == "dropout" else MLP(4, (5,)), TaskHeads(2, 5, 4, 2))
    x = torch.randn(34, 4)
    rows = TaskRows(x, (x[:, 0] > 0).long(), [torch.arange(20).numpy(), torch.arange(20, 30).numpy()])
    validation = TaskRows(rows.x, rows.y, [torch.arange(30, 32).numpy(), torch.arange(32, 34).numpy()])
    trainer = Trainer(
        OBJECTIVES[name]().setup(net), epochs=4, batch_size=4, lr=0.05, lr_every=2, checkpoint_dir=folder,
        checkpoint_every=3, callbacks=[EarlyStopping(patience=2)],
    )
    step = trainer.step

    def counted(batch):
        global taken
        found = step(batch)
        taken += 1
        if how == "step" and taken == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def half(tensors, path, metadata):
        save(tensors, path, metadata)
        if how == "write" and taken >= kill_at:
            os.truncate(path, 100)
            os.kill(os.getpid(), signal.SIGKILL)

    trainer.step, safetensors.torch.save_file = counted, half
    history = trainer.fit(rows, validation)
    torch.save({"state": trainer.objective.state_dict(), "history": history, "steps": taken}, out)

for line in sys.stdin:
    name, folder, out, kill_at, how = line.split()
    child = os.fork()
    if not child:
        try:
            fit(name, folder, out, int(kill_at), how)
        except BaseException as error:
            sys.stderr.write(f"{name}: {error!r}")
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, flush=True)
"""
# In mid-epoch, each epoch having five steps and a checkpoint after the third; gapMTNN once more, in mid-write.
KILLS = {
    "gapmtnn": [(7, "step"), (5, "write")],
    "probes": [(12, "step")],
    "multi": [(4, "step")],
    "amtnn": [(9, "step")],
    "dropout": [(12, "step")],
}


@pytest.fixture(scope="module")
def run():
    """Return a function that runs one fit in a process of its own and returns how that ended."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def run(name, folder, out, kill_at=0, how="no"):
            print(name, folder, out, kill_at, how, file=server.stdin, flush=True)
            return int(server.stdout.readline())

        yield run
        server.stdin.close()


@pytest.mark.parametrize(("name", "kills"), KILLS.items())
def test_a_run_that_was_killed_ends_as_one_that_was_not(name, kills, run, tmp_path):
    assert run(name, tmp_path / "whole", tmp_path / "whole.pt") == 0
    for kill_at, how in kills:
        assert run(name, tmp_path / "killed", tmp_path / "killed.pt", kill_at, how) == -9
        assert (tmp_path / "killed" / CHECKPOINT).exists()
    assert bool(list((tmp_path / "killed").glob("*.part"))) == (kills[-1][1] == "write")
    assert run(name, tmp_path / "killed", tmp_path / "killed.pt") == 0
    one, other = (torch.load(tmp_path / f"{each}.pt", weights_only=True) for each in ("whole", "killed"))
    same(one["state"], other["state"])
    assert one["history"] == other["history"]
    assert other["steps"] < one["steps"]


def test_a_finished_run_is_there_at_once_and_more_epochs_go_on(tmp_path):
    first = trainer_of(GapMTNN(), epochs=3, checkpoint_dir=tmp_path)
    first.fit(rows_of())
    again = trainer_of(GapMTNN(), epochs=3, checkpoint_dir=tmp_path)
    again.step = None  # not called
    again.fit(rows_of())
    same(first.objective.state_dict(), again.objective.state_dict())
    assert again.history == first.history
    extended = trainer_of(GapMTNN(), epochs=5, checkpoint_dir=tmp_path)
    extended.fit(rows_of())
    whole = trainer_of(GapMTNN(), epochs=5)
    whole.fit(rows_of())
    same(whole.objective.state_dict(), extended.objective.state_dict())
    assert whole.history == extended.history


def test_a_finished_run_has_the_best_weights_when_called_again(tmp_path):
    def stopped():
        callbacks = [Watch([3.0, 1.0, 2.0, 2.0, 2.0]), EarlyStopping("figure", patience=2)]
        trainer = trainer_of(epochs=5, checkpoint_dir=tmp_path, callbacks=callbacks)
        trainer.fit(rows_of())
        return trainer

    first, again = stopped(), stopped()
    assert len(again.history) == 4
    assert again.callbacks[0].calls == ["begin", "end"]
    same(first.objective.state_dict(), again.objective.state_dict())
    same(first.objective.state_dict(), first.callbacks[0].states[1])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"objective": AMTNN()}, "objective"),
        ({"objective": GapMTNN(lambda_semantic=1.0)}, "objective"),
        ({"extractor": MLP(4, (6, 5))}, "shapes"),
        ({"batch_size": 5}, "batch_size"),
        ({"lr": 0.5}, "lr"),
        ({"weight_decay": 0.5}, "lr"),
        ({"sampling": "once"}, "sampling"),
        ({"seed": 1}, "seed"),
        ({"fingerprint": {"data": "other"}}, "data"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(change, named, tmp_path):
    made = {"objective": GapMTNN(), "checkpoint_dir": tmp_path, "fingerprint": {"data": "mine"}}
    trainer_of(**made).fit(rows_of())
    with pytest.raises(ValueError, match=rf"is of another run: its {named} is .*, here it is .*: name another"):
        trainer_of(**(made | change)).fit(rows_of())


def test_a_checkpoint_of_a_network_that_computes_something_else_is_refused(tmp_path):
    """The same shapes, another activation or another share of dropout."""
    for one, other in (
        (MLP(4, (5,), "relu"), MLP(4, (5,), "tanh")),
        (nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.1)), nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.9))),
    ):
        folder = tmp_path / type(one).__name__
        trainer_of(extractor=one, checkpoint_dir=folder).fit(rows_of())
        with pytest.raises(ValueError, match="is of another run"):
            trainer_of(extractor=other, checkpoint_dir=folder).fit(rows_of())


def test_a_checkpoint_with_more_epochs_than_asked_for_is_not_passed_off_as_fewer(tmp_path):
    trainer_of(epochs=4, checkpoint_dir=tmp_path).fit(rows_of())
    with pytest.raises(ValueError, match="epochs"):
        trainer_of(epochs=2, checkpoint_dir=tmp_path).fit(rows_of())


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04 half a zip file"])
def test_what_is_no_checkpoint_is_refused(content, tmp_path):
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a checkpoint that can be read .*: name another checkpoint_dir"):
        trainer_of(checkpoint_dir=tmp_path).fit(rows_of())


def test_a_checkpoint_cut_short_is_refused(tmp_path):
    trainer_of(checkpoint_dir=tmp_path).fit(rows_of())
    content = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        trainer_of(checkpoint_dir=tmp_path).fit(rows_of())


def test_reading_a_checkpoint_runs_no_code(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    torch.save({"format": 1, "fingerprint": {}, "state": Trap()}, tmp_path / CHECKPOINT)
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        read_checkpoint(tmp_path / CHECKPOINT, {})
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_that_fails_to_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / CHECKPOINT
    write_checkpoint(path, {"step": 1}, {"seed": 0})

    def full(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(OSError, match="no space left"):
        write_checkpoint(path, {"step": 2}, {"seed": 0})
    assert read_checkpoint(path, {"seed": 0}) == {"step": 1}
    assert [Path(each).name for each in tmp_path.iterdir()] == [CHECKPOINT]


def test_the_checkpoints_folder_is_made(tmp_path):
    trainer_of(checkpoint_dir=tmp_path / "a" / "b").fit(rows_of())
    assert (tmp_path / "a" / "b" / CHECKPOINT).exists()
