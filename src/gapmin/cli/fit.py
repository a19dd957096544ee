"""``gapmin fit``: a model from somebody's target file and the sources that help it."""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gapmin._utils.text import printable
from gapmin.cli._common import check_writable, refuse, refuse_below_one
from gapmin.cli._files import (
    AS_JSON,
    domain_table,
    ending_in_a_line,
    print_json,
    print_notes,
    print_tables,
    refuse_to_lose,
    require_files,
)

if TYPE_CHECKING:
    import typer

    from gapmin.reporting.table import Table
    from gapmin.study import Study
    from gapmin.study.model import StudyModel

_EXAMPLE = "gapmin fit --target target.csv --source usa.csv --source europe.csv --label mpg -o model.skops"
_MOST_SEEDS = 2**32


def add_to(app: "typer.Typer") -> None:
    """Add the command."""
    import typer

    @app.command(epilog=f"Example: {_EXAMPLE}")
    def fit(
        target: Annotated[
            Path, typer.Option(metavar="FILE", help="The file that a model is wanted for: CSV, TSV or Parquet.")
        ],
        source: Annotated[list[Path], typer.Option(metavar="FILE", help="Another file to learn from; once for each.")],
        label: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict, which every file has.")],
        out: Annotated[
            Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the model, such as model.skops.")
        ],
        task: Annotated[
            str | None,
            typer.Option(metavar="TASK", help="classification or regression. [default: as the target's labels are]"),
        ] = None,
        drop: Annotated[
            list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; once for each.")
        ] = None,
        jobs: Annotated[int | None, typer.Option(help="Processes. [default: one a core]")] = None,
        seed: Annotated[int, typer.Option(help="Of all random choices; the same gives the same model.")] = 0,
        force: Annotated[bool, typer.Option("--force", help="Replace the model that is there.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
    ) -> None:
        """Fit a model to the target, with the sources where they help and without them where they do not."""
        _check(out, [target, *source], force, jobs, seed)
        require_files()
        with ending_in_a_line("fit", left="no model written"):
            from gapmin.study.model import fit_study

            model = fit_study(
                target,
                source,
                label,
                task=task,
                drop=drop or (),
                n_jobs=jobs or -1,
                random_state=seed,
                verbose=int(sys.stderr is not None and sys.stderr.isatty()),
                on_read=lambda study, notes: None if as_json else _say_what_was_read(study, notes, [target, *source]),
            )
            model.save(out)
            if as_json:
                print_json(_as_dict(model, out))
            else:
                _say(model, out)


def _check(out: Path, inputs: Sequence[Path], force: bool, jobs: int | None, seed: int) -> None:
    refuse_below_one("fit", jobs=jobs)
    if not 0 <= seed < _MOST_SEEDS:
        refuse("fit", f"--seed is {seed}: take 0 to {_MOST_SEEDS - 1}")
    refuse_to_lose("fit", out, inputs)
    check_writable("fit", out)
    if (out.exists() or out.is_symlink()) and not force:
        refuse("fit", f"{printable(str(out))} is there already: name another file, or add --force to replace it")


def _say_what_was_read(study: "Study", notes: Sequence[str], paths: Sequence[Path]) -> None:
    import typer

    from gapmin._utils.text import counted

    sizes = [len(y) for _, y in (study.target, *study.sources.values())]
    for k, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        typer.echo(f"{'source' if k else 'target'}  {printable(str(path))}  {counted(size, 'row')}")
    print_notes(notes)
    kinds = [("number", "numbers"), ("boolean", "booleans"), ("category", "categories")]
    said = [counted(n, *kind) for kind in kinds if (n := len(study.schema.of_kind(kind[0])))]
    columns = counted(len(study.schema.columns), "column")
    typer.echo(f"\nPredicting {printable(study.schema.label)} from {columns} ({', '.join(said)}) ...")


def _say(model: "StudyModel", out: Path) -> None:
    import typer

    typer.echo(f"\n{printable(str(model.verdict['sentence']))}\nChosen: {printable(str(model.verdict['chosen']))}")
    print_tables([_error_table(model), domain_table(model, model.explanation.sources)])
    typer.echo(f"\n{printable(str(out))}  {_size(out.stat().st_size)}")
    typer.echo(f"\nNext:\n  gapmin predict {printable(str(out))} new.csv -o predictions.csv")


def _error_table(model: "StudyModel") -> "Table":
    from gapmin._utils.text import format_number
    from gapmin.reporting.table import Entry, Table

    percent = model.schema.task == "classification"

    def shown(error: float | None) -> str:
        if error is None:
            return "-"
        return f"{100 * error:.1f}%" if percent else format_number(error)

    what = "share of wrong classes" if percent else "root of the mean squared error"
    rows = [
        [Entry("target only"), Entry(shown(model.errors["target_only"]), best=not model.verdict["transfers"])],
        [Entry("with sources"), Entry(shown(model.errors["with_sources"]), best=bool(model.verdict["transfers"]))],
    ]
    caption = f"Cross-validated on the {model.files[0].n_rows:,} target rows: {what}, the chosen in bold"
    return Table(caption, ["", "error"], rows)


def _as_dict(model: "StudyModel", out: Path) -> dict[str, Any]:
    schema = model.schema
    return {
        "model": str(out),
        "n_bytes": out.stat().st_size,
        "label": schema.label,
        "task": schema.task,
        "classes": None if schema.classes is None else list(schema.classes),
        "columns": [{"name": column.name, "kind": column.kind} for column in schema.columns],
        **model.about(),
    }


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
