"""A cell of the grid: one method on one split of one problem, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Self

SettingValue = str | int | float | bool | None
OF_NETWORKS = ("multitask", "validation", "epoch")
"""The kinds of cells that train networks, and need PyTorch."""


@dataclass(frozen=True)
class Cell:
    """One measurement to make; made with `cell`.

    Attributes
    ----------
    kind : str
        Which way of measuring, one of those in `measures`: "transfer", "multitask", …
    problem, method : str
    setting : str
        Everything else that the result depends on, as JSON with sorted names.
    split : int
    seed : int
        Of the whole run: with the problem and the split it fixes which rows train, the same for every method.
    """

    kind: str
    problem: str
    method: str
    setting: str
    split: int
    seed: int

    @cached_property
    def key(self) -> str:
        """The cell in one line, by which its result is kept."""
        return json.dumps([self.kind, self.problem, self.method, self.setting, self.split, self.seed])

    @property
    def random_state(self) -> int:
        """The method's own seed: a hash of the key, so that it depends on nothing else."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:4], "little")

    @cached_property
    def values(self) -> dict[str, SettingValue]:
        """The setting by name."""
        return dict(json.loads(self.setting))

    @property
    def series(self) -> tuple[str, str, str, str]:
        """What the cells of all splits have in common."""
        return self.kind, self.problem, self.method, self.setting


def cell(kind: str, problem: str, method: str, split: int, seed: int, **setting: SettingValue) -> Cell:
    """Make a cell; the order of the settings' names does not matter.

    Examples
    --------
    >>> cell("transfer", "rec vs sci", "gapBoost", 0, 0, train=0.1, resample=True).setting
    '{"resample": true, "train": 0.1}'
    """
    return Cell(kind, problem, method, json.dumps(setting, sort_keys=True), split, seed)


@dataclass(frozen=True)
class Measured:
    """What a measurement found.

    Attributes
    ----------
    error : float
        The number that tables average over splits.
    parts : mapping of str to float
        What it is the mean of: binary tasks, thirds, tasks of a network.
    n_train, n_test : float
        Rows that trained and that tested, for the test between methods.
    extra : mapping
        Whatever else is worth keeping; must fit in JSON.
    """

    error: float
    parts: Mapping[str, float] = field(default_factory=dict)
    n_train: float = 0
    n_test: float = 0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """A cell that was run: what it found, or why it failed.

    Attributes
    ----------
    cell : Cell
    measured : Measured or None
        None where the cell failed.
    failure : str
        The error that was raised; empty where none was.
    seconds : float
        From start to end by the clock, data loaded where it was not there yet.
    version : str
        Of gapmin and what it stands on, where it was run.
    processor_seconds : float or None
        Of all threads, whatever else the machine did; None where they were not measured.
    """

    cell: Cell
    measured: Measured | None
    failure: str
    seconds: float
    version: str
    processor_seconds: float | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the outcome as flat values: a row of the results' table."""
        found = None if self.measured is None else asdict(self.measured)
        return {
            **asdict(self.cell),
            "error": None if found is None else found.pop("error"),
            "found": json.dumps(found, sort_keys=True),
            "failure": self.failure,
            "seconds": self.seconds,
            "version": self.version,
            "processor_seconds": self.processor_seconds,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Read back what `to_record` made."""
        found = json.loads(record["found"])
        return cls(
            Cell(**{each.name: record[each.name] for each in fields(Cell)}),
            None if found is None else Measured(error=record["error"], **found),
            record["failure"],
            record["seconds"],
            record["version"],
            record.get("processor_seconds"),  # earlier cells have none
        )
