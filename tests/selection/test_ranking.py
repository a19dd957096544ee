import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from gapmin._utils.statistics import corrected_t_test
from gapmin.domains import TargetKFold, stack_domains
from gapmin.linear import InstanceWeightingClassifier, InstanceWeightingRegressor
from gapmin.linear.source_gap import measure_gap
from gapmin.selection._ranking_inputs import check_inputs
from gapmin.selection._trials import Fold, Trials, default_learner, draw_folds, forward_search, losses
from gapmin.selection.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor
from gapmin.selection.ranking import rank_sources

WEIGHT = np.array([1.0, -1, 1, -1, 1, -1, 1, -1])
QUICK = {"n_splits": 3, "n_repeats": 2, "random_state": 0}


def _domain(seed, n, task="classification", weight=WEIGHT, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, weight.size))
    y = X @ weight + noise * rng.normal(size=n)
    return X, (y if task == "regression" else np.where(y > 0, "yes", "no"))


def _flipped(domain):
    X, y = domain
    return X, (-y if y.dtype.kind == "f" else np.where(y == "yes", "no", "yes"))


def _several(task="classification"):
    target, source = _domain(0, 30, task), _domain(1, 150, task)
    rng = np.random.default_rng(2)
    return target, {
        "flipped": _flipped(source),
        "noise": (source[0], rng.permutation(source[1])),
        "true": source,
        "more": _domain(3, 60, task),
    }


@pytest.fixture(scope="module", params=["classification", "regression"])
def ranking(request):
    return rank_sources(*_several(request.param), random_state=0)


def test_the_best_is_first_and_the_poisoned_last(ranking):
    names = [source.name for source in ranking.sources]
    assert set(names[:2]) == {"true", "more"}
    assert names[2:] == ["noise", "flipped"]
    assert ranking["flipped"].verdict == "hurts"
    assert ranking["true"].verdict == ("helps" if ranking.task == "regression" else "neutral")
    assert ranking["true"].loss_change.mean < 0
    changes = [source.loss_change.mean for source in ranking.sources]
    assert changes == sorted(changes)
    assert ranking["flipped"].gap > 2 * ranking["true"].gap


def test_verdicts_are_where_the_interval_of_the_loss_is(ranking):
    for source in [*ranking.sources, ranking.together]:
        change = source.loss_change
        assert change.low <= change.mean <= change.high
        assert (source.verdict == "helps") == (change.high < 0)
        assert (source.verdict == "hurts") == (change.low > 0)
        assert (change.p_value < 1 - ranking.level) == (source.verdict != "neutral")
        assert source.loss == pytest.approx(ranking.target_loss + change.mean)
        assert source.error == pytest.approx(ranking.target_error + source.error_change.mean)
        assert source.gap == pytest.approx(sum(source.gap_parts.values()))


def test_the_best_subset_is_what_the_path_kept(ranking):
    kept = [step for step in ranking.subset_path if step.kept]
    assert ranking.best_subset == tuple(step.added for step in kept)
    assert set(ranking.best_subset) <= {"true", "more"}
    assert ranking.best_subset
    for step in ranking.subset_path:
        assert step.kept == (-step.change > step.standard_error)
    assert all(step.kept for step in ranking.subset_path[:-1])
    before = [ranking.target_loss, *(step.loss for step in ranking.subset_path)]
    np.testing.assert_allclose(np.diff(before), [step.change for step in ranking.subset_path])


def test_all_together(ranking):
    assert ranking.together.name == "all together"
    assert ranking.together.n_rows == sum(source.n_rows for source in ranking.sources) == 510
    target, sources = _several(ranking.task)
    X, y, domain = stack_domains(target=target, sources=sources)
    alone = rank_sources(target, {"pooled": (X[domain > 0], y[domain > 0])}, random_state=0)
    assert alone.together.loss == alone.sources[0].loss == pytest.approx(ranking.together.loss)
    assert alone.together.gap == pytest.approx(ranking.together.gap)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_source_by_hand(task):
    target, source = _domain(0, 20, task), _domain(1, 40, task)
    found = rank_sources(target, {"a": source}, n_splits=4, n_repeats=1, random_state=5, target_share=0.7)
    X, y, domain = stack_domains(target=target, sources=[source])
    data = check_inputs(target, [source], task=None, estimator=None, preprocessor=None, max_source_rows=None, seed=0)
    seed = int(np.random.RandomState(5).randint(2**31 - 1, size=3)[0])
    change = []
    for fold in draw_folds(data, 4, 1, seed):
        test, rows = fold.test, np.r_[fold.train, np.flatnonzero(domain > 0)]
        assert not set(test) & set(fold.train)
        if task == "classification":
            model = WeightedPoolingClassifier(default_learner(data), target_share=0.7)
        else:
            model = WeightedPoolingRegressor(default_learner(data), target_share=0.7)
        each = []
        for train in (fold.train, rows):
            model.fit(X[train], y[train], sample_domain=domain[train])
            if task == "classification":
                truth = y[test][:, None] == model.classes_
                each.append(np.mean(np.sum((model.predict_proba(X[test]) - truth) ** 2, axis=1)) / 2)
            else:
                each.append(np.mean((model.predict(X[test]) - y[test]) ** 2) / np.var(target[1]))
        change.append(each[1] - each[0])
    wanted = corrected_t_test(change, 15, 5)
    got = found.sources[0].loss_change
    assert got.mean == pytest.approx(wanted.mean)
    assert (got.low, got.high) == pytest.approx(wanted.interval(0.9))
    assert got.p_value == pytest.approx(wanted.p_value)


def test_gaps_are_those_of_instance_weighting():
    target, source = _domain(0, 20), _domain(1, 40)
    X, y, domain = stack_domains(target=target, sources=[source])
    setting = InstanceWeightingClassifier(gamma=0.5).fit(StandardScaler().fit_transform(X), y, sample_domain=domain)
    assert measure_gap(X, y, domain, "classification") == pytest.approx(setting.gap_.parts)
    target, source = _domain(0, 20, "regression"), _domain(1, 40, "regression")
    X, y, domain = stack_domains(target=target, sources=[source])
    scaled = (y - y[domain < 0].mean()) / y[domain < 0].std()
    setting = InstanceWeightingRegressor(gamma=0.5).fit(StandardScaler().fit_transform(X), scaled, sample_domain=domain)
    assert measure_gap(X, y, domain, "regression") == pytest.approx(setting.gap_.parts)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_result_depends_on_neither_processes_nor_the_order_of_sources(task):
    target, sources = _several(task)
    sources.pop("noise")
    one = rank_sources(target, sources, max_source_rows=50, n_jobs=1, **QUICK)
    assert rank_sources(target, sources, max_source_rows=50, n_jobs=2, **QUICK) == one
    turned = rank_sources(target, dict(reversed(sources.items())), max_source_rows=50, **QUICK)
    for source in one.sources:
        assert turned[source.name].loss_change == source.loss_change
        assert turned[source.name].gap == source.gap
    assert turned.best_subset == one.best_subset
    assert {source.n_rows for source in one.sources} == {50}
    assert sum("50 of" in note for note in one.notes) == 3
    other = rank_sources(target, sources, max_source_rows=50, **{**QUICK, "random_state": 1})
    assert other.target_loss != one.target_loss


@settings(deadline=None, max_examples=8)
@given(
    st.integers(0, 10**6),
    st.integers(10, 24),
    st.sampled_from(["classification", "regression"]),
    st.integers(1, 3),
    st.booleans(),
)
def test_small_targets_and_odd_columns(seed, n, task, n_sources, constant):
    sources = [_domain(seed + k + 1, 5 + 7 * k, task) for k in range(n_sources)]
    X, y = _domain(seed, n, task)
    if task == "classification":
        y[:4] = ["yes", "no", "yes", "no"]
    if constant:
        X[:, 0] = 3.0
        for source in sources:
            source[0][:, 0] = 3.0
    before = X.copy(), y.copy(), [(a.copy(), b.copy()) for a, b in sources]
    found = rank_sources((X, y), sources, n_repeats=1, random_state=seed)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    for (a, b), (c, d) in zip(sources, before[2], strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)
    assert {source.name for source in found.sources} == {f"source {k}" for k in range(1, n_sources + 1)}
    json.dumps(found.to_dict(), allow_nan=False)
    pytest.importorskip("pandas")
    assert np.isfinite(found.to_frame().select_dtypes("number").to_numpy()).all()
    if task == "classification":
        assert all(0 <= source.loss <= 1 for source in found.sources)


def test_a_copy_of_the_target_has_no_gap_and_keeps_its_verdict_under_relabelling():
    target, sources = _several()
    assert rank_sources(target, {"same": target}, **QUICK)["same"].gap == pytest.approx(0, abs=1e-6)
    first = rank_sources(target, sources, **QUICK)

    def numbered(domain):
        return domain[0], np.where(domain[1] == "yes", 7, 3)

    again = rank_sources(numbered(target), {name: numbered(each) for name, each in sources.items()}, **QUICK)
    assert [source.name for source in again.sources] == [source.name for source in first.sources]
    assert again.target_error == first.target_error
    assert again.target_loss == pytest.approx(first.target_loss)


def test_numbers_are_judged_in_units_of_the_target():
    target, sources = _several("regression")
    first = rank_sources(target, sources, **QUICK)
    scaled = {name: (X, 1000 * y) for name, (X, y) in sources.items()}
    again = rank_sources((target[0], 1000 * target[1]), scaled, **QUICK)
    assert again.target_loss == pytest.approx(first.target_loss)
    assert again.target_error == pytest.approx(1000 * first.target_error)
    assert [source.verdict for source in again.sources] == [source.verdict for source in first.sources]
    np.testing.assert_allclose([s.gap for s in again.sources], [s.gap for s in first.sources], rtol=1e-6)


def test_classes_of_a_source_only_and_sources_with_one_class():
    target, source = _domain(0, 24), _domain(1, 60)
    strange = source[0], np.where(np.arange(60) % 3 == 0, "perhaps", source[1])
    sources = {"strange": strange, "one": (source[0], np.full(60, "yes")), "other": (source[0], np.full(60, "never"))}
    found = rank_sources(target, {"good": source, **sources}, **QUICK)
    assert found.sources[0].name == "good"
    assert found.sources[-1].name in ("one", "other")
    assert [note for note in found.notes if "'strange'" in note] == [
        "the source 'strange' has classes that the target has not: perhaps"
    ]
    assert all(np.isfinite(source.gap) for source in found.sources)


def test_a_class_with_fewer_rows_than_folds():
    X, y = _domain(0, 30)
    y = y.astype("U6")
    y[:2] = "rare"
    y[2] = "single"
    X_old, y_old = _domain(1, 80)
    found = rank_sources((X, y), {"old": (X_old, y_old)}, random_state=0, n_repeats=2)
    assert np.isfinite(found.target_loss)
    few = rank_sources((X[3:9], np.array(list("aabbcc"))), {"old": (X_old, np.where(y_old == "no", "a", "b"))}, **QUICK)
    assert any("2 folds, not 3" in note for note in few.notes)


def test_sparse_rows_stay_sparse_and_agree_with_dense_ones_that_are_not_centred():
    target, sources = _several()
    sparse = {name: (sp.csr_array(X * (np.abs(X) > 0.5)), y) for name, (X, y) in sources.items()}
    small = sp.coo_matrix(target[0] * (np.abs(target[0]) > 0.5)), target[1]
    found = rank_sources(small, sparse, **QUICK)
    assert found.sources[-1].name == "flipped"
    learner = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    dense = {name: (X.toarray(), y) for name, (X, y) in sparse.items()}
    one = rank_sources((small[0].toarray(), small[1]), dense, estimator=learner, **QUICK)
    two = rank_sources(small, sparse, estimator=learner, **QUICK)
    np.testing.assert_allclose([s.loss for s in one.sources], [s.loss for s in two.sources], rtol=1e-5)


def _frames():
    def frame(X, y, city):
        return pytest.importorskip("pandas").DataFrame({**{f"x{k}": X[:, k] for k in range(8)}, "city": city}), y

    target, sources = _several()
    rng = np.random.default_rng(0)
    named = {name: frame(*pair, rng.choice(["Oslo", "Rome"], len(pair[1]))) for name, pair in sources.items()}
    return frame(*target, rng.choice(["Oslo", "Rome"], 30)), named


def test_frames_with_text_need_a_preprocessor_or_a_pipeline():
    target, sources = _frames()
    with pytest.raises(ValueError, match="the column 'city' is not numeric: give a preprocessor"):
        rank_sources(target, sources)
    columns = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    by_pipeline = rank_sources(target, sources, estimator=make_pipeline(columns, LogisticRegression()), **QUICK)
    assert by_pipeline.sources[-1].name == "flipped"
    assert all(source.gap is None for source in by_pipeline.sources)
    assert any("gaps were not measured: the column 'city'" in note for note in by_pipeline.notes)
    assert by_pipeline.to_frame()["gap"].isna().all()
    assert by_pipeline.to_dict()["sources"][0]["gap"] is None
    prepared = rank_sources(target, sources, preprocessor=columns, **QUICK)
    assert prepared.sources[-1].name == "flipped"
    assert all(source.gap > 0 for source in prepared.sources)
    numeric = {name: (X.drop(columns="city"), y) for name, (X, y) in sources.items()}
    plain = rank_sources((target[0].drop(columns="city"), target[1]), numeric, **QUICK)
    assert plain == rank_sources(*_several(), **QUICK)


def test_missing_values_name_their_place_and_can_be_imputed():
    target, sources = _several()
    sources["true"] = sources["true"][0].copy(), sources["true"][1]
    sources["true"][0][4, 2] = np.nan
    with pytest.raises(ValueError, match=r"the source 'true' has nan at row 4, column 2: give a preprocessor"):
        rank_sources(target, sources)
    imputed = rank_sources(target, sources, preprocessor=SimpleImputer(), **QUICK)
    assert imputed["true"].gap > 0
    own = rank_sources(target, sources, estimator=make_pipeline(SimpleImputer(), LogisticRegression()), **QUICK)
    assert own["true"].gap is None
    broken = sp.csr_array(np.diag([1.0, np.inf, 0, 0, 0, 0])), np.array(list("ababab"))
    with pytest.raises(ValueError, match="the target has inf at row 1, column 1"):
        rank_sources(broken, [broken])


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(max_depth=3), KNeighborsClassifier(3), LogisticRegression()],
    ids=lambda each: type(each).__name__,
)
def test_any_learner_and_its_seed_does_not_leak(estimator):
    target, sources = _several()
    params = estimator.get_params()
    found = rank_sources(target, sources, estimator=estimator, **QUICK)
    assert found == rank_sources(target, sources, estimator=estimator, **QUICK)
    assert found["flipped"].loss > found["true"].loss
    assert estimator.get_params() == params
    assert not hasattr(estimator, "classes_")


def test_folds_are_those_of_the_target_and_every_row_is_tested_in_each_repeat():
    target, sources = _several()
    data = check_inputs(target, sources, task=None, estimator=None, preprocessor=None, max_source_rows=None, seed=0)
    folds = draw_folds(data, 5, 3, 0)
    assert len(folds) == 15
    for repeat in range(3):
        tested = np.concatenate([fold.test for fold in folds[5 * repeat : 5 * repeat + 5]])
        assert sorted(tested) == list(range(30))
    assert len({fold.seed for fold in folds}) == 15
    assert TargetKFold(5).get_n_splits() == 5


def test_a_class_that_did_not_train_has_probability_zero():
    X, y = np.arange(12.0).reshape(-1, 1), np.array(list("aaaabbbbaabc"))
    data = check_inputs((X, y), [(X, y)], task=None, estimator=None, preprocessor=None, max_source_rows=None, seed=0)
    fold = Fold(np.arange(11), np.array([11]), 0)
    error, loss = losses(data, default_learner(data), 0.5, fold, frozenset())
    assert error == 100
    model = WeightedPoolingClassifier(default_learner(data)).fit(X[:11], y[:11])
    assert loss == pytest.approx((1 + np.sum(model.predict_proba(X[11:]) ** 2)) / 2)


def test_the_search_adds_what_helps_beside_what_is_there():
    target = _domain(0, 16, "regression", noise=0.2)
    half = [np.where(np.arange(8) % 2 == k, 1.0, 0.0) for k in range(2)]
    sources = {}
    for k in range(2):  # each knows half of the features only
        X, _ = _domain(k + 1, 300)
        sources[f"half {k}"] = X * half[k], X @ (half[k] * WEIGHT)
    data = check_inputs(target, sources, task=None, estimator=None, preprocessor=None, max_source_rows=None, seed=0)
    trials = Trials(data, default_learner(data), 0.5, draw_folds(data, 5, 4, 0), None, 0)
    sets = {name: frozenset(name) for name in ((), (1,), (2,), (1, 2))}
    trials.run(sets.values(), "")
    loss = {name: trials.mean(each)[1] for name, each in sets.items()}
    assert loss[1, 2] < min(loss[1,], loss[2,]) < loss[()]
    path = forward_search(trials)
    assert path[0].loss == min(loss[1,], loss[2,])
    assert path[0].added == ("half 0" if loss[1,] < loss[2,] else "half 1")
    assert path[0].change == pytest.approx(path[0].loss - loss[()])
    assert [step.kept for step in path] == [True, True]
    assert path[1].loss == loss[1, 2]


def test_the_ranking_as_text_frame_and_json(ranking):
    pytest.importorskip("pandas")
    text = str(ranking)
    assert text.splitlines()[0].split()[:3] == ["source", "rows", "gap"]
    assert [line.split()[0] for line in text.splitlines()[2:6]] == [source.name for source in ranking.sources]
    assert "Use " in text
    assert "flipped" in text.splitlines()[-1]
    assert "would hurt" in text
    frame = ranking.to_frame()
    assert frame.columns[0] == "source"
    assert list(frame["source"]) == [source.name for source in ranking.sources]
    assert list(frame["verdict"]) == [source.verdict for source in ranking.sources]
    assert {"n_rows", "gap", "gap_source", "gap_target", "error_change", "loss_low", "kept_weight"} <= set(frame)
    read = json.loads(json.dumps(ranking.to_dict(), allow_nan=False))
    assert read["sources"][0]["loss_change"]["mean"] == ranking.sources[0].loss_change.mean
    assert read["best_subset"] == list(ranking.best_subset)
    with pytest.raises(KeyError, match="there is no source 'nowhere'"):
        ranking["nowhere"]


def test_without_a_helping_source_the_sentence_says_so(ranking):
    alone = replace(ranking, best_subset=(), sources=tuple(replace(s, verdict="neutral") for s in ranking.sources))
    assert alone.summary().startswith("Use the target alone: no source")
    assert alone.summary().endswith("clearly smaller.")


def test_one_repeat_of_two_folds_and_pooling_without_weights():
    target, sources = _several("regression")
    found = rank_sources(target, sources, n_splits=2, n_repeats=1, target_share=None, random_state=0)
    assert all(np.isfinite(source.loss_change.low) for source in found.sources)
    assert found.level == 0.9


GOOD = _domain(0, 30)


@pytest.mark.parametrize(
    ("target", "sources", "settings", "said"),
    [
        (GOOD, {}, {}, "there are no sources"),
        (GOOD, 3, {}, "sources is int"),
        (GOOD, {"a": GOOD, 1: GOOD, "1": GOOD}, {}, "two sources are called '1'"),
        (GOOD, {"a": GOOD[0]}, {}, "the source 'a' is ndarray, not a pair"),
        (GOOD, GOOD, {}, "the source 'source 1' is ndarray, not a pair"),
        (GOOD, {"a": (GOOD[0], GOOD[1][:-1])}, {}, "the source 'a' has 30 rows in X but 29 labels"),
        (GOOD, {"a": (GOOD[0][:, :3], GOOD[1])}, {}, "the source 'a' has 3 columns, the target 8"),
        (GOOD, {"a": (GOOD[0][:, 0], GOOD[1])}, {}, r"the source 'a' has shape \(30,\)"),
        (GOOD, {"a": (GOOD[0], np.c_[GOOD[1], GOOD[1]])}, {}, r"the y of the source 'a' has shape \(30, 2\)"),
        (GOOD, {"a": (GOOD[0][:0], GOOD[1][:0])}, {}, "the source 'a' has no rows: leave it out"),
        ((GOOD[0][:0], GOOD[1][:0]), {"a": GOOD}, {}, "the target has no rows"),
        ((GOOD[0][:3], GOOD[1][:3]), {"a": GOOD}, {}, "the target has 3 rows: cross-validation needs 4"),
        ((GOOD[0], np.full(30, "yes")), {"a": GOOD}, {}, r"one class \(yes\) among its 30 rows"),
        ((GOOD[0][:8], np.array(list("aaaaaaab"))), {"a": GOOD}, {}, "one row of class b"),
        ((GOOD[0][:4], np.array(list("abcd"))), {"a": GOOD}, {}, "a class of its own"),
        ((GOOD[0], np.arange(30.0)), {"a": (GOOD[0], np.arange(30.0))}, {}, "30 different whole numbers: say whether"),
        ((GOOD[0], np.ones(30)), {"a": (GOOD[0], GOOD[0][:, 0])}, {}, "every label of the target is 1.0"),
        (GOOD, {"a": (GOOD[0], np.arange(30))}, {}, "the source 'a' has numbers for labels, the target text"),
        (GOOD, {"a": GOOD}, {"task": "regression"}, "is no number: use task='classification'"),
        (GOOD, {"a": GOOD}, {"task": "ranking"}, "task is 'ranking'"),
        (GOOD, {"a": (GOOD[0], [None, *GOOD[1][1:]])}, {}, "the y of the source 'a' has None at row 0"),
        ((GOOD[0], np.r_[np.nan, np.arange(29.0)]), {"a": GOOD}, {}, "the y of the target has nan at row 0"),
        ((GOOD[0].astype(str), GOOD[1]), {"a": GOOD}, {}, "values, not numbers: give a preprocessor"),
        (GOOD, {"a": GOOD}, {"target_share": 1}, "target_share is 1"),
        (GOOD, {"a": GOOD}, {"n_splits": 1}, "n_splits is 1"),
        (GOOD, {"a": GOOD}, {"n_repeats": 0}, "n_repeats is 0"),
        (GOOD, {"a": GOOD}, {"level": 90}, "level is 90"),
        (GOOD, {"a": GOOD}, {"max_source_rows": 0}, "max_source_rows is 0"),
        (GOOD, {"a": GOOD}, {"estimator": "forest"}, "estimator is 'forest'"),
        (GOOD, {"a": GOOD}, {"estimator": Ridge()}, "Ridge is a regressor and the task is a classification"),
        (GOOD, {"a": GOOD}, {"preprocessor": LogisticRegression()}, "LogisticRegression, which has no transform"),
        ((GOOD[0][:, :0], GOOD[1]), {"a": (GOOD[0][:, :0], GOOD[1])}, {}, "X has no columns"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_one_line(target, sources, settings, said):
    with pytest.raises(ValueError, match=said) as refused:
        rank_sources(target, sources, **settings)
    assert "\n" not in str(refused.value)


def test_a_frame_and_an_array_are_refused():
    frame = pytest.importorskip("pandas").DataFrame(GOOD[0])
    with pytest.raises(ValueError, match="give all domains in one form"):
        rank_sources(GOOD, {"a": (frame, GOOD[1])})


def test_columns_of_frames_that_differ_are_named():
    target, _ = _frames()
    lacking, strange = target[0].drop(columns="x3"), target[0].assign(age=1)
    turned = target[0][list(reversed(target[0].columns))]
    for frame, said in [
        (lacking, "the source 'a' lacks the column 'x3' that the target has"),
        (strange, "the source 'a' has a column 'age' that the target lacks"),
        (turned, "in another order"),
    ]:
        with pytest.raises(ValueError, match=said):
            rank_sources(target, {"a": (frame, target[1])})


def test_many_whole_numbers_as_classes_are_noted():
    X, y = np.random.default_rng(0).normal(size=(90, 3)), np.arange(90) % 25
    found = rank_sources((X, y), [(X, y)], n_splits=2, n_repeats=1, estimator=DecisionTreeClassifier(max_depth=2))
    assert any("25 whole numbers and were taken as classes; use task='regression'" in note for note in found.notes)
