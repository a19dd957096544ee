"""Mixed precision: bfloat16 on the processor, and the scaling of gradients that float16 needs."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from gapmin.deep import (
    AMTNN,
    MLP,
    Callback,
    GapMTNN,
    GapMTNNClassifier,
    MultiObjective,
    MultitaskClassifier,
    MultitaskNet,
    MultitaskRegressor,
    TaskHeads,
    Trainer,
    Uniform,
)
from gapmin.deep.batches import TaskRows
from gapmin.deep.objectives import OBJECTIVES
from gapmin.deep.precision import check_precision
from gapmin.deep.trainer import CHECKPOINT


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)).astype(np.float32), rng.choice(["a", "b", "c"], size=n)
    return X, np.where(X[:, 0] * np.where(task == "a", 1, -1) > 0, "up", "down"), task


def small(kind=MultitaskClassifier, **params):
    torch.manual_seed(0)
    defaults = {"extractor": MLP(4, (16,)), "head_hidden": 8, "epochs": 15, "batch_size": 16, "lr": 0.02}
    return kind(**defaults | {"device": "cpu", "random_state": 0, "precision": "bf16-mixed"} | params)


class Seen(nn.Module):
    """Says what its layer computes in."""

    def __init__(self):
        super().__init__()
        self.layer, self.dtypes = nn.Linear(4, 8), set()

    def forward(self, x):
        out = self.layer(x)
        self.dtypes.add((out.dtype, self.training))
        return out


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_every_objective_learns_in_bfloat16(objective):
    X, y, task = data()
    clf, full = (
        small(objective=objective, precision=each).fit(X, y, sample_task=task) for each in ("bf16-mixed", "32")
    )
    assert clf.score(X, y, sample_task=task) > full.score(X, y, sample_task=task) - 0.1 > 0.6
    assert {value.dtype for value in clf.objective_.state_dict().values()} <= {torch.float32, torch.int64}


def test_the_extractor_alone_computes_in_bfloat16_and_while_it_is_trained_alone():
    X, y, task = data()
    clf = small(objective="gapmtnn", extractor=Seen(), epochs=1, validation_fraction=0.2).fit(X, y, sample_task=task)
    seen = clf.objective_.net.extractor.dtypes
    assert {(torch.bfloat16, True), (torch.bfloat16, False)} <= seen
    assert (torch.float32, True) not in seen
    seen.clear()
    clf.predict(X, sample_task=task)
    assert seen == {(torch.float32, False)}
    assert "forward" not in vars(clf.objective_.net.extractor)


def test_it_is_near_float32_and_not_equal():
    X, _, task = data()
    y = X[:, 0] + (task == "a")
    half, full = (
        small(MultitaskRegressor, epochs=3, precision=each).fit(X, y, sample_task=task).predict(X, sample_task=task)
        for each in ("bf16-mixed", "32")
    )
    assert not np.array_equal(half, full)
    assert np.corrcoef(half, full)[0, 1] > 0.95


@pytest.mark.parametrize("network", ["lenet", "resnet18"])
def test_images(network):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 1 if network == "lenet" else 3, 32, 32)).astype(np.float32)
    clf = small(GapMTNNClassifier, extractor=network, epochs=1, batch_size=8)
    clf.fit(X, np.tile([0, 1], 8), sample_task=np.repeat(["a", "b"], 8))
    assert np.isfinite(clf.predict_proba(X, sample_task=np.repeat(["a", "b"], 8))).all()


def test_what_cannot_be_is_refused():
    X, y, task = data()
    with pytest.raises(ValueError, match="precision is '16-mixed', which is for CUDA: set precision='bf16-mixed'"):
        small(precision="16-mixed").fit(X, y, sample_task=task)
    with pytest.raises(ValueError, match="The 'precision' parameter"):
        small(precision="16").fit(X, y, sample_task=task)
    with pytest.raises(ValueError, match="precision is 'bf16-mixed' and the device mps: set precision='32'"):
        check_precision("bf16-mixed", torch.device("mps"), Uniform())
    net = MultitaskNet(MLP(4, (8,)), TaskHeads(2, 8, 4, 2))
    for objective in (AMTNN(), MultiObjective(), GapMTNN(lambda_marginal=0.1, marginal="wasserstein")):
        with pytest.raises(ValueError, match="may become 0 in it: set precision='bf16-mixed' or '32'"):
            check_precision("16-mixed", torch.device("cuda"), objective.setup(net))
    check_precision("16-mixed", torch.device("cuda"), GapMTNN().setup(net))


class Die(Callback):
    def epoch(self, trainer, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt


def test_killed_and_resumed_is_never_killed(tmp_path):
    X, y, task = data()
    settings = {"objective": "gapmtnn", "epochs": 4}
    whole = small(**settings).fit(X, y, sample_task=task)
    with pytest.raises(KeyboardInterrupt):
        small(**settings, callbacks=[Die()], checkpoint_dir=tmp_path).fit(X, y, sample_task=task)
    with pytest.raises(ValueError, match="is of another run: its precision is 'bf16-mixed', here it is '32'"):
        small(**settings, precision="32", checkpoint_dir=tmp_path).fit(X, y, sample_task=task)
    resumed = small(**settings, checkpoint_dir=tmp_path).fit(X, y, sample_task=task)
    assert resumed.history_ == whole.history_


# Scaled gradients: of CUDA, but the same on the processor.


def trainer(scaled, **settings):
    torch.manual_seed(0)
    objective = Uniform().setup(MultitaskNet(MLP(4, (8,)), TaskHeads(3, 8, 4, 2)))
    made = Trainer(objective, **{"epochs": 4, "lr": 0.01, "gradient_clip": 0.5} | settings)
    if scaled:
        made.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    return made


def rows():
    X, y, task = data()
    tasks = [np.flatnonzero(task == k) for k in "abc"]
    return TaskRows(torch.from_numpy(X), torch.from_numpy((y == "up").astype(np.int64)), tasks)


def test_scaled_gradients_train_as_others_do():
    plain, scaled = trainer(False), trainer(True)
    assert plain.fit(rows()) == scaled.fit(rows())  # scales are powers of 2
    assert scaled.scaler.get_scale() > 2.0**10


def test_a_step_whose_gradient_overflows_is_left_out():
    made = trainer(True)
    before = copy.deepcopy(made.objective.state_dict())
    made.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    batch = rows().take(rows().tasks)
    made.step(batch._replace(x=1e6 * batch.x))
    for name, value in made.objective.state_dict().items():
        assert torch.equal(value, before[name])
    assert made.scaler.get_scale() == 2.0**126


def test_the_scale_is_in_the_checkpoint(tmp_path):
    whole = trainer(True)
    whole.fit(rows())
    with pytest.raises(KeyboardInterrupt):
        trainer(True, checkpoint_dir=tmp_path, callbacks=[Die()]).fit(rows())
    resumed = trainer(True, checkpoint_dir=tmp_path)
    assert resumed.fit(rows()) == whole.history
    assert resumed.scaler.state_dict() == whole.scaler.state_dict()
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        trainer(False, checkpoint_dir=tmp_path).fit(rows())
    assert (tmp_path / CHECKPOINT).exists()


@pytest.mark.slow
def test_two_processes_fit_what_one_fits():
    X, y, task = data()
    torch.manual_seed(0)
    extractor = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
    one, two = (
        small(GapMTNNClassifier, extractor=extractor, epochs=2, devices=n, device="auto", accelerator="cpu").fit(
            X, y, sample_task=task
        )
        for n in (1, 2)
    )
    assert two.history_[-1]["loss"] == pytest.approx(one.history_[-1]["loss"], rel=0.05)
    found, expected = (clf.predict_proba(X, sample_task=task) for clf in (two, one))
    np.testing.assert_allclose(found, expected, atol=0.05)
