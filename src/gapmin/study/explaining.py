"""Explain a model of a study anew from the files that it was made with, by any column of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gapmin._utils.text import counted, listed, quoted
from gapmin.transfer import Explanation, explain

from ._messages import TableError, did_you_mean
from ._values import as_numbers, as_texts, kind_of_dtype
from .inputs import file_sha256
from .model import StudyModel, rows_in_files, with_file_rows
from .reading import read_table
from .study import Study, StudyFiles

__all__ = ["explain_files"]

_MOST_VALUES = 1000


def explain_files(
    model: StudyModel, target: Path, sources: Sequence[Path], *, by: Sequence[str] = (), n_rows: int = 10
) -> Explanation:
    """Return what a model made of each row of the files that it was made with.

    Parameters
    ----------
    model : StudyModel
    target : path
    sources : sequence of path
        In any order.
    by : sequence of str
        Columns to group the rows by, also some that the model does not use.
    n_rows : int, default=10
        How many of the most used and of the most dropped rows are listed.

    Raises
    ------
    TableError
        When a file is not the one that the model was made with, or a column is in none of them.
    """
    paths = _match_files(model, target, sources)
    asked = {name: value for name, value in model.asked.items() if name not in ("seed", "scoring", "group", "time")}
    study = StudyFiles(paths[0], paths[1:], model.schema.label, **asked).read()
    X, y, sample_domain = study.stack()
    fitted = model.pipeline[-1]
    if study.schema != model.schema or len(fitted.sample_weight_) != len(y):
        raise TableError("the files are read otherwise than when the model was fitted: fit it again with this gapmin")
    names = model.source_names
    rows = dict(zip(names, rows_in_files(study).values(), strict=True))
    columns = {name: _column_values(study, paths, name) for name in dict.fromkeys(each.strip() for each in by)}
    found = explain(fitted, X, y, sample_domain=sample_domain, source_names=names, by=columns, n_rows=n_rows)
    return with_file_rows(found, sample_domain, model.files, rows)


def _match_files(model: StudyModel, target: Path, sources: Sequence[Path]) -> list[Path]:
    """Return the paths in the order of the model's files, or say which file is not what it was."""
    wanted = model.files[1:]
    if len(sources) != len(wanted):
        names = listed([each.file for each in wanted])
        raise TableError(
            f"{counted(len(sources), 'source')} given, and the model was made with {len(wanted)}: give {names}"
        )
    found = {}
    for path in (target, *sources):
        try:
            found[path] = file_sha256(path)
        except OSError as error:
            raise TableError(f"{path} cannot be read ({error.strerror}): check its name and permissions") from error
    if found[target] != model.files[0].sha256:
        raise _changed(target, [model.files[0].file])
    left, ordered = list(sources), []
    for each in wanted:
        same = [path for path in left if found[path] == each.sha256]
        if same:
            # Of two copies of one file, the one that is called as it was.
            ordered.append(next((path for path in same if path.name == each.file), same[0]))
            left.remove(ordered[-1])
    if left:
        known = [each.file for each in wanted]
        raise _changed(next((path for path in left if path.name in known), left[0]), known)
    return [target, *ordered]


def _changed(path: Path, names: Sequence[str]) -> TableError:
    what = "has changed since the model was fitted" if path.name in names else "is no file that the model was made with"
    return TableError(f"{path} {what} (sha256): give the file as it was, or fit again")


def _column_values(study: Study, paths: Sequence[Path], name: str) -> Any:
    """Return a column of all rows to group them by: as the model has it, or as the files of the sources have it."""
    kinds = {column.name: column.kind for column in study.schema.columns}
    frames = [X for X, _ in (study.target, *study.sources.values())]
    if name in kinds:
        values = np.concatenate([frame[name].to_numpy() for frame in frames])
        if kinds[name] == "boolean":
            values = np.array([{0.0: "false", 1.0: "true"}.get(each) for each in values.tolist()], dtype=object)
        return values
    parts, there = [], dict.fromkeys(study.schema.names)
    for path, frame in zip(paths, frames, strict=True):
        table = read_table(path).frame
        there |= dict.fromkeys(table.columns)
        parts.append(table[name].loc[frame.index] if name in table.columns else None)
    given = [part for part in parts if part is not None]
    if not given:
        raise TableError(f"no file has a column {quoted(name)}{did_you_mean(name, there) or ': check its name'}")
    numbers = all(kind_of_dtype(part.dtype) in ("number", "boolean") for part in given)
    as_values = as_numbers if numbers else as_texts
    filled = [
        np.full(len(frame), np.nan, dtype=None if numbers else object) if part is None else as_values(part)
        for part, frame in zip(parts, frames, strict=True)
    ]
    values = np.concatenate(filled)
    n_distinct = len({each for each in values.tolist() if isinstance(each, str)})
    if n_distinct > _MOST_VALUES:
        raise TableError(
            f"column {quoted(name)} has {n_distinct:,} different texts, too many for a table: name one with fewer"
        )
    return values
