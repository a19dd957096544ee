"""Random changes of images while a network trains: shifts, rotations, scales and flips, on tensors alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


class RandomTransform:
    """The base of the transforms: each image is moved by a matrix made of random numbers of its own.

    Called on images (n, channels, height, width) it draws from PyTorch's global generator. A fit draws for the whole
    batch from `random_state` and the place of the batch in the run, so that a fit that was resumed, or that runs on
    several processes, sees the same images.
    """

    n_draws: ClassVar[int] = 1
    """How many random numbers it takes for an image."""

    def matrices(self, draws: Tensor, size: tuple[int, int]) -> Tensor:
        """Return for each image the 3 x 3 matrix from places in the new image to those in the old one.

        Parameters
        ----------
        draws : Tensor of shape (n, n_draws)
            Uniform on 0 to 1.
        size : tuple of int
            Height and width. Places run from -1 to 1 along each.
        """
        raise NotImplementedError

    def __call__(self, images: Tensor) -> Tensor:
        """Return images moved at random."""
        return move_images([self], images, torch.rand(len(images), self.n_draws))


@dataclass
class RandomShift(RandomTransform):
    """Shift by up to so many pixels, up or down and left or right; the border is repeated.

    Parameters
    ----------
    pixels : float, default=2
        The largest shift.

    Examples
    --------
    >>> import torch
    >>> RandomShift(2)(torch.rand(5, 1, 8, 8)).shape
    torch.Size([5, 1, 8, 8])
    """

    n_draws: ClassVar[int] = 2
    pixels: float = 2

    def __post_init__(self) -> None:
        _check(self, "pixels", self.pixels, 0, np.inf)

    def matrices(self, draws: Tensor, size: tuple[int, int]) -> Tensor:
        """Return the matrices of the shifts.

        Parameters
        ----------
        draws : Tensor of shape (n, n_draws)
            Uniform on 0 to 1.
        size : sequence of int
            Height and width of the images.
        """
        height, width = size
        found = _identities(draws)
        found[:, :2, 2] = (2 * draws - 1) * self.pixels * 2 / draws.new_tensor([width, height])
        return found


@dataclass
class RandomRotation(RandomTransform):
    """Rotate about the centre by up to so many degrees, either way.

    Parameters
    ----------
    degrees : float, default=10
        The largest angle.

    Examples
    --------
    >>> import torch
    >>> RandomRotation(15)(torch.rand(5, 1, 8, 8)).shape
    torch.Size([5, 1, 8, 8])
    """

    degrees: float = 10

    def __post_init__(self) -> None:
        _check(self, "degrees", self.degrees, 0, 180)

    def matrices(self, draws: Tensor, size: tuple[int, int]) -> Tensor:
        """Return the matrices of the rotations.

        Parameters
        ----------
        draws : Tensor of shape (n, n_draws)
            Uniform on 0 to 1.
        size : sequence of int
            Height and width of the images.
        """
        height, width = size
        angle = (2 * draws[:, 0] - 1) * self.degrees * pi / 180
        found = _identities(draws)
        found[:, 0, 0] = found[:, 1, 1] = angle.cos()
        found[:, 0, 1] = -angle.sin() * height / width
        found[:, 1, 0] = angle.sin() * width / height
        return found


@dataclass
class RandomScale(RandomTransform):
    """Enlarge or shrink about the centre.

    Parameters
    ----------
    smallest, largest : float, default=0.9 and 1.1
        What the size is multiplied by: a factor between these, uniform in its logarithm.

    Examples
    --------
    >>> import torch
    >>> RandomScale(0.8, 1.2)(torch.rand(5, 1, 8, 8)).shape
    torch.Size([5, 1, 8, 8])
    """

    smallest: float = 0.9
    largest: float = 1.1

    def __post_init__(self) -> None:
        _check(self, "smallest", self.smallest, 1e-3, 1e3)
        _check(self, "largest", self.largest, self.smallest, 1e3)

    def matrices(self, draws: Tensor, size: tuple[int, int]) -> Tensor:
        """Return the matrices of the scales.

        Parameters
        ----------
        draws : Tensor of shape (n, n_draws)
            Uniform on 0 to 1.
        size : sequence of int
            Height and width of the images.
        """
        found = _identities(draws)
        factor = self.smallest * (self.largest / self.smallest) ** draws[:, 0]
        found[:, 0, 0] = found[:, 1, 1] = 1 / factor
        return found


@dataclass
class RandomFlip(RandomTransform):
    """Mirror left and right.

    Parameters
    ----------
    probability : float, default=0.5
        How often an image is flipped.

    Examples
    --------
    >>> import torch
    >>> RandomFlip()(torch.rand(5, 1, 8, 8)).shape
    torch.Size([5, 1, 8, 8])
    """

    probability: float = 0.5

    def __post_init__(self) -> None:
        _check(self, "probability", self.probability, 0, 1)

    def matrices(self, draws: Tensor, size: tuple[int, int]) -> Tensor:
        """Return the matrices of the flips.

        Parameters
        ----------
        draws : Tensor of shape (n, n_draws)
            Uniform on 0 to 1.
        size : sequence of int
            Height and width of the images.
        """
        found = _identities(draws)
        found[:, 0, 0] = torch.where(draws[:, 0] < self.probability, -1.0, 1.0)
        return found


def move_images(transforms: Sequence[RandomTransform], images: Tensor, draws: Tensor) -> Tensor:
    """Apply transforms one after the other, in one resampling.

    Parameters
    ----------
    transforms : sequence of RandomTransform
    images : Tensor of shape (n, channels, height, width)
    draws : Tensor of shape (n, sum of n_draws)
    """
    if images.ndim != 4:
        raise ValueError(
            f"augment has {type(transforms[0]).__name__}, which moves images (n, channels, height, width), and X has "
            f"rows of shape {tuple(images.shape[1:])}: leave it out, or give a function of rows"
        )
    size = (images.shape[2], images.shape[3])
    matrix = _identities(draws)
    start = 0
    for each in transforms:
        matrix = matrix @ each.matrices(draws[:, start : start + each.n_draws], size)
        start += each.n_draws
    grid = F.affine_grid(matrix[:, :2].to(images), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def transform_batch(
    transform: Any, x: Tensor, n_rows: int, position: Sequence[int], rank: int, n_processes: int
) -> Tensor:
    """Apply what the user gave as `augment` to a batch of rows that are trained on.

    Parameters
    ----------
    transform : callable or sequence of callables
    x : Tensor
        The rows of this process: every so many-th of the batch.
    n_rows : int
        Of the whole batch.
    position : sequence of int
        What the random numbers are drawn by: the seed and the place in the run.
    rank, n_processes : int
    """
    steps = as_list(transform)
    moves = [each for each in steps if isinstance(each, RandomTransform)]
    if len(moves) == len(steps):
        generator = torch.Generator().manual_seed(_seed(*position))
        draws = torch.rand(n_rows, sum(each.n_draws for each in moves), generator=generator)
        return move_images(moves, x, draws[rank::n_processes].to(x.device)) if len(x) else x
    changed = x
    with torch.random.fork_rng():
        torch.manual_seed(_seed(*position, rank))
        for each in steps:
            changed = each(changed)
    if not isinstance(changed, Tensor) or changed.shape != x.shape or changed.dtype != x.dtype:
        found = f"{tuple(changed.shape)} and {changed.dtype}" if isinstance(changed, Tensor) else type(changed).__name__
        raise ValueError(
            f"augment turns a batch of shape {tuple(x.shape)} and {x.dtype} into {found}: return a tensor like the "
            "one that was given"
        )
    return changed


def as_list(transform: Any) -> list[Callable[[Tensor], Tensor]]:
    """Return the steps of a transform."""
    steps = list(transform) if isinstance(transform, (list, tuple)) else [transform]
    for each in steps:
        if not callable(each):
            raise TypeError(f"augment has {each!r}: give callables that take and return a batch of rows")
    return steps


def _seed(*position: int) -> int:
    return int(np.random.SeedSequence([*position, 17]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _identities(draws: Tensor) -> Tensor:
    return torch.eye(3, dtype=draws.dtype, device=draws.device).repeat(len(draws), 1, 1)


def _check(transform: RandomTransform, name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{type(transform).__name__} has {name}={value!r}: give a number of {least:g} to {most:g}")
