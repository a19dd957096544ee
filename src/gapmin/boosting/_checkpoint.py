"""The state of a long fit on disk: written whole after every round, refused where it is another fit's.

A folder holds a file for each round, with its learners, and `state.skops`, which says how many of them count and what
the next round starts from. It is written last, so that a fit killed at any moment leaves the state before a round or
after it. The files hold no code. They obey the list of types of saved models. Of a learner that is not on it they may
hold the classes that this process finds in the user's own learner and in a fitted copy of it, as plain objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gapmin._utils.text import one_line
from gapmin._version import __version__
from gapmin.boosting._rows import TrainingRows, hashed
from gapmin.saved import objects

CHECKPOINT_FORMAT = 3
_STATE = "state.skops"
_NOT_SETTINGS = ("checkpoint_dir", "client", "n_estimators", "n_jobs", "verbose")
_OTHER_DIR = "name another checkpoint_dir, or remove this one to start anew"


class Checkpoint:
    """The folder of one fit.

    Parameters
    ----------
    folder : path
    booster : estimator
        Whose settings belong to the fit, all but the number of rounds and what does not change the result.
    rows : TrainingRows
        The data.
    examples : sequence of estimator
        The user's learner, and what it is once fitted: what the files may hold of learners.
    """

    def __init__(
        self, folder: str | os.PathLike[str], booster: Any, rows: TrainingRows, examples: Sequence[Any]
    ) -> None:
        objects.import_skops()
        self.folder = Path(folder)
        self._n_written, self._ended = 0, False
        self._fingerprint = {**_settings(booster), **rows.fingerprint()}
        self._types = self._check_learner(examples)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(".*.part"):  # of a process that was killed
                left.unlink(missing_ok=True)
        except OSError as error:
            raise ValueError(f"checkpoint_dir {self.folder} cannot be used ({error.strerror}): {_OTHER_DIR}") from error

    def read(self, n_estimators: int) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
        """Return the state and the rounds of a checkpoint of this very fit; None where there is none."""
        if not os.path.lexists(self.folder / _STATE):
            return None
        state, facts = self._load(_STATE)
        n_rounds = facts["n_rounds"]
        if type(n_rounds) is not int or n_rounds < 1:  # a fit that ends at once has a round too
            raise ValueError(f"{self.folder / _STATE} is said to have {one_line(n_rounds)} rounds: {_OTHER_DIR}")
        if n_rounds > n_estimators:
            raise ValueError(
                f"{self.folder} has {n_rounds} rounds, more than n_estimators={n_estimators}: ask for as many, or "
                f"{_OTHER_DIR}"
            )
        rounds = []
        for number in range(1, n_rounds + 1):
            content, own = self._load(_round_file(number))
            if own["n_rounds"] != number:
                raise ValueError(f"{self.folder / _round_file(number)} is of round {own['n_rounds']}: {_OTHER_DIR}")
            rounds.append(content)
        self._n_written, self._ended = n_rounds, facts["ended"]
        return {**state, "ended": self._ended}, rounds

    def write(self, n_rounds: int, ended: bool, newest: dict[str, Any], state: dict[str, Any]) -> None:
        """Keep the newest round, and what the next one starts from; what is there already is not written again."""
        if (n_rounds, ended) == (self._n_written, self._ended) or n_rounds < self._n_written:
            return
        if n_rounds > self._n_written:
            self._dump(newest, _round_file(n_rounds), n_rounds, ended)
        self._dump(state, _STATE, n_rounds, ended)
        self._n_written, self._ended = n_rounds, ended

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn whatever the content of a file leads to into one error that names the folder."""
        try:
            yield
        except Exception as error:  # a file that was made up can fail in any way: it must fail as one
            raise ValueError(f"{self.folder} is no checkpoint of this fit ({one_line(error)}): {_OTHER_DIR}") from error

    def _check_learner(self, examples: Sequence[Any]) -> dict[str, Any]:
        """Return the types that the files may hold beside those on the list; refuse a learner that they cannot hold."""
        with _writing(type(examples[0]).__name__):
            types = objects.learner_types(examples)
            content = objects.pack_object({"examples": list(examples)}, self._facts(0, False))
            objects.build_object(*_open(content), learner=types, kind="dictionary")
        return types

    def _facts(self, n_rounds: int, ended: bool) -> dict[str, Any]:
        return {"format": CHECKPOINT_FORMAT, "fingerprint": self._fingerprint, "n_rounds": n_rounds, "ended": ended}

    def _dump(self, content: dict[str, Any], name: str, n_rounds: int, ended: bool) -> None:
        with _writing("the learners"):
            data = objects.pack_object(content, self._facts(n_rounds, ended))
            objects.check_object(*_open(data), learner=self._types, kind="dictionary")
        objects.write_file(data, self.folder / name, follow_links=False)

    def _load(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the content of a file, and what stands beside it, which is compared before anything is built."""
        path = self.folder / name
        try:
            archive, facts = _open(objects.read_file(path, "checkpoint"))
            self._check_fingerprint(facts["fingerprint"])
            return objects.build_object(archive, facts, learner=self._types, kind="dictionary"), facts
        except objects.ModelFileError as error:
            raise ValueError(f"{error}, or {_OTHER_DIR}") from error
        except objects.ContentError as refusal:
            raise ValueError(f"{path} cannot be read ({refusal.fault}): {_OTHER_DIR}") from refusal

    def _check_fingerprint(self, theirs: dict[str, Any]) -> None:
        ours = self._fingerprint
        for name in {**ours, **theirs}:
            if ours.get(name) != theirs.get(name):
                raise ValueError(
                    f"{self.folder} is the checkpoint of another fit: its {one_line(name)} is "
                    f"{one_line(theirs.get(name, 'not there'))}, here it is {ours.get(name, 'not there')}: {_OTHER_DIR}"
                )


def _open(content: bytes) -> tuple[Any, dict[str, Any]]:
    return objects.open_archive(content, CHECKPOINT_FORMAT, {"fingerprint": dict, "n_rounds": int, "ended": bool})


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn a refusal into the error of a fit whose learner the files cannot hold."""
    try:
        yield
    except objects.ContentError as refusal:
        raise ValueError(
            f"{what} cannot be kept in a checkpoint ({refusal.fault}): use another learner, or checkpoint_dir=None"
        ) from refusal


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


def _round_file(number: int) -> str:
    return f"round-{number:05d}.skops"
