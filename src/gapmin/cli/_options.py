"""Options and arguments that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

TargetFile = Annotated[
    Path, typer.Option(metavar="FILE", help="Rows like those that a model is wanted for: CSV, TSV, Parquet or Excel.")
]
SourceFiles = Annotated[list[Path], typer.Option(metavar="FILE", help="Another file with that label; once for each.")]
LabelColumn = Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict, which every file has.")]
TaskName = Annotated[
    str | None,
    typer.Option(metavar="TASK", help="classification or regression. [default: as the target's labels are]"),
]
DroppedColumns = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; once for each.")
]
KeptColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to use although it looks like an id, counts rows or names the file."),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option(metavar="TOKEN", help="What stands for a missing value; COLUMN=TOKEN: in one column. Once for each."),
]
WithoutText = Annotated[bool, typer.Option("--no-text", help="Leave free text out.")]
MetricName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What to report, and what settings are chosen by: error_rate, accuracy, balanced_accuracy, roc_auc, "
        "average_precision, f1, log_loss or brier_score; rmse, mean_absolute_error, median_absolute_error or r2. "
        "[default: error_rate or rmse]",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Rows with one value here, such as a patient, are never divided; not a predictor."
    ),
]
TimeColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Test on later rows of the target than those that train.")
]
Jobs = Annotated[int | None, typer.Option(help="Processes. [default: one a core]")]
Seed = Annotated[int, typer.Option(help="Random seed: the same gives the same result.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="What gapmin fit or gapmin tasks wrote.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for other programs, and nothing else.")]
