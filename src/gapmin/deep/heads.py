"""The K task heads, their weights stacked, and the network that puts them on one shared extractor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SLOPE_OF_CROSS_ENTROPY = math.sqrt(2)
"""The Lipschitz constant of the cross entropy in the logits, in the Euclidean norm."""

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"elu": F.elu, "relu": F.relu, "tanh": torch.tanh}


class Batch(NamedTuple):
    """Rows of several tasks, one task after the other.

    Attributes
    ----------
    x : Tensor of shape (rows, ...)
    y : Tensor of shape (rows,)
        Classes as numbers from 0.
    sizes : sequence of int
        How many of the rows belong to each of the K tasks; 0 for a task that is absent.
    """

    x: Tensor
    y: Tensor
    sizes: Sequence[int]


class Own(NamedTuple):
    """What each row's own head makes of it."""

    z: Tensor  #: (rows, d), the extractor's features
    hidden: Tensor  #: (rows, H), the hidden layer of the row's own head
    logits: Tensor  #: (rows, classes)


class Pairs(NamedTuple):
    """What every head makes of every row."""

    z: Tensor  #: (rows, d)
    hidden: Tensor  #: (rows, H), the hidden layer of the row's own head
    logits: Tensor  #: (K, rows, classes)


class TaskHeads(nn.Module):
    """K classifiers d - H - activation - classes with stacked weights, so that all of them run at once.

    Each starts with weights of its own, drawn as `torch.nn.Linear` draws them. Under equal weights and a uniform
    relation all heads would stay the same, and nothing could tell one task's from another's.

    Parameters
    ----------
    n_tasks, in_features, hidden, n_classes : int
    activation : "elu", "relu" or "tanh", default="relu"

    Examples
    --------
    >>> import torch
    >>> heads = TaskHeads(n_tasks=2, in_features=4, hidden=3, n_classes=5)
    >>> z = torch.randn(6, 4)
    >>> own = heads.own(z, sizes=(4, 2))
    >>> pairs = heads.all_pairs(z, sizes=(4, 2))
    >>> own.logits.shape, pairs.logits.shape
    (torch.Size([6, 5]), torch.Size([2, 6, 5]))
    >>> torch.allclose(pairs.logits[1, 4:], own.logits[4:], atol=1e-6)
    True
    """

    def __init__(self, n_tasks: int, in_features: int, hidden: int, n_classes: int, activation: str = "relu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}: use {', '.join(map(repr, ACTIVATIONS))}")
        self.n_tasks, self.n_classes, self.activation = n_tasks, n_classes, activation
        layers = [(nn.Linear(in_features, hidden), nn.Linear(hidden, n_classes)) for _ in range(n_tasks)]
        self.weight1 = nn.Parameter(torch.stack([first.weight.detach() for first, _ in layers]))
        self.bias1 = nn.Parameter(torch.stack([first.bias.detach() for first, _ in layers]))
        self.weight2 = nn.Parameter(torch.stack([second.weight.detach() for _, second in layers]))
        self.bias2 = nn.Parameter(torch.stack([second.bias.detach() for _, second in layers]))

    def extra_repr(self) -> str:
        """Say the sizes."""
        K, H, d = self.weight1.shape
        return f"n_tasks={K}, in_features={d}, hidden={H}, n_classes={self.n_classes}, activation={self.activation!r}"

    def own(self, z: Tensor, sizes: Sequence[int]) -> Own:
        """Run each task's rows through that task's own head."""
        act = ACTIVATIONS[self.activation]
        present = [k for k, size in enumerate(sizes) if size]
        rows = z.split([sizes[k] for k in present])
        # Unbound once: the gradient of weight[k] would be a stack of zeros around one layer, for each of them.
        weight1, bias1, weight2, bias2 = (p.unbind() for p in (self.weight1, self.bias1, self.weight2, self.bias2))
        hidden = [act(F.linear(part, weight1[k], bias1[k])) for k, part in zip(present, rows, strict=True)]
        logits = [F.linear(h, weight2[k], bias2[k]) for k, h in zip(present, hidden, strict=True)]
        return Own(z, torch.cat(hidden), torch.cat(logits))

    def all_pairs(self, z: Tensor, sizes: Sequence[int]) -> Pairs:
        """Run all rows through all heads: one matrix product for the hidden layers, one batched for the classes."""
        K, H, _ = self.weight1.shape
        flat = F.linear(z, self.weight1.flatten(0, 1), self.bias1.flatten())
        hidden = ACTIVATIONS[self.activation](flat).view(-1, K, H).transpose(0, 1)
        logits = torch.baddbmm(self.bias2.unsqueeze(1), hidden, self.weight2.transpose(1, 2))
        starts = [sum(sizes[:k]) for k in range(K)]
        own = torch.cat([hidden[k, start : start + sizes[k]] for k, start in enumerate(starts)])
        return Pairs(z, own, logits)

    def own_hidden_frozen(self, z: Tensor, hidden: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return `hidden`, computed from `z` by the rows' own heads, with gradients to `z` alone."""
        return _HiddenOfFrozenHeads.apply(z, hidden.detach(), self.weight1.detach(), tuple(sizes), self.activation)

    def lipschitz(self) -> Tensor:
        """Return for each head a Lipschitz constant of z -> logits: the product of its matrices' spectral norms."""
        return torch.linalg.matrix_norm(self.weight1, 2) * torch.linalg.matrix_norm(self.weight2, 2)


class _HiddenOfFrozenHeads(torch.autograd.Function):
    """The identity on hidden layers that are there already; its gradient goes back to z through constant weights."""

    @staticmethod
    def forward(ctx, z, hidden, weight1, sizes, activation):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(hidden, weight1)
        ctx.sizes, ctx.activation = sizes, activation
        return hidden.clone()

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        hidden, weight1 = ctx.saved_tensors
        # The slope of each activation from its value: ELU' is 1 above 0 and value + 1 below.
        slope = {
            "elu": lambda h: torch.where(h > 0, torch.ones_like(h), h + 1),
            "relu": lambda h: (h > 0).to(h.dtype),
            "tanh": lambda h: 1 - h * h,
        }[ctx.activation](hidden)
        parts = (grad * slope).split(list(ctx.sizes))
        return torch.cat([part @ weight1[k] for k, part in enumerate(parts)]), None, None, None, None


class MultitaskNet(nn.Module):
    """A shared extractor and K heads.

    Parameters
    ----------
    extractor : Module
        Phi: rows to features (rows, d).
    heads : TaskHeads
    """

    def __init__(self, extractor: nn.Module, heads: TaskHeads) -> None:
        super().__init__()
        self.extractor = extractor
        self.heads = heads

    @property
    def n_tasks(self) -> int:
        """K."""
        return self.heads.n_tasks

    @property
    def n_classes(self) -> int:
        """The number of classes over all tasks."""
        return self.heads.n_classes

    @property
    def in_features(self) -> int:
        """The number of the extractor's features."""
        return int(self.heads.weight1.shape[2])

    @property
    def hidden(self) -> int:
        """The width of the heads' hidden layer."""
        return int(self.heads.weight1.shape[1])

    def own(self, batch: Batch) -> Own:
        """Return what each row's own head makes of it."""
        return self.heads.own(self.extractor(batch.x), batch.sizes)

    def all_pairs(self, batch: Batch) -> Pairs:
        """Return what every head makes of every row."""
        return self.heads.all_pairs(self.extractor(batch.x), batch.sizes)
