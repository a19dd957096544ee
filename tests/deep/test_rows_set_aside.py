import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapmin.deep._inputs import set_aside


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.floats(0.01, 0.9), st.integers(0, 99))
def test_the_share_is_met_and_every_class_keeps_a_row(sizes, share, seed):
    if max(sizes) < 2:
        return
    y = np.repeat(np.arange(len(sizes)), sizes)
    (left,), (aside,) = set_aside([np.arange(y.size)], y, share, seed)
    assert sorted([*left, *aside]) == list(range(y.size))
    assert set(y[left]) == set(range(len(sizes)))
    wanted = max(round(share * y.size), 1)
    room = sum(size - 1 for size in sizes)
    assert 1 <= aside.size <= max(wanted, 1)
    if share <= 0.4 and min(sizes) >= 3:
        assert aside.size == min(wanted, room)
    for c, size in enumerate(sizes):
        assert (y[aside] == c).sum() <= share * size + 1


@pytest.mark.parametrize(
    ("n_classes", "rows", "share", "taken"), [(200, 5, 0.1, 100), (200, 5, 0.3, 300), (65, 4, 0.1, 26)]
)
def test_many_classes_of_few_rows(n_classes, rows, share, taken):
    y = np.repeat(np.arange(n_classes), rows)
    _, (aside,) = set_aside([np.arange(y.size)], y, share, seed=0)
    assert aside.size == taken


def test_the_task_is_named_where_nothing_can_be_set_aside():
    with pytest.raises(ValueError, match="task 'tiny' has 2 rows, one of each class"):
        set_aside([np.arange(2)], np.array([0, 1]), 0.5, 0, ["tiny"])
    with pytest.raises(ValueError, match="task 'tiny' has 1 row, one of each class"):
        set_aside([np.arange(1)], np.array([0]), 0.5, 0, ["tiny"])
