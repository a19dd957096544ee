"""To fit and ask models of any kind in one way: with domains, behind a scaler or not, with or without probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from gapmin._utils.typing import Array
from gapmin.boosting.building_blocks import class_shares


def inner_model(model: Any) -> Any:
    """Return the model that knows of domains: itself, or the one behind a scaler."""
    return model[-1] if isinstance(model, Pipeline) else model


def predict_any(model: Any, X: Any, classes: NDArray[Any] | None) -> Array:
    """Return a fitted model's values, or its probabilities in the order of `classes`, 0 for those it does not know."""
    if classes is None:
        return np.asarray(model.predict(X), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(X)
    elif hasattr(model, "decision_function"):
        own = class_shares(model, X)
    else:
        return (np.asarray(model.predict(X))[:, None] == classes).astype(float)
    shares = np.zeros((own.shape[0], classes.size))
    shares[:, np.searchsorted(classes, model.classes_)] = own
    return shares
