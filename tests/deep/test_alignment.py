"""Centroids as moving averages, their distances, and where their gradients go."""

import math

import pytest
import torch

from gapmin.deep import MLP, Batch, GapMTNN, MultitaskNet, TaskHeads, Uniform
from gapmin.deep.alignment import Centroids, label_entropy, semantic_distances


def test_two_batches_by_hand():
    centroids = Centroids(n_tasks=2, n_classes=3, n_features=1, decay=0.5)
    # Task 0: two rows of class 0, one of class 2. Task 1: one row of class 0.
    features = torch.tensor([[1.0], [3.0], [10.0], [7.0]])
    sums, counts = centroids(features, torch.tensor([0, 0, 2, 0]), (3, 1))
    assert sums[..., 0].tolist() == [[4.0, 0.0, 10.0], [7.0, 0.0, 0.0]]
    assert counts.tolist() == [[2.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    # Then one row of class 0 and one of class 1 of task 0; task 1 is absent, and so is class 2.
    sums, counts = centroids(torch.tensor([[5.0], [8.0]]), torch.tensor([0, 1]), (2, 0))
    assert sums[..., 0].tolist() == [[0.5 * 4 + 5, 8.0, 10.0], [7.0, 0.0, 0.0]]
    assert counts.tolist() == [[0.5 * 2 + 1, 1.0, 1.0], [1.0, 0.0, 0.0]]
    assert torch.equal(centroids.sums, sums)
    assert torch.equal(centroids.counts, counts)


def test_tasks_with_as_many_rows_each_by_hand():
    centroids = Centroids(n_tasks=2, n_classes=2, n_features=1)
    features = torch.tensor([[1.0], [3.0], [10.0], [7.0]])
    sums, counts = centroids(features, torch.tensor([0, 0, 1, 0]), (2, 2))
    assert sums[..., 0].tolist() == [[4.0, 0.0], [7.0, 10.0]]
    assert counts.tolist() == [[2.0, 0.0], [1.0, 1.0]]
    assert not centroids(features[:0], torch.tensor([], dtype=torch.int64), (0, 0))[1].isnan().any()


def test_without_decay_they_are_the_means_of_all_rows_seen():
    torch.manual_seed(0)
    centroids = Centroids(2, 3, 4, decay=1.0).double()
    batches = [(torch.randn(7, 4, dtype=torch.float64), torch.randint(3, (7,))) for _ in range(5)]
    for features, y in batches:
        sums, counts = centroids(features, y, (5, 2))
    for k, rows in enumerate((slice(0, 5), slice(5, 7))):
        features = torch.cat([each[rows] for each, _ in batches])
        y = torch.cat([each[rows] for _, each in batches])
        for c in range(3):
            torch.testing.assert_close(sums[k, c] / counts[k, c], features[y == c].mean(0))


def test_what_is_kept_has_no_gradient_and_what_is_returned_has_the_batchs():
    centroids = Centroids(1, 2, 3, decay=0.9)
    y = torch.tensor([0, 0, 1])
    first, second = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
    centroids(first, y, (3,))
    assert not centroids.sums.requires_grad
    sums, counts = centroids(second, y, (3,))
    (sums / counts.unsqueeze(-1))[0, 0, 1].backward()
    assert first.grad is None
    # The centroid of two rows now and 0.9 * 2 before moves by 1 / 3.8 with each of them.
    expected = torch.zeros(3, 3)
    expected[:2, 1] = 1 / 3.8
    torch.testing.assert_close(second.grad, expected)


def test_evaluation_changes_nothing_that_is_kept():
    centroids = Centroids(1, 2, 3)
    y = torch.tensor([0, 1])
    centroids(torch.randn(2, 3), y, (2,))
    before = {name: value.clone() for name, value in centroids.state_dict().items()}
    sums, _ = centroids.eval()(torch.ones(2, 3), y, (2,))
    torch.testing.assert_close(sums, 0.7 * before["sums"] + 1)
    for name, value in centroids.state_dict().items():
        assert torch.equal(value, before[name])


def by_loop(sums, counts, reduction):
    K, C, d = sums.shape
    found = torch.zeros(K, K, dtype=sums.dtype)
    for j in range(K):
        for k in range(K):
            squares = [
                (sums[j, c] / counts[j, c] - sums[k, c] / counts[k, c]).square().sum()
                for c in range(C)
                if counts[j, c] and counts[k, c]
            ]
            if squares:
                found[j, k] = sum(squares) if reduction == "sum" else sum(squares) / len(squares) / d
    return found


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("unseen", [[], [(0, 1)], [(0, 1), (2, 0), (2, 2)], [(1, 0), (1, 1), (1, 2)]])
def test_semantic_distances_are_over_classes_that_both_have(unseen, reduction):
    torch.manual_seed(0)
    sums, counts = torch.randn(3, 3, 4, dtype=torch.float64), 1 + 5 * torch.rand(3, 3, dtype=torch.float64)
    for cell in unseen:
        sums[cell], counts[cell] = 0.0, 0.0
    found = semantic_distances(sums, counts, reduction)
    torch.testing.assert_close(found, by_loop(sums, counts, reduction))


def test_gradients_of_distances_are_finite_where_classes_and_tasks_are_missing():
    features = torch.randn(3, 4, requires_grad=True)
    centroids = Centroids(3, 3, 4)
    sums, counts = centroids(features, torch.tensor([0, 1, 0]), (2, 1, 0))
    semantic_distances(sums, counts).sum().backward()
    assert torch.isfinite(features.grad).all()
    assert features.grad[0].any()


def problem(seed=0):
    torch.manual_seed(seed)
    net = MultitaskNet(MLP(6, (5,)), TaskHeads(3, in_features=5, hidden=4, n_classes=2, activation="elu"))
    for parameter in net.heads.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return net, Batch(torch.randn(12, 6), torch.arange(12) % 2, (4, 4, 4))


def gradients(objective, batch):
    objective.zero_grad()
    objective(batch).loss.backward()
    return {name: value.grad.clone() for name, value in objective.net.named_parameters()}


@pytest.mark.parametrize("cost", ["crossfit", "excess"])
@pytest.mark.parametrize("space", ["head", "extractor"])
@pytest.mark.parametrize("weight", ["lambda_semantic", "lambda_marginal"])
def test_alignment_moves_the_extractor_and_no_head(weight, space, cost):
    net, batch = problem()
    off = {"lambda_semantic": 0.0, "lambda_marginal": 0.0, "relation_cost": cost, "initial_relation": "uniform"}
    without = gradients(GapMTNN(**off, centroid_space=space).setup(net), batch)
    aligned = gradients(GapMTNN(**(off | {weight: 5.0}), centroid_space=space).setup(net), batch)
    for name, gradient in aligned.items():
        if name.startswith("heads"):
            assert torch.equal(gradient, without[name])
        else:
            assert (gradient - without[name]).abs().max() > 1e-3


COUNTS = torch.tensor([[30.0, 10.0], [5.0, 5.0], [1.0, 0.0]])


def semantic_term(counts, **changes):
    """The alignment term of one batch, for tasks with so many rows of each class."""
    net, batch = problem()
    objective = GapMTNN(initial_relation="uniform", **changes).setup(net)
    objective.set_class_counts(counts)
    return float(objective(batch).terms["semantic"])


def test_by_default_alignment_weighs_the_entropy_of_the_labels():
    shares = COUNTS / COUNTS.sum(1, keepdim=True)
    entropy = -float(torch.where(shares > 0, shares * shares.clamp_min(1e-30).log(), shares).sum(1).mean())
    assert label_entropy(COUNTS) == pytest.approx(entropy, rel=1e-6)
    expected = semantic_term(COUNTS, lambda_semantic=entropy, lambda_marginal=0.0)
    assert semantic_term(COUNTS, lambda_marginal=0.0) == pytest.approx(expected, rel=1e-5)


def test_the_entropy_depends_on_shares_and_not_on_names_or_numbers_of_rows():
    assert label_entropy(7 * COUNTS) == pytest.approx(label_entropy(COUNTS), rel=1e-12)
    assert label_entropy(COUNTS.flip(1)) == pytest.approx(label_entropy(COUNTS), rel=1e-12)
    assert label_entropy(torch.tensor([[4.0, 0.0]])) == 0
    assert label_entropy(torch.full((1, 5), 3.0)) == pytest.approx(math.log(5))


def test_the_alignment_term_is_the_relations_mix_of_the_distances():
    net, batch = problem()
    objective = GapMTNN(lambda_semantic=3.0, lambda_marginal=2.0, centroid_space="extractor", reduction="sum")
    objective.setup(net)
    objective._set_relation([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.0, 0.75]])
    plain = GapMTNN(lambda_semantic=0.0, lambda_marginal=0.0).setup(net)
    plain._set_relation(objective.relation)
    parts = net.extractor(batch.x).split(4)
    expected = 0.0
    for j in range(3):
        for k in range(3):
            classes = sum((parts[j][c::2].mean(0) - parts[k][c::2].mean(0)).square().sum() for c in (0, 1))
            tasks = (parts[j].mean(0) - parts[k].mean(0)).square().sum()
            expected = expected + objective.relation[j, k] * (3.0 * classes + 2.0 * tasks)
    found = objective(batch).loss - plain(batch).loss
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_a_mean_is_the_sum_over_classes_and_features():
    torch.manual_seed(0)
    sums, counts = torch.randn(2, 3, 4), torch.ones(2, 3)
    torch.testing.assert_close(semantic_distances(sums, counts, "sum"), 12 * semantic_distances(sums, counts, "mean"))


def test_equal_tasks_are_aligned_already():
    net, _ = problem()
    x = torch.randn(4, 6)
    same = Batch(x.repeat(3, 1), torch.tensor([0, 1, 0, 1] * 3), (4, 4, 4))
    heads = net.heads
    for parameter in heads.parameters():
        parameter.data[:] = parameter.data[:1].clone()
    for cost in ("crossfit", "excess"):
        objective = GapMTNN(
            relation_cost=cost, initial_relation="uniform", lambda_semantic=10.0, lambda_marginal=0.1
        ).setup(net)
        step = objective(same)
        assert step.terms["semantic"] < 1e-10
        assert step.terms["marginal"] < 1e-10
        torch.testing.assert_close(step.loss, Uniform().setup(net)(same).loss)
