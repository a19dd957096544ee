import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapmin.study.curve import curve_sizes, draw_rows, labels_needed
from gapmin.study.result import LabelSaving


@given(st.integers(2, 5000))
def test_sizes_ascend_to_all_rows(n_train):
    sizes = curve_sizes(n_train)
    assert sizes[-1] == n_train
    assert list(sizes) == sorted(set(sizes))
    assert len(sizes) <= 5
    assert sizes[0] >= min(10, n_train)


@settings(deadline=None)
@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4),
    share=st.floats(0.05, 1),
    seed=st.integers(0, 100),
)
def test_drawn_rows_have_two_classes_and_their_shares(counts, share, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    size = max(2, round(share * y.size))
    order = np.random.default_rng(seed).permutation(y.size)
    rows = draw_rows(y, size, order, classes=True)
    assert rows.size == size == np.unique(rows).size
    assert np.unique(y[rows]).size >= 2
    expected = np.array(counts) * size / y.size
    found = np.bincount(y[rows], minlength=len(counts))
    assert np.abs(found - expected).max() <= 2


def test_a_power_law_is_carried_on_exactly():
    sizes = [10, 20, 40, 80]
    alone = [100 * size**-0.5 for size in sizes]
    for wanted in (100, 300, 700):
        found = labels_needed(sizes, alone, 100 * wanted**-0.5, at=80)
        assert found.kind == "extrapolated"
        assert abs(found.n_needed - wanted) <= 1
    assert labels_needed(sizes, alone, 100 * 801**-0.5, at=80) == LabelSaving(80, 800, "beyond")


@settings(deadline=None)
@given(
    alone=st.lists(st.floats(0, 100), min_size=1, max_size=5),
    reached=st.floats(0, 100),
    place=st.integers(0, 4),
)
def test_no_saving_is_negative_and_all_are_capped(alone, reached, place):
    sizes = [10, 20, 40, 80, 160][: len(alone)]
    at = sizes[min(place, len(sizes) - 1)]
    found = labels_needed(sizes, alone, reached, at)
    assert at <= found.n_needed <= 10 * sizes[-1]
    best = min(each for size, each in zip(sizes, alone, strict=True) if size <= at)
    assert (found.kind == "none") == (reached >= best)
    if found.kind == "within":
        assert found.n_needed <= sizes[-1]
    if found.kind == "extrapolated":
        assert found.n_needed > sizes[-1]


def test_between_two_sizes_by_the_log_of_the_rows():
    assert labels_needed([10, 40], [30, 10], 20, at=10) == LabelSaving(10, 20, "within")
    assert labels_needed([10, 40], [30, 10], 5, at=40).kind == "beyond", "two points are no curve"
    assert labels_needed([10, 20, 40], [30, 10, 0], -1, at=40).kind == "beyond"


@pytest.mark.parametrize("reached", [30, 31])
def test_sources_that_gain_nothing_save_nothing(reached):
    assert labels_needed([10, 40], [30, 10], reached, at=10) == LabelSaving(10, 10, "none")
