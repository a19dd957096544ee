"""Somebody's files as one transfer problem: a target, its sources, and the columns that they share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.text import listed, quoted
from gapmin.domains import stack_domains

from ._kinds import choose_columns
from ._labels import LabelPlan, plan_labels, source_labels, subsample, target_labels
from ._messages import TableError, did_you_mean, name_columns
from ._values import as_numbers, is_missing, kind_of_dtype
from .reading import distinct_names, read_table
from .schema import PREDICTION_TASKS, Schema, conform_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Study", "StudyFiles", "read_study"]

FilePath = str | os.PathLike[str]
LabelledFrame = tuple["pd.DataFrame", NDArray[Any]]


@dataclass(frozen=True)
class Study:
    """A target, its sources, and what they share.

    Attributes
    ----------
    target : (X, y)
        A frame and an array. Every X has the schema's columns: numbers and booleans as float64, categories as
        text in columns of objects, NaN where a value is missing. The index is the row of the file, from 0.
    sources : dict of name to (X, y)
    schema : Schema
    notes : tuple of str
        What was decided, dropped and changed.
    target_name : str
    """

    target: LabelledFrame
    sources: dict[str, LabelledFrame]
    schema: Schema
    notes: tuple[str, ...]
    target_name: str

    def stack(self) -> tuple[pd.DataFrame, NDArray[Any], NDArray[np.int64]]:
        """Return (X, y, sample_domain), as the estimators take them; see `gapmin.stack_domains`."""
        X, y, sample_domain = stack_domains(target=self.target, sources=self.sources)
        return X, y, sample_domain


@dataclass(frozen=True)
class StudyFiles:
    """Which files make a study, and how they are read; see `read_study`.

    Attributes
    ----------
    target : path
    sources : sequence of path
    label : str
    task : str or None
    drop : sequence of str
    max_source_rows : int or None
        Of each source.
    """

    target: FilePath
    sources: Sequence[FilePath]
    label: str
    task: str | None = None
    drop: Sequence[str] = ()
    max_source_rows: int | None = None

    def read(self, random_state: int = 0) -> Study:
        """Return the study; of a source with more than `max_source_rows`, the seed says which rows are drawn."""
        return read_study(**vars(self), random_state=random_state)


def read_study(
    target: FilePath,
    sources: Sequence[FilePath],
    label: str,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    max_source_rows: int | None = None,
    random_state: int = 0,
) -> Study:
    r"""Read a target and its sources, and find out which columns can be used and what is to be predicted.

    Columns are matched by name. Rows without a label are dropped, and rows of classes that the target does not have;
    columns too that a file lacks, that are empty in the target or the same everywhere, dates, and texts that differ
    in every row. `Study.notes` says so.

    Parameters
    ----------
    target : path
        The file of the domain that a model is wanted for.
    sources : sequence of path
        The others.
    label : str
        The column to predict, which every file has.
    task : "classification", "regression" or None, default=None
        None looks at the target's labels.
    drop : sequence of str
        Columns to leave out.
    max_source_rows : int, optional
        At most so many rows of each source are kept, drawn at random; of classes, each in its share.
    random_state : int, default=0
        Which rows are drawn.

    Returns
    -------
    Study

    Raises
    ------
    TableError
        In one line, which file cannot be used, why, and what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, old = pathlib.Path(folder, "new.csv"), pathlib.Path(folder, "old.csv")
    ...     _ = new.write_text("rooms,price\n" + "".join(f"{i},{i / 2}\n" for i in range(20)))
    ...     _ = old.write_text("rooms,garden,price\n" + "".join(f"{i},1,{i / 3 + 0.1}\n" for i in range(30)))
    ...     study = read_study(new, [old], "price")
    >>> study.schema.task, study.schema.names, study.target[0].shape, study.sources["old"][0].shape
    ('regression', ('rooms',), (20, 1), (30, 1))
    >>> for note in study.notes:
    ...     print(note)
    the task is regression, because the labels have fractions, such as 0.5 (--task overrides)
    dropped column 'garden': not in every file
    """
    paths = _check_files(target, sources, task, max_source_rows)
    names = distinct_names(paths)
    label, drop = label.strip(), [name.strip() for name in drop]
    if label in drop:
        raise TableError(f"the label {quoted(label)} is also to be dropped: take it out of one of the two")
    rng = np.random.default_rng(random_state)
    notes: list[str] = []
    frames: dict[str, pd.DataFrame] = {}
    labels: dict[str, NDArray[Any]] = {}
    plan: LabelPlan | None = None
    for path, name in zip(paths, names, strict=True):
        frame, n_gone = _read_labelled(path, label, notes, as_text=plan is not None and plan.kind == "text")
        if plan is None:
            plan = plan_labels(frame[label], str(path), task, n_gone)
            notes.append(plan.note)
            y = target_labels(frame[label], plan, str(path), notes)
        else:
            y, known = source_labels(frame[label], plan, str(path), notes)
            frame = frame if known.all() else frame[known]
            if max_source_rows is not None and len(y) > max_source_rows:
                rows = subsample(y, max_source_rows, plan.classes, rng)
                notes.append(
                    f"{path}: {max_source_rows:,} of its {len(y):,} rows drawn at random (seed {random_state})"
                )
                frame, y = frame.iloc[rows], y[rows]
        frames[name], labels[name] = frame.drop(columns=label), y
        del frame
    assert plan is not None
    shared = _shared_columns(frames, drop, notes)
    for path, name in zip(paths, names, strict=True):
        frames[name] = _as_written(path, frames[name], _texts_elsewhere(frames, name, shared))
    columns = choose_columns(frames, shared, notes)
    if not columns:
        raise TableError(
            f"no column is left to predict {quoted(label)} from: {notes[-1]}; give the files columns in common"
        )
    schema = Schema(label, plan.task, plan.kind, plan.classes, columns)
    made = {
        name: (conform_values(frames.pop(name), columns, str(path), notes, strict=False), labels[name])
        for path, name in zip(paths, names, strict=True)
    }
    target_rows = made.pop(names[0])
    notes += _copied_rows(target_rows, dict(zip(map(str, paths[1:]), made.values(), strict=True)))
    return Study(target_rows, made, schema, tuple(notes), names[0])


def _copied_rows(target: LabelledFrame, sources: Mapping[str, LabelledFrame]) -> list[str]:
    """Note which sources hold rows of the target.

    A test on rows that a source has too would praise that source for knowing them by heart. Rows are taken to be the
    same rows only where hardly any two of the target are alike.
    """
    import pandas as pd

    def marks(X: pd.DataFrame, y: NDArray[Any]) -> NDArray[np.uint64]:
        whole = X.reset_index(drop=True).assign(**{"\0label": y})
        return pd.util.hash_pandas_object(whole, index=False).to_numpy()

    of_target = marks(*target)
    if np.unique(of_target).size < 0.9 * of_target.size:
        return []
    notes = []
    for path, (X, y) in sources.items():
        known = int(np.isin(of_target, marks(X, y)).sum())
        if known:
            notes.append(
                f"{path} holds {known} of the {of_target.size} rows of the target: tested on these it looks "
                "better than it is; take them out of it"
            )
    return notes


def _check_files(
    target: FilePath, sources: Sequence[FilePath], task: str | None, max_source_rows: int | None
) -> list[Path]:
    if isinstance(sources, str | os.PathLike):
        raise TableError(f"sources is {quoted(sources)}: give a list of files")
    if not sources:
        raise TableError(f"no source was given beside {target}: give at least one other file")
    if task not in (None, *PREDICTION_TASKS):
        raise TableError(f"task is {quoted(task)}: use {' or '.join(PREDICTION_TASKS)}")
    if max_source_rows is not None and max_source_rows < 1:
        raise TableError(f"max_source_rows is {max_source_rows}: take at least 1")
    paths = [Path(target), *map(Path, sources)]
    seen: dict[str, Path] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            role = "both the target and a source" if seen[real] is paths[0] else "a source twice"
            raise TableError(f"{path} is {role}: its rows would count double; give each file once")
        seen[real] = path
    return paths


def _read_labelled(path: Path, label: str, notes: list[str], *, as_text: bool) -> tuple[pd.DataFrame, int]:
    """Read a file and keep its rows with a label, which may be asked for as it is written; count the others."""
    table = read_table(path, [label] if as_text else [])
    frame = table.frame
    notes += table.notes
    if label not in frame.columns:
        raise TableError(
            f"{path} has no column {quoted(label)} for the label: it has {listed(frame.columns)}"
            f"{did_you_mean(label, frame.columns) or '; name one of them with --label, or rename it'}"
        )
    present = ~is_missing(frame[label])
    n_gone = int((~present).sum())
    if n_gone == len(frame):
        raise TableError(f"{path} has no label in column {quoted(label)}: fill it in, or leave the file out")
    if n_gone:
        notes.append(f"{path}: dropped {n_gone:,} of {len(frame):,} rows, which have no label")
        frame = frame[present]
    return frame, n_gone


def _texts_elsewhere(frames: Mapping[str, pd.DataFrame], name: str, shared: Sequence[str]) -> list[str]:
    """Return the columns that are numbers in a file and texts in another."""
    read_as = {file: frame[list(shared)].dtypes.map(kind_of_dtype) for file, frame in frames.items()}
    texts = [kinds for file, kinds in read_as.items() if file != name]
    return [
        each for each in shared if read_as[name][each] == "number" and any(kinds[each] == "text" for kinds in texts)
    ]


def _as_written(path: Path, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return a frame with some of its columns as they are written in the file, 01 as 01.

    Not where the text is no number any more, such as 1.000 with a point between thousands.
    """
    if not names:
        return frame
    written = read_table(path, names).frame.loc[frame.index, list(names)]
    same = [
        name for name in names if np.array_equal(as_numbers(written[name]), as_numbers(frame[name]), equal_nan=True)
    ]
    return frame.assign(**{name: written[name] for name in same})


def _shared_columns(frames: dict[str, pd.DataFrame], drop: Sequence[str], notes: list[str]) -> list[str]:
    """Return the columns that all files have, in the target's order; note the others."""
    every = dict.fromkeys(name for frame in frames.values() for name in frame.columns)
    unknown = [name for name in drop if name not in every]
    if unknown:
        raise TableError(
            f"column {quoted(unknown[0])}, which is to be dropped, is in none of the files"
            f"{did_you_mean(unknown[0], every) or ': check its name'}"
        )
    common = set(every).intersection(*(frame.columns for frame in frames.values()))
    partial = [name for name in every if name not in common and name not in set(drop)]
    if drop:
        notes.append(f"dropped {name_columns(drop)}: as asked")
    if partial:
        notes.append(f"dropped {name_columns(partial)}: not in every file")
    return [name for name in next(iter(frames.values())).columns if name in common and name not in set(drop)]
