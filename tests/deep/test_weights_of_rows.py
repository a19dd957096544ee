"""`sample_weight`, `class_weight`, linear heads, validation rows and early stopping."""

import sys

import cloudpickle
import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch import nn

from gapmin.deep import (
    MLP,
    Batch,
    Callback,
    EarlyStopping,
    GapMTNN,
    MultitaskClassifier,
    MultitaskNet,
    MultitaskRegressor,
    Objective,
    RandomShift,
    TaskHeads,
)
from gapmin.deep.losses import chosen_losses, loss_matrix, own_losses
from gapmin.deep.objectives import OBJECTIVES

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    task = rng.choice(["a", "b", "c"], size=n)
    return X, np.where(X[:, 0] * np.where(task == "a", 1, -1) > 0, "up", "down"), task


def small(kind=MultitaskClassifier, **params):
    torch.manual_seed(0)
    defaults = {"extractor": MLP(4, (8,)), "head_hidden": 6, "epochs": 4, "batch_size": 100, "lr": 0.02}
    return kind(**defaults | {"device": "cpu", "random_state": 0} | params)


def same(one, other, tolerance=0.0):
    for mine, theirs in zip(one.objective_.state_dict().values(), other.objective_.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=tolerance)


def test_losses_by_hand():
    logits, y, weight = torch.zeros(3, 2), torch.tensor([0, 1, 0]), torch.tensor([2.0, 0.0, 3.0])
    log2 = float(np.log(2))
    assert own_losses(logits, y, (2, 1), weight).tolist() == pytest.approx([log2, 3 * log2])
    both = loss_matrix(logits.expand(2, 3, 2), y, (2, 1), weight)
    assert both.flatten().tolist() == pytest.approx([log2, 3 * log2] * 2)
    loss, own = chosen_losses(logits, y, torch.arange(3), (2, 1), [[0], [1]], torch.eye(2), weight)
    assert (float(loss), *own.tolist()) == pytest.approx((4 * log2, log2, 3 * log2))


@pytest.mark.parametrize("objective", [*OBJECTIVES, GapMTNN(relation_cost="gap")])
def test_every_objective_weighs_rows(objective):
    objective = OBJECTIVES[objective]() if isinstance(objective, str) else objective
    torch.manual_seed(0)
    objective.setup(MultitaskNet(MLP(4, (8,)), TaskHeads(2, 8, 6, 2))).eval()
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 0, 1, 1, 0])
    heavy = objective(Batch(x, y, (3, 3), weight=torch.full((6,), 3.0))).task_losses
    torch.testing.assert_close(heavy, 3 * objective(Batch(x, y, (3, 3))).task_losses)


@pytest.mark.parametrize("kind", [MultitaskClassifier, MultitaskRegressor])
def test_weight_2_is_a_row_given_twice_and_0_none(kind):
    X, y, task = data()
    y = y if kind is MultitaskClassifier else X[:, 0]
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    weight[0] = 2
    twice = np.repeat(np.arange(len(y)), weight)
    # One batch an epoch, so that both see the same rows at each step.
    weighed = small(kind, sampling="once").fit(X, y, sample_task=task, sample_weight=weight * 7)
    same(weighed, small(kind, sampling="once").fit(X[twice], y[twice], sample_task=task[twice]), 1e-4)
    used = weight > 0
    left = small(kind, sampling="once").fit(X[used], y[used], sample_task=task[used], sample_weight=weight[used])
    same(weighed, left)


def test_balanced_classes_have_one_weight_within_each_task():
    X, y, task = data()
    weight = [1 / np.sum((y == label) & (task == name)) for label, name in zip(y, task, strict=True)]
    balanced = small(class_weight="balanced").fit(X, y, sample_task=task)
    same(balanced, small().fit(X, y, sample_task=task, sample_weight=weight), 1e-5)
    named = small(class_weight={"up": 3}).fit(X, y, sample_task=task)
    same(named, small().fit(X, y, sample_task=task, sample_weight=np.where(y == "up", 3, 1)), 1e-5)


@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({"class_weight": {"left": 1}}, {}, "class_weight has the unknown class 'left': y has"),
        ({"class_weight": {"up": -1}}, {}, "class_weight has -1 for the class 'up'"),
        ({"class_weight": {"up": 0, "down": 0}}, {}, "every row of task 'a' has weight 0"),
        ({}, {"sample_weight": "a"}, "every row of task 'a' has sample_weight 0"),
        ({"validation_fraction": 0.2}, {"validation_data": ([[0.0] * 4], ["up"], ["a"])}, "give one of them"),
        ({}, {"validation_data": ([[0.0] * 4],)}, r"validation_data is of 1 parts: give \(X, y\)"),
        ({}, {"validation_data": ([[0.0] * 4], ["left"], ["a"])}, "validation_data: y has the unknown class 'left'"),
        ({}, {"validation_data": ([[0.0] * 4], ["up"], ["z"])}, "validation_data: sample_task has the unknown task"),
        ({}, {"validation_data": ([[0.0] * 3], ["up"], ["a"])}, "validation_data: X has 3 features"),
    ],
)
def test_what_does_not_fit_is_named_before_any_training(params, given, message):
    X, y, task = data()
    if "sample_weight" in given:
        given = {"sample_weight": (task != given["sample_weight"]).astype(float)}
    with pytest.raises(ValueError, match=message):
        small(**params).fit(X, y, sample_task=task, **given)


class Unweighted(Objective):
    def forward(self, batch):
        raise AssertionError("it was trained")


def test_an_objective_that_may_ignore_weights_is_refused():
    X, y, task = data()
    with pytest.raises(ValueError, match=r"Unweighted .* may ignore the weights .*weighs_rows = True"):
        small(objective=Unweighted()).fit(X, y, sample_task=task, sample_weight=np.ones(len(y)))


# Linear heads


def test_linear_heads_are_linear():
    torch.manual_seed(0)
    heads, z, sizes = TaskHeads(3, 4, 0, 2), torch.randn(7, 4), (3, 0, 4)
    pairs, own = heads.all_pairs(z, sizes), heads.own(z, sizes)
    for k, rows in ((0, slice(0, 3)), (2, slice(3, 7))):
        by_hand = z[rows] @ heads.weight2[k].T + heads.bias2[k]
        torch.testing.assert_close(own.logits[rows], by_hand)
        torch.testing.assert_close(pairs.logits[k, rows], by_hand)
    chosen, rows = heads.chosen_pairs(z, sizes, [[0], [1], [0, 2]])
    torch.testing.assert_close(chosen.logits, torch.cat([pairs.logits[0, :3], pairs.logits[2]]))
    assert rows.tolist() == [0, 1, 2, *range(7)]


@pytest.mark.parametrize("objective", ["uniform", "gapmtnn", GapMTNN(lambda_semantic=1.0, relation_cost="gap")])
def test_linear_heads_train_and_are_saved(objective, tmp_path):
    X, y, task = data()
    clf = small(objective=objective, extractor="mlp", head_hidden=0, epochs=2).fit(X, y, sample_task=task)
    clf.save(tmp_path / "model")
    again = MultitaskClassifier.load(tmp_path / "model")
    assert again.head_hidden == 0
    assert np.array_equal(again.predict_proba(X, sample_task=task), clf.predict_proba(X, sample_task=task))
    assert clf.task_gaps(X, y, sample_task=task).gaps.shape == (3, 3)


# Validation


def test_the_validation_loss_is_that_of_the_rows_given():
    X, y, task = data()
    given = X[:20], y[:20], task[:20]
    clf = small().fit(X[20:], y[20:], sample_task=task[20:], validation_data=given)
    share = clf.predict_proba(X[:20], sample_task=task[:20])
    by_task = [log_loss(y[:20][task[:20] == k], share[task[:20] == k], labels=["down", "up"]) for k in clf.tasks_]
    last = clf.history_[-1]
    assert list(last["validation_task_loss"].values()) == pytest.approx(by_task, abs=1e-5)
    assert last["validation_loss"] == pytest.approx(np.mean(by_task), abs=1e-5)
    assert last["validation_error"] == pytest.approx(np.mean([*last["validation_task_error"].values()]))
    same(clf, small().fit(X[20:], y[20:], sample_task=task[20:]))  # they are looked at, not learnt from


def test_a_task_without_validation_rows_does_not_count():
    X, y, task = data()
    only = task == "b"
    clf = small().fit(X, y, sample_task=task, validation_data=(X[only], y[only], task[only]))
    assert clf.history_[-1]["validation_loss"] == clf.history_[-1]["validation_task_loss"]["b"]
    assert list(clf.history_[-1]["validation_task_loss"]) == ["b"]


@pytest.mark.parametrize("kind", [MultitaskClassifier, MultitaskRegressor])
def test_early_stopping_goes_back_to_its_best_epoch(kind):
    X, y, task = data()
    y = y if kind is MultitaskClassifier else X[:, 0] + np.random.default_rng(0).normal(size=len(y))
    given = X[:20], y[:20], task[:20]
    params = {"early_stopping": True, "patience": 3, "epochs": 300, "lr": 0.05}
    model = small(kind, **params).fit(X[20:], y[20:], sample_task=task[20:], validation_data=given)
    losses = [record["validation_loss"] for record in model.history_]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 3 < 300
    assert losses[-1] > losses[best]
    # Trained for that many epochs only, it would be the same model.
    same(
        model,
        small(kind, **params | {"epochs": best + 1}).fit(X[20:], y[20:], sample_task=task[20:], validation_data=given),
    )


def test_early_stopping_sets_a_tenth_aside_where_no_rows_are_given():
    X, y, task = data(100)
    clf = small(early_stopping=True).fit(X, y, sample_task=task)
    same(clf, small(validation_fraction=0.1, callbacks=[EarlyStopping()]).fit(X, y, sample_task=task))
    assert "validation_loss" in clf.history_[-1]


class Die(Callback):
    def __init__(self, epoch):
        self.at = epoch

    def epoch(self, trainer, record):
        if record["epoch"] == self.at:
            raise KeyboardInterrupt


IMAGES = np.random.default_rng(0).normal(size=(60, 1, 12, 12)).astype(np.float32)


@pytest.mark.parametrize("kind", [MultitaskClassifier, MultitaskRegressor])
def test_killed_and_resumed_is_never_killed(kind, tmp_path):
    X, y, task = data()
    y = y if kind is MultitaskClassifier else X[:, 0]
    weight = np.linspace(1, 2, len(y))
    settings = {
        "extractor": "lenet",
        "objective": "gapmtnn",
        "augment": [RandomShift(1), lambda rows: rows + 0.1 * torch.randn_like(rows)],
        "early_stopping": True,
        "patience": 2,
        "batch_size": 8,
        "epochs": 6,
    }
    given = {"sample_task": task, "sample_weight": weight}
    whole = small(kind, **settings).fit(IMAGES, y, **given)
    with pytest.raises(KeyboardInterrupt):
        small(kind, **settings, callbacks=[Die(3)], checkpoint_dir=tmp_path, checkpoint_every=1).fit(IMAGES, y, **given)
    resumed = small(kind, **settings, checkpoint_dir=tmp_path, checkpoint_every=1).fit(IMAGES, y, **given)
    assert resumed.history_ == whole.history_
    same(resumed, whole)
    for name, model in (("whole", whole), ("resumed", resumed)):
        model.save(tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()
    with pytest.raises(ValueError, match="is of another run: its data"):
        small(kind, **settings, checkpoint_dir=tmp_path, checkpoint_every=1).fit(
            IMAGES, y, sample_task=task, sample_weight=weight[::-1]
        )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MultitaskClassifier, MultitaskRegressor])
def test_two_processes_fit_what_one_fits(kind):
    X, y, task = data()
    y = y if kind is MultitaskClassifier else X[:, 0]
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(144, 8), nn.Tanh())
    settings = {"extractor": net, "objective": "gapmtnn", "augment": RandomShift(1), "head_hidden": 0}
    settings |= {"early_stopping": True, "batch_size": 7, "epochs": 3, "lr": 0.002}
    given = {"sample_task": task, "sample_weight": np.linspace(1, 2, len(y))}
    one = small(kind, **settings).fit(IMAGES, y, **given)
    two = small(kind, **settings | {"device": "auto"}, devices=2, accelerator="cpu").fit(IMAGES, y, **given)
    same(one, two, 1e-4)
    for name in ("loss", "validation_loss"):
        np.testing.assert_allclose(*([record[name] for record in model.history_] for model in (one, two)), atol=1e-4)
