"""The engine: folds, groups, leaks, limits, metrics and findings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from gapmin.transfer import Evidence, TransferClassifierCV, TransferRegressorCV, rank_sources
from gapmin.transfer._fitting import Data
from gapmin.transfer.findings import column_findings, link_rows, row_keys
from gapmin.transfer.folds import draw_folds, folds_of
from gapmin.transfer.importance import column_importance
from gapmin.transfer.scoring import make_scoring


def rows(seed=0, n_target=30, n_source=60, n_columns=3, n_sources=1):
    rng = np.random.default_rng(seed)
    domain = np.repeat([-1, *range(1, n_sources + 1)], [n_target, *[n_source] * n_sources])
    X = rng.normal(size=(domain.size, n_columns))
    return X, X @ np.arange(1.0, n_columns + 1) + 0.3 * rng.normal(size=domain.size), domain


def quick(regression=True, **options):
    estimator = Ridge() if regression else LogisticRegression()
    kind = TransferRegressorCV if regression else TransferClassifierCV
    return kind(estimator, **{"n_repeats": 1, "random_state": 0, **options})


def test_a_group_is_never_divided_between_training_and_testing():
    X, y, domain = rows()
    groups = np.arange(30) // 4
    for folds in draw_folds(Data(X, y, domain, 0), 5, 3, 0, groups):
        assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(30))
        for train, test in folds:
            assert not set(groups[train]) & set(groups[test])


def test_source_rows_of_a_tested_group_do_not_train():
    X, y, domain = rows()
    groups = np.concatenate([np.arange(30) // 5, np.arange(60) // 5])
    data = Data(X, y, domain, 0)
    data, _, shared = link_rows(data, row_keys(data), groups)
    assert shared == {1: 30}
    test = np.flatnonzero(groups[:30] == 2)
    assert not (groups[data.rows_of((1,), test)] == 2).any()
    assert set(groups[data.rows_of((1,))]) == set(range(6, 12))  # a model of the source alone knows no target group


def test_a_source_that_repeats_the_target_is_no_evidence():
    """A tree that knows every row by heart would predict it; the rows are kept from it."""
    X, _, domain = rows(n_source=30)
    y = np.random.default_rng(1).normal(size=60)
    X[30:], y[30:] = X[:30], y[:30]
    made = TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    assert made.evidence_[1].evidence < 1
    assert "30 rows repeated" in made.evidence_[1].findings[0]


def test_groups_take_away_what_leaks():
    """The label is a function of the patient alone: with patients divided, nothing can be learnt."""
    rng = np.random.default_rng(0)
    patient = rng.integers(12, size=100)
    X = np.column_stack([patient, rng.normal(size=100)]).astype(float)
    y = rng.normal(size=12)[patient]
    domain = np.repeat([-1, 1], [40, 60])
    leaks = TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    clean = TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain, groups=patient)
    metric = "root mean squared error"
    assert leaks.evidence_.model[metric].value < 0.6 * clean.evidence_.model[metric].value
    assert clean.evidence_[1].verdict != "use"


def test_a_splitter_of_the_users_divides_the_target():
    X, y, domain = rows()
    made = quick(cv=TimeSeriesSplit(4)).fit(X, y, sample_domain=domain)
    assert made.evidence_.n_target == 24  # the first rows are never tested
    data = Data(X, y, domain, 0)
    assert [len(folds) for folds in folds_of(RepeatedKFold(n_splits=3, n_repeats=2), data, y[:30], None)] == [3, 3]
    groups = np.arange(30) // 6
    for train, test in folds_of(GroupKFold(3), data, y[:30], groups)[0]:
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="more often than others"):
        folds_of(ShuffleSplit(5, random_state=0), data, y[:30], None)


def test_a_time_limit_drops_kinds_and_repeats_and_says_so():
    X, y, domain = rows()
    made = TransferRegressorCV(time_limit=1e-6, random_state=0).fit(X, y, sample_domain=domain)
    (said,) = made.evidence_.findings
    assert "no forest, boosting and kernel" in said
    assert "1 repeat of 3" in said
    assert "another machine" in said
    assert list(made.evidence_.hypotheses[0].chosen) == ["linear"]
    assert np.isfinite(made.predict(X)).all()


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40)
    positive = np.clip(0.3 * y + rng.uniform(size=40) * 0.7, 0, 1)
    predicted = np.column_stack([1 - positive, positive])[None]
    classes, code = np.array(["no", "yes"]), np.array([0, 1])
    scoring = make_scoring(["roc_auc", "accuracy"], classes, code, None)
    found = {metric: scoring.score(metric, {None: predicted}, y)[None] for metric in scoring.metrics}
    assert found["roc_auc"].value == pytest.approx(roc_auc_score(y, positive))
    assert found["accuracy"].value == pytest.approx(np.mean((positive > 0.5) == y))
    plain = make_scoring(None, classes, code, None).score("error rate", {None: predicted}, y)[None]
    assert plain.value == pytest.approx(1 - found["accuracy"].value)
    assert plain.low < plain.value < plain.high


def test_codes_and_names_of_classes_are_kept_apart():
    """Codes go by frequency, so that the first class in order need not be code 0."""
    y = np.array([0, 0, 1, 1, 1])
    predicted = np.array([[0.9, 0.1]] * 2 + [[0.2, 0.8]] * 3)[None]
    scoring = make_scoring(["roc_auc"], np.array(["a", "b"]), np.array([1, 0]), None)  # a has code 1
    assert scoring.score("roc_auc", {None: predicted}, y)[None].value == 1


@pytest.mark.parametrize("scoring", ["roc_auc", ["average_precision", "f1", "neg_log_loss"]])
def test_the_metrics_asked_for_are_reported(scoring):
    X, y, domain = rows()
    made = quick(False, scoring=scoring).fit(X, (y > 0).astype(int), sample_domain=domain)
    evidence = made.evidence_
    assert evidence.metrics == tuple([scoring] if isinstance(scoring, str) else scoring)
    for metric in evidence.metrics:
        for score in (evidence.model, evidence.baseline, evidence.hypotheses[0].scores):
            assert np.isfinite(score[metric].value)
        alone = evidence.hypotheses[0].scores[metric].value
        assert evidence.change[metric].value == pytest.approx(evidence.model[metric].value - alone)


def test_a_rare_class_is_predicted_where_classes_count_alike():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(700, 3)), np.repeat([-1, 1], [200, 500])
    y = (X[:, 0] + 0.7 * rng.normal(size=700) > 2.3).astype(int)  # about 3%
    assert 0.01 < y[:200].mean() < 0.06
    plain = quick(False).fit(X, y, sample_domain=domain)
    even = quick(False, class_weight="balanced").fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(plain.predict_proba(X), even.predict_proba(X))
    recall = [model.predict(X[:200])[y[:200] == 1].mean() for model in (plain, even)]
    assert recall[1] > max(recall[0], 0.6)
    noise = quick(False).fit(rng.normal(size=(700, 3)), y, sample_domain=domain)
    assert any("predicts class 0 for every held-out row" in said for said in noise.evidence_.findings)


def test_methods_of_the_paper_compete_where_they_are_asked_for():
    X, y, domain = rows(n_target=16, n_source=40)
    options = {"methods": ["gapBoost", "TrAdaBoost"], "n_splits": 2, "n_repeats": 1, "random_state": 0}
    made = TransferRegressorCV(**options).fit(X, y, sample_domain=domain)
    kinds = {each.sources: set(each.chosen) for each in made.evidence_.hypotheses}
    assert kinds[(1,)] - kinds[()] == {"gapBoost", "TrAdaBoost"}
    with pytest.raises(ValueError, match="choose from gapBoost, GapWeighting"):
        quick(methods=["magic"]).fit(X, y, sample_domain=domain)
    with pytest.raises(ValueError, match="for classes"):
        quick(methods=["TransferBoost"]).fit(X, y, sample_domain=domain)


@pytest.mark.parametrize("name", ["check_columns", "n_standard_errors"])
def test_names_of_the_first_version_say_what_takes_their_place(name):
    with pytest.raises(TypeError, match=f"no parameter {name} any more"):
        TransferClassifierCV(**{name: True})
    with pytest.raises(AttributeError, match="use evidence_"):
        _ = TransferClassifierCV().transfer_verdict_


def test_ranking_says_what_the_estimator_says():
    X, y, domain = rows(n_sources=2)
    y[domain == 2] *= -1
    made = TransferRegressorCV(Ridge(), random_state=3).fit(X, y, sample_domain=domain)
    sources = {f"source {k}": (X[domain == k], y[domain == k]) for k in (1, 2)}
    found = rank_sources((X[:30], y[:30]), sources, estimator=Ridge(), random_state=3)
    assert found == made.evidence_


@pytest.mark.parametrize("n_sources", [3, 6])
def test_shapley_values_sum_to_the_evidence_for_all(n_sources):
    X, y, domain = rows(n_sources=n_sources, n_source=20)
    y[domain == 1] = np.random.default_rng(0).permutation(y[domain == 1])
    sources = [(X[domain == k], y[domain == k]) for k in range(1, n_sources + 1)]
    found = rank_sources((X[:30], y[:30]), sources, estimator=Ridge(), n_repeats=1, random_state=0, shapley=True)
    whole = next(each.evidence for each in found.hypotheses if len(each.sources) == n_sources)
    assert sum(each.shapley for each in found.sources) == pytest.approx(whole)
    assert found["source 1"].shapley < min(each.shapley for each in found.sources[1:])
    assert (found["source 1"].shapley_error is None) == (n_sources == 3)


def test_columns_that_differ_are_named():
    rng = np.random.default_rng(0)
    size, kind = rng.lognormal(size=90), rng.integers(3, size=90).astype(float)
    X = np.column_stack([size, rng.normal(size=90), kind, rng.normal(size=90)])
    X[30:, 0] *= 25.4
    X[30:, 1] = 0.0
    X[30:, 2] += 10
    data = Data(X, np.zeros(90), np.repeat([-1, 1], [30, 60]), 0)
    said = "; ".join(column_findings(data, 1, ["length", "dose", "ward", "age"], 0))
    assert "perhaps another unit: 'length'" in said
    assert "constant in the source alone: 'dose'" in said
    assert "categories that the target does not have: 'ward'" in said
    assert "age" not in said


@pytest.mark.parametrize("seed", range(5))
def test_columns_around_zero_are_of_one_unit(seed):
    """Of values on both sides of zero the median is no size."""
    X = np.random.default_rng(seed).normal(size=(90, 20))
    data = Data(X, np.zeros(90), np.repeat([-1, 1], [30, 60]), 0)
    assert not list(column_findings(data, 1, None, 0))
    X[30:, 3] *= 7.9
    assert ["column 4" in each for each in column_findings(data, 1, None, 0)] == [True]


def test_evidence_comes_back_from_json():
    X, y, domain = rows(n_sources=2)
    evidence = quick().fit(X, y, sample_domain=domain).evidence_.renamed({1: "<one>", 2: "two"})
    again = Evidence.from_dict(evidence.to_dict())
    assert again == evidence
    assert "&lt;one&gt;" in evidence._repr_html_()
    broken = evidence.to_dict() | {"hypotheses": []}
    with pytest.raises(ValueError, match="no evidence"):
        Evidence.from_dict(broken)


def test_evidence_is_a_frame_too():
    pytest.importorskip("pandas")
    X, y, domain = rows(n_sources=2)
    evidence = quick().fit(X, y, sample_domain=domain).evidence_
    assert evidence.to_frame()["source"].tolist() == ["source 1", "source 2"]
    assert evidence.to_frame("hypotheses")["weight"].sum() == pytest.approx(1)


def test_the_headline_agrees_with_the_verdicts():
    X, y, domain = rows(n_sources=2)
    y[domain == 2] *= -1
    evidence = quick().fit(X, y, sample_domain=domain).evidence_
    assert {each.name: each.verdict for each in evidence.sources} == {"source 1": "use", "source 2": "leave out"}
    assert evidence.verdict == "use"
    assert evidence.used == ("source 1",)
    assert evidence.headline().startswith("Use source 1. Leave out source 2.")


def test_intervals_cover_what_they_say():
    X, y, domain = rows(n_target=60, n_source=200)
    made = quick().fit(X, y, sample_domain=domain)
    fresh, truth, _ = rows(seed=9, n_target=1000)
    low, high = made.predict_interval(fresh[:1000], level=0.8).T
    assert 0.7 < np.mean((low <= truth[:1000]) & (truth[:1000] <= high)) < 0.95
    with pytest.raises(ValueError, match="level is 2"):
        made.predict_interval(fresh, level=2)
    with pytest.raises(ValueError, match="level is 'wide'"):
        made.predict_interval(fresh, level="wide")
    with pytest.raises(NotFittedError):
        TransferRegressorCV().predict_interval(fresh)


def test_importance_finds_the_columns_that_matter():
    X, y, domain = rows(n_columns=4, n_target=40)
    y -= X[:, 0]  # the first column has no part in it
    made = TransferRegressorCV(n_repeats=1, random_state=0).fit(X, y, sample_domain=domain)
    before = X.copy()
    found = {each.name: each for each in column_importance(made, X, y, sample_domain=domain)}
    assert next(iter(found)) == "column 4"
    assert found["column 4"].low > 0
    assert found["column 1"].increase < 0.1 * found["column 4"].increase
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior_odds": {7: 2.0}}, "source 7: choose from"),
        ({"prior_odds": {1: -1.0}}, "above 0"),
        ({"scoring": []}, "scoring is empty"),
        ({"scoring": ["r2", "r2"]}, "twice"),
    ],
)
def test_wrong_options_are_named(options, message):
    X, y, domain = rows()
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X, y, sample_domain=domain)


def test_groups_without_a_value_are_named():
    X, y, domain = rows()
    groups = np.arange(90.0)
    groups[5] = np.nan
    with pytest.raises(ValueError, match="row 5"):
        quick().fit(X, y, sample_domain=domain, groups=groups)
    with pytest.raises(ValueError, match="one group"):
        quick().fit(X, y, sample_domain=domain, groups=np.zeros(90))
