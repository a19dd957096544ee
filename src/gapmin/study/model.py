"""The model of a study: preparation and `Transfer*CV` in one pipeline, and what its file says of how it was made."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from gapmin._utils.text import counted, listed
from gapmin.saved import ModelFileError, SavedModel, load_model, save_model
from gapmin.transfer import Evidence, Explanation, explain
from gapmin.transfer.explanation import RowUse

from ._metadata import StudyFile, from_json
from .answer import named, prepared, search_notes, transfer_model
from .findings import source_findings
from .inputs import FilePath, GivenTable, table_from_frame
from .metrics import read_metric, scoring_of
from .schema import Schema
from .splits import check_division, read_division
from .study import Study, StudyFiles

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StudyFile", "StudyModel", "fit_study"]

KEPT_ROWS = 50
"""How many of the most used and of the most dropped rows a model remembers."""

_DIFFERENT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class StudyModel:
    """The model that `gapmin fit` and `TableComparison.fit` make, and how it was made.

    Attributes
    ----------
    pipeline : Pipeline
        "prepare" and "model"; takes frames with the columns of the schema.
    schema : Schema
        The columns that it was made with, and their kinds.
    files : tuple of StudyFile
        The target, then the sources.
    evidence : Evidence
        What the target's rows say about each source, by the names of the files.
    explanation : Explanation
        Without the ratio of each row. Its rows are numbered as in their file, from 1 below the header; it lists none
        where all rows of a source weigh the same.
    notes : tuple of str
        What was decided, dropped and changed when the files were read.
    asked : dict
        The "task", "drop", "na", "keep" and "text" that `read_study` was given, the "scoring", "group" and "time", and
        the "seed".
    """

    pipeline: Pipeline
    schema: Schema
    files: tuple[StudyFile, ...]
    evidence: Evidence
    explanation: Explanation
    notes: tuple[str, ...]
    asked: dict[str, Any]

    @property
    def source_names(self) -> list[str]:
        """What the sources are called, in the order of their numbers."""
        return [each.name for each in self.files[1:]]

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`; a model of numbers has none."""
        if self.schema.classes is None:
            raise AttributeError(f"the model predicts {self.schema.label} as a number: it has no classes")
        return np.asarray(self.pipeline.classes_)

    def conform(self, frame: pd.DataFrame, file_name: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return new rows as the pipeline takes them, and notes; see `Schema.conform`.

        Parameters
        ----------
        frame : pandas.DataFrame
            As it was read.
        file_name : str
            What it is called in messages.
        """
        return self.schema.conform(frame, file_name)

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return what is predicted for each row.

        Parameters
        ----------
        frame : pandas or polars frame
            With the columns that the model was made with, in any order. Others are not used.
        """
        return np.asarray(self.pipeline.predict(self._rows(frame)))

    def predict_proba(self, frame: Any) -> NDArray[np.float64]:
        """Return the probability of each of `classes_` for each row.

        Parameters
        ----------
        frame : pandas or polars frame
            As in `predict`.
        """
        if self.schema.classes is None:
            raise TypeError(f"the model predicts {self.schema.label} as a number: call predict")
        return np.asarray(self.pipeline.predict_proba(self._rows(frame)))

    def _rows(self, frame: Any) -> pd.DataFrame:
        return self.conform(table_from_frame(frame, "the frame").frame, "the frame")[0]

    def about(self) -> dict[str, Any]:
        """Return all but the pipeline and the schema, as JSON has it."""
        return {
            "asked": self.asked,
            "evidence": self.evidence.to_dict(),
            "explanation": self.explanation.to_dict(),
            "files": [asdict(each) for each in self.files],
            "notes": list(self.notes),
        }

    def save(self, path: FilePath) -> Path:
        """Write the model to a file, whole or not at all, and return where it is; see `gapmin.saved.save_model`.

        Parameters
        ----------
        path : path
            The file to write, such as model.skops.

        Returns
        -------
        Path
            The file.
        """
        return save_model(self.pipeline, path, schema=self.schema.to_dict(), about=self.about())

    @classmethod
    def load(cls, path: FilePath) -> StudyModel:
        """Return the model that `save` or `gapmin fit` wrote, or raise a `ModelFileError` in one line.

        Parameters
        ----------
        path : path
            The file to read.
        """
        return study_model_of(load_model(path), path)

    def __repr__(self) -> str:
        sources = ", ".join(f"{each.name}: {each.verdict}" for each in self.evidence.sources)
        columns = counted(len(self.schema.columns), "column")
        return f"<{type(self).__name__} of {self.schema.label}, a {self.schema.task} from {columns}; {sources}>"


def fit_study(
    files: StudyFiles,
    *,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
    scoring: str | None = None,
    group: str | None = None,
    time: str | None = None,
    on_read: Callable[[Study, Sequence[str]], object] = lambda study, notes: None,
) -> StudyModel:
    r"""Read a target and its sources, and fit the model that the evidence on the target's rows makes.

    Parameters
    ----------
    files : StudyFiles
        Without `max_source_rows`: the evaluation itself draws rows where there are many, and the last fit has all.
    n_jobs : int or None, default=None
        Processes. The model does not depend on it.
    random_state : int, default=0
    verbose : int, default=0
    scoring : str or None, default=None
        By what settings are chosen; see `gapmin.study.compare_study`.
    group, time : str or None, default=None
        Columns that say how rows may be divided; see `gapmin.study.read_division`.
    on_read : callable
        Given the study and all notes, before the long part begins; it must not keep the study.

    Returns
    -------
    StudyModel

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = "rooms,price\n" + "".join(f"{i % 7},{i / 2}\n" for i in range(20))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [pathlib.Path(folder, name) for name in ("new.csv", "old.csv")]
    ...     _ = [file.write_text(text) for file in files]
    ...     model = fit_study(StudyFiles(files[0], files[1:], "price"))
    >>> model.source_names, [each.n_rows for each in model.files]
    (['old'], [20, 20])
    """
    tables = files.tables()
    check_division(tables[0], files.label, group, time)
    study = files.read()
    metric = read_metric(scoring, study.schema.task)
    notes = [*study.notes, *search_notes(study, random_state)]
    division = read_division(study, files.inputs(), group, time)
    on_read(study, notes)
    made_with = study_files(study, tables)
    schema, rows = study.schema, rows_in_files(study)
    noticed = source_findings(study, random_state)
    _release_memory()
    X, y, sample_domain = study.stack()
    # Each copy of a million rows is let go as soon as the next one stands; a Pipeline's own fit would keep the frame.
    del study
    _release_memory()
    groups = division.sorted_groups(len(y))
    if division.time is not None:
        order = division.order(len(y))
        X, y = X.iloc[order], y[order]
    prepare, matrix = prepared(schema, X, sample_domain < 0, random_state)
    del X
    _release_memory()
    model = transfer_model(
        schema.task,
        random_state,
        scoring=scoring_of(metric, y[sample_domain < 0]),
        cv=division.inner_cv(),
        n_jobs=n_jobs,
        verbose=verbose,
    )
    model.fit(matrix, y, sample_domain=sample_domain, groups=groups)
    model.set_params(n_jobs=None, verbose=0, cv=None, scoring=None)  # how it was run is no part of what it is
    pipeline = Pipeline([("prepare", prepare), ("model", model)])
    names = [each.name for each in made_with[1:]]
    found = explain(pipeline, matrix, y, sample_domain=sample_domain, source_names=names, n_rows=KEPT_ROWS)
    return StudyModel(
        pipeline,
        schema,
        made_with,
        named(model.evidence_, names, noticed),
        with_file_rows(found, sample_domain, made_with, rows),
        tuple(_without_folders(note, [each.shown for each in tables]) for note in notes),
        files.reading_options() | {"seed": random_state, "scoring": scoring, "group": group, "time": time},
    )


def study_model_of(saved: SavedModel, path: FilePath) -> StudyModel:
    """Return the model that a file holds, or raise a `ModelFileError` in one line."""
    if saved.schema is None or "files" not in saved.about:
        raise ModelFileError(f"{path} was not made by gapmin fit: use it in Python, with gapmin.saved.load_model")
    try:
        schema = Schema.from_dict(saved.schema)
        _check_fits(saved.model, schema)
        return StudyModel(saved.model, schema, **from_json(saved.about))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"{type(error).__name__} {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(
            f"{path} is not used, for what it says of its columns and files is wrong ({problem}): fit the model again"
        ) from error


def rows_in_files(study: Study) -> dict[str, NDArray[np.int64]]:
    """Return, for each source, the place in its file of each row that is used, from 0."""
    return {name: np.asarray(X.index) for name, (X, _) in study.sources.items()}


def with_file_rows(
    found: Explanation,
    sample_domain: NDArray[np.int64],
    files: Sequence[StudyFile],
    rows: Mapping[str, NDArray[np.int64]],
) -> Explanation:
    """Name the target as its file, number rows as their file does, and list none where none stands out."""
    target = replace(found.sources[0], name=files[0].name)
    domains = [found.ratio[sample_domain == number] for number in range(1, len(files))]
    stand_out = any(np.ptp(ratio) > _DIFFERENT * ratio.max() for ratio in domains)

    def numbered(uses: Sequence[RowUse]) -> tuple[RowUse, ...]:
        return tuple(replace(use, row=int(rows[use.source][use.row]) + 1) for use in uses if stand_out)

    sources = (target, *found.sources[1:])
    return replace(found, sources=sources, used=numbered(found.used), dropped=numbered(found.dropped))


def _release_memory() -> None:
    """Hand freed memory back to the system: Arrow and glibc keep columns of a few megabytes for later, all of them."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # other systems have no such call, nor the need
        ctypes.CDLL(None).malloc_trim(0)


def study_files(study: Study, tables: Sequence[GivenTable]) -> tuple[StudyFile, ...]:
    """Return the files of a study with their checksums."""
    sizes = [len(y) for _, y in (study.target, *study.sources.values())]
    roles = ["target", *("source" for _ in study.sources)]
    return tuple(
        StudyFile(role, table.name, "" if table.path is None else table.path.name, size, table.sha256())
        for role, table, size in zip(roles, tables, sizes, strict=True)
    )


def _without_folders(note: str, shown: Sequence[str]) -> str:
    """Take the folders out of a note: a model file may go to people whom they do not concern."""
    for path in sorted(shown, key=len, reverse=True):
        if os.sep in path:
            note = note.replace(path, Path(path).name)
    return note


def _check_fits(model: Any, schema: Schema) -> None:
    """Refuse a schema that is not the model's: its columns would be taken for others."""
    names = list(getattr(model, "feature_names_in_", ()))
    if names != list(schema.names):
        raise ValueError(f"the schema has the columns {listed(schema.names, 5)}, the model {listed(names, 5)}")
    classes = [] if schema.classes is None else list(schema.classes)
    known = np.asarray(getattr(model, "classes_", [])).tolist()
    if classes != known:
        raise ValueError(f"the schema has the classes {listed(classes, 5)}, the model {listed(known, 5)}")
