"""Rows and where they come from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gapmin import TargetKFold, TargetShuffleSplit, split_domains, stack_domains
from gapmin.domains import check_domains

XT, YT = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(["a", "b"])
XS, YS = np.array([[5.0, 6.0]]), np.array(["b"])


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        sp.csr_array,
        lambda X: pytest.importorskip("pandas").DataFrame(X, columns=["u", "v"]),
        lambda X: pytest.importorskip("polars").DataFrame({"u": X[:, 0], "v": X[:, 1]}),
    ],
    ids=["array", "sparse", "pandas", "polars"],
)
def test_stack_and_split_are_inverse(convert):
    X, y, sample_domain = stack_domains(
        target=(convert(XT), YT), sources={"old": (convert(XS), YS), "older": (convert(XS), YS)}
    )
    assert type(X) is type(convert(XT))
    assert sample_domain.tolist() == [-1, -1, 1, 2]
    assert y.tolist() == ["a", "b", "b", "b"]
    (X_target, y_target), sources = split_domains(X, y, sample_domain)
    assert type(X_target) is type(convert(XT))

    def dense(part):
        return part.toarray() if sp.issparse(part) else np.asarray(part)

    np.testing.assert_array_equal(dense(X_target), XT)
    np.testing.assert_array_equal(y_target, YT)
    assert sorted(sources) == [1, 2]
    np.testing.assert_array_equal(dense(sources[2][0]), XS)


def test_sparse_and_dense_stack_to_sparse():
    X, _, _ = stack_domains(target=(XT, YT), sources=[(sp.csr_array(XS), YS)])
    np.testing.assert_array_equal(X.toarray(), np.r_[XT, XS])


def test_no_source_is_a_target_alone():
    _, _, sample_domain = stack_domains(target=(XT, YT), sources=[])
    assert sample_domain.tolist() == [-1, -1]
    assert check_domains(None, 3).tolist() == [-1, -1, -1]
    assert check_domains(np.array([[1.0], [-2.0]]), 2).tolist() == [1, -2]


@pytest.mark.parametrize(
    ("target", "sources", "message"),
    [
        ((XT, YT[:1]), [(XS, YS)], "the target has 2 rows in X but 1 labels"),
        ((XT, YT), [(XS, YT)], "the source 1 has 1 rows in X but 2 labels"),
        ((XT[:0], YT[:0]), [(XS, YS)], "the target has no rows"),
        ((XT, YT), [(XS[:, :1], YS)], r"the source 1 has rows of shape \(1,\), the target \(2,\)"),
        ((XT, YT), [XS], "the source 1 is ndarray, not a pair"),
    ],
)
def test_stacking_what_does_not_fit(target, sources, message):
    with pytest.raises(ValueError, match=message):
        stack_domains(target=target, sources=sources)


def test_stacking_frames_that_do_not_fit():
    pd = pytest.importorskip("pandas")
    target = pd.DataFrame(XT), YT
    with pytest.raises(ValueError, match="the source 1 is no data frame"):
        stack_domains(target=target, sources=[(XS, YS)])
    with pytest.raises(ValueError, match=r"columns \[1, 0\], the target \[0, 1\]"):
        stack_domains(target=target, sources=[(pd.DataFrame(XS)[[1, 0]], YS)])


def test_splitting_what_does_not_fit():
    with pytest.raises(ValueError, match="y has 1 labels for 2 rows"):
        split_domains(XT, YS, [-1, 1])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n_splits=st.integers(2, 5), shuffle=st.booleans(), stratify=st.booleans())
def test_folds_cover_the_target_once_and_train_on_every_source_row(seed, n_splits, shuffle, stratify):
    rng = np.random.default_rng(seed)
    sample_domain = rng.choice([-2, -1, 1, 3], size=60)
    y = rng.integers(3, size=60)
    cv = TargetKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None, stratify=stratify)
    target, source = np.flatnonzero(sample_domain < 0), np.flatnonzero(sample_domain > 0)
    tested = []
    for train, test in cv.split(np.zeros((60, 1)), y, groups=sample_domain):
        assert set(source) <= set(train)
        assert not set(train) & set(test)
        assert set(train) | set(test) == set(range(60))
        tested.extend(test)
    assert sorted(tested) == target.tolist()
    assert cv.get_n_splits() == n_splits


def test_discrete_labels_are_stratified_and_continuous_ones_are_not():
    y = np.r_[np.zeros(40), np.ones(10)].astype(int)
    for _, test in TargetKFold(5).split(np.zeros((50, 1)), y):
        assert y[test].sum() == 2
    for train, test in TargetShuffleSplit(3, train_size=0.2, random_state=0).split(np.zeros((50, 1)), y):
        assert (y[train].sum(), y[test].sum()) == (2, 8)
    unstratified = [y[test].sum() for _, test in TargetKFold(5, stratify=False).split(np.zeros((50, 1)), y)]
    assert unstratified == [0, 0, 0, 0, 10]
    for _, test in TargetKFold(5).split(np.zeros((50, 1)), y + np.linspace(0, 0.5, 50)):
        assert test.size == 10


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rare", [2, 3, 4])
def test_a_class_with_fewer_rows_than_folds_is_spread(rare):
    y = np.r_[np.zeros(20 - rare), np.ones(rare)].astype(int)
    tested = [int(y[test].sum()) for _, test in TargetKFold(5).split(np.zeros((20, 1)), y)]
    assert sorted(tested) == [0] * (5 - rare) + [1] * rare


def test_object_columns_of_integers_are_integers():
    assert check_domains(np.array([1, -1], dtype=object), 2).tolist() == [1, -1]
    assert check_domains(pytest.importorskip("pandas").Series([1, -1]), 2).tolist() == [1, -1]


def test_categories_that_differ_are_united():
    pd = pytest.importorskip("pandas")
    target = pd.DataFrame({"c": pd.Categorical(["p", "q"])})
    source = pd.DataFrame({"c": pd.Categorical(["p", "r"])})
    X, _, _ = stack_domains(target=(target, [0, 1]), sources=[(source, [0, 1])])
    assert X["c"].dtype == pd.CategoricalDtype(["p", "q", "r"])
    assert X["c"].tolist() == ["p", "q", "p", "r"]
    assert target["c"].dtype == pd.CategoricalDtype(["p", "q"])


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(TargetKFold(2).split(np.zeros((4, 1)), [0, 1], groups=[-1, -1, -1, -1]))


@pytest.mark.filterwarnings("error")
def test_rare_classes_are_no_obstacle():
    y = np.r_[np.zeros(20), np.ones(20), [2], [3]].astype(int)
    for _, test in TargetKFold(5).split(np.zeros((42, 1)), y):
        assert (y[test] == 0).sum() == 4 or (y[test] == 1).sum() == 4
    assert len(list(TargetShuffleSplit(4, random_state=0).split(np.zeros((42, 1)), y))) == 4
    assert len(list(TargetKFold(3).split(np.zeros((9, 1)), np.arange(9)))) == 3


def test_shuffle_split_counts_target_rows_and_repeats():
    sample_domain = np.r_[np.full(100, 1), np.full(20, -1)]
    cv = TargetShuffleSplit(3, train_size=5, random_state=1)
    y = np.arange(120) % 2
    once = list(cv.split(np.zeros((120, 1)), y, groups=sample_domain))
    again = list(cv.split(np.zeros((120, 1)), y, groups=sample_domain))
    for (train, test), (train2, test2) in zip(once, again, strict=True):
        assert (train.size, test.size) == (105, 15)
        np.testing.assert_array_equal(train, train2)
        np.testing.assert_array_equal(test, test2)
    assert not np.array_equal(once[0][1], once[1][1])
    assert cv.get_n_splits() == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TargetKFold(1), "n_splits is 1: use an integer of at least 2"),
        (lambda: TargetKFold(2.5), "n_splits is 2.5"),
        (lambda: list(TargetKFold(2, stratify="maybe").split(XT, YT)), "stratify is 'maybe'"),
        (lambda: list(TargetKFold(2, stratify=True).split(XT)), "stratify=True needs y"),
        (lambda: list(TargetKFold(2, stratify=True).split(XT, [0.5, 1.5])), "continuous labels"),
        (lambda: list(TargetKFold(2).split(XT, YT, groups=[1, 1])), "no target rows"),
    ],
)
def test_bad_splitters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_repr_names_the_parameters():
    assert repr(TargetKFold(3)) == "TargetKFold(n_splits=3, random_state=None, shuffle=False, stratify='auto')"
