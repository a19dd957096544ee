import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from gapmin.study import TableError
from gapmin.study.methods import BASELINE, MODEL, TARGET_ONLY
from gapmin.study.metrics import (
    CLASS_METRICS,
    VALUE_METRICS,
    class_scores,
    read_metric,
    score_methods,
    score_warnings,
    value_scores,
)


@pytest.fixture
def rare():
    """Three of a hundred rows are positive, and the model says so of none although it ranks them first."""
    y = np.repeat([0, 1], [97, 3])
    share = np.where(y == 1, 0.3, np.linspace(0.01, 0.2, 100))
    return y, np.column_stack([1 - share, share])


@pytest.mark.parametrize("name", CLASS_METRICS)
def test_a_perfect_classifier_has_no_loss(name):
    y = np.array([0, 1, 2, 0, 1, 2] * 5)
    metric = read_metric(name, "classification")
    right, wrong = np.eye(3)[y] * 0.98 + 0.02 / 3, np.eye(3)[(y + 1) % 3] * 0.98 + 0.02 / 3
    found = score_methods(metric, {TARGET_ONLY: wrong, MODEL: right}, y, 3)
    alone, model = found
    assert metric.loss(model.value) < 0.03
    assert metric.loss(alone.value) > metric.loss(model.value)
    assert model.change == pytest.approx(model.value - alone.value)
    assert model.low <= model.value <= model.high


@pytest.mark.parametrize("name", VALUE_METRICS)
def test_a_perfect_regressor_has_no_loss(name):
    y = np.arange(30.0)
    metric = read_metric(name, "regression")
    alone, model = score_methods(metric, {TARGET_ONLY: y + 3, MODEL: y}, y, 0)
    assert metric.loss(model.value) == pytest.approx(0)
    assert metric.loss(alone.value) > 0


def test_a_metric_of_the_other_task_is_refused():
    with pytest.raises(TableError, match=r"^'r2' is no metric for a classification: use error_rate, accuracy"):
        read_metric("r2", "classification")
    with pytest.raises(TableError, match=r"did you mean 'roc_auc'\?$"):
        read_metric("roc_acu", "classification")
    with pytest.raises(TableError, match=r"is no name of a metric: use rmse, mean_absolute_error"):
        read_metric(max, "regression")


def test_areas_are_of_the_rarer_class(rare):
    y, share = rare
    found = class_scores(share, y, ("no", "yes"))
    assert found.positive == ("yes",)
    assert found.roc_auc == pytest.approx(roc_auc_score(y, share[:, 1]))
    assert found.average_precision == pytest.approx(average_precision_score(y, share[:, 1]))
    assert found.average_precision_baseline == pytest.approx(0.03)
    turned = class_scores(share[:, ::-1], 1 - y, ("yes", "no"))
    assert turned.positive == ("yes",)
    assert turned.roc_auc == pytest.approx(found.roc_auc)


def test_confusion_counts_every_row(rare):
    y, share = rare
    found = class_scores(share, y, ("no", "yes"))
    assert found.confusion == ((97, 0), (3, 0))
    assert found.recall == (1.0, 0.0)
    assert found.precision == (0.97, None)
    assert sum(n_rows for _, _, n_rows in found.calibration) == 100


def test_one_class_and_no_gain_are_warned_of(rare):
    y, share = rare
    metric = read_metric(None, "classification")
    guess = np.tile([0.97, 0.03], (100, 1))
    scores = score_methods(metric, {BASELINE: guess, TARGET_ONLY: guess, MODEL: share}, y, 2)
    said = score_warnings(class_scores(share, y, ("no", "yes")), scores, metric)
    assert any("predicts class no for every row" in each for each in said)
    assert any("no better than the baseline" in each for each in said)


def test_a_class_that_is_never_found_is_warned_of():
    y = np.array([0, 1, 2] * 4)
    share = np.eye(3)[np.where(y == 2, 1, y)]
    found = class_scores(share, y, ("a", "b", "c"))
    assert score_warnings(found, (), read_metric(None, "classification")) == [
        "The model finds no row of class c: its recall is 0."
    ]


def test_nine_of_ten_rows_are_in_the_band():
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    predicted = y + rng.normal(size=1000)
    found = value_scores(predicted, y, 0)
    assert np.mean(np.abs(predicted - y) <= found.half_width) == pytest.approx(0.9, abs=0.002)
    assert len(found.points) <= 300
