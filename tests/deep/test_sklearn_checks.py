"""The classifiers as scikit-learn estimators."""

import pytest

from gapmin.deep import GapMTNNClassifier, MultitaskClassifier
from gapmin_support.checks import scikit_learn_checks

ENOUGH = {"epochs": 30, "lr": 0.01, "head_hidden": 16, "device": "cpu"}


@scikit_learn_checks([MultitaskClassifier(**ENOUGH), GapMTNNClassifier(**ENOUGH)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [MultitaskClassifier, GapMTNNClassifier])
def test_reads_as_it_was_made(kind):
    assert repr(kind()) == f"{kind.__name__}()"
