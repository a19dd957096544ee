"""gapMTNN as printed equals the transcription of Algorithm 3 to 1e-10: float64, fixed batches, plain steps."""

import copy

import pytest
import torch
from torch.nn import functional as F

from docs.paper.algorithm_3_gapmtnn import Head, MovingAverage, gapmtnn_epoch
from gapmin.deep import MLP, Batch, GapMTNN, MultitaskNet, TaskHeads


@pytest.fixture(autouse=True)
def double_precision():
    """Constants such as the decay are rounded to the default precision, not to the network's."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


TASKS, CLASSES, HIDDEN, LR = 3, 4, 5, 0.05


def batches_of(n_batches, sizes, seed):
    rng = torch.Generator().manual_seed(seed)
    rows = [(torch.randn(n, 6, generator=rng), n) for _ in range(n_batches) for n in sizes]
    labelled = [(x + k % TASKS, torch.randint(CLASSES, (n,), generator=rng)) for k, (x, n) in enumerate(rows)]
    return [labelled[at : at + TASKS] for at in range(0, len(labelled), TASKS)]


def heads_of(net):
    stacked = (net.heads.weight1, net.heads.bias1, net.heads.weight2, net.heads.bias2)
    return [Head(*(p[k].detach().clone().requires_grad_() for p in stacked), F.elu) for k in range(TASKS)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(8, 8, 8), (4, 9, 6)])
@pytest.mark.parametrize("lambda_relation", [1.0, 0.2])
def test_algorithm_3_gapmtnn(lambda_relation, sizes, seed):
    torch.manual_seed(seed)
    net = MultitaskNet(MLP(6, (7,), "tanh"), TaskHeads(TASKS, 7, HIDDEN, CLASSES, "elu"))
    ours = GapMTNN.printed(lambda_relation=lambda_relation).setup(net)
    phi, h = copy.deepcopy(net.extractor), heads_of(net)
    Gamma = torch.full((TASKS, TASKS), 1 / TASKS)
    past = MovingAverage(torch.zeros(TASKS, CLASSES, HIDDEN), torch.zeros(TASKS, CLASSES))
    optimizer = torch.optim.SGD(ours.parameters(), lr=LR)
    for epoch in range(3):
        batches = batches_of(4, sizes, seed=10 * seed + epoch)
        Gamma, past = gapmtnn_epoch(
            phi, h, batches, Gamma, past, LR, lambda_1=0.1, lambda_2=0.1, lambda_3=lambda_relation
        )
        ours.train()
        for batch in batches:
            x, y = (torch.cat(parts) for parts in zip(*batch, strict=True))
            optimizer.zero_grad()
            ours(Batch(x, y, sizes)).loss.backward()
            optimizer.step()
        ours.end_epoch()
        torch.testing.assert_close(ours.relation, Gamma, rtol=0, atol=1e-10)
        for mine, printed in zip(net.extractor.parameters(), phi.parameters(), strict=True):
            torch.testing.assert_close(mine, printed, rtol=0, atol=1e-10)
        for k, head in enumerate(h):
            stacked = (net.heads.weight1, net.heads.bias1, net.heads.weight2, net.heads.bias2)
            for mine, printed in zip(stacked, head.parameters, strict=True):
                torch.testing.assert_close(mine[k], printed, rtol=0, atol=1e-10)
    assert not torch.allclose(Gamma, torch.full_like(Gamma, 1 / TASKS), atol=1e-3)
