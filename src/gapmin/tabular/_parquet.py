"""Read a Parquet file into columns of numbers, booleans, texts and dates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._messages import TableError, one_of

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the table and notes; a stored index comes back as a column, columns of lists and bytes are dropped."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(f'{path} is read with pyarrow, which is not installed: pip install "gapmin[cli]"') from error
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:  # damaged metadata is an OSError too, but without a number
        if getattr(error, "errno", None):
            raise
        said = str(error).splitlines()[0][:120].rstrip(" .")
        raise TableError(f"{path} is no whole Parquet file ({said}): save it again, or copy it again") from error
    gone = []
    for place, field in reversed(list(enumerate(table.schema))):
        if pa.types.is_decimal(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.float64()))
        elif pa.types.is_date(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.timestamp("ms")))
        elif pa.types.is_nested(field.type) or _is_bytes(field.type):
            gone.append(field.name)
            table = table.remove_column(place)
    notes = [f"{path} has lists, records or bytes in {one_of(gone[::-1])}: dropped"] if gone else []
    # The note that pandas leaves in the file would bring back its index and its own types.
    frame = table.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
    del table
    pa.default_memory_pool().release_unused()  # Arrow keeps what it freed, and that is the file's size again
    return frame, notes


def _is_bytes(kind: object) -> bool:
    import pyarrow as pa

    return any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary))
