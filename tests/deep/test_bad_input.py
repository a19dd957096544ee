"""Wrong input: a clear error before any training; odd but meaningful input: a defined result."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from gapmin.deep import EarlyStopping, GapMTNN, GapMTNNClassifier, MultitaskClassifier, Trainer


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def data(rng, n=24, classes=("down", "up")):
    X = rng.normal(size=(n, 4)).astype(np.float32)
    return X, np.asarray(classes)[(X[:, 0] > 0).astype(int)], np.repeat(["a", "b"], n // 2)


def model(**params):
    defaults = {"epochs": 2, "batch_size": 8, "lr": 0.01, "random_state": 0, "device": "cpu"}
    return MultitaskClassifier(**(defaults | params))


@pytest.fixture
def no_training(monkeypatch):
    """Make every step of training an error of its own kind."""

    def step(self, batch):
        raise AssertionError("training has begun")

    monkeypatch.setattr(Trainer, "step", step)


class Items(torch.utils.data.Dataset):
    def __init__(self, items, targets):
        self.items, self.targets = items, targets

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index], self.targets[index]


@pytest.mark.usefixtures("no_training")
class TestBeforeAnyTraining:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"y": np.full(24, "up")}, r"y has one class \('up'\): a classifier needs rows of two or more"),
            ({"y": np.array(["up", "down"] * 11)}, r"inconsistent numbers of samples"),
            ({"y": None}, r"y is (missing|None)"),
            ({"y": np.linspace(0, 1, 24)}, r"Unknown label type|continuous"),
            ({"sample_task": ["a"] * 23}, r"sample_task has 23 entries for 24 rows"),
            ({"sample_task": [["a"]] * 24}, r"sample_task has 2 dimensions"),
            ({"sample_task": ["a", None] * 12}, r"sample_task has None at row 1"),
            ({"X": np.zeros((24, 2, 3))}, r"X has shape \(24, 2, 3\): give rows \(n, features\) or images"),
            ({"X": np.zeros((0, 4)), "y": []}, r"0 sample"),
            ({"X": np.zeros(24)}, r"Expected 2D array|1D array"),
        ],
    )
    def test_of_data(self, change, message, rng):
        X, y, task = data(rng)
        given = {"X": X, "y": y, "sample_task": task} | change
        with pytest.raises(ValueError, match=message):
            model().fit(given["X"], given["y"], sample_task=given["sample_task"])

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
    @pytest.mark.filterwarnings("ignore:overflow")
    def test_of_numbers_that_are_none(self, value, rng):
        X, y, task = data(rng)
        X = X.astype(np.float64)
        X[3, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model().fit(X, y, sample_task=task)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model().fit(torch.from_numpy(X), y, sample_task=task)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            (
                {"objective": "gapmin"},
                r"'objective' parameter of MultitaskClassifier must be .*'uniform'.* 'gapmin'",
            ),
            ({"objective": GapMTNN(marginal="mmd")}, r"'marginal' parameter of GapMTNN"),
            ({"extractor": "lenet"}, r"'lenet' takes images of shape \(channels, height, width\)"),
            ({"extractor": "vgg"}, r"'extractor' parameter of MultitaskClassifier"),
            ({"extractor": torch.nn.Linear(3, 2)}, r"rows of shape \(4,\)"),
            ({"extractor": torch.nn.Sequential(torch.nn.Linear(3, 2))}, r"rows of shape \(4,\)"),
            ({"checkpoint_dir": "somewhere", "random_state": None}, r"random_state is None: with checkpoint_dir give"),
            ({"validation_fraction": 1.0}, r"'validation_fraction' parameter"),
            ({"epochs": -1}, r"'epochs' parameter"),
            ({"batch_size": 0}, r"'batch_size' parameter"),
            ({"lr": 0.0}, r"'lr' parameter"),
            ({"head_activation": "selu"}, r"'head_activation' parameter"),
            ({"sampling": "twice"}, r"'sampling' parameter"),
            ({"device": "abacus"}, r"abacus"),
            ({"callbacks": [EarlyStopping()]}, r"validation_loss.*set validation"),
            ({"callbacks": ["stop"]}, r"callbacks"),
        ],
    )
    def test_of_settings(self, params, message, rng, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        X, y, task = data(rng)
        with pytest.raises((ValueError, RuntimeError, TypeError), match=message):
            model(**params).fit(X, y, sample_task=task)
        assert not list(tmp_path.iterdir())

    def test_of_images_for_the_wrong_network(self, rng):
        y = ["a", "b"] * 3
        with pytest.raises(ValueError, match="too small for LeNet"):
            model().fit(np.zeros((6, 1, 5, 5)), y)
        with pytest.raises(ValueError, match="'resnet18' takes images of 3 channels, not 1"):
            model(extractor="resnet18").fit(np.zeros((6, 1, 32, 32)), y)
        with pytest.raises(ValueError, match="'mlp' takes rows of features"):
            model(extractor="mlp").fit(np.zeros((6, 1, 32, 32)), y)

    def test_of_datasets(self, rng):
        with pytest.raises(ValueError, match="the dataset has 0 rows"):
            model().fit(Items([], []))
        with pytest.raises(ValueError, match="first item is a ndarray: give items that are float tensors"):
            model().fit(Items(rng.normal(size=(4, 3)), [0, 1, 0, 1]))
        with pytest.raises(ValueError, match="float tensors"):
            model().fit(Items(torch.zeros(4, 1, 8, 8, dtype=torch.uint8), [0, 1, 0, 1]))

    def test_of_tasks_too_small_to_set_rows_aside(self):
        X, task = np.eye(6), np.repeat(["large", "tiny"], [4, 2])
        y = [0, 1, 0, 1, 0, 1]
        with pytest.raises(ValueError, match=r"task .* has 2 rows, one of each class: none can be set aside"):
            model(validation_fraction=0.2).fit(X, y, sample_task=np.repeat(["a", "b", "c"], 2))
        with pytest.raises(ValueError, match="none can be set aside"):
            model(objective=GapMTNN(relation_data="holdout")).fit(X, y, sample_task=task)


@pytest.mark.parametrize("objective", ["uniform", "gapmtnn"])
def test_a_task_too_small_for_validation_rows_is_trained_all_the_same(objective, rng):
    X, y, task = data(rng)
    X, y, task = np.vstack([X, X[:1]]), [*y, y[0]], [*task, "tiny"]
    clf = model(objective=objective, early_stopping=True).fit(X, y, sample_task=task)
    assert clf.tasks_.tolist() == ["a", "b", "tiny"]
    assert set(clf.history_[-1]["validation_task_loss"]) == {"a", "b"}
    assert set(clf.history_[-1]["task_loss"]) == {"a", "b", "tiny"}


def test_a_failed_fit_leaves_no_half_fitted_model(rng):
    X, y, task = data(rng)
    clf = model(extractor="lenet")
    with pytest.raises(ValueError, match="lenet"):
        clf.fit(X, y, sample_task=task)
    with pytest.raises(NotFittedError):
        clf.predict(X, sample_task=task)


@pytest.fixture(scope="module")
def fitted():
    X, y, task = data(np.random.default_rng(0))
    return model().fit(X, y, sample_task=task), X, y, task


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_task": ["a"] * 23 + ["c"]}, r"unknown task 'c' at row 23: this model was fitted on \['a', 'b'\]"),
        ({"sample_task": None}, r"sample_task is missing: this model has 2 tasks"),
        ({"sample_task": ["a"]}, r"sample_task has 1 entries for 24 rows"),
        ({"X": np.zeros((24, 5))}, r"X has 5 features, but MultitaskClassifier is expecting 4"),
        ({"X": np.zeros((24, 4, 2, 2))}, r"X has rows of shape \(4, 2, 2\), the model was fitted on \(4,\)"),
        ({"X": np.full((24, 4), np.nan)}, r"NaN"),
        ({"X": np.zeros((24, 2, 2))}, r"X has shape|expecting 4"),
        ({"X": Items(torch.zeros(24, 3), [0] * 24)}, r"X has rows of shape \(3,\), the model was fitted on \(4,\)"),
    ],
)
def test_predicting_checks_what_it_is_given(method, change, message, fitted):
    clf, X, _, task = fitted
    given = {"X": X, "sample_task": task} | change
    with pytest.raises(ValueError, match=message):
        getattr(clf, method)(given["X"], sample_task=given["sample_task"])


def test_predicting_needs_a_fit(rng):
    X, _, task = data(rng)
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(model(), method)(X, sample_task=task)
    with pytest.raises(NotFittedError):
        model().extract(X)
    with pytest.raises(NotFittedError):
        model().save("nowhere.safetensors")


@pytest.mark.parametrize("objective", ["uniform", "gapmtnn", "multiobjective"])
def test_tasks_may_differ_in_their_classes(objective, rng):
    """Class "c" is in one task only, and the other task has it in its probabilities all the same."""
    X, _, task = data(rng, 40)
    first, second = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)], np.array(["b", "c"])[(X[:, 1] > 0).astype(int)]
    y = np.where(task == "a", first, second)
    clf = model(objective=objective, epochs=30).fit(X, y, sample_task=task)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    proba = clf.predict_proba(X, sample_task=task)
    assert proba.shape == (40, 3)
    np.testing.assert_allclose(proba.sum(1), 1, atol=1e-5)
    assert clf.score(X, y, sample_task=task) > 0.9
    assert all(np.isfinite(record["loss"]) for record in clf.history_)


@pytest.mark.parametrize("cost", ["crossfit", "excess"])
def test_tasks_without_a_class_in_common_are_not_aligned(cost, rng):
    X, _, task = data(rng, 40)
    y = np.where(task == "a", 0, 2) + (X[:, 0] > 0)
    aligned = {"relation_cost": cost, "lambda_semantic": 10.0, "lambda_marginal": 0.1}
    clf = GapMTNNClassifier(epochs=2, lr=0.01, random_state=0, device="cpu", **aligned).fit(X, y, sample_task=task)
    assert np.array_equal(clf.relation_, np.eye(len(clf.tasks_)))
    assert all(record["semantic"] == record["marginal"] == 0 for record in clf.history_)


def test_one_class_in_a_task_is_fine_where_another_task_has_two(rng):
    X, y, task = data(rng)
    y = np.where(task == "b", "up", y)
    clf = model(epochs=30).fit(X, y, sample_task=task)
    assert set(clf.predict(X[12:], sample_task=task[12:])) == {"up"}


def test_a_task_with_one_row(rng):
    X, y, task = data(rng)
    task[:-1] = "a"
    for objective in ("gapmtnn", "multiobjective", "advw"):
        clf = model(objective=objective).fit(X, y, sample_task=task)
        assert clf.predict(X[-1:], sample_task=["b"]).shape == (1,)


def test_diagnostics_name_the_task_and_the_class_they_lack(rng):
    X, y, task = data(rng)
    clf = GapMTNNClassifier(epochs=1, random_state=0, device="cpu").fit(X, y, sample_task=task)
    for diagnose in (clf.proposition_2, clf.task_gaps):
        with pytest.raises(ValueError, match="unknown class 'sideways'"):
            diagnose(X, np.where(y == "up", "sideways", y), sample_task=task)
        with pytest.raises(ValueError, match=r"task.*'b'|'b'.*no rows"):
            diagnose(X[:12], y[:12], sample_task=task[:12])
