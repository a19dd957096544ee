"""Tasks with different classes: they are all learnt, and tasks without a common class never share."""

import numpy as np
import pytest
import torch

from gapmin.deep import MLP, GapMTNN, MultitaskClassifier

LABEL_SETS = {
    "one task apart": ["01", "01", "23"],
    "all apart": ["01", "23", "45"],
    "a chain": ["01", "12", "23"],
    "one class in common": ["012", "012", "234"],
}


def extractor():
    """Return the same weights, whatever was drawn before."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return MLP(6, (16,))


SMALL = {"extractor": extractor(), "head_hidden": 16, "epochs": 2, "device": "cpu", "random_state": 0}
COSTS = ["crossfit", "excess", "gap", "printed"]


def rows_of(label_sets, n=40):
    """Return the same clusters in every task, which each task names by classes of its own."""
    rng = np.random.default_rng(0)
    X, y, task = [], [], []
    centres = 3 * rng.normal(size=(len(label_sets[0]), 6))
    for k, labels in enumerate(label_sets):
        for centre, label in zip(centres, labels, strict=True):
            X.append(centre + rng.normal(size=(n, 6)))
            y += [int(label)] * n
            task += [k] * n
    return np.concatenate(X).astype(np.float32), np.array(y), np.array(task)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", LABEL_SETS)
def test_every_task_is_learnt_whatever_its_classes(name, cost):
    X, y, task = rows_of(LABEL_SETS[name])
    clf = MultitaskClassifier(GapMTNN(relation_cost=cost), lr=0.01, **SMALL | {"epochs": 25}).fit(
        X, y, sample_task=task
    )
    accuracy = [clf.score(X[task == k], y[task == k], sample_task=task[task == k]) for k in range(3)]
    assert accuracy == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("name", LABEL_SETS)
def test_tasks_without_a_common_class_never_share(name, learn, cost):
    label_sets = LABEL_SETS[name]
    X, y, task = rows_of(label_sets, n=15)
    objective = GapMTNN(relation_cost=cost, learn_relation=learn, initial_relation="uniform", lambda_relation=100.0)
    clf = MultitaskClassifier(objective, **SMALL).fit(X, y, sample_task=task)
    common = np.array([[bool(set(one) & set(other)) for other in label_sets] for one in label_sets])
    for record in clf.history_:
        relation = np.array(record["relation"])
        assert (relation[~common] == 0).all()
        if cost != "crossfit" or not learn:  # which shares with nobody until a probe has learnt something
            assert (relation[common] > 0).all()  # so large a lambda shares where it may
        np.testing.assert_allclose(relation.sum(1), 1, atol=1e-6)
