"""Predict the rows of a new file with the model of a study, and write them with their predictions."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.io import write_atomically
from gapmin._utils.text import one_line

from ._labels import to_classes
from ._messages import TableError, free_name, import_pandas
from ._missing import without_gaps, without_tokens
from ._text import inspect_text
from ._values import as_numbers, is_missing, kind_of_dtype
from .inputs import file_sha256
from .model import StudyModel
from .reading import (
    PARQUET_ENDINGS,
    TABLE_ENDINGS,
    TEXT_SEPARATORS,
    TableFile,
    read_table,
    split_ending,
    text_chunks,
)
from .schema import Schema
from .task_model import TaskModel

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLE_ENDINGS", "Predictions", "can_be_written", "is_parquet", "predict_file", "table_text", "write_table"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The rows of a file with what a model predicts for them.

    Attributes
    ----------
    frame : pandas.DataFrame
        The columns of the file, then the predictions.
    columns : dict of name to ndarray
        The predictions, and the probability of each class where asked for.
    notes : tuple of str
    errors : dict or None
        Errors on the rows whose label the file has, None where it has none.
    """

    frame: pd.DataFrame
    columns: dict[str, NDArray[Any]]
    notes: tuple[str, ...]
    errors: dict[str, Any] | None


def predict_file(
    model: StudyModel | TaskModel, path: Path, *, proba: bool = False, as_written: bool = True
) -> Predictions:
    """Predict each row of a file; the label, where the file has it, is used for `errors` only.

    Parameters
    ----------
    model : StudyModel or TaskModel
    path : path
    proba : bool, default=False
        Add the probability of each class.
    as_written : bool, default=True
        Keep the cells of a text file as they stand there, 007 as 007, instead of the values that they were read as.
    """
    schema = model.schema
    texts = schema.of_kind("category")
    texts = [*texts, *(model.text_columns if isinstance(model, TaskModel) else [])]
    table = read_table(path, [*texts, schema.label] if schema.label_kind == "text" else texts)
    X, notes = model.conform(table.frame, str(path))
    try:
        predicted = model.pipeline.predict(X)
        shares = model.pipeline.predict_proba(X) if proba else np.empty((len(X), 0))
    except ValueError as error:  # a number that is out of all proportion to those of training
        raise TableError(f"{path} cannot be used ({error}): mend its numbers") from error
    except (TypeError, AttributeError, LookupError, ArithmeticError) as error:  # of a model that was altered
        raise TableError(f"the model cannot predict {path} ({one_line(error)}): fit it again") from error
    kept = _read_cells(table) if as_written else table.frame
    columns: dict[str, NDArray[Any]] = {}
    names = [f"predicted_{schema.label}", *(f"probability_{each}" for each in schema.classes or ())]
    for name, values in zip(names, [predicted, *shares.T], strict=False):
        columns[free_name(name, [*kept.columns, *columns], "{}_{}")] = values
    pandas = import_pandas()
    frame = pandas.concat([kept.reset_index(drop=True), pandas.DataFrame(columns)], axis=1)
    of_labels: list[str] = []
    errors = _errors(schema, table.frame, predicted, str(path), of_labels)
    if errors and isinstance(model, StudyModel) and file_sha256(path) in {each.sha256 for each in model.files}:
        of_labels.append(f"{path} is a file that the model was made with: the error on it is too low")
    return Predictions(frame, columns, (*table.notes, *notes, *of_labels), errors)


def _errors(
    schema: Schema, frame: pd.DataFrame, predicted: NDArray[Any], file: str, notes: list[str]
) -> dict[str, Any] | None:
    """Return the error on the rows whose label is known, None where there is none; note labels that are gaps."""
    if schema.label not in frame.columns:
        return None
    labels = without_gaps(frame, schema.label, file, notes)[schema.label]
    labels = without_tokens(labels, schema.missing)
    known = ~is_missing(labels)
    if schema.task == "regression":
        known &= np.isfinite(as_numbers(labels))
    if not known.any():
        return None
    labels, predicted = labels[known], predicted[known]
    n_rows = int(known.sum())
    if schema.task == "regression":
        off = predicted - as_numbers(labels)
        errors = {"root_mean_squared_error": np.sqrt(np.mean(off**2)), "mean_absolute_error": np.mean(np.abs(off))}
        return {"n_rows": n_rows, **{key: float(error) for key, error in errors.items()}}
    truth = to_classes(labels, schema.label_kind)
    wrong = sum(one != other for one, other in zip(truth.tolist(), predicted.tolist(), strict=True))
    return {"n_rows": n_rows, "n_wrong": wrong, "error": wrong / n_rows}


def _read_cells(table: TableFile) -> pd.DataFrame:
    """Return the cells of a text file as they stand there, so that 007 stays 007; of others, their values.

    Numbers with decimal commas, or with marks between thousands, are written as the predictions are: with a point.
    """
    if table.path is None or split_ending(table.path)[1] not in TEXT_SEPARATORS:
        return table.frame
    compressed = split_ending(table.path)[2]
    form = inspect_text(table.path, compressed=compressed)
    as_text = replace(form, decimal=".", thousands=None)
    chunks = text_chunks(table.path, as_text, compressed, range(len(form.names)), str, na_filter=False)
    cells = import_pandas().concat(list(chunks), ignore_index=True)
    cells.columns = list(form.names)
    marks = [mark for mark in (form.decimal, form.thousands) if mark not in (".", None)]
    marks += [form.thousands] if form.thousands == "." else []
    for place, name in enumerate(form.names if marks else ()):
        if name in table.frame.columns and kind_of_dtype(table.frame[name].dtype) == "number":
            pairs = zip(cells.iloc[:, place].tolist(), table.frame[name].tolist(), strict=True)
            cells.isetitem(place, [str(n) if any(mark in text for mark in marks) else text for text, n in pairs])
    return cells


def can_be_written(path: Path) -> bool:
    """Whether `write_table` knows the ending of a file's name."""
    return split_ending(path)[1] in (*TEXT_SEPARATORS, *PARQUET_ENDINGS)


def is_parquet(path: Path) -> bool:
    """Whether a file is a Parquet file by its name."""
    return split_ending(path)[1] in PARQUET_ENDINGS


def table_text(frame: pd.DataFrame, separator: str = ",") -> str:
    """Return a frame as CSV."""
    return str(frame.to_csv(index=False, sep=separator, lineterminator="\n"))


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame to a file, whole or not at all, as its ending says: one of `TABLE_ENDINGS`."""
    _, ending, compressed = split_ending(path)
    if is_parquet(path):
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        content = buffer.getvalue()
    else:
        content = table_text(frame, TEXT_SEPARATORS[ending]).encode()
        content = gzip.compress(content, mtime=0) if compressed else content
    write_atomically(content, path)
