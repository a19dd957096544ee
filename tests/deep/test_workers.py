"""Processes that read the items of a dataset ahead."""

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, get_worker_info

from gapmin.deep import MLP, Callback, MultitaskClassifier
from gapmin.deep.batches import TaskRows

TASKS = [np.arange(5), np.arange(5, 12)]


class Items(Dataset):
    def __init__(self, noise=0.0, broken=None):
        self.X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
        self.targets, self.noise, self.broken = [0, 1] * 6, noise, broken

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == self.broken:
            raise OSError(f"item {i} cannot be read")
        return self.X[i] + self.noise * torch.randn(4), self.targets[i]


class WhereRead(Items):
    def __getitem__(self, i):
        worker = get_worker_info()
        return torch.tensor([-1.0 if worker is None else float(worker.id), float(i)])


def fit(items, **params):
    torch.manual_seed(0)
    settings = {"extractor": MLP(4, (8,)), "epochs": 3, "batch_size": 2, "device": "cpu", "random_state": 0}
    clf = MultitaskClassifier("gapmtnn", **settings | params)
    return clf.fit(items, sample_task=np.repeat(["a", "b"], [5, 7]))


def same(one, other):
    for mine, theirs in zip(one.objective_.state_dict().values(), other.objective_.state_dict().values(), strict=True):
        assert torch.equal(mine, theirs)


def test_workers_read_the_rows_asked_for_in_their_order():
    rows = TaskRows(WhereRead(), torch.zeros(12, dtype=torch.int64), TASKS, num_workers=2)
    plan = [[TASKS[0][:2], TASKS[1][3:4]], [TASKS[0][4:], TASKS[1][:2]], [TASKS[0][:0], TASKS[1][6:]]]
    found = list(rows.batches(plan))
    assert [batch.x[:, 1].tolist() for batch in found] == [[0.0, 1.0, 8.0], [4.0, 5.0, 6.0], [11.0]]
    assert {float(batch.x[0, 0]) for batch in found} == {0.0, 1.0}
    assert [batch.sizes for batch in found] == [[2, 1], [1, 2], [0, 1]]
    assert [batch.x[0, 0].item() for batch in TaskRows(rows.x, rows.y, TASKS).batches(plan)] == [-1.0] * 3


def test_the_model_does_not_depend_on_workers():
    params = {"validation_fraction": 0.3}
    none, two = fit(Items(), **params), fit(Items(), num_workers=2, **params)
    same(none, two)
    assert none.history_ == two.history_
    task = np.repeat(["a", "b"], [5, 7])
    assert np.array_equal(none.predict_proba(Items(), sample_task=task), two.predict_proba(Items(), sample_task=task))


def test_items_that_are_random_are_others_in_each_epoch_and_the_same_for_the_same_seed():
    one, two = (fit(Items(noise=1.0), num_workers=2) for _ in range(2))
    same(one, two)
    rows = TaskRows(Items(noise=1.0), torch.zeros(12, dtype=torch.int64), TASKS, num_workers=1)
    first, again, other = (next(rows.batches([TASKS], seed=(0, epoch))).x for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


class Die(Callback):
    def epoch(self, trainer, record):
        raise KeyboardInterrupt


def test_killed_and_resumed_is_never_killed(tmp_path):
    whole = fit(Items(), num_workers=1)
    with pytest.raises(KeyboardInterrupt):
        fit(Items(), num_workers=1, callbacks=[Die()], checkpoint_dir=tmp_path)
    same(fit(Items(), checkpoint_dir=tmp_path, checkpoint_every=1), whole)


def test_an_item_that_cannot_be_read_ends_the_fit():
    with pytest.raises(OSError, match="item 7 cannot be read"):
        fit(Items(broken=7), num_workers=2)
