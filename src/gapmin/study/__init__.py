"""People's own tables: read them, align their columns, and find out whether the other files help.

`read_study` takes a target and its sources, as files or frames, `compare_study` says which sources help,
`preprocessor` makes the first step of a pipeline, and `Schema.conform` checks the rows of a new file. Needs pandas,
which the extra ``cli`` brings.
"""

from ._messages import TableError
from .compare import check_study, compare_study
from .comparison import TableComparison
from .methods import OURS, POOLED, TARGET_ONLY
from .preprocessing import preprocessor
from .reading import TableFile, read_table, read_tables
from .result import LabelSaving, LearningCurve, MethodError, StudyComparison
from .schema import Column, Schema
from .study import Study, StudyFiles, read_study

__all__ = [
    "OURS",
    "POOLED",
    "TARGET_ONLY",
    "Column",
    "LabelSaving",
    "LearningCurve",
    "MethodError",
    "Schema",
    "Study",
    "StudyComparison",
    "StudyFiles",
    "TableComparison",
    "TableError",
    "TableFile",
    "check_study",
    "compare_study",
    "preprocessor",
    "read_study",
    "read_table",
    "read_tables",
]
