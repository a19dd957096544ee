import sys

import numpy as np
import pytest

from gapmin.datasets import MultitaskProblem, frozen_features, load_pacs, load_pacs_features
from gapmin.datasets import _features as module

torch = pytest.importorskip("torch")


class Means(torch.nn.Module):
    """Six features: each colour's mean of the left and of the right half, and how often that was asked for."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(factor))
        self.asked = []

    def forward(self, x):
        self.asked.append(len(x))
        half = x.shape[3] // 2
        return self.factor * torch.cat([x[..., :half].mean(dim=(2, 3)), x[..., half:].mean(dim=(2, 3))], dim=1)


def make_problem(test=True, dtype=np.uint8):
    rng = np.random.default_rng(0)

    def task(n_rows):
        X = rng.integers(256, size=(n_rows, 3, 4, 6)).astype(np.uint8)
        return X if dtype == np.uint8 else (X / 255).astype(dtype), np.array(["cat", "dog"])[np.arange(n_rows) % 2]

    return MultitaskProblem(
        "toy",
        {"one": task(230), "two": task(20)},
        train_size=0.5,
        test={"two": task(30), "one": task(10)} if test else None,
        description="made here",
        every_class=False,
    )


def by_hand(X):
    x = (X / 255 - np.reshape([0.485, 0.456, 0.406], (3, 1, 1))) / np.reshape([0.229, 0.224, 0.225], (3, 1, 1))
    return np.hstack([x[..., :3].mean(axis=(2, 3)), x[..., 3:].mean(axis=(2, 3))])


def test_features_of_all_rows_in_order_with_mean_square_one():
    problem = make_problem()
    network = Means()
    found = frozen_features(problem, network)
    assert network.asked == [100, 100, 30, 20, 10, 30]
    assert (found.name, found.train_size, found.every_class) == ("toy, Means", 0.5, False)
    assert found.description == "made here; features of Means"
    rows = [by_hand(X) for part in (problem.tasks, problem.test) for X, _ in part.values()]
    scale = np.sqrt(np.mean(np.concatenate(rows) ** 2))
    for part, own in ((problem.tasks, found.tasks), (problem.test, found.test)):
        assert list(own) == ["one", "two"]
        for task, (X, y) in own.items():
            assert X.dtype == np.float32
            np.testing.assert_allclose(X, by_hand(part[task][0]) / scale, atol=1e-5)
            np.testing.assert_array_equal(y, part[task][1])


def test_numbers_between_0_and_1_are_the_same_images():
    bytes_, floats = (
        frozen_features(make_problem(dtype=dtype), Means()).split(0).X for dtype in (np.uint8, np.float32)
    )
    np.testing.assert_allclose(floats, bytes_, atol=1e-5)


@pytest.mark.parametrize("test", [True, False])
def test_the_second_call_reads_what_the_first_kept(test, tmp_path):
    network = Means()
    first = frozen_features(make_problem(test), network)
    n_asked = len(network.asked)
    second = frozen_features(make_problem(test), network)
    assert len(network.asked) == n_asked
    assert repr(second) == repr(first)
    assert (second.description, second.train_size, second.every_class) == ("made here; features of Means", 0.5, False)
    for one, other in zip(first.split(0), second.split(0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(list((tmp_path / "cache/features").iterdir())) == 1
    # Nothing but the same images and the same network is the same.
    frozen_features(make_problem(test), Means(factor=2.0))
    frozen_features(make_problem(test, dtype=np.float32), Means())
    assert len(list((tmp_path / "cache/features").iterdir())) == 3


def test_a_damaged_file_is_computed_anew(tmp_path):
    network = Means()
    first = frozen_features(make_problem(), network)
    (path,) = (tmp_path / "cache/features").iterdir()
    path.write_bytes(path.read_bytes()[:1000])
    again = frozen_features(make_problem(), network)
    assert len(network.asked) == 12
    np.testing.assert_array_equal(again.split(0).X, first.split(0).X)
    assert module._read(path).name == "toy, Means"


def test_batch_statistics_are_not_touched():
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten())
    frozen_features(make_problem(), network.train())
    assert not network[0].running_mean.any()


def test_bad_input_is_refused():
    rows = MultitaskProblem("rows", {"a": (np.ones((4, 2)), np.arange(4) % 2)}, train_size=2)
    with pytest.raises(ValueError, match=r"X has the shape \(4, 2\): frozen_features wants images"):
        frozen_features(rows, Means())
    with pytest.raises(ValueError, match=r"'toy' have the mean square 0\.0: give a trained network"):
        frozen_features(make_problem(), Means(factor=0.0))
    with pytest.raises(ValueError, match="there are no weights named 'vgg'"):
        frozen_features(make_problem(), "vgg")


def test_missing_torch_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gapmin.deep.weights", None)
    with pytest.raises(ImportError, match=r'PyTorch.*pip install -e "\.\[deep\]"'):
        frozen_features(make_problem(), "resnet18")


@pytest.mark.data
def test_alexnets_convolutions_of_small_images():
    rng = np.random.default_rng(0)
    X = rng.integers(256, size=(8, 3, 128, 128)).astype(np.uint8)
    found = frozen_features(MultitaskProblem("noise", {"a": (X, np.arange(8) % 2)}, train_size=2), "alexnet-features")
    assert found.tasks["a"][0].shape == (8, 2304)


def test_features_of_pacs_are_those_of_its_images(monkeypatch, tmp_path):
    from .test_image_sets import PACS, pack, write_folders

    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    write_folders([tmp_path / "pacs/PACS" / task for task in PACS], size=(64, 64))
    network = Means()
    monkeypatch.setattr(module, "_extractor", lambda name: network)
    from_folder = load_pacs_features(size=64)
    pack(tmp_path / "pacs/PACS", tmp_path / "pacs/pacs-128-q90.tar")
    for packed in (False, True):
        size = 128 if packed else 64
        found = load_pacs_features(size=size)
        n_asked = len(network.asked)
        again = load_pacs_features(size=size)
        assert len(network.asked) == n_asked
        expected = frozen_features(load_pacs(size, splits="random"), "alexnet-features")
        for task in PACS:
            for one, other, third in zip(found.tasks[task], again.tasks[task], expected.tasks[task], strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_array_equal(one, third)
    assert from_folder.name == "pacs, alexnet-features"
