"""Results that survive whatever ends the run: a journal, one line a cell, compacted to a Parquet file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, Self

from gapmin._utils.io import atomic_path

from .cells import Cell, Outcome

JOURNAL, TABLE, LOCK = "results.jsonl", "results.parquet", ".results.lock"
STORE_FORMAT = 1
"""Of the table, in the metadata of its file; files of before it was written there are of this format too."""
_FORMAT_KEY = b"gapmin_results_format"


class StoreError(Exception):
    """The folder of results cannot be used; the message says why and what to do."""


class Outcomes:
    """The outcomes of cells, kept in memory only."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}

    def add(self, outcome: Outcome) -> None:
        """Keep one outcome."""
        self.outcomes[outcome.cell.key] = outcome

    def get(self, cell: Cell) -> Outcome | None:
        """Return what came of a cell, None where it was not run."""
        return self.outcomes.get(cell.key)


class Store(Outcomes):
    """The outcomes kept in a folder, by cell.

    A finished cell is one line at the end of `results.jsonl`, on disk before the next is taken; a line that a killed
    run left half-written is cut off. `compact` moves all lines to `results.parquet`. Whatever ends the process
    between two instructions, a cell is in one of the two files, or not done.

    Parameters
    ----------
    folder : Path
        Made where it is missing, by `open`.

    Examples
    --------
    >>> import tempfile
    >>> from gapmin.reproduce.cells import Measured, cell
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store(Path(folder)).open() as store:
    ...         store.add(Outcome(cell("demo", "p", "m", 0, 0), Measured(1.5), "", 0.1, "0"))
    ...     Store(Path(folder)).read().get(cell("demo", "p", "m", 0, 0)).measured.error
    1.5
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._journal: IO[bytes] | None = None

    def read(self) -> Self:
        """Read what is there, and change nothing."""
        self.outcomes = {}
        table = self.folder / TABLE
        if table.exists():
            self._add_all(_read_table(table))
        journal = self.folder / JOURNAL
        if journal.exists():
            self._add_all(_read_lines(journal)[0])
        return self

    @contextmanager
    def open(self) -> Iterator[Self]:
        """Read what is there and keep the folder to this process while cells are added."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder / LOCK):
            self.read()
            journal = self.folder / JOURNAL
            if journal.exists():
                os.truncate(journal, _read_lines(journal)[1])
            with journal.open("ab") as self._journal:
                yield self
            self._journal = None
            self.compact()

    def add(self, outcome: Outcome) -> None:
        """Keep one outcome, on disk when this returns."""
        if self._journal is None:
            raise StoreError(f"{self.folder} is not open: add outcomes inside `with store.open()`")
        self._journal.write(json.dumps(outcome.to_record()).encode() + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())
        super().add(outcome)

    def compact(self) -> None:
        """Write all outcomes to the Parquet file, whole or not at all, and drop the journal."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self.outcomes:
            in_order = sorted(self.outcomes)  # so that the file does not tell who finished first
            table = pa.Table.from_pylist([self.outcomes[key].to_record() for key in in_order], schema=_schema())
            with atomic_path(self.folder / TABLE) as draft:
                pq.write_table(table, draft)
        # What the journal holds is in the table by now; killed here, it is read twice, which changes nothing.
        (self.folder / JOURNAL).unlink(missing_ok=True)

    def _add_all(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes.update((outcome.cell.key, outcome) for outcome in outcomes)


def _read_lines(journal: Path) -> tuple[list[Outcome], int]:
    """Return the outcomes of all whole lines, and where the last of these ends."""
    content = journal.read_bytes()
    end = content.rfind(b"\n") + 1
    try:
        return [Outcome.from_record(json.loads(line)) for line in content[:end].splitlines()], end
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{journal} is damaged ({error}): move it away, its cells will be run again") from error


def _read_table(table: Path) -> list[Outcome]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        read = pq.read_table(table)
        kept = int((read.schema.metadata or {}).get(_FORMAT_KEY, STORE_FORMAT))
        if kept > STORE_FORMAT:
            raise StoreError(
                f"{table} has format {kept}, and this gapmin reads up to {STORE_FORMAT}: use the newer gapmin that "
                "wrote it, or name another folder with --out"
            )
        return [Outcome.from_record(record) for record in read.to_pylist()]
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(f"{table} is damaged ({reason}): move it away, its cells will be run again") from error


def _schema() -> Any:
    import pyarrow as pa

    columns = [*(field.name for field in fields(Cell)), "error", "found", "failure", "seconds", "version"]
    columns.append("processor_seconds")
    numbers = ("error", "seconds", "processor_seconds")
    types = {"split": pa.int64(), "seed": pa.int64(), **dict.fromkeys(numbers, pa.float64())}
    metadata = {_FORMAT_KEY: str(STORE_FORMAT).encode()}
    return pa.schema([(name, types.get(name, pa.string())) for name in columns], metadata=metadata)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # no such lock on this system: two runs in one folder are then the user's to avoid
        yield
        return
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"another run is writing to {path.parent}: wait for it, or name another folder with --out"
            ) from None
        yield
