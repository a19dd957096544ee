"""Optimisers and schedules by name or factory, clipping, aggregators of torchjd, and the nearest task."""

from functools import partial
from math import cos, pi

import numpy as np
import pytest
import torch

from gapmin.deep import MLP, Callback, MultitaskClassifier, MultitaskRegressor, Trainer, Uniform


def data(n=60):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(n, 4)).astype(np.float32), rng.choice(["a", "b", "c"], size=n)
    return X, np.where(X[:, 0] * np.where(task == "a", 1, -1) > 0, "up", "down"), task


def small(**params):
    torch.manual_seed(0)
    defaults = {"extractor": MLP(4, (8,)), "head_hidden": 6, "epochs": 6, "batch_size": 8, "lr": 0.01}
    return MultitaskClassifier(**defaults | {"device": "cpu", "random_state": 0} | params)


def weights(clf):
    return torch.cat([value.flatten().double() for value in clf.objective_.state_dict().values()])


@pytest.mark.parametrize(
    ("scheduler", "rates"),
    [
        ("step", [0.01 * 0.5 ** (epoch // 2) for epoch in range(6)]),
        ("cosine", [0.01 * (1 + cos(pi * epoch / 6)) / 2 for epoch in range(6)]),
        ("constant", [0.01] * 6),
        (partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.5), [0.01 * 0.5**epoch for epoch in range(6)]),
    ],
)
def test_the_rate_of_each_epoch(scheduler, rates):
    X, y, task = data()
    clf = small(scheduler=scheduler, lr_decay=0.5, lr_every=2).fit(X, y, sample_task=task)
    assert [record["lr"] for record in clf.history_] == pytest.approx(rates)


class Die(Callback):
    def epoch(self, trainer, record):
        if record["epoch"] == 3:
            raise KeyboardInterrupt


def two_groups(parameters):
    """Groups in another order than the network's."""
    return torch.optim.SGD([{"params": parameters[2:], "lr": 0.02}, {"params": parameters[:2]}], lr=0.01, momentum=0.9)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adamw", "scheduler": "cosine"},
        {"optimizer": "sgd", "gradient_clip": 0.1},
        {"optimizer": "rmsprop", "scheduler": partial(torch.optim.lr_scheduler.StepLR, step_size=2)},
        {"optimizer": torch.optim.Adagrad},
        {"optimizer": two_groups, "scheduler": lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2)},
    ],
)
def test_killed_and_resumed_is_never_killed(settings, tmp_path):
    X, y, task = data()
    whole = small(**settings).fit(X, y, sample_task=task)
    with pytest.raises(KeyboardInterrupt):
        small(**settings, callbacks=[Die()], checkpoint_dir=tmp_path, checkpoint_every=2).fit(X, y, sample_task=task)
    resumed = small(**settings, checkpoint_dir=tmp_path, checkpoint_every=2).fit(X, y, sample_task=task)
    assert resumed.history_ == whole.history_
    assert torch.equal(weights(resumed), weights(whole))
    assert not torch.equal(weights(whole), weights(small().fit(X, y, sample_task=task)))
    with pytest.raises(ValueError, match="is of another run"):
        small(checkpoint_dir=tmp_path, checkpoint_every=2).fit(X, y, sample_task=task)


def test_a_gradient_is_shortened_to_its_largest_norm():
    X, y, task = data()
    norms = []

    def watched(parameters):
        made = torch.optim.SGD(parameters, lr=0.01)
        step = made.step

        def look(*given):
            norms.append(float(torch.stack([each.grad.norm() for each in parameters if each.grad is not None]).norm()))
            return step(*given)

        made.step = look
        return made

    small(optimizer=watched, gradient_clip=0.05).fit(X, y, sample_task=task)
    assert max(norms) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "adamm"}, "'optimizer' parameter"),
        ({"optimizer": lambda parameters: parameters}, "optimizer makes list"),
        ({"optimizer": torch.optim.LBFGS}, "LBFGS"),
        ({"optimizer": lambda p: torch.optim.SGD([torch.zeros(1)], lr=1.0)}, "was not given"),
        ({"scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau}, "scheduler makes ReduceLROnPlateau"),
        (
            {"optimizer": torch.optim.SparseAdam},
            r"SparseAdam, which .* and lr and weight_decay alone \(.*give",
        ),
        ({"scheduler": torch.optim.lr_scheduler.StepLR}, r"StepLR, which .* the optimiser alone \(.*step_size.*: give"),
        ({"gradient_clip": 0.0}, "'gradient_clip' parameter"),
        ({"objective": torch.nn.Linear(1, 1)}, "objective is Linear: give a name"),
    ],
)
def test_what_does_not_fit_is_named(settings, message):
    X, y, task = data()
    with pytest.raises((ValueError, TypeError), match=message):
        small(**settings).fit(X, y, sample_task=task)


# Aggregators of torchjd


def test_an_aggregator_for_another_number_of_tasks_is_named():
    aggregation = pytest.importorskip("torchjd.aggregation")
    X, y, task = data()
    few = aggregation.Constant(torch.ones(len(set(task)) - 1))
    with pytest.raises(ValueError, match=r"Constant of torchjd cannot take the gradients of \d tasks \(.*\): make"):
        small(objective=few).fit(X, y, sample_task=task)


def test_a_model_of_an_aggregator_is_not_saved_and_says_so(tmp_path):
    aggregation = pytest.importorskip("torchjd.aggregation")
    X, y, task = data()
    model = small(objective=aggregation.Sum(), epochs=0).fit(X, y, sample_task=task)
    with pytest.raises(ValueError, match="Sum is an aggregator of torchjd, which no file holds: save objective_"):
        model.save(tmp_path / "model.safetensors")


def test_the_mean_of_torchjd_is_uniform_for_the_extractor():
    aggregation = pytest.importorskip("torchjd.aggregation")
    X, y, task = data()
    settings = {"optimizer": "sgd", "sampling": "once"}
    found = small(objective=aggregation.Sum(), **settings).fit(X, y, sample_task=task)
    torch.testing.assert_close(
        weights(found), weights(small(**settings).fit(X, y, sample_task=task)), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("name", ["MGDA", "Mean", "PCGrad", "Random"])
def test_aggregators_train(name, tmp_path):
    aggregation = pytest.importorskip("torchjd.aggregation")
    X, y, task = data()
    clf = small(objective=getattr(aggregation, name)(), epochs=30).fit(X, y, sample_task=task)
    assert clf.score(X, y, sample_task=task) > 0.8
    kept = small(objective=getattr(aggregation, name)(), epochs=30, checkpoint_dir=tmp_path).fit(X, y, sample_task=task)
    assert torch.equal(weights(kept), weights(clf))
    with pytest.raises(ValueError, match="is for one process"):
        small(objective=getattr(aggregation, name)(), devices=2, device="auto").fit(X, y, sample_task=task)


# A new task


def test_a_new_task_is_predicted_by_the_nearest_known_one():
    X, y, task = data(300)
    clf = small(epochs=20, lr=0.02).fit(X, y, sample_task=task)
    new = np.random.default_rng(1).normal(size=(12, 4)).astype(np.float32)
    assert clf.nearest_task(new, np.where(new[:, 0] > 0, "up", "down")) == "a"
    assert clf.nearest_task(new, np.where(new[:, 0] < 0, "up", "down")) in ("b", "c")
    with pytest.raises(ValueError, match="unknown class 'left'"):
        clf.nearest_task(new[:1], ["left"])
    numbers = MultitaskRegressor(epochs=30, lr=0.02, device="cpu", random_state=0)
    numbers.fit(X, X[:, 0] * np.where(task == "a", 1, -1), sample_task=task)
    assert numbers.nearest_task(new, new[:, 0]) == "a"


def test_a_trainer_takes_the_same_settings():
    assert Trainer.__dataclass_fields__["optimizer"].default == "adam"
    assert repr(MultitaskClassifier(Uniform(), optimizer="sgd")).endswith("optimizer='sgd')")
