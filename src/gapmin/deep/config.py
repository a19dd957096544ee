"""The parameters of a training, each declared once: type, default, what it may be, and whether files hold it."""

from __future__ import annotations

import os
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any

import torch
from sklearn.utils._param_validation import Interval, StrOptions

from gapmin.base import InheritedConstraints
from gapmin.deep.optimizers import OPTIMIZERS, SCHEDULES

PRECISIONS = {"32": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
"""By name: what the extractor computes in."""

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")


def parameter(default: Any, *constraints: Any, saved: bool = True) -> Any:
    """Return the dataclass field of a parameter.

    Parameters
    ----------
    default : any
    constraints : any
        What it may be, in scikit-learn's terms; any of them is enough.
    saved : bool, default=True
        Whether the file of a fitted model holds it.
    """
    return field(default=default, metadata={"constraints": list(constraints), "saved": saved})


class Parameters(InheritedConstraints):
    """The base of classes that declare parameters: it gathers their constraints for scikit-learn's validation."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, each in vars(cls).items():
            if isinstance(each, Field) and "constraints" in each.metadata:
                cls._parameter_constraints[name] = each.metadata["constraints"]


@dataclass(eq=False, repr=False, kw_only=True)
class TrainingConfig(Parameters):
    """How a network is trained: what the estimators, the trainer and the files read."""

    epochs: int = parameter(120, Interval(Integral, 0, None, closed="left"))
    batch_size: int = parameter(64, AT_LEAST_ONE)
    lr: float = parameter(2e-4, POSITIVE)
    lr_decay: float = parameter(0.95, Interval(Real, 0, 1, closed="right"))
    lr_every: int = parameter(5, AT_LEAST_ONE)
    weight_decay: float = parameter(1e-4, NOT_NEGATIVE)
    optimizer: Any = parameter("adam", StrOptions(set(OPTIMIZERS)), callable, saved=False)
    scheduler: Any = parameter("step", StrOptions(set(SCHEDULES)), callable, saved=False)
    gradient_clip: float | None = parameter(None, POSITIVE, None)
    precision: str = parameter("32", StrOptions(set(PRECISIONS)), saved=False)
    sampling: str = parameter("cycle", StrOptions({"cycle", "once"}))
    augment: Any = parameter(None, callable, list, tuple, None, saved=False)
    callbacks: Any = parameter(None, "array-like", None, saved=False)
    checkpoint_dir: str | os.PathLike[str] | None = parameter(None, str, os.PathLike, None, saved=False)
    checkpoint_every: int | None = parameter(None, AT_LEAST_ONE, None, saved=False)
    verbose: int = parameter(0, "verbose", saved=False)


def training_parameters(config: TrainingConfig) -> dict[str, Any]:
    """Return the parameters of a training by name, of an estimator for example."""
    return {each.name: getattr(config, each.name) for each in fields(TrainingConfig)}


def saved_names(kind: type[Any]) -> set[str]:
    """Return the names of the parameters of a class that the file of a fitted model holds."""
    declared = getattr(kind, "__dataclass_fields__", {})
    return {
        name for name in kind._get_param_names() if name not in declared or declared[name].metadata.get("saved", True)
    }
