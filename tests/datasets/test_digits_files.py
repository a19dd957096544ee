import gzip
import struct
import sys

import numpy as np
import pytest
from scipy.io import savemat

from gapmin.datasets._digits_files import _read_idx, read_mnist, read_mnist_m, read_svhn, read_usps

LABELS = np.arange(10, dtype=np.uint8)


def write_idx(path, array, magic=None, sizes=None, cut=0):
    sizes = array.shape if sizes is None else sizes
    magic = 0x0800 + len(sizes) if magic is None else magic
    content = struct.pack(f">{1 + len(sizes)}I", magic, *sizes) + array.tobytes()
    path.write_bytes(gzip.compress(content[: len(content) - cut]))
    return path


def bytes_of(shape, seed=0):
    return np.random.default_rng(seed).integers(256, size=shape).astype(np.uint8)


@pytest.mark.parametrize("shape", [(300,), (3, 28, 28), (2, 3, 4)])
def test_an_idx_file_is_read_as_it_was_written(tmp_path, shape):
    array = bytes_of(shape)
    read = _read_idx(write_idx(tmp_path / "some.gz", array), len(shape))
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"magic": 0x0803}, r"some\.gz starts with 0x0803, not 0x0801"),
        ({"magic": 0x0D01}, r"some\.gz starts with 0x0d01, not 0x0801"),
        ({"cut": 1}, r"some\.gz announces 10 bytes and holds 9"),
        ({"sizes": (9,)}, r"some\.gz announces 9 bytes and holds 10"),
        ({"cut": 14}, r"some\.gz cannot be read"),
    ],
)
def test_an_idx_file_that_says_something_else_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        _read_idx(write_idx(tmp_path / "some.gz", LABELS, **changes), 1)


def test_damaged_gzip_is_refused(tmp_path):
    path = write_idx(tmp_path / "some.gz", bytes_of((50, 28, 28)))
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 0xFF
    for damaged in (b"", b"no gzip at all", content[: len(content) // 2], bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"some\.gz cannot be read \(\w+: .*\): put the published file"):
            _read_idx(path, 3)


def test_mnist_is_read_with_its_labels(tmp_path):
    images = bytes_of((10, 28, 28))
    paths = write_idx(tmp_path / "images.gz", images), write_idx(tmp_path / "labels.gz", LABELS)
    X, y = read_mnist(*paths)
    np.testing.assert_array_equal(X, images)
    np.testing.assert_array_equal(y, LABELS)
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (bytes_of((10, 28, 27)), LABELS, r"images\.gz with labels\.gz holds images of shape \(10, 28, 27\)"),
        (bytes_of((9, 28, 28)), LABELS, r"labels of shape \(10,\)"),
        (bytes_of((10, 28, 28)), LABELS + 1, r"images\.gz with labels\.gz holds the uint8 labels 1, .*, 10: expected"),
        (bytes_of((30, 28, 28)), np.arange(30, dtype=np.uint8), r"labels 0, 1, .*, 11, …: expected integers 0 to 9"),
    ],
)
def test_mnist_with_other_shapes_or_labels_is_refused(tmp_path, images, labels, message):
    paths = write_idx(tmp_path / "images.gz", images), write_idx(tmp_path / "labels.gz", labels)
    with pytest.raises(ValueError, match=message):
        read_mnist(*paths)


def mnist_m_arrays():
    return {
        "train_x": bytes_of((10, 32, 32, 3), 1),
        "train_y": LABELS,
        "test_x": bytes_of((4, 32, 32, 3), 2),
        "test_y": LABELS[:4],
    }


def test_mnist_m_is_read_as_it_was_written(tmp_path):
    arrays = mnist_m_arrays()
    np.savez(tmp_path / "m.npz", **arrays)
    for name, (X, y) in zip(("train", "test"), read_mnist_m(tmp_path / "m.npz"), strict=True):
        np.testing.assert_array_equal(X, arrays[f"{name}_x"])
        np.testing.assert_array_equal(y, arrays[f"{name}_y"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_x": bytes_of((10, 28, 28, 3))}, r"m\.npz holds images of shape \(10, 28, 28, 3\)"),
        ({"train_x": np.zeros((10, 32, 32, 3))}, r"m\.npz holds float64 values in train_x"),
        ({"test_y": np.array([0, 1, 2, 10])}, r"m\.npz holds the int64 labels 0, 1, 2, 10: expected integers 0 to 9"),
        ({"test_y": np.array([0.0, 1, 2, 3])}, r"m\.npz holds the float64 labels"),
        ({"test_y": np.array([0, 1, 2, None])}, r"m\.npz cannot be read \(ValueError: Object arrays"),
    ],
)
def test_mnist_m_with_other_content_is_refused(tmp_path, changes, message):
    np.savez(tmp_path / "m.npz", **{**mnist_m_arrays(), **changes})
    with pytest.raises(ValueError, match=message):
        read_mnist_m(tmp_path / "m.npz")


def test_damaged_mnist_m_is_refused(tmp_path):
    path = tmp_path / "m.npz"
    arrays = mnist_m_arrays()
    np.savez(path, **arrays)
    content = path.read_bytes()
    del arrays["test_x"]
    np.savez(path, **arrays)
    flipped = bytearray(content)
    flipped[5000] ^= 0xFF
    for damaged in (path.read_bytes(), b"", b"nothing of the kind", content[:-100], content[:5000], bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"m\.npz cannot be read"):
            read_mnist_m(path)


def write_usps(path, **changes):
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    content = {
        "train/data": rng.uniform(size=(10, 256)).astype(np.float32),
        "train/target": LABELS.astype(np.int32),
        "test/data": rng.uniform(size=(4, 256)).astype(np.float32),
        "test/target": LABELS[:4].astype(np.int32),
        **changes,
    }
    with h5py.File(path, "w") as file:
        for name, array in content.items():
            if array is not None:
                file[name] = array
    return content


def test_usps_is_read_as_it_was_written(tmp_path):
    content = write_usps(tmp_path / "u.h5")
    for name, (X, y) in zip(("train", "test"), read_usps(tmp_path / "u.h5"), strict=True):
        assert X.dtype == np.float32
        np.testing.assert_array_equal(X.reshape(-1, 256), content[f"{name}/data"])
        assert X.shape[1:] == (16, 16)
        np.testing.assert_array_equal(y, content[f"{name}/target"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test/target": None}, r"u\.h5 cannot be read \(KeyError"),
        ({"train/data": np.zeros((10, 255))}, r"u\.h5 holds images of shape \(10, 255\)"),
        ({"train/target": np.arange(1, 11)}, r"u\.h5 holds the int64 labels 1, .*, 10"),
        ({"train/data": np.full((10, 256), 2.0)}, r"u\.h5 holds values from 2\.0 to 2\.0: expected 0 to 1"),
        ({"test/data": np.full((4, 256), np.nan)}, r"u\.h5 holds values from nan to nan"),
    ],
)
def test_usps_with_other_content_is_refused(tmp_path, changes, message):
    write_usps(tmp_path / "u.h5", **changes)
    with pytest.raises(ValueError, match=message):
        read_usps(tmp_path / "u.h5")


def test_damaged_usps_is_refused(tmp_path):
    path = tmp_path / "u.h5"
    write_usps(path)
    content = path.read_bytes()
    for damaged in (b"", b"nothing of the kind", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"u\.h5 cannot be read"):
            read_usps(path)


def test_missing_h5py_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r'u\.h5 .* h5py.*pip install -e "\.\[data\]"'):
        read_usps(tmp_path / "u.h5")


def write_svhn(path, images, digits, **changes):
    """As published: images along the last axis, and digits in a column of bytes, 10 for a 0."""
    labels = np.where(digits == 0, 10, digits).astype(np.uint8)[:, np.newaxis]
    savemat(path, {"X": np.moveaxis(images, 0, -1), "y": labels, **changes}, do_compression=True)


def test_svhn_is_read_as_it_was_written(tmp_path):
    images = bytes_of((10, 32, 32, 3))
    write_svhn(tmp_path / "s.mat", images, LABELS)
    X, y = read_svhn(tmp_path / "s.mat")
    np.testing.assert_array_equal(X, images)
    np.testing.assert_array_equal(y, LABELS)
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": bytes_of((32, 32, 3, 9))}, r"s\.mat holds uint8 values of shape \(32, 32, 3, 9\) in X and labels of"),
        ({"X": bytes_of((28, 28, 3, 10))}, r"s\.mat holds images of shape \(10, 28, 28, 3\)"),
        ({"X": np.zeros((32, 32, 3, 10))}, r"s\.mat holds float64 values"),
        ({"X": bytes_of((10, 3072))}, r"s\.mat holds uint8 values of shape \(10, 3072\)"),
        ({"y": LABELS[:, np.newaxis]}, r"s\.mat holds the \w+ labels 1, 2, 3, 4, 5, 6, 7, 8, 9, 10: expected"),
        ({"y": LABELS[:, np.newaxis] + 2}, r"s\.mat holds the \w+ labels .*11: expected integers 0 to 9"),
    ],
)
def test_svhn_with_other_content_is_refused(tmp_path, changes, message):
    write_svhn(tmp_path / "s.mat", bytes_of((10, 32, 32, 3)), LABELS, **changes)
    with pytest.raises(ValueError, match=message):
        read_svhn(tmp_path / "s.mat")


def test_damaged_svhn_is_refused(tmp_path):
    path = tmp_path / "s.mat"
    write_svhn(path, bytes_of((10, 32, 32, 3)), LABELS)
    content = path.read_bytes()
    savemat(path, {"X": bytes_of((32, 32, 3, 10))})
    for damaged in (path.read_bytes(), b"", b"nothing of the kind" * 20, content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"s\.mat cannot be read"):
            read_svhn(path)
