"""What a file may hold of a learner that is not on gapmin's list: the classes of the user's own, as plain objects.

They are read off the learner in this process, never off a file. A class is taken only where restoring it runs none of
its code: its objects are made without a call, and their attributes are put into their dictionary.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.base import BaseEstimator

from gapmin._utils.text import one_line
from gapmin.saved._archive import ContentError
from gapmin.saved._content import take_apart
from gapmin.saved._nodes import Settings
from gapmin.saved._settings import setting_text
from gapmin.saved._types import ALLOWED, PREDICTOR

_CALLED = ("__new__", "__setstate__", "__reduce__", "__reduce_ex__", "__del__")
"""Methods that run when an object is restored or thrown away."""

_COMPILED = ("sklearn.neighbors", "sklearn.svm", "scipy")
"""Packages whose compiled code follows numbers of a fitted model without looking; `sklearn.svm.Linear*` do not."""

_PY_HEAP_TYPE = 1 << 9


def learner_types(examples: Sequence[Any]) -> dict[str, Settings]:
    """Return the classes in some learners that are not on the list, each with the settings seen; or refuse.

    Parameters
    ----------
    examples : sequence of estimator
        The user's learner, and copies of it fitted in this process.

    Returns
    -------
    dict of str to Settings
    """
    found: dict[str, dict[str, set[str]]] = {}
    for example in examples:
        schema, arrays = take_apart(example)
        for node in _nodes(schema):
            name = f"{node['__module__']}.{node['__class__']}"
            if node["__loader__"] != "ObjectNode" or name in (*ALLOWED["ObjectNode"], PREDICTOR):
                continue
            cls = _plain_class(node["__module__"], node["__class__"])
            settings = found.setdefault(name, {each: set() for each in _parameters(cls)})
            attributes = node["content"]["content"] if node["content"]["__loader__"] == "DictNode" else {}
            for parameter, values in settings.items():
                if parameter in attributes:
                    values.add(setting_text(attributes[parameter], arrays.__getitem__))
    return {name: {each: frozenset(values) for each, values in own.items()} for name, own in found.items()}


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict) and "__loader__" in schema:
        yield schema
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _nodes(each)


def _plain_class(module: str, name: str) -> type:
    """Return a class whose objects are restored without running its code; refuse others."""
    cls = getattr(importlib.import_module(module), name, None)
    if not isinstance(cls, type):
        raise ContentError(f"{one_line(name)} is not found in the module {one_line(module)}")
    if not cls.__flags__ & _PY_HEAP_TYPE:
        raise ContentError(f"it holds {one_line(module)}.{one_line(name)}, which is compiled")
    if module.startswith(_COMPILED) and not name.startswith("Linear"):
        raise ContentError(
            f"it holds {one_line(module)}.{one_line(name)}, whose compiled code would follow numbers from the file"
        )
    for method in _CALLED:
        owner = next((each for each in cls.__mro__ if method in vars(each)), object)
        if owner not in (object, BaseEstimator):
            raise ContentError(f"{one_line(name)} has a {method} of its own")
    return cls


def _parameters(cls: type) -> list[str]:
    return list(cls._get_param_names()) if issubclass(cls, BaseEstimator) else []  # type: ignore[attr-defined]
