"""``gapmin example``: files to try the whole path on, from comparing sources to predicting new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gapmin.cli import _options as options
from gapmin.cli._common import refuse, require
from gapmin.cli._printing import print_json

TARGET_ROWS = 30
LITRES_PER_100_KM = 235.215
"""Divided by miles per gallon."""

_COLUMNS = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year")
_USA, _EUROPE, _JAPAN = 1, 2, 3
_README = """\
How far does a Japanese car go on a gallon of petrol?

Real cars of 1970 to 1982 (the Auto MPG data of UCI, as bundled with mlxtend), a row each, and mpg is what to predict.

  target.csv       {target} Japanese cars whose mpg is known: the cars that a model is wanted for
  europe.csv       {europe} European cars
  usa.csv          {usa} American cars
  fleet.csv        {fleet} more American cars, from somebody who wrote litres per 100 km in the column mpg
  new.csv          {new} Japanese cars whose mpg is to be predicted
  new-answers.csv  their mpg, to check the predictions with

Which of the three other files help? Run, in this folder:

  {compare}
  {fit}
  {predict}
  {explain}
"""
_FILES = "--target target.csv --source europe.csv --source usa.csv --source fleet.csv --label mpg"
COMMANDS = {
    "compare": f"gapmin compare {_FILES} --report report.html",
    "fit": f"gapmin fit {_FILES} -o model.skops",
    "predict": "gapmin predict model.skops new.csv -o predictions.csv",
    "explain": "gapmin explain model.skops",
}


def example(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write to; made if it is not there.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files of the same names.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Write a small worked example: a target, three sources, one of which hurts, and new rows to predict."""
    require("mlxtend", extra="demo")
    from gapmin._utils.io import write_atomically

    texts = example_files()
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
    n_rows = {name: text.count("\n") - 1 for name, text in texts.items() if name.endswith(".csv")}
    if as_json:
        files = [{"path": str(folder / name), "n_rows": n_rows.get(name)} for name in texts]
        print_json({"folder": str(folder), "files": files, "label": "mpg", "next": COMMANDS})
        return
    for name in texts:
        typer.echo(f"{folder / name}{f'  {n_rows[name]} rows' if name in n_rows else ''}")
    typer.echo(f"\nNext:\n  cd {folder}\n  {COMMANDS['compare']}")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: gapmin example cars")(example)


def example_files() -> dict[str, str]:
    """Return what each file of the example holds; always the same."""
    import numpy as np

    from gapmin.datasets.catalogue import read_autompg

    X, mpg = read_autompg()
    rng = np.random.default_rng(0)
    japan, europe, usa = (rng.permutation(np.flatnonzero(X[:, 6] == origin)) for origin in (_JAPAN, _EUROPE, _USA))
    half = len(usa) // 2
    labelled, new = japan[:TARGET_ROWS], japan[TARGET_ROWS:]
    files = {
        "target.csv": _csv(X[labelled], mpg[labelled]),
        "europe.csv": _csv(X[europe], mpg[europe]),
        "usa.csv": _csv(X[usa[:half]], mpg[usa[:half]]),
        "fleet.csv": _csv(X[usa[half:]], np.round(LITRES_PER_100_KM / mpg[usa[half:]], 1)),
        "new.csv": _csv(X[new], None),
        "new-answers.csv": "mpg\n" + "".join(f"{_short(each)}\n" for each in mpg[new]),
    }
    n_rows = {Path(name).stem: text.count("\n") - 1 for name, text in files.items()}
    files["README.txt"] = _README.format_map({**n_rows, **COMMANDS})
    return files


def _csv(X: Any, mpg: Any) -> str:
    names = _COLUMNS if mpg is None else (*_COLUMNS, "mpg")
    rows = (
        X[:, : len(_COLUMNS)].tolist()
        if mpg is None
        else [[*x[: len(_COLUMNS)], y] for x, y in zip(X, mpg, strict=True)]
    )
    return "".join(",".join(line) + "\n" for line in (names, *(map(_short, row) for row in rows)))


def _short(number: float) -> str:
    return f"{float(number):.10g}"
