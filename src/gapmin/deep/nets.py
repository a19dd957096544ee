"""The feature extractors of Appendix C, under torchvision's parameter names, so that its published weights load."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, max_pool2d, relu

__all__ = ["EXTRACTORS", "MLP", "AlexNet", "LeNet", "ResNet18", "build_extractor"]

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "elu": nn.ELU, "gelu": nn.GELU, "tanh": nn.Tanh}
EXTRACTORS = ("lenet", "alexnet", "resnet18", "mlp")


class LeNet(nn.Module):
    """The extractor of the Digits experiments: two convolutions of 5 x 5, each with ReLU and a pooling of 3 by 2.

    Parameters
    ----------
    in_channels : int, default=1
        1 for grey images, 3 for colours.
    image_size : int or (height, width), default=28
        Height and width of an image.
    pool_first : bool, default=True
        Pool before the ReLU. The maximum commutes with the ReLU, so features and gradients are the same for a
        quarter of its work; False is the printed order.

    Attributes
    ----------
    out_features : int
        2304 for images of 28 x 28.

    Examples
    --------
    >>> import torch
    >>> from gapmin.deep.nets import LeNet
    >>> LeNet()(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 2304])
    """

    def __init__(self, in_channels: int = 1, image_size: int | tuple[int, int] = 28, pool_first: bool = True) -> None:
        super().__init__()
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        pooled = [_pooled(_pooled(side)) for side in (height, width)]
        if min(pooled) < 1:
            raise ValueError(f"images of {height} x {width} are too small for LeNet: give 7 x 7 pixels or more")
        self.conv1 = nn.Conv2d(in_channels, 32, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=5, padding=2)
        self.pool_first = pool_first
        self.out_features = 64 * pooled[0] * pooled[1]

    def forward(self, x: Tensor) -> Tensor:
        """Return one row of features for each image.

        Parameters
        ----------
        x : Tensor
            A batch of rows.
        """
        for convolution in (self.conv1, self.conv2):
            x = convolution(x)
            x = relu(max_pool2d(x, 3, 2)) if self.pool_first else max_pool2d(relu(x), 3, 2)
        return x.flatten(1)


def _pooled(side: int) -> int:
    return (side - 3) // 2 + 1


class AlexNet(nn.Module):
    """The extractor of the PACS experiments: torchvision's AlexNet without its last layer.

    Parameters
    ----------
    features_only : bool, default=False
        End after the convolutions and the average pooling, with 9216 features and no fully connected layer.
    dropout : float, default=0.5
        The share of inputs dropped before each fully connected layer while training.

    Attributes
    ----------
    out_features : int
        4096, or 9216 with `features_only`.

    Examples
    --------
    >>> import torch
    >>> from gapmin.deep.nets import AlexNet
    >>> AlexNet(features_only=True)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 9216])
    """

    def __init__(self, features_only: bool = False, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential()
        self.out_features = 256 * 6 * 6
        if not features_only:
            self.classifier = nn.Sequential(
                nn.Dropout(dropout),
                nn.Linear(256 * 6 * 6, 4096),
                nn.ReLU(inplace=True),
                nn.Dropout(dropout),
                nn.Linear(4096, 4096),
                nn.ReLU(inplace=True),
            )
            self.out_features = 4096

    def forward(self, x: Tensor) -> Tensor:
        """Return one row of features for each image.

        Parameters
        ----------
        x : Tensor
            A batch of rows.
        """
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class _BasicBlock(nn.Module):
    """Two convolutions of 3 x 3 beside a shortcut, which is itself a convolution where the shape changes."""

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or in_channels != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, channels, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = relu(self.bn1(self.conv1(x)), inplace=True)
        return relu(self.bn2(self.conv2(x)) + shortcut, inplace=True)


class ResNet18(nn.Module):
    """The extractor of the Office experiments: torchvision's ResNet-18 without its last layer.

    Attributes
    ----------
    out_features : int
        512.

    Examples
    --------
    >>> import torch
    >>> from gapmin.deep.nets import ResNet18
    >>> ResNet18()(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 512])
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = nn.Sequential(_BasicBlock(64, 64, 1), _BasicBlock(64, 64, 1))
        self.layer2 = nn.Sequential(_BasicBlock(64, 128, 2), _BasicBlock(128, 128, 1))
        self.layer3 = nn.Sequential(_BasicBlock(128, 256, 2), _BasicBlock(256, 256, 1))
        self.layer4 = nn.Sequential(_BasicBlock(256, 512, 2), _BasicBlock(512, 512, 1))
        self.out_features = 512
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Return one row of features for each image.

        Parameters
        ----------
        x : Tensor
            A batch of rows.
        """
        x = max_pool2d(relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return adaptive_avg_pool2d(x, 1).flatten(1)


class MLP(nn.Module):
    """Fully connected layers, for tables and for features computed beforehand.

    Parameters
    ----------
    in_features : int
        How many features a row has.
    hidden : sequence of int, default=(128,)
        The width of each layer; an empty one is the identity.
    activation : {"relu", "elu", "gelu", "tanh"}, default="relu"
        What follows each layer, the last too.

    Attributes
    ----------
    out_features : int
        The last width.

    Examples
    --------
    >>> import torch
    >>> from gapmin.deep.nets import MLP
    >>> MLP(20, hidden=(64, 32))(torch.zeros(5, 20)).shape
    torch.Size([5, 32])
    """

    def __init__(self, in_features: int, hidden: Sequence[int] = (128,), activation: str = "relu") -> None:
        super().__init__()
        widths = [in_features, *hidden]
        if min(widths) < 1:
            raise ValueError(f"in_features is {in_features} and hidden {tuple(hidden)}: give widths of at least 1")
        if activation not in _ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}: use one of {', '.join(map(repr, _ACTIVATIONS))}")
        layers: list[nn.Module] = []
        for width_in, width_out in pairwise(widths):
            layers += [nn.Linear(width_in, width_out), _ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)
        self.out_features = widths[-1]

    def forward(self, x: Tensor) -> Tensor:
        """Return the last layer's activations.

        Parameters
        ----------
        x : Tensor
            A batch of rows.
        """
        return self.layers(x)


def build_extractor(
    extractor: str | nn.Module, input_shape: Sequence[int], out_features: int | None = None
) -> nn.Module:
    """Return a feature extractor for rows of this shape, with its `out_features`.

    Parameters
    ----------
    extractor : {"lenet", "alexnet", "resnet18", "mlp"} or nn.Module
        A module of your own is copied, so that yours is never trained, and made float32. Two rows of zeros are sent
        through the copy to see that it takes such rows, and how many features it makes of them.
    input_shape : sequence of int
        The shape of one row: (channels, height, width) or (features,).
    out_features : int, optional
        How many features a module of your own makes of a row, where that is known: no rows are sent through it then.

    Returns
    -------
    nn.Module

    Examples
    --------
    >>> from torch import nn
    >>> from gapmin.deep.nets import build_extractor
    >>> build_extractor("lenet", (1, 28, 28)).out_features
    2304
    >>> build_extractor(nn.Sequential(nn.Flatten(), nn.LazyLinear(16), nn.ReLU()), (3, 8, 8)).out_features
    16
    """
    shape = tuple(input_shape)
    if isinstance(extractor, nn.Module):
        module = deepcopy(extractor).float()
        width = _width_of_output(module, shape) if out_features is None else out_features
        if getattr(module, "out_features", width) != width:
            raise ValueError(
                f"the extractor has out_features={module.out_features}, but makes {width} features of a row"
            )
        if not hasattr(module, "out_features"):
            module.out_features = width  # type: ignore[assignment]
        return module
    if extractor not in EXTRACTORS:
        raise ValueError(f"extractor is {extractor!r}: use one of {', '.join(map(repr, EXTRACTORS))}, or an nn.Module")
    if extractor == "mlp":
        if len(shape) != 1:
            raise ValueError(f"'mlp' takes rows of features, not rows of shape {shape}: use 'lenet' for small images")
        return MLP(shape[0])
    if len(shape) != 3:
        raise ValueError(
            f"{extractor!r} takes images of shape (channels, height, width), not rows of shape {shape}: use 'mlp' for "
            "rows of features, or give grey images their channel, X[:, None]"
        )
    channels, *size = shape
    if extractor == "lenet":
        return LeNet(channels, (size[0], size[1]))
    if channels != 3:
        raise ValueError(
            f"{extractor!r} takes images of 3 channels, not {channels}: repeat a grey channel, X.repeat(3, axis=1), or "
            "use 'lenet', which takes any number"
        )
    if extractor == "resnet18":
        return ResNet18()
    if min(size) < 63:  # nothing would be left for the last pooling
        raise ValueError(f"images of {size[0]} x {size[1]} are too small for AlexNet: give 63 x 63 pixels or more")
    return AlexNet()


def _width_of_output(module: nn.Module, input_shape: tuple[int, ...]) -> int:
    """Send two rows of zeros through a module, leaving each part of it in the mode it was in."""
    device = next(module.parameters(), torch.empty(0)).device
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            z = module(torch.zeros(2, *input_shape, device=device))
    except Exception as error:
        raise ValueError(f"the extractor fails on rows of shape {input_shape}: {error}") from error
    finally:
        for part, training in modes:
            part.training = training
    shape = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
    if not isinstance(z, Tensor) or z.ndim != 2 or len(z) != 2:
        raise ValueError(
            f"the extractor turns 2 rows of shape {input_shape} into {shape}, not into (2, features): end it with "
            "nn.Flatten()"
        )
    if z.dtype != torch.float32:
        raise ValueError(f"the extractor turns float32 rows into {z.dtype}: let it end with .float()")
    return z.shape[1]
