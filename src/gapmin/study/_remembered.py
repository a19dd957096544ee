"""What stands beside a model in its file: what it was made with, weights and notes; read with suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapmin.selection import Explanation
from gapmin.selection.explanation import RowUse, WeightGroup


@dataclass(frozen=True)
class StudyFile:
    """A file that a model was made with.

    Attributes
    ----------
    role : "target" or "source"
    name : str
        What the file is called in tables; no two of a study are called alike.
    file : str
        Its name without the folder.
    n_rows : int
        Rows that were used: with a label, and of a class that the target has.
    sha256 : str
    """

    role: str
    name: str
    file: str
    n_rows: int
    sha256: str


def remembered(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands beside a model; anything that is not as `StudyModel.about` wrote it raises an error."""
    files = tuple(
        StudyFile(
            _text(each["role"]), _text(each["name"]), _text(each["file"]), int(each["n_rows"]), _text(each["sha256"])
        )
        for each in about["files"]
    )
    if [each.role for each in files] != ["target", *("source" for _ in files[1:])]:
        raise ValueError("its files are not a target and its sources")
    asked, found = about["asked"], about["explanation"]
    columns: dict[str, tuple[WeightGroup, ...]] = {}
    for each in found["columns"]:
        columns[_text(each["column"])] = (*columns.get(each["column"], ()), _group(each))
    explanation = Explanation(
        ratio=np.empty(0),
        sources=tuple(map(_group, found["sources"])),
        classes=tuple(map(_group, found["classes"])),
        columns=columns,
        used=tuple(map(_use, found["used"])),
        dropped=tuple(map(_use, found["dropped"])),
    )
    if [group.name for group in explanation.sources] != [each.name for each in files]:
        raise ValueError("its weights are not those of its files")
    verdict = dict(about["verdict"])
    for name in ("sentence", "chosen"):
        _text(verdict[name])
    if not isinstance(verdict["transfers"], bool):
        raise TypeError(f"transfers is {verdict['transfers']!r}")
    return {
        "files": files,
        "verdict": verdict,
        "errors": {name: _number(about["errors"][name]) for name in ("with_sources", "target_only")},
        "explanation": explanation,
        "notes": tuple(map(_text, about["notes"])),
        "asked": {
            "task": None if asked["task"] is None else _text(asked["task"]),
            "drop": [_text(each) for each in asked["drop"]],
            "seed": int(asked["seed"]),
        },
    }


def _group(each: Mapping[str, Any]) -> WeightGroup:
    shares = (float(each["share_of_rows"]), float(each["share_of_weight"]))
    ratio = _number(each["ratio"])
    return WeightGroup(_text(each["name"]), int(each["n_rows"]), *shares, np.nan if ratio is None else ratio)


def _use(each: Mapping[str, Any]) -> RowUse:
    label = each["label"]
    if not isinstance(label, str | int | float):
        raise TypeError(f"a row has the label {label!r}")
    return RowUse(_text(each["source"]), int(each["row"]), label, float(each["ratio"]))


def _number(given: Any) -> float | None:
    return None if given is None else float(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is no text")
    return given
