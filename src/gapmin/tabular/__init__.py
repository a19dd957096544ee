"""People's own files: read them, align their columns, and make them ready for a model.

`read_study` takes the path of a target and those of its sources; `preprocessor` makes the first step of a pipeline from
the schema that it finds; `Schema.conform` checks the rows of a new file against it. Needs pandas, which the extra
``cli`` brings.
"""

from ._messages import TableError
from .preprocessing import preprocessor
from .reading import TableFile, read_table, read_tables
from .schema import Column, Schema
from .study import Study, read_study

__all__ = [
    "Column",
    "Schema",
    "Study",
    "TableError",
    "TableFile",
    "preprocessor",
    "read_study",
    "read_table",
    "read_tables",
]
