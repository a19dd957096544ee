"""Whether a source's columns are the target's: what is told without labels, and what follows from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler, scale

from gapmin import TransferRegressorCV
from gapmin.selection._candidates import Kit, Learner
from gapmin.selection._data import Data
from gapmin.selection._kinship import credit, together
from gapmin.selection._plan import look
from gapmin.selection._search import Search
from gapmin.transfer import _columns
from gapmin.transfer._columns import is_match, likeness

N_TARGET, N_SOURCE = 20, 150
TARGET, SOURCE = np.split(np.arange(N_TARGET + N_SOURCE), [N_TARGET])
LOWEST = 1 - 4 * 0.5**0.5  # standard errors that are asked of a source that is close, with twenty target rows


def correlated(seed, n_columns=12):
    """Rows with means of 0 and variances of 1, whose columns go together in their own ways."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_columns, n_columns)) ** 3
    X = rng.normal(size=(N_TARGET + N_SOURCE, n_columns)) @ mixing
    return (X - X.mean(axis=0)) / X.std(axis=0)


def in_other_order(X, seed):
    X = X.copy()
    X[SOURCE] = X[SOURCE][:, np.random.default_rng(seed).permutation(X.shape[1])]
    return X


def columns_match(X, target, source, seed):
    return is_match(likeness(X, target, source, seed))


def answers(make, n=40):
    return [columns_match(make(seed), TARGET, SOURCE, seed) for seed in range(n)]


def test_correlations_tell_the_order_of_columns_with_equal_means_and_variances():
    assert np.mean([each is True for each in answers(correlated)]) >= 0.9
    other = answers(lambda seed: in_other_order(correlated(seed), seed))
    assert np.mean([each is False for each in other]) >= 0.8
    assert np.mean([each is True for each in other]) <= 0.1


@pytest.mark.slow
def test_means_tell_it_too():
    def make(seed):
        return np.random.default_rng(seed).normal(size=(N_TARGET + N_SOURCE, 7)) + np.arange(7)

    assert answers(make) == [True] * 40
    assert np.mean([each is False for each in answers(lambda seed: in_other_order(make(seed), seed))]) >= 0.9
    turned = answers(lambda seed: np.vstack([make(seed)[TARGET], make(seed)[SOURCE, ::-1]]))
    assert np.mean([each is False for each in turned]) >= 0.9


def test_after_principal_components_of_both_together_the_correlations_are_opposite_and_the_columns_match():
    def make(seed):
        X = correlated(seed)
        X[TARGET] *= np.linspace(0.2, 3, X.shape[1])
        return PCA(whiten=True).fit_transform(X)

    assert np.mean([each is True for each in answers(make)]) >= 0.9
    assert np.mean([each is True for each in answers(lambda seed: in_other_order(make(seed), seed))]) <= 0.1


def test_columns_with_nothing_of_their_own_tell_nothing():
    found = answers(lambda seed: np.random.default_rng(seed).normal(size=(N_TARGET + N_SOURCE, 8)))
    assert np.mean([each is None for each in found]) >= 0.8


@pytest.mark.parametrize(("p_value", "said"), [(0.01, True), (0.011, None), (0.05, None)])
def test_the_target_must_show_the_order_surely_for_columns_to_match(monkeypatch, p_value, said):
    monkeypatch.setattr(_columns, "_by_chance", lambda *given: (p_value, 1.0))
    assert columns_match(correlated(0), TARGET, SOURCE, 0) is said


@pytest.mark.parametrize(("n_shown", "said"), [(20, False), (18, False), (17, None), (9, None), (0, None)])
def test_the_more_draws_of_the_source_show_its_order_the_more_it_counts_to_miss_it(monkeypatch, n_shown, said):
    asked = iter([0.06, *[0.05] * n_shown, *[0.06] * (20 - n_shown)])
    monkeypatch.setattr(_columns, "_by_chance", lambda *given: (1.0, next(asked)))
    found = likeness(correlated(0), TARGET, SOURCE, 0)
    assert found == -n_shown / 20
    assert is_match(found) is said
    assert next(asked, None) is None


@pytest.mark.slow
def test_source_rows_beyond_the_first_hundred_tell_more():
    """Of columns that hardly go together: of a hundred rows 35% of these sources match, and half show their order."""
    rows = np.arange(N_TARGET + 600)
    same, other = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = 0.2 * rng.normal(size=(rows.size, 3)) @ rng.normal(size=(3, 30))
        X = scale(X + rng.normal(size=(rows.size, 30)))
        same.append(likeness(X, rows[:N_TARGET], rows[N_TARGET:], seed))
        X[N_TARGET:] = X[N_TARGET:, rng.permutation(30)]
        other.append(likeness(X, rows[:N_TARGET], rows[N_TARGET:], seed))
    assert np.mean(np.array(same) == 1) > 0.55
    assert np.mean(other) < -0.65


@pytest.mark.parametrize(
    "X", [correlated(0)[:, :4], np.ones((170, 9)), np.full((170, 9), "a"), np.full((170, 9), None)]
)
def test_there_is_no_telling_of_few_columns_constants_or_words(X):
    assert columns_match(X, TARGET, SOURCE, 0) is None


def test_there_is_no_telling_of_few_source_rows():
    assert columns_match(correlated(0), TARGET, SOURCE[:9], 0) is None


def test_sparse_rows_frames_gaps_and_units_do_not_matter():
    pd = pytest.importorskip("pandas")
    X = correlated(3) + np.arange(12)
    turned = in_other_order(X, 3)
    for table, said in ((X, True), (turned, False)):
        gaps = np.where(np.random.default_rng(0).random(table.shape) < 0.05, np.nan, table)
        mostly = np.column_stack([table, np.where(np.arange(170) % 3, np.nan, 1.0)])
        huge = table / np.abs(table).max() * 1.7e308
        frame = pd.DataFrame(table).assign(word="a", when=pd.Timestamp("2020-01-01"))
        for each in (table, sp.csr_array(table), table.astype(np.float32), gaps, mostly, frame, huge):
            assert columns_match(each, TARGET, SOURCE, 0) is said


def test_one_column_without_numbers_does_not_hide_the_others():
    pd = pytest.importorskip("pandas")
    X = correlated(3) + np.arange(12)
    frame = pd.DataFrame(X)
    odd = {
        "missing": pd.array([None, *range(169)], dtype="Int64"),
        "maybe": pd.array([None, *[True] * 169], dtype="boolean"),
        "span": pd.to_timedelta(np.arange(170), unit="D"),
        "word": ["a"] * 170,
    }
    for name, column in odd.items():
        assert columns_match(frame.assign(**{name: column}), TARGET, SOURCE, 0) is True
        assert columns_match(np.asarray(frame.assign(word="a"), dtype=object), TARGET, SOURCE, 0) is True


def shifted(seed, scaled_by_target):
    """The same columns with other means in the source, with nothing else of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TARGET + N_SOURCE, 10))
    X[SOURCE] += 0.5 * rng.normal(size=10)
    return StandardScaler().fit(X[TARGET]).transform(X) if scaled_by_target else X


@pytest.mark.slow
@pytest.mark.parametrize("scaled_by_target", [False, True])
def test_means_that_are_shifted_do_not_count_where_the_target_has_no_order_of_its_own(scaled_by_target):
    found = [likeness(shifted(seed, scaled_by_target), TARGET, SOURCE, seed) for seed in range(40)]
    assert np.mean(np.array(found) < -0.1) <= 0.05


@pytest.mark.slow
def test_nothing_more_is_asked_of_an_honest_source_with_shifted_means():
    for seed in range(4):
        X = shifted(seed, scaled_by_target=True)
        rng = np.random.default_rng(seed)
        y = X @ rng.normal(size=10) + rng.normal(size=len(X))
        domain = np.repeat([-1, 1], [N_TARGET, N_SOURCE])
        found = TransferRegressorCV(Ridge(), n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
        assert found.transfer_verdict_.gain_needed == pytest.approx(LOWEST)
        assert found.transfer_verdict_.transfers


@pytest.mark.slow
@pytest.mark.parametrize("levels", [0, 3])
def test_honest_sources_are_seldom_said_to_have_other_columns(levels):
    """Also where their columns have little that is their own: a few related ones, from the levels of a category."""

    def make(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N_TARGET + N_SOURCE, 8))
        return np.hstack([X, np.eye(levels)[rng.integers(levels, size=len(X))]]) if levels else X

    found = np.array([likeness(make(seed), TARGET, SOURCE, seed) for seed in range(100)])
    assert np.mean(found <= -0.9) <= 0.03
    assert np.mean(np.clip((-found - 0.1) / 0.4, 0, 1)) <= 0.15  # of what the worst is charged


@pytest.mark.slow
def test_columns_are_not_compared_where_that_is_not_wanted():
    X = in_other_order(correlated(0), 0)
    y, domain = X[:, 0], np.repeat([-1, 1], [N_TARGET, N_SOURCE])
    model = TransferRegressorCV(Ridge(), check_columns=False, random_state=0).fit(X, y, sample_domain=domain)
    verdict = model.transfer_verdict_
    assert verdict.columns_match is None
    assert verdict.other_columns == ()
    assert verdict.gain_needed == pytest.approx(LOWEST)


def test_columns_that_match_lower_what_is_asked_of_a_stranger():
    """Another label of the same columns: it makes sense, but says nothing of the target's."""
    X = correlated(0)
    y = X[:, :3].sum(axis=1) + 0.1 * np.random.default_rng(0).normal(size=len(X))
    y[SOURCE] = X[SOURCE] @ np.r_[np.full(3, 0.8), np.zeros(5), np.ones(4)]
    domain = np.repeat([-1, 1], [N_TARGET, N_SOURCE])
    asked = {
        check: TransferRegressorCV(Ridge(), check_columns=check, n_repeats=1, random_state=0)
        .fit(X, y, sample_domain=domain)
        .transfer_verdict_
        for check in (True, False)
    }
    kin = asked[False].kinship
    assert -0.2 < kin < 0.13
    assert asked[False].gain_needed == pytest.approx(1 - 10 * kin)
    assert asked[True].columns_match is True
    assert asked[True].gain_needed == pytest.approx(max(1 - 3 * min(1 + kin / 0.2, 1) - 10 * kin, LOWEST))


@pytest.mark.slow
def test_of_several_sources_the_one_with_other_columns_is_named_and_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(625, 8)) + np.arange(8)
    y = X[:, 0] + X[:, 1] - X[:, 4] + 0.3 * rng.normal(size=625)
    domain = np.repeat([-1, 1, 2], [25, 300, 300])
    X[domain == 2] = X[domain == 2][:, [3, 6, 5, 0, 1, 7, 2, 4]]
    model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=domain)
    assert model.transfer_verdict_.other_columns == (2,)
    assert model.transfer_verdict_.left_out == (2,)
    assert "Left out: source 2. The columns of source 2 do not" in str(model.transfer_verdict_)
    assert "Left out: old. The columns of old do not" in model.transfer_verdict_.in_words({1: "new", 2: "old"})
    both = replace(model.transfer_verdict_, left_out=(1, 2), other_columns=())
    assert str(both).endswith("Left out: sources 1 and 2.")
    assert both.to_dict({1: "new"})["sentence"].endswith("Left out: new and source 2.")
    assert model.transfer_verdict_.columns_match is True
    assert model.domain_weight_[1] > 0.3
    assert model.domain_weight_[2] == 0


def test_five_columns_can_surely_match():
    """Of 120 orders the right one is drawn now and then: it is no other."""

    def make(seed):
        return 0.1 * np.random.default_rng(seed).normal(size=(N_TARGET + N_SOURCE, 5)) + np.arange(5)

    assert answers(make, 20) == [True] * 20


def test_many_columns_are_sampled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(170, 3)) @ rng.normal(size=(3, 5000)) + rng.normal(size=(170, 5000))
    assert columns_match(X, TARGET, SOURCE, 0) is True
    assert columns_match(in_other_order(X, 1), TARGET, SOURCE, 0) is False


def fitted(X, n_standard_errors=1.0):
    rng = np.random.default_rng(0)
    y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=len(X))
    domain = np.repeat([-1, 1], [N_TARGET, N_SOURCE])
    model = TransferRegressorCV(Ridge(), n_standard_errors=n_standard_errors, random_state=0)
    return model.fit(X, y, sample_domain=domain).transfer_verdict_


@pytest.mark.slow
def test_more_is_asked_of_a_source_with_other_columns_and_less_of_one_with_the_same_and_the_verdict_says_so():
    X = correlated(0)
    same, other = fitted(X), fitted(in_other_order(X, 0))
    assert same.columns_match is True
    assert same.gain_needed == pytest.approx(LOWEST)
    assert other.columns_match is False
    assert other.column_likeness == -1
    assert other.gain_needed == pytest.approx(1 + 10 * 0.5**0.5 - 10 * other.kinship)
    assert other.gain_needed > same.gain_needed
    assert other.other_columns == (1,)
    assert str(other).endswith("The columns of source 1 do not look like the target's: do they mean the same in both?")
    assert same.other_columns == ()
    assert "of 1 and with columns that match)" in str(same)
    assert "of 1 and a likeness of columns of -0.55)" in str(replace(same, column_likeness=-0.55))
    assert "columns" not in str(replace(same, column_likeness=0.0))


def test_columns_that_match_speak_for_no_source_whose_labels_make_no_sense():
    X = correlated(0)
    rng = np.random.default_rng(0)
    y = X[:, :3].sum(axis=1)
    y[SOURCE] = rng.permutation(y[SOURCE])
    domain = np.repeat([-1, 1], [N_TARGET, N_SOURCE])
    found = TransferRegressorCV(Ridge(), random_state=0).fit(X, y, sample_domain=domain).transfer_verdict_
    assert found.columns_match is True
    assert found.gain_needed > 0
    assert not found.transfers


@pytest.mark.parametrize(
    ("found", "likeness"), [((1.0, 1.0), 1.0), ((1.0, 0.0), 0.0), ((-0.5, 1.0), -0.5), ((0.0, -0.9), -0.9)]
)
def test_of_several_sources_the_worst_answer_counts(monkeypatch, found, likeness):
    X = correlated(0)
    search = Search(Data(X, X[:, 0], np.repeat([-1, 1, 2], [20, 75, 75]), None), 5, 1, None, 0)
    monkeypatch.setattr(search, "_compare_columns", lambda number: found[number - 1])
    look(search, Kit(True, [1, 2]), [Learner("own", Ridge())], ["pooling"])
    heard = search.testimony(1.0).heard[1, 2]
    kin = together(list(search.source_rows.kinship.values()), one_by_one=True)
    assert heard.column_likeness == likeness
    assert heard.support == pytest.approx(heard.gain + credit(kin, likeness, 20) - 1)
    assert search.other_columns == tuple(number for number in (1, 2) if found[number - 1] <= -0.9)
