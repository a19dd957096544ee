"""scikit-learn's scorers on models of many tasks."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import make_scorer, mean_absolute_error, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapmin.deep import MultitaskClassifier, MultitaskRegressor, task_scorer
from gapmin.linear import ParameterSharingClassifier

FOLDS = KFold(2, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 4)), rng.choice(["a", "b"], size=90)
    score = X[:, 0] * np.where(task == "b", -1.0, 1.0) + 0.3 * rng.normal(size=90)
    return X, np.where(score > 0, "ill", "well"), task, score


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def small(kind=MultitaskClassifier):
    return kind(head_hidden=8, epochs=3, lr=0.01, device="cpu", random_state=0)


def test_the_score_is_that_of_predictions_by_task(rows):
    X, y, task, _ = rows
    found = cross_val_score(small(), X, y, cv=FOLDS, scoring=task_scorer("roc_auc"), params={"sample_task": task})
    for score, (train, test) in zip(found, FOLDS.split(X), strict=True):
        clf = small().fit(X[train], y[train], sample_task=task[train])
        expected = roc_auc_score(y[test] == "well", clf.predict_proba(X[test], sample_task=task[test])[:, 1])
        assert score == pytest.approx(expected)
    accuracy = cross_val_score(small(), X, y, cv=FOLDS, scoring=task_scorer("accuracy"), params={"sample_task": task})
    assert accuracy == pytest.approx(cross_val_score(small(), X, y, cv=FOLDS, params={"sample_task": task}))


def test_a_search_takes_several(rows):
    X, y, task, _ = rows
    scoring = {name: task_scorer(name) for name in ("roc_auc", "neg_log_loss")}
    search = GridSearchCV(small(), {"lr": [1e-5, 0.03]}, cv=FOLDS, scoring=scoring, refit="neg_log_loss")
    search.fit(X, y, sample_task=task)
    assert search.best_params_ == {"lr": 0.03}
    assert search.cv_results_["mean_test_roc_auc"][1] > 0.5


def test_regressors_pipelines_linear_settings_and_scorers_of_ones_own(rows):
    X, y, task, score = rows
    mae = task_scorer(make_scorer(mean_absolute_error, greater_is_better=False))
    given = {"cv": FOLDS, "params": {"sample_task": task}, "error_score": "raise"}
    assert (cross_val_score(small(MultitaskRegressor), X, score, scoring=mae, **given) < 0).all()
    piped = make_pipeline(StandardScaler(), small())
    assert (cross_val_score(piped, X, y, scoring=task_scorer("roc_auc"), **given) > 0).all()
    assert (cross_val_score(ParameterSharingClassifier(), X, y, scoring=task_scorer("roc_auc"), **given) > 0.8).all()


def test_what_the_scorer_itself_asks_for_reaches_it(rows):
    X, y, task, _ = rows
    accuracy = sklearn.metrics.get_scorer("accuracy").set_score_request(sample_weight=True)
    given = {"sample_task": task, "sample_weight": np.where(task == "a", 1.0, 0.0)}
    clf = small().set_fit_request(sample_weight=False)
    found = cross_validate(clf, X, y, cv=FOLDS, scoring=task_scorer(accuracy), params=given, return_estimator=True)
    for score, fitted, (_, test) in zip(found["test_score"], found["estimator"], FOLDS.split(X), strict=True):
        assert score == pytest.approx(fitted.task_scores(X[test], y[test], sample_task=task[test])["a"])


def test_what_is_no_scorer_is_named():
    with pytest.raises(TypeError, match="scoring is 3: give the name of a scorer"):
        task_scorer(3)


def test_a_scorer_by_its_bare_name_says_what_hands_the_tasks_on(rows):
    X, y, task, _ = rows
    with pytest.warns(UserWarning, match="to scorers of scikit-learn gapmin.deep.task_scorer hands it on"):
        cross_val_score(small(), X, y, cv=FOLDS, scoring="roc_auc", params={"sample_task": task})


def test_of_many_tasks_ten_are_named():
    X, task = np.zeros((40, 2)), np.repeat(np.arange(20), 2)
    clf = MultitaskClassifier(epochs=0, random_state=0).fit(X, [0, 1] * 20, sample_task=task)
    with pytest.raises(ValueError, match=r"fitted on \[0, 1, 2, 3, 4, 5, 6, 7, 8, 9\] and 10 more$"):
        clf.predict(X, sample_task=task + 20)
