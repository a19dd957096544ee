"""Descriptions of networks that were made up: refused in one sentence, before they can take memory or time."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from gapmin.deep import GapMTNNClassifier, MultitaskClassifier
from gapmin_support.networkfiles import Content, assert_refused, fitted


def test_the_original_is_read_and_what_is_written_by_hand_too(load, original, content, tmp_path):
    assert load(original) == ("loaded", "")
    assert load(content.write(tmp_path / "again")) == ("loaded", "")
    content.replace("net.heads.weight1", np.zeros(content.header["net.heads.weight1"]["shape"], np.float32))
    assert load(content.write(tmp_path / "replaced")) == ("loaded", "")


@pytest.mark.parametrize(
    "name",
    ["format", "version", "class", "params", "classes", "tasks", "input_shape", "features", "n_features_in", "history"],
)
def test_every_entry_must_be_there_and_of_its_kind(name, load, content, tmp_path):
    kept = content.said.pop(name)
    assert_refused(load(content.write(tmp_path / "missing")), tmp_path / "missing", r"not a model that gapmin saved \(")
    for value in (True, 1.5, "text", [[]], {"a": 1}, None):
        if type(value) is not type(kept) and not (name in ("features", "n_features_in") and value is None):
            content.said[name] = value
            found = load(content.write(tmp_path / "wrong"))
            assert_refused(found, tmp_path / "wrong", r"not a model that gapmin saved \(")


def labels(values, dtype):
    return {"dtype": dtype, "values": values}


MANY = list(range(300_000))
SAID = {
    "a row of 40 million": ({"input_shape": [40_000_000], "n_features_in": 40_000_000, "features": None}, "has shape"),
    "a row beyond 64 bits": ({"input_shape": [2**70]}, "64 bits"),
    "a row of nothing": ({"input_shape": [0], "n_features_in": 0, "features": None}, "input_shape is"),
    "a row of texts": ({"input_shape": ["2"]}, "input_shape is"),
    "a row of truth": ({"input_shape": [True]}, "input_shape is"),
    "a row too long": ({"input_shape": [3]}, "n_features_in is 2 and"),
    "a row longer than the tensors": ({"input_shape": [3], "n_features_in": 3, "features": None}, "has shape"),
    "images": ({"input_shape": [2, 2**30, 2**30]}, "does not fit its network"),
    "hundreds of thousands of tasks": ({"tasks": labels(MANY, "<i8")}, "has shape"),
    "hundreds of thousands of classes": ({"classes": labels(MANY, "<i8")}, "has shape"),
    "no task": ({"tasks": labels([], "<i8")}, "its tasks"),
    "one class": ({"classes": labels(["no"], "<U3")}, "its classes"),
    "one more class": ({"classes": labels(["maybe", "no", "yes"], "<U5")}, "has shape"),
    "a class twice": ({"classes": labels(["no", "no"], "<U3")}, "sorted and each once"),
    "a task twice": ({"tasks": labels(["a", "a"], "<U1")}, "sorted and each once"),
    "classes in disorder": ({"classes": labels(["yes", "no"], "<U3")}, "sorted and each once"),
    "long texts": ({"classes": labels(["no", "yes"], "<U99999999")}, "would take"),
    "texts cut short": ({"classes": labels(["no", "yes"], "<U2")}, "are not of"),
    "numbers as objects": ({"tasks": labels([1, 2], "|O")}, "are not all of"),
    "lists as labels": ({"tasks": labels([[1], [2]], "<i8")}, "are not all of"),
    "truth as numbers": ({"tasks": labels([False, True], "<i8")}, "are not all of"),
    "numbers too large": ({"tasks": labels([1, 300], "|i1")}, "are not of"),
    "records as labels": ({"tasks": labels([1, 2], "|V8")}, "unknown type"),
    "dates as labels": ({"tasks": labels([1, 2], "<M8[D]")}, "unknown type"),
    "no type": ({"tasks": {"values": ["a", "b"]}}, "its tasks are"),
    "labels that are not a number": ({"tasks": labels([1.0, {"$float": "nan"}], "<f8")}, "are not of"),
    "features that are numbers": ({"features": labels([1, 2], "<i8")}, "its features"),
    "too few features": ({"features": labels(["one"], "|O")}, "its features"),
    "a history of numbers": ({"history": [1]}, "no list of records"),
    "a history with tensors": ({"history": [{"a": {"$tensor": "relation"}}]}, "where a value was due"),
    "an unknown class": ({"class": "os.system"}, "holds a os.system: read it with"),
    "a later format": (
        {"format": 3},
        "it has format 3 .*reads up to 2: install a newer gapmin, or fit the model again",
    ),
    "an older format": (
        {"format": 1, "version": "0.0\n9"},
        "by gapmin 0.0 9 in format 1, and gapmin .* reads format 2: fit the model again",
    ),
    "no format": ({"format": 0}, "its description names no format"),
    "one entry more": ({"more": 1}, "has not exactly format"),
}


@pytest.mark.parametrize("change", SAID)
def test_a_description_that_makes_no_sense_is_refused(change, load, content, tmp_path):
    content.said |= SAID[change][0]
    assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", SAID[change][1])


PARAMS = {
    "unknown": {"more": 1},
    "of the machine": {"device": "cuda"},
    "of the fit": {"checkpoint_dir": "elsewhere"},
    "not a number": {"lr": "0.1"},
    "out of range": {"lr": -1.0},
    "no whole number": {"head_hidden": 2.0},
    "truth": {"batch_size": True},
    "no truth": {"channels_last": "yes"},
    "a list": {"sampling": ["cycle"]},
    "an unknown word": {"head_activation": "exec"},
    "an unknown extractor": {"extractor": "os.system"},
    "an extractor that is none": {"extractor": {"class": "Linear"}},
    "an unknown objective": {"objective": "sum"},
    "an objective that is none": {"objective": {"name": "amtnn"}},
    "an objective by an unknown name": {"objective": {"name": "sum", "params": {}}},
    "an objective by no name": {"objective": {"name": ["amtnn"], "params": {}}},
    "another objective": {"objective": "weighted"},
    "heads of another width": {"head_hidden": 1 << 40},
    "heads of a default width": {"head_hidden": None},
}


@pytest.mark.parametrize("change", PARAMS)
def test_parameters_that_the_model_does_not_take_are_refused(change, load, content, tmp_path):
    content.said["params"] |= PARAMS[change]
    assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", "gapmin saved|does not fit its network")


def test_a_parameter_that_is_missing_is_refused(load, content, tmp_path):
    """By default the heads have another activation: the model would be another, and nobody would know."""
    for name, value in list(content.said["params"].items()):
        del content.said["params"][name]
        assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", f"lacks the parameter {name}")
        content.said["params"][name] = value


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"more": 1}, "AMTNN has no parameter more"),
        ({"distance": True}, "distance of AMTNN is True"),
        ({"distance": -1}, "distance"),
        ({"critic_hidden": 1 << 40}, "does not fit its network"),
    ],
)
def test_parameters_that_the_objective_does_not_take_are_refused(change, fault, load, content, tmp_path):
    content.said["params"]["objective"]["params"] |= change
    assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", fault)


def test_critics_of_each_two_of_many_tasks_are_not_counted_one_by_one(load, content, tmp_path):
    """The heads of 4000 tasks are there, the critics of their eight million pairs are not."""
    content.said["tasks"] = labels(list(range(4000)), "<i8")
    content.said["params"] |= {"objective": "advw", "head_hidden": 1}
    for name, shape in {"weight1": (1, 128), "bias1": (1,), "weight2": (2, 1), "bias2": (2,)}.items():
        content.replace(f"net.heads.{name}", np.zeros((4000, *shape), np.float32))
    assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", r"critics.* \(1023744000, 128\) was wanted")


def test_tensors_that_are_not_the_networks_are_refused(load, original, tmp_path):
    name = "net.heads.weight1"
    shape = Content(original.read_bytes()).header[name]["shape"]
    for array, fault in (
        (np.zeros(shape, np.float64), f"{name} is of torch.float64, torch.float32 was wanted"),
        (np.zeros(shape, np.float16), f"{name} is of torch.float16"),
        (np.zeros(shape, np.int32), f"{name} is of torch.int32"),
        (np.zeros([*shape, 1], np.float32), "three dimensions"),
        (np.zeros([3, *shape[1:]], np.float32), "has shape"),
    ):
        content = Content(original.read_bytes())
        content.replace(name, array)
        assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", fault)
    for renamed in ("net.heads.weight3", "net\nheads"):
        content = Content(original.read_bytes())
        content.header[renamed] = content.header.pop("net.heads.bias1")
        assert_refused(load(content.write(tmp_path / "m")), tmp_path / "m", "it lacks net.heads.bias1")


# What is data and not danger


def test_weights_that_are_not_finite_are_read_and_predict_says_so(original, content, tmp_path):
    content.replace("net.heads.weight1", np.full(content.header["net.heads.weight1"]["shape"], np.nan, np.float32))
    content.replace("relation", np.zeros((2, 2), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MultitaskClassifier.load(content.write(tmp_path / "m"))
    with pytest.raises(ValueError, match="gives numbers that are not finite"):
        model.predict(pd.DataFrame({"one": [0.0], "two": [0.0]}), sample_task=["a"])


def test_a_history_comes_back_as_it_was(tmp_path):
    model = fitted()
    model.history_[0] |= {"figure": math.inf, "by": {1: -math.inf, "$x": [None, True, "text"]}}
    model.save(tmp_path / "m")
    assert "Infinity" not in (tmp_path / "m").read_bytes().decode("latin-1")
    assert MultitaskClassifier.load(tmp_path / "m").history_ == model.history_
    model.history_[0]["figure"] = math.nan
    model.save(tmp_path / "m")
    assert math.isnan(MultitaskClassifier.load(tmp_path / "m").history_[0]["figure"])


@pytest.mark.parametrize("values", [["2020-01-01", "2020-01-02"], [1, 2]])
def test_labels_that_could_not_be_read_again_are_not_saved(values, tmp_path):
    model = fitted()
    model.tasks_ = np.array(values, dtype="M8[D]" if isinstance(values[0], str) else np.longdouble)
    with pytest.raises(ValueError, match="use text or numbers"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_history_that_could_not_be_read_again_is_not_saved(tmp_path, monkeypatch):
    model = fitted()
    monkeypatch.setattr("gapmin.deep._plain.MOST_VALUES", 1000)
    model.history_ = [{"figures": [0.5] * 1000}]
    with pytest.raises(ValueError, match=r"could not be read again .*: keep the last entries of history_"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


class Own(nn.Module):
    """Makes features of what it gets, and says how often."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(3)
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.layer(x) * self.scale


def test_an_extractor_of_ones_own_gets_no_rows_of_a_shape_that_a_file_says(tmp_path):
    model = fitted(extractor=Own())
    model.save(tmp_path / "m")
    loaded = MultitaskClassifier.load(tmp_path / "m", extractor=Own())
    assert loaded.objective_.net.extractor.calls == 0
    rows = pd.DataFrame({"one": [0.0, 1.0], "two": [1.0, 3.0]})
    found, expected = (each.predict_proba(rows, sample_task=["a", "b"]) for each in (loaded, model))
    assert np.array_equal(found, expected)
    content = Content((tmp_path / "m").read_bytes())
    content.said |= {"input_shape": [2**31 - 1], "n_features_in": 2**31 - 1, "features": None}
    MultitaskClassifier.load(content.write(tmp_path / "long"), extractor=Own())
    with pytest.raises(ValueError, match=r"does not fit its network: .*out_features=7.*: give a file"):
        MultitaskClassifier.load(tmp_path / "m", extractor=nn.Linear(2, 7))


def test_a_network_of_images_keeps_the_layout_that_is_fast(tmp_path):
    X = np.random.default_rng(0).normal(size=(4, 2, 8, 8))
    model = GapMTNNClassifier(epochs=0, head_hidden=2, random_state=0).fit(X, [0, 1, 0, 1])
    model.save(tmp_path / "m")
    before = torch.get_rng_state()
    loaded = GapMTNNClassifier.load(tmp_path / "m")
    assert torch.equal(torch.get_rng_state(), before)
    for one, other in zip(model.objective_.parameters(), loaded.objective_.parameters(), strict=True):
        assert one.stride() == other.stride()
    assert np.array_equal(model.predict_proba(X), loaded.predict_proba(X))
