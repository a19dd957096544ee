"""People's own tables: read them, align their columns, and find out whether the other files help.

`read_study` takes a target and its sources, as files or frames, `compare_study` says which sources help,
`preprocessor` makes the first step of a pipeline, and `Schema.conform` checks the rows of a new file. Needs pandas,
which the extra ``cli`` brings.
"""

from ._messages import TableError
from .affinity import TaskAffinity, task_affinity
from .compare import check_study, compare_study
from .comparison import TableComparison
from .curve import LabelSaving
from .methods import ALL_SOURCES, BASELINE, MODEL, TARGET_ONLY
from .metrics import ClassScores, MethodScore, StudyMetric, ValueScores
from .model import StudyModel
from .preprocessing import preprocessor
from .reading import TableFile, read_table, read_tables
from .result import LearningCurve, StudyComparison, Summary
from .schema import Column, Schema
from .splits import RowDivision, read_division
from .study import Study, StudyFiles, read_study
from .task_model import TaskModel
from .task_study import TaskStudy, study_tasks
from .task_table import TaskTable, read_task_table

__all__ = [
    "ALL_SOURCES",
    "BASELINE",
    "MODEL",
    "TARGET_ONLY",
    "ClassScores",
    "Column",
    "LabelSaving",
    "LearningCurve",
    "MethodScore",
    "RowDivision",
    "Schema",
    "Study",
    "StudyComparison",
    "StudyFiles",
    "StudyMetric",
    "StudyModel",
    "Summary",
    "TableComparison",
    "TableError",
    "TableFile",
    "TaskAffinity",
    "TaskModel",
    "TaskStudy",
    "TaskTable",
    "ValueScores",
    "check_study",
    "compare_study",
    "preprocessor",
    "read_division",
    "read_study",
    "read_table",
    "read_tables",
    "read_task_table",
    "study_tasks",
    "task_affinity",
]
