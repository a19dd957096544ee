"""``gapmin predict``: the rows of a new file, each with what a model predicts for it."""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
import gzip
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gapmin._utils.text import printable
from gapmin.cli._common import check_writable, ending_if_unwritable, refuse
from gapmin.cli._files import (
    AS_JSON,
    ending_in_a_line,
    print_json,
    print_notes,
    refuse_to_lose,
    require_files,
)

if TYPE_CHECKING:
    import pandas as pd
    import typer

    from gapmin.study import Schema, TableFile

_NUMBERED = "{}_{}"
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_PARQUET = (".parquet", ".pq")
_STANDARD_OUTPUT = Path("-")


def add_to(app: "typer.Typer") -> None:
    """Add the command."""
    import typer

    @app.command(epilog="Example: gapmin predict model.skops new.csv -o predictions.csv")
    def predict(
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="What gapmin fit wrote.")],
        new: Annotated[Path, typer.Argument(metavar="FILE", help="Rows to predict: CSV, TSV or Parquet.")],
        out: Annotated[
            Path | None,
            typer.Option(
                "--out", "-o", metavar="FILE", help="A .csv, .tsv (or .gz), .parquet file; - prints. [default: -]"
            ),
        ] = None,
        proba: Annotated[bool, typer.Option("--proba", help="A column for the probability of each class too.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
    ) -> None:
        """Predict each row of a file; the label, where the file has it, is not used but to say how well that went."""
        place = None if out in (None, _STANDARD_OUTPUT) else out
        _check(place, [model, new])
        require_files()
        with ending_in_a_line("predict", left="nothing written"):
            _predict(model, new, place, proba, as_json)


def _check(out: Path | None, inputs: list[Path]) -> None:
    if out is None:
        return
    ending, _ = _ending(out)
    if ending not in (*_SEPARATORS, *_PARQUET):
        known = ", ".join((*_SEPARATORS, *(f"{each}.gz" for each in _SEPARATORS), *_PARQUET))
        refuse("predict", f"--out is {printable(str(out))}: name a file that ends in one of {known}")
    refuse_to_lose("predict", out, inputs)
    check_writable("predict", out)


def _predict(path: Path, new: Path, out: Path | None, proba: bool, as_json: bool) -> None:
    import typer

    from gapmin._utils.text import counted
    from gapmin.study import read_table
    from gapmin.study._messages import free_name
    from gapmin.study.model import load_study_model

    model = load_study_model(path)
    schema = model.schema
    if proba and schema.classes is None:
        refuse("predict", f"--proba is for classes, and {printable(str(path))} predicts numbers: leave it out")
    texts = [column.name for column in schema.columns if column.kind == "category"]
    table = read_table(new, [*texts, schema.label] if schema.label_kind == "text" else texts)
    X, notes = model.conform(table.frame, str(new))
    notes = (*table.notes, *notes)
    try:
        predicted = model.pipeline.predict(X)
        shares = model.pipeline.predict_proba(X) if proba else None
    except ValueError as error:  # a number that is out of all proportion to those of training
        refuse("predict", f"{printable(str(new))} cannot be used ({printable(str(error))}): mend its numbers")
    check = measured(schema, table.frame, predicted)

    kept = table.frame if out is not None and _ending(out)[0] in _PARQUET else as_written(table)
    name = free_name(f"predicted_{schema.label}", kept.columns, _NUMBERED)
    added: dict[str, Any] = {name: predicted}
    if shares is not None:
        for k, each in enumerate(schema.classes or ()):
            added[free_name(f"probability_{each}", [*kept.columns, *added], _NUMBERED)] = shares[:, k]
    whole = _joined(kept, added)
    if out is not None:
        _write(whole, out)
    if as_json:
        content = {"rows": len(predicted), "column": name, "columns": list(added), "notes": list(notes), "check": check}
        values = {key: column.tolist() for key, column in added.items()}
        shown = {"file": str(out)} if out is not None else {"predictions": values}
        print_json({"model": str(path), **content, **shown})
        return
    print_notes(notes, err=out is None)
    if check:
        typer.echo(_said(check, schema, new), err=out is None)
    if out is None:
        typer.echo(_text(whole, ","), nl=False)
    else:
        typer.echo(f"{printable(str(out))}  {counted(len(predicted), 'row')}, column {printable(name)}")


def measured(schema: "Schema", frame: "pd.DataFrame", predicted: Any) -> dict[str, Any] | None:
    """Return the error on the rows whose label is known, None where there is none."""
    import numpy as np

    from gapmin.study._labels import convert_classes
    from gapmin.study._values import as_numbers, is_missing

    if schema.label not in frame.columns:
        return None
    labels = frame[schema.label]
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
    truth = convert_classes(labels, schema.label_kind)
    wrong = sum(one != other for one, other in zip(truth.tolist(), predicted.tolist(), strict=True))
    return {"n_rows": n_rows, "n_wrong": wrong, "error": wrong / n_rows}


def _said(check: dict[str, Any], schema: "Schema", new: Path) -> str:
    from gapmin._utils.text import counted, format_number

    if schema.task == "regression":
        rmse, absolute = check["root_mean_squared_error"], check["mean_absolute_error"]
        said = f"root mean squared error {format_number(rmse)}, mean absolute error {format_number(absolute)}"
    else:
        said = f"{check['n_wrong']:,} wrong, {100 * check['error']:.1f}%"
    rows = counted(check["n_rows"], "row")
    return f"checked on the {rows} whose {printable(schema.label)} is in {printable(str(new))}: {said}"


def as_written(table: "TableFile") -> "pd.DataFrame":
    """Return the cells of a text file as they stand there, so that 007 stays 007; of Parquet, its values.

    Numbers with decimal commas, or with marks between thousands, are written as the predictions are: with a point.
    """
    import pandas as pd

    from gapmin.study._text import inspect_text
    from gapmin.study._values import kind_of_dtype
    from gapmin.study.reading import text_chunks

    if table.path.suffix.lower() in _PARQUET:
        return table.frame
    compressed = table.path.suffix.lower() == ".gz"
    form = inspect_text(table.path, compressed=compressed)
    as_text = replace(form, decimal=".", thousands=None)
    chunks = text_chunks(table.path, as_text, compressed, range(len(form.names)), str, na_filter=False)
    cells = pd.concat(list(chunks), ignore_index=True)
    cells.columns = list(form.names)
    marks = [mark for mark in (form.decimal, form.thousands) if mark not in (".", None)]
    marks += [form.thousands] if form.thousands == "." else []
    for place, name in enumerate(form.names if marks else ()):
        if name in table.frame.columns and kind_of_dtype(table.frame[name].dtype) == "number":
            texts = cells.iloc[:, place].tolist()
            numbers = table.frame[name].tolist()
            pairs = zip(texts, numbers, strict=True)
            cells.isetitem(place, [str(n) if any(mark in text for mark in marks) else text for text, n in pairs])
    return cells


def _joined(kept: "pd.DataFrame", added: dict[str, Any]) -> "pd.DataFrame":
    import pandas as pd

    return pd.concat([kept.reset_index(drop=True), pd.DataFrame(added)], axis=1)


def _ending(path: Path) -> tuple[str, bool]:
    """Return the ending in small letters, and whether the file is to be compressed."""
    name = path.name.lower()
    compressed = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    return (f"{ending}.gz" if compressed and ending not in _SEPARATORS else ending), compressed


def _text(frame: "pd.DataFrame", separator: str) -> str:
    return frame.to_csv(index=False, sep=separator, lineterminator="\n")


def _write(frame: "pd.DataFrame", out: Path) -> None:
    from gapmin._utils.io import write_atomically

    ending, compressed = _ending(out)
    if ending in _PARQUET:
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        content = buffer.getvalue()
    else:
        content = _text(frame, _SEPARATORS[ending]).encode()
        content = gzip.compress(content, mtime=0) if compressed else content
    with ending_if_unwritable("predict", out):
        write_atomically(content, out)
