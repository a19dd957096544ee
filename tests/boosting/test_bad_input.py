"""One clear ValueError before any work, naming the value and the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from gapmin import (
    AdaBoostClassifier,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    boosting,
)

X = np.random.default_rng(0).normal(size=(10, 2))
y = np.array([0, 1] * 5)
domain = np.array([-1] * 4 + [1] * 6)


class NeverFit(ClassifierMixin, RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        pytest.fail("work was done before the input was checked")

    def predict(self, X):
        return X


BOOSTERS = [getattr(boosting, name) for name in boosting.__all__]


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_domain": np.ones(10, int)}, "no target rows among 10: mark the rows"),
        ({"sample_domain": np.r_[domain[:9], 0]}, r"sample_domain has 0 at row 9: give each source a positive"),
        ({"sample_domain": domain + 0.5}, r"sample_domain has -0.5 at row 0: give"),
        ({"sample_domain": np.r_[domain[:9].astype(float), np.nan]}, "sample_domain has nan at row 9"),
        ({"sample_domain": ["target"] * 10}, "sample_domain has .* values, not integers"),
        ({"sample_domain": domain < 0}, "sample_domain has booleans, not integers"),
        ({"sample_domain": domain[:5]}, "sample_domain has 5 entries for 10 rows"),
        ({"sample_domain": np.ones((10, 2))}, "sample_domain has 2 dimensions"),
        ({"y": y[:9]}, "9"),
        ({"sample_weight": np.r_[np.ones(9), -2.0]}, r"sample_weight has -2.0 at row 9: .* at least 0"),
        ({"sample_weight": np.r_[np.ones(9), np.inf]}, "sample_weight has inf at row 9"),
        ({"sample_domain": np.r_[np.full(9, -1.0), 1e300]}, r"sample_domain has 1e\+300 at row 9"),
        ({"sample_domain": np.full(10, 2**63 + 5, np.uint64)}, "sample_domain has 9223372036854775813 at row 0"),
        ({"sample_domain": domain.astype(str)}, "sample_domain has <U21 values"),
        ({"sample_weight": np.full(10, 1e308)}, "sample_weight sums to infinity: divide"),
        ({"sample_weight": np.zeros(10)}, "every sample_weight is zero: give"),
        ({"sample_weight": np.ones(3)}, "sample_weight has 3 entries for 10 rows"),
        ({"sample_weight": ["x"] * 10}, "sample_weight is not numeric"),
        ({"sample_weight": 1.0 * (domain > 0)}, "no target rows of positive weight among 10"),
    ],
)
def test_data(booster, arguments, message):
    arguments = {"y": y, "sample_domain": domain, **arguments}
    labels = arguments.pop("y")
    if "Regressor" in booster.__name__:
        labels = labels * 1.0
    with pytest.raises(ValueError, match=message):
        booster(NeverFit()).fit(X, labels, **arguments)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_labels(booster):
    gaps = np.array([None, *y[1:]], dtype=object)
    mixed = np.array([1, *["a"] * 9], dtype=object)
    if "Regressor" in booster.__name__:
        expected = {
            (*gaps,): "y has None at row 0: give every",
            (*mixed,): "y has 'a' at row 1, which is no number",
        }
    else:
        expected = {
            (*gaps,): "y has None at row 0: give every",
            (*mixed,): "y has the text 'a' and 1, which is none: write",
        }
    for labels, message in expected.items():
        with pytest.raises(ValueError, match=message):
            booster(NeverFit()).fit(X, np.array(labels, dtype=object), sample_domain=domain)


@pytest.mark.parametrize("booster", [b for b in BOOSTERS if "Classifier" in b.__name__])
def test_a_target_with_one_class(booster):
    labels = np.r_[[3] * 4, y[4:]]
    with pytest.raises(ValueError, match=r"the target has one class \(3\) among its 4 rows; \w+ needs two .*add"):
        booster(NeverFit()).fit(X, labels, sample_domain=domain)
    # also when the other class has weight 0
    weight = np.array([1, 0, 1, 0] + [1] * 6)
    with pytest.raises(ValueError, match=r"the target has one class \(0\) among its 2 rows"):
        booster(NeverFit()).fit(X, y, sample_domain=domain, sample_weight=weight)


@pytest.mark.parametrize("booster", [GapBoostClassifier, GapBoostRegressor])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rho_source": 0.5}, "'rho_source' parameter .* must be a float in the range .*0.*Got 0.5"),
        ({"rho_source": -np.inf}, "'rho_source'"),
        ({"rho_source": np.nan}, "'rho_source'"),
        ({"rho_source": -0.1, "rho_target": -0.5}, "rho_source=-0.1 is above rho_target=-0.5.*lower rho_source"),
        ({"gamma_max": 0}, "'gamma_max' parameter .*Got 0"),
        ({"gamma_max": -1.0}, "'gamma_max' parameter .*Got -1.0"),
        ({"gamma_max": 0.05, "exact_cap": True}, r"gamma_max=0.05 is below 1/N=0.1: .*raise gamma_max"),
        ({"target_share": 1.0}, "'target_share'"),
        ({"target_share": 0.0}, "'target_share'"),
        ({"n_estimators": 0}, "'n_estimators'"),
    ],
)
def test_parameters(booster, parameters, message):
    with pytest.raises(ValueError, match=message):
        booster(NeverFit(), **parameters).fit(X, y * 1.0, sample_domain=domain)


def test_choices():
    for booster, parameters in (
        (GapBoostClassifier, {"vote": "loud"}),
        (GapBoostRegressor, {"loss": "cubic"}),
        (AdaBoostClassifier, {"train_on": "source"}),
        (TrAdaBoostClassifier, {"error_on": "source"}),
    ):
        with pytest.raises(ValueError, match=next(iter(parameters.values()))):
            booster(NeverFit(), **parameters).fit(X, y * 1.0, sample_domain=domain)
