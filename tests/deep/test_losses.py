"""Averages by task: each task counts once, whatever its number of rows."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gapmin.deep.losses import loss_matrix, own_losses, task_means

SIZES = st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(sum)


@settings(deadline=None)
@given(SIZES, st.integers(0, 2**31))
def test_task_means_are_the_means_of_the_parts(sizes, seed):
    values = torch.randn(2, sum(sizes), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found = task_means(values, sizes)
    start = 0
    for k, size in enumerate(sizes):
        part = values[:, start : start + size]
        start += size
        torch.testing.assert_close(found[:, k], part.mean(1) if size else torch.zeros(2, dtype=torch.float64))


@settings(deadline=None)
@given(SIZES, st.integers(0, 2**31))
def test_entry_jk_of_the_loss_matrix_is_head_j_on_task_k(sizes, seed):
    rng = torch.Generator().manual_seed(seed)
    K = len(sizes)
    logits = torch.randn(K, sum(sizes), 4, generator=rng, dtype=torch.float64)
    y = torch.randint(4, (sum(sizes),), generator=rng)
    found = loss_matrix(logits, y, sizes)
    for j in range(K):
        for k in range(K):
            rows = slice(sum(sizes[:k]), sum(sizes[: k + 1]))
            chosen = torch.log_softmax(logits[j, rows], 1)[torch.arange(sizes[k]), y[rows]]
            torch.testing.assert_close(found[j, k], -chosen.sum() / max(sizes[k], 1))


def test_own_losses_are_means_of_cross_entropies():
    logits = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    found = own_losses(logits, torch.tensor([0, 0, 0]), (1, 0, 2))
    expected = [0.6931472, 0.0, (0.1269280 + 3.0485874) / 2]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_repeating_the_rows_of_a_task_changes_no_loss():
    logits, y = torch.randn(2, 5, 3, dtype=torch.float64), torch.tensor([0, 1, 2, 1, 0])
    twice = [0, 1, 0, 1, 2, 3, 4]
    torch.testing.assert_close(loss_matrix(logits, y, (2, 3)), loss_matrix(logits[:, twice], y[twice], (4, 3)))
