"""The problems of the benchmark, their splits, and sources that are changed to be of no use or of another level."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin.datasets import (
    Split,
    TransferProblem,
    embedded_problems,
    load_newsgroups,
    load_office_caltech,
    load_thirds,
)
from gapmin.datasets.catalogue import search_folders

HONEST, LABELS, FEATURES, SHIFTED, SCALED = VARIANTS = ("none", "labels", "features", "shifted", "scaled")
SCALE = 3.0
MOST_SOURCE_ROWS = 2_000
"""Of the larger sources of the tables read here, so many rows are drawn for each seed."""

PATIENTS = (range(1, 8), range(22, 29))
N_SCHOOLS = 5


@cache
def problems() -> dict[str, TransferProblem]:
    """Return every problem that is fitted by name, its sources pooled; those whose files are missing are left out."""
    found: list[TransferProblem] = []
    for load in (_of_packages, _concrete, _newsgroups, _office_caltech, *READ_HERE):
        try:
            found += load()
        except FileNotFoundError as error:
            warnings.warn(f"problems are left out, for their file is not there: {error}", stacklevel=2)
    return {problem.name: problem.pooled() for problem in found}


def _of_packages() -> Iterable[TransferProblem]:
    # Ten classes with 5,000 source rows are left out: a search takes minutes. The other way round they are there.
    return [each for each in embedded_problems() if each.name != "mnist -> digits"]


def _concrete() -> Iterable[TransferProblem]:
    return load_thirds("concrete")


def _newsgroups() -> Iterable[TransferProblem]:
    return [replace(each, name=f"{each.name} (20 Newsgroups)") for each in load_newsgroups()]


def _office_caltech() -> Iterable[TransferProblem]:
    for whitened in (True, False):
        kind = "whitened" if whitened else "as they are"
        # DSLR is left out: with about 30 pictures of two classes there is hardly a row to test on.
        for source, target in permutations("ACW", 2):
            pairs: Any = load_office_caltech(source, target, whitened=whitened)  # type: ignore[call-overload]
            yield from (replace(pair, name=f"{pair.name} (Office-Caltech, {kind})") for pair in pairs)


def wine() -> Iterable[TransferProblem]:
    """Red wine with the help of white and the reverse: the quality, and whether it is 6 or more."""
    tables = {each: _table(_find(f"uci/winequality-{each}.csv"), ",")[1] for each in ("red", "white")}
    rows = {colour: (table[:, :-1], table[:, -1]) for colour, table in tables.items()}
    good = {colour: (X, (y >= 6).astype(int)) for colour, (X, y) in rows.items()}
    for source, target in permutations(rows, 2):
        name = f"wine {source} -> {target}"
        yield TransferProblem(name, rows[target], (rows[source],), "regression", 25)
        yield TransferProblem(f"{name}, good", good[target], (good[source],), "classification", 25)


def parkinsons() -> Iterable[TransferProblem]:
    """Seven patients with the help of the 35 others.

    Rows that train and rows that test are visits of the same seven patients, as for somebody who has a few labelled
    visits of each and wants the others. No patient of the target is in the source.
    """
    header, table = _table(_find("uci/parkinsons_updrs.data"), "\t")
    scores = ["motor_UPDRS", "total_UPDRS"]
    X = np.delete(table, [header.index(each) for each in ("subject#", *scores)], axis=1)
    for patients in PATIENTS:
        own = np.isin(table[:, header.index("subject#")], patients)
        for score in scores:
            y = table[:, header.index(score)]
            name = f"Parkinsons {score.split('_')[0]}, patients {patients[0]} to {patients[-1]}"
            yield TransferProblem(name, (X[own], y[own]), ((X[~own], y[~own]),), "regression", 50)


def schools() -> Iterable[TransferProblem]:
    """Each of the five largest schools with the help of all others: the result of an exam."""
    from scipy.io import loadmat

    content = loadmat(_find("mtl/school.mat"))
    X = [np.asarray(each, dtype=float) for each in content["X"].ravel()]
    y = [np.asarray(each, dtype=float).ravel() for each in content["Y"].ravel()]
    varies = np.ptp(np.concatenate(X), axis=0) > 0
    for target in sorted(range(len(y)), key=lambda k: -y[k].size)[:N_SCHOOLS]:
        others = [k for k in range(len(y)) if k != target]
        source = np.concatenate([X[k][:, varies] for k in others]), np.concatenate([y[k] for k in others])
        yield TransferProblem(f"school {target + 1}", (X[target][:, varies], y[target]), (source,), "regression", 25)


READ_HERE: tuple[Callable[[], Iterable[TransferProblem]], ...] = (wine, parkinsons, schools)


def _find(name: str) -> Path:
    found = next((path for folder in search_folders() if (path := folder / name).exists()), None)
    if found is None:
        raise FileNotFoundError(f"{name}: put it in the folder that $GAPMIN_DATA names")
    return found


def _table(path: Path, separator: str) -> tuple[list[str], NDArray[np.float64]]:
    header, *lines = path.read_text(encoding="utf-8-sig").splitlines()
    return header.split(separator), np.array([line.split(separator) for line in lines if line], dtype=np.float64)


def row_name(problem: str) -> str:
    """Return the row of the tables that a problem belongs to: its own, or that of its five pairs of classes.

    As in Table 2 of the paper, two collections of pictures are one problem: the mean over five pairs of classes.

    Examples
    --------
    >>> row_name("A -> C, 3 vs 4 (Office-Caltech, whitened)")
    'A -> C (Office-Caltech, whitened)'
    """
    return re.sub(r", \d+ vs \d+", "", problem)


def problems_for(seed: int) -> list[str]:
    """Return the problems of a seed in an order that tells nothing: of several pairs of classes one, drawn by the seed.

    All five pairs of each of the twelve problems of Office-Caltech would be two thirds of all fits.
    """
    rows: dict[str, list[str]] = {}
    for name in sorted(problems()):
        rows.setdefault(row_name(name), []).append(name)
    drawn = {row: _digest(seed, row) for row in rows}
    return [rows[row][drawn[row] % len(rows[row])] for row in sorted(rows, key=lambda each: drawn[each])]


def _digest(seed: int, text: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {text}".encode()).digest())


def variants_for(task: str, seed: int) -> tuple[str, ...]:
    """Return the sources that a problem has with a seed: its own, one of no use, in a regression one of another level.

    Examples
    --------
    >>> variants_for("classification", 100), variants_for("regression", 101)
    (('none', 'labels'), ('none', 'features', 'scaled'))
    """
    level = (SHIFTED, SCALED)[seed % 2]
    return HONEST, (LABELS, FEATURES)[seed % 2], *((level,) if task == "regression" else ())


def with_variant(problem: TransferProblem, variant: str, seed: int) -> TransferProblem:
    """Return the problem with another source.

    "none" leaves it as it is. Of no use are "labels" (two classes are exchanged, of more each takes the place of the
    next, numbers are mirrored about their mean) and "features" (the columns are put in another order). Of another
    level are "shifted" (one standard deviation is added to the labels) and "scaled" (labels are multiplied by three).
    """
    X, y = problem.sources[0]
    if variant == FEATURES:
        X = X[:, np.random.default_rng(seed).permutation(X.shape[1])]
    elif variant == LABELS:
        y = _turned(y, problem.task)
    elif variant != HONEST:
        if problem.task != "regression":
            raise ValueError(f"the source of {problem.name!r} is to be {variant}, but its labels are classes")
        y = y + y.std() if variant == SHIFTED else SCALE * y
    return replace(problem, sources=((X, y),))


def _turned(y: NDArray[Any], task: str) -> NDArray[Any]:
    if task == "regression":
        return 2 * y.mean() - y
    classes, codes = np.unique(y, return_inverse=True)
    return classes[(codes + 1) % classes.size]


def with_fewer_rows(problem: TransferProblem, most: int, seed: int) -> TransferProblem:
    """Return the problem with at most so many rows of its source, drawn at random."""
    X, y = problem.sources[0]
    if y.size <= most:
        return problem
    rows = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0))).choice(y.size, most, replace=False)
    return replace(problem, sources=((X[rows], y[rows]),))


def draw(name: str, variant: str, seed: int) -> tuple[TransferProblem, Split]:
    """Return a problem with the source asked for, and its first split with a seed."""
    problem = problems()[name]
    if name.startswith(("wine", "Parkinsons", "school")):
        problem = with_fewer_rows(problem, MOST_SOURCE_ROWS, seed)
    problem = with_variant(problem, variant, 1000 * seed)
    return problem, problem.split(0, random_state=seed)
