"""scikit-learn's own checks, in the two lanes of the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def scikit_learn_checks(estimators: Iterable[Any], repeats: Iterable[Any] = (), **options: Any) -> pytest.MarkDecorator:
    """Run the checks on estimators, and on further settings of the same classes in `make test-all` only.

    Parameters
    ----------
    estimators, repeats : iterable of estimators
    **options
        As `parametrize_with_checks` takes them.
    """
    quick, slow = (parametrize_with_checks(list(each), **options) for each in (estimators, repeats))
    cases = [*quick.args[1], *(_slow(case) for case in slow.args[1])]
    return pytest.mark.parametrize(quick.args[0], cases, **quick.kwargs)


def _slow(case: Any) -> Any:
    """Mark a case, which has marks of its own where it is expected to fail."""
    values, marks = (case.values, case.marks) if hasattr(case, "marks") else (case, ())
    return pytest.param(*values, marks=[*marks, pytest.mark.slow])


def repeats(values: Iterable[Any]) -> list[Any]:
    """Mark values of a parametrized test that repeat it in another setting: they run in `make test-all` only."""
    return [pytest.param(each, marks=pytest.mark.slow) for each in values]
