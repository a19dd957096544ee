"""Critics climb while the extractor descends; the closed gradient penalty is the one of two backward passes."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gapmin.deep import MLP, Batch
from gapmin.deep.critics import PairCritics, TaskDiscriminator, reversed_linear

SIZES = [(4, 4, 4), (5, 2, 3), (4, 0, 3)]


def problem(sizes, kind="wasserstein", dtype=torch.float64):
    torch.manual_seed(0)
    critics = PairCritics(len(sizes), in_features=4, hidden=6, kind=kind).to(dtype)
    return critics, torch.randn(sum(sizes), 4, dtype=dtype)


def value(critics, z, p):
    """Return critic p of every row, written out."""
    H = critics.weight2.shape[1]
    rows = slice(p * H, (p + 1) * H)
    hidden = F.relu(z @ critics.weight1[rows].T + critics.bias1[rows])
    return hidden @ critics.weight2[p] + critics.bias2[p]


def distance(critics, parts, p, j, k):
    a, b = value(critics, parts[j], p), value(critics, parts[k], p)
    if critics.kind == "wasserstein":
        return a.mean() - b.mean()
    right = torch.cat([torch.sigmoid(a).log() / len(a), (1 - torch.sigmoid(b)).log() / len(b)]).sum() / 2
    return 1 + right / torch.log(torch.tensor(2.0, dtype=a.dtype))


@pytest.mark.parametrize("kind", ["wasserstein", "h"])
@pytest.mark.parametrize("sizes", SIZES)
def test_distances_are_those_of_a_loop_over_pairs(sizes, kind):
    critics, z = problem(sizes, kind)
    distances, loss, _ = critics(z, sizes, torch.ones(3, 3))
    expected, total = torch.zeros(3, 3, dtype=z.dtype), 0.0
    for p, (j, k) in enumerate([(0, 1), (0, 2), (1, 2)]):
        if sizes[j] and sizes[k]:
            found = distance(critics, z.split(list(sizes)), p, j, k)
            total = total - found
            expected[j, k] = expected[k, j] = found.detach().clamp_min(0)
    torch.testing.assert_close(distances, expected)
    torch.testing.assert_close(loss, total)
    assert not distances.requires_grad


@pytest.mark.parametrize("kind", ["wasserstein", "h"])
@pytest.mark.parametrize("sizes", SIZES)
def test_critics_climb_and_features_descend_each_pair_by_its_own_weight(sizes, kind):
    critics, z = problem(sizes, kind)
    z.requires_grad_()
    scale = torch.tensor([[0.0, 0.5, 2.0], [0.5, 0.0, 3.0], [2.0, 3.0, 0.0]])
    _, loss, _ = critics(z, sizes, scale)
    to_z, *to_critics = torch.autograd.grad(loss, [z, *critics.parameters()])
    parts = z.split(list(sizes))
    found = [
        (distance(critics, parts, p, j, k), scale[j, k])
        for p, (j, k) in enumerate([(0, 1), (0, 2), (1, 2)])
        if sizes[j] and sizes[k]
    ]
    # The extractor is to make the distances smaller: its gradient is theirs, not reversed.
    (expected,) = torch.autograd.grad(sum(w * d for d, w in found), z, retain_graph=True)
    torch.testing.assert_close(to_z, expected)
    assert expected.any()
    # The critics are to make them larger.
    for one, other in zip(
        to_critics, torch.autograd.grad(-sum(d for d, _ in found), list(critics.parameters())), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_the_discriminator_learns_while_its_input_gets_the_reverse():
    torch.manual_seed(0)
    net = TaskDiscriminator(3, in_features=4, hidden=5).double()
    z, task = torch.randn(6, 4, dtype=torch.float64, requires_grad=True), torch.tensor([0, 0, 1, 1, 2, 2])
    plain = F.cross_entropy(net.second(F.relu(net.first(z))), task)
    played = F.cross_entropy(net(z, 0.25), task)
    torch.testing.assert_close(played, plain)
    wanted = torch.autograd.grad(plain, [z, *net.parameters()])
    found = torch.autograd.grad(played, [z, *net.parameters()])
    torch.testing.assert_close(found[0], -0.25 * wanted[0])
    for one, other in zip(found[1:], wanted[1:], strict=True):
        torch.testing.assert_close(one, other)


def test_the_reversed_layer_is_a_linear_one_with_scaled_outputs_backwards():
    torch.manual_seed(0)
    z, weight, bias = (torch.randn(*shape, dtype=torch.float64) for shape in ((5, 3), (4, 3), (4,)))
    scale, out = torch.tensor([0.0, 1.0, 2.0, -1.0], dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    leaves = [each.requires_grad_() for each in (z, weight, bias)]
    found = torch.autograd.grad(reversed_linear(z, weight, bias, scale), leaves, out)
    torch.testing.assert_close(found[0], -(out * scale) @ weight)
    for one, other in zip(found[1:], torch.autograd.grad(F.linear(z, weight, bias), leaves[1:], out), strict=True):
        torch.testing.assert_close(one, other)


def penalty_by_two_passes(critics, phi, x, sizes):
    """Return the gradient penalty as it is usually computed: the slope by autograd, itself differentiated."""
    parts = x.split(list(sizes))
    total = 0.0
    for p, (j, k) in enumerate(critics.pairs):
        if not sizes[j] or not sizes[k]:
            continue
        n = max(sizes[j], sizes[k])
        first, second = parts[j][torch.arange(n) % sizes[j]], parts[k][torch.arange(n) % sizes[k]]
        t = torch.rand(n, *[1] * (x.ndim - 1), dtype=x.dtype)
        between = (t * first + (1 - t) * second).detach().requires_grad_()
        (slope,) = torch.autograd.grad(value(critics, phi(between), p).sum(), between, create_graph=True)
        total = total + (slope.flatten(1).norm(dim=1) - 1).square().mean()
    return total


def gradients_or_zero(loss, critics):
    parameters = list(critics.parameters())
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_closed_penalty_is_that_of_two_backward_passes(sizes, dtype, atol):
    critics, z = problem(sizes, dtype=dtype)
    _, _, before = critics(z, sizes, torch.ones(3, 3))
    torch.manual_seed(1)
    found = critics.penalty_on_features(before, sizes)
    torch.manual_seed(1)
    expected = penalty_by_two_passes(critics, lambda between: between, z, sizes)
    torch.testing.assert_close(found, expected, atol=atol, rtol=atol)
    for one, other in zip(gradients_or_zero(found, critics), gradients_or_zero(expected, critics), strict=True):
        torch.testing.assert_close(one, other, atol=atol, rtol=atol)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_penalty_through_the_net_is_on_the_critics_alone(sizes):
    critics, _ = problem(sizes)
    extractor = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 4)).double()
    x = torch.randn(sum(sizes), 3, dtype=torch.float64)
    kept = {name: buffer.clone() for name, buffer in extractor.named_buffers()}
    torch.manual_seed(1)
    found = critics.penalty_through_net(extractor, x, sizes)
    assert all(torch.equal(buffer, kept[name]) for name, buffer in extractor.named_buffers())
    found.backward()
    assert all(parameter.grad is None for parameter in extractor.parameters())
    torch.manual_seed(1)
    expected = penalty_by_two_passes(critics, extractor, x, sizes)
    torch.testing.assert_close(found, expected)
    for parameter, other in zip(critics.parameters(), gradients_or_zero(expected, critics), strict=True):
        torch.testing.assert_close(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad, other)


@pytest.mark.parametrize("penalty_on", ["features", "net"])
def test_the_penalty_gives_the_extractor_nothing(penalty_on):
    critics, _ = problem((3, 3, 3))
    extractor = MLP(3, (4,)).double()
    batch = Batch(torch.randn(9, 3, dtype=torch.float64), torch.zeros(9, dtype=torch.int64), (3, 3, 3))
    scale = torch.full((3, 3), 0.3)

    def to_extractor(penalty):
        z = extractor(batch.x)
        _, loss = critics.adversarial_loss(extractor, z, batch, scale, penalty, penalty_on)
        return torch.autograd.grad(loss, list(extractor.parameters()))

    for one, other in zip(to_extractor(10.0), to_extractor(0.0), strict=True):
        assert torch.equal(one, other)
        assert one.any()


def train(critics, samples, steps, lr=0.02):
    """Train the critics alone, a batch of all rows at each step; return the last distances."""
    sizes = [len(each) for each in samples]
    batch = Batch(torch.cat(samples), torch.zeros(sum(sizes), dtype=torch.int64), sizes)
    optimizer = torch.optim.Adam(critics.parameters(), lr=lr)
    still = torch.zeros(len(sizes), len(sizes))
    for _ in range(steps):
        optimizer.zero_grad()
        distances, loss = critics.adversarial_loss(nn.Identity(), batch.x, batch, still, 10.0, "features")
        loss.backward()
        optimizer.step()
    return distances


@pytest.mark.parametrize("shift", [0.0, 2.0, -3.0])
def test_a_wasserstein_critic_finds_how_far_a_sample_was_shifted(shift):
    """A slope s earns s * shift and pays 10 (s - 1)^2: the best is 1 + shift / 20."""
    torch.manual_seed(0)
    sample = torch.randn(200, 1)
    distances = train(PairCritics(2, 1, hidden=16), [sample, sample + shift], steps=300)
    assert distances[0, 1] == pytest.approx(abs(shift) * (1 + abs(shift) / 20), rel=0.05, abs=0.05)


def test_the_h_distance_is_0_for_equal_samples_and_nearly_1_for_separable_ones():
    torch.manual_seed(0)
    sample = torch.randn(60, 2)
    apart = sample[:40] + 8
    distances = train(PairCritics(3, 2, hidden=8, kind="h"), [sample, sample, apart], steps=300)
    assert distances[0, 1] < 0.02
    assert distances[0, 2] > 0.95
    assert distances[1, 2] > 0.95
    assert torch.equal(distances, distances.T)


def test_a_task_that_is_absent_is_at_no_distance_and_moves_no_critic_of_its():
    critics, z = problem((4, 0, 3))
    distances, loss = critics.adversarial_loss(
        nn.Identity(), z, Batch(z, torch.zeros(7, dtype=torch.int64), (4, 0, 3)), torch.ones(3, 3), 10.0, "features"
    )
    loss.backward()
    assert not distances[1].any()
    of_pairs = critics.weight1.grad.view(3, 6, 4)
    assert not of_pairs[0].any()  # (0, 1)
    assert not of_pairs[2].any()  # (1, 2)
    assert of_pairs[1].any()
