"""The model of many tasks in a file: preparation, and coefficients of each task or a network beside it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.json_values import to_json
from gapmin._utils.text import listed, one_line, quoted
from gapmin._utils.typing import Array
from gapmin.saved import ModelFileError, SavedModel, load_model, save_model

from ._messages import TableError
from ._missing import without_tokens
from .inputs import FilePath, table_from_frame
from .model import StudyModel, study_model_of
from .schema import Schema
from .task_methods import FittedTasks
from .task_study import TaskStudy
from .task_table import task_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TaskModel", "load_predictor", "network_file"]

_KEY = "task_model"


@dataclass(frozen=True, eq=False)
class TaskPipeline:
    """Preparation and model in one, for frames with the columns of the schema and the task in the last column."""

    prepare: Any
    model: FittedTasks
    schema: Schema

    def _numbers(self, rows: pd.DataFrame) -> Array:
        X = np.asarray(self.prepare.transform(rows.iloc[:, :-1]), dtype=np.float64)
        found = self.model.predict(X, rows.iloc[:, -1].to_numpy(dtype=str))
        if not np.isfinite(found).all():
            raise ValueError(f"row {int(np.argmin(np.isfinite(found)))} gives a prediction that is not finite")
        return found

    def predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        """Return the label of each row."""
        found = self._numbers(rows)
        return found if self.schema.classes is None else np.array(self.schema.classes)[(found > 0.5).astype(int)]

    def predict_proba(self, rows: pd.DataFrame) -> Array:
        """Return the probability of each of the two classes."""
        found = self._numbers(rows)
        return np.column_stack([1 - found, found])


@dataclass(frozen=True, eq=False)
class TaskModel:
    """A fitted model of many tasks, and how it was made.

    Attributes
    ----------
    pipeline : TaskPipeline
        Preparation and model.
    schema : Schema
        The columns that it takes, without that of the tasks.
    task_column : str
        The column that says which task a row belongs to.
    about : dict
        What the study found, as `TaskStudy.to_dict` has it but for the affinities.
    """

    pipeline: TaskPipeline
    schema: Schema
    task_column: str
    about: dict[str, Any]

    @property
    def text_columns(self) -> list[str]:
        """The columns that are to be read as they are written, 01 as 01."""
        return [self.task_column]

    @classmethod
    def of_study(cls, study: TaskStudy) -> TaskModel:
        """Return the model of a study.

        Parameters
        ----------
        study : TaskStudy
            What `study_tasks` returned.
        """
        about = {name: value for name, value in study.to_dict().items() if name != "affinity"}
        schema = study.table.schema
        return cls(TaskPipeline(study.prepare, study.model, schema), schema, study.table.task_column, about)

    def conform(self, frame: pd.DataFrame, file_name: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return new rows as the pipeline takes them, with their tasks, and notes.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns of the schema and that of the tasks.
        file_name : str
            What messages call it.
        """
        task = task_names(frame, self.task_column, file_name)
        without = without_tokens(frame[self.task_column], self.schema.missing)
        known = set(self.pipeline.model.tasks)
        for row, (each, given) in enumerate(zip(task, without, strict=True)):
            if each is None or given is None or given != given:
                raise TableError(
                    f"{file_name} has no task in column {quoted(self.task_column)} of row {row + 1}: fill it in"
                )
            if each not in known:
                raise TableError(
                    f"{file_name} has the unknown task {quoted(each)} in row {row + 1}: this model was fitted on "
                    f"{listed(self.pipeline.model.tasks, 5)}"
                )
        rows, notes = self.schema.conform(frame.drop(columns=self.task_column), file_name)
        name = "\0task"  # of no column
        return rows.assign(**{name: task}), notes

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return what is predicted for each row of a frame.

        Parameters
        ----------
        frame : pandas or polars frame
            With the columns of the table.
        """
        rows, _ = self.conform(table_from_frame(frame, "the frame").frame, "the frame")
        return self.pipeline.predict(rows)

    def save(self, path: FilePath) -> Path:
        """Write the model; a network goes into a second file, ``PATH.network``, without which the first is no use.

        Parameters
        ----------
        path : path
            An existing file there is replaced.

        Returns
        -------
        pathlib.Path
            Where the model is.
        """
        model = self.pipeline.model
        entry: dict[str, Any] = {
            "task_column": self.task_column,
            "tasks": model.tasks,
            "level": model.level,
            "unit": model.unit,
            "coef": None if model.coef is None else model.coef.tolist(),
            "intercept": None if model.intercept is None else model.intercept.tolist(),
            "network": None,
        }
        if model.network is not None:
            beside = network_file(path)
            model.network.save(beside)
            entry["network"] = hashlib.sha256(beside.read_bytes()).hexdigest()
        about = to_json({_KEY: entry, "study": self.about})
        return save_model(self.pipeline.prepare, path, schema=self.schema.to_dict(), about=about)


def network_file(path: FilePath) -> Path:
    """Return where the network of a model is."""
    return Path(f"{path}.network")


def load_predictor(path: FilePath) -> StudyModel | TaskModel:
    """Read what `gapmin fit` or `gapmin tasks` wrote, or raise a `ModelFileError` in one line."""
    saved = load_model(path)
    if _KEY not in saved.about:
        return study_model_of(saved, path)
    try:
        return _task_model(saved, path)
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise ModelFileError(
            f"{path} is not used, for what it says of its tasks is wrong ({one_line(error)}): make it again with "
            "gapmin tasks"
        ) from error


def _task_model(saved: SavedModel, path: FilePath) -> TaskModel:
    entry = saved.about[_KEY]
    if saved.schema is None:
        raise ValueError("it has no schema")
    schema = Schema.from_dict(saved.schema)
    if list(getattr(saved.model, "feature_names_in_", ())) != list(schema.names):
        raise ValueError("its columns are not those of its preparation")
    column, tasks, level, unit = (entry[name] for name in ("task_column", "tasks", "level", "unit"))
    if not isinstance(column, str) or not isinstance(tasks, list) or not all(isinstance(each, str) for each in tasks):
        raise ValueError("its tasks are no texts")
    if len(tasks) < 2 or sorted(set(tasks)) != tasks:
        raise ValueError("its tasks are not two or more, sorted and each once")
    if not all(type(each) in (float, int) and np.isfinite(each) for each in (level, unit)):
        raise ValueError("its level and unit are no numbers")
    classes = schema.classes is not None
    if classes and len(schema.classes or ()) != 2:
        raise ValueError("it has not two classes")
    coef = intercept = network = None
    if entry["network"] is None:
        n_columns = len(saved.model.get_feature_names_out())
        coef, intercept = (np.array(entry[name], dtype=np.float64) for name in ("coef", "intercept"))
        if coef.shape != (len(tasks), n_columns) or intercept.shape != (len(tasks),):
            raise ValueError(f"its coefficients are not {len(tasks)} by {n_columns}")
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError("its coefficients are not finite")
    else:
        network = _network(path, entry["network"], tasks, classes)
    model = FittedTasks(tasks, coef, intercept, network, float(level), float(unit), classes)
    return TaskModel(TaskPipeline(saved.model, model, schema), schema, column, dict(saved.about["study"]))


def _network(path: FilePath, sha256: Any, tasks: list[str], classes: bool) -> Any:
    beside = network_file(path)
    if not beside.is_file():
        raise ValueError(f"its network is not in {beside.name} beside it")
    if hashlib.sha256(beside.read_bytes()).hexdigest() != sha256:
        raise ValueError(f"{beside.name} is not the network that it was written with")
    try:
        from gapmin.deep import MultitaskClassifier, MultitaskRegressor
    except ImportError as error:
        raise ValueError(str(error)) from error
    kind: Any = MultitaskClassifier if classes else MultitaskRegressor
    network = kind.load(beside)
    if network.tasks_.tolist() != tasks or (classes and network.classes_.size != 2):
        raise ValueError(f"{beside.name} is of other tasks or classes")
    return network.set_params(device="cpu")
