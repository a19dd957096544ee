"""What the sources' own rows say: kinship by hand, what it asks for, and how held-out source rows count."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from gapmin import TransferClassifierCV, TransferRegressorCV
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._candidates import Kit, Learner
from gapmin.selection._choice import TransferVerdict
from gapmin.selection._data import Data
from gapmin.selection._kinship import SourceRows, agreement, kinship, standard_errors_needed
from gapmin.selection._plan import look
from gapmin.selection._search import Search


def draw(turned=(), n_target=20, seed=0):
    """Three sources of 100 rows; those named in `turned` have the opposite of every label."""
    rng = np.random.default_rng(seed)
    domain = np.repeat([-1, 1, 2, 3], [n_target, 100, 100, 100])
    X = rng.normal(size=(domain.size, 4))
    score = X @ [2.0, 1.0, 0.5, 0.0] + 0.3 * rng.normal(size=domain.size)
    return X, np.where(np.isin(domain, turned), -score, score), domain


def test_agreement_is_a_correlation_and_of_classes_their_mean():
    rng = np.random.default_rng(0)
    predicted, y = rng.normal(size=30), rng.normal(size=30)
    assert agreement(predicted, y, None) == pytest.approx(np.corrcoef(predicted, y)[0, 1])
    assert agreement(100 - 7 * y, y, None) == pytest.approx(-1)
    shares, labels, classes = rng.dirichlet([1, 1, 1], size=30), rng.integers(3, size=30), np.arange(3)
    by_hand = np.mean([np.corrcoef(shares[:, k], labels == k)[0, 1] for k in range(3)])
    assert agreement(shares, labels, classes) == pytest.approx(by_hand)


def test_what_does_not_vary_agrees_with_nothing():
    assert agreement(np.ones(4), np.arange(4.0), None) == 0
    assert agreement(np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1, 1]), np.array([0, 1])) == 0


def test_kinship_by_hand():
    # ((0.4 + 0.2)/2 + 0.5)/2 = 0.4, of 0.8.
    assert kinship([0.4, 0.2], [0.5, 0.5], [0.9, 0.7]) == pytest.approx(0.5)
    assert kinship([0.9], [0.9], [0.6]) == 1
    assert kinship([-0.9], [-0.9], [0.6]) == -1


def test_a_source_that_does_not_even_predict_itself_is_nobodys_kin():
    assert kinship([0.5], [0.5], [0.0]) == 0
    assert kinship([0.5], [0.5], [-0.2]) == 0
    assert kinship([0.5], [0.5], [0.15]) == pytest.approx(0.5)


@pytest.mark.parametrize("label", ["random", "constant"])
def test_labels_that_mean_nothing_leave_the_bar_high(label):
    X, score, domain = draw()
    y = score.copy()
    sources = domain > 0
    y[sources] = np.random.default_rng(1).permutation(y[sources]) if label == "random" else 3.0
    model = TransferRegressorCV(Ridge(), n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    assert model.transfer_verdict_.kinship < 0.35
    assert not model.transfer_verdict_.transfers


def test_a_learner_that_learns_nothing_hardly_counts():
    assert kinship([0.4, 0.2, 0.0], [0.5, 0.5, 0.0], [0.9, 0.7, 0.0]) == pytest.approx(0.5)


def test_the_standard_errors_that_are_needed():
    assert standard_errors_needed(1.0, 0.0) == 1
    assert standard_errors_needed(1.0, 1.0) == -2
    assert standard_errors_needed(1.0, -1.0) == 4
    assert standard_errors_needed(2.5, 0.5) == 1
    assert standard_errors_needed(2.5, 0.5, False) == 3
    assert standard_errors_needed(2.5, 0.25, True) == 0.25
    assert standard_errors_needed(1.0, 0.9, True) == -2


def searched(y, X, domain, classes):
    search = Search(Data(X, y, domain, classes), 5, 1, None, 0)
    kit = Kit(classes is None, search.data.sources)
    look(search, kit, [Learner("own", WeightedLogisticRegression())], ["pooling"])
    return search


def test_a_source_with_its_labels_turned_is_told_from_the_others():
    X, score, domain = draw(turned=[2])
    search = searched(np.where(score > 0, "b", "a"), X, domain, np.array(["a", "b"]))
    found = search.source_rows.kinship
    assert found[2] < 0
    assert min(found[1], found[3]) > 0.5
    assert search.source_rows.mean_kinship((1, 2)) == pytest.approx((found[1] + found[2]) / 2)


def test_each_source_is_asked_by_itself():
    """Of two sources that contradict each other, a model of both learns nothing; the one of a kind is still found."""
    X, score, domain = draw(turned=[2])
    kept = domain != 3
    search = searched(np.where(score > 0, "b", "a")[kept], X[kept], domain[kept], np.array(["a", "b"]))
    assert search.source_rows.kinship[1] > 0.7
    assert search.source_rows.kinship[2] < -0.3


def test_few_rows_of_a_source_say_nothing():
    X, score, domain = draw()
    kept = np.r_[:120, 120:125, 220:320]  # five rows of the second source
    search = searched(np.where(score > 0, "b", "a")[kept], X[kept], domain[kept], np.array(["a", "b"]))
    assert search.source_rows.kinship[2] == 0


def test_no_predictions_of_rows_that_trained():
    """A learner that knows its own rows by heart does not agree with a source whose labels mean nothing."""
    from sklearn.neighbors import KNeighborsClassifier

    X, _, domain = draw()
    y = np.random.default_rng(5).integers(2, size=domain.size)
    search = Search(Data(X, y, domain, np.array([0, 1])), 5, 1, None, 0)
    learner = Learner("own", KNeighborsClassifier(1))
    found = search.start(Kit(False, [1, 2, 3]).pooling(learner))
    held = np.concatenate([fold.held for fold in search.folds(0)])
    assert abs(agreement(found[-1].on_sources, y[held], np.array([0, 1]))) < 0.25


def test_how_source_rows_count_by_hand():
    domain = np.array([-1, -1, 1, 1, 1, 2])
    data = Data(np.zeros((6, 1)), np.array([0.0, 1.0, 0.0, 3.0, 6.0, 5.0]), domain, None)
    rows = SourceRows(data, np.array([2, 4, 5]), {1: 0.5, 2: -0.4})
    # Source 1 has variance 6: errors 1 and 2 give 1/6 and 4/6, by half; source 2 does not count; over two target rows.
    assert rows.loss(np.array([1.0, 8.0, 0.0])) == pytest.approx(0.5 * (1 / 6 + 4 / 6) / 2)


def test_a_hundred_target_rows_at_most():
    domain = np.repeat([-1, 1], [10, 400])
    y = np.tile([0.0, 2.0], 205)
    data = Data(np.zeros((410, 1)), y, domain, None)
    rows = SourceRows(data, np.arange(10, 410), {1: 1.0})
    assert rows.loss(y[10:] + 1) == pytest.approx(100 / 10)


def test_the_learner_that_suits_the_sources_is_blended_where_the_target_cannot_tell():
    """Ten rows cannot show an interaction that five hundred do."""
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(510, 6)), np.repeat([-1, 1], [10, 500])
    y = 3 * X[:, 0] * X[:, 1] + 3 * np.abs(X[:, 2]) + X[:, 3]
    model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=domain)
    linear = ["linear (" in each for each in model.cv_results_["candidate"]]
    assert model.transfer_verdict_.transfers
    assert model.cv_results_["weight"][linear].sum() == pytest.approx(0.15)  # the votes that each kind begins with


def test_the_verdict_has_the_kinship_of_one_domain_and_of_the_opposite():
    X, score, domain = draw(n_target=40)
    y, one = np.where(score > 0, "b", "a"), np.where(domain > 0, 1, -1)
    same = TransferClassifierCV(LogisticRegression(), random_state=0).fit(X, y, sample_domain=one).transfer_verdict_
    assert 0.8 < same.kinship <= 1
    turned = np.where((score > 0) ^ (domain > 0), "b", "a")
    other = TransferClassifierCV(LogisticRegression(), random_state=0).fit(X, turned, sample_domain=one)
    assert other.transfer_verdict_.kinship < -0.5
    assert not other.transfer_verdict_.transfers
    assert np.isnan(TransferClassifierCV(LogisticRegression()).fit(X, y).transfer_verdict_.kinship)


@pytest.mark.parametrize(
    ("transfers", "difference", "heard", "said"),
    [
        (False, -0.1, (0.3, 0.9), "left out, although with the best use of them"),
        (
            False,
            -0.1,
            (0.3, 0.9),
            "do better with them by 0.3 standard errors (at least +0.9 was asked at a kinship of 0.90 of 1)",
        ),
        (False, -0.1, (np.nan, np.nan), "that is too little to trust them."),
        (False, 0.1, (-3.0, 1.0), "left out: even with the best use of them"),
        (False, np.nan, (0.3, 0.9), "none of the methods asked for can use them"),
        (
            True,
            0.02,
            (-0.5, -1.7),
            "do worse with them by 0.5 standard errors (at least -1.7 was asked at a kinship of 0.90 of 1)",
        ),
        (True, 0.02, (np.inf, -1.7), "do better with them by 99.0 standard errors"),
        (True, -0.1, (2.0, 0.4), "The sources may help (pooling)"),
        (True, -0.1, (2.0, 0.4), "What counts is that the same learners do better with them by 2.0 standard errors"),
        (True, -0.1, (np.nan, np.nan), "which flatters it."),
    ],
)
def test_the_verdict_says_what_tips_the_balance(transfers, difference, heard, said):
    numbers = dict.fromkeys(("error", "target_only_error", "loss", "target_only_loss", "low", "high", "p_value"), 0.1)
    numbers |= {"n_target": 20, "n_source": 100, "gain": heard[0], "gain_needed": heard[1], "kinship": 0.9}
    assert said in str(TransferVerdict(transfers, "pooling", "...", difference=difference, **numbers))
