"""The K task heads, their weights stacked, and the network that puts them on one shared extractor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

SLOPE_OF_CROSS_ENTROPY = math.sqrt(2)
"""The Lipschitz constant of the cross entropy in the logits, in the Euclidean norm."""

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"elu": F.elu, "relu": F.relu, "tanh": torch.tanh}
_GRADIENTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "elu": lambda grad, before: torch.ops.aten.elu_backward(grad, 1.0, 1.0, 1.0, False, before),
    "relu": lambda grad, after: torch.ops.aten.threshold_backward(grad, after, 0),
    "tanh": torch.ops.aten.tanh_backward,
}
"""From the gradient of an activation's output and that output (of "elu" its input) to the gradient of its input."""


class Batch(NamedTuple):
    """Rows of several tasks, one task after the other.

    Attributes
    ----------
    x : Tensor of shape (rows, ...)
        The rows.
    y : Tensor of shape (rows,)
        Classes as integers from 0, or numbers to predict as floats.
    sizes : sequence of int
        How many of the rows belong to each of the K tasks; 0 for a task that is absent.
    half : Tensor of shape (rows,), optional
        0 or 1, the half of its task that a row is in: what is fitted to one half is scored on the other. Without it
        nothing is cross-fitted.
    weight : Tensor of shape (rows,), optional
        What each row's loss is multiplied by; 1 on average over a task's rows.
    bins : Tensor of shape (rows,), optional
        Of numbers to predict: the quantile bin of each, from 0.
    """

    x: Tensor
    y: Tensor
    sizes: Sequence[int]
    half: Tensor | None = None
    weight: Tensor | None = None
    bins: Tensor | None = None

    @property
    def classes(self) -> Tensor:
        """The class of each row; of numbers to predict, their bin."""
        return self.y if self.bins is None else self.bins


class HeadOutputs(NamedTuple):
    """What the heads make of rows: each row's own head, or every head of every row."""

    z: Tensor  #: (rows, d), the extractor's features
    hidden: Tensor  #: (rows, H), the hidden layer of the row's own head; of every head, with no gradient to the head
    logits: Tensor  #: (rows, classes), of every head (K, rows, classes)


class TaskHeads(nn.Module):
    """K classifiers d - H - activation - classes with stacked weights, so that all of them run at once.

    Each starts with weights of its own, drawn as `torch.nn.Linear` draws them. Under equal weights and a uniform
    relation all heads would stay the same, and nothing could tell one task's from another's.

    Parameters
    ----------
    n_tasks, in_features, hidden, n_classes : int
        With ``hidden=0`` heads are linear: d - classes, and what follows takes the features for their hidden layer.
    activation : "elu", "relu" or "tanh", default="relu"
        The activation between the layers.

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
        self.in_features, self.hidden = in_features, hidden
        if hidden:
            self.weight1 = nn.Parameter(torch.empty(n_tasks, hidden, in_features))
            self.bias1 = nn.Parameter(torch.empty(n_tasks, hidden))
        self.weight2 = nn.Parameter(torch.empty(n_tasks, n_classes, hidden or in_features))
        self.bias2 = nn.Parameter(torch.empty(n_tasks, n_classes))
        if not self.weight2.is_meta:
            self._draw()

    @torch.no_grad()
    def _draw(self) -> None:
        for k in range(self.n_tasks):
            if self.hidden:
                first = nn.Linear(*self.weight1.shape[:0:-1])
                self.weight1[k], self.bias1[k] = first.weight, first.bias
            second = nn.Linear(*self.weight2.shape[:0:-1])
            self.weight2[k], self.bias2[k] = second.weight, second.bias

    def extra_repr(self) -> str:
        """Say the sizes.

        Returns
        -------
        str
            What `repr` shows.
        """
        return (
            f"n_tasks={self.n_tasks}, in_features={self.in_features}, hidden={self.hidden}, "
            f"n_classes={self.n_classes}, activation={self.activation!r}"
        )

    def own(self, z: Tensor, sizes: Sequence[int]) -> HeadOutputs:
        """Run each task's rows through that task's own head.

        Parameters
        ----------
        z : Tensor of shape (n_rows, in_features)
            The features of the rows of all tasks, one task after the other.
        sizes : sequence of int
            How many rows each task has.

        Returns
        -------
        HeadOutputs
            A row for each row given.
        """
        act = ACTIVATIONS[self.activation]
        present = [k for k, size in enumerate(sizes) if size] or [0]
        rows = z.split([sizes[k] for k in present])
        if not self.hidden:
            layers = self.weight2.unbind(), self.bias2.unbind()
            logits = [F.linear(part, layers[0][k], layers[1][k]) for k, part in zip(present, rows, strict=True)]
            return HeadOutputs(z, z, torch.cat(logits))
        # Unbound once: the gradient of weight[k] would be a stack of zeros around one layer, for each of them.
        weight1, bias1, weight2, bias2 = (p.unbind() for p in (self.weight1, self.bias1, self.weight2, self.bias2))
        hidden = [act(F.linear(part, weight1[k], bias1[k])) for k, part in zip(present, rows, strict=True)]
        logits = [F.linear(h, weight2[k], bias2[k]) for k, h in zip(present, hidden, strict=True)]
        return HeadOutputs(z, torch.cat(hidden), torch.cat(logits))

    def chosen_pairs(
        self, z: Tensor, sizes: Sequence[int], sources: Sequence[Sequence[int]], with_hidden: bool = True
    ) -> tuple[HeadOutputs, Tensor]:
        """Run the rows of the tasks `sources[j]` through head j, for each head: the work is that of these pairs alone.

        Parameters
        ----------
        z : Tensor of shape (rows, d)
            The features of the rows.
        sizes : sequence of int
            How many rows each task has.
        sources : sequence of K sequences of int
            Every head's own task must be among its sources.
        with_hidden : bool, default=True
            Whether the hidden layers are asked for.

        Returns
        -------
        outputs : HeadOutputs
            ``logits`` head after head, the rows of a head's tasks in the order of `sources`; ``hidden`` of each row's
            own head, with no gradient to the head.
        rows : Tensor
            Which row each of the logits is of.
        """
        if not self.hidden:
            return self._chosen_linear_pairs(z, sizes, sources)
        weights = self.weight1, self.bias1, self.weight2, self.bias2
        logits, hidden = _ChosenPairs.apply(z, *weights, list(sizes), sources, self.activation, with_hidden)
        numbers = torch.arange(len(z), device=z.device).split(list(sizes))
        return HeadOutputs(z, hidden, logits), torch.cat([numbers[k] for tasks in sources for k in tasks])

    def _chosen_linear_pairs(
        self, z: Tensor, sizes: Sequence[int], sources: Sequence[Sequence[int]]
    ) -> tuple[HeadOutputs, Tensor]:
        parts, numbers = z.split(list(sizes)), torch.arange(len(z), device=z.device).split(list(sizes))
        weight, bias = self.weight2.unbind(), self.bias2.unbind()
        logits = [F.linear(torch.cat([parts[k] for k in tasks]), weight[j], bias[j]) for j, tasks in enumerate(sources)]
        return HeadOutputs(z, z, torch.cat(logits)), torch.cat([numbers[k] for tasks in sources for k in tasks])

    def all_pairs(self, z: Tensor, sizes: Sequence[int]) -> HeadOutputs:
        """Run all rows through all heads: one matrix product for the hidden layers, one batched for the classes.

        Parameters
        ----------
        z : Tensor of shape (n_rows, in_features)
            The features of the rows of all tasks, one task after the other.
        sizes : sequence of int
            How many rows each task has.

        Returns
        -------
        HeadOutputs
            For each head a row for each row given.
        """
        if not self.hidden:
            flat = F.linear(z, self.weight2.flatten(0, 1), self.bias2.flatten())
            return HeadOutputs(z, z, flat.view(-1, self.n_tasks, self.n_classes).transpose(0, 1))
        K, H, _ = self.weight1.shape
        act = ACTIVATIONS[self.activation]
        flat, frozen = _HiddenLayers.apply(z, self.weight1.flatten(0, 1), self.bias1.flatten())
        hidden = act(flat).view(-1, K, H).transpose(0, 1)
        logits = torch.baddbmm(self.bias2.unsqueeze(1), hidden, self.weight2.transpose(1, 2))
        own = [rows[:, k * H : (k + 1) * H] for k, rows in enumerate(frozen.split(list(sizes)))]
        return HeadOutputs(z, act(torch.cat(own)), logits)

    def lipschitz(self) -> Tensor:
        """Return for each head a Lipschitz constant of z -> logits: the product of its matrices' spectral norms."""
        last = torch.linalg.matrix_norm(self.weight2, 2)
        return torch.linalg.matrix_norm(self.weight1, 2) * last if self.hidden else last


class _HiddenLayers(torch.autograd.Function):
    """A linear layer, and the same again: the gradient of this reaches the input alone.

    Both gradients of the input are one product.
    """

    @staticmethod
    def forward(ctx, z, weight, bias):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(z, weight)
        ctx.set_materialize_grads(False)
        out = F.linear(z, weight, bias)
        return out, out.clone()

    @staticmethod
    def backward(ctx, grad, grad_frozen):  # type: ignore[no-untyped-def]
        z, weight = ctx.saved_tensors
        both = grad_frozen if grad is None else grad if grad_frozen is None else grad + grad_frozen
        to_z = both @ weight if ctx.needs_input_grad[0] and both is not None else None
        return (to_z, None, None) if grad is None else (to_z, grad.T @ z, grad.sum(0))


class _ChosenPairs(torch.autograd.Function):
    """The logits of `TaskHeads.chosen_pairs` and the hidden layers, whose gradient reaches the features alone.

    Head after head, forwards and backwards: what one head needs stays in the cache of the processor, and gradients are
    written to where they belong.
    """

    @staticmethod
    def forward(ctx, z, weight1, bias1, weight2, bias2, sizes, sources, activation, with_hidden):  # type: ignore[no-untyped-def]
        ctx.sizes, ctx.sources, ctx.activation = sizes, sources, activation
        parts, own, logits, kept = z.split(sizes), [], [], []
        for j, tasks in enumerate(sources):
            rows = torch.cat([parts[k] for k in tasks])
            before = F.linear(rows, weight1[j], bias1[j])
            after = ACTIVATIONS[activation](before)
            logits.append(F.linear(after, weight2[j], bias2[j]))
            if with_hidden:
                own.append(after.split([sizes[k] for k in tasks])[tasks.index(j)])
            kept += [rows, before if activation == "elu" else after, after]
        ctx.save_for_backward(weight1, weight2, *kept)
        return torch.cat(logits), torch.cat(own) if own else z.new_empty(0)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad, grad_hidden):  # type: ignore[no-untyped-def]
        weight1, weight2, *kept = ctx.saved_tensors
        to_z = kept[0].new_zeros(sum(ctx.sizes), weight1.shape[2])
        to_weight1, to_weight2 = torch.empty_like(weight1), torch.empty_like(weight2)
        to_bias1, to_bias2 = weight1.new_empty(weight1.shape[:2]), weight2.new_empty(weight2.shape[:2])
        to_parts = to_z.split(ctx.sizes)
        of_heads = grad.split([sum(ctx.sizes[k] for k in tasks) for tasks in ctx.sources])
        of_own = grad_hidden.split(ctx.sizes) if len(grad_hidden) else None
        through = _GRADIENTS[ctx.activation]
        for j in reversed(range(len(ctx.sources))):
            tasks, (rows, given, after) = ctx.sources[j], kept[3 * j : 3 * j + 3]
            lengths = [ctx.sizes[k] for k in tasks]
            torch.mm(of_heads[j].T, after, out=to_weight2[j])
            torch.sum(of_heads[j], 0, out=to_bias2[j])
            to_layer = through(of_heads[j] @ weight2[j], given)
            torch.mm(to_layer.T, rows, out=to_weight1[j])
            torch.sum(to_layer, 0, out=to_bias1[j])
            if of_own is not None:  # from here on `to_layer` has the features' gradient alone
                at = tasks.index(j)
                to_layer.split(lengths)[at].add_(through(of_own[j], given.split(lengths)[at]))
            if ctx.needs_input_grad[0]:
                for k, part in zip(tasks, (to_layer @ weight1[j]).split(lengths), strict=True):
                    to_parts[k].add_(part)
        return to_z, to_weight1, to_bias1, to_weight2, to_bias2, None, None, None, None


class MultitaskNet(nn.Module):
    """A shared extractor and K heads.

    Parameters
    ----------
    extractor : Module
        Phi: rows to features (rows, d).
    heads : TaskHeads
        A head for each task.
    n_bins : int, optional
        Of a regression, where heads have one output: how many bins its labels are in.
    """

    def __init__(self, extractor: nn.Module, heads: TaskHeads, n_bins: int | None = None) -> None:
        super().__init__()
        self.extractor = extractor
        self.heads = heads
        self.n_bins = n_bins

    @property
    def n_tasks(self) -> int:
        """K."""
        return self.heads.n_tasks

    @property
    def n_classes(self) -> int:
        """The number of classes over all tasks; of a regression that of the label's bins."""
        return self.heads.n_classes if self.n_bins is None else self.n_bins

    @property
    def in_features(self) -> int:
        """The number of the extractor's features."""
        return self.heads.in_features

    @property
    def hidden(self) -> int:
        """The width of the heads' hidden layer; of linear heads that of the features."""
        return self.heads.hidden or self.heads.in_features

    def own(self, batch: Batch) -> HeadOutputs:
        """Return what each row's own head makes of it.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        return self.heads.own(self.extractor(batch.x), batch.sizes)

    def all_pairs(self, batch: Batch) -> HeadOutputs:
        """Return what every head makes of every row.

        Parameters
        ----------
        batch : Batch
            Rows of every task.
        """
        return self.heads.all_pairs(self.extractor(batch.x), batch.sizes)
