"""Fitted networks as one safetensors file: tensors, and JSON in its header. No pickle, so reading runs no code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gapmin._version import __version__
from gapmin.deep.objectives import OBJECTIVES, Objective

_FORMAT = 1
_KEY = "gapmin"
_YOURS = "module"
_OF_THE_FIT = ("callbacks", "checkpoint_dir", "checkpoint_every", "random_state", "verbose")
_OF_THE_MACHINE = ("device", "devices", "strategy", "accelerator")
_NOT_KEPT = _OF_THE_FIT + _OF_THE_MACHINE
Model = TypeVar("Model")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file is there whole or as it was."""
    from safetensors.torch import save_file

    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    params = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_KEPT}
    if isinstance(params["extractor"], nn.Module):
        params["extractor"] = {_YOURS: type(model.extractor).__name__}
    if isinstance(params.get("objective"), Objective):
        objective = params["objective"]
        known = {kind: name for name, kind in OBJECTIVES.items()}
        if type(objective) not in known:
            raise ValueError(f"{type(objective).__name__} is an objective of your own: save objective_.state_dict()")
        params["objective"] = {"name": known[type(objective)], "params": objective.get_params(deep=False)}
    said = {
        "format": _FORMAT,
        "version": __version__,
        "class": type(model).__name__,
        "params": params,
        "classes": _to_json(model.classes_),
        "tasks": _to_json(model.tasks_),
        "input_shape": list(model.input_shape_),
        "features": _to_json(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "n_features_in": getattr(model, "n_features_in_", None),
        "history": model.history_,
    }
    try:
        header = json.dumps(said, default=_plain_number)
    except TypeError as error:
        raise ValueError(f"the model has a parameter that JSON cannot hold: {error}") from None
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in model.objective_.state_dict().items()}
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        save_file(tensors, beside, metadata={_KEY: header})
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def load(cls: type[Model], path: str | os.PathLike[str], extractor: nn.Module | None) -> Model:
    """Read a model; everything is checked before anything is built."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(str(path), framework="pt") as file:
            said = json.loads((file.metadata() or {})[_KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        found_format, kind = said["format"], said["class"]
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a model that gapmin saved ({error}): give a file written by save()") from error
    if found_format != _FORMAT:
        raise ValueError(f"{path} was written by gapmin {said['version']} in format {found_format}: save it anew")
    if kind != cls.__name__:
        raise ValueError(f"{path} holds a {kind}: read it with {kind}.load")
    params = said["params"]
    if isinstance(params["extractor"], dict):
        if extractor is None:
            raise ValueError(
                f"the extractor of {path} was your own {params['extractor'][_YOURS]}: give load one of its kind, "
                "extractor=..."
            )
        params["extractor"] = extractor
    elif extractor is not None:
        raise ValueError(f"the extractor of {path} is {params['extractor'] or 'the default'!r}: leave extractor out")
    if isinstance(params.get("objective"), dict):
        params["objective"] = OBJECTIVES[params["objective"]["name"]](**params["objective"]["params"])
    model: Any = cls(**params)
    model.classes_, model.tasks_ = _from_json(said["classes"]), _from_json(said["tasks"])
    if said["features"] is not None:
        model.feature_names_in_ = _from_json(said["features"])
    if said["n_features_in"] is not None:
        model.n_features_in_ = said["n_features_in"]
    model.history_ = said["history"]
    model.input_shape_ = tuple(said["input_shape"])
    with torch.random.fork_rng():
        objective = model._build(model.input_shape_)
    shapes = {name: tuple(value.shape) for name, value in objective.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in tensors.items()}
    if shapes != found:
        name = next(name for name in {**shapes, **found} if shapes.get(name) != found.get(name))
        raise ValueError(
            f"{path} does not fit its network: {name} has shape {found.get(name)}, {shapes.get(name)} was wanted"
        )
    objective.load_state_dict(tensors)
    model._keep(objective)
    return model


def _to_json(labels: NDArray[Any]) -> dict[str, Any]:
    kind = labels.dtype.str
    if labels.dtype.kind == "O" and not all(isinstance(each, str) for each in labels):
        raise ValueError(f"the label {labels[0]!r} is neither text nor a number: such models cannot be saved")
    return {"dtype": kind, "values": labels.tolist()}


def _from_json(said: dict[str, Any]) -> NDArray[Any]:
    return np.array(said["values"], dtype=np.dtype(said["dtype"]))


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r}")
