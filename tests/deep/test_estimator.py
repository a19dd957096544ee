"""The estimators: tasks, the kinds of input, scikit-learn's tools, models on disk, diagnostics."""

import copy
import pickle
import struct

import numpy as np
import pytest
import sklearn
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn

from gapmin.deep import (
    MLP,
    AdvW,
    CSVLogger,
    EarlyStopping,
    GapMTNN,
    GapMTNNClassifier,
    ImageFolder,
    LeNet,
    MultitaskClassifier,
    MultitaskRegressor,
    Objective,
    Uniform,
)
from gapmin.deep.objectives import OBJECTIVES

with torch.random.fork_rng():
    torch.manual_seed(0)
    PHI = MLP(4, (8,))  # copied by each fit, so that all start from the same weights


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    task = rng.choice(["a", "b"], size=n)
    return X, np.where(X[:, 0] * np.where(task == "a", 1, -1) > 0, "up", "down"), task


def small(kind=MultitaskClassifier, **params):
    defaults = {"extractor": PHI, "head_hidden": 6, "epochs": 3, "lr": 0.02, "device": "cpu", "random_state": 0}
    return kind(**(defaults | params))


def test_each_row_goes_to_the_head_of_its_task():
    """Two tasks with opposite labels, which no single head can learn."""
    X, y, task = data()
    clf = small(epochs=40).fit(X, y, sample_task=task)
    assert clf.score(X, y, sample_task=task) > 0.95
    assert clf.score(X, y, sample_task=np.where(task == "a", "b", "a")) < 0.1
    proba = clf.predict_proba(X, sample_task=task)
    np.testing.assert_allclose(proba.sum(1), 1, atol=1e-6)
    assert np.array_equal(clf.classes_[proba.argmax(1)], clf.predict(X, sample_task=task))


def test_the_score_is_the_share_of_rows_that_are_right():
    X, y, task = data()
    clf = small(epochs=1).fit(X, y, sample_task=task)
    right = clf.predict(X, sample_task=task) == y
    assert clf.score(X, y, sample_task=task) == pytest.approx(right.mean())
    weight = np.where(right, 3.0, 1.0)
    expected = weight[right].sum() / weight.sum()
    assert 0.1 < right.mean() < 0.9
    assert clf.score(X, y, sample_weight=weight, sample_task=task) == pytest.approx(expected)


def test_predictions_come_in_the_order_of_the_rows():
    X, y, task = data()
    clf = small().fit(X, y, sample_task=task)
    proba, Z = clf.predict_proba(X, sample_task=task), clf.extract(X)
    order = np.random.default_rng(1).permutation(60)
    np.testing.assert_allclose(clf.predict_proba(X[order], sample_task=task[order]), proba[order], atol=1e-6)
    np.testing.assert_allclose(clf.extract(X[order]), Z[order], atol=1e-6)
    for i in (0, 7, 31):
        np.testing.assert_allclose(clf.predict_proba(X[i : i + 1], sample_task=task[i : i + 1])[0], proba[i], atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (np.array(["no", "yes"]), np.array(["north", "south"])),
        (np.array(["no", "yes"], dtype=object), np.array(["north", "south"], dtype=object)),
        (np.array([-1, 1]), np.array([10, 3])),
        (np.array([False, True]), np.array([True, False])),
        (np.array([0.0, 1.0]), np.array([0.5, 1.5])),
    ],
)
def test_labels_and_tasks_of_any_kind(labels, names):
    X, y, task = data()
    given, tasks = labels[(y == "up").astype(int)], names[(task == "b").astype(int)]
    clf = small(epochs=40).fit(X, given, sample_task=tasks)
    assert clf.classes_.tolist() == sorted(labels.tolist())
    assert clf.tasks_.tolist() == sorted(names.tolist())
    found = clf.predict(X, sample_task=tasks)
    assert found.dtype == given.dtype
    assert np.mean(found == given) > 0.95
    assert set(clf.history_[0]["task_loss"]) == set(map(str, names.tolist()))


def test_without_tasks_all_rows_are_one():
    X, y, _ = data()
    clf = small(GapMTNNClassifier).fit(X, y)
    assert clf.tasks_.tolist() == [0]
    assert clf.relation_.tolist() == [[1.0]]
    assert np.array_equal(clf.predict(X), clf.predict(X, sample_task=np.zeros(60, int)))


class Items(torch.utils.data.Dataset):
    def __init__(self, X, targets, tuples=True):
        self.X, self.targets, self.tuples = torch.as_tensor(X), targets, tuples

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return (self.X[index], self.targets[index]) if self.tuples else self.X[index]


def given_as(kind, X, y):
    if kind == "dataset":
        return Items(X, list(y)), None
    if kind == "dataset of rows":
        return Items(X, list(y), tuples=False), y
    X = {
        "tensor": lambda: torch.from_numpy(X.copy()),
        "float64": lambda: X.astype(np.float64),
        "list": X.tolist,
        "fortran": lambda: np.asfortranarray(X),
        "reversed": lambda: X[::-1].copy()[::-1],
        "read-only": lambda: (lambda held: (held.setflags(write=False), held)[1])(X.copy()),
        "tensor with gradient": lambda: torch.from_numpy(X.copy()).requires_grad_(),
    }[kind]()
    return X, y


@pytest.mark.parametrize(
    "kind",
    [
        "tensor",
        "float64",
        "list",
        "fortran",
        "reversed",
        "read-only",
        "tensor with gradient",
        "dataset",
        "dataset of rows",
    ],
)
@pytest.mark.filterwarnings("error")
def test_however_rows_are_given_the_model_is_the_same(kind):
    X, y, task = data()
    expected = small(GapMTNNClassifier).fit(X, y, sample_task=task)
    rows, labels = given_as(kind, X, y)
    clf = small(GapMTNNClassifier).fit(rows, labels, sample_task=task)
    assert clf.history_ == expected.history_
    found = clf.predict_proba(rows, sample_task=task)
    assert np.array_equal(found, expected.predict_proba(X, sample_task=task))
    assert clf.score(rows, labels, sample_task=task) == expected.score(X, y, sample_task=task)
    assert np.array_equal(clf.extract(rows), expected.extract(X))


def test_a_folder_of_images(tmp_path):
    rng = np.random.default_rng(0)
    for name, shade in (("dark", 40), ("light", 200)):
        (tmp_path / name).mkdir()
        for i in range(6):
            pixels = np.clip(rng.normal(shade, 20, size=(8, 8, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{i}.png")
    images = ImageFolder(tmp_path)
    task = np.tile(["a", "b"], 6)
    clf = MultitaskClassifier(epochs=15, lr=0.01, random_state=0, device="cpu").fit(images, sample_task=task)
    assert clf.score(images, sample_task=task) == 1.0
    X = torch.stack([x for x, _ in images]).numpy()
    assert np.array_equal(clf.predict_proba(X, sample_task=task), clf.predict_proba(images, sample_task=task))


def test_what_is_given_is_never_changed():
    X, y, task = data()
    module, callback, objective = MLP(4, (8,)), EarlyStopping("loss"), GapMTNN()
    kept = copy.deepcopy((X, y, task, module.state_dict()))
    clf = small(objective=objective, extractor=module, callbacks=[callback], validation_fraction=0.2)
    params = clf.get_params(deep=False)
    clf.fit(X, y, sample_task=task)
    clf.predict_proba(X, sample_task=task)
    clf.extract(X)
    for now, before in zip((X, y, task), kept[:3], strict=True):
        assert now.tobytes() == before.tobytes()
    assert all(torch.equal(value, kept[3][name]) for name, value in module.state_dict().items())
    assert all(value is params[name] for name, value in clf.get_params(deep=False).items())
    assert not list(objective.parameters())
    assert callback.best is None


def test_the_same_seed_gives_the_same_model_and_leaves_the_global_streams_alone():
    X, y, task = data()
    dropout = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5))

    def fit(**params):
        return small(objective=AdvW(), extractor=dropout, **params).fit(X, y, sample_task=task)

    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    streams = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    first = fit()
    first.predict(X, sample_task=task)
    assert torch.equal(torch.get_rng_state(), streams[0])
    assert np.array_equal(np.random.get_state()[1], streams[1][1])  # noqa: NPY002
    torch.manual_seed(8)
    second = fit()
    assert first.history_ == second.history_
    for name, value in first.objective_.state_dict().items():
        assert torch.equal(value, second.objective_.state_dict()[name])
    assert fit(random_state=1).history_ != first.history_
    assert fit(random_state=np.random.RandomState(3)).history_ == fit(random_state=np.random.RandomState(3)).history_


def test_the_channels_last_format_changes_no_result_beyond_rounding():
    X = np.random.default_rng(0).normal(size=(12, 1, 9, 9)).astype(np.float32)
    y, task = np.tile([0, 1], 6), np.repeat([0, 1], 6)
    found = [
        MultitaskClassifier(epochs=1, channels_last=last, random_state=0, device="cpu")
        .fit(X, y, sample_task=task)
        .predict_proba(X, sample_task=task)
        for last in (True, False)
    ]
    np.testing.assert_allclose(*found, atol=1e-3)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_relations_are_there_where_a_method_has_them(name):
    X, y, task = data()
    clf = small(objective=name).fit(X, y, sample_task=task)
    assert hasattr(clf, "relation_") == (name in ("weighted", "amtnn", "gapmtnn"))
    if hasattr(clf, "relation_"):
        np.testing.assert_allclose(clf.relation_.sum(1), 1, atol=1e-15)
        assert (clf.relation_ >= 0).all()
        np.testing.assert_allclose(clf.relation_, clf.history_[-1]["relation"], atol=1e-6)
        clf.set_params(objective="uniform").fit(X, y, sample_task=task)
        assert not hasattr(clf, "relation_")


def test_gapmtnn_classifier_is_the_objective_of_that_name():
    X, y, task = data()
    settings = {"lambda_semantic": 2.0, "lambda_marginal": 0.3, "lambda_relation": 0.2, "relation_cost": "gap"}
    settings |= {"relation_data": "holdout", "marginal": "h", "centroid_space": "extractor"}
    one = small(GapMTNNClassifier, **settings).fit(X, y, sample_task=task)
    other = small(objective=GapMTNN(**settings)).fit(X, y, sample_task=task)
    assert one.history_ == other.history_
    assert small(GapMTNNClassifier)._objective().get_params() == GapMTNN().get_params()


@pytest.mark.parametrize("validation", [None, 0.25])
@pytest.mark.parametrize("data_for", ["train", "holdout"])
def test_rows_set_aside_are_not_trained_on(validation, data_for, monkeypatch):
    """Rows, by task and class, are in one part each, and all parts together are all rows."""
    from gapmin.deep import Trainer

    X, y, task = data(80)
    parts = {}

    def fit(self, rows, **aside):
        parts.update({"train": rows, **aside})
        return []

    monkeypatch.setattr(Trainer, "fit", fit)
    small(objective=GapMTNN(relation_data=data_for, holdout=0.2), validation_fraction=validation).fit(
        X, y, sample_task=task
    )
    names = {"train", *(["validation"] if validation else []), *(["holdout"] if data_for == "holdout" else [])}
    assert set(parts) == names
    for k, name in enumerate(("a", "b")):
        together = np.concatenate([part.tasks[k] for part in parts.values()])
        assert sorted(together) == np.flatnonzero(task == name).tolist()
        for label in ("up", "down"):
            cell = np.flatnonzero((task == name) & (y == label))
            if validation:
                assert np.isin(cell, parts["validation"].tasks[k]).sum() == round(0.25 * len(cell))


# scikit-learn's tools


def test_cross_validation_with_metadata_routing():
    X, y, task = data(90)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(small(epochs=40), X, y, cv=3, params={"sample_task": task}, error_score="raise")
    assert scores.min() > 0.8


def test_cross_validation_without_metadata_routing():
    """The tasks reach fit; predict, which is not given them, says what to do for more than one."""
    X, y, task = data(90)
    one_task = task == "a"
    scores = cross_val_score(small(epochs=40), X[one_task], y[one_task], cv=3, params={"sample_task": task[one_task]})
    assert scores.mean() > 0.8
    with pytest.raises(ValueError, match="sample_task is missing"):
        cross_val_score(small(), X, y, cv=3, params={"sample_task": task}, error_score="raise")


def test_a_search_over_the_parameters_of_the_objective():
    X, y, task = data(90)
    grid = {"objective__lambda_semantic": [0.0, 1.0], "objective": [GapMTNN()]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(small(), grid, cv=2, error_score="raise").fit(X, y, sample_task=task)
        assert search.best_estimator_.objective_.lambda_semantic in (0.0, 1.0)
        assert search.score(X, y, sample_task=task) == search.best_estimator_.score(X, y, sample_task=task)
    losses = {
        value: small(objective=GapMTNN(lambda_semantic=value)).fit(X, y, sample_task=task).history_[-1]["loss"]
        for value in (0.0, 1.0)
    }
    assert losses[0.0] != losses[1.0]


def test_fitted_models_show_themselves():
    X, y, task = data()
    clf = small(objective=GapMTNN(decay=0.5), extractor=None)
    assert "objective=GapMTNN(decay=0.5)" in repr(clf)
    clf.fit(X, y, sample_task=task)
    assert "GapMTNN" in clf._repr_html_()
    assert repr(clone(clf)) == repr(clf)


# On disk


def assert_same_model(one, other, X, task):
    assert np.array_equal(one.predict_proba(X, sample_task=task), other.predict_proba(X, sample_task=task))
    assert np.array_equal(one.predict(X, sample_task=task), other.predict(X, sample_task=task))
    assert one.history_ == other.history_
    for name in ("classes_", "tasks_"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert hasattr(one, "relation_") == hasattr(other, "relation_")
    if hasattr(one, "relation_"):
        assert np.array_equal(one.relation_, other.relation_)
    assert one.n_features_in_ == other.n_features_in_


@pytest.mark.parametrize("objective", [*OBJECTIVES, GapMTNN(marginal="wasserstein", relation_cost="gap", decay=0.5)])
@pytest.mark.parametrize("kind", ["text", "object", "int"])
def test_a_saved_model_predicts_the_same_bit_for_bit(objective, kind, tmp_path):
    X, y, task = data()
    if kind == "int":
        y, task = (y == "up").astype(np.int16), (task == "b").astype(np.int64) * 7
    if kind == "object":
        y, task = y.astype(object), task.astype(object)
    clf = MultitaskClassifier(objective, epochs=1, head_hidden=6, device="cpu").fit(X, y, sample_task=task)
    clf.save(tmp_path / "model.safetensors")
    loaded = MultitaskClassifier.load(tmp_path / "model.safetensors")
    assert_same_model(clf, loaded, X, task)
    assert repr(loaded.objective) == repr(clf.objective)
    assert loaded.get_params(deep=False)["head_hidden"] == 6
    loaded.set_params(random_state=0).fit(X, y, sample_task=task)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_saved_model_of_images(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 1, 9, 9)).astype(np.float32)
    y, task = np.tile([0, 1], 6), np.repeat([0, 1], 6)
    clf = GapMTNNClassifier(epochs=1, random_state=0, lambda_semantic=3.0, device="cpu").fit(X, y, sample_task=task)
    clf.save(tmp_path / "model.safetensors")
    loaded = GapMTNNClassifier.load(tmp_path / "model.safetensors")
    assert_same_model(clf, loaded, X, task)
    assert loaded.lambda_semantic == 3.0


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y, task = data()
    clf = small(GapMTNNClassifier, extractor=None).fit(X, y, sample_task=task)
    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    clf.save(path)
    return clf, path


def test_the_file_is_safetensors_and_holds_no_code(saved):
    clf, path = saved
    tensors = load_file(path)
    assert set(tensors) == set(clf.objective_.state_dict())
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(path.read_bytes())
    with safe_open(str(path), framework="pt") as file:
        assert set(file.metadata()) == {"gapmin"}


def test_loading_leaves_the_global_stream_alone(saved):
    before = torch.get_rng_state()
    GapMTNNClassifier.load(saved[1])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_module_of_ones_own_is_needed_to_load(tmp_path):
    X, y, task = data()
    clf = small(extractor=nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())).fit(X, y, sample_task=task)
    path = tmp_path / "model.safetensors"
    clf.save(path)
    with pytest.raises(ValueError, match=r"was your own Sequential: give load one of its kind, extractor="):
        MultitaskClassifier.load(path)
    twin = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
    assert_same_model(clf, MultitaskClassifier.load(path, extractor=twin), X, task)
    with pytest.raises(ValueError, match=r"does not fit its network: .*0\.weight has shape \(8, 4\), \(9, 4\) was"):
        MultitaskClassifier.load(path, extractor=nn.Sequential(nn.Linear(4, 9), nn.BatchNorm1d(9), nn.ReLU()))


def test_another_class_is_refused(saved):
    with pytest.raises(ValueError, match=r"holds a GapMTNNClassifier: read it with GapMTNNClassifier\.load"):
        MultitaskClassifier.load(saved[1])


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_file_cut_short_is_refused(keep, saved, tmp_path):
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(saved[1].read_bytes()[:keep])
    with pytest.raises(ValueError, match="is not a model that gapmin saved"):
        GapMTNNClassifier.load(cut)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.safetensors"):
        GapMTNNClassifier.load(tmp_path / "none.safetensors")


def rewritten(path, target, tensors=None, header=None):
    with safe_open(str(path), framework="pt") as file:
        said = file.metadata()
    save_file(load_file(path) if tensors is None else tensors, target, metadata=said if header is None else header)
    return target


def test_a_file_with_other_content_is_refused(saved, tmp_path):
    _, path = saved
    tensors = load_file(path)
    name = "net.heads.weight1"
    missing = {key: value for key, value in tensors.items() if key != name}
    for changed in (missing, tensors | {"more": torch.zeros(1)}, tensors | {name: tensors[name][:1].clone()}):
        with pytest.raises(ValueError, match="does not fit its network"):
            GapMTNNClassifier.load(rewritten(path, tmp_path / "m.safetensors", tensors=changed))
    for header in ({}, {"gapmin": "no JSON"}, {"gapmin": "{}"}, {"gapmin": "[]"}):
        with pytest.raises(ValueError, match="is not a model that gapmin saved"):
            GapMTNNClassifier.load(rewritten(path, tmp_path / "m.safetensors", header=header))


@pytest.mark.parametrize("other", [1, 3])
def test_a_file_of_another_format_is_refused(saved, tmp_path, other):
    content = saved[1].read_bytes()
    assert content.count(b'\\"format\\": 2') == 1
    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(content.replace(b'\\"format\\": 2', b'\\"format\\": %d' % other))
    with pytest.raises(ValueError, match=f"format {other}"):
        GapMTNNClassifier.load(changed)


def test_a_damaged_header_is_refused(saved, tmp_path):
    content = bytearray(saved[1].read_bytes())
    (length,) = struct.unpack("<Q", content[:8])
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(bytes(content[:8]) + b"\0" * length + bytes(content[8 + length :]))
    with pytest.raises(ValueError, match="is not a model that gapmin saved"):
        GapMTNNClassifier.load(damaged)


def test_nothing_is_written_where_it_cannot_be_written_whole(saved, tmp_path, monkeypatch):
    clf, _ = saved
    with pytest.raises(ValueError, match="there is no folder"):
        clf.save(tmp_path / "none" / "model.safetensors")
    assert not list(tmp_path.iterdir())
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"old")

    def full(tensors, target, metadata):
        target.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(OSError, match="no space left"):
        clf.save(path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["model.safetensors"]


def test_what_cannot_be_saved_is_said(tmp_path):
    class Mine(Uniform):
        pass

    X, y, task = data()
    with pytest.raises(ValueError, match="Mine is an objective of your own"):
        small(objective=Mine()).fit(X, y, sample_task=task).save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_tied_weights_can_be_saved(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(4, 4)
            self.two = self.one

        def forward(self, x):
            return self.two(torch.relu(self.one(x)))

    X, y, task = data()
    clf = small(extractor=Tied()).fit(X, y, sample_task=task)
    clf.save(tmp_path / "model.safetensors")
    assert_same_model(clf, MultitaskClassifier.load(tmp_path / "model.safetensors", extractor=Tied()), X, task)


def test_pickles_predict_the_same(saved):
    X, _, task = data()
    assert_same_model(saved[0], pickle.loads(pickle.dumps(saved[0])), X, task)
    assert_same_model(saved[0], copy.deepcopy(saved[0]), X, task)


def test_objectives_of_ones_own_are_a_few_lines():
    class Squared(Objective):
        def forward(self, batch):
            step = Uniform.forward(self, batch)
            return step._replace(loss=step.loss**2)

    X, y, task = data()
    clf = small(objective=Squared(), epochs=40).fit(X, y, sample_task=task)
    assert clf.score(X, y, sample_task=task) > 0.9


# Checkpoints by way of the estimator


def test_a_fit_goes_on_where_one_of_fewer_epochs_ended(tmp_path):
    X, y, task = data()
    small(GapMTNNClassifier, checkpoint_dir=tmp_path, epochs=2).fit(X, y, sample_task=task)
    longer = small(GapMTNNClassifier, checkpoint_dir=tmp_path, epochs=4).fit(X, y, sample_task=task)
    whole = small(GapMTNNClassifier, epochs=4).fit(X, y, sample_task=task)
    assert longer.history_ == whole.history_
    assert np.array_equal(longer.predict_proba(X, sample_task=task), whole.predict_proba(X, sample_task=task))


@pytest.mark.parametrize("change", ["X", "y", "task", "task names", "validation", "head_activation", "extractor"])
def test_a_checkpoint_of_other_data_or_another_network_is_refused(change, tmp_path):
    X, y, task = data()
    small(checkpoint_dir=tmp_path).fit(X, y, sample_task=task)
    params = {}
    if change == "X":
        X = X + 1e-3
    elif change == "y":
        y = y[::-1]
    elif change == "task":
        task = task[::-1]
    elif change == "task names":
        task = np.char.add(task, "!")
    elif change == "validation":
        params["validation_fraction"] = 0.2
    elif change == "head_activation":
        params["head_activation"] = "tanh"
    else:
        params["extractor"] = MLP(4, (8,), activation="tanh")
    with pytest.raises(ValueError, match="is of another run: its"):
        small(checkpoint_dir=tmp_path, **params).fit(X, y, sample_task=task)


# Diagnostics


@pytest.fixture(scope="module")
def related():
    """Three tasks alike, and one with its labels reversed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    task = np.repeat(["a", "b", "c", "reversed"], 100)
    y = np.where((X[:, 0] > 0) ^ (task == "reversed"), 1, 0)
    clf = GapMTNNClassifier(epochs=10, lr=0.01, random_state=0, device="cpu").fit(X, y, sample_task=task)
    return clf, X, y, task


def test_gaps_are_large_to_a_task_with_reversed_labels_and_small_between_like_tasks(related):
    clf, X, y, task = related
    before = torch.get_rng_state()
    found = clf.task_gaps(X, y, sample_task=task)
    assert torch.equal(torch.get_rng_state(), before)
    assert found.tasks == ["a", "b", "c", "reversed"]
    assert not found.gaps.diagonal().any()
    np.testing.assert_allclose(found.gaps, found.losses - found.losses.diagonal())
    like, other = found.gaps[:3, :3], np.r_[found.gaps[3, :3], found.gaps[:3, 3]]
    assert np.abs(like).max() < 0.3
    assert other.min() > 1.0
    assert np.array_equal(found.affinity, found.affinity.T)
    assert np.array_equal(found.gaps, clf.task_gaps(X, y, sample_task=task).gaps)


def test_the_relation_gives_a_task_with_reversed_labels_no_weight(related):
    clf = related[0]
    np.testing.assert_allclose(clf.relation_.sum(1), 1, atol=1e-15)
    assert clf.relation_[:3, 3].max() < 0.1
    assert clf.relation_[3, 3] > 0.9


def test_proposition_2_bounds_the_risk_by_the_weighted_risk_and_the_distances(related):
    clf, X, y, task = related
    bounds = clf.proposition_2(X, y, sample_task=task, max_rows=20)
    assert list(bounds) == ["a", "b", "c", "reversed"]
    codes = torch.from_numpy(y)
    for j, name in enumerate(bounds):
        by_task = []
        for other in bounds:
            rows = task == other
            proba = clf.predict_proba(X[rows], sample_task=[name] * rows.sum())
            of_label = proba[np.arange(rows.sum()), codes[rows]]
            by_task.append(-np.log(np.maximum(of_label, 1e-30)).mean())  # a weight of 0 times an infinite loss is 0
        weighted = clf.relation_[j] @ by_task
        assert bounds[name].total >= weighted - 1e-6
        assert bounds[name].total >= by_task[j] - 1e-6  # the risk that is bounded
    assert clf.proposition_2(X, y, sample_task=task, max_rows=20) == bounds


def test_the_two_estimators_and_the_trainer_agree_on_their_defaults():
    one, other = MultitaskClassifier().get_params(), GapMTNNClassifier().get_params()
    assert {name: one[name] for name in one.keys() & other.keys()} == {
        name: other[name] for name in one.keys() & other.keys()
    }
    objective = GapMTNN().get_params()
    for name in objective.keys() & other.keys():
        assert objective[name] == other[name], name


def test_settings_that_are_numpys_numbers_do_not_spoil_the_checkpoint(tmp_path):
    X, y, task = data()
    settings = {"lr": np.float64(0.01), "batch_size": np.int64(16), "validation_fraction": np.float32(0.2)}
    first = small(checkpoint_dir=tmp_path, **settings).fit(X, y, sample_task=task)
    again = small(checkpoint_dir=tmp_path, **settings).fit(X, y, sample_task=task)
    assert np.array_equal(first.predict_proba(X, sample_task=task), again.predict_proba(X, sample_task=task))


def test_a_fit_may_go_on_with_other_callbacks_and_keeps_those_it_had(tmp_path):
    X, y, task = data()
    folder = tmp_path / "kept"
    common = {"validation_fraction": 0.2, "checkpoint_dir": folder}
    first = small(epochs=2, callbacks=[EarlyStopping(patience=50)], **common).fit(X, y, sample_task=task)
    callbacks = [CSVLogger(tmp_path / "history.csv"), EarlyStopping(patience=50)]
    second = small(epochs=4, callbacks=callbacks, **common).fit(X, y, sample_task=task)
    assert second.callbacks_[1].best <= first.callbacks_[0].best
    assert callbacks[1].best is None
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 5


def test_a_table_then_a_dataset_leaves_nothing_of_the_table():
    X, y, task = data()
    clf = small(epochs=1).fit(X, y, sample_task=task)
    assert clf.n_features_in_ == X.shape[1]
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(np.asarray(X, dtype=np.float64)))
    clf.fit(dataset, y, sample_task=task)
    assert not hasattr(clf, "n_features_in_")
    broken = torch.utils.data.TensorDataset(torch.full((3, X.shape[1]), torch.nan))
    with pytest.raises(ValueError, match="row 0 of X gives numbers that are not finite"):
        clf.predict(broken, sample_task=task[:3])


def test_a_lenet_of_the_users_gets_the_heads_of_lenet():
    X, y = np.random.default_rng(0).random((8, 1, 8, 8)), [0, 1] * 4
    shapes = [
        MultitaskClassifier(extractor=net, epochs=0, random_state=0).fit(X, y).objective_.net.heads.weight1.shape
        for net in ("lenet", LeNet(1, 8))
    ]
    assert shapes[0] == shapes[1] == (1, 128, 64)


def test_an_extractor_is_not_taken_for_one_that_has_a_name(tmp_path):
    X, y, task = data()
    MultitaskClassifier(extractor="mlp", epochs=0, random_state=0).fit(X, y, sample_task=task).save(tmp_path / "m")
    with pytest.raises(ValueError, match="is 'mlp': leave extractor out"):
        MultitaskClassifier.load(tmp_path / "m", extractor=MLP(4, (8,)))


def test_scores_by_task_are_the_scores_of_their_rows(related):
    clf, X, y, task = related
    found = clf.task_scores(X, y, sample_task=task)
    assert list(found) == ["a", "b", "c", "reversed"]
    for name, score in found.items():
        rows = task == name
        assert score == pytest.approx(clf.score(X[rows], y[rows], sample_task=task[rows]))
    rows = task == "b"
    assert list(clf.task_scores(X[rows], y[rows], sample_task=task[rows])) == ["b"]


@pytest.mark.parametrize("kind", [MultitaskClassifier, MultitaskRegressor])
def test_scores_by_task_are_of_one_label_a_row(kind):
    rng = np.random.default_rng(0)
    X, y, task = rng.normal(size=(20, 3)), rng.integers(2, size=20), np.repeat(["a", "b"], 10)
    model = kind(epochs=1, device="cpu", random_state=0).fit(X, y, sample_task=task)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[20, 5\]"):
        model.task_scores(X, y[:5], sample_task=task)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        column = model.task_scores(X, y[:, None], sample_task=task)
    assert column == model.task_scores(X, y, sample_task=task)


def test_features_are_of_rows():
    X, y, task = data()
    clf = MultitaskClassifier(epochs=0, random_state=0).fit(X, y, sample_task=task)
    with pytest.raises(ValueError, match="Expected 2D array, got scalar array"):
        clf.extract(3.0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_named():
    X, y = np.eye(4, dtype=np.float32), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="device is 'cuda:0', but PyTorch finds no cuda device here: set device='cpu'"):
        MultitaskClassifier(device="cuda:0", epochs=1).fit(X, y)


def test_a_device_that_is_none_is_named():
    with pytest.raises(ValueError, match="device is 'cdua', which PyTorch does not know: give 'auto', 'cpu'"):
        MultitaskClassifier(device="cdua", epochs=1).fit(np.eye(4), [0, 1, 0, 1])
