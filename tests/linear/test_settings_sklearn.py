"""The linear settings as scikit-learn estimators."""

import pytest

from gapmin import linear
from gapmin_support.checks import scikit_learn_checks

NAMES = [name for name in linear.__all__ if name.endswith(("Classifier", "Regressor"))]
HARD = {"Classifier": "hinge", "Regressor": "absolute"}


def with_hard_losses():
    for name in NAMES:
        cls = getattr(linear, name)
        if "loss" in cls().get_params() and not name.startswith("Gap"):
            yield cls(loss=HARD["Classifier" if name.endswith("Classifier") else "Regressor"])


@scikit_learn_checks([getattr(linear, name)() for name in NAMES], with_hard_losses())
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_reads_as_it_was_made(name):
    assert repr(getattr(linear, name)()) == f"{name}()"
