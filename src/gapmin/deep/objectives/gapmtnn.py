"""gapMTNN: Algorithm 3 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from gapmin.deep.alignment import Centroids, mean_distances, semantic_distances
from gapmin.deep.config import AT_LEAST_ONE, NOT_NEGATIVE, parameter
from gapmin.deep.critics import PENALTY_ON, PairCritics
from gapmin.deep.heads import Batch, HeadOutputs, MultitaskNet, TaskHeads
from gapmin.deep.losses import loss_matrix, own_losses
from gapmin.deep.objectives._base import Objective, Step, both_present, row_counts
from gapmin.deep.relations import RunningCost, common_classes, relation_by_squares, relation_costs


@dataclass(eq=False, repr=False)
class GapMTNN(Objective):
    """Minimise the performance gap of many tasks: weighted losses, aligned centroids, learnt relations.

    Task j minimises ``sum_k gamma_jk L_k(h_j) + lambda_semantic * nabla_j + lambda_marginal * r_j +
    lambda_relation * ||gamma_j||^2`` with gamma_j on the simplex. nabla_j weighs by gamma_jk how far apart the class
    centroids of tasks j and k are, r_j how far apart the tasks are as a whole. Both move the extractor alone; each head
    is moved by its own weighted loss alone. After each epoch the relation gamma is solved for exactly.

    The defaults are those that work; `printed` gives the paper's own, and docs/fidelity.md what differs and why.

    Parameters
    ----------
    lambda_semantic : float, default=10.0
        lambda_1, the weight of the distance between class centroids.
    lambda_marginal : float, default=0.1
        lambda_2, the weight of the distance between tasks.
    lambda_relation : float, default=1.0
        lambda_3: the more, the nearer the relation is to uniform; 0 puts all weight on the cheapest task.
    relation_cost : "excess", "printed" or "gap", default="excess"
        What a unit of weight on task k costs task j, beside the distances. "printed" is L_k(h_j), by which a hard task
        loses its own weight to easy ones; "excess" is L_k(h_j) - L_k(h_k), 0 for a task itself; "gap" the same of
        probe heads, each trained on its own task alone, on features that it does not change: the definition.
    relation_data : "train" or "holdout", default="train"
        The rows that the relation's losses are measured on: those of the epoch as they are trained on, or a held-out
        share, which also moves the centroids, for that purpose alone. When training losses reach 0 the former say
        nothing.
    holdout : float, default=0.1
        That share of each task's rows.
    learn_relation : bool, default=True
        False keeps the relation as it starts.
    initial_relation : "uniform" or "identity", default="uniform"
    marginal : "centroid", "h" or "wasserstein", default="centroid"
        The distance between tasks: that of their mean features, or one estimated by critics.
    centroid_space : "head" or "extractor", default="head"
        Whether centroids are of the hidden layer of the task's own head or of the extractor's features.
    decay : float, default=0.7
        What is left of a centroid's past when new rows of its class come in.
    reduction : "mean" or "sum", default="mean"
        Over classes and features in the distances of centroids; the paper prints a sum.
    penalty, penalty_on, critic_hidden
        Of the critics, as in `AdvW`.

    Attributes
    ----------
    relation : Tensor of shape (K, K)
        gamma; row j is task j's.
    """

    over_processes = True

    lambda_semantic: float = parameter(10.0, NOT_NEGATIVE)
    lambda_marginal: float = parameter(0.1, NOT_NEGATIVE)
    lambda_relation: float = parameter(1.0, NOT_NEGATIVE)
    relation_cost: str = parameter("excess", StrOptions({"excess", "printed", "gap"}))
    relation_data: str = parameter("train", StrOptions({"train", "holdout"}))
    holdout: float = parameter(0.1, Interval(Real, 0, 1, closed="neither"))
    learn_relation: bool = parameter(True, "boolean")
    initial_relation: str = parameter("uniform", StrOptions({"uniform", "identity"}))
    marginal: str = parameter("centroid", StrOptions({"centroid", "h", "wasserstein"}))
    centroid_space: str = parameter("head", StrOptions({"head", "extractor"}))
    decay: float = parameter(0.7, Interval(Real, 0, 1, closed="left"))
    reduction: str = parameter("mean", StrOptions({"mean", "sum"}))
    penalty: float = parameter(10.0, NOT_NEGATIVE)
    penalty_on: str = parameter("features", PENALTY_ON)
    critic_hidden: int = parameter(128, AT_LEAST_ONE)

    @classmethod
    def printed(cls, **changes: Any) -> Self:
        """Return the objective with what the paper prints: summed distances, 0.1 for both, L_k(h_j) as the cost."""
        weights: dict[str, Any] = {"lambda_semantic": 0.1, "lambda_marginal": 0.1}
        return cls(**weights | {"relation_cost": "printed", "reduction": "sum"} | changes)

    @classmethod
    def ablation(cls, name: str, **changes: Any) -> Self:
        """Return one of the ablated forms of Table 8, the rest by default or as given.

        Examples
        --------
        >>> GapMTNN.ablation("w/o cvx opt.")
        GapMTNN(learn_relation=False)
        """
        if name not in _ABLATIONS:
            raise ValueError(f"ablation is {name!r}: use {', '.join(map(repr, _ABLATIONS))}")
        if both := changes.keys() & _ABLATIONS[name].keys():
            raise ValueError(f"{name!r} is made by setting {', '.join(sorted(both))}: leave that out")
        return cls(**changes, **_ABLATIONS[name])

    @property
    def holdout_share(self) -> float:
        """The share of rows kept for the relation's costs."""
        return self.holdout if self.relation_data == "holdout" and self.learn_relation else 0.0

    def prepare(self, net: MultitaskNet) -> None:
        K = net.n_tasks
        start = torch.eye(K) if self.initial_relation == "identity" else torch.full((K, K), 1 / K)
        self.register_buffer("relation", start)
        self.register_buffer("class_counts", torch.ones(K, net.n_classes))
        self.losses, self.distances = RunningCost(K), RunningCost(K)
        width = net.hidden if self.centroid_space == "head" else net.in_features
        self.centroids = Centroids(K, net.n_classes, width, self.decay)
        self.critics = None
        if self.marginal != "centroid" and self.lambda_marginal and K > 1:
            self.critics = PairCritics(K, net.in_features, self.critic_hidden, self.marginal)
        self.probes = None
        if self.relation_cost == "gap":
            self.probes = TaskHeads(K, net.in_features, net.hidden, net.n_classes, net.heads.activation)

    def set_class_counts(self, class_counts: Tensor) -> None:
        """Take in the tasks' classes: those without a common one never share."""
        self.get_buffer("class_counts").copy_(class_counts)
        allowed = torch.from_numpy(common_classes(class_counts.cpu())).to(self.relation)
        start = self.relation * allowed
        self._set_relation(start / start.sum(1, keepdim=True))

    def forward(self, batch: Batch) -> Step:
        """Return sum_j L^j + lambda_1 nabla_j + lambda_2 r_j for the relation at hand."""
        pairs = self.net.all_pairs(batch)
        losses = loss_matrix(pairs.logits, batch.y, batch.sizes)
        loss = (self.relation * losses).sum()
        terms: dict[str, Tensor] = {}
        distances = torch.zeros_like(losses)
        if self.net.n_tasks > 1:
            aligned, distances, terms = self._align(pairs, batch)
            loss = loss + aligned
        if self.probes is not None:
            loss = loss + own_losses(self.probes.own(pairs.z.detach(), batch.sizes).logits, batch.y, batch.sizes).sum()
        if self.relation_data == "train":
            self._add_cost(pairs, losses, distances, batch)
        return Step(loss, losses.detach().diagonal(), terms)

    def _align(self, pairs: HeadOutputs, batch: Batch) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Return lambda_1 nabla + lambda_2 r, the weighted distances (K, K) by themselves, and what to record."""
        zero = torch.zeros_like(self.relation)
        semantic = marginal = zero
        adversary: Tensor | float = 0.0
        by_means = self.marginal == "centroid" and self.lambda_marginal > 0
        if self.lambda_semantic or by_means:
            features = pairs.hidden if self.centroid_space == "head" else pairs.z
            sums, counts = self.centroids(features, batch.y, batch.sizes)
            if self.lambda_semantic:
                semantic = self.lambda_semantic * semantic_distances(sums, counts, self.reduction)
            if by_means:
                marginal = self.lambda_marginal * mean_distances(sums, counts, self.reduction)
        loss = (self.relation * (semantic + marginal)).sum()
        if self.critics is not None:
            scale = self.lambda_marginal * (self.relation + self.relation.T)
            found, adversary = self.critics.adversarial_loss(
                self.net.extractor, pairs.z, batch, scale, self.penalty, self.penalty_on
            )
            marginal = self.lambda_marginal * found
        terms = {
            "semantic": (self.relation * semantic).detach().sum(),
            "marginal": (self.relation * marginal).detach().sum(),
        }
        return loss + adversary, (semantic + marginal).detach(), terms

    def _add_cost(self, pairs: HeadOutputs, losses: Tensor, distances: Tensor, batch: Batch) -> None:
        if self.probes is not None:
            with torch.no_grad():
                losses = loss_matrix(self.probes.all_pairs(pairs.z, batch.sizes).logits, batch.y, batch.sizes)
        self.losses.add(losses, row_counts(batch))
        self.distances.add(distances, both_present(batch))

    def observe(self, batch: Batch) -> None:
        """Measure the relation's costs on held-out rows."""
        pairs = self.net.all_pairs(batch)
        losses = loss_matrix(pairs.logits, batch.y, batch.sizes)
        distances = torch.zeros_like(losses)
        if self.net.n_tasks > 1:
            _, distances, _ = self._align(pairs, batch)
        self._add_cost(pairs, losses, distances, batch)

    def end_epoch(self) -> None:
        """Solve for the relation, given the network."""
        if self.learn_relation:
            costs = relation_costs(self.losses.mean(), self.distances.mean(), self.relation_cost)
            costs[~common_classes(self.get_buffer("class_counts").cpu())] = np.inf
            self._set_relation(relation_by_squares(costs, self.lambda_relation))
        self.losses.reset()
        self.distances.reset()


_ABLATIONS: dict[str, dict[str, Any]] = {
    "cls. only": {
        "lambda_semantic": 0.0,
        "lambda_marginal": 0.0,
        "learn_relation": False,
        "initial_relation": "identity",
    },
    "w/o marginal": {"lambda_marginal": 0.0},
    "w/o sem. matching": {"lambda_semantic": 0.0},
    "w/o cvx opt.": {"learn_relation": False},
    "w/o marginal & sem. matching": {"lambda_semantic": 0.0, "lambda_marginal": 0.0},
}
