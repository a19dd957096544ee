"""``gapmin predict``: the rows of a new file, each with what a model predicts for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gapmin._utils.text import counted, format_number, printable
from gapmin.cli import _options as options
from gapmin.cli._common import (
    check_not_input,
    check_writable,
    ending_if_unwritable,
    errors_in_one_line,
    refuse,
    require,
)
from gapmin.cli._printing import print_json, print_notes

_STANDARD_OUTPUT = Path("-")


def predict(
    model: options.ModelFile,
    new: Annotated[Path, typer.Argument(metavar="FILE", help="Rows to predict: CSV, TSV, Parquet or Excel.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="A .csv, .tsv (or .gz), .parquet file; - prints. [default: -]"
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="A column for the probability of each class too.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict each row of a file.

    If the file has the label column, the error is reported; the label is never used for prediction.
    """
    require("pandas", "skops", "rich")
    place = None if out in (None, _STANDARD_OUTPUT) else out
    if place is not None:
        _check(place, [model, new])
    with errors_in_one_line("predict", outcome="nothing written"):
        _predict(model, new, place, proba, as_json)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: gapmin predict model.skops new.csv -o predictions.csv")(predict)


def _check(out: Path, inputs: list[Path]) -> None:
    from gapmin.study.prediction import TABLE_ENDINGS, can_be_written

    if not can_be_written(out):
        known = ", ".join(TABLE_ENDINGS)
        refuse("predict", f"--out is {printable(str(out))}: name a file that ends in one of {known}")
    check_not_input("predict", out, inputs)
    check_writable("predict", out)


def _predict(path: Path, new: Path, out: Path | None, proba: bool, as_json: bool) -> None:
    from gapmin.study.prediction import is_parquet, predict_file, table_text, write_table
    from gapmin.study.task_model import load_predictor

    model = load_predictor(path)
    schema = model.schema
    if proba and schema.classes is None:
        refuse("predict", f"--proba is for classes, and {printable(str(path))} predicts numbers: leave it out")
    found = predict_file(model, new, proba=proba, as_written=out is None or not is_parquet(out))
    name = next(iter(found.columns))
    if out is not None:
        with ending_if_unwritable("predict", out):
            write_table(found.frame, out)
    if as_json:
        values = {key: column.tolist() for key, column in found.columns.items()}
        content = {
            "model": str(path),
            "rows": len(found.frame),
            "column": name,
            "columns": list(values),
            "notes": list(found.notes),
            "check": found.errors,
        }
        print_json(content | ({"predictions": values} if out is None else {"file": str(out)}))
        return
    print_notes(found.notes, err=out is None)
    if found.errors:
        checked = (
            f"{counted(found.errors['n_rows'], 'row')} whose {printable(schema.label)} is in {printable(str(new))}"
        )
        typer.echo(f"checked on the {checked}: {_in_words(found.errors)}", err=out is None)
    if out is None:
        typer.echo(table_text(found.frame), nl=False)
    else:
        typer.echo(f"{printable(str(out))}  {counted(len(found.frame), 'row')}, column {printable(name)}")


def _in_words(errors: dict[str, Any]) -> str:
    if "error" in errors:
        return f"{errors['n_wrong']:,} wrong, {100 * errors['error']:.1f}%"
    rmse, absolute = errors["root_mean_squared_error"], errors["mean_absolute_error"]
    return f"root mean squared error {format_number(rmse)}, mean absolute error {format_number(absolute)}"
