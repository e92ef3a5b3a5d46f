"""Columns of Parquet files, read as lines."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from postedit.core.errors import DataError, nearest

_ROWS: Final = 1 << 14  # taken together; what has to be in memory is a row group of the file


def column_lines(path: Path, column: str) -> Iterator[bytes]:
    """Yield the texts of a column, each with a line feed behind it, as if they were the lines of a file; null is "".

    Raises:
        DataError: if there is no such column, it has no texts, a text has more than one line, or the file is damaged.
    """
    with path.open("rb") as file:
        try:
            table = pq.ParquetFile(file)
            _check(table.schema_arrow, column, path)
            rows = count(1)
            for batch in table.iter_batches(_ROWS, columns=[column]):
                for text, row in zip(batch.column(0).cast(pa.large_string()).to_pylist(), rows):
                    if text and "\n" in text:
                        raise DataError(f"{path}, row {row:,}: {column} has a line feed in it; a text must be one line")
                    yield f"{text or ''}\n".encode()
        except pa.ArrowException as error:
            raise DataError(f"{path}: is no whole Parquet file ({error}); copy it again, or make it anew") from None


def _check(schema: Any, column: str, path: Path) -> None:
    """Raise an error if a file has no such column of texts."""
    if column not in schema.names:
        known = f"{nearest(column, schema.names)} (it has {', '.join(schema.names)})"
        raise DataError(f"{path}: there is no column {column}{known}; name one as {path.name}#COLUMN")
    kind = schema.field(column).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise DataError(
            f"{path}: the column {column} has no texts but values of type {kind}; name one as {path.name}#COLUMN"
        )
