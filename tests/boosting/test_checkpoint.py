"""A fit that was killed goes on where it stopped, and gives the same model to the bit."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from gapmin import (
    AdaBoostClassifier,
    GapBoostClassifier,
    GapBoostRegressor,
    TrAdaBoostClassifier,
    boosting,
)

pytest.importorskip("skops")

BOOSTERS = [getattr(boosting, name) for name in boosting.__all__]
KEPT = (
    "estimator_weights_",
    "estimator_errors_",
    "sample_weight_",
    "mass_history_",
    "gap_history_",
    "transfer_history_",
)


def problem(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    sample_domain = np.r_[np.full(40, -1), 1 + rng.integers(2, size=260)]
    score = X @ rng.normal(size=(5, n_classes)) + rng.normal(size=(300, n_classes))
    return X, score.argmax(axis=1), sample_domain


class KilledError(Exception):
    pass


def stopped_after(booster, n_rounds, *data, **domains):
    """Fit until `n_rounds` are done, then stop in the middle of the next, as a kill would."""
    advance, done = booster._advance, 0

    def one_more(*args):
        nonlocal done
        if done == n_rounds:
            raise KilledError
        done += 1
        return advance(*args)

    booster._advance = one_more
    with pytest.raises(KilledError):
        booster.fit(*data, **domains)
    del booster._advance


def assert_same_bits(one, two, X):
    for name in KEPT:
        if hasattr(two, name):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        if hasattr(b, "coef_"):
            np.testing.assert_array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("cls", BOOSTERS)
def test_a_stopped_fit_goes_on_to_the_same_bits(tmp_path, cls, resample):
    X, y, sample_domain = problem()
    y = y if cls.__name__.endswith("Classifier") else y + X[:, 0]
    settings = {"n_estimators": 7, "resample": resample, "random_state": 3}
    whole = cls(**settings).fit(X, y, sample_domain=sample_domain)
    booster = cls(**settings, checkpoint_dir=tmp_path)
    stopped_after(booster, 3, X, y, sample_domain=sample_domain)
    assert_same_bits(booster.fit(X, y, sample_domain=sample_domain), whole, X)
    # And from the finished state, without another round.
    assert_same_bits(cls(**settings, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain), whole, X)


@pytest.mark.parametrize(
    "learner",
    [
        None,
        DecisionTreeClassifier(max_depth=3, max_features=2),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GaussianNB(),
    ],
    ids=str,
)
def test_with_every_kind_of_learner_and_three_classes(tmp_path, learner):
    X, y, sample_domain = problem(n_classes=3)
    whole = GapBoostClassifier(learner, n_estimators=5, random_state=0).fit(X, y, sample_domain=sample_domain)
    booster = GapBoostClassifier(learner, n_estimators=5, random_state=0, checkpoint_dir=tmp_path)
    stopped_after(booster, 2, X, y, sample_domain=sample_domain)
    assert_same_bits(booster.fit(X, y, sample_domain=sample_domain), whole, X)


def test_without_a_seed_the_random_numbers_go_on(tmp_path):
    X, _, sample_domain = problem()
    booster = GapBoostRegressor(
        DecisionTreeRegressor(max_depth=2, max_features=1), n_estimators=4, resample=True, checkpoint_dir=tmp_path
    )
    stopped_after(booster, 2, X, X[:, 0], sample_domain=sample_domain)
    booster.fit(X, X[:, 0], sample_domain=sample_domain)
    assert len({learner.random_state for learner in booster.estimators_}) == 4


def test_more_rounds_go_on_from_the_finished_state(tmp_path):
    X, y, sample_domain = problem()
    GapBoostClassifier(n_estimators=3, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)
    longer = GapBoostClassifier(n_estimators=6, checkpoint_dir=tmp_path)
    stopped_after(longer, 1, X, y, sample_domain=sample_domain)  # it had three, and has four now
    longer.fit(X, y, sample_domain=sample_domain)
    assert_same_bits(longer, GapBoostClassifier(n_estimators=6).fit(X, y, sample_domain=sample_domain), X)
    with pytest.raises(ValueError, match="has 6 rounds, more than n_estimators=2"):
        longer.set_params(n_estimators=2).fit(X, y, sample_domain=sample_domain)


def test_a_fit_that_ended_early_stays_ended(tmp_path):
    X = np.r_[np.zeros((10, 1)), np.ones((10, 1))]
    y = np.repeat([0, 1], 10)
    booster = AdaBoostClassifier(DecisionTreeClassifier(), checkpoint_dir=tmp_path)
    first = booster.fit(X, y).estimators_
    assert len(first) == 1
    assert len(booster.fit(X, y).estimators_) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rho_source": -1.0}, "rho_source is .*-0.69.* here it is -1.0"),
        ({"estimator": Ridge(alpha=2.0)}, "estimator is sklearn.tree.*DecisionTreeRegressor.*Ridge"),
        ({"random_state": 1}, "random_state is 0, here it is 1"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path, change, named):
    X, _, sample_domain = problem()
    booster = GapBoostRegressor(n_estimators=2, random_state=0, checkpoint_dir=tmp_path)
    booster.fit(X, X[:, 0], sample_domain=sample_domain)
    with pytest.raises(ValueError, match=f"checkpoint of another fit: its {named}"):
        booster.set_params(**change).fit(X, X[:, 0], sample_domain=sample_domain)


def test_other_data_is_refused_by_name(tmp_path):
    X, y, sample_domain = problem()
    booster = GapBoostClassifier(n_estimators=2, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)
    other = X.copy()
    other[7, 2] += 1e-12
    with pytest.raises(ValueError, match="another fit: its X is"):
        booster.fit(other, y, sample_domain=sample_domain)
    with pytest.raises(ValueError, match="another fit: its sample_domain is"):
        booster.fit(X, y, sample_domain=np.where(sample_domain > 0, 1, -1))
    with pytest.raises(ValueError, match="another fit: its number of rows is"):
        booster.fit(X[1:], y[1:], sample_domain=sample_domain[1:])
    with pytest.raises(ValueError, match="another fit: its classes is"):
        booster.fit(X, np.array(["a", "b"])[y], sample_domain=sample_domain)
    with pytest.raises(ValueError, match="its booster is GapBoostClassifier, here it is AdaBoostClassifier"):
        AdaBoostClassifier(n_estimators=2, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)


def test_the_number_of_rounds_belongs_to_tradaboost(tmp_path):
    X, y, sample_domain = problem()
    TrAdaBoostClassifier(n_estimators=2, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)
    with pytest.raises(ValueError, match="its n_estimators is 2, here it is 3"):
        TrAdaBoostClassifier(n_estimators=3, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)


def test_a_damaged_file_is_one_clear_error(tmp_path):
    X, y, sample_domain = problem()
    booster = GapBoostClassifier(n_estimators=2, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)
    for name in ("round-00002.skops", "state.skops"):
        file = tmp_path / name
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        with pytest.raises(ValueError, match=rf"{name} cannot be read .* remove this one to start anew"):
            booster.fit(X, y, sample_domain=sample_domain)


def test_a_file_of_an_earlier_gapmin_is_refused_unread(tmp_path):
    import skops.io

    X, y, sample_domain = problem()
    booster = GapBoostClassifier(n_estimators=1, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)
    (tmp_path / "state.skops").write_bytes(skops.io.dumps({"format": 1, "n_rounds": 1}))
    with pytest.raises(ValueError, match="not written by this gapmin"):
        booster.fit(X, y, sample_domain=sample_domain)


def test_without_skops_it_says_what_to_install(tmp_path, monkeypatch):
    X, y, sample_domain = problem()
    real = builtins.__import__
    for name in [name for name in sys.modules if name.partition(".")[0] == "skops"]:
        monkeypatch.delitem(sys.modules, name)

    def without_skops(name, *args, **kwargs):
        if name.partition(".")[0] == "skops":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setattr(builtins, "__import__", without_skops)
    with pytest.raises(ImportError, match=r"pip install -e \"\.\[cli\]\""):
        GapBoostClassifier(checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)


CHILD = """
import sys, time
import numpy as np
from gapmin import GapBoostClassifier

class Slow(GapBoostClassifier):
    def _advance(self, *args):
        super()._advance(*args)
        time.sleep(0.5)

Slow.__name__ = "GapBoostClassifier"
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
Slow(n_estimators=8, resample=True, random_state=0, checkpoint_dir=sys.argv[1]).fit(
    X, y, sample_domain=np.r_[np.full(40, -1), np.ones(260, int)]
)
"""


@pytest.mark.posix
@pytest.mark.slow
def test_kill_9_loses_no_round(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)])
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "round-00003.skops").exists():
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    done = len(list(tmp_path.glob("round-*.skops")))
    assert done < 8
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    sample_domain = np.r_[np.full(40, -1), np.ones(260, int)]
    settings = {"n_estimators": 8, "resample": True, "random_state": 0}
    whole = GapBoostClassifier(**settings).fit(X, y, sample_domain=sample_domain)
    resumed = GapBoostClassifier(**settings, checkpoint_dir=tmp_path).fit(X, y, sample_domain=sample_domain)
    assert_same_bits(resumed, whole, X)
