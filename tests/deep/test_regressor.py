"""Many tasks with numbers for labels: scale, bins, scores, files."""

import numpy as np
import pytest
import torch

from gapmin.deep import MultitaskClassifier, MultitaskRegressor
from gapmin.deep.objectives import OBJECTIVES
from gapmin_support.networkfiles import Content


def data(n=180, seed=0):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)), rng.choice(["a", "b", "c"], size=n)
    return X, X[:, 0] * np.where(task == "c", -1.0, 1.0) + 0.1 * rng.normal(size=n), task


def small(**params):
    defaults = {"head_hidden": 8, "epochs": 25, "lr": 0.01, "device": "cpu", "random_state": 0}
    return MultitaskRegressor(**defaults | params)


@pytest.mark.parametrize("objective", ["uniform", "gapmtnn", "multiobjective", "advw"])
def test_tasks_that_differ_are_learnt(objective):
    X, y, task = data()
    model = small(objective=objective).fit(X, y, sample_task=task)
    assert min(model.task_scores(X, y, sample_task=task).values()) > 0.7
    assert model.score(X, y, sample_task=task) > 0.8


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_level_and_unit_of_the_label_do_not_matter(objective):
    X, y, task = data(60)
    one, other = (
        small(objective=objective, epochs=3).fit(X, labels, sample_task=task) for labels in (y, 1000 * y - 7000)
    )
    found = other.predict(X, sample_task=task)
    np.testing.assert_allclose(found, 1000 * one.predict(X, sample_task=task) - 7000, atol=1.0)


@pytest.mark.parametrize("value", [1.0, -3e5, 0.0])
def test_labels_that_are_all_alike_are_predicted(value):
    X, _, task = data(30)
    model = small(epochs=2).fit(X, np.full(30, value), sample_task=task)
    np.testing.assert_allclose(model.predict(X, sample_task=task), value, rtol=1e-9, atol=1e-9)


def test_the_relation_tells_tasks_that_agree_from_one_that_does_not():
    X, y, task = data(400)
    relation = small(objective="gapmtnn", epochs=20).fit(X, y, sample_task=task).relation_
    assert relation[0, 1] > 0.2
    assert relation[1, 0] > 0.2
    assert relation[:2, 2].max() < 0.1


def test_bins_are_quantiles_of_the_label():
    y = np.repeat([1.0, 2.0, 3.0, 4.0], 5)
    model = small(epochs=0, n_bins=4).fit(np.zeros((20, 1)), y)
    assert model.bin_edges_.size == 3
    assert np.bincount(model._encode(y)[1]).tolist() == [5, 5, 5, 5]
    constant = small(epochs=1).fit(np.zeros((6, 1)), np.full(6, 3.0))
    np.testing.assert_allclose(constant.predict(np.zeros((1, 1))), 3.0, atol=1.0)


@pytest.mark.parametrize("label", [np.nan, np.inf, None])
def test_labels_that_are_none_are_named(label):
    X, y, _ = data(20)
    y = y.astype(object)
    y[3] = label
    with pytest.raises(ValueError, match=r"y has .* at row 3"):
        small().fit(X, y)


def test_a_saved_model_predicts_the_same_and_keeps_to_its_class(tmp_path):
    X, y, task = data(40)
    model = small(epochs=2, n_bins=3).fit(X, y, sample_task=task)
    model.save(tmp_path / "model")
    again = MultitaskRegressor.load(tmp_path / "model")
    assert np.array_equal(again.predict(X, sample_task=task), model.predict(X, sample_task=task))
    assert again.n_bins == 3
    with pytest.raises(ValueError, match=r"holds a MultitaskRegressor: read it with MultitaskRegressor\.load"):
        MultitaskClassifier.load(tmp_path / "model")


@pytest.mark.parametrize(
    "label",
    [
        {"mean": 0.0, "scale": 1.0},
        {"mean": 0.0, "scale": 0.0, "bin_edges": [0.0]},
        {"mean": "0", "scale": 1.0, "bin_edges": [0.0]},
        {"mean": 0.0, "scale": 1.0, "bin_edges": [1.0, 0.0]},
        {"mean": 0.0, "scale": 1.0, "bin_edges": []},
        {"mean": 0.0, "scale": 1.0, "bin_edges": 3},
        [],
    ],
)
def test_a_label_that_is_none_is_refused(label, tmp_path):
    X, y, task = data(40)
    model = small(epochs=0).fit(X, y, sample_task=task)
    model.save(tmp_path / "model")
    content = Content((tmp_path / "model").read_bytes())
    content.said["label"] = label
    content.write(tmp_path / "model")
    with pytest.raises(ValueError, match="gapmin saved"):
        MultitaskRegressor.load(tmp_path / "model")


def test_users_random_numbers_are_left_alone():
    X, y, _ = data(20)
    before = torch.get_rng_state()
    small(epochs=1).fit(X, y)
    assert torch.equal(torch.get_rng_state(), before)
