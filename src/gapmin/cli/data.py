"""``gapmin data``: which published data sets are here, where they are, and getting those that are not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gapmin._utils.text import counted, format_bytes
from gapmin.cli import _options as options
from gapmin.cli._common import refuse, require
from gapmin.cli._printing import print_json, print_listing

if TYPE_CHECKING:
    from gapmin.datasets.catalogue import DataSet

commands = typer.Typer(
    help="Published data sets: which are here. Where they are, and how to get the others.",
    epilog="Example: gapmin data list",
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(commands, name="data")


@commands.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@commands.command("list", epilog="Example: gapmin data list")
def list_(as_json: options.AsJson = False) -> None:
    """Show each data set, what it is for, its size, and whether it is here."""
    from gapmin.datasets.catalogue import DATA_SETS

    if as_json:
        print_json([_as_dict(each) for each in DATA_SETS.values()])
        return
    rows = [
        (
            each.name,
            each.title,
            each.used_for,
            "?" if each.n_bytes is None else format_bytes(each.n_bytes),
            _state(each),
        )
        for each in DATA_SETS.values()
    ]
    more = "More: gapmin data where NAME, gapmin data fetch NAME"
    print_listing(("name", "what", "for", "size", "here"), rows, more, number="size", unbroken=("name", "size", "here"))


@commands.command(epilog="Example: gapmin data where pacs")
def where(
    name: Annotated[str | None, typer.Argument(help="A data set. [default: all]")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the folders that are searched, and where each file was found."""
    from gapmin.datasets.catalogue import DATA_VARIABLE, cache_folder, search_folders

    chosen = _chosen("data where", ["all"] if name is None else [name])
    if as_json:
        folders = [str(folder) for folder in search_folders()]
        print_json({"folders": folders, "data_sets": [_as_dict(each) for each in chosen]})
        return
    typer.echo("Searched in this order:")
    typer.echo(f"  {os.environ.get(DATA_VARIABLE) or 'not set'} (${DATA_VARIABLE})")
    typer.echo(f"  {cache_folder()} (the user's cache)")
    for each in chosen:
        typer.echo(f"\n{each.name}: {each.title}")
        for file in each.files:
            typer.echo(f"  {file.path}: {file.locate() or ('missing, optional' if file.optional else 'missing')}")


@commands.command(epilog="Example: gapmin data fetch newsgroups svhn")
def fetch(names: Annotated[list[str], typer.Argument(help="Data sets, or all.")]) -> None:
    """Download what is missing, and say how to get what cannot be downloaded."""
    require("pooch", extra="data")
    from gapmin.datasets import catalogue

    failed = []
    for each in _chosen("data fetch", names):
        n_missing = len(each.missing())
        try:
            catalogue.fetch(each.name, progress=True)
        except (FileNotFoundError, ValueError) as error:
            failed.append(each.name)
            typer.echo(f"{error}\n", err=True)
        else:
            outcome = f"{counted(n_missing, 'file')} downloaded" if n_missing else "here already"
            typer.echo(f"{each.name}: {outcome}")
    if failed:
        refuse("data fetch", f"{', '.join(failed)} could not be had: see above")


def _chosen(command: str, names: list[str]) -> list[DataSet]:
    from gapmin.datasets.catalogue import DATA_SETS

    unknown = [name for name in names if name not in (*DATA_SETS, "all")]
    if unknown:
        refuse(command, f"there is no data set {unknown[0]!r}: use all or some of {', '.join(DATA_SETS)}")
    return [each for name, each in DATA_SETS.items() if name in names or "all" in names]


def _as_dict(each: DataSet) -> dict[str, Any]:
    files = []
    for file in each.files:
        found = file.locate()
        about = {name: getattr(file, name) for name in ("path", "n_bytes", "sha256", "url", "origin", "optional")}
        files.append({**about, "found": None if found is None else str(found)})
    about = {name: getattr(each, name) for name in ("name", "title", "used_for", "licence", "n_bytes")}
    return {**about, "here": not each.missing(), "files": files}


def _state(each: DataSet) -> str:
    n_files = sum(not file.optional for file in each.files)
    n_here = n_files - len(each.missing())
    return {n_files: "yes", 0: "no"}.get(n_here, f"{n_here} of {n_files}")
