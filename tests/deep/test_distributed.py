"""Two processes on gloo train as one does: the same losses, centroids, relation and weights, whatever a batch is like.

The two are started once; they run every case here, and each test compares one with the same run in this process.
"""

import os
import sys
from functools import partial
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from gapmin.deep import (
    AMTNN,
    MLP,
    AdvH,
    AdvW,
    Callback,
    EarlyStopping,
    GapMTNN,
    LeNet,
    MultiObjective,
    MultitaskNet,
    TaskHeads,
    Trainer,
    Uniform,
    Weighted,
)
from gapmin.deep import trainer as trainer_module
from gapmin.deep._inputs import FitRows, check_same_rows
from gapmin.deep.batches import TaskRows
from gapmin.deep.engine import Engine, StoppedElsewhereError
from gapmin.deep.launch import Placement
from gapmin.deep.objectives import OBJECTIVES

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.slow

SMALL = {"critic_hidden": 6}
SEVEN = {
    "uniform": Uniform(),
    "weighted": Weighted(own=0.4, temperature=0.5),
    "advh": AdvH(**SMALL),
    "advw": AdvW(**SMALL),
    "multiobjective": MultiObjective(),
    "amtnn": AMTNN(**SMALL),
    "gapmtnn": GapMTNN(),
}
MORE = {
    "advw net": AdvW(penalty_on="net", **SMALL),
    "multi loss+": MultiObjective("loss+"),
    "gapmtnn h gap": GapMTNN(marginal="h", relation_cost="gap", **SMALL),
    "gapmtnn aligned": GapMTNN(initial_relation="uniform", lambda_semantic=10.0, lambda_marginal=0.1),
    "gapmtnn wasserstein": GapMTNN(relation_cost="excess", marginal="wasserstein", **SMALL),
    "gapmtnn holdout": GapMTNN(relation_cost="excess", relation_data="holdout", marginal="wasserstein", **SMALL),
    "gapmtnn holdout probes": GapMTNN(relation_data="holdout", marginal="wasserstein", lambda_marginal=0.1, **SMALL),
    "gapmtnn extractor": GapMTNN(
        relation_cost="excess", centroid_space="extractor", reduction="sum", lambda_semantic=0.1
    ),
}
ALL = SEVEN | MORE
NETS = {
    "mlp": lambda: (MLP(4, (5,), "tanh"), 5),
    "norm": lambda: (
        nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.BatchNorm1d(5, momentum=None, affine=False)),
        5,
    ),
    "images": lambda: (nn.Sequential(LeNet(1, 9), nn.Linear(64, 5)), 5),
    "norm of images": lambda: (nn.Sequential(nn.Conv2d(1, 2, 5), nn.BatchNorm2d(2), nn.Flatten()), 50),
    "dropout": lambda: (nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5)), 5),
}
# Tasks of unequal size, one of a single row; batches of an odd number of rows; class 2 on one row of each large task,
# so in one process alone. With "once" the single row comes up in one batch, and batches without that task follow.
SIZES = (11, 7, 1)
# For batch normalisation: of one row three times over it makes round-off, which Adam makes as large as any gradient.
LARGER = (11, 7, 5)


def rows_of(net="mlp", sizes=SIZES, seed=0):
    draws = torch.Generator().manual_seed(seed)
    shape = (1, 9, 9) if "images" in net else (4,)
    x = torch.randn(sum(sizes), *shape, generator=draws, dtype=torch.float64).to(torch.get_default_dtype())
    y = (x.flatten(1)[:, 0] > 0).long()
    ends = np.cumsum(sizes)
    y[ends[:-1] - 1] = 2
    tasks = [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return TaskRows(x, y, tasks, channels_last="images" in net)


class Watch(Callback):
    """Keep the weights of each epoch; say so in the record."""

    def __init__(self):
        self.seen = []

    def epoch(self, trainer, record):
        self.seen.append(record["epoch"])
        record["seen"] = len(self.seen)


def fit(
    engine,
    objective,
    net="mlp",
    sampling="cycle",
    epochs=2,
    dtype=torch.float64,
    sizes=SIZES,
    stop_after=None,
    **settings,
):
    """Train; return what is to be the same everywhere, and the loss of every step."""
    torch.set_default_dtype(dtype)
    try:
        torch.manual_seed(0)
        extractor, width = NETS[net]()
        if "images" in net:
            extractor.to(memory_format=torch.channels_last)
        objective = clone(objective).setup(MultitaskNet(extractor, TaskHeads(len(sizes), width, 4, n_classes=3)))
        settings = {"batch_size": 3, "lr": 0.05, "seed": 7, "sampling": sampling} | settings
        trainer = Trainer(objective, epochs=epochs, engine=engine, **settings)
        losses, step = [], trainer.step

        def noted(batch):
            if len(losses) == stop_after:
                raise KeyError("stopped")
            done = step(batch)
            losses.append([done.loss.item(), *done.task_losses.tolist()])
            return done

        trainer.step = noted
        parts = [
            rows_of(net, sizes),
            rows_of(net, (4, 3, 2)[: len(sizes)], 1),
            rows_of(net, (3, 5, 2)[: len(sizes)], 2),
        ]
        try:
            trainer.fit(*parts)
        except KeyError:
            return None
        return {"losses": losses, "history": trainer.history, "state": objective.state_dict()}
    finally:
        torch.set_default_dtype(torch.float32)


ALONE = Engine("cpu")
CASES = {
    **{
        f"{name}, {sampling}": partial(fit, objective=each, sampling=sampling)
        for name, each in ALL.items()
        for sampling in ("cycle", "once")
    },
    **{f"{name}, one row": partial(fit, objective=SEVEN[name], sizes=(3,), batch_size=1) for name in SEVEN},
    **{
        f"{name}, {net}": partial(fit, objective=each, net=net, sizes=LARGER)
        for net, of_net in {
            "norm": ["uniform", "multiobjective", "advw net", "gapmtnn holdout"],
            "images": ["multiobjective", "gapmtnn"],
            "norm of images": ["uniform"],
        }.items()
        for name, each in ALL.items()
        if name in of_net
    },
}
FLOAT32 = {
    name: partial(fit, objective=each, dtype=torch.float32, epochs=5, batch_size=11) for name, each in SEVEN.items()
}
RESUMED = {
    "gapmtnn": partial(fit, objective=MORE["gapmtnn wasserstein"], epochs=4),
    "gapmtnn probes": partial(fit, objective=MORE["gapmtnn aligned"], epochs=4),
    "amtnn": partial(fit, objective=SEVEN["amtnn"], epochs=4, sampling="once"),
    "multiobjective": partial(fit, objective=SEVEN["multiobjective"], epochs=4, net="norm", sizes=LARGER),
}


def everything(engine, folder):
    """Run all cases; what only one of the processes knows is gathered."""
    torch.set_num_threads(1)
    found = {
        name: case(engine) for name, case in (CASES | {f"float32 {n}": case for n, case in FLOAT32.items()}).items()
    }
    for name, case in RESUMED.items():
        # Steps are four an epoch: stopped in the middle of the third, two steps after a checkpoint.
        assert case(engine, stop_after=10, checkpoint_every=2, checkpoint_dir=folder / f"two {name}") is None
        found[f"resumed {name}"] = case(engine, checkpoint_every=2, checkpoint_dir=folder / f"one {name}")
    dropout = partial(fit, engine, SEVEN["advw"], net="dropout", epochs=3, checkpoint_dir=folder / "dropout")
    found["dropout"] = fit(engine, SEVEN["advw"], net="dropout", epochs=3)
    assert dropout(stop_after=7, checkpoint_every=3) is None
    found["dropout resumed"] = dropout(checkpoint_every=3)
    engine.begin_step(1, 2, 3)
    found["drawn"] = engine.sum_over_processes(np.eye(2)[engine.rank] * torch.rand(1).item())
    found["by rank"] = who_writes(engine, folder)
    found["refused"] = other_rows(engine)
    found["failed"] = failing(engine)
    found["gone"] = missing(engine)
    return found


def who_writes(engine, folder):
    """Return how many checkpoints each process writes, how many epochs its callback sees and its history shows."""
    written, write = [], trainer_module.write_checkpoint
    trainer_module.write_checkpoint = lambda path, *rest: (written.append(path), write(path, *rest))
    watch, stopping = Watch(), EarlyStopping("loss", patience=2, min_delta=10.0)
    made = fit(engine, Uniform(), epochs=8, callbacks=[watch, stopping], checkpoint_dir=folder / "who")
    trainer_module.write_checkpoint = write
    weights = sum(float(value.double().sum()) for value in made["state"].values())
    mine = [len(written), len(watch.seen), len(made["history"]), made["history"][-1]["seen"], weights]
    table = np.zeros((2, len(mine)))
    table[engine.rank] = mine
    return engine.sum_over_processes(table), watch.seen


def other_rows(engine):
    """Give each process other labels."""
    try:
        check_same_rows(engine, FitRows(None, np.arange(4) + engine.rank, None, np.zeros(4)), seed=0)
    except ValueError as error:
        same = FitRows(None, np.arange(4), None, np.zeros(4))
        return str(error), check_same_rows(engine, same, seed=engine.rank + 5)


def failing(engine):
    """Raise in process 0; return what the others raise."""

    def fails():
        raise OSError("disk full")

    raised = np.zeros(2)
    try:
        engine.on_rank_zero(fails)
    except OSError:
        raised[0] = 1
    except StoppedElsewhereError as error:
        raised[1] = "process 0 stopped the fit: OSError: disk full" in str(error)
    return engine.sum_over_processes(raised)


def missing(engine):
    """Raise what gloo raises where a process is gone; return what becomes of it, and of another error."""
    said = []
    for message in ("[gloo/transport/tcp/pair.cc:547] Connection closed by peer", "shapes do not fit"):
        try:
            with engine.training(Uniform().setup(MultitaskNet(MLP(4, (5,)), TaskHeads(2, 5, 4, 3))), Path("kept")):
                raise RuntimeError(message)
        except RuntimeError as error:
            said.append(str(error))
    return said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def together(folder):
    """What two processes found of all cases, after this one left checkpoints of runs that it stopped."""
    for name, case in RESUMED.items():
        assert case(ALONE, stop_after=10, checkpoint_every=2, checkpoint_dir=folder / f"one {name}") is None
    return Placement(torch.device("cpu"), n_processes=2).run(partial(everything, folder=folder), ())


def same(one, other, tolerance):
    """Compare numbers, lists, dicts and tensors all the way down."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name], tolerance)
    elif isinstance(one, torch.Tensor):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance)
    elif one and isinstance(one, list) and isinstance(one[0], dict):
        for each, its in zip(one, other, strict=True):
            same(each, its, tolerance)
    else:
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


def test_the_seven_are_all_there():
    assert SEVEN.keys() == OBJECTIVES.keys()


@pytest.mark.parametrize("name", CASES)
def test_two_processes_train_as_one(name, together):
    same(together[name], CASES[name](ALONE), 1e-9)


def test_what_was_compared_has_centroids_and_a_relation_that_moved(together):
    found = together["gapmtnn aligned, cycle"]
    assert found["state"]["probes.weight"].abs().sum() > 0
    assert found["state"]["probes.moments"].abs().sum() > 0
    assert found["state"]["scores.counts"].sum() > 0
    assert found["state"]["centroids.sums"].abs().sum() > 0
    assert (found["state"]["relation"] - 1 / 3).abs().max() > 0.01
    assert len(found["losses"]) == 8


@pytest.mark.parametrize("name", FLOAT32)
def test_two_processes_train_as_one_in_float32(name, together):
    found = together[f"float32 {name}"]
    assert len(found["losses"]) == 5
    same(found, FLOAT32[name](ALONE), 1e-4)


@pytest.mark.parametrize("name", RESUMED)
def test_what_one_process_began_two_finish_and_the_other_way_round(name, together, folder):
    whole = RESUMED[name](ALONE)
    for found in (
        together[f"resumed {name}"],
        RESUMED[name](ALONE, checkpoint_every=2, checkpoint_dir=folder / f"two {name}"),
    ):
        assert len(found["losses"]) == 6  # of 16: the checkpoint is after ten
        same(found | {"losses": whole["losses"]}, whole, 1e-9)
        same(found["losses"], whole["losses"][10:], 1e-9)


def test_with_dropout_a_stopped_run_ends_as_one_that_was_not(together):
    same(together["dropout"]["state"], together["dropout resumed"]["state"], 1e-12)


def test_processes_draw_dropout_for_themselves(together):
    first, second = together["drawn"]
    assert first != second


def test_one_process_writes_and_calls_back_and_all_know_the_result(together):
    table, seen = together["by rank"]
    np.testing.assert_array_equal(table[:, :2], [[3, 3], [0, 0]])
    np.testing.assert_array_equal(table[0, 2:], table[1, 2:])
    assert table[1, 2] == 3  # of 8: all stop
    assert table[1, 3] == 3  # what a callback wrote into the record
    assert seen == [1, 2, 3]


def test_processes_with_other_rows_are_refused_and_the_seed_is_that_of_the_first(together):
    message, seed = together["refused"]
    assert message.startswith("1 of 2 processes have other rows than process 0: give every process all rows")
    assert seed == 5


def test_an_error_of_the_first_process_is_one_of_all(together):
    np.testing.assert_array_equal(together["failed"], [1, 1])


def test_a_process_that_misses_another_says_how_to_go_on(together):
    gone, other = together["gone"]
    assert gone.startswith("another process of this fit is gone ([gloo/")
    assert gone.endswith("fit again with the same arguments, and it goes on from the checkpoint in kept")
    assert other == "shapes do not fit"


def test_this_process_is_in_no_group(together):
    assert not torch.distributed.is_initialized()
    assert "RANK" not in os.environ
