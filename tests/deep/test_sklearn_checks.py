"""The classifiers as scikit-learn estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin.deep import GapMTNNClassifier, MultitaskClassifier

ENOUGH = {"epochs": 30, "lr": 0.01, "head_hidden": 16, "device": "cpu"}


@parametrize_with_checks([MultitaskClassifier(**ENOUGH), GapMTNNClassifier(**ENOUGH)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [MultitaskClassifier, GapMTNNClassifier])
def test_reads_as_it_was_made(kind):
    assert repr(kind()) == f"{kind.__name__}()"
