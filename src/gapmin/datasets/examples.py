"""Small worked examples from embedded data: files of a target, of its sources, and of new rows to predict."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from ._mlxtend import read_autompg

LITRES_PER_100_KM = 235.215
"""Divided by miles per gallon."""

_CAR_COLUMNS = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year")
_USA, _EUROPE, _JAPAN = 1, 2, 3
_N_CARS = 30
_N_DIGITS, _N_OF_OTHERS, _N_OF_BRANCH, _N_NEW = 30, 150, 4, 500

_CARS = """\
How far does a Japanese car go on a gallon of petrol?

Real cars of 1970 to 1982 (the Auto MPG data of UCI, as bundled with mlxtend), a row each, and mpg is what to predict.

  target.csv       {target} Japanese cars whose mpg is known: the cars that a model is wanted for
  europe.csv       {europe} European cars
  usa.csv          {usa} American cars
  fleet.csv        {fleet} more American cars, from somebody who wrote litres per 100 km in the column mpg
  new.csv          {new} Japanese cars whose mpg is to be predicted
  new-answers.csv  their mpg, to check the predictions with
"""
_DIGITS = """\
Is a handwritten digit odd or even?

Real digits (the optical recognition data of UCI, as bundled with scikit-learn), a row each: 64 shades of grey from 0 to
16, and parity is what to predict. All are of one collection: who belongs to which office is made up.

  target.csv       {target} digits of our office whose parity is known
  city.csv         {city} of an office where people write as they do here
  swapped.csv      {swapped} of an office that wrote odd for even and even for odd
  branch.csv       {branch} of a small branch where people write as they do here: too few to tell
  new.csv          {new} digits of our office whose parity is to be predicted
  new-answers.csv  their parity, to check the predictions with
"""
_WHAT_TO_RUN = """
Which of the three other files help? Run, in this folder:

  {compare}
  {fit}
  {predict}
  {explain}
"""


@dataclass(frozen=True)
class Example:
    """A study to try the whole path on.

    Attributes
    ----------
    question : str
    label : str
        The column to predict.
    sources : tuple of str
        The names of their files.
    files : dict of str to str
        What each file holds, the target first.
    """

    question: str
    label: str
    sources: tuple[str, ...]
    files: dict[str, str]

    @property
    def commands(self) -> dict[str, str]:
        """What to type, by the name of the command."""
        words = ["--target", "target.csv", *(word for name in self.sources for word in ("--source", name))]
        given = shlex.join([*words, "--label", self.label])
        return {
            "compare": f"gapmin compare {given} --report report.html",
            "fit": f"gapmin fit {given} -o model.skops",
            "predict": "gapmin predict model.skops new.csv -o predictions.csv",
            "explain": "gapmin explain model.skops",
        }

    def n_rows(self) -> dict[str, int]:
        """Return how many rows each table has, by the name of its file."""
        return {name: text.count("\n") - 1 for name, text in self.files.items() if name.endswith(".csv")}


def cars() -> Example:
    """Return the example of numbers: one source helps, one is in another unit.

    Examples
    --------
    >>> from gapmin.datasets.examples import cars
    >>> cars().n_rows()["target.csv"]  # always the same rows
    30
    """
    X, mpg = read_autompg()
    random = np.random.default_rng(0)
    japan, europe, usa = (random.permutation(np.flatnonzero(X[:, 6] == origin)) for origin in (_JAPAN, _EUROPE, _USA))
    half = len(usa) // 2
    fleet = usa[half:]
    columns = X[:, : len(_CAR_COLUMNS)]

    def table(rows: Any, labels: Any = None) -> str:
        return _csv(_CAR_COLUMNS, columns[rows], "mpg", mpg[rows] if labels is None else labels)

    files = {
        "target.csv": table(japan[:_N_CARS]),
        "europe.csv": table(europe),
        "usa.csv": table(usa[:half]),
        "fleet.csv": table(fleet, np.round(LITRES_PER_100_KM / mpg[fleet], 1)),
        "new.csv": _csv(_CAR_COLUMNS, columns[japan[_N_CARS:]]),
        "new-answers.csv": _csv((), columns[japan[_N_CARS:], :0], "mpg", mpg[japan[_N_CARS:]]),
    }
    return _made(_CARS, "mpg", ("europe.csv", "usa.csv", "fleet.csv"), files)


def digits(seed: int = 0) -> Example:
    """Return the example of classes: one source helps, one hurts, and of one nothing can be told.

    Right by construction: all draw from the same digits, but in one of them the labels are swapped; and four rows are
    few.

    Parameters
    ----------
    seed : int, default=0
        Which digit belongs to which office.

    Examples
    --------
    >>> from gapmin.datasets.examples import digits
    >>> digits().n_rows()["branch.csv"]
    4
    """
    X, digit = load_digits(return_X_y=True)
    names = [f"shade_{row}_{column}" for row in range(1, 9) for column in range(1, 9)]
    parity, other = np.where(digit % 2, "odd", "even"), np.where(digit % 2, "even", "odd")
    order = np.random.default_rng(seed).permutation(len(digit))
    # Half of the branch's are odd: of four drawn at random all may be.
    branch = np.concatenate([order[parity[order] == name][: _N_OF_BRANCH // 2] for name in ("odd", "even")])
    ends = np.cumsum([_N_DIGITS, _N_OF_OTHERS, _N_OF_OTHERS, _N_NEW])
    target, city, swapped, new, _ = np.split(order[~np.isin(order, branch)], ends)
    files = {
        "target.csv": _csv(names, X[target], "parity", parity[target]),
        "city.csv": _csv(names, X[city], "parity", parity[city]),
        "swapped.csv": _csv(names, X[swapped], "parity", other[swapped]),
        "branch.csv": _csv(names, X[branch], "parity", parity[branch]),
        "new.csv": _csv(names, X[new]),
        "new-answers.csv": _csv((), X[new, :0], "parity", parity[new]),
    }
    return _made(_DIGITS, "parity", ("city.csv", "swapped.csv", "branch.csv"), files)


EXAMPLES: dict[str, Callable[[], Example]] = {"cars": cars, "digits": digits}
"""By name: what they are made by."""


def _made(text: str, label: str, sources: tuple[str, ...], files: dict[str, str]) -> Example:
    example = Example(text.partition("\n")[0], label, sources, files)
    sizes = {name.removesuffix(".csv"): n_rows for name, n_rows in example.n_rows().items()}
    files["README.txt"] = text.format_map(sizes) + _WHAT_TO_RUN.format_map(example.commands)
    return example


def _csv(names: Sequence[str], X: Any, label: str = "", labels: Any = None) -> str:
    columns = [[f"{value:.10g}" for value in column] for column in X.T.tolist()]
    if labels is not None:
        columns.append([each if isinstance(each, str) else f"{each:.10g}" for each in labels.tolist()])
    lines = [[*names, *([label] if label else [])], *zip(*columns, strict=True)]
    return "".join(",".join(line) + "\n" for line in lines)
