"""What the estimators promise about leaks, limits, metrics, weights of classes and sources by any number."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, fbeta_score, make_scorer
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from gapmin.transfer import TransferClassifierCV, TransferRegressorCV, column_importance, explain, rank_sources
from gapmin.transfer.evaluate import Evaluator
from gapmin.transfer.evidence import posterior_weights, prior_weights
from gapmin.transfer.odds import shown_odds
from gapmin.transfer.result import Evidence, Score

QUICK = {"n_repeats": 1, "n_splits": 3, "random_state": 0}


def problem(n_target=24, n_source=60, seed=0, n_sources=1):
    rng = np.random.default_rng(seed)
    domain = np.repeat([-1, *range(1, n_sources + 1)], [n_target, *[n_source] * n_sources])
    X = rng.normal(size=(domain.size, 4))
    return X, X[:, 0] + 0.3 * rng.normal(size=domain.size), domain


def classes(**kwargs):
    X, y, domain = problem(**kwargs)
    return X, (y > 0).astype(int), domain


def test_copies_are_found_in_frames_with_texts():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.choice(list("abcdefgh"), 30), "z": rng.choice(list("klmnopqr"), 30)})
    X, y = pd.concat([table, table], ignore_index=True), np.tile(rng.integers(2, size=30), 2)
    learner = make_pipeline(OneHotEncoder(handle_unknown="ignore"), KNeighborsClassifier(1))
    model = TransferClassifierCV(learner, **QUICK).fit(X, y, sample_domain=np.repeat([-1, 1], 30))
    assert model.evidence_[1].verdict != "use"
    assert any(found.startswith("30 rows repeated") for found in model.evidence_[1].findings)


@pytest.mark.parametrize("call", range(1, 12))
def test_a_time_limit_leaves_the_same_out_of_every_hypothesis(call, monkeypatch):
    X, y, domain = problem(n_target=16, n_source=20, n_sources=3)
    y[domain == 3] *= -1
    calls = iter(range(1000))
    monkeypatch.setattr(Evaluator, "is_late", lambda self: next(calls) >= call)
    model = TransferRegressorCV(n_repeats=2, n_splits=2, time_limit=1e6, random_state=0).fit(X, y, sample_domain=domain)
    kinds = {tuple(sorted(each.chosen)) for each in model.evidence_.hypotheses}
    assert len(kinds) == 1


def unmixed(model, X):
    return (model.predict_proba(X) - 0.05 / model.classes_.size) / 0.95


def test_class_weights_multiply_the_probabilities_before_the_uniform_guess():
    X, y, domain = classes()
    model = TransferClassifierCV(KNeighborsClassifier(5), class_weight={0: 1.0, 1: 60.0}, **QUICK)
    predicted = model.fit(X, y, sample_domain=domain).predict(X)
    product = unmixed(model, X) * [1.0, 60.0]
    np.testing.assert_array_equal(predicted, model.classes_[product.argmax(axis=1)])
    assert set(predicted) == {0, 1}


def test_a_class_of_two_percent_is_not_everywhere_where_classes_count_alike():
    """The uniform guess gives it 2.5%, and its weight is 25."""
    rng = np.random.default_rng(1)
    X, domain = rng.normal(size=(600, 3)), np.repeat([-1, 1], [200, 400])
    value = X[:, 0] + 0.3 * rng.normal(size=600)
    y = np.zeros(600, dtype=int)
    y[np.r_[np.argsort(value[:200])[-4:], 200 + np.argsort(value[200:])[-8:]]] = 1
    model = TransferClassifierCV(LogisticRegression(), class_weight="balanced", n_repeats=1, random_state=0)
    predicted = model.fit(X, y, sample_domain=domain).predict(X[:200])
    assert predicted[y[:200] == 1].mean() > 0.7
    assert predicted.mean() < 0.3


def test_a_weight_of_a_class_that_the_target_lacks_counts_too():
    X, y, domain = classes()
    y[domain > 0] = np.where(X[domain > 0, 1] > 0, 2, y[domain > 0])
    model = TransferClassifierCV(class_weight={0: 1.0, 2: 9.0}, sources="all", **QUICK).fit(X, y, sample_domain=domain)
    product = unmixed(model, X) * [1.0, 1.0, 9.0]
    np.testing.assert_array_equal(model.predict(X), model.classes_[product.argmax(axis=1)])


def test_a_model_of_one_class_says_so_and_what_is_left_to_do():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(160, 3)), np.repeat([-1, 1], [40, 120])
    y = (np.arange(160) % 20 == 0).astype(int)
    found = {}
    for weight in (None, {1: 1e-9}):
        model = TransferClassifierCV(LogisticRegression(), class_weight=weight, **QUICK)
        (found[weight is None],) = model.fit(X, y, sample_domain=domain).evidence_.findings
    assert found[True].endswith("look at predict_proba, or set class_weight='balanced'")
    assert found[False].endswith("class 0 for every held-out row: look at predict_proba")


@pytest.mark.parametrize("choice", ["all", "none"])
def test_a_forced_model_of_one_class_says_so(choice):
    """A source of another class makes the model of all sources predict that everywhere, and the target's own none."""
    X, y, domain = problem(n_target=30, n_source=300)
    y = np.where(domain > 0, 1, y > 0).astype(int)
    model = TransferClassifierCV(LogisticRegression(C=1e-3), sources=choice, **QUICK).fit(X, y, sample_domain=domain)
    assert any("the model predicts class 1" in said for said in model.evidence_.findings) == (choice == "all")


def test_votes_on_classes_sum_to_the_probabilities_shown():
    X, y, domain = classes()
    model = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    votes = explain(model, X, y, sample_domain=domain, row=X[0]).votes
    total = sum(vote.weight * np.array(list(vote.predicted.values())) for vote in votes)
    np.testing.assert_allclose(total, model.predict_proba(X[:1])[0])


@pytest.mark.parametrize("weight", [{0: float("nan"), 1: 1.0}, {0: -1.0, 1: 2.0}, {0: 0.0, 1: 0.0}, {0: 1.0, 7: 2.0}])
def test_class_weights_that_are_none_are_refused(weight):
    X, y, domain = classes()
    with pytest.raises(ValueError, match="class_weight"):
        TransferClassifierCV(class_weight=weight, **QUICK).fit(X, y, sample_domain=domain)


def test_the_log_loss_is_that_of_the_probabilities_shown():
    X, y, domain = classes()
    model = TransferClassifierCV(KNeighborsClassifier(1), scoring="neg_log_loss", **QUICK)
    evidence = model.fit(X, y, sample_domain=domain).evidence_
    assert evidence.hypotheses[0].scores["neg_log_loss"].value >= np.log(0.025) - 1e-12


@pytest.mark.parametrize(("metric", "labels"), [("roc_auc", "abc"), ("f1", "ab"), ("average_precision", "ab")])
def test_a_metric_that_these_labels_do_not_have_is_refused_first(metric, labels, monkeypatch):
    monkeypatch.setattr(Evaluator, "evaluate", lambda *args: pytest.fail("work was done"))
    X, y, domain = problem()
    names = np.array(list(labels))[np.digitize(y, [-0.3, 0.3][: len(labels) - 1])]
    with pytest.raises(ValueError, match=rf"scoring has '{metric}', which .*make_scorer"):
        TransferClassifierCV(scoring=metric, **QUICK).fit(X, names, sample_domain=domain)


def test_scorers_without_names_of_their_own_are_told_apart():
    X, y, domain = classes()
    scorers = [make_scorer(fbeta_score, beta=2), make_scorer(fbeta_score, beta=1), make_scorer(partial(accuracy_score))]
    model = TransferClassifierCV(scoring=scorers, **QUICK).fit(X, y, sample_domain=domain)
    assert model.evidence_.metrics == ("fbeta_score", "fbeta_score 2", "accuracy_score")


@pytest.mark.parametrize("kind", [TransferClassifierCV, TransferRegressorCV])
def test_reversed_labels_are_reported_and_left_out(kind):
    X, y, domain = problem(n_target=30)
    y[domain > 0] *= -1
    y = (y > 0).astype(int) if kind is TransferClassifierCV else y
    evidence = kind(**QUICK).fit(X, y, sample_domain=domain).evidence_
    assert evidence[1].findings[0] == "its labels look reversed"
    assert (evidence[1].verdict, evidence[1].weight) == ("leave out", 0.0)


def test_cv_may_not_divide_groups():
    X, y, domain = problem()
    with pytest.raises(ValueError, match=r"cv divides the group .* GroupKFold"):
        TransferRegressorCV(cv=KFold(3), random_state=0).fit(
            X, y, sample_domain=domain, groups=np.arange(domain.size) % 5
        )


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_few_rows_of_each_class_will_do(n_rows, grouped):
    """There are no more folds than rows of a class; of one row each nothing is in proportion."""
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat(np.arange(6), n_rows), rng.integers(6, size=120)]
    X = 0.3 * rng.normal(size=(y.size, 6)) + np.eye(6)[y]
    domain = np.repeat([-1, 1], [6 * n_rows, 120])
    options = {"groups": np.arange(y.size) // 2} if grouped else {}
    model = TransferClassifierCV(LogisticRegression(), random_state=0).fit(X, y, sample_domain=domain, **options)
    assert model.evidence_[1].verdict == "use"
    assert (model.predict(X) == y).mean() > 0.8


def test_cv_of_one_fold_is_refused():
    X, y, domain = problem()
    halves = PredefinedSplit(np.repeat([-1, 0], 12))
    with pytest.raises(ValueError, match="one fold: give a splitter with two folds or more"):
        TransferRegressorCV(cv=halves, random_state=0).fit(X, y, sample_domain=domain)


def test_sources_of_equal_labels_may_have_any_number():
    X, y, domain = problem(n_sources=2, n_source=30)
    y[domain == 2] = y[domain == 1]
    swapped = np.where(domain > 0, 3 - domain, domain)
    one, other = (TransferRegressorCV(**QUICK).fit(X, y, sample_domain=each) for each in (domain, swapped))
    assert one.evidence_[1].weight == other.evidence_[2].weight
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_the_weight_of_domains_counts_that_of_a_method():
    X, y, domain = classes(n_target=30)
    model = TransferClassifierCV(
        KNeighborsClassifier(), methods=["gapBoost"], sources="all", class_weight=None, **QUICK
    )
    model.set_params(estimator=None).fit(X, y, sample_domain=domain)
    (boosted,) = (each for each in model.best_estimator_.models[1,] if each.form == "by domain")
    own = boosted.estimator.sample_weight_
    shares = {"half": 0.5, "natural": 30 / 90, "recalibrated": 0.0, boosted.form: own[:30].sum() / own.sum()}
    expected = sum(each.weight * shares[each.form] for each in model.best_estimator_.models[1,])
    assert model.domain_weight_[-1] == pytest.approx(expected)


def test_copies_of_noise_make_no_column_important():
    rng = np.random.default_rng(0)
    X, y = np.tile(rng.normal(size=(30, 4)), (3, 1)), np.tile(rng.integers(2, size=30), 3)
    domain = np.repeat([-1, 1], [30, 60])
    model = TransferClassifierCV(sources="all", **QUICK).fit(X, y, sample_domain=domain)
    found = column_importance(model, X, y, sample_domain=domain)
    assert sum(each.low > 0 for each in found) <= 1


def test_a_forced_choice_reports_the_model_that_is_fitted():
    X, y, domain = problem()
    for choice, place in (("none", 0), ("all", 1)):
        evidence = TransferRegressorCV(sources=choice, **QUICK).fit(X, y, sample_domain=domain).evidence_
        assert evidence.model == evidence.hypotheses[place].scores
        assert repr(choice) in evidence.findings[0]


def test_beliefs_leave_the_sum_of_the_prior_and_the_inequality():
    rng = np.random.default_rng(0)
    sets = [(), (1,), (2,), (1, 2)]
    for odds in ({1: 50.0}, {1: 0.01, 2: 7.0}):
        for permuted in ([], [1]):
            prior = prior_weights(sets, 2, permuted, odds)
            assert prior.sum() == pytest.approx(1.0)
            evidence = np.array([0.0, *rng.normal(0, 5, size=3)])
            weight = posterior_weights(prior, evidence)
            assert weight @ evidence >= np.log(prior[0]) - 1e-12


def test_columns_in_another_order_lower_the_prior_and_nothing_else():
    rng = np.random.default_rng(3)
    X, domain = rng.normal(size=(330, 8)) + np.arange(8), np.repeat([-1, 1], [30, 300])
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=330)
    X[30:] = X[30:][:, np.roll(np.arange(8), 3)]
    found = {}
    for aligned in (False, True):
        model = TransferRegressorCV(Ridge(), aligned=aligned, **QUICK).fit(X, y, sample_domain=domain)
        found[aligned] = model.evidence_
    assert [each.prior for each in found[True].hypotheses] == pytest.approx([0.6, 0.4])
    assert [each.prior for each in found[False].hypotheses] == pytest.approx([0.98, 0.02])
    assert found[False][1].bayes_factor == pytest.approx(found[True][1].bayes_factor)
    assert "its columns look permuted: check their order" in found[False][1].findings
    assert not any("permuted" in said for said in found[True][1].findings)


def test_the_headline_says_use_of_no_metric_that_falls():
    X, y, domain = problem()
    made = TransferRegressorCV(scoring="neg_median_absolute_error", **QUICK).fit(X, y, sample_domain=domain).evidence_
    assert made.verdict == "use"
    fallen = Score(-0.1, -0.2, 0.1)
    shown = Evidence(made.hypotheses, made.sources, made.task, made.n_target, made.metrics, made.model,
                     dict.fromkeys(made.metrics, fallen)).headline()  # fmt: skip
    assert "Use" not in shown
    assert "but the error does not fall" in shown


def test_evidence_keeps_open_intervals_through_json():
    X, y, domain = problem()
    made = TransferRegressorCV(**QUICK).fit(X, y, sample_domain=domain).evidence_
    content = made.to_dict()
    content["model"]["root mean squared error"] |= {"low": None, "high": None}
    read = Evidence.from_dict(content).model["root mean squared error"]
    assert (read.low, read.high) == (-np.inf, np.inf)


def test_printed_odds_agree_with_the_verdict():
    X, y, domain = problem(n_sources=2)
    evidence = TransferRegressorCV(**QUICK).fit(X, y, sample_domain=domain).evidence_
    for each, line in zip(evidence.sources, str(evidence).splitlines()[2:], strict=False):
        assert f"{each.verdict}, odds {shown_odds(each.bayes_factor)}," in line
    assert (shown_odds(18.99), shown_odds(19.0), shown_odds(1 / 19)) == ("18 to 1", "19 to 1", "1 to 19")


def test_sample_weight_is_refused_with_a_reason():
    X, y, domain = problem()
    with pytest.raises(TypeError, match=r"takes no sample_weight: .* give rows as often as they count"):
        TransferRegressorCV().fit(X, y, sample_domain=domain, sample_weight=np.ones(y.size))


def test_whole_numbers_that_may_be_classes_are_asked_about():
    X, y, domain = problem()
    y = np.round(1000 * y)
    tables = [(X[domain == k], y[domain == k]) for k in (-1, 1)]
    with pytest.raises(ValueError, match=r"are \d+ distinct whole numbers in 84 rows: give task='regression', or"):
        rank_sources(tables[0], tables[1:], **QUICK)
    ranked = rank_sources(tables[0], tables[1:], task="regression", estimator=Ridge(), **QUICK)
    assert ranked.task == "regression"


def test_a_parameter_that_is_none_is_named_with_the_estimator():
    X, y, _ = problem()
    with pytest.raises(TypeError, match=r"^TransferRegressorCV has no parameter class_weight: choose from aligned"):
        rank_sources((X[:24], y[:24]), [(X[24:], y[24:])], class_weight="balanced")


def test_a_row_of_a_frame_keeps_the_names_of_its_columns():
    pd = pytest.importorskip("pandas")
    X, y, domain = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = TransferRegressorCV(Ridge(), **QUICK).fit(frame, y, sample_domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (one, *_), (same, *_) = (
            explain(model, frame, y, sample_domain=domain, row=row).votes for row in (frame.iloc[2], frame.iloc[[2]])
        )
    assert one.predicted == pytest.approx(same.predicted)


def test_what_a_learner_says_is_not_lost():
    X, y, domain = problem()
    with pytest.raises(ValueError, match="alpha"):
        TransferRegressorCV(Ridge(alpha=-1), **QUICK).fit(X, y, sample_domain=domain)


def test_rank_sources_takes_frames_groups_and_beliefs_by_name():
    pl = pytest.importorskip("polars")
    X, y, domain = problem(n_sources=2, n_source=30)
    frames = [pl.DataFrame(X[domain == k], schema=list("abcd")) for k in (-1, 1, 2)]
    labels = [y[domain == k] for k in (-1, 1, 2)]
    sources = {"north": (frames[1].select(list("dcba")), labels[1]), "south": (frames[2], labels[2])}
    groups = [np.arange(len(each)) // 2 for each in labels]
    plain = rank_sources((frames[0], labels[0]), sources, groups=groups, **QUICK)
    assert any("of groups in the target" in found for found in plain["north"].findings)
    believed = rank_sources((frames[0], labels[0]), sources, groups=groups, prior_odds={"south": 1e-6}, **QUICK)
    assert believed["south"].weight < plain["south"].weight
    with pytest.raises(ValueError, match="the target has nan for a label in row 3: leave out rows without a label"):
        rank_sources((frames[0], np.where(np.arange(24) == 3, np.nan, labels[0])), sources, **QUICK)


def test_explain_gives_columns_and_votes():
    X, y, domain = problem()
    model = TransferRegressorCV(**QUICK).fit(X, y, sample_domain=domain)
    found = explain(model, X, y, sample_domain=domain, importance=True, row=X[0])
    assert found.importance[0].name == "column 1"
    total = sum(vote.weight * vote.predicted for vote in found.votes)
    assert total == pytest.approx(float(model.predict(X[:1])[0]))
    pytest.importorskip("pandas")
    assert found.to_frame("importance")["name"].iloc[0] == "column 1"
