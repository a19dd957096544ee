"""Read a Parquet file into columns of numbers, booleans, texts and dates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapmin._utils.extras import how_to_install

from ._limits import check_parquet_size, check_width
from ._messages import TableError, name_columns

if TYPE_CHECKING:
    import pandas as pd

_NUMBER_BYTES = 8
_CELLS_OF_A_BATCH, _FEWEST_OF_A_BATCH = 2**20, 1000


def read_parquet(path: Path, notes: list[str]) -> pd.DataFrame:
    """Return the table; a stored index comes back as a column, columns of lists and bytes are dropped."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(f"{path} is read with pyarrow, which is not installed: {how_to_install('cli')}") from error
    try:
        frame, gone = _read(path)
    except TableError:
        raise
    # Damaged metadata is an OSError too, but without a number; a damaged name is a UnicodeDecodeError.
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        if getattr(error, "errno", None) or isinstance(error, MemoryError):
            raise
        problem = " ".join(str(error).split())[:120].rstrip(" .")
        raise TableError(f"{path} is no whole Parquet file ({problem}): save it again, or copy it again") from error
    if gone:
        notes.append(f"{path} has lists, records or bytes in {name_columns(gone)}: dropped")
    pa.default_memory_pool().release_unused()  # Arrow keeps what it freed, and that is the file's size again
    return frame


def _read(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the table, and the columns that were left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    check_width(path, len(schema))
    gone = [field.name for field in schema if not _is_read(field.type)]
    names = [field.name for field in schema if _is_read(field.type)]
    texts = [field.name for field in schema if _is_text(field.type)]
    n_bytes = os.path.getsize(path)
    check_parquet_size(path, n_bytes, _NUMBER_BYTES * n_rows * len(names))
    # Of a text that is repeated, the file may have one: read so, they are measured before each is written out.
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        size, batches = 0, []
        rows_at_once = max(_FEWEST_OF_A_BATCH, _CELLS_OF_A_BATCH // max(len(names), 1))
        # What the file says of its sizes may be wrong: it is read in pieces, and left where these grow too large.
        for batch in file.iter_batches(rows_at_once, columns=names if gone else None):
            batch.validate(full=True)
            numbers = _NUMBER_BYTES * batch.num_rows * batch.num_columns
            size += max(batch.nbytes, numbers) + sum(map(_text_bytes, batch.columns))
            check_parquet_size(path, n_bytes, size)
            batches.append(batch)
        table = pa.Table.from_batches(batches, None if batches else file.schema_arrow)
    del batches
    # A name with a point in it, such as a.b, is read with the column a.
    table = table.select([place for place, field in enumerate(table.schema) if _is_read(field.type)])
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_dictionary(field.type) and field.name in texts:
            column = pa.chunked_array([_repeated(chunk) for chunk in column.chunks], pa.large_string())
        elif pa.types.is_decimal(field.type):
            column = column.cast(pa.float64())
        elif pa.types.is_date(field.type):
            column = column.cast(pa.timestamp("ms"))
        else:
            continue
        table = table.set_column(place, field.name, column)
    # The note that pandas leaves in the file would bring back its index and its own types.
    return table.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True), gone


def _is_read(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_read(kind.value_type)
    is_bytes = str(kind) in ("binary", "large_binary", "binary_view") or pa.types.is_fixed_size_binary(kind)
    return not (is_bytes or pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _text_bytes(column: Any) -> int:
    """Return how many bytes the texts of a column take once each is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_dictionary(column.type) and _is_text(column.type.value_type)):
        return 0
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _repeated(chunk: Any) -> Any:
    """Return the texts of a chunk one by one; with large offsets, for together they may pass 2 GiB."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string())).dictionary_decode()
