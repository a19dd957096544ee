"""Somebody's files as one transfer problem: a target, its sources, and the columns that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.options import option
from gapmin._utils.text import counted, listed, quoted
from gapmin.domains import stack_domains

from ._kinds import choose_columns
from ._labels import LabelPlan, plan_labels, source_labels, subsample, target_labels
from ._messages import TableError, did_you_mean, name_columns
from ._missing import MissingTokens, without_gaps
from ._values import as_numbers, is_missing, kind_of_dtype, with_decimal_points
from .inputs import GivenTable, TableInput, check_asked, column_names, given_tables
from .schema import PREDICTION_TASKS, Schema, conform_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Study", "StudyFiles", "read_study"]

LabelledFrame = tuple["pd.DataFrame", NDArray[Any]]


@dataclass(frozen=True, repr=False)
class Study:
    """A target, its sources, and what they share.

    Attributes
    ----------
    target : (X, y)
        A frame and an array. Every X has the schema's columns: numbers and booleans as float64, dates as days since
        1970, categories and free text in columns of objects, NaN where a value is missing. The index is the row of
        the file, from 0.
    sources : dict of name to (X, y)
        The tables of the sources, by name.
    schema : Schema
        The columns and their kinds.
    notes : tuple of str
        What was decided, dropped and changed.
    target_name : str
        What the target is called.
    """

    target: LabelledFrame
    sources: dict[str, LabelledFrame]
    schema: Schema
    notes: tuple[str, ...]
    target_name: str

    def __repr__(self) -> str:
        tables = {self.target_name: self.target, **self.sources}
        sizes = ", ".join(f"{name} {counted(len(y), 'row')}" for name, (_, y) in tables.items())
        columns = counted(len(self.schema.columns), "column")
        return f"<{type(self).__name__}: {self.schema.label} ({self.schema.task}) from {columns}; {sizes}>"

    def stack(self) -> tuple[pd.DataFrame, NDArray[Any], NDArray[np.int64]]:
        """Return (X, y, sample_domain), as the estimators take them; see `gapmin.stack_domains`."""
        X, y, sample_domain = stack_domains(target=self.target, sources=self.sources)
        return X, y, sample_domain


@dataclass(frozen=True)
class StudyFiles:
    """Which files or frames make a study, and how they are read; see `read_study`.

    Attributes
    ----------
    target : path or frame
        The file or frame of the target.
    sources : dict of name to path or frame, or sequence of path or frame
        The files or frames of the sources.
    label : str
        The column to predict.
    task : str or None
        Whether labels are classes or numbers.
    drop : sequence of str
        Columns to leave out.
    max_source_rows : int or None
        Of each source.
    na : sequence of str
        What stands for a missing value.
    keep : sequence of str
        Columns to use although they look like ids.
    text : bool
        Whether to use the words of free text.
    """

    target: TableInput
    sources: Mapping[str, TableInput] | Sequence[TableInput]
    label: str
    task: str | None = None
    drop: Sequence[str] = ()
    max_source_rows: int | None = None
    na: Sequence[str] = ()
    keep: Sequence[str] = ()
    text: bool = True

    def read(self, random_state: int = 0) -> Study:
        """Return the study; of a source with more than `max_source_rows`, the seed says which rows are drawn.

        Parameters
        ----------
        random_state : int, default=0
            Seed of the rows that are drawn from large sources.
        """
        return read_study(**vars(self), random_state=random_state)

    def tables(self) -> list[GivenTable]:
        """Return the target and its sources with their names."""
        return given_tables(self.target, self.sources)

    def inputs(self) -> list[TableInput]:
        """Return the target and its sources as they were given."""
        return [each.given for each in self.tables()]

    def reading_options(self) -> dict[str, Any]:
        """Return how the files are to be read, as JSON has it; without `max_source_rows`."""
        return {
            "task": self.task,
            "drop": list(self.drop),
            "na": list(self.na),
            "keep": list(self.keep),
            "text": self.text,
        }


def read_study(
    target: TableInput,
    sources: Mapping[str, TableInput] | Sequence[TableInput],
    label: str,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    max_source_rows: int | None = None,
    na: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: bool = True,
    random_state: int = 0,
) -> Study:
    r"""Read a target and its sources, and find out which columns can be used and what is to be predicted.

    Columns are matched by name. Rows without a label are dropped, and rows of classes that the target does not have.
    Columns are dropped that a file lacks, that are empty in the target or the same everywhere, that count rows or name
    files, and ids. `Study.notes` says so.

    Parameters
    ----------
    target : path or frame
        The file, or the pandas or polars frame, of the domain that a model is wanted for.
    sources : dict of name to path or frame, or sequence of path or frame
        The others. In a list, a file is called by its name, a frame by its place.
    label : str
        The column to predict, which every file has.
    task : "classification", "regression" or None, default=None
        None looks at the target's labels.
    drop : sequence of str
        Columns to leave out.
    max_source_rows : int, optional
        At most so many rows of each source are kept, drawn at random; of classes, each in its share.
    na : sequence of str
        What stands for a missing value: "k.A." in every column, "size=0" in the column size alone.
    keep : sequence of str
        Columns to use although they look like ids, count the rows or name the file.
    text : bool, default=True
        Use the words of free text; False leaves such columns out.
    random_state : int, default=0
        Which rows are drawn.

    Returns
    -------
    Study
        What was read, and notes on it.

    Raises
    ------
    TableError
        In one line, which file cannot be used, why, and what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, old = pathlib.Path(folder, "new.csv"), pathlib.Path(folder, "old.csv")
    ...     _ = new.write_text("rooms,price\n" + "".join(f"{i % 7},{i / 2}\n" for i in range(20)))
    ...     _ = old.write_text("rooms,garden,price\n" + "".join(f"{i % 7},1,{i / 3 + 0.1}\n" for i in range(30)))
    ...     study = read_study(new, [old], "price")
    >>> study.schema.task, study.schema.names, study.target[0].shape, study.sources["old"][0].shape
    ('regression', ('rooms',), (20, 1), (30, 1))
    >>> for note in study.notes:
    ...     print(note)
    the task is regression, because the labels have fractions, such as 0.5 (task= overrides)
    dropped column 'garden': not in every file
    """
    if task not in (None, *PREDICTION_TASKS):
        raise TableError(f"task is {quoted(task)}: use {' or '.join(PREDICTION_TASKS)}")
    if max_source_rows is not None and max_source_rows < 1:
        raise TableError(f"max_source_rows is {max_source_rows}: take at least 1")
    tables = given_tables(target, sources)
    label, drop, keep = label.strip(), column_names(drop, "drop"), column_names(keep, "keep")
    check_asked(label, drop, keep)
    rng = np.random.default_rng(random_state)
    notes: list[str] = []
    frames: dict[str, pd.DataFrame] = {}
    labels: dict[str, NDArray[Any]] = {}
    plan: LabelPlan | None = None
    missing = MissingTokens()
    for table in tables:
        frame = _read_table(table, label, notes, as_text=plan is not None and plan.kind == "text")
        if plan is None:
            missing = MissingTokens.parse(column_names(na, "na"), frame.columns)
            notes += MissingTokens.without_column(na, frame.columns)
        frame = without_gaps(missing.take_out(frame), label, table.shown, notes)
        frame, n_gone = _labelled_rows(frame, table.shown, label, notes)
        if plan is None:
            plan = plan_labels(frame[label], table.shown, task, n_gone)
            notes.append(plan.note)
            y = target_labels(frame[label], plan, table.shown, notes)
        else:
            y, known = source_labels(frame[label], plan, table.shown, notes)
            frame = frame if known.all() else frame[known]
            if max_source_rows is not None and len(y) > max_source_rows:
                rows = subsample(y, max_source_rows, plan.classes, rng)
                notes.append(
                    f"{table.shown}: {max_source_rows:,} of its {len(y):,} rows drawn at random (seed {random_state})"
                )
                frame, y = frame.iloc[rows], y[rows]
        frames[table.name], labels[table.name] = frame.drop(columns=label), y
        del frame
    assert plan is not None
    shared = _shared_columns(frames, drop, keep, notes)
    frames = {table.name: _with_points(frames, table, shared, notes) for table in tables}
    for table in tables:
        texts = _texts_elsewhere(frames, table.name, shared)
        frames[table.name] = _as_written(table, frames[table.name], texts, missing)
    columns = choose_columns(frames, shared, notes, keep, text=text)
    if not columns:
        raise TableError(
            f"no column is left to predict {quoted(label)} from: {notes[-1]}; give the files columns in common"
        )
    columns = tuple(
        replace(each, missing=tuple(sorted({*each.missing, *missing.by_column.get(each.name, ())}))) for each in columns
    )
    schema = Schema(label, plan.task, plan.kind, plan.classes, columns, tuple(sorted(missing.everywhere)))
    made = {
        table.name: (
            conform_values(frames.pop(table.name), columns, table.shown, notes, strict=False),
            labels[table.name],
        )
        for table in tables
    }
    target_rows = made.pop(tables[0].name)
    notes += _copied_rows(target_rows, dict(zip((each.shown for each in tables[1:]), made.values(), strict=True)))
    return Study(target_rows, made, schema, tuple(notes), tables[0].name)


def _copied_rows(target: LabelledFrame, sources: Mapping[str, LabelledFrame]) -> list[str]:
    """Note which sources hold rows of the target.

    Rows are taken to be the same rows only where hardly any two of the target are alike.
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
                f"{path} holds {known} of the {of_target.size} rows of the target: they do not train where they are "
                "tested"
            )
    return notes


def _read_table(table: GivenTable, label: str, notes: list[str], *, as_text: bool) -> pd.DataFrame:
    """Read a table that has the label, which may be asked for as it is written."""
    read = table.read([label] if as_text else [])
    notes += read.notes
    if label not in read.frame.columns:
        named = option("label")
        raise TableError(
            f"{table.shown} has no column {quoted(label)} for the label: it has {listed(read.frame.columns)}"
            f"{did_you_mean(label, read.frame.columns) or f'; name one of them with {named}, or rename it'}"
        )
    return read.frame


def _labelled_rows(frame: pd.DataFrame, shown: str, label: str, notes: list[str]) -> tuple[pd.DataFrame, int]:
    """Return the rows with a label, and how many have none."""
    present = ~is_missing(frame[label])
    n_gone = int((~present).sum())
    if n_gone == len(frame):
        raise TableError(f"{shown} has no label in column {quoted(label)}: fill it in, or leave the file out")
    if n_gone:
        notes.append(f"{shown}: dropped {n_gone:,} of {len(frame):,} rows, which have no label")
        frame = frame[present]
    return frame, n_gone


def _texts_elsewhere(frames: Mapping[str, pd.DataFrame], name: str, shared: Sequence[str]) -> list[str]:
    """Return the columns that are numbers in a file and texts in another."""
    read_as = {file: frame[list(shared)].dtypes.map(kind_of_dtype) for file, frame in frames.items()}
    texts = [kinds for file, kinds in read_as.items() if file != name]
    return [
        each for each in shared if read_as[name][each] == "number" and any(kinds[each] == "text" for kinds in texts)
    ]


def _with_points(
    frames: Mapping[str, pd.DataFrame], table: GivenTable, shared: Sequence[str], notes: list[str]
) -> pd.DataFrame:
    """Return the rows of a file with points for decimal commas in columns that another file has as numbers."""
    frame = frames[table.name]
    others = [each[list(shared)].dtypes.map(kind_of_dtype) for name, each in frames.items() if name != table.name]
    changed, example = {}, ""
    for name in shared:
        if kind_of_dtype(frame[name].dtype) == "text" and any(kinds[name] == "number" for kinds in others):
            column, found = with_decimal_points(frame[name])
            if found:
                changed[name], example = column, example or found
    if changed:
        notes.append(
            f"{table.shown} has decimal commas in {name_columns(list(changed))}, such as {quoted(example)}: read as "
            "numbers"
        )
    return frame.assign(**changed) if changed else frame


def _as_written(table: GivenTable, frame: pd.DataFrame, names: Sequence[str], missing: MissingTokens) -> pd.DataFrame:
    """Return the rows of a file with some of its columns as they are written there, 01 as 01.

    Not where the text is no number any more, such as 1.000 with a point between thousands.
    """
    if not names or table.path is None:
        return frame
    written = missing.take_out(table.read(names).frame.loc[frame.index, list(names)])
    same = [
        name for name in names if np.array_equal(as_numbers(written[name]), as_numbers(frame[name]), equal_nan=True)
    ]
    return frame.assign(**{name: written[name] for name in same})


def _shared_columns(
    frames: dict[str, pd.DataFrame], drop: Sequence[str], keep: Sequence[str], notes: list[str]
) -> list[str]:
    """Return the columns that all files have, in the target's order; note the others."""
    every = dict.fromkeys(name for frame in frames.values() for name in frame.columns)
    for asked, what in ((drop, "dropped"), (keep, "kept")):
        unknown = [name for name in asked if name not in every]
        if unknown:
            raise TableError(
                f"column {quoted(unknown[0])}, which is to be {what}, is in none of the files"
                f"{did_you_mean(unknown[0], every) or ': check its name'}"
            )
    common = set(every).intersection(*(frame.columns for frame in frames.values()))
    partial = [name for name in every if name not in common and name not in set(drop)]
    if drop:
        notes.append(f"dropped {name_columns(drop)}: as asked")
    if partial:
        notes.append(f"dropped {name_columns(partial)}: not in every file")
    return [name for name in next(iter(frames.values())).columns if name in common and name not in set(drop)]
