"""``gapmin explain``: what a model made of its sources, and which of their rows it uses."""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gapmin._utils.text import printable
from gapmin.cli._common import refuse
from gapmin.cli._files import (
    AS_JSON,
    domain_table,
    ending_in_a_line,
    group_table,
    print_json,
    print_notes,
    print_tables,
    require_files,
    row_table,
)

if TYPE_CHECKING:
    import typer

    from gapmin.selection import Explanation
    from gapmin.study import Study
    from gapmin.study.model import StudyModel

_MOST_VALUES = 1000
_EXAMPLE = "gapmin explain model.skops --by cylinders --target target.csv --source usa.csv --source europe.csv"


def add_to(app: "typer.Typer") -> None:
    """Add the command."""
    import typer

    @app.command(epilog=f"Example: {_EXAMPLE}")
    def explain(
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="What gapmin fit wrote.")],
        by: Annotated[
            list[str] | None,
            typer.Option(metavar="COLUMN", help="Break the weights down by it; once for each. Needs the files."),
        ] = None,
        target: Annotated[
            Path | None, typer.Option(metavar="FILE", help="The target that the model was made with.")
        ] = None,
        source: Annotated[
            list[Path] | None, typer.Option(metavar="FILE", help="A source that it was made with; once for each.")
        ] = None,
        rows: Annotated[int, typer.Option(help="How many of the most used and most dropped rows to show.")] = 10,
        as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
    ) -> None:
        """Say whether the sources are used and why, and what weighs how much: each file, each class, single rows."""
        if rows < 0:
            refuse("explain", f"--rows is {rows}: take 0 or more")
        if (target is None) != (not source):
            refuse("explain", "--target and --source go together: give all files that the model was made with, or none")
        if by and target is None:
            refuse("explain", "--by needs the files that the model was made with: add --target and --source")
        require_files()
        with ending_in_a_line("explain", left="nothing changed"):
            from gapmin.study.model import load_study_model

            fitted = load_study_model(model)
            found = fitted.explanation if target is None else _again(fitted, target, source or [], by or [], rows)
            kept = max(len(found.used), len(found.dropped))
            if target is None and kept < rows and kept == _kept_rows():
                print_notes(
                    [f"a model keeps {kept} rows of each kind: give --target and --source to see more"], err=True
                )
            found = replace(found, used=found.used[:rows], dropped=found.dropped[:rows])
            if as_json:
                about = {key: value for key, value in fitted.about().items() if key != "explanation"}
                print_json({"model": str(model), "label": fitted.schema.label, **about, **found.to_dict()})
            else:
                _say(fitted, found, rows)


def _kept_rows() -> int:
    from gapmin.study.model import KEPT_ROWS

    return KEPT_ROWS


def _say(model: "StudyModel", found: "Explanation", n_rows: int) -> None:
    import typer

    typer.echo(f"{printable(str(model.verdict['sentence']))}\nChosen: {printable(str(model.verdict['chosen']))}")
    label = printable(model.schema.label)
    tables = [domain_table(model, found.sources), group_table(f"Rows of the sources by {label}", found.classes)]
    tables += [group_table(f"Rows of the sources by {printable(name)}", each) for name, each in found.columns.items()]
    if found.used:
        tables.append(row_table("Rows of the sources that are used most", found.used, label))
        tables.append(row_table("Rows of the sources that are dropped most", found.dropped, label))
    print_tables(tables)
    typer.echo("\n1 is the weight of one row among all with equal weights; 0 is dropped.")
    if found.used:
        typer.echo("Rows are counted from 1 below the header of their file.")
    elif n_rows:
        typer.echo("All rows of a source weigh the same: none stands out.")


def _again(model: "StudyModel", target: Path, sources: Sequence[Path], by: Sequence[str], n_rows: int) -> "Explanation":
    """Explain the model anew from the files that it was made with."""
    from gapmin.selection import explain
    from gapmin.study import TableError, read_study
    from gapmin.study.model import as_in_files, rows_in_files

    paths = same_files(model, target, sources)
    asked = model.asked
    study = read_study(paths[0], paths[1:], model.schema.label, task=asked["task"], drop=asked["drop"])
    X, y, sample_domain = study.stack()
    fitted = model.pipeline[-1]
    if study.schema != model.schema or len(fitted.sample_weight_) != len(y):
        raise TableError("the files are read otherwise than when the model was fitted: fit it again with this gapmin")
    rows = dict(zip(model.source_names, rows_in_files(study).values(), strict=True))
    columns = {name: _values(study, paths, name) for name in dict.fromkeys(each.strip() for each in by)}
    found = explain(
        fitted, X, y, sample_domain=sample_domain, source_names=model.source_names, by=columns, n_rows=n_rows
    )
    return as_in_files(found, sample_domain, model.files, rows)


def same_files(model: "StudyModel", target: Path, sources: Sequence[Path]) -> list[Path]:
    """Return the paths in the order of the model's files, or say which file is not what it was."""
    from gapmin._utils.text import counted, listed
    from gapmin.study import TableError
    from gapmin.study.model import file_sha256

    wanted = model.files[1:]
    names = listed([each.file for each in wanted])
    if len(sources) != len(wanted):
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
        raise _changed(target, model.files[0].file == target.name)
    left, ordered = list(sources), []
    for each in wanted:
        same = [path for path in left if found[path] == each.sha256]
        if same:
            # Of two copies of one file, the one that is called as it was.
            ordered.append(next((path for path in same if path.name == each.file), same[0]))
            left.remove(ordered[-1])
    if left:
        known = {each.file for each in wanted}
        path = next((path for path in left if path.name in known), left[0])
        raise _changed(path, path.name in known)
    return [target, *ordered]


def _changed(path: Path, same_name: bool) -> Exception:
    from gapmin.study import TableError

    what = "has changed since the model was fitted" if same_name else "is no file that the model was made with"
    return TableError(f"{path} {what} (sha256): give the file as it was, or fit again")


def _values(study: "Study", paths: Sequence[Path], name: str) -> Any:
    """Return a column of all rows to group them by: as the model has it, or as the files of the sources have it."""
    import numpy as np

    from gapmin._utils.text import quoted
    from gapmin.study import TableError, read_table
    from gapmin.study._messages import did_you_mean
    from gapmin.study._values import as_numbers, as_texts, kind_of_dtype

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
    if all(part is None for part in parts):
        raise TableError(f"no file has a column {quoted(name)}{did_you_mean(name, there) or ': check its name'}")
    given = [part for part in parts if part is not None]
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
