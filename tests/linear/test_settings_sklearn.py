"""The linear settings as scikit-learn estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapmin import linear

NAMES = [name for name in linear.__all__ if name.endswith(("Classifier", "Regressor"))]
HARD = {"Classifier": "hinge", "Regressor": "absolute"}


def estimators():
    for name in NAMES:
        cls = getattr(linear, name)
        yield cls()
        if "loss" in cls().get_params() and not name.startswith("GapWeighting"):
            yield cls(loss=HARD["Classifier" if name.endswith("Classifier") else "Regressor"])


@parametrize_with_checks(list(estimators()))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_reads_as_it_was_made(name):
    assert repr(getattr(linear, name)()) == f"{name}()"
