"""Transfer*CV: uses a source that helps, drops one that does not, and gives the same however it is run."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from gapmin import TargetKFold, TransferClassifierCV, TransferRegressorCV
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._candidates import METHODS, Kit, default_learners, gradient_boosting
from gapmin.selection._data import Data
from gapmin_support.checks import repeats, scikit_learn_checks

QUICK = {"n_repeats": 1, "random_state": 0}


@scikit_learn_checks(
    [TransferClassifierCV(n_repeats=1, n_splits=2), TransferRegressorCV(n_repeats=1, n_splits=2)],
    [TransferClassifierCV(DecisionTreeClassifier(max_depth=3), n_repeats=1, n_splits=2)],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(n_target=40, n_source=300, *, flipped=False, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X, domain = rng.normal(size=(n_target + n_source, n_features)), np.repeat([-1, 1], [n_target, n_source])
    score = X @ np.linspace(1.5, 0.2, n_features) + 0.7 * rng.normal(size=domain.size)
    y = np.where(score * np.where((domain > 0) & flipped, -1, 1) > 0, "yes", "no")
    return X, y, domain


@pytest.mark.parametrize("seed", [0, *repeats([1, 2])])
def test_a_source_like_the_target_is_used(seed):
    X, y, domain = problem(20, seed=seed)
    model = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    assert model.transfer_verdict_.transfers
    assert model.transfer_verdict_.difference < 0
    assert "help" in str(model.transfer_verdict_)
    assert model.domain_weight_[1] > 0
    X_new, y_new, _ = problem(500, 1, seed=100)
    alone = TransferClassifierCV(methods=["target only"], **QUICK).fit(X, y, sample_domain=domain)
    assert model.score(X_new, y_new) > alone.score(X_new, y_new)


@pytest.mark.parametrize("seed", [0, *repeats([1, 2])])
def test_a_source_that_lies_is_left_out(seed):
    X, y, domain = problem(flipped=True, seed=seed)
    model = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    alone = TransferClassifierCV(methods=["target only"], **QUICK).fit(X, y, sample_domain=domain)
    assert not model.transfer_verdict_.transfers
    assert model.transfer_verdict_.method == "target only"
    assert "left out" in str(model.transfer_verdict_)
    assert model.domain_weight_[1] == 0
    assert np.array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_target_only_does_not_look_at_the_source():
    X, y, domain = problem()
    kept = domain < 0
    one = TransferClassifierCV(methods=["target only"], **QUICK).fit(X, y, sample_domain=domain)
    other = TransferClassifierCV(**QUICK).fit(X[kept], y[kept])
    assert one.best_params_["learner"].get_params().keys() == other.best_params_["learner"].get_params().keys()
    assert one.transfer_verdict_.loss == pytest.approx(other.transfer_verdict_.loss)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("seed", [0, *repeats([1])])
def test_of_two_sources_the_one_that_lies_is_dropped(seed):
    X, y, domain = problem(30, 500, seed=seed)
    domain = np.where((domain > 0) & (np.arange(domain.size) % 2 == 0), 2, domain)
    y = np.where(domain == 2, np.where(y == "yes", "no", "yes"), y)
    model = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    assert model.transfer_verdict_.transfers
    assert model.domain_weight_[1] > 5 * model.domain_weight_[2]


def test_a_regression():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(320, 6)), np.repeat([-1, 1], [20, 300])
    y = X.sum(axis=1) + 0.3 * rng.normal(size=320)
    assert TransferRegressorCV(**QUICK).fit(X, y, sample_domain=domain).transfer_verdict_.transfers
    mirrored = np.where(domain > 0, -y, y)
    model = TransferRegressorCV(**QUICK).fit(X, mirrored, sample_domain=domain)
    assert not model.transfer_verdict_.transfers
    shifted = TransferRegressorCV(**QUICK).fit(X, 1000 + 50 * mirrored, sample_domain=domain)
    np.testing.assert_allclose(shifted.predict(X), 1000 + 50 * model.predict(X), rtol=1e-6)
    assert shifted.transfer_verdict_.error == pytest.approx(50 * model.transfer_verdict_.error)


@pytest.mark.parametrize("kind", [TransferClassifierCV, *repeats([TransferRegressorCV])])
def test_the_number_of_processes_changes_nothing(kind):
    X, y, domain = problem(25, 120)
    y = y if kind is TransferClassifierCV else X[:, 0] + X[:, 1] ** 2
    one, two = (kind(n_jobs=n, n_repeats=2, random_state=3).fit(X, y, sample_domain=domain) for n in (1, 2))
    assert one.cv_results_["candidate"] == two.cv_results_["candidate"]
    assert np.array_equal(one.cv_results_["mean_loss"], two.cv_results_["mean_loss"])
    assert one.transfer_verdict_ == two.transfer_verdict_
    assert np.array_equal(one.predict(X), two.predict(X))


def test_names_of_classes_and_numbers_of_domains_do_not_matter():
    X, y, domain = problem(25, 120)
    renamed = np.where(y == "yes", 7, 3)
    one = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    other = TransferClassifierCV(**QUICK).fit(X, renamed, sample_domain=5 * domain)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    assert other.domain_weight_.keys() == {-5, 5}


def test_inputs_are_not_changed():
    X, y, domain = problem(25, 60)
    before = X.copy(), y.copy(), domain.copy()
    TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    for now, then in zip((X, y, domain), before, strict=True):
        assert np.array_equal(now, then)


@pytest.mark.parametrize("n_target", [4, 10, 11])
@pytest.mark.parametrize("n_rare", [1, 2])
def test_few_rows_and_rare_classes(n_target, n_rare):
    X, y, domain = problem(n_target, 60)
    y[:n_target] = "no"
    y[:n_rare] = "yes"
    model = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    assert np.isfinite(model.cv_results_["mean_loss"]).all()
    assert set(model.predict(X)) <= {"yes", "no"}


def test_several_classes_some_of_the_source_alone():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(240, 4)), np.repeat([-1, 1], [40, 200])
    y = np.digitize(X[:, 0], [-0.7, 0.7, 1.5])
    y[(domain < 0) & (y == 3)] = 2
    model = TransferClassifierCV(**QUICK).fit(X, y, sample_domain=domain)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.slow
def test_what_the_search_does_with_little_effort_is_done_well_in_the_end():
    rng = np.random.default_rng(0)
    X, domain = rng.uniform(-1, 1, size=(660, 3)), np.repeat([-1, 1], [60, 600])
    efforts = {"linear": ("tol", 1e-5, 1e-8), "kernel": ("n_landmarks", 300, 1000)}
    efforts |= {"forest": ("n_estimators", 20, 200), "boosting": ("n_estimators", 30, 150)}
    kit = Kit(False, [1])
    for learner in default_learners(False, X * [1, 10, 100], 2):
        name, tried, used = efforts[learner.name]
        step = "learner__" if learner.is_scaled else ""
        candidate = kit.target_only(learner)
        assert candidate.estimator.get_params()[f"estimator__{step}{name}"] == tried
        assert candidate.final(domain, 0).get_params()[f"estimator__{step}{name}"] == used
        assert candidate.final(domain, 0, thorough=False).get_params()[f"estimator__{step}{name}"] == tried
    model = TransferClassifierCV(methods=["pooling"], blend=False, **QUICK)
    model.fit(X, X[:, 0] * X[:, 1] > 0, sample_domain=domain)
    name = "n_landmarks" if "n_landmarks" in model.best_params_["learner"].get_params() else "n_estimators"
    assert model.best_estimator_.estimator_.get_params()[name] > model.best_params_["learner"].get_params()[name]
    boosted = TransferRegressorCV(DecisionTreeRegressor(max_depth=2), methods=["gapBoost"], blend=False, **QUICK)
    boosted.fit(X, X.sum(axis=1), sample_domain=domain)
    assert boosted.best_estimator_.n_estimators == 20


def test_the_last_fit_has_all_rows_of_a_source_that_was_sampled():
    X, y, domain = problem(30, 900)
    model = TransferClassifierCV(max_search_rows=100, methods=["pooling"], **QUICK).fit(X, y, sample_domain=domain)
    assert model.transfer_verdict_.transfers
    assert (model.sample_weight_[domain > 0] > 0).all()
    assert model.transfer_verdict_.n_source == 900


@pytest.mark.parametrize("method", METHODS)
def test_each_method_alone_with_a_learner_of_the_users(method):
    X, y, domain = problem(30, 120)
    domain = np.where((domain > 0) & (np.arange(domain.size) % 2 == 0), 2, domain)
    model = TransferClassifierCV(LogisticRegression(), methods=[method], n_standard_errors=0, **QUICK)
    model.fit(X, y, sample_domain=domain)
    assert set(model.cv_results_["method"]) == {"target only", method}
    assert model.best_params_["method"] in ("target only", method)


def test_the_learners_own_grid():
    X, y, domain = problem(40, 120)
    grid = {"max_depth": [1, 4]}
    model = TransferClassifierCV(DecisionTreeClassifier(), param_grid=grid, **QUICK).fit(X, y, sample_domain=domain)
    depths = {each["learner"].max_depth for each in model.cv_results_["params"]}
    assert depths == {1, 4}
    assert model.best_params_ == model.cv_results_["params"][model.best_index_]


def test_learners_without_probabilities_or_weights():
    X, y, domain = problem(30, 80)
    model = TransferClassifierCV(LinearSVC(), methods=["pooling", "gapBoost"], **QUICK).fit(X, y, sample_domain=domain)
    assert set(model.predict(X)) == {"yes", "no"}


def test_frames_with_text_and_gaps_through_a_pipeline():
    X, y, domain = problem(30, 80)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(town=np.where(X[:, 0] > 0, "north", "south"))
    frame.loc[3, "a"] = np.nan
    prepare = make_column_transformer((OneHotEncoder(), ["town"]), remainder=SimpleImputer())
    model = TransferClassifierCV(make_pipeline(prepare, LogisticRegression()), **QUICK)
    model.fit(frame, y, sample_domain=domain)
    assert model.predict_proba(frame.iloc[:5]).shape == (5, 2)


def test_sparse_rows_stay_sparse():
    X, y, domain = problem(30, 80)
    dense = np.where(np.abs(X) > 1, X, 0.0)
    model = TransferClassifierCV(**QUICK).fit(sp.csr_matrix(dense), y, sample_domain=domain)
    assert np.array_equal(model.predict(sp.csr_matrix(dense)), model.predict(dense))


def test_within_scikit_learns_cross_validation():
    X, y, domain = problem(30, 60)
    model = TransferClassifierCV(WeightedLogisticRegression(), methods=["pooling"], **QUICK)
    scores = cross_val_score(model, X, y, cv=TargetKFold(3), groups=domain, params={"sample_domain": domain})
    assert scores.shape == (3,)
    assert clone(model).get_params()["methods"] == ["pooling"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"methods": ["boosting"]}, "methods has 'boosting': give a list with some of 'target only', 'pooling'"),
        ({"methods": "pooling"}, "methods"),
        ({"n_splits": 1}, "n_splits"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"n_standard_errors": -1}, "n_standard_errors"),
        ({"max_search_rows": 0}, "max_search_rows"),
        ({"param_grid": {"C": [1.0]}}, "param_grid .* estimator"),
        ({"estimator": DecisionTreeRegressor()}, "DecisionTreeRegressor, which is no classifier: give a classifier"),
    ],
)
def test_refuses(parameters, message):
    X, y, domain = problem(20, 40)
    with pytest.raises(ValueError, match=message):
        TransferClassifierCV(**parameters).fit(X, y, sample_domain=domain)


def test_labels_whose_squares_overflow_are_refused_and_large_ones_are_not():
    X, _, domain = problem(20, 40)
    with pytest.raises(ValueError, match=r"y has a value of .*e\+1[56]\d, .*: divide them by a power of ten"):
        TransferRegressorCV().fit(X, 1e155 * X[:, 0], sample_domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TransferRegressorCV(Ridge(), n_repeats=1).fit(X, 1e99 * X[:, 0], sample_domain=domain)
    assert model.transfer_verdict_.kinship > 0.5


@pytest.mark.slow
def test_features_too_large_are_refused_and_any_others_are_not():
    X, y, domain = problem(12, 30)
    with pytest.raises(ValueError, match=r"X has a value of .*e\+150 in size, .*: divide its column by a power of ten"):
        TransferClassifierCV().fit(1e150 * X, y, sample_domain=domain)
    for moved in (X + np.eye(8)[0] * 1e6, X + 1e9, np.full_like(X, 1000000.1), 1e12 * X, 1e-161 * X):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            TransferClassifierCV(n_repeats=1, n_splits=2, random_state=0).fit(moved, y, sample_domain=domain)


def test_a_constant_column_and_many_classes_without_a_warning():
    X, _, domain = problem(40, 120)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The number of unique classes")  # scikit-learn 1.7 warns of any such labels
        X[:, 0] = 0.1
        TransferRegressorCV(n_repeats=1, n_splits=2, random_state=0).fit(X, X.sum(axis=1), sample_domain=domain)
        many = np.argsort(np.argsort(X.sum(axis=1))) // 6
        TransferClassifierCV(n_repeats=1, random_state=0).fit(X, many, sample_domain=domain)


def test_rows_that_do_not_train_do_not_starve_the_boosting_of_the_target():
    """What each stage draws is by the rows that train, not by all there are."""
    domain = np.repeat([-1, 1, 2], [40, 300, 19_660])
    learner = gradient_boosting(False, np.zeros((20_000, 3)))
    kit = Kit(False, [1, 2])
    half = kit.pooling(learner)[0]

    def share(candidate, **thorough):
        return candidate.final(domain, 0, **thorough).get_params()["estimator__subsample"]

    for thorough in (False, True):
        assert share(kit.target_only(learner), thorough=thorough) == 1
        assert share(kit.of_sources(half, (1,)), thorough=thorough) == 1
    assert share(half, thorough=False) == 0.05
    assert share(half) == 1


def test_too_few_rows_and_one_class():
    X, y, domain = problem(3, 40)
    with pytest.raises(ValueError, match=r"the target has 3 rows .* give at least 4, better 10 or more"):
        TransferRegressorCV().fit(X, X[:, 0], sample_domain=domain)
    X, y, domain = problem(20, 40)
    with pytest.raises(ValueError, match="the target has one class"):
        TransferClassifierCV().fit(X, np.where(domain < 0, "no", y), sample_domain=domain)
    X[5, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        TransferClassifierCV().fit(X, y, sample_domain=domain)


def test_a_regression_tree_of_the_users_is_boosted():
    X, _, domain = problem(25, 80)
    model = TransferRegressorCV(DecisionTreeRegressor(max_depth=3), methods=["gapBoost"], **QUICK)
    model.fit(X, X[:, 0], sample_domain=domain)
    assert "gapBoost" in model.cv_results_["method"]


def test_a_forest_of_very_many_rows_is_held_small(monkeypatch):
    from gapmin.selection import _candidates

    candidate = _candidates.Kit(False, [1]).pooling(_candidates.forest(False, np.empty((500, 1))))[0]
    monkeypatch.setattr(_candidates, "_MANY_ROWS", 50)
    monkeypatch.setattr(_candidates, "_FOREST_OF_MANY", {"bootstrap": True, "max_samples": 50, "max_leaf_nodes": 8})
    X, y, domain = problem(20, 80)
    fitted = candidate.final(domain, 0).fit(X, y, sample_domain=domain).estimator_
    assert max(tree.get_n_leaves() for tree in fitted.estimators_) <= 8
    few = domain[:40]
    assert candidate.fit(X[:40], y[:40], few, 0).estimator_.max_leaf_nodes is None


def test_single_precision_gives_the_model_of_double_precision():
    X, y, domain = problem(20, 80)
    X = X.astype(np.float32)
    single, double = (
        TransferClassifierCV(n_repeats=1, n_splits=2, random_state=0).fit(each, y, sample_domain=domain)
        for each in (X, X.astype(np.float64))
    )
    np.testing.assert_array_equal(single.predict_proba(X), double.predict_proba(X))


def test_a_small_source_is_not_lost_where_a_large_one_is_sampled():
    rng = np.random.default_rng(0)
    domain = np.repeat([-1, 1, 2, 3], [20, 3000, 2, 300])
    X = rng.normal(size=(domain.size, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=domain.size)
    model = TransferRegressorCV(Ridge(), methods=["pooling"], max_search_rows=500, n_repeats=1, random_state=1)
    sampled = model._sampled(Data(X, y, domain, None), seed=0)
    assert np.unique(sampled.domain, return_counts=True)[1].tolist()[::-1] == [249, 2, 249, 20]
    model.fit(X, y, sample_domain=domain)
    assert set(model.domain_weight_) == {-1, 1, 2, 3}
    np.testing.assert_allclose(sum(model.domain_weight_.values()), 1)
