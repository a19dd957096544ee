"""Remarks of the paper that are equations."""

import numpy as np
import pytest

from gapmin.linear import ParameterSharingRegressor, TaskCovarianceRegressor, TaskWeightingRegressor


@pytest.fixture
def tasks():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 3)), np.repeat(["a", "b", "c"], 20)
    return X, X @ [1.0, -1.0, 0.5] + (task == "b") * X[:, 0] + rng.normal(scale=0.1, size=60), task


def test_remark_35_omega_of_single_tasks(tasks):
    X, y, task = tasks
    K, lam = 3, 0.2
    coupled = TaskCovarianceRegressor(np.eye(K) * K / lam).fit(X, y, sample_task=task)
    single = TaskWeightingRegressor(np.eye(K), lam=lam).fit(X, y, sample_task=task)
    np.testing.assert_allclose(coupled.coef_, single.coef_, atol=1e-10)
    constants = coupled.risk_bound(task="a").constants
    assert constants["beta"] == pytest.approx(constants["rho"] ** 2 * constants["R"] ** 2 / (lam * 20), rel=1e-12)


def test_remark_29_sharing_is_half_as_fast_as_many_tasks(tasks):
    """With lam0 = lam the ratio of beta to that of one task is (K + 1) / (2 K)."""
    X, y, task = tasks
    given = {"R": 10.0, "Y": 20.0, "rho": 400.0, "radius": 100.0}
    many = ParameterSharingRegressor(lam0=0.2, lam=0.2).fit(X, y, sample_task=task)
    one = ParameterSharingRegressor(lam0=0.2, lam=0.2).fit(
        X[task == "a"], y[task == "a"], sample_task=task[task == "a"]
    )
    betas = [each.risk_bound(task="a", **given).constants["beta"] for each in (many, one)]
    assert betas[0] / betas[1] == pytest.approx((3 + 1) / (2 * 3), rel=1e-12)
