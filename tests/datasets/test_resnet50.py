"""Features of a ResNet-50 from a file: the right rows, scaled, and what is refused."""

import numpy as np
import pytest

from gapmin.datasets import load_resnet50_features

DOMAINS = ("amazon", "caltech10", "dslr", "webcam")


@pytest.fixture
def path(monkeypatch, tmp_path):
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    (tmp_path / "office_caltech10").mkdir()
    return tmp_path / "office_caltech10/resnet50_features.npz"


def write(path, n_features=2048, domains=DOMAINS):
    rng = np.random.default_rng(0)
    domain = np.repeat(domains, 20)
    features = rng.random((domain.size, n_features)).astype(np.float16)
    np.savez(path, features=features, domain=domain, label=np.tile(["bike", "mug"], domain.size // 2), path=domain)
    return features, domain


def test_the_tasks_are_those_of_office_31_with_features_of_mean_square_one(path):
    features, domain = write(path)
    problem = load_resnet50_features("office")
    assert list(problem.tasks) == ["amazon", "dslr", "webcam"]
    X = np.concatenate([X for X, _ in problem.tasks.values()])
    assert X.dtype == np.float32
    assert np.mean(np.square(X, dtype=float)) == pytest.approx(1, rel=1e-5)
    own = features[domain == "dslr"].astype(float)
    ratio = problem.tasks["dslr"][0] / own
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-5)
    assert problem.tasks["dslr"][1].tolist() == ["bike", "mug"] * 10
    assert not problem.every_class  # a few percent of DSLR cannot hold ten classes


def test_a_file_of_something_else_is_refused(path):
    with pytest.raises(FileNotFoundError, match=r"resnet50_features\.npz is not"):
        load_resnet50_features("office")
    write(path, n_features=512)
    with pytest.raises(ValueError, match=r"shape \(80, 512\).*expected 2048 features"):
        load_resnet50_features("office")
    write(path, domains=DOMAINS[:2])
    with pytest.raises(ValueError, match="domains amazon, caltech10: expected"):
        load_resnet50_features("office")
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"resnet50_features\.npz cannot be read"):
        load_resnet50_features("office")


def test_an_array_of_objects_is_not_read(path):
    np.savez(path, features=np.array([{}], dtype=object), domain=["a"], label=["b"])
    with pytest.raises(ValueError, match="cannot be read"):
        load_resnet50_features("office")
