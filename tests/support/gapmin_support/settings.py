"""The six settings of linear models by name, with the losses of both kinds, for what must hold of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gapmin import linear

TRANSFER = ["InstanceWeighting", "FeatureTransfer", "HypothesisTransfer"]
MULTITASK = ["TaskWeighting", "ParameterSharing", "TaskCovariance"]
SETTINGS = [*TRANSFER, *MULTITASK]
LOSSES = ["logistic", "hinge", "squared", "absolute"]

every_setting = pytest.mark.parametrize("setting", SETTINGS)
every_loss = pytest.mark.parametrize("loss", LOSSES)


def is_class(loss: str) -> bool:
    return loss in ("logistic", "hinge")


def estimator(setting: str, loss: str, **given: Any) -> Any:
    return getattr(linear, setting + ("Classifier" if is_class(loss) else "Regressor"))(loss=loss, **given)


def places(setting: str, place: np.ndarray) -> dict[str, np.ndarray]:
    """Return numbered places as the setting takes them: tasks, or domains of which place 0 is the target."""
    return {"sample_task": place} if setting in MULTITASK else {"sample_domain": np.where(place == 0, -1, place)}


def loss_of(loss: str, score: np.ndarray, y: np.ndarray) -> np.ndarray:
    return {
        "logistic": np.logaddexp(0, -y * score),
        "hinge": np.maximum(0, 1 - y * score),
        "squared": (y - score) ** 2,
        "absolute": np.abs(y - score),
    }[loss]
