"""What holds of every objective: invariances, reductions to plain training, and what each parameter's gradient is."""

import copy

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch.nn import functional as F
from torchjd.aggregation import MGDAWeighting

from gapmin.deep import (
    AMTNN,
    MLP,
    AdvH,
    AdvW,
    AlexNet,
    Batch,
    GapMTNN,
    LeNet,
    MultiObjective,
    MultitaskNet,
    ResNet18,
    TaskHeads,
    Uniform,
    Weighted,
)
from gapmin.deep.losses import loss_matrix
from gapmin.deep.objectives import OBJECTIVES
from gapmin.deep.relations import relation_by_entropy, relation_by_norm, relation_by_squares, relation_costs

ABLATIONS = ["cls. only", "w/o marginal", "w/o sem. matching", "w/o cvx opt.", "w/o marginal & sem. matching"]
SMALL = {"critic_hidden": 6}
ALL = {
    "uniform": Uniform(),
    "weighted": Weighted(own=0.4, temperature=0.5),
    "advh": AdvH(**SMALL),
    "advw": AdvW(**SMALL),
    "advw net": AdvW(penalty_on="net", **SMALL),
    "multi": MultiObjective(),
    "multi l2": MultiObjective("l2"),
    "multi loss": MultiObjective("loss"),
    "multi loss+": MultiObjective("loss+"),
    "amtnn": AMTNN(**SMALL),
    "amtnn net": AMTNN(penalty_on="net", **SMALL),
    "gapmtnn": GapMTNN(),
    "gapmtnn aligned": GapMTNN(lambda_semantic=10.0, lambda_marginal=0.1, lambda_relation=10.0),
    "gapmtnn excess": GapMTNN(relation_cost="excess"),
    "gapmtnn h": GapMTNN(lambda_marginal=0.1, marginal="h", **SMALL),
    "gapmtnn wasserstein": GapMTNN(relation_cost="excess", marginal="wasserstein", **SMALL),
    "gapmtnn net": GapMTNN(relation_cost="excess", marginal="wasserstein", penalty_on="net", **SMALL),
    "gapmtnn gap": GapMTNN(relation_cost="gap"),
    "gapmtnn holdout": GapMTNN(relation_data="holdout", relation_cost="excess"),
    "gapmtnn holdout crossfit": GapMTNN(relation_data="holdout"),
    "gapmtnn holdout gap": GapMTNN(relation_data="holdout", relation_cost="gap", marginal="h", **SMALL),
    "gapmtnn holdout net": GapMTNN(
        relation_data="holdout", relation_cost="excess", marginal="wasserstein", penalty_on="net", **SMALL
    ),
    "gapmtnn extractor": GapMTNN(relation_cost="excess", centroid_space="extractor"),
    "gapmtnn sum": GapMTNN(reduction="sum", lambda_semantic=0.1),
    "gapmtnn printed": GapMTNN.printed(),
    **{f"gapmtnn {name}": GapMTNN.ablation(name) for name in ABLATIONS},
}
SIZES = (4, 2, 5)
every = pytest.mark.parametrize("name", ALL)


def built(objective, K=3, seed=0, spread=0.3):
    """Return a copy with a small network in float64, whose heads differ by `spread`."""
    torch.manual_seed(seed)
    heads = TaskHeads(K, in_features=5, hidden=4, n_classes=3, activation="elu")
    for parameter in heads.parameters():
        parameter.data[:] = parameter.data[:1] + spread * torch.randn_like(parameter)
    return clone(objective).setup(MultitaskNet(MLP(6, (5,), "tanh"), heads)).double()


def batch_of(sizes=SIZES, seed=0):
    rng = torch.Generator().manual_seed(seed)
    n = sum(sizes)
    x, y = torch.randn(n, 6, generator=rng, dtype=torch.float64), torch.randint(3, (n,), generator=rng)
    return Batch(x, y, sizes, torch.randint(2, (n,), generator=rng))


def train(objective, batches, lr=0.05):
    """Take a step on each batch, close the epoch as the trainer does; return the losses."""
    optimizer = torch.optim.SGD(objective.parameters(), lr=lr)
    losses = []
    objective.train()
    for batch in batches:
        optimizer.zero_grad()
        step = objective(batch)
        step.loss.backward()
        optimizer.step()
        losses.append((step.loss.item(), step.task_losses))
    observe(objective, batch)
    objective.end_epoch()
    return losses


def observe(objective, batch):
    if objective.holdout_share:
        objective.eval()
        with torch.no_grad():
            objective.observe(batch)
        objective.train()


def permuted(state, order):
    """Return a state with task j what was task order[j]; critics of a pair whose order turned change their sign."""
    order, new = list(order), {}
    pairs = [(j, k) for j in range(len(order)) for k in range(j + 1, len(order))]
    was = [(order[j], order[k]) for j, k in pairs]
    at = [pairs.index(tuple(sorted(pair))) for pair in was]
    sign = torch.tensor([1.0 if j < k else -1.0 for j, k in was], dtype=torch.float64)
    for name, value in state.items():
        if name == "relation" or name.startswith(("losses.", "distances.")):
            new[name] = value[order][:, order]
        elif name in ("scores.errors", "scores.squares"):
            new[name] = value[order][:, :, order]
        elif name == "n_batches" or name.startswith("probes.moments"):
            new[name] = value
        elif name.startswith(
            (
                "net.heads",
                "probes",
                "centroids",
                "class_counts",
                "scores.counts",
                "task_weights",
                "discriminator.second",
            )
        ):
            new[name] = value[order]
        elif name in ("critics.weight1", "critics.bias1"):
            new[name] = value.view(len(pairs), -1, *value.shape[1:])[at].flatten(0, 1)
        elif name == "critics.weight2":
            new[name] = value[at] * sign[:, None]
        elif name == "critics.bias2":
            new[name] = value[at] * sign
        else:
            assert name.startswith(("net.extractor", "discriminator.first")), name
            new[name] = value
    return new


def permuted_batch(batch, order):
    x, y, half = (
        torch.cat([each.split(list(batch.sizes))[k] for k in order]) for each in (batch.x, batch.y, batch.half)
    )
    return Batch(x, y, [batch.sizes[k] for k in order], half)


@every
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1)])
def test_permuting_the_tasks_permutes_all_that_is_learnt(name, order, monkeypatch):
    # Half-way points: the gradient penalty draws its points for a pair in the order of its tasks.
    monkeypatch.setattr(torch, "rand", lambda *size, **kind: torch.full(size, 0.5, **kind))
    one, other = built(ALL[name]), built(ALL[name], seed=1)
    other.load_state_dict(permuted(one.state_dict(), order))
    batches = [batch_of(seed=seed) for seed in range(3)] + [batch_of((3, 0, 2), seed=3), batch_of(seed=4)]
    for _ in range(2):
        losses = train(one, batches)
        turned = train(other, [permuted_batch(batch, order) for batch in batches])
        for (loss, by_task), (found, found_by_task) in zip(losses, turned, strict=True):
            assert found == pytest.approx(loss, abs=1e-9)
            torch.testing.assert_close(found_by_task, by_task[list(order)])
    expected = permuted(one.state_dict(), order)
    for key, value in other.state_dict().items():
        torch.testing.assert_close(
            value, expected[key], atol=1e-8, rtol=1e-8, msg=lambda text, key=key: f"{key}: {text}"
        )


@every
def test_the_order_of_a_tasks_rows_does_not_matter(name, monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *size, **kind: torch.full(size, 0.5, **kind))
    batch = batch_of((4, 4, 4))
    turned = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]  # in all tasks alike: a penalty pairs the rows of two tasks
    one, other = built(ALL[name]), built(ALL[name])
    train(one, [batch] * 3)
    train(other, [Batch(batch.x[turned], batch.y[turned], batch.sizes, batch.half[turned])] * 3)
    for value, found in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(found, value, atol=1e-9, rtol=1e-9)


@every
def test_one_task_is_plain_training(name):
    objective = built(ALL[name], K=1)
    phi = copy.deepcopy(objective.net.extractor)
    heads = objective.net.heads
    first, second = torch.nn.Linear(5, 4).double(), torch.nn.Linear(4, 3).double()
    for layer, weight, bias in ((first, heads.weight1, heads.bias1), (second, heads.weight2, heads.bias2)):
        layer.weight.data, layer.bias.data = weight[0].detach().clone(), bias[0].detach().clone()
    plain = torch.nn.Sequential(phi, first, torch.nn.ELU(), second)
    batches = [batch_of((5,), seed) for seed in range(4)]
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05)
    for _ in range(2):
        losses = train(objective, batches)
        for batch, (_, found) in zip(batches, losses, strict=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(plain(batch.x), batch.y)
            loss.backward()
            optimizer.step()
            assert found.item() == pytest.approx(loss.item(), abs=1e-12)
    for one, other in zip(objective.net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.view_as(other), other, atol=1e-12, rtol=1e-12)
    if hasattr(objective, "relation"):
        assert objective.relation.tolist() == [[1.0]]


@pytest.mark.parametrize(
    "objective",
    [
        GapMTNN.ablation("cls. only"),
        GapMTNN(lambda_semantic=0.0, lambda_marginal=0.0, learn_relation=False, initial_relation="identity"),
        AdvH(adversary=0.0, **SMALL),
        AdvW(adversary=0.0, **SMALL),
        Weighted(own=1.0),
    ],
    ids=repr,
)
def test_without_what_is_shared_but_the_extractor_it_is_uniform(objective):
    batches = [batch_of(seed=seed) for seed in range(3)] + [batch_of((3, 0, 2), seed=3)]
    one, plain = built(objective), built(Uniform())
    for _ in range(2):
        train(one, batches)
        train(plain, batches)
    for found, expected in zip(one.net.parameters(), plain.net.parameters(), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-10, rtol=1e-10)


def gradients(objective, batch):
    objective.zero_grad()
    objective(batch).loss.backward()
    return {name: parameter.grad.clone() for name, parameter in objective.net.named_parameters()}


def test_uniform_heads_are_independent_and_the_extractor_gets_the_sum():
    objective, batch = built(Uniform()), batch_of()
    together = gradients(objective, batch)
    alone = []
    for k, rows in enumerate(torch.arange(11).split(list(SIZES))):
        sizes = [len(rows) if j == k else 0 for j in range(3)]
        alone.append(gradients(objective, Batch(batch.x[rows], batch.y[rows], sizes)))
    for name, gradient in together.items():
        torch.testing.assert_close(gradient, sum(each[name] for each in alone))
        if name.startswith("heads"):
            for k, each in enumerate(alone):
                torch.testing.assert_close(gradient[k], each[name][k])


@pytest.mark.parametrize("normalise", ["none", "l2", "loss", "loss+"])
def test_mgda_is_the_brute_force_one(normalise):
    """K passes over the whole batch, torchjd's weights."""
    objective, batch = built(MultiObjective(normalise)), batch_of()
    found = gradients(objective, batch)
    shared = list(objective.net.extractor.parameters())
    losses = loss_matrix(objective.net.all_pairs(batch).logits, batch.y, batch.sizes).diagonal()
    J = torch.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(loss, shared, retain_graph=True)]) for loss in losses]
    )
    divisor = {
        "none": torch.ones(3),
        "l2": J.norm(dim=1),
        "loss": losses.detach(),
        "loss+": losses.detach() * J.norm(dim=1),
    }[normalise][:, None]
    weights = MGDAWeighting(epsilon=1e-9, max_iters=20_000)((J / divisor) @ (J / divisor).T)
    torch.testing.assert_close(objective.task_weights, weights, atol=1e-3, rtol=0)
    mixed = torch.cat([found[f"extractor.{name}"].flatten() for name, _ in objective.net.extractor.named_parameters()])
    torch.testing.assert_close(mixed, objective.task_weights @ J)
    of_heads = torch.autograd.grad(losses.sum(), list(objective.net.heads.parameters()))
    for (name, _), expected in zip(objective.net.heads.named_parameters(), of_heads, strict=True):
        torch.testing.assert_close(found[f"heads.{name}"], expected)
    if normalise == "none":  # a descent direction for all tasks
        assert (J @ mixed >= mixed @ mixed - 1e-10).all()


def test_mgda_with_a_frozen_extractor_and_with_parts_that_are_not_used():
    objective, batch = built(MultiObjective()), batch_of()
    expected = gradients(objective, batch)
    objective.net.extractor.unused = torch.nn.Linear(2, 2).double()
    objective.zero_grad()
    objective(batch).loss.backward()
    for name, gradient in expected.items():
        torch.testing.assert_close(objective.net.get_parameter(name).grad, gradient)
    objective.net.extractor.requires_grad_(False)
    objective.zero_grad()
    objective(batch).loss.backward()
    assert objective.net.heads.weight1.grad.any()


@every
def test_a_state_goes_over_to_a_new_objective(name):
    one = built(ALL[name])
    train(one, [batch_of(seed=seed) for seed in range(3)])
    one(batch_of(seed=3)).loss.backward()  # in mid-epoch: what it has gathered goes over too
    other = built(ALL[name], seed=1)
    other.load_state_dict(one.state_dict())
    states = []
    for objective in (one, other):
        torch.manual_seed(0)
        losses = [loss for loss, _ in train(objective, [batch_of(seed=4), batch_of(seed=5)])]
        states.append((losses, objective.state_dict()))
    assert states[0][0] == states[1][0]
    for key, value in states[0][1].items():
        assert torch.equal(value, states[1][1][key]), key


@every
def test_objectives_are_cloned_by_their_parameters(name):
    objective = built(ALL[name])
    twin = clone(objective)
    assert type(twin) is type(objective)
    assert twin.get_params() == objective.get_params() == ALL[name].get_params()
    assert not list(twin.parameters())
    assert repr(twin) == repr(ALL[name])


def test_parameters_can_be_set():
    objective = GapMTNN().set_params(lambda_semantic=3.0, marginal="h")
    assert repr(objective) == "GapMTNN(lambda_semantic=3.0, marginal='h')"
    with pytest.raises(ValueError, match="lambda_4"):
        objective.set_params(lambda_4=1.0)


WRONG = {
    Weighted: {"own": [-0.1, 1.1], "temperature": [0.0]},
    AdvH: {"adversary": [-1.0, "much"], "critic_hidden": [0]},
    AdvW: {"adversary": [-1.0], "penalty": [-1.0], "penalty_on": ["input"], "critic_hidden": [1.5]},
    MultiObjective: {"normalise": ["l1", None]},
    AMTNN: {"distance": [-1.0], "strength": [-1.0], "penalty": [-1.0], "penalty_on": [None], "critic_hidden": [0]},
    GapMTNN: {
        "lambda_semantic": [-1.0, "much"],
        "lambda_marginal": [-1.0],
        "lambda_relation": [-1.0],
        "relation_cost": ["loss"],
        "relation_data": ["test"],
        "holdout": [0.0, 1.0],
        "learn_relation": ["no"],
        "initial_relation": ["zero"],
        "marginal": ["mmd"],
        "centroid_space": ["input"],
        "decay": [1.0, -0.1],
        "reduction": ["max"],
        "penalty": [-1.0],
        "penalty_on": ["z"],
        "critic_hidden": [0],
    },
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(kind, name, value) for kind, names in WRONG.items() for name, values in names.items() for value in values],
)
def test_wrong_hyper_parameters_are_named(kind, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__}"):
        built(kind(**{name: value}))


def test_every_hyper_parameter_is_checked():
    for kind in OBJECTIVES.values():
        assert set(kind._parameter_constraints) == set(kind().get_params())
        assert set(WRONG.get(kind, ())) == set(kind().get_params())


@every
def test_a_batch_without_one_of_the_tasks(name):
    objective = built(ALL[name])
    before = copy.deepcopy(objective.state_dict())
    batch = batch_of((4, 0, 5))
    train(objective, [batch] * 2)
    after = objective.state_dict()
    assert all(torch.isfinite(value).all() for value in after.values())
    assert not torch.equal(after["net.extractor.layers.0.weight"], before["net.extractor.layers.0.weight"])
    if "relation" in after:
        torch.testing.assert_close(after["relation"].sum(1), torch.ones(3, dtype=torch.float64))
    if not hasattr(objective, "relation"):
        for key in ("net.heads.weight1", "net.heads.bias2"):
            assert torch.equal(after[key][1], before[key][1])


@every
def test_looking_at_held_out_rows_changes_the_relation_alone(name):
    objective = built(ALL[name])
    train(objective, [batch_of()])
    before = copy.deepcopy(objective.state_dict())
    objective.eval()
    with torch.no_grad():
        objective.observe(batch_of(seed=1))
    for key, value in objective.state_dict().items():
        assert key.startswith(("losses.", "distances.", "scores.")) or torch.equal(value, before[key])


@every
def test_evaluating_the_loss_without_gradients(name):
    objective, batch = built(ALL[name]), batch_of()
    with torch.no_grad():
        step = objective.eval()(batch)
    losses = loss_matrix(objective.net.all_pairs(batch).logits, batch.y, batch.sizes).diagonal()
    torch.testing.assert_close(step.task_losses, losses)
    assert torch.isfinite(step.loss)


def measured(objective, batches):
    """Return the means over batches of L_k(h_j) + the distances; the network stays as it is."""
    found = []
    for batch in batches:
        objective.zero_grad()
        losses = loss_matrix(objective.net.all_pairs(batch).logits, batch.y, batch.sizes)
        objective(batch)
        found.append(losses.detach().numpy())
    objective.end_epoch()
    return np.mean(found, axis=0)


BATCHES = [batch_of(seed=seed) for seed in range(3)]
NO_ALIGNMENT = {"lambda_semantic": 0.0, "lambda_marginal": 0.0}


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (
            GapMTNN(relation_cost="excess", lambda_relation=0.4, **NO_ALIGNMENT),
            lambda L: relation_by_squares(relation_costs(L), 0.4),
        ),
        (GapMTNN.printed(lambda_relation=0.5, **NO_ALIGNMENT), lambda L: relation_by_squares(L, 0.5)),
        (AMTNN(distance=0.0, strength=0.3, **SMALL), lambda L: relation_by_norm(L, 0.3)),
        (Weighted(own=0.4, temperature=0.5), lambda L: relation_by_entropy(L, 0.5, 0.4)),
    ],
    ids=["gapmtnn", "printed", "amtnn", "weighted"],
)
def test_the_relation_of_an_epoch_is_solved_from_its_mean_costs(objective, expected):
    objective = built(objective)
    first = expected(measured(objective, BATCHES))
    np.testing.assert_allclose(objective.relation.numpy(), first, atol=1e-10)
    # An epoch starts anew: what came before is forgotten.
    second = expected(measured(objective, BATCHES[:1]))
    np.testing.assert_allclose(objective.relation.numpy(), second, atol=1e-10)
    assert np.abs(first - second).max() > 0.01


def test_the_distances_of_an_epoch_make_far_tasks_dear():
    """Two tasks with the same rows, and one with rows of its own, all under one head: only the distances differ."""
    objective = built(GapMTNN(lambda_semantic=5.0, relation_cost="excess"), spread=0.0)
    x, y = batch_of((4,)).x, torch.tensor([0, 1, 2, 0])
    objective(Batch(torch.cat([x, x, x + 1]), y.repeat(3), (4, 4, 4)))
    objective.end_epoch()
    relation = objective.relation
    assert relation[0, 0] == pytest.approx(relation[0, 1].item())
    assert relation[0, 2] < relation[0, 1]
    assert relation[2, 2] > relation[2, 0]


def test_a_hard_task_keeps_its_own_rows_by_excess_and_not_as_printed():
    easy, hard = batch_of((6,), seed=0), batch_of((2,), seed=1)
    every_label = torch.tensor([0, 0, 1, 1, 2, 2])  # each row of the hard task has all of them
    batch = Batch(torch.cat([easy.x, hard.x.repeat(3, 1)]), torch.cat([easy.y, every_label]), (6, 6))
    own_weight = {}
    for cost in ("excess", "printed"):
        objective = built(GapMTNN(relation_cost=cost, lambda_relation=0.1, **NO_ALIGNMENT), K=2)
        for _ in range(3):
            train(objective, [batch] * 60, lr=0.3)
        own_weight[cost] = objective.relation[1, 1].item()
    assert own_weight["printed"] == 0
    assert own_weight["excess"] > 0.25


def test_heads_that_are_equal_have_no_excess_whatever_tasks_a_batch_lacks():
    """The loss of head j on task k less that of head k on task k, over the same rows."""
    objective = built(GapMTNN(relation_cost="excess", lambda_relation=0.05, **NO_ALIGNMENT), spread=0.0)
    for seed, sizes in enumerate([(4, 4, 4), (4, 0, 4), (4, 0, 0), (1, 3, 0)]):
        objective(batch_of(sizes, seed))
    objective.end_epoch()
    torch.testing.assert_close(objective.relation, torch.full((3, 3), 1 / 3, dtype=torch.float64))


def test_probe_heads_learn_alone_and_leave_the_features_alone():
    objective, plain = built(GapMTNN(relation_cost="gap")), built(GapMTNN(relation_cost="excess"))
    batch = batch_of()
    found, expected = gradients(objective, batch), gradients(plain, batch)
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient)
    of_all = objective.probes.weight1.grad.clone()
    gradients(objective, Batch(batch.x[:4], batch.y[:4], (4, 0, 0)))
    torch.testing.assert_close(objective.probes.weight1.grad[0], of_all[0])
    assert of_all[1:].any()
    assert not objective.probes.weight1.grad[1:].any()


def test_printed_is_the_print_and_takes_changes():
    printed, ours = GapMTNN.printed().get_params(), GapMTNN().get_params()
    differs = {name: value for name, value in printed.items() if value != ours[name]}
    weights = {"lambda_semantic": 0.1, "lambda_marginal": 0.1}
    assert differs == weights | {"relation_cost": "printed", "reduction": "sum"}
    torch.testing.assert_close(built(GapMTNN.printed()).relation, torch.full((3, 3), 1 / 3).double())
    assert GapMTNN.printed(reduction="mean", decay=0.5).get_params() == printed | {"reduction": "mean", "decay": 0.5}


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("w/o marginal", {"lambda_marginal": 0.0}),
        ("w/o sem. matching", {"lambda_semantic": 0.0}),
        ("w/o cvx opt.", {"learn_relation": False, "initial_relation": "uniform"}),
        ("w/o marginal & sem. matching", {"lambda_marginal": 0.0, "lambda_semantic": 0.0}),
    ],
)
def test_ablations_take_away_what_their_names_say(name, off):
    assert GapMTNN.ablation(name, decay=0.5).get_params() == GapMTNN(decay=0.5, **off).get_params()


def test_unknown_ablations_are_named():
    with pytest.raises(ValueError, match=r"ablation is 'w/o heads': use 'cls\. only'"):
        GapMTNN.ablation("w/o heads")


def test_without_the_convex_step_the_relation_stays():
    objective = built(GapMTNN.ablation("w/o cvx opt."))
    train(objective, BATCHES)
    assert torch.equal(objective.relation, torch.full((3, 3), 1 / 3).double())


NETS = {
    "lenet": (LeNet, (1, 28, 28)),
    "alexnet": (lambda: AlexNet(features_only=True), (3, 64, 64)),
    "resnet18": (ResNet18, (3, 32, 32)),
    "mlp": (lambda: MLP(6), (6,)),
}


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_takes_a_step_on_every_network(name, net):
    torch.manual_seed(0)
    make, shape = NETS[net]
    extractor = make()
    heads = TaskHeads(2, extractor.out_features, hidden=4, n_classes=3)
    kind = OBJECTIVES[name]
    objective = kind(**({"critic_hidden": 4} if "critic_hidden" in kind().get_params() else {}))
    objective.setup(MultitaskNet(extractor, heads))
    x = torch.randn(5, *shape)
    step = objective(Batch(x, torch.tensor([0, 1, 2, 1, 0]), (3, 2), torch.tensor([0, 1, 0, 1, 0])))
    step.loss.backward()
    for key, parameter in objective.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key
    assert all(parameter.grad.any() for parameter in extractor.parameters())
    assert all(parameter.grad.any() for parameter in heads.parameters())
    objective.end_epoch()


def test_losses_of_an_epoch_weigh_rows_not_batches():
    """A held-out batch of one row counts as one row."""
    objective = built(GapMTNN(relation_cost="excess", relation_data="holdout", **NO_ALIGNMENT))
    whole = batch_of()
    with torch.no_grad():
        objective.eval()
        objective.observe(whole)
        expected = objective.losses.mean()
        objective.losses.discount()
        K = len(whole.sizes)
        starts = [sum(whole.sizes[:k]) for k in range(K)]
        first = torch.tensor(starts)
        rest = torch.tensor([i for i in range(len(whole.y)) if i not in starts])
        objective.observe(Batch(whole.x[first], whole.y[first], [1] * K))
        objective.observe(Batch(whole.x[rest], whole.y[rest], [size - 1 for size in whole.sizes]))
    np.testing.assert_allclose(objective.losses.mean(), expected, rtol=1e-5)


def test_an_ablation_is_not_undone():
    with pytest.raises(ValueError, match="made by setting lambda_marginal"):
        GapMTNN.ablation("w/o marginal", lambda_marginal=5.0)
