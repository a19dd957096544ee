"""Cross-fitted probes: who is scored by whom, what the costs are made of, and what the relation ends as."""

import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gapmin.deep import MLP, Batch, GapMTNN, MultitaskClassifier, MultitaskNet, TaskHeads, Uniform
from gapmin.deep.batches import TaskRows
from gapmin.deep.probes import CrossFitProbes, ProbeScores, transfer_costs
from gapmin.deep.relations import relation_by_sizes, relation_by_squares

SEEDS = st.integers(0, 2**31)
SIZES = (5, 2, 4)


def rows_of(sizes=SIZES, seed=0, n_classes=3):
    rng = torch.Generator().manual_seed(seed)
    n = sum(sizes)
    z, y = torch.randn(n, 6, generator=rng), torch.randint(n_classes, (n,), generator=rng)
    return z, y, torch.randint(2, (n,), generator=rng)


def probes_of(seed=0):
    torch.manual_seed(seed)
    probes = CrossFitProbes(3, in_features=6, n_classes=3)
    probes.weight.data.normal_()
    probes.see(rows_of()[0], SIZES)
    return probes


@pytest.mark.parametrize("sizes", [SIZES, (4, 4, 4), (3, 0, 2)])
def test_a_row_trains_the_probe_of_its_half_and_task_alone_and_no_features(sizes):
    probes, ones = probes_of(), torch.ones(3, 3)
    z, y, half = rows_of(sizes)
    z.requires_grad_()
    probes.losses(z, y, sizes, half, ones).sum().backward()
    assert z.grad is None
    task = np.repeat(range(3), sizes)
    for k in range(3):
        for h in (0, 1):
            trained = bool(((task == k) & (half.numpy() == h)).any())
            assert bool(probes.weight.grad[k, 3 * h : 3 * h + 3].any()) == trained


def test_no_probe_is_scored_on_rows_that_train_it():
    probes, (z, y, half) = probes_of(), rows_of()
    before = probes.errors(z, y, half)
    probes.weight.data[:, :3] += 1.0 + torch.rand_like(probes.weight[:, :3])
    changed = (probes.errors(z, y, half) != before).any(1)
    assert torch.equal(changed, half == 1)


def test_errors_are_one_less_the_probability_of_the_label():
    probes, (z, y, half) = probes_of(), rows_of()
    mean, variance = z.mean(0), z.var(0, correction=0)
    rows = (z - mean) / (variance + 0.01 * variance.mean()).sqrt()
    found = probes.errors(z, y, half)
    for i in range(len(y)):
        for k in range(3):
            logits = (probes.weight[k] @ rows[i] + probes.bias[k]).view(2, 3)[1 - half[i]]
            assert found[i, k].item() == pytest.approx(1 - logits.softmax(0)[y[i]].item(), abs=1e-5)


def test_a_rare_class_counts_as_much_as_a_frequent_one():
    """The loss of two rows of a class that has two equals that of eight rows, like them, of one that has eight."""
    probes = probes_of()
    z, counts = rows_of((2,))[0], torch.tensor([[8.0, 2.0, 0.0]] * 3)
    z = torch.cat([z[:1]] * 8 + [z[1:]] * 2)
    y, half = torch.tensor([0] * 8 + [1] * 2), torch.zeros(10, dtype=torch.int64)
    by_class = [
        probes.losses(z[y == c], y[y == c], (int((y == c).sum()), 0, 0), half[y == c], counts)[0] for c in (0, 1)
    ]
    whole = probes.losses(z, y, (10, 0, 0), half, counts)[0]
    plain = [
        probes.losses(z[y == c], y[y == c], (int((y == c).sum()), 0, 0), half[y == c], torch.ones(3, 3))[0]
        for c in (0, 1)
    ]
    torch.testing.assert_close(whole, sum(plain) / 2)
    torch.testing.assert_close(by_class[1] / by_class[0], 4 * plain[1] / plain[0])


def scores_of(errors, y, sizes, n_classes=3):
    scores = ProbeScores(len(sizes), n_classes)
    scores.add(errors, y, sizes)
    return scores


@pytest.mark.parametrize("sizes", [SIZES, (3, 0, 2)])
def test_scores_are_sums_over_the_rows_of_a_class_of_a_task(sizes):
    _, y, _ = rows_of(sizes)
    errors = torch.rand(len(y), 3, generator=torch.Generator().manual_seed(1))
    scores = scores_of(errors, y, sizes)
    task = np.repeat(range(3), sizes)
    for j in range(3):
        for c in range(3):
            rows = errors[torch.from_numpy(task == j) & (y == c)]
            assert scores.counts[j, c] == len(rows)
            torch.testing.assert_close(scores.errors[j, c], rows.sum(0))
            torch.testing.assert_close(scores.squares[j, c], (rows - rows[:, [j]]).square().sum(0))


def test_rows_that_trained_no_probe_are_scored_by_the_mean_of_both():
    probes, (z, y, half) = probes_of(), rows_of()
    both = (probes.errors(z, y, half) + probes.errors(z, y, 1 - half)) / 2
    torch.testing.assert_close(probes.errors(z, y, None), both)


def by_definition(errors, y, task, class_counts):
    """Return the costs of three tasks, row by row."""
    K = errors.shape[1]
    costs = np.zeros((K, K))
    for j in range(K):
        classes = np.unique(y[task == j])
        of = [errors[(task == j) & (y == c)] for c in classes]
        error = np.mean([each.mean(0) for each in of], axis=0)
        variance = [(each - each[:, [j]]).var(0) / class_counts[j, c] for each, c in zip(of, classes, strict=True)]
        deviation = np.sqrt(np.sum(variance, axis=0)) / len(classes)
        costs[j] = np.maximum(error - error[j] + deviation, error - error.min()) / (1 - 1 / len(classes))
        costs[j, j] = 0
        if error.min() >= 1 - 1 / len(classes):
            costs[j, np.arange(K) != j] = np.inf
    return costs


@settings(deadline=None)
@given(SEEDS)
def test_costs_by_their_definition(seed):
    rng = np.random.default_rng(seed)
    task, y = np.repeat(range(3), 20), np.tile([0, 1, 2, 0], 15)
    errors = rng.beta(1, 2, size=(60, 3)) * rng.uniform(0.3, 1, size=(1, 3))
    counts = np.stack([np.bincount(y[task == k], minlength=3) for k in range(3)])
    scores = scores_of(torch.from_numpy(errors), torch.from_numpy(y), (20, 20, 20))
    found = scores.costs(counts)
    np.testing.assert_allclose(found, by_definition(errors, y, task, counts), atol=1e-5)
    assert (found >= 0).all()
    scores.discount(0.5)  # what is discounted alike changes nothing
    np.testing.assert_allclose(scores.costs(counts), found, atol=1e-5)


def test_tasks_without_a_common_class_and_tasks_that_nothing_teaches_cost_infinitely_much():
    errors, y = (
        torch.tensor([[0.1, 0.1, 0.1]] * 2 + [[0.2, 0.1, 0.1]] * 2 + [[0.9, 0.9, 0.9]] * 2),
        torch.tensor([0, 1] * 3),
    )
    counts = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0]])
    costs = scores_of(errors, y, (2, 2, 2)).costs(counts)
    assert np.isfinite(costs[:2]).all()
    assert costs[2].tolist() == [np.inf, np.inf, 0]
    apart = transfer_costs(np.zeros((2, 4, 2)), np.zeros((2, 4, 2)), np.ones((2, 4)), [[5, 5, 0, 0], [0, 0, 5, 5]])
    assert apart.tolist() == [[0, np.inf], [np.inf, 0]]


@settings(deadline=None)
@given(SEEDS, st.integers(1, 8), st.integers(-6, 4))
def test_relations_by_size_meet_the_conditions_of_optimality(seed, K, power):
    """Weights above 0 have one and the same cost + 2 strength w / size; the others have no smaller cost."""
    rng = np.random.default_rng(seed)
    costs, sizes, strength = rng.exponential(size=(3, K)), 10.0 ** rng.uniform(0, 4, size=K), 10.0**power
    costs[:, rng.integers(K)] = 0.0
    relation = relation_by_sizes(costs, strength, sizes)
    assert (relation >= 0).all()
    np.testing.assert_allclose(relation.sum(1), 1, atol=1e-12)
    slope = costs / (2 * strength) + relation / (sizes / sizes.mean())
    for row, weights in zip(slope, relation, strict=True):
        assert np.ptp(row[weights > 0]) <= 1e-9 * (1 + row[weights > 0].max())
        assert (row[weights == 0] >= row[weights > 0].min() - 1e-9).all()


@pytest.mark.parametrize("strength", [0.01, 0.05, 2.0])
@pytest.mark.parametrize("K", [1, 2, 5, 8])
def test_relations_by_size_agree_with_cvxpy(K, strength):
    rng = np.random.default_rng(K)
    sizes = rng.integers(20, 2000, size=K)
    n = sizes / sizes.mean()
    for cost in 0.2 * rng.exponential(size=(3, K)):
        w = cp.Variable(K, nonneg=True)
        variance = cp.sum(cp.multiply(1 / n, cp.square(w)))
        cp.Problem(cp.Minimize(cost @ w + strength * variance), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(relation_by_sizes(cost[None], strength, sizes)[0], w.value, atol=1e-4)


def test_relations_by_size_at_their_ends():
    costs = np.random.default_rng(0).exponential(size=(4, 4))
    equal = relation_by_sizes(costs, 0.5, [7, 7, 7, 7])
    np.testing.assert_allclose(equal, relation_by_squares(costs, 0.5), atol=1e-12)
    np.testing.assert_allclose(
        relation_by_sizes(costs * 0, 0.5, [1, 2, 3, 4]), np.full((4, 1), 1) * [0.1, 0.2, 0.3, 0.4]
    )
    np.testing.assert_allclose(relation_by_sizes([[0.0, 0.0, 1.0]], 0.0, [1, 3, 9]), [[0.25, 0.75, 0.0]])
    np.testing.assert_allclose(relation_by_sizes([[0.0, np.inf, 0.0]], 1.0, [1, 3, 1]), [[0.5, 0.0, 0.5]])


def built(objective, relation=None, seed=0):
    torch.manual_seed(seed)
    objective.setup(MultitaskNet(MLP(6, (5,), "tanh"), TaskHeads(3, 5, 4, 3, "elu"))).double()
    if relation is not None:
        objective.relation.copy_(torch.tensor(relation))
    return objective


def gradients(objective, batch):
    objective.zero_grad()
    objective(batch).loss.backward()
    return {name: each.grad for name, each in objective.net.named_parameters()}


SPARSE = [[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]


@pytest.mark.parametrize("space", ["head", "extractor"])
@pytest.mark.parametrize("sizes", [SIZES, (3, 0, 4)])
def test_the_work_of_the_pairs_that_share_is_that_of_all_pairs(sizes, space):
    settings = {"lambda_semantic": 3.0, "lambda_marginal": 2.0, "centroid_space": space, "learn_relation": False}
    few, full = (built(GapMTNN(relation_cost=cost, **settings), SPARSE) for cost in ("crossfit", "excess"))
    x, y, half = rows_of(sizes)
    batch = Batch(x.double(), y, sizes, half)
    found = gradients(few, batch)
    for name, gradient in gradients(full, batch).items():
        torch.testing.assert_close(found[name], gradient)
    for one, other in zip(few(batch), full(batch), strict=True):
        torch.testing.assert_close(one, other)


def test_a_diagonal_relation_does_the_work_of_uniform_alone(monkeypatch):
    x, y, half = rows_of()
    batch = Batch(x.double(), y, SIZES, half)
    expected = gradients(built(Uniform()), batch)
    for name in ("all_pairs", "chosen_pairs"):
        monkeypatch.delattr(TaskHeads, name)
    objective = built(GapMTNN(lambda_semantic=10.0))
    for name, gradient in gradients(objective, batch).items():
        torch.testing.assert_close(gradient, expected[name])


@settings(deadline=None, max_examples=25)
@given(SEEDS, st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_halves_divide_every_class_of_every_task(seed, sizes):
    ends = np.cumsum(sizes)
    tasks = [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    y = torch.from_numpy(np.random.default_rng(seed).integers(0, 3, size=ends[-1]))
    rows = TaskRows(torch.zeros(int(ends[-1]), 1), y, tasks)
    rows.split_in_halves(seed)
    for each in tasks:
        half, labels = rows.half[torch.from_numpy(each)], y[torch.from_numpy(each)]
        assert abs(int((half == 0).sum()) - int((half == 1).sum())) <= 1
        for c in range(3):
            assert abs(int(((half == 0) & (labels == c)).sum()) - int(((half == 1) & (labels == c)).sum())) <= 1
    batch = rows.take([each[::-1] for each in tasks])
    assert torch.equal(batch.half, torch.cat([rows.half[torch.from_numpy(each[::-1].copy())] for each in tasks]))


def fitted(tasks, sizes, epochs=25):
    """Fit small networks to tasks that are given by the rule of their labels."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 6)).astype(np.float32) for n in sizes]
    y = np.concatenate([rule(rows) for rule, rows in zip(tasks, X, strict=True)])
    clf = MultitaskClassifier(
        "gapmtnn", extractor=MLP(6, (16,)), head_hidden=16, epochs=epochs, lr=0.01, device="cpu", random_state=0
    )
    return clf.fit(np.concatenate(X), y, sample_task=np.repeat(range(len(sizes)), sizes))


def by_sum(X):
    return (X[:, 0] + X[:, 1] > 0).astype(int)


def against_it(X):
    return (X[:, 0] - 2 * X[:, 2] < 0).astype(int)


def test_copies_share_and_a_stranger_keeps_to_itself():
    relation = fitted([by_sum, by_sum, against_it], [300, 300, 300]).relation_
    assert relation[0, 1] >= 0.3
    assert relation[1, 0] >= 0.3
    assert (relation[[0, 1, 2, 2], [2, 2, 0, 1]] <= 0.05).all()


def test_a_small_task_learns_from_its_large_twin_and_not_the_other_way_round():
    clf = fitted([by_sum, by_sum], [20, 600], epochs=10)
    assert clf.relation_[0, 1] > 0.5
    assert clf.relation_[1, 0] < 0.1
    assert clf.history_[0]["relation"] != clf.history_[-1]["relation"]


def test_nothing_is_shared_before_something_was_measured():
    x, y, half = rows_of()
    objective = built(GapMTNN())
    assert torch.equal(objective.relation, torch.eye(3).double())
    objective.end_epoch()
    assert torch.equal(objective.relation, torch.eye(3).double())
    objective(Batch(x.double(), y, SIZES))  # rows in no half train no probe and are not scored
    assert not objective.scores.counts.any()
    objective(Batch(x.double(), y, SIZES, half))
    assert objective.scores.counts.sum() == len(y)
