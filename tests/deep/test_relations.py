"""The convex step of an epoch: optimality conditions, CVXPY and torchjd as oracles."""

import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchjd.aggregation import MGDAWeighting

from gapmin.deep.relations import (
    RunningCost,
    common_classes,
    min_norm_weights,
    relation_by_entropy,
    relation_by_norm,
    relation_by_squares,
    relation_costs,
)

SEEDS = st.integers(0, 2**31)
TASKS = st.integers(1, 8)


def random_costs(seed, K, low, high):
    """Return costs whose sizes span many powers of ten, some of them equal."""
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(3, K)) * 10.0 ** rng.uniform(low, high, size=(3, 1))
    costs[:, rng.integers(K)] = costs.min(1)
    return costs + rng.normal(size=(3, 1)) * 10.0 ** rng.uniform(low, high)


@settings(deadline=None)
@given(SEEDS, TASKS, st.integers(-9, 6))
def test_least_squares_relations_meet_the_conditions_of_optimality(seed, K, power):
    """Weights above 0 have one and the same cost + 2 strength w; the others have no smaller cost."""
    costs, strength = random_costs(seed, K, -6, 6), 10.0**power
    relation = relation_by_squares(costs, strength)
    assert (relation >= 0).all()
    np.testing.assert_allclose(relation.sum(1), 1, atol=1e-12)
    # In units of the strength, and from the cheapest, so that nothing is lost where costs are huge in them.
    above = (costs - costs.min(1, keepdims=True)) / (2 * strength)
    for row, weights in zip(above + relation, relation, strict=True):
        assert np.ptp(row[weights > 0]) <= 1e-12
        assert (row[weights == 0] >= row[weights > 0].min() - 1e-12).all()


@settings(deadline=None)
@given(SEEDS, TASKS)
def test_costs_far_from_zero_give_the_relation_of_their_differences(seed, K):
    costs = np.random.default_rng(seed).integers(-8, 9, size=(2, K)) / 4
    far = relation_by_squares(costs + 2.0**40, 0.5)
    np.testing.assert_allclose(far, relation_by_squares(costs, 0.5), atol=1e-12)
    np.testing.assert_allclose(far.sum(1), 1, atol=1e-12)


def by_cvxpy(cost, regulariser):
    w = cp.Variable(len(cost), nonneg=True)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    cp.Problem(cp.Minimize(cost @ w + regulariser(w)), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL, **tight)
    return w.value


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("strength", [0.01, 0.5, 20.0])
@pytest.mark.parametrize("K", [1, 2, 5, 8])
def test_relations_agree_with_cvxpy(K, strength):
    rng = np.random.default_rng(K)
    for cost in rng.exponential(size=(3, K)):
        np.testing.assert_allclose(
            relation_by_squares(cost[None], strength)[0],
            by_cvxpy(cost, lambda w: strength * cp.sum_squares(w)),
            atol=1e-6,
        )
        np.testing.assert_allclose(
            relation_by_norm(cost[None], strength)[0], by_cvxpy(cost, lambda w: strength * cp.norm(w)), atol=1e-4
        )


@settings(deadline=None)
@given(SEEDS, TASKS, st.integers(-3, 3))
def test_norm_relations_meet_the_conditions_of_optimality(seed, K, power):
    costs, strength = random_costs(seed, K, -3, 3), 10.0**power
    relation = relation_by_norm(costs, strength)
    np.testing.assert_allclose(relation.sum(1), 1, atol=1e-10)
    slope = costs / strength + relation / np.linalg.norm(relation, axis=1, keepdims=True)
    tolerance = 1e-9 * (1 + np.abs(costs).max(1) / strength)
    for row, weights, close in zip(slope, relation, tolerance, strict=True):
        assert np.ptp(row[weights > 0]) <= close
        assert (row[weights == 0] >= row[weights > 0].min() - close).all()


@pytest.mark.parametrize("relation_by", [relation_by_squares, relation_by_norm])
def test_without_a_regulariser_all_weight_is_on_the_cheapest(relation_by):
    relation = relation_by([[3.0, 1.0, 2.0], [1.0, 1.0, 2.0], [-1.0, 0.0, -2.0]], 0.0)
    assert relation.tolist() == [[0, 1, 0], [0.5, 0.5, 0], [0, 0, 1]]


@pytest.mark.parametrize("relation_by", [relation_by_squares, relation_by_norm])
def test_between_no_and_all_regularisation_the_relation_goes_from_a_vertex_to_uniform(relation_by):
    cost = [[0.3, 0.1, 0.2]]
    shares = [relation_by(cost, strength)[0, 1] for strength in (1e-4, 0.05, 0.1, 0.5, 1e4)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(1)
    assert shares[-1] == pytest.approx(1 / 3, abs=1e-4)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 8), st.floats(0.01, 100), st.floats(0, 1))
def test_entropy_relations_by_their_definition(seed, K, strength, own):
    costs = np.random.default_rng(seed).exponential(size=(K, K))
    relation = relation_by_entropy(costs, strength, own)
    np.testing.assert_allclose(relation.sum(1), 1)
    np.testing.assert_allclose(relation.diagonal(), own)
    for j in range(K):
        others = np.arange(K) != j
        weights = np.exp(-(costs[j, others] - costs[j, others].min()) / strength)
        np.testing.assert_allclose(relation[j, others], (1 - own) * weights / weights.sum(), atol=1e-12)


def test_entropy_relations_agree_with_cvxpy():
    costs = np.random.default_rng(0).exponential(size=(4, 4))
    relation = relation_by_entropy(costs, strength=0.7, own=0.25)
    found = by_cvxpy(costs[0, 1:], lambda w: 0.7 * cp.sum(cp.kl_div(w, np.full(3, 1 / 3))))
    np.testing.assert_allclose(relation[0, 1:] / 0.75, found, atol=1e-5)


def test_entropy_relations_stand_huge_costs_and_one_task():
    assert relation_by_entropy([[5.0]], 1.0, own=0.3).tolist() == [[1.0]]
    relation = relation_by_entropy(np.array([[0, 1e6, 1e6 + 1], [0, 0, 1e9], [2e8, 0, 0.0]]), 1.0, own=0.5)
    np.testing.assert_allclose(relation[0, 1:], 0.5 * np.array([1, np.exp(-1)]) / (1 + np.exp(-1)))
    np.testing.assert_allclose(relation[1:], [[0.5, 0.5, 0], [0, 0.5, 0.5]])


def gram_of(seed, K, rank, spread):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(K, rank)) + rng.normal(size=rank) * rng.choice([0, 1])
    J *= 10.0 ** rng.uniform(-spread, spread, size=(K, 1))
    if rng.random() < 0.3 and K > 1:
        J[0] = J[1]  # two tasks with one gradient
    return J @ J.T


@settings(max_examples=200, deadline=None)
@given(SEEDS, TASKS, st.integers(1, 10))
def test_the_shortest_mix_meets_the_conditions_of_optimality(seed, K, rank):
    """Every gradient has a product with the mix of at least its squared length, those with weight exactly that."""
    G = gram_of(seed, K, rank, spread=1)
    w = min_norm_weights(G)
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1, abs=1e-12)
    slope, close = G @ w, 1e-9 * G.diagonal().max()
    assert (slope >= w @ slope - close).all()
    assert (np.abs(slope - w @ slope)[w > 0] <= close).all()


@settings(deadline=None)
@given(SEEDS, st.integers(2, 6), st.integers(6, 10))
def test_the_shortest_mix_is_found_among_gradients_of_very_different_length(seed, K, rank):
    """A task that is almost learnt has a tiny gradient: the conditions hold at the length of the mix itself."""
    G = gram_of(seed, K, rank, spread=4)
    w = min_norm_weights(G)
    slope = G @ w
    shortest = G.diagonal().min()
    assert (slope >= (w @ slope) - 1e-6 * shortest).all()


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_the_shortest_mix_is_no_longer_than_torchjds(seed, K):
    G = gram_of(seed, K, 8, spread=0.5)
    w = min_norm_weights(G)
    theirs = MGDAWeighting(epsilon=1e-9, max_iters=1000)(torch.from_numpy(G)).numpy()
    assert w @ G @ w <= theirs @ G @ theirs + 1e-12 * G.diagonal().max()
    # Frank-Wolfe is slow near the end: its length is within its own tolerance of ours.
    assert theirs @ G @ theirs <= w @ G @ w + 1e-2 * G.diagonal().max()


def test_the_shortest_mix_by_hand():
    np.testing.assert_allclose(min_norm_weights([[1.0, 0], [0, 3.0]]), [0.75, 0.25])
    np.testing.assert_allclose(min_norm_weights([[1.0, 2.0], [2.0, 4.0]]), [1, 0], atol=1e-12)  # the shorter of two
    np.testing.assert_allclose(min_norm_weights([[1.0, -1.0], [-1.0, 1.0]]), [0.5, 0.5])  # they cancel out
    np.testing.assert_allclose(min_norm_weights(np.zeros((3, 3))), 1 / 3)
    np.testing.assert_allclose(min_norm_weights([[7.0]]), [1])


@settings(deadline=None)
@given(SEEDS, st.integers(2, 6))
def test_permuting_the_tasks_permutes_the_mix(seed, K):
    G = gram_of(seed, K, 10, spread=0.5) + np.eye(K)  # of full rank: the minimiser is one
    order = np.random.default_rng(seed).permutation(K)
    np.testing.assert_allclose(min_norm_weights(G[np.ix_(order, order)]), min_norm_weights(G)[order], atol=1e-7)


def test_running_costs_are_means_over_the_batches_that_could_tell_them():
    cost = RunningCost(2)
    cost.add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
    cost.add(torch.tensor([[5.0, 9.0], [7.0, 9.0]]), torch.tensor([1.0, 0.0]))  # no rows of task 1
    cost.add(torch.tensor([[0.0, 4.0], [5.0, 0.0]]), torch.tensor([[1.0, 1.0], [1.0, 1.0]]))
    assert cost.mean().tolist() == [[2.0, 3.0], [5.0, 2.0]]
    cost.discount()
    assert cost.mean().tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_hard_task_keeps_its_weight_by_excess_and_gives_it_away_as_printed():
    losses = np.array([[0.1, 2.2, 0.3], [0.4, 2.0, 0.5], [0.3, 2.3, 0.1]])  # task 1 is hard for everybody
    excess = relation_by_squares(relation_costs(losses, kind="excess"), 0.5)
    printed = relation_by_squares(relation_costs(losses, kind="printed"), 0.5)
    assert excess[1].argmax() == 1
    assert printed[1, 1] == 0
    assert (relation_costs(losses, kind="excess").diagonal() == 0).all()
    assert np.array_equal(relation_costs(losses, kind="printed"), losses)
    assert np.array_equal(relation_costs(losses, kind="gap"), relation_costs(losses, kind="excess"))


def test_what_is_added_to_all_losses_of_a_task_changes_no_excess():
    rng = np.random.default_rng(0)
    losses, harder = rng.exponential(size=(4, 4)), rng.exponential(size=4)
    np.testing.assert_allclose(relation_costs(losses + harder), relation_costs(losses))


def test_alignment_costs_nothing_on_a_task_itself():
    losses, alignment = np.ones((2, 2)), np.array([[7.0, 1.0], [2.0, 8.0]])
    assert relation_costs(losses, alignment).tolist() == [[0, 1], [2, 0]]
    assert alignment.tolist() == [[7.0, 1.0], [2.0, 8.0]]


@settings(deadline=None)
@given(SEEDS, TASKS)
def test_no_cost_is_below_zero(seed, K):
    """A task whose head does worse on its own rows than another's does not lose its weight for that."""
    rng = np.random.default_rng(seed)
    losses, distances = rng.normal(size=(K, K)), rng.normal(size=(K, K))
    for kind in ("excess", "gap"):
        costs = relation_costs(losses, distances, kind)
        assert (costs >= 0).all()
        assert (costs.diagonal() == 0).all()
        relation = relation_by_squares(costs, 0.3)
        assert (relation.diagonal() >= relation.max(1) - 1e-12).all()


def test_an_infinite_cost_means_no_weight():
    costs = [[0.0, np.inf, 0.1], [np.inf, 0.0, np.inf], [0.2, np.inf, 0.0]]
    relation = relation_by_squares(costs, 100.0)
    assert (relation > 0).tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    np.testing.assert_allclose(relation.sum(1), 1)


def test_tasks_share_a_class_or_do_not():
    label_sets = [{0, 1}, {1, 2}, {2, 3}]
    counts = [[5 if c in labels else 0 for c in range(4)] for labels in label_sets]
    assert common_classes(counts).tolist() == [[bool(a & b) for b in label_sets] for a in label_sets]
    assert common_classes(np.zeros((2, 3))).tolist() == [[True, False], [False, True]]
