"""Workers and schedulers that die in the middle of a fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import cloudpickle
import dask.array as da
import numpy as np
import pytest
import xgboost
from distributed import Client
from xgboost.dask import DaskXGBClassifier, DaskXGBRegressor

from gapmin import GapBoostClassifier, GapBoostRegressor
from gapmin.dask import DaskGapBoostClassifier, DaskGapBoostRegressor, _logistic

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def chunked(X, *vectors, size=120):
    return [da.from_array(X, chunks=(size, X.shape[1])), *(da.from_array(v, chunks=size) for v in vectors)]


@pytest.fixture
def own_cluster(make_cluster):
    with make_cluster() as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(own_cluster, problem, monkeypatch):
    X, y, sample_domain = problem(n_sources=2)
    local = GapBoostClassifier(n_estimators=4).fit(X, y, sample_domain=sample_domain)
    X_, y_, domain_ = chunked(X, y, sample_domain)
    sum_chunks, passes = _logistic.sum_chunks, 0

    def killing(*args, **kwargs):
        nonlocal passes
        passes += 1
        if passes == 10:  # in the second round; half of the weights are lost
            os.kill(next(iter(own_cluster.run(os.getpid).values())), signal.SIGKILL)
        return sum_chunks(*args, **kwargs)

    monkeypatch.setattr(_logistic, "sum_chunks", killing)
    far = DaskGapBoostClassifier(n_estimators=4, client=own_cluster).fit(X_, y_, sample_domain=domain_)
    assert passes > 12
    np.testing.assert_allclose(far.estimator_errors_, local.estimator_errors_, atol=1e-6)
    np.testing.assert_allclose(own_cluster.compute(far.sample_weight_).result(), local.sample_weight_, atol=1e-6)
    for one, two in zip(far.estimators_, local.estimators_, strict=True):
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)


class KillOnce(xgboost.callback.TrainingCallback):
    """Kills the worker that it runs on, at the third tree, unless that was done before."""

    def __init__(self, marker):
        super().__init__()
        self.marker = str(marker)

    def after_iteration(self, model, epoch, evals_log):
        if epoch == 2 and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return False


@pytest.mark.slow
def test_with_xgboost_a_round_that_lost_a_worker_starts_again(own_cluster, problem, tmp_path):
    X, y, sample_domain = problem(n_target=200, n_source=1000)
    X_, y_, domain_ = chunked(X, y, sample_domain, size=300)
    marker = tmp_path / "killed"
    settings = {"n_estimators": 4, "max_depth": 3, "tree_method": "hist"}
    scores = {}
    for kill in (False, True):
        callbacks = [KillOnce(marker)] if kill else None
        booster = DaskGapBoostClassifier(
            DaskXGBClassifier(**settings, callbacks=callbacks),
            n_estimators=2,
            client=own_cluster,
            random_state=0,
        )
        booster.fit(X_, y_, sample_domain=domain_)
        scores[kill] = booster.to_local().decision_function(X)
    assert marker.exists()
    # XGBoost's sketch of the columns depends on which worker holds which rows: the same model but for near ties.
    assert np.mean(np.sign(scores[True]) == np.sign(scores[False])) > 0.97


def test_a_learner_that_a_checkpoint_cannot_hold_is_refused_before_the_first_round(cluster, problem, tmp_path):
    X_, y_, domain_ = chunked(*problem())
    booster = DaskGapBoostClassifier(DaskXGBClassifier(n_estimators=2), checkpoint_dir=tmp_path / "rounds")
    with pytest.raises(ValueError, match="DaskXGBClassifier cannot be kept in a checkpoint"):
        booster.fit(X_, y_, sample_domain=domain_)
    assert not (tmp_path / "rounds").exists()


@pytest.mark.parametrize("kind", ["function", "partial", "reduce", "learner"])
def test_a_crafted_checkpoint_runs_nothing(kind, problem, in_this_process, tmp_path):
    from gapmin_support import crafted

    X_, y_, domain_ = chunked(*problem())
    folder, place = tmp_path / "rounds", tmp_path / "place"
    place.mkdir()
    DaskGapBoostClassifier(n_estimators=2, checkpoint_dir=folder).fit(X_, y_, sample_domain=domain_)
    path = crafted.several(crafted.text(str(place)))
    function = crafted.node("FunctionNode", "sklearn.utils._testing._delete_folder")
    payload = {
        "function": crafted.node(
            "LossNode", "sklearn.utils._testing._delete_folder", __reduce__={"args": path}, content=crafted.pairs()
        ),
        "partial": crafted.node(
            "PartialNode",
            "functools.partial",
            content={"func": function, "args": path, "kwds": crafted.pairs(), "namespace": crafted.pairs()},
        ),
        "reduce": crafted.node("ConstructorFromReduceNode", "sklearn.utils._testing.TempMemmap", content=path),
        "learner": None,
    }[kind]

    def schema(tree):
        if payload is None:
            tree["content"]["learners"]["content"].pop()  # one learner too few
        else:
            crafted.add_entry(tree, "extra", payload)

    crafted.craft(folder / "round-00001.skops", folder / "round-00001.skops", schema=schema)
    with pytest.raises(ValueError, match=r"checkpoint_dir"):
        DaskGapBoostClassifier(n_estimators=3, checkpoint_dir=folder).fit(X_, y_, sample_domain=domain_)
    assert place.is_dir()


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_xgboost_learners(cluster, problem, kind):
    X, y, sample_domain = problem(n_target=200, n_source=1000)
    size = 300
    if kind == "regressor":
        y = X[:, 0] + 0.1 * y
        far = DaskGapBoostRegressor(DaskXGBRegressor(n_estimators=5, max_depth=3), n_estimators=2, random_state=0)
        local = GapBoostRegressor(xgboost.XGBRegressor(n_estimators=5, max_depth=3), n_estimators=2, random_state=0)
    else:
        far = DaskGapBoostClassifier(DaskXGBClassifier(n_estimators=5, max_depth=3), n_estimators=2, random_state=0)
        local = GapBoostClassifier(xgboost.XGBClassifier(n_estimators=5, max_depth=3), n_estimators=2, random_state=0)
    X_, y_, domain_ = chunked(X, y, sample_domain, size=size)
    far.fit(X_, y_, sample_domain=domain_)
    local.fit(X, y, sample_domain=sample_domain)
    assert type(far.estimators_[0]) is type(local.estimators_[0])
    np.testing.assert_allclose(far.estimator_errors_, local.estimator_errors_, atol=0.02)
    assert far.score(X_, y_) == pytest.approx(local.score(X, y), abs=0.03)
    np.testing.assert_allclose(far.to_local().predict(X), far.predict(X_).compute())


SCHEDULER = """
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
    )
    print(cluster.scheduler_address, flush=True)
    input()
"""


def test_a_lost_scheduler_is_one_clear_error_and_the_checkpoint_goes_on(tmp_path, problem, in_this_process):
    import dask

    X, y, sample_domain = problem()
    X_, y_, domain_ = chunked(X, y, sample_domain)
    whole = GapBoostClassifier(n_estimators=4).fit(X, y, sample_domain=sample_domain)
    process = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        with dask.config.set(scheduler=None), Client(process.stdout.readline().strip(), timeout=60) as client:
            booster = DaskGapBoostClassifier(n_estimators=4, client=client, checkpoint_dir=tmp_path)
            advance = booster._advance

            def killing(state, *args):
                if len(state.rounds) == 2:
                    process.kill()
                return advance(state, *args)

            booster._advance = killing
            with pytest.raises(
                ConnectionError, match=r"scheduler at .* is lost: .* the fit goes on after the last round"
            ):
                booster.fit(X_, y_, sample_domain=domain_)
    finally:
        process.kill()
        process.wait()
    assert sorted(each.name for each in tmp_path.glob("round-*")) == ["round-00001.skops", "round-00002.skops"]
    trained = 0
    resumed = DaskGapBoostClassifier(n_estimators=4, checkpoint_dir=tmp_path)
    real = _logistic.LogisticsOnDask.fit

    def counting(self, *args):
        nonlocal trained
        trained += 1
        return real(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_logistic.LogisticsOnDask, "fit", counting)
        resumed.fit(X_, y_, sample_domain=domain_)
    assert trained == 2  # the first two rounds were not trained again
    np.testing.assert_allclose(resumed.sample_weight_.compute(), whole.sample_weight_, atol=1e-6)
    for one, two in zip(resumed.estimators_, whole.estimators_, strict=True):
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)
