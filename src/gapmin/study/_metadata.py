"""What stands beside a model in its file: what it was made with, weights and notes; checked when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gapmin.transfer import Evidence, Explanation
from gapmin.transfer.explanation import RowUse, WeightGroup


@dataclass(frozen=True)
class StudyFile:
    """A file, or a frame, that a model was made with.

    Attributes
    ----------
    role : "target" or "source"
    name : str
        What the file is called in tables; no two of a study are called alike.
    file : str
        Its name without the folder; empty for a frame.
    n_rows : int
        Rows that were used: with a label, and of a class that the target has.
    sha256 : str
    """

    role: str
    name: str
    file: str
    n_rows: int
    sha256: str


def from_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands beside a model; anything that is not as `StudyModel.about` wrote it raises an error."""
    files = _records(StudyFile, about["files"])
    if [each.role for each in files] != ["target", *("source" for _ in files[1:])]:
        raise ValueError("its files are not a target and its sources")
    asked, found = about["asked"], about["explanation"]
    columns: dict[str, tuple[WeightGroup, ...]] = {}
    for each in found["columns"]:
        columns[_text(each["column"])] = (*columns.get(each["column"], ()), *_records(WeightGroup, [each]))
    explanation = Explanation(
        ratio=np.empty(0),
        sources=_records(WeightGroup, found["sources"]),
        classes=_records(WeightGroup, found["classes"]),
        columns=columns,
        used=_records(RowUse, found["used"]),
        dropped=_records(RowUse, found["dropped"]),
    )
    if [group.name for group in explanation.sources] != [each.name for each in files]:
        raise ValueError("its weights are not those of its files")
    evidence = Evidence.from_dict(about["evidence"])
    if [each.name for each in evidence.sources] != [each.name for each in files[1:]]:
        raise ValueError("its evidence is not about its files")
    if evidence.to_dict() != about["evidence"]:
        raise ValueError("its evidence is not as gapmin writes it")
    return {
        "files": files,
        "evidence": evidence,
        "explanation": explanation,
        "notes": tuple(map(_text, about["notes"])),
        "asked": {
            "task": None if asked["task"] is None else _text(asked["task"]),
            **{name: [_text(each) for each in asked[name]] for name in ("drop", "na", "keep")},
            "text": bool(asked["text"]),
            "seed": int(asked["seed"]),
            **{name: None if asked.get(name) is None else _text(asked[name]) for name in ("scoring", "group", "time")},
        },
    }


def _records(kind: Any, given: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return dataclasses from dictionaries, each field as its annotation says."""
    return tuple(kind(**{each.name: _AS[each.type](one[each.name]) for each in fields(kind)}) for one in given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is no text")
    return given


def _number(given: Any) -> float:
    return np.nan if given is None else float(given)


def _label(given: Any) -> Any:
    if not isinstance(given, str | int | float):
        raise TypeError(f"a row has the label {given!r}")
    return given


_AS: dict[Any, Callable[[Any], Any]] = {"str": _text, "int": int, "float": _number, "Any": _label}
