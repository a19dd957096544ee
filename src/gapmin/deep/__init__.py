"""gapMTNN and its baselines on PyTorch, which comes with the extra ``deep``."""

from __future__ import annotations

from gapmin._utils.extras import how_to_install

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"gapmin.deep needs PyTorch: {how_to_install('deep')}") from error

from gapmin.deep.callbacks import Callback, CSVLogger, EarlyStopping, TensorBoard
from gapmin.deep.estimator import GapMTNNClassifier, MultitaskClassifier, MultitaskRegressor
from gapmin.deep.heads import Batch, MultitaskNet, TaskHeads
from gapmin.deep.images import ImageFolder
from gapmin.deep.nets import MLP, AlexNet, LeNet, ResNet18
from gapmin.deep.objectives import (
    AMTNN,
    AdvH,
    AdvW,
    GapMTNN,
    MultiObjective,
    Objective,
    Step,
    Uniform,
    Weighted,
)
from gapmin.deep.scoring import task_scorer
from gapmin.deep.trainer import Trainer
from gapmin.deep.transforms import RandomFlip, RandomRotation, RandomScale, RandomShift
from gapmin.deep.weights import load_weights, pretrained

__all__ = [
    "AMTNN",
    "MLP",
    "AdvH",
    "AdvW",
    "AlexNet",
    "Batch",
    "CSVLogger",
    "Callback",
    "EarlyStopping",
    "GapMTNN",
    "GapMTNNClassifier",
    "ImageFolder",
    "LeNet",
    "MultiObjective",
    "MultitaskClassifier",
    "MultitaskNet",
    "MultitaskRegressor",
    "Objective",
    "RandomFlip",
    "RandomRotation",
    "RandomScale",
    "RandomShift",
    "ResNet18",
    "Step",
    "TaskHeads",
    "TensorBoard",
    "Trainer",
    "Uniform",
    "Weighted",
    "load_weights",
    "pretrained",
    "task_scorer",
]
