"""Stacked heads are what a loop over heads and tasks is, values and gradients."""

import pytest
import torch
from torch.nn import functional as F

from gapmin.deep import MLP, Batch, MultitaskNet, TaskHeads
from gapmin.deep.losses import loss_matrix, own_losses

ACTIVATION = {"elu": F.elu, "relu": F.relu, "tanh": torch.tanh}
SIZES = [(3, 3, 3), (5, 1, 2), (4, 0, 3), (0, 0, 6), (7,)]
PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


def apart(module):
    """Give heads that start equal weights of their own, so that mixing them up shows."""
    for parameter in module.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return module


def problem(sizes, activation, dtype):
    torch.manual_seed(0)
    heads = TaskHeads(len(sizes), in_features=5, hidden=4, n_classes=3, activation=activation)
    net = apart(MultitaskNet(MLP(6, (5,), activation="tanh"), heads)).to(dtype)
    x = torch.randn(sum(sizes), 6, dtype=dtype, requires_grad=True)
    return net, x, torch.randint(3, (sum(sizes),))


def by_loop(net, x, y, sizes, activation):
    """Return L_k(h_j), head by head, task by task, and each row's own hidden layer."""
    heads, act = net.heads, ACTIVATION[activation]
    z = net.extractor(x)
    K = len(sizes)
    losses = torch.zeros(K, K, dtype=x.dtype)
    hidden = []
    for k, (rows, labels) in enumerate(zip(z.split(list(sizes)), y.split(list(sizes)), strict=True)):
        hidden.append(act(rows @ heads.weight1[k].T + heads.bias1[k]))
        for j in range(K):
            logits = act(rows @ heads.weight1[j].T + heads.bias1[j]) @ heads.weight2[j].T + heads.bias2[j]
            if len(rows):
                losses[j, k] = -torch.log_softmax(logits, 1)[torch.arange(len(rows)), labels].mean()
    return losses, torch.cat(hidden)


def gradients(value, net, x):
    return torch.autograd.grad(value, [x, *net.parameters()])


@pytest.mark.parametrize(("dtype", "atol"), PRECISION)
@pytest.mark.parametrize("activation", ACTIVATION)
@pytest.mark.parametrize("sizes", SIZES)
def test_all_pairs_is_a_loop_over_heads_and_tasks(sizes, activation, dtype, atol):
    net, x, y = problem(sizes, activation, dtype)
    pairs = net.all_pairs(Batch(x, y, sizes))
    losses = loss_matrix(pairs.logits, y, sizes)
    expected, hidden = by_loop(net, x, y, sizes, activation)
    torch.testing.assert_close(losses, expected, atol=atol, rtol=0)
    torch.testing.assert_close(pairs.hidden, hidden, atol=atol, rtol=0)
    torch.testing.assert_close(pairs.z, net.extractor(x), atol=atol, rtol=0)
    # One mix of all losses for all gradients: entries of different size, so that none can stand in for another.
    mix = torch.arange(1, losses.numel() + 1, dtype=dtype).view_as(losses)
    found = gradients((mix * losses).sum(), net, x)
    wanted = gradients((mix * expected).sum(), net, x)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=atol * 10, rtol=atol)


@pytest.mark.parametrize(("dtype", "atol"), PRECISION)
@pytest.mark.parametrize("sizes", SIZES)
def test_own_is_the_diagonal_of_all_pairs(sizes, dtype, atol):
    net, x, y = problem(sizes, "elu", dtype)
    batch = Batch(x, y, sizes)
    own, pairs = net.own(batch), net.all_pairs(batch)
    losses = own_losses(own.logits, y, sizes)
    diagonal = loss_matrix(pairs.logits, y, sizes).diagonal()
    torch.testing.assert_close(losses, diagonal, atol=atol, rtol=0)
    torch.testing.assert_close(own.hidden, pairs.hidden, atol=atol, rtol=0)
    task = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    torch.testing.assert_close(own.logits, pairs.logits[task, torch.arange(len(x))], atol=atol, rtol=0)
    mix = torch.arange(1, len(sizes) + 1, dtype=dtype)
    for one, other in zip(
        gradients(mix @ losses, net, x), gradients((mix * diagonal).sum() + 0 * pairs.logits.sum(), net, x), strict=True
    ):
        torch.testing.assert_close(one, other, atol=atol * 10, rtol=atol)


def test_a_head_without_rows_gets_no_gradient_from_own():
    net, x, y = problem((4, 0, 3), "relu", torch.float64)
    own_losses(net.own(Batch(x, y, (4, 0, 3))).logits, y, (4, 0, 3)).sum().backward()
    for parameter in net.heads.parameters():
        assert not parameter.grad[1].any()
        assert parameter.grad[0].any()
        assert parameter.grad[2].any()


@pytest.mark.parametrize("activation", ACTIVATION)
@pytest.mark.parametrize("sizes", SIZES)
def test_frozen_hidden_layers_pass_gradients_to_the_features_alone(sizes, activation):
    net, x, _ = problem(sizes, activation, torch.float64)
    heads = net.heads
    z = net.extractor(x).detach().requires_grad_()
    frozen = heads.all_pairs(z, sizes).hidden
    by_hand = torch.cat(
        [
            ACTIVATION[activation](rows @ heads.weight1[k].detach().T + heads.bias1[k].detach())
            for k, rows in enumerate(z.split(list(sizes)))
        ]
    )
    torch.testing.assert_close(frozen, by_hand, atol=1e-12, rtol=1e-10)
    weight = torch.randn_like(by_hand)
    (found, *to_heads) = torch.autograd.grad(
        (weight * frozen.square()).sum(), [z, *heads.parameters()], allow_unused=True
    )
    (wanted,) = torch.autograd.grad((weight * by_hand.square()).sum(), z)
    torch.testing.assert_close(found, wanted, atol=1e-12, rtol=1e-10)
    assert all(each is None or not each.any() for each in to_heads)


@pytest.mark.parametrize("activation", [*ACTIVATION])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 0, 5), (2, 6, 1)])
def test_chosen_pairs_are_those_of_all_pairs_and_their_gradients_too(sizes, activation):
    net, x, _ = problem(sizes, activation, torch.float64)
    z = net.extractor(x).detach().requires_grad_()
    sources = [[0, 2], [0, 1, 2], [2]]
    pairs = net.heads.all_pairs(z, sizes)
    chosen, rows = net.heads.chosen_pairs(z, sizes, sources)
    numbers = torch.arange(len(x)).split(list(sizes))
    assert torch.equal(rows, torch.cat([numbers[k] for tasks in sources for k in tasks]))
    head = torch.cat([torch.full((len(numbers[k]),), j) for j, tasks in enumerate(sources) for k in tasks])
    wanted = pairs.logits[head, rows], pairs.hidden
    found = chosen.logits, chosen.hidden
    weights = [torch.randn_like(each) for each in wanted]
    parameters = [z, *net.heads.parameters()]
    totals = [sum((w * each.square()).sum() for w, each in zip(weights, both, strict=True)) for both in (found, wanted)]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-10)
    by_parameter = [torch.autograd.grad(each, parameters) for each in totals]
    for one, other in zip(*by_parameter, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-10)


def test_every_head_starts_with_weights_of_its_own_drawn_as_a_linear_layers():
    torch.manual_seed(0)
    heads = TaskHeads(3, in_features=25, hidden=100, n_classes=40)
    for weight, bias, bound in ((heads.weight1, heads.bias1, 1 / 5), (heads.weight2, heads.bias2, 1 / 10)):
        for parameter in (weight, bias):
            assert all(not torch.equal(parameter[j], parameter[k]) for j in range(3) for k in range(j))
            sizes = parameter.detach().abs().flatten(1)
            assert ((sizes.max(1).values <= bound) & (sizes.max(1).values > 0.8 * bound)).all()
            torch.testing.assert_close(sizes.mean(1), torch.full((3,), bound / 2), rtol=0.25, atol=0)


@pytest.mark.parametrize("activation", ACTIVATION)
def test_no_two_rows_lie_steeper_than_the_lipschitz_constant(activation):
    net, _, _ = problem((2, 2, 2), activation, torch.float64)
    a, b = torch.randn(200, 5, dtype=torch.float64), torch.randn(200, 5, dtype=torch.float64)
    b = a + 0.01 * (b - a)  # near rows, where the slope is that of the gradient
    rise = (net.heads.all_pairs(a, (200, 0, 0)).logits - net.heads.all_pairs(b, (200, 0, 0)).logits).norm(dim=2)
    slope = (rise / (a - b).norm(dim=1)).max(dim=1).values
    bound = net.heads.lipschitz()
    assert (slope <= bound * (1 + 1e-9)).all()
    assert (slope > 0.1 * bound).all()  # and it is not a bound that holds for everything


def test_unknown_activations_are_named():
    with pytest.raises(ValueError, match="activation is 'selu': use 'elu', 'relu', 'tanh'"):
        TaskHeads(2, 3, 4, 5, activation="selu")
