"""``gapmin example``: files to try the whole path on, from comparing sources to predicting new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gapmin.cli import _options as options
from gapmin.cli._common import refuse, require
from gapmin.cli._printing import print_json

STUDIES = ("cars", "digits")


def example(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write to; made if it is not there.")],
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="cars: numbers; one source helps, one is in another unit. digits: classes; one helps, one hurts, and "
            "of one nothing can be told. [default: the one that is called as DIR, else cars]",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files of the same names.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Write files to try the other commands on.

    A target, three sources, one of which hurts, and new rows to predict.
    """
    study = study or (folder.name if folder.name in STUDIES else STUDIES[0])
    if study not in STUDIES:
        refuse("example", f"--study is {study}: use {' or '.join(STUDIES)}")
    require("mlxtend", extra="data")
    from gapmin._utils.io import write_atomically
    from gapmin.datasets.examples import EXAMPLES

    made = EXAMPLES[study]()
    texts, n_rows = made.files, made.n_rows()
    there = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    if there and not force:
        refuse("example", f"{folder} has {', '.join(there)} already: name another folder, or add --force to replace")
    blocked = [name for name in there if (folder / name).is_dir()]
    if blocked:
        refuse("example", f"{folder / blocked[0]} is a folder: remove it, or name another folder")
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            written.append(write_atomically(text, folder / name))
    except OSError as error:
        for path in written:
            if path.name not in there:
                path.unlink(missing_ok=True)
        refuse("example", f"{folder} cannot be written to ({error.strerror}): name another folder")
    if as_json:
        files = [{"path": str(folder / name), "n_rows": n_rows.get(name)} for name in texts]
        print_json({"folder": str(folder), "files": files, "label": made.label, "next": made.commands})
        return
    for name in texts:
        typer.echo(f"{folder / name}{f'  {n_rows[name]} rows' if name in n_rows else ''}")
    typer.echo(f"\nNext:\n  cd {folder}\n  {made.commands['compare']}")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: gapmin example cars")(example)
