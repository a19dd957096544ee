"""The state of a long fit on disk: written whole after every round, refused where it is another fit's.

A folder holds a file for each round, with its learners, and `state.skops`, which says how many of them count and what
the next round starts from. It is written last, so that a fit killed at any moment leaves the state before a round or
after it. The files hold no code: skops restores the types that saved models may have, and those of the packages that
the user's own learner comes from.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Protocol

import joblib
import numpy as np

from gapmin._version import __version__

FORMAT = 1
_STATE = "state.skops"
_NOT_SETTINGS = ("checkpoint_dir", "client", "n_estimators", "n_jobs", "verbose")
_REMEDY = "name another checkpoint_dir, or remove this one to start anew"


class Fingerprinted(Protocol):
    """Rows that can say which they are."""

    def fingerprint(self) -> dict[str, str]:
        """Return by name what may not differ between two parts of one fit."""


class Checkpoint:
    """The folder of one fit; with None for a folder, nothing is kept.

    Parameters
    ----------
    folder : path or None
    booster : estimator
        Whose settings belong to the fit, all but the number of rounds and what does not change the result.
    rows : Rows
        The data.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, booster: Any, rows: Fingerprinted) -> None:
        self.folder = None if folder is None else Path(folder)
        self._n_written, self._ended = 0, False
        if self.folder is None:
            return
        _skops()
        self._fingerprint = {**_settings(booster), **rows.fingerprint()}
        self._packages = {type(each).__module__.partition(".")[0] for each in _estimators(booster._template())}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(".*.part"):  # of a process that was killed
                left.unlink(missing_ok=True)
        except OSError as error:
            raise ValueError(f"checkpoint_dir {self.folder} cannot be used ({error.strerror}): {_REMEDY}") from error

    def read(self, n_estimators: int) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
        """Return the state and the rounds of a checkpoint of this very fit; None where there is none."""
        if self.folder is None or not (self.folder / _STATE).exists():
            return None
        state = self._load(_STATE)
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise ValueError(f"{self.folder / _STATE} is no checkpoint of this gapmin: {_REMEDY}")
        theirs, ours = state["fingerprint"], self._fingerprint
        for name in {**ours, **theirs}:
            if ours.get(name) != theirs.get(name):
                raise ValueError(
                    f"{self.folder} is the checkpoint of another fit: its {name} is {theirs.get(name, 'not there')}, "
                    f"here it is {ours.get(name, 'not there')}: {_REMEDY}"
                )
        if state["n_rounds"] > n_estimators:
            raise ValueError(
                f"{self.folder} has {state['n_rounds']} rounds, more than n_estimators={n_estimators}: ask for as "
                f"many, or {_REMEDY}"
            )
        self._n_written, self._ended = state["n_rounds"], state["ended"]
        return state, [self._load(_round_file(number)) for number in range(1, self._n_written + 1)]

    def write(self, n_rounds: int, ended: bool, newest: dict[str, Any], state: dict[str, Any]) -> None:
        """Keep the newest round, and what the next one starts from; what is there already is not written again."""
        if self.folder is None or (n_rounds, ended) == (self._n_written, self._ended) or n_rounds < self._n_written:
            return
        if n_rounds > self._n_written:
            self._dump(newest, _round_file(n_rounds))
        facts = {"format": FORMAT, "fingerprint": self._fingerprint, "n_rounds": n_rounds, "ended": ended}
        self._dump({**state, **facts}, _STATE)
        self._n_written, self._ended = n_rounds, ended

    def _dump(self, content: dict[str, Any], name: str) -> None:
        from gapmin.saved._archive import write_file

        assert self.folder is not None
        try:
            data = _skops().dumps(content)
            self._check_types(data, name)
        except Exception as error:  # whatever the learner's own code raises
            raise ValueError(
                f"the learners cannot be kept in a checkpoint ({error}): use another learner, or checkpoint_dir=None"
            ) from error
        write_file(data, self.folder / name)

    def _load(self, name: str) -> Any:
        assert self.folder is not None
        try:
            data = (self.folder / name).read_bytes()
            return _skops().loads(data, trusted=self._check_types(data, name))
        except Exception as error:  # a damaged file can fail in any way: it must fail as one
            raise ValueError(f"{self.folder / name} cannot be read ({error}): {_REMEDY}") from error

    def _check_types(self, data: bytes, name: str) -> list[str]:
        """Return the types that the file may hold; raise where it holds another."""
        from gapmin.saved import TRUSTED

        unknown = set(_skops().get_untrusted_types(data=data)) - set(TRUSTED)
        strange = sorted(each for each in unknown if each.partition(".")[0] not in self._packages)
        if strange:
            raise ValueError(f"{name} holds {strange[0]}, which is not of {', '.join(sorted(self._packages))}")
        return [*TRUSTED, *unknown]


def hashed(*values: Any) -> str:
    """Return a short hash of arrays, frames or anything that can be pickled.

    Examples
    --------
    >>> hashed(np.arange(3)) == hashed(np.arange(3)), hashed(np.arange(3)) == hashed(np.arange(4))
    (True, False)
    """
    digest = hashlib.sha256()
    for value in values:
        digest.update(joblib.hash(value, hash_name="sha1").encode())
    return digest.hexdigest()[:16]


def _settings(booster: Any) -> dict[str, str]:
    """Return every setting that the result depends on, in words."""
    skipped = [name for name in _NOT_SETTINGS if name not in booster._settings_of_a_round]
    learner = {f"estimator__{name}": value for name, value in booster._template().get_params(deep=True).items()}
    own = {name: value for name, value in booster.get_params(deep=False).items() if name not in skipped}
    own["estimator"] = booster._template()
    found = {"gapmin": __version__, "booster": type(booster).__name__}
    found |= {name: _in_words(value) for name, value in {**own, **learner}.items()}
    if hasattr(booster, "classes_"):
        found["classes"] = hashed(booster.classes_)
    return found


def _in_words(value: Any) -> str:
    if isinstance(value, np.random.RandomState):
        return f"RandomState {hashed(value.get_state())}"
    if hasattr(value, "get_params"):
        return f"{type(value).__module__}.{type(value).__qualname__}"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    return f"{type(value).__name__} {hashed(value)}"


def _estimators(template: Any) -> list[Any]:
    """Return an estimator and those inside it."""
    inside = template.get_params(deep=True).values()
    return [template, *(each for each in inside if hasattr(each, "get_params") and not isinstance(each, type))]


def _round_file(number: int) -> str:
    return f"round-{number:05d}.skops"


def _skops() -> Any:
    """Return skops' reader and writer, or say what to install."""
    from gapmin.saved._facts import import_skops  # saved models know the boosters, by name: not at import time

    return import_skops().io
