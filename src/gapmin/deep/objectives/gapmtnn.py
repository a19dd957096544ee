"""gapMTNN: Algorithm 3 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from gapmin.deep.alignment import Centroids, label_entropy, pair_distances
from gapmin.deep.config import AT_LEAST_ONE, NOT_NEGATIVE, parameter
from gapmin.deep.critics import PENALTY_ON, PairCritics
from gapmin.deep.heads import Batch, HeadOutputs, MultitaskNet, TaskHeads
from gapmin.deep.losses import chosen_losses, loss_matrix, own_losses
from gapmin.deep.objectives._base import Objective, Step, both_present, row_counts
from gapmin.deep.probes import CrossFitProbes, ProbeScores
from gapmin.deep.relations import (
    RunningCost,
    common_classes,
    relation_by_sizes,
    relation_by_squares,
    relation_costs,
)

_DEFAULTS = {
    "crossfit": (1.0, 0.01, 0.05),
    "others": (10.0, 0.1, 1.0),
}
"""By relation_cost: lambda_1, lambda_2, lambda_3. With "crossfit" the first two are for each nat of label entropy."""

_LOOK_EVERY = 2
"""Probes are scored, and features taken into the moments, in every so many-th batch: the first of an epoch and on."""
_KEPT_OF_PAST_EPOCHS = 0.5


@dataclass(eq=False, repr=False)
class GapMTNN(Objective):
    """Minimise the performance gap of many tasks: weighted losses, learnt relations, aligned centroids.

    Task j minimises ``sum_k gamma_jk L_k(h_j) + lambda_semantic * nabla_j + lambda_marginal * r_j`` with gamma_j on
    the simplex. nabla_j weighs by gamma_jk how far apart the class centroids of tasks j and k are, r_j how far apart
    the tasks are as a whole. Both move the extractor alone; each head is moved by its own weighted loss alone. After
    each epoch the relation gamma is solved for exactly. Tasks without a common class never share.

    The defaults are those that work; `printed` gives the paper's own, and docs/fidelity.md what differs and why.

    Parameters
    ----------
    lambda_semantic : float, optional
        lambda_1, the weight of the distance between class centroids: by default 10, but with "crossfit" the entropy of
        the labels in nats, the mean over the tasks. That is the log loss before anything is learnt: 2.3 with ten
        equally frequent classes, 0.2 where 6% of the rows are positive.
    lambda_marginal : float, optional
        lambda_2, the weight of the distance between tasks: by default a hundredth of lambda_1.
    lambda_relation : float, optional
        lambda_3: the more, the more tasks share; 0 puts all weight on the cheapest task. By default 0.05 with
        "crossfit", where it weighs ``sum_k gamma_jk^2 / n_k`` with n_k the tasks' sizes relative to their mean; else
        1, of ``||gamma_j||^2``.
    relation_cost : "crossfit", "excess", "printed" or "gap", default="crossfit"
        What a unit of weight on task k costs task j. "crossfit" asks whether k's rows can teach j: two linear probes
        for each task on features that they do not change, each trained on half of its task's rows, scored on the other
        half. The cost is how much worse on j's rows k's probes do than j's own (see `gapmin.deep.probes`). The others
        add the distances: "printed" is L_k(h_j), by which a hard task loses its own weight to easy ones. "excess" is
        L_k(h_j) - L_k(h_k), at least 0, and 0 for a task itself. "gap" is the same of probe heads, each trained on its
        own task alone: the definition.
    relation_data : "train" or "holdout", default="train"
        The rows that the relation's costs are measured on: those of the epoch as they are trained on, or a held-out
        share, which also moves the centroids, for that purpose alone. When training losses reach 0 the former say
        nothing of "excess", "printed" and "gap"; of "crossfit" they do, for no probe is scored on rows that trained it.
    holdout : float, default=0.1
        That share of each task's rows.
    learn_relation : bool, default=True
        False keeps the relation as it starts.
    initial_relation : "auto", "uniform" or "identity", default="auto"
        "auto" is the identity with "crossfit", for in the first epoch nothing has been measured, else uniform.
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

    Examples
    --------
    >>> from gapmin.deep import GapMTNN, MultitaskClassifier
    >>> MultitaskClassifier(objective=GapMTNN(lambda_semantic=1.0))
    MultitaskClassifier(objective=GapMTNN(lambda_semantic=1.0))
    """

    over_processes = True
    weighs_rows = True

    lambda_semantic: float | None = parameter(None, NOT_NEGATIVE, None)
    lambda_marginal: float | None = parameter(None, NOT_NEGATIVE, None)
    lambda_relation: float | None = parameter(None, NOT_NEGATIVE, None)
    relation_cost: str = parameter("crossfit", StrOptions({"crossfit", "excess", "printed", "gap"}))
    relation_data: str = parameter("train", StrOptions({"train", "holdout"}))
    holdout: float = parameter(0.1, Interval(Real, 0, 1, closed="neither"))
    learn_relation: bool = parameter(True, "boolean")
    initial_relation: str = parameter("auto", StrOptions({"auto", "uniform", "identity"}))
    marginal: str = parameter("centroid", StrOptions({"centroid", "h", "wasserstein"}))
    centroid_space: str = parameter("head", StrOptions({"head", "extractor"}))
    decay: float = parameter(0.7, Interval(Real, 0, 1, closed="left"))
    reduction: str = parameter("mean", StrOptions({"mean", "sum"}))
    penalty: float = parameter(10.0, NOT_NEGATIVE)
    penalty_on: str = parameter("features", PENALTY_ON)
    critic_hidden: int = parameter(128, AT_LEAST_ONE)

    @classmethod
    def printed(cls, **changes: Any) -> Self:
        """Return the objective with what the paper prints: summed distances, 0.1 for both, L_k(h_j) as the cost.

        Parameters
        ----------
        **changes : any
            Parameters that differ from the print.
        """
        weights: dict[str, Any] = {"lambda_semantic": 0.1, "lambda_marginal": 0.1}
        return cls(**weights | {"relation_cost": "printed", "reduction": "sum"} | changes)

    @classmethod
    def ablation(cls, name: str, **changes: Any) -> Self:
        """Return one of the ablated forms of Table 8; the rest by default or as given.

        Parameters
        ----------
        name : str
            A row of Table 8, such as "w/o cvx opt.".
        **changes : any
            Parameters that differ besides.

        Examples
        --------
        >>> GapMTNN.ablation("w/o cvx opt.", lambda_marginal=0.0).learn_relation
        False
        """
        if name not in _ABLATIONS:
            raise ValueError(f"ablation is {name!r}: use {', '.join(map(repr, _ABLATIONS))}")
        if both := changes.keys() & _ABLATIONS[name].keys():
            raise ValueError(f"{name!r} is made by setting {', '.join(sorted(both))}: leave that out")
        return cls(**changes | _ABLATIONS[name])

    @property
    def holdout_share(self) -> float:
        """The share of rows kept for the relation's costs."""
        return self.holdout if self.relation_data == "holdout" and self.learn_relation else 0.0

    def _weights(self) -> tuple[float, float, float]:
        """Return lambda_1, lambda_2 and lambda_3; by default those of the relation's cost."""
        given = self.lambda_semantic, self.lambda_marginal, self.lambda_relation
        default = list(_DEFAULTS["crossfit" if self.relation_cost == "crossfit" else "others"])
        if self.relation_cost == "crossfit" and None in given[:2]:
            nats = label_entropy(self.get_buffer("class_counts"))
            default[:2] = default[0] * nats, default[1] * nats
        first, second, third = (d if g is None else float(g) for g, d in zip(given, default, strict=True))
        return first, second, third

    def prepare(self, net: MultitaskNet) -> None:
        """Make what the objective keeps.

        Parameters
        ----------
        net : MultitaskNet
            The network to train.
        """
        K = net.n_tasks
        crossfit = self.relation_cost == "crossfit"
        start = ("identity" if crossfit else "uniform") if self.initial_relation == "auto" else self.initial_relation
        self.register_buffer("relation", torch.eye(K) if start == "identity" else torch.full((K, K), 1 / K))
        self.register_buffer("class_counts", torch.ones(K, net.n_classes))
        self.losses, self.distances = RunningCost(K), RunningCost(K)
        width = net.hidden if self.centroid_space == "head" else net.in_features
        self.centroids = Centroids(K, net.n_classes, width, self.decay)
        self.critics = None
        if self.marginal != "centroid" and self._weights()[1] and K > 1:
            self.critics = PairCritics(K, net.in_features, self.critic_hidden, self.marginal)
        self.probes: TaskHeads | CrossFitProbes | None = None
        if self.relation_cost == "gap":
            self.probes = TaskHeads(K, net.in_features, net.heads.hidden, net.heads.n_classes, net.heads.activation)
        elif crossfit and self.learn_relation and K > 1:
            self.probes = CrossFitProbes(K, net.in_features, net.n_classes)
            self.scores = ProbeScores(K, net.n_classes)
            self.register_buffer("n_batches", torch.zeros((), dtype=torch.int64))

    def set_class_counts(self, class_counts: Tensor) -> None:
        """Take in the tasks' classes and sizes: tasks without a common class never share.

        Parameters
        ----------
        class_counts : Tensor of shape (n_tasks, n_classes)
            How many rows of each class each task has.
        """
        self.get_buffer("class_counts").copy_(class_counts)
        allowed = torch.from_numpy(common_classes(class_counts.cpu())).to(self.relation)
        start = self.relation * allowed
        start = torch.where(start.sum(1, keepdim=True) > 0, start, torch.eye(len(start)).to(start))
        self._set_relation(start / start.sum(1, keepdim=True))

    def forward(self, batch: Batch) -> Step:
        """Return sum_j L^j + lambda_1 nabla_j + lambda_2 r_j for the relation at hand.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        # Algorithm 3, line 4: "h_k moves by its own loss alone". Head j is in row j of `losses` only; `pairs.hidden`,
        # which the alignment is made of, has no gradient to the heads: see `_ChosenPairs` in heads.py.
        if self.relation_cost == "crossfit":
            return self._step_on_chosen_pairs(batch)
        return self._step_on_all_pairs(batch)

    def _step_on_chosen_pairs(self, batch: Batch) -> Step:
        """Do the work of the pairs with a weight above 0 alone; let the probes see the batch."""
        z = self.net.extractor(batch.x)
        relation = self.relation.tolist()
        sources = [[k for k, weight in enumerate(row) if weight > 0 or j == k] for j, row in enumerate(relation)]
        terms: dict[str, Tensor] = {}
        if all(len(each) == 1 for each in sources):
            losses = own_losses(self.net.heads.own(z, batch.sizes).logits, batch.y, batch.sizes, batch.weight)
            loss, losses = (self.relation.diagonal() * losses).sum(), losses.detach()
            if self.net.n_tasks > 1:
                terms = {"semantic": torch.zeros_like(loss), "marginal": torch.zeros_like(loss)}
        else:
            weights = self._weights()[:2]
            with_hidden = any(weights) and self.centroid_space == "head"
            pairs, rows = self.net.heads.chosen_pairs(z, batch.sizes, sources, with_hidden)
            loss, losses = chosen_losses(pairs.logits, batch.y, rows, batch.sizes, sources, self.relation, batch.weight)
            if any(weights):
                first, second = self.relation.clone().fill_diagonal_(0).nonzero(as_tuple=True)
                aligned, _, terms = self._align(pairs, batch, first, second, *weights)
                loss = loss + aligned
            else:
                terms = {"semantic": torch.zeros_like(loss), "marginal": torch.zeros_like(loss)}
        if isinstance(self.probes, CrossFitProbes) and batch.half is not None:
            n_batches = self.get_buffer("n_batches")
            if self.training and int(n_batches) % _LOOK_EVERY == 0:
                self.probes.see(z, batch.sizes)
                if self.relation_data == "train":
                    self._score_probes(self.probes, z, batch)
            if self.training:
                n_batches += 1
            counts = self.get_buffer("class_counts")
            loss = loss + self.probes.losses(z, batch.classes, batch.sizes, batch.half, counts).sum()
        return Step(loss, losses, terms)

    def _score_probes(self, probes: CrossFitProbes, z: Tensor, batch: Batch) -> None:
        self.scores.add(probes.errors(z, batch.classes, batch.half), batch.classes, batch.sizes)

    def _step_on_all_pairs(self, batch: Batch) -> Step:
        """Run every head on every row, as the other costs ask for."""
        pairs = self.net.all_pairs(batch)
        losses = loss_matrix(pairs.logits, batch.y, batch.sizes, batch.weight)
        loss = (self.relation * losses).sum()
        terms: dict[str, Tensor] = {}
        distances = torch.zeros_like(losses)
        if self.net.n_tasks > 1:
            all_pairs = _all_pairs_of(self.net.n_tasks, batch.y.device)
            aligned, distances, terms = self._align(pairs, batch, *all_pairs, *self._weights()[:2])
            loss = loss + aligned
        if isinstance(self.probes, TaskHeads):
            probed = self.probes.own(pairs.z.detach(), batch.sizes).logits
            loss = loss + own_losses(probed, batch.y, batch.sizes, batch.weight).sum()
        if self.relation_data == "train":
            self._add_cost(pairs, losses, distances, batch)
        return Step(loss, losses.detach().diagonal(), terms)

    def _align(
        self,
        pairs: HeadOutputs,
        batch: Batch,
        first: Tensor,
        second: Tensor,
        lambda_semantic: float,
        lambda_marginal: float,
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Return lambda_1 nabla + lambda_2 r of some pairs, the weighted distance of each, and what to record."""
        weight = self.relation[first, second]
        semantic = marginal = torch.zeros_like(weight)
        adversary: Tensor | float = 0.0
        by_means = self.marginal == "centroid" and lambda_marginal > 0
        if lambda_semantic or by_means:
            features = pairs.hidden if self.centroid_space == "head" else pairs.z
            # line 3
            sums, counts = self.centroids(features, batch.classes, batch.sizes)
            if lambda_semantic:
                semantic = lambda_semantic * pair_distances(sums, counts, first, second, self.reduction)
            if by_means:
                all_classes = sums.sum(1, keepdim=True), counts.sum(1, keepdim=True)
                marginal = lambda_marginal * pair_distances(*all_classes, first, second, self.reduction)
        loss = (weight * (semantic + marginal)).sum()
        if self.critics is not None:
            scale = lambda_marginal * (self.relation + self.relation.T)
            found, adversary = self.critics.adversarial_loss(
                self.net.extractor, pairs.z, batch, scale, self.penalty, self.penalty_on
            )
            marginal = lambda_marginal * found[first, second]
        semantic, marginal = semantic.detach(), marginal.detach()
        terms = {"semantic": (weight * semantic).sum(), "marginal": (weight * marginal).sum()}
        return loss + adversary, semantic + marginal, terms

    def _add_cost(self, pairs: HeadOutputs, losses: Tensor, distances: Tensor, batch: Batch) -> None:
        if isinstance(self.probes, TaskHeads):
            with torch.no_grad():
                losses = loss_matrix(
                    self.probes.all_pairs(pairs.z, batch.sizes).logits, batch.y, batch.sizes, batch.weight
                )
        self.losses.add(losses, row_counts(batch))
        self.distances.add(distances.view_as(losses), both_present(batch))

    def observe(self, batch: Batch) -> None:
        """Measure the relation's costs on held-out rows.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        if self.relation_cost == "crossfit":
            if isinstance(self.probes, CrossFitProbes):
                self._score_probes(self.probes, self.net.extractor(batch.x), batch)
            return
        pairs = self.net.all_pairs(batch)
        losses = loss_matrix(pairs.logits, batch.y, batch.sizes, batch.weight)
        distances = torch.zeros_like(losses)
        if self.net.n_tasks > 1:
            all_pairs = _all_pairs_of(self.net.n_tasks, batch.y.device)
            _, distances, _ = self._align(pairs, batch, *all_pairs, *self._weights()[:2])
        self._add_cost(pairs, losses, distances, batch)

    def end_epoch(self) -> None:
        """Solve for the relation, given the network: line 6 of Algorithm 3."""
        class_counts = self.get_buffer("class_counts").double().cpu().numpy()
        if isinstance(self.probes, CrossFitProbes):
            costs = self.scores.costs(class_counts)
            self._set_relation(relation_by_sizes(costs, self._weights()[2], class_counts.sum(axis=1)))
            self.scores.discount(_KEPT_OF_PAST_EPOCHS)
            self.get_buffer("n_batches").zero_()
            return
        if self.learn_relation and self.relation_cost != "crossfit":
            costs = relation_costs(self.losses.mean(), self.distances.mean(), self.relation_cost)
            costs[~common_classes(class_counts)] = np.inf
            self._set_relation(relation_by_squares(costs, self._weights()[2]))
        self.losses.discount()
        self.distances.discount()


def _all_pairs_of(n_tasks: int, device: torch.device) -> tuple[Tensor, Tensor]:
    tasks = torch.arange(n_tasks, device=device)
    return tasks.repeat_interleave(n_tasks), tasks.repeat(n_tasks)


_ABLATIONS: dict[str, dict[str, Any]] = {
    "cls. only": {
        "lambda_semantic": 0.0,
        "lambda_marginal": 0.0,
        "learn_relation": False,
        "initial_relation": "identity",
    },
    "w/o marginal": {"lambda_marginal": 0.0},
    "w/o sem. matching": {"lambda_semantic": 0.0},
    "w/o cvx opt.": {"learn_relation": False, "initial_relation": "uniform"},
    "w/o marginal & sem. matching": {"lambda_semantic": 0.0, "lambda_marginal": 0.0},
}
