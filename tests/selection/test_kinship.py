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
from gapmin.selection._kinship import (
    UNKNOWN,
    Kinship,
    SourceRows,
    agreement,
    credit,
    kinship,
    standard_errors_needed,
    together,
)
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


def test_classes_that_none_or_all_of_the_rows_are_do_not_count():
    shares, labels = np.eye(3)[[0, 1, 0, 1]], np.array([0, 1, 0, 1])
    assert agreement(shares, labels, np.arange(3)) == 1
    assert agreement(shares[:, ::-1], labels, np.arange(3)) == pytest.approx(0.5)  # of two that count one is missed


@pytest.mark.parametrize("value", [0.1, 0.3, 2.2, 123.45, -1.7, 1e-300])
def test_equal_values_agree_with_nothing_whatever_their_mean_rounds_to(value):
    for n in range(2, 40):
        assert agreement(np.full(n, value), np.full(n, value), None) == 0
        assert agreement(np.arange(float(n)), np.full(n, value), None) == 0
    nearly = np.full(30, value) * (1 + 1e-16 * np.arange(30))
    assert agreement(nearly, np.arange(30.0), None) == 0


def test_what_does_not_vary_agrees_with_nothing():
    assert agreement(np.ones(4), np.arange(4.0), None) == 0
    assert agreement(np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1, 1]), np.array([0, 1])) == 0


def test_kinship_by_hand():
    # (0.5 + 0.3)/2 = 0.4, of 0.8.
    assert kinship([0.5, 0.3], [0.9, 0.7]) == pytest.approx((0.5, 1))
    assert kinship([0.9], [0.6]) == (1, 1)
    assert kinship([-0.9], [0.6]) == (-1, 1)


def test_a_source_that_does_not_even_predict_itself_is_nobodys_kin():
    assert kinship([0.5], [0.0]) == (0, 0)
    assert kinship([0.5], [-0.2]) == (0, 0)
    assert kinship([0.5], [0.15]) == pytest.approx((0.5, 0.5))
    assert kinship([0.06], [0.15]) == pytest.approx((0.2, 0.5))


@pytest.mark.parametrize("label", ["random", 3.0, 0.1])
def test_labels_that_mean_nothing_leave_the_bar_high(label):
    X, score, domain = draw()
    y = score.copy()
    sources = domain > 0
    y[sources] = np.random.default_rng(1).permutation(y[sources]) if label == "random" else label
    model = TransferRegressorCV(Ridge(), n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    assert model.transfer_verdict_.gain_needed > 0
    assert not model.transfer_verdict_.transfers


def test_a_learner_that_learns_nothing_hardly_counts():
    assert kinship([0.5, 0.3, 0.0], [0.9, 0.7, 0.0]).closeness == pytest.approx(0.5)


def test_the_standard_errors_that_are_needed():
    def needed(wanted, kin, likeness=0.0, n_target=10):
        return standard_errors_needed(wanted, credit(kin, likeness, n_target), n_target)

    assert needed(1.0, UNKNOWN) == 1
    assert needed(1.0, UNKNOWN, 1.0) == 1
    assert needed(1.0, UNKNOWN, -1.0) == 11
    assert needed(1.0, UNKNOWN, -0.5) == 11
    assert needed(1.0, UNKNOWN, -0.3) == pytest.approx(6)
    assert needed(1.0, UNKNOWN, -0.1) == 1
    assert needed(1.0, Kinship(1.0, 1.0)) == -3
    assert needed(1.0, Kinship(-1.0, 1.0)) == 11
    assert needed(2.5, Kinship(0.3, 1.0)) == -0.5
    assert needed(2.5, Kinship(0.5, 1.0), -1.0) == 7.5
    assert needed(2.5, Kinship(0.0, 1.0), 1.0) == -0.5
    assert needed(2.5, Kinship(0.0, 0.5), 1.0) == 1
    assert needed(1.0, Kinship(-0.1, 1.0), 1.0) == pytest.approx(1 - 1.5 + 1)
    assert needed(1.0, Kinship(-0.5, 1.0), 1.0) == 6
    assert needed(1.0, Kinship(0.9, 1.0), 1.0) == -3
    assert credit(Kinship(0.1, 1.0), 1.0, 10) == pytest.approx(4)
    assert credit(Kinship(0.6, 1.0), 1.0, 10) == credit(Kinship(1.0, 1.0), 0.0, 10) == 9  # not more than nine
    # Of forty target rows half as much can be made up for as of ten, and never less; what is asked on top stays.
    assert [needed(1.0, Kinship(0.9, 1.0), 1.0, n) for n in (4, 25, 40, 1000)] == pytest.approx(
        [-3, 1 - 4 * 0.4**0.5, -1, -1]
    )
    assert needed(1.0, Kinship(-1.0, 1.0), 0.0, 1000) == 11
    assert [needed(1.0, UNKNOWN, -1.0, n) for n in (4, 25, 40, 1000)] == pytest.approx([11, 1 + 10 * 0.4**0.5, 6, 6])


def searched(y, X, domain, classes):
    search = Search(Data(X, y, domain, classes), 5, 1, None, 0)
    kit = Kit(classes is None, search.data.sources)
    look(search, kit, [Learner("own", WeightedLogisticRegression())], ["pooling"])
    return search


def test_a_source_with_its_labels_turned_is_told_from_the_others():
    X, score, domain = draw(turned=[2])
    search = searched(np.where(score > 0, "b", "a"), X, domain, np.array(["a", "b"]))
    found = search.source_rows.kinship
    assert found[2].closeness < 0
    assert min(found[1].closeness, found[3].closeness) > 0.5
    assert found[2].sense == 1  # of its own rows it knows as much as the others


def test_of_several_sources_the_least_where_each_was_asked_by_itself():
    found = [Kinship(0.5, 0.4), Kinship(-0.1, 1.0)]
    assert together(found, one_by_one=True) == (-0.1, 0.4)
    assert together(found, one_by_one=False) == pytest.approx((0.2, 0.7))
    assert together([Kinship(0.5, 0.4), UNKNOWN], one_by_one=True) == UNKNOWN  # it makes no sense, and that is known
    assert together([], one_by_one=True) == UNKNOWN


@pytest.mark.parametrize("n_sources", [3, 9])
def test_up_to_eight_sources_the_least_counts_and_of_more_the_mean(n_sources):
    rng = np.random.default_rng(0)
    domain = np.repeat([-1, *range(1, n_sources + 1)], [20, *[60] * n_sources])
    X = rng.normal(size=(domain.size, 4))
    score = X @ [2.0, 1.0, 0.5, 0.0] + 0.3 * rng.normal(size=domain.size)
    y = np.where(np.where(domain == 2, -score, score) > 0, "b", "a")
    search = searched(y, X, domain, np.array(["a", "b"]))
    closeness = [kin.closeness for kin in search.source_rows.kinship.values()]
    combined = np.min(closeness) if n_sources == 3 else np.mean(closeness)
    assert search.testimony(1.0).heard[tuple(range(1, n_sources + 1))].kinship == pytest.approx(combined)
    assert np.min(closeness) < np.mean(closeness) - 0.05


@pytest.mark.slow
def test_a_source_turned_round_is_not_kept_for_the_sake_of_three_that_are_not():
    domain = np.repeat([-1, 1, 2, 3, 4], [15, 80, 80, 80, 80])
    kept = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(domain.size, 8))
        y = X @ [2.0, 1.0, 0.5, 0.5, 0.3, 0.2, 0.1, 0.0] + 2 * rng.normal(size=domain.size)
        y[domain == 4] *= -1
        model = TransferRegressorCV(Ridge(), methods=["pooling"], n_repeats=2, random_state=0)
        kept.append(model.fit(X, y, sample_domain=domain).domain_weight_)
    assert all(weights[4] == 0 for weights in kept)
    assert np.mean([weights[k] > 0 for weights in kept for k in (1, 2, 3)]) > 0.6


def test_each_source_is_asked_by_itself():
    """Of two sources that contradict each other, a model of both learns nothing; the one of a kind is still found."""
    X, score, domain = draw(turned=[2])
    kept = domain != 3
    search = searched(np.where(score > 0, "b", "a")[kept], X[kept], domain[kept], np.array(["a", "b"]))
    assert search.source_rows.kinship[1].closeness > 0.7
    assert search.source_rows.kinship[2].closeness < -0.7


def test_few_rows_of_a_source_say_nothing():
    X, score, domain = draw()
    kept = np.r_[:120, 120:125, 220:320]  # five rows of the second source
    search = searched(np.where(score > 0, "b", "a")[kept], X[kept], domain[kept], np.array(["a", "b"]))
    assert set(search.source_rows.kinship) == {1, 3}
    heard = search.testimony(1.0).heard
    assert heard[(2,)].kinship == 0
    assert heard[(1, 2, 3)].kinship == min(kin.closeness for kin in search.source_rows.kinship.values())


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
    rows = SourceRows(data, np.array([2, 4, 5]), {1: Kinship(-0.2, 0.5), 2: Kinship(0.4, 0.0)})
    # Source 1 has variance 6: errors 1 and 2 give 1/6 and 4/6, by half; source 2 does not count; over two target rows.
    assert rows.loss(np.array([1.0, 8.0, 0.0])) == pytest.approx(0.5 * (1 / 6 + 4 / 6) / 2)


def test_a_hundred_target_rows_at_most():
    domain = np.repeat([-1, 1], [10, 400])
    y = np.tile([0.0, 2.0], 205)
    data = Data(np.zeros((410, 1)), y, domain, None)
    rows = SourceRows(data, np.arange(10, 410), {1: Kinship(1.0, 1.0)})
    assert rows.loss(y[10:] + 1) == pytest.approx(100 / 10)


@pytest.mark.slow
def test_the_learner_that_suits_the_sources_is_blended_where_the_target_cannot_tell():
    """Ten rows cannot show an interaction that five hundred do."""
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(510, 6)), np.repeat([-1, 1], [10, 500])
    y = 3 * X[:, 0] * X[:, 1] + 3 * np.abs(X[:, 2]) + X[:, 3]
    model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=domain)
    linear = [each.startswith("pooling, linear (") for each in model.cv_results_["candidate"]]
    verdict = model.transfer_verdict_
    assert verdict.transfers
    # What the last of four kinds begins with, in the model with sources.
    assert model.cv_results_["weight"][linear].sum() == pytest.approx(0.1 * (1 - verdict.doubt))


@pytest.mark.slow
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


def test_models_of_the_sources_alone_are_never_asked_about_rows_they_know():
    """Neighbours know by heart what they were trained on; of labels drawn by chance they get half of others right."""
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(3)
    domain = np.repeat([-1, 1, 2], [40, 300, 300])
    X, y = rng.normal(size=(domain.size, 4)), rng.integers(2, size=domain.size)
    y[domain == 2] = X[domain == 2, 0] > 0
    search = Search(Data(X, y, domain, np.array([0, 1])), 5, 2, None, 0)
    alone = Kit(False, [1, 2]).target_only(Learner("own", KNeighborsClassifier(1)))
    ((chance,), (rule,)) = (search.on_sources_alone([alone], [number]) for number in (1, 2))
    held = np.concatenate([fold.held for fold in search.folds(0)])
    for stranger, number, low, high in ((chance, 1, -0.3, 0.3), (rule, 2, 0.6, 1.0)):
        assert low < agreement(stranger.on_sources, y[held[domain[held] == number]], search.data.classes) < high
    assert search.trials == []  # nothing to choose from
    # As a model of the source's rows says of every target row: none of these has taken part.
    whole = KNeighborsClassifier(1).fit(X[domain == 2], y[domain == 2]).predict_proba(X[domain < 0])
    assert np.mean(rule.on_target.argmax(axis=1) == whole.argmax(axis=1)) > 0.85


def test_models_of_the_sources_alone_of_all_folds_are_asked_about_every_target_row():
    X, score, domain = draw()
    search = Search(Data(X, score, domain, None), 5, 1, None, 0)
    (found,) = search.on_sources_alone([Kit(True, [1, 2, 3]).target_only(Learner("own", Ridge()))], [2])
    trained = [fold.train[domain[fold.train] == 2] for fold in search.folds(0)]
    models = [Ridge().fit(X[rows], score[rows]) for rows in trained]
    np.testing.assert_allclose(found.on_target, np.mean([model.predict(X[domain < 0]) for model in models], axis=0))
    held = [fold.held[domain[fold.held] == 2] for fold in search.folds(0)]  # those of other sources are not asked about
    expected = [model.predict(X[rows]) for model, rows in zip(models, held, strict=True)]
    np.testing.assert_allclose(found.on_sources, np.concatenate(expected))


def test_a_turned_source_looks_closer_to_models_that_know_target_rows():
    """A model of both has learnt from the target's other rows; one of the source alone has not."""
    X, score, domain = draw(turned=[1], n_target=40)
    kept = domain < 2
    search = searched(np.where(score > 0, "b", "a")[kept], X[kept], domain[kept], np.array(["a", "b"]))
    ((stranger,),) = (each.sources_alone for each in search.witnesses)
    joined = search.witnesses[0].pairs[0][1]
    y, classes = search.data.y[search.data.target], search.data.classes
    assert agreement(stranger.on_target, y, classes) < agreement(joined.predicted[0], y, classes)
    assert search.source_rows.kinship[1].closeness < -0.8


def test_few_rows_are_not_asked_alone():
    X, score, domain = draw()
    kept = np.r_[:20, 20:39]
    search = searched(np.where(score > 0, "b", "a")[kept], X[kept], domain[kept], np.array(["a", "b"]))
    assert search.witnesses[0].sources_alone == ()
