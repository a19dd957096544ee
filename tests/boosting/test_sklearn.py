"""The boosters as scikit-learn estimators: its checks, its tools, its kinds of data."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from gapmin import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GapBoostClassifier,
    GapBoostRegressor,
    TargetKFold,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransferBoostClassifier,
)
from gapmin.linear import WeightedLogisticRegression
from gapmin_support.checks import scikit_learn_checks
from gapmin_support.frames import to_frame

PLAIN = [
    AdaBoostClassifier(),
    AdaBoostRegressor(),
    GapBoostClassifier(),
    GapBoostRegressor(),
    TrAdaBoostClassifier(),
    TrAdaBoostRegressor(),
    TransferBoostClassifier(),
    WeightedLogisticRegression(),
]
OTHER_SETTINGS = [
    GapBoostClassifier(exact_cap=True, gamma_max=0.5, target_share=0.5, vote="soft"),
    *(type(e)(resample=True, n_estimators=3, random_state=0) for e in PLAIN if hasattr(e, "resample")),
]
EQUIVALENCE = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]


@scikit_learn_checks(
    PLAIN,
    OTHER_SETTINGS,
    expected_failed_checks=lambda e: (
        dict.fromkeys(EQUIVALENCE, "a bootstrap is not a weight") if getattr(e, "resample", False) else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    sample_domain = np.r_[np.full(30, -1), np.full(50, 1), np.full(40, 2)]
    y = (X[:, 0] + 0.5 * X[:, 1] * (sample_domain > 0) + 0.3 * rng.normal(size=120) > 0).astype(int)
    return X, y, sample_domain


@pytest.mark.parametrize("routing", [False, True])
def test_cross_validation_tests_on_the_target_only(data, routing):
    X, y, sample_domain = data
    clf = GapBoostClassifier(n_estimators=3)
    with config_context(enable_metadata_routing=routing):
        if routing:
            arguments = {"params": {"sample_domain": sample_domain, "groups": sample_domain}}
        else:
            arguments = {"groups": sample_domain, "params": {"sample_domain": sample_domain}}
        scores = cross_val_score(clf, X, y, cv=TargetKFold(5), **arguments)
    by_hand = []
    for train, test in TargetKFold(5).split(X, y, sample_domain):
        assert (sample_domain[test] < 0).all()
        fitted = clf.fit(X[train], y[train], sample_domain=sample_domain[train])
        by_hand.append(fitted.score(X[test], y[test]))
    np.testing.assert_allclose(scores, by_hand)


@pytest.mark.parametrize("routing", [False, True])
def test_grid_search(data, routing):
    X, y, sample_domain = data
    grid = {"rho_source": [-2.0, 0.0], "estimator__lam": [0.01, 1.0]}
    clf = GapBoostClassifier(WeightedLogisticRegression(), n_estimators=3)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(clf, grid, cv=TargetKFold(3))
        search.fit(X, y, groups=sample_domain, sample_domain=sample_domain)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.domains_.tolist() == [-1, 1, 2]


@pytest.mark.parametrize("routing", [False, True])
def test_inside_a_pipeline(data, routing):
    X, y, sample_domain = data
    with config_context(enable_metadata_routing=routing):
        pipe = make_pipeline(StandardScaler(), GapBoostClassifier(n_estimators=3))
        name = "sample_domain" if routing else "gapboostclassifier__sample_domain"
        pipe.fit(X, y, **{name: sample_domain})
    assert pipe[-1].domains_.tolist() == [-1, 1, 2]


LEARNERS = [
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=2),
    LinearSVC(),
    KNeighborsClassifier(),  # takes no weights
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())),
]


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda e: str(e).replace("\n", "")[:60])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_learner(data, learner, routing, n_classes):
    X, _, sample_domain = data
    y = np.array(["a", "b", "c"])[np.argsort(np.argsort(X[:, 0])) * n_classes // len(X)]
    with config_context(enable_metadata_routing=routing):
        clf = GapBoostClassifier(learner, n_estimators=4, random_state=0).fit(X, y, sample_domain=sample_domain)
        assert clf.score(X, y) > 0.6
        assert np.isfinite(clf.decision_function(X)).all()


def test_a_pipeline_hands_the_weights_to_every_step_that_takes_them(data):
    X, y, sample_domain = data
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    clf = GapBoostClassifier(make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)), n_estimators=4)
    one = clf.fit(X, y, sample_domain=sample_domain, sample_weight=weight).decision_function(X)
    rows = np.repeat(np.arange(len(y)), weight)
    two = clf.fit(X[rows], y[rows], sample_domain=sample_domain[rows]).decision_function(X)
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_soft_votes_need_something_soft(data):
    X, y, sample_domain = data
    hard = GapBoostClassifier(LinearSVC(), vote="soft", n_estimators=3)
    assert np.isfinite(hard.fit(X, y, sample_domain=sample_domain).decision_function(X)).all()
    from sklearn.linear_model import RidgeClassifier

    class Silent(RidgeClassifier):
        decision_function = None

        def __getattribute__(self, name):
            if name == "decision_function":
                raise AttributeError(name)
            return super().__getattribute__(name)

    with pytest.raises(ValueError, match="vote='soft' needs predict_proba or decision_function, and Silent"):
        GapBoostClassifier(Silent(), vote="soft").fit(X, y, sample_domain=sample_domain)


def test_soft_votes_are_tanh_of_half_the_log_odds(data):
    X, y, sample_domain = data
    clf = GapBoostClassifier(vote="soft", n_estimators=3).fit(X, y, sample_domain=sample_domain)
    expected = sum(
        a * np.tanh(h.decision_function(X) / 2) for a, h in zip(clf.estimator_weights_, clf.estimators_, strict=True)
    )
    np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-12)


def test_frames_reach_the_learner_as_they_are(data):
    pd = pytest.importorskip("pandas")
    X, y, sample_domain = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["colour"] = np.where(X[:, 0] > 0, "red", "green")
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["b", "c"]))
    learner = make_pipeline(columns, LogisticRegression())
    clf = GapBoostClassifier(learner, n_estimators=3).fit(frame, y, sample_domain=sample_domain)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c", "d", "colour"]
    assert clf.score(frame, y) > 0.7
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["b", "a", "c", "d", "colour"]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_frames_of_numbers_give_what_arrays_give(data, library, learner):
    X, y, sample_domain = data
    frame = pytest.importorskip(library).DataFrame({f"x{j}": X[:, j] for j in range(4)})
    from_frame = GapBoostClassifier(learner, n_estimators=3, random_state=0).fit(frame, y, sample_domain=sample_domain)
    from_array = GapBoostClassifier(learner, n_estimators=3, random_state=0).fit(X, y, sample_domain=sample_domain)
    np.testing.assert_array_equal(from_frame.decision_function(frame), from_array.decision_function(X))
    assert from_frame.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


def test_an_empty_frame_is_refused(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="0 rows"):
        GapBoostClassifier(DecisionTreeClassifier()).fit(to_frame(X)[:0], y[:0])


@pytest.mark.parametrize("learner", [None, LogisticRegression(tol=1e-8)])
@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_gives_what_dense_gives(data, learner, convert):
    X, y, sample_domain = data
    X = X * (np.abs(X) > 0.5)
    dense = GapBoostClassifier(learner, n_estimators=4).fit(X, y, sample_domain=sample_domain)
    sparse = GapBoostClassifier(learner, n_estimators=4).fit(convert(X), y, sample_domain=sample_domain)
    np.testing.assert_allclose(sparse.decision_function(convert(X)), dense.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_is_never_made_dense(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random(60, 1000, density=0.01, format="csr", random_state=0)
    y = rng.integers(n_classes, size=60)
    y[:3] = range(3)
    y %= n_classes
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sp.csr_matrix, name, lambda *a, **k: pytest.fail("made dense"))
    GapBoostClassifier(n_estimators=3).fit(X, y, sample_domain=np.where(np.arange(60) < 20, -1, 1)).predict(X)


def test_nan_goes_to_learners_that_take_it_and_to_no_others(data):
    X, y, sample_domain = data
    X = X.copy()
    X[::7, 1] = np.nan
    learner = HistGradientBoostingClassifier(max_iter=5)
    clf = GapBoostClassifier(learner, n_estimators=2).fit(X, y, sample_domain=sample_domain)
    assert clf.score(X, y) > 0.7
    reg = GapBoostRegressor(HistGradientBoostingRegressor(max_iter=5), n_estimators=2)
    assert reg.fit(X, y * 1.0, sample_domain=sample_domain).score(X, y) > 0
    with pytest.raises(ValueError, match="NaN"):
        GapBoostClassifier().fit(X, y, sample_domain=sample_domain)


@pytest.mark.parametrize("convert", [np.asarray, to_frame, sp.csr_array], ids=["array", "frame", "sparse"])
def test_nan_goes_to_a_pipeline_that_fills_it_in(data, convert):
    X, y, sample_domain = data
    X = X.copy()
    X[::7, 1] = np.nan
    learner = make_pipeline(SimpleImputer(), LogisticRegression())
    clf = GapBoostClassifier(learner, n_estimators=2).fit(convert(X), y, sample_domain=sample_domain)
    assert clf.score(convert(X), y) > 0.7


@pytest.mark.parametrize("learner", [None, LogisticRegression()])
def test_nan_is_refused_at_prediction_too(data, learner):
    X, y, sample_domain = data
    clf = GapBoostClassifier(learner, n_estimators=2).fit(X, y, sample_domain=sample_domain)
    reg = GapBoostRegressor(Ridge(), n_estimators=2).fit(X, X[:, 0] + y, sample_domain=sample_domain)
    X = X.copy()
    X[0, 0] = np.nan
    for model in (clf, reg):
        with pytest.raises(ValueError, match="NaN"):
            model.predict(X)


def test_threads_whatever_the_backend(data):
    X, y, sample_domain = data
    with joblib.parallel_config(backend="loky"):
        two = GapBoostClassifier(n_estimators=2, n_jobs=2).fit(X, y, sample_domain=sample_domain)
    one = GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    np.testing.assert_array_equal(two.decision_function(X), one.decision_function(X))


def test_importances_are_those_of_the_learners_that_vote(data):
    X, y, sample_domain = data
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    clf = TrAdaBoostClassifier(tree, n_estimators=6).fit(X, y, sample_domain=sample_domain)
    table = np.array([h.feature_importances_ for h in clf.estimators_[2:]])
    np.testing.assert_allclose(clf.feature_importances_, np.average(table, axis=0, weights=clf.estimator_weights_[2:]))


def test_single_precision_stays_single(data):
    X, y, sample_domain = data
    clf = GapBoostClassifier(n_estimators=3).fit(X.astype(np.float32), y, sample_domain=sample_domain)
    assert clf.estimators_[0].coef_.dtype == np.float32
    double = GapBoostClassifier(n_estimators=3).fit(X, y, sample_domain=sample_domain)
    assert (clf.predict(X.astype(np.float32)) == double.predict(X)).mean() > 0.98


@pytest.mark.parametrize(
    "clf", [GapBoostClassifier(vote="soft"), TrAdaBoostClassifier(), AdaBoostClassifier()], ids=str
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_last_stage_is_the_model(data, clf, n_classes):
    X, _, sample_domain = data
    y = np.argsort(np.argsort(X[:, 0] + 0.3 * X[:, 1])) * n_classes // len(X)
    clf.set_params(n_estimators=6).fit(X, y, sample_domain=sample_domain)
    assert len(list(clf.staged_predict(X))) == len(clf.estimators_)
    np.testing.assert_array_equal(list(clf.staged_predict(X))[-1], clf.predict(X))
    np.testing.assert_allclose(list(clf.staged_decision_function(X))[-1], clf.decision_function(X))
    np.testing.assert_allclose(list(clf.staged_predict_proba(X))[-1], clf.predict_proba(X))
    np.testing.assert_allclose(list(clf.staged_score(X, y))[-1], clf.score(X, y))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X))
    np.testing.assert_array_equal(clf.classes_[clf.predict_proba(X).argmax(axis=1)], clf.predict(X))


@pytest.mark.parametrize("reg", [GapBoostRegressor(), TrAdaBoostRegressor(), AdaBoostRegressor()], ids=str)
def test_the_last_stage_is_the_regressor(data, reg):
    X, y, sample_domain = data
    reg.set_params(estimator=Ridge(), n_estimators=6).fit(X, X[:, 0] + y, sample_domain=sample_domain)
    assert len(list(reg.staged_predict(X))) == len(reg.estimators_)
    np.testing.assert_allclose(list(reg.staged_predict(X))[-1], reg.predict(X))
    np.testing.assert_allclose(list(reg.staged_score(X, X[:, 0] + y))[-1], reg.score(X, X[:, 0] + y))


def test_feature_importances(data):
    X, y, sample_domain = data
    clf = GapBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=4, random_state=0)
    clf.fit(X, y, sample_domain=sample_domain)
    assert clf.feature_importances_.argmax() == 0
    np.testing.assert_allclose(clf.feature_importances_.sum(), 1)
    clf = GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    assert not hasattr(clf, "feature_importances_")
    with pytest.raises(AttributeError, match="WeightedLogisticRegression has no feature_importances_"):
        _ = clf.feature_importances_


def test_a_target_class_that_no_source_has_is_learnt(data):
    X, _, sample_domain = data
    y = np.where(X[:, 0] > 0, "cat", "dog")
    y[(sample_domain < 0) & (X[:, 0] > 0.5)] = "elk"
    for booster in (GapBoostClassifier, TransferBoostClassifier, TrAdaBoostClassifier, AdaBoostClassifier):
        clf = booster(n_estimators=5).fit(X, y, sample_domain=sample_domain)
        assert clf.classes_.tolist() == ["cat", "dog", "elk"]
        assert clf.predict_proba(X).shape == (len(X), 3)


def test_a_source_of_one_class_is_a_learner_that_knows_one_answer(data):
    X, y, sample_domain = data
    y = np.where(sample_domain == 1, 1, y)
    clf = GapBoostClassifier(n_estimators=5).fit(X, y, sample_domain=sample_domain)
    assert np.isfinite(clf.sample_weight_).all()


class Forgetful(LogisticRegression):
    """Never learns class 2."""

    def fit(self, X, y, sample_weight=None):
        known = y != 2
        return super().fit(X[known], y[known], None if sample_weight is None else sample_weight[known])


@pytest.mark.parametrize("vote", ["hard", "soft"])
def test_a_learner_that_knows_fewer_classes_votes_for_those(data, vote):
    X, _, sample_domain = data
    y = np.argsort(np.argsort(X[:, 0])) * 3 // len(X)
    clf = GapBoostClassifier(Forgetful(), n_estimators=2, vote=vote).fit(X, y, sample_domain=sample_domain)
    assert clf.predict_proba(X).shape == (len(X), 3)
    assert (clf.decision_function(X)[:, 2] == 0).all()


def test_every_row_is_target_without_sample_domain(data):
    X, y, _ = data
    one = GapBoostClassifier(gamma_max=1.0).fit(X, y)
    two = AdaBoostClassifier().fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X))
    assert one.domains_.tolist() == [-1]
    for booster in (TransferBoostClassifier, TrAdaBoostClassifier):
        assert booster().fit(X, y).score(X, y) > 0.8


def test_a_progress_bar_only_when_asked_for(data, capsys):
    X, y, sample_domain = data
    GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=sample_domain)
    assert capsys.readouterr() == ("", "")
    pytest.importorskip("rich")
    GapBoostClassifier(n_estimators=2, verbose=1).fit(X, y, sample_domain=sample_domain)
    out, err = capsys.readouterr()
    assert out == ""
    assert "GapBoostClassifier" in err


def test_a_perfect_learner_decides_and_ends_it():
    X = np.linspace(-1, 1, 40).reshape(-1, 1)
    y = (X[:, 0] > 0).astype(int)
    sample_domain = np.where(np.arange(40) % 4 == 0, -1, 1)
    tree = DecisionTreeClassifier(random_state=0)
    clf = GapBoostClassifier(tree).fit(X, y, sample_domain=sample_domain)
    assert len(clf.estimators_) == 1
    assert clf.estimator_errors_.tolist() == [0.0]
    assert np.isfinite(clf.estimator_weights_).all()
    assert clf.score(X, y) == 1
    on = GapBoostClassifier(tree, stop_when_perfect=False, n_estimators=4).fit(X, y, sample_domain=sample_domain)
    assert len(on.estimators_) == 4
    np.testing.assert_allclose(on.estimator_weights_, on.estimator_weights_[0])
    for booster in (GapBoostRegressor, AdaBoostRegressor, TrAdaBoostRegressor):
        reg = booster(DecisionTreeRegressor(random_state=0)).fit(X, 3.0 * y, sample_domain=sample_domain)
        assert len(reg.estimators_) == 1
        np.testing.assert_allclose(reg.predict(X), 3.0 * y)


def test_a_first_learner_no_better_than_chance_is_kept_and_a_later_one_is_not():
    from sklearn.dummy import DummyRegressor

    X = np.arange(10.0).reshape(-1, 1)
    reg = GapBoostRegressor(DummyRegressor(strategy="constant", constant=100.0), n_estimators=5)
    reg.fit(X, np.r_[np.zeros(9), 1.0])  # every error is about the largest: epsilon is near 1
    assert len(reg.estimators_) == 1
    assert reg.estimator_weights_.tolist() == [1.0]
    np.testing.assert_allclose(reg.predict(X), 100)
