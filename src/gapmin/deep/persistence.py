"""Fitted networks as one safetensors file: tensors, and JSON in its header. No pickle, so reading runs no code.

`load` checks the header by itself, then builds the network without memory (on PyTorch's meta device) and compares the
names, shapes and types of its tensors with those in the file. Only then does it read a tensor.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import validate_parameter_constraints
from torch import nn

from gapmin._utils.formats import fault_of_format
from gapmin._utils.text import one_line
from gapmin._version import __version__
from gapmin.deep._plain import ContentError, check_size, decode, encode, is_int
from gapmin.deep._tensorfile import TensorFile, mismatch, write_tensors
from gapmin.deep.config import saved_names
from gapmin.deep.objectives import OBJECTIVES, Objective

NETWORK_FORMAT = 2
"""Of the files that `save` writes."""
_NETWORK_KEY = "gapmin"
_OWN_MODULE = "module"
_ENTRIES: dict[str, tuple[type, ...]] = {
    "format": (int,),
    "version": (str,),
    "class": (str,),
    "params": (dict,),
    "tasks": (dict,),
    "input_shape": (list,),
    "features": (dict, type(None)),
    "n_features_in": (int, type(None)),
    "history": (list,),
}
_LABELS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
_LABEL_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|U[0-9]{1,9}|O)")
Model = TypeVar("Model")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file is there whole or as it was."""
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    params = {name: getattr(model, name) for name in sorted(saved_names(type(model)))}
    if isinstance(params["extractor"], nn.Module):
        params["extractor"] = {_OWN_MODULE: type(model.extractor).__name__}
    if isinstance(params.get("objective"), Objective):
        objective = params["objective"]
        known = {kind: name for name, kind in OBJECTIVES.items()}
        if type(objective) not in known:
            raise ValueError(f"{type(objective).__name__} is an objective of your own: save objective_.state_dict()")
        params["objective"] = {"name": known[type(objective)], "params": objective.get_params(deep=False)}
    elif isinstance(params.get("objective"), nn.Module):
        kind = type(params["objective"]).__name__
        raise ValueError(f"{kind} is an aggregator of torchjd, which no file holds: save objective_.state_dict()")
    description = {
        "format": NETWORK_FORMAT,
        "version": __version__,
        "class": type(model).__name__,
        "params": params,
        model._label_entry: model._labels_to_json(to_json),
        "tasks": to_json(model.tasks_),
        "input_shape": list(model.input_shape_),
        "features": to_json(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "n_features_in": getattr(model, "n_features_in_", None),
        "history": model.history_,
    }
    try:
        header = json.dumps(encode(description), allow_nan=False)
        check_size(header, "the header")
    except TypeError as error:
        raise ValueError(f"the model has a parameter that JSON cannot hold: {error}") from None
    except ContentError as error:
        raise ValueError(f"{path} could not be read again ({error}): keep the last entries of history_ only") from None
    write_tensors(path, model.objective_.state_dict(), {_NETWORK_KEY: header})


def load(cls: type[Model], path: str | os.PathLike[str], extractor: nn.Module | None) -> Model:
    """Read a model; everything is checked before anything is built."""
    path = Path(path)
    try:
        with TensorFile(path) as file:
            model: Any = _describe(cls, path, file, extractor)
            objective = _build_on_meta(model, path, file)
            tensors = file.read()
    except ContentError as error:
        raise ValueError(f"{path} is not a model that gapmin saved ({error}): give a file written by save()") from error
    objective._apply(lambda each: torch.empty_like(each, device="cpu") if each.is_meta else each)
    try:
        objective.load_state_dict(tensors)
    except RuntimeError as error:  # of a module of the user's, with a way of its own to take a state
        _refuse_to_fit(path, error, error)
    with np.errstate(all="ignore"):  # a file may hold weights that are not finite: `predict` says so
        model._set_objective(objective)
    return model


def _describe(cls: type[Any], path: Path, file: TensorFile, extractor: nn.Module | None) -> Any:
    """Return the model that the header describes, with all that it has after a fit but its network."""
    description = file.description(_NETWORK_KEY, "model")
    if description["format"] != NETWORK_FORMAT:
        fault, remedy = fault_of_format(description["format"], NETWORK_FORMAT, description.get("version"))
        raise ValueError(f"{path} is not loaded, for {fault}: {remedy}")
    kind = description.get("class")
    if isinstance(kind, str) and kind != cls.__name__:
        kind = one_line(kind)
        raise ValueError(f"{path} holds a {kind}: read it with {kind}.load")
    entries = _ENTRIES | {cls._label_entry: (dict,)}
    if description.keys() != entries.keys():
        raise ContentError(f"its description has not exactly {', '.join(entries)}, but {one_line(sorted(description))}")
    for name, kinds in entries.items():
        if not isinstance(description[name], kinds) or isinstance(description[name], bool):
            raise ContentError(f"the {name} of its description is {one_line(description[name])}")
    model = cls(**_params(cls, path, description["params"], extractor))
    model._labels_from_json(description[cls._label_entry], partial(_sorted_labels, file=file, name="classes", least=2))
    model.tasks_ = _sorted_labels(description["tasks"], file=file, name="tasks", least=1)
    model.input_shape_ = tuple(description["input_shape"])
    if not all(is_int(side) and 0 < side < 2**31 for side in model.input_shape_) or len(model.input_shape_) > 64:
        raise ContentError(f"its input_shape is {one_line(description['input_shape'])}")
    if description["n_features_in"] is not None:
        model.n_features_in_ = description["n_features_in"]
        if model.input_shape_[:1] != (model.n_features_in_,):
            raise ContentError(f"its n_features_in is {model.n_features_in_} and its input_shape {model.input_shape_}")
    if description["features"] is not None:
        model.feature_names_in_ = _labels(description["features"], "features", file)
        if model.feature_names_in_.dtype != object or description["n_features_in"] != model.feature_names_in_.size:
            raise ContentError(
                f"its features {one_line(model.feature_names_in_.tolist())} are no names of n_features_in columns"
            )
    model.history_ = decode(description["history"])
    if not all(isinstance(record, dict) for record in model.history_):
        raise ContentError("its history is no list of records")
    return model


def _params(cls: type[Any], path: Path, params: dict[str, Any], extractor: nn.Module | None) -> dict[str, Any]:
    """Return the parameters of the model, with the objective and the user's extractor in their places."""
    params = dict(params)
    theirs = params.get("extractor")
    if isinstance(theirs, dict):
        if theirs.keys() != {_OWN_MODULE} or not isinstance(theirs[_OWN_MODULE], str):
            raise ContentError(f"its extractor is {one_line(theirs)}")
        if extractor is None:
            raise ValueError(
                f"the extractor of {path} was your own {one_line(theirs[_OWN_MODULE])}: give load one of its kind, "
                "extractor=..."
            )
        params["extractor"] = extractor
    elif extractor is not None:
        raise ValueError(f"the extractor of {path} is {one_line(theirs or 'the default')!r}: leave extractor out")
    objective = params.get("objective")
    if isinstance(objective, dict):
        if objective.keys() != {"name", "params"} or not isinstance(objective["params"], dict):
            raise ContentError(f"its objective is {one_line(objective)}")
        kind = OBJECTIVES.get(objective["name"]) if isinstance(objective["name"], str) else None
        if kind is None:
            raise ContentError(f"its objective {one_line(objective['name'])} is none of {', '.join(OBJECTIVES)}")
        _check_params(kind, objective["params"])
        params["objective"] = kind(**objective["params"])
    _check_params(cls, params)
    return params


def _check_params(kind: type[Any], params: dict[str, Any]) -> None:
    """Refuse parameters that are not exactly those of a class, or that it would not take."""
    wanted = saved_names(kind)
    if params.keys() != wanted:
        name = min(params.keys() ^ wanted)
        raise ContentError(f"{kind.__name__} {'has no' if name in params else 'lacks the'} parameter {one_line(name)}")
    for name, constraints in kind._parameter_constraints.items():
        value = params.get(name)
        # To Python a truth value is a number, so that any interval around 0 and 1 has it.
        if isinstance(value, (list, dict)) or (isinstance(value, bool) and "boolean" not in constraints):
            raise ContentError(f"the parameter {name} of {kind.__name__} is {one_line(value)}")
    try:
        validate_parameter_constraints(kind._parameter_constraints, params, kind.__name__)
    except ValueError as error:
        raise ContentError(one_line(error)) from error


def _build_on_meta(model: Any, path: Path, file: TensorFile) -> Objective:
    """Return the network without memory, after comparing it with what the file says of its tensors."""
    name = f"net.heads.weight{2 if model.head_hidden == 0 else 1}"
    heads = file.tensors.get(name)
    if heads is None or len(heads.shape) != 3:
        _refuse_to_fit(path, f"it lacks {name} of three dimensions")
    try:
        with torch.device("meta"):
            objective: Objective = model._build(model.input_shape_, heads.shape[2])
    except (ValueError, RuntimeError, TypeError, OverflowError) as error:  # too large for any memory, for example
        _refuse_to_fit(path, error, error)
    fault = mismatch(objective.state_dict(), file.tensors)
    if fault is not None:
        _refuse_to_fit(path, fault)
    return objective


def _refuse_to_fit(path: Path, fault: object, error: Exception | None = None) -> NoReturn:
    raise ValueError(
        f"{path} does not fit its network: {one_line(fault)}: give a file as save() wrote it, with an extractor of "
        "the same shape if that was your own"
    ) from error


def to_json(labels: NDArray[Any]) -> dict[str, Any]:
    if labels.dtype.kind == "O" and not all(isinstance(each, str) for each in labels):
        raise ValueError(f"the label {labels[0]!r} is neither text nor a number: such models cannot be saved")
    if not _LABEL_DTYPE.fullmatch(labels.dtype.str):
        raise ValueError(f"the label {labels[0]!r} is of {labels.dtype}: use text or numbers of at most 64 bits")
    return {"dtype": labels.dtype.str, "values": labels.tolist()}


def _sorted_labels(stored: dict[str, Any], *, file: TensorFile, name: str, least: int) -> NDArray[Any]:
    values = _labels(stored, name, file)
    if values.size < least or not np.array_equal(np.unique(values), values):
        raise ContentError(f"its {name} {one_line(values.tolist())} are not {least} or more, sorted and each once")
    return values


def _labels(stored: dict[str, Any], name: str, file: TensorFile) -> NDArray[Any]:
    """Return labels, each of which must be exactly what the file says it is."""
    kind, values = stored.get("dtype"), stored.get("values")
    if stored.keys() != {"dtype", "values"} or not isinstance(kind, str) or not isinstance(values, list):
        raise ContentError(f"its {name} are {one_line(stored)}")
    if not _LABEL_DTYPE.fullmatch(kind):
        raise ContentError(f"its {name} are of the unknown type {one_line(kind)}")
    values, wanted = decode(values), _LABELS[kind[1]]
    if not all(type(each) is wanted for each in values):
        raise ContentError(f"its {name} {one_line(values)} are not all of {kind}")
    try:
        dtype = np.dtype(kind)
        if dtype.itemsize * len(values) > file.size + 2**20:  # texts are as long as the longest may be
            raise ContentError(f"its {name} of {kind} would take {dtype.itemsize * len(values)} bytes")
        with np.errstate(all="ignore"):
            found = np.array(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise ContentError(f"its {name} {one_line(values)} are not of {kind}") from error
    if found.tolist() != values:
        raise ContentError(f"its {name} {one_line(values)} are not of {kind}")
    return found
