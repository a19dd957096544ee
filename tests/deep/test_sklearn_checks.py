"""The networks as scikit-learn estimators."""

import pytest

from gapmin.deep import GapMTNNClassifier, MultitaskClassifier, MultitaskRegressor
from gapmin_support.checks import scikit_learn_checks

ENOUGH = {"epochs": 30, "lr": 0.01, "head_hidden": 16, "device": "cpu"}


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "equal up to rounding, and in one batch only: see "
    "test_weights_of_rows.py",
}
OF_NUMBERS = {"check_methods_subset_invariance": "the last digit of float32 depends on how many rows are multiplied"}


@scikit_learn_checks(
    [MultitaskClassifier(**ENOUGH), GapMTNNClassifier(**ENOUGH), MultitaskRegressor(**ENOUGH | {"epochs": 60})],
    expected_failed_checks=lambda each: EXPECTED | (OF_NUMBERS if isinstance(each, MultitaskRegressor) else {}),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [MultitaskClassifier, GapMTNNClassifier, MultitaskRegressor])
def test_reads_as_it_was_made(kind):
    assert repr(kind()) == f"{kind.__name__}()"
