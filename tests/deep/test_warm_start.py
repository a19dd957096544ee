"""`warm_start`: a fit that goes on from the one before."""

import numpy as np
import pytest
import torch

from gapmin.deep import MLP, Callback, EarlyStopping, GapMTNN, MultitaskClassifier, MultitaskRegressor, Trainer
from gapmin.deep.objectives import OBJECTIVES


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    task = rng.choice(["a", "b", "c"], size=n)
    return X, np.where(X[:, 0] * np.where(task == "a", 1, -1) > 0, "up", "down"), task


def descent(parameters):
    return torch.optim.SGD(parameters, lr=0.05)


def small(kind=MultitaskClassifier, **params):
    torch.manual_seed(0)
    defaults = {"extractor": MLP(4, (8,)), "head_hidden": 6, "batch_size": 8, "scheduler": "constant"}
    return kind(**defaults | {"optimizer": descent, "epochs": 2, "device": "cpu", "random_state": 0} | params)


def same(one, other, tolerance=0.0):
    for mine, theirs in zip(one.objective_.state_dict().values(), other.objective_.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("objective", [*sorted({*OBJECTIVES} - {"advw", "amtnn"}), GapMTNN(relation_data="holdout")])
def test_two_fits_are_one_of_as_many_epochs(objective):
    """Of an optimiser that keeps nothing, and an objective that draws nothing."""
    X, y, task = data()
    whole = small(objective=objective, epochs=5).fit(X, y, sample_task=task)
    clf = small(objective=objective, epochs=2, warm_start=True).fit(X, y, sample_task=task)
    clf.set_params(epochs=3).fit(X, y, sample_task=task)
    same(clf, whole, tolerance=1e-5)
    assert [each["epoch"] for each in clf.history_] == [1, 2, 3, 4, 5]
    assert clf.history_[-1]["loss"] == pytest.approx(whole.history_[-1]["loss"], rel=1e-5)


def test_without_it_every_fit_starts_anew():
    X, y, task = data()
    clf = small().fit(X, y, sample_task=task)
    once = small().fit(X, y, sample_task=task)
    clf.fit(X, y, sample_task=task)
    same(clf, once)
    assert len(clf.history_) == 2


def test_a_saved_model_goes_on(tmp_path):
    X, y, task = data()
    clf = small(optimizer="adam", extractor="mlp").fit(X, y, sample_task=task)
    clf.save(tmp_path / "model.safetensors")
    again = MultitaskClassifier.load(tmp_path / "model.safetensors")
    settings = {"warm_start": True, "random_state": 0, "optimizer": "adam", "scheduler": "constant", "device": "cpu"}
    again.set_params(**settings).fit(X, y, sample_task=task)
    same(again, clf.set_params(warm_start=True).fit(X, y, sample_task=task))


def test_other_rows_are_fitted_in_the_units_of_the_first():
    X, _, task = data()
    model = small(MultitaskRegressor, warm_start=True).fit(X, X[:, 0], sample_task=task)
    before = model.label_mean_, model.label_scale_, model.bin_edges_.tolist()
    same_model = small(MultitaskRegressor).fit(X, X[:, 0], sample_task=task)
    model.set_params(epochs=0).fit(X[:30], 100 * X[:30, 0] + 7, sample_task=task[:30])
    assert (model.label_mean_, model.label_scale_, model.bin_edges_.tolist()) == before
    same(model, same_model)


@pytest.mark.parametrize("seed", [0, None])
def test_rows_set_aside_stay_so(seed, monkeypatch):
    X, y, task = data()
    seen = []
    fit = Trainer.fit

    def watched(self, rows, validation=None, holdout=None):
        seen.append(np.concatenate([*validation.tasks, *holdout.tasks]).tolist())
        return fit(self, rows, validation, holdout)

    monkeypatch.setattr(Trainer, "fit", watched)
    clf = small(objective=GapMTNN(relation_data="holdout"), validation_fraction=0.2, warm_start=True, random_state=seed)
    for _ in range(2):
        clf.fit(X, y, sample_task=task)
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("params", "rows", "message"),
    [
        ({}, {"X": np.zeros((60, 5))}, "X has 5 features, .* as input; with warm_start columns, tasks"),
        ({}, {"X": np.zeros((60, 4, 12, 12))}, r"rows of shape \(4, 12, 12\).* set warm_start=False to start anew"),
        ({}, {"y": np.repeat(["up", "new"], 30)}, "unknown class 'new'.* set warm_start=False to start anew"),
        ({}, {"sample_task": np.repeat(["a", "b"], 30)}, "there is no row of task 'c'; with warm_start"),
        ({}, {"sample_task": np.repeat(["a", "d"], 30)}, "unknown task 'd' at row 30.* with warm_start"),
        ({}, {"sample_task": None}, "unknown task 0 .*with warm_start"),
        ({"head_hidden": 7}, {}, "the network of the fit before has .* set warm_start=False"),
        ({"head_activation": "tanh"}, {}, "the network of the fit before has .*relu.*tanh.*"),
        ({"extractor": MLP(4, (9,))}, {}, "the network of the fit before has .*8.* now it has .*9"),
        ({"objective": "gapmtnn"}, {}, r"the objective of the fit before has Uniform\(\), and now it has GapMTNN\(\)"),
        ({"lr": 1e30, "optimizer": "adam"}, {}, "the loss is"),
    ],
)
def test_what_changes_is_refused_and_the_model_stays(params, rows, message):
    X, y, task = data()
    clf = small(warm_start=True).fit(X, y, sample_task=task)
    expected = clf.predict_proba(X, sample_task=task)
    given = {"X": X, "y": y, "sample_task": task} | rows
    clf.set_params(**params)
    with pytest.raises(ValueError, match=message):
        clf.fit(**given)
    assert np.array_equal(clf.predict_proba(X, sample_task=task), expected)
    assert len(clf.history_) == 2


class Die(Callback):
    def epoch(self, trainer, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt


def test_killed_and_resumed_is_never_killed_and_the_checkpoint_of_the_first_fit_is_refused(tmp_path):
    X, y, task = data()
    settings = {"objective": "gapmtnn", "warm_start": True, "optimizer": "adam", "epochs": 4}

    def first():
        return small(**settings, checkpoint_dir=tmp_path / "first").fit(X, y, sample_task=task)

    whole = first().set_params(checkpoint_dir=None).fit(X, y, sample_task=task)
    for callbacks, outcome in ([Die()], KeyboardInterrupt), ([], None):
        clf = first().set_params(checkpoint_dir=tmp_path / "second", callbacks=callbacks)
        if outcome:
            with pytest.raises(outcome):
                clf.fit(X, y, sample_task=task)
    same(clf.fit(X, y, sample_task=task), whole)
    assert clf.history_ == whole.history_
    with pytest.raises(ValueError, match=r"is of another run: its .*name another checkpoint_dir"):
        first().fit(X, y, sample_task=task)


def test_it_stops_early_from_where_it_is():
    X, y, task = data()
    clf = small(warm_start=True, validation_fraction=0.2, optimizer="adam", epochs=3).fit(X, y, sample_task=task)
    before = clf.history_[-1]["validation_loss"]
    clf.set_params(callbacks=[EarlyStopping(patience=1)], lr=1e-3).fit(X, y, sample_task=task)
    assert clf.callbacks_[0].best < before
