"""Paths of texts: local files, URLs that fsspec reads (such as `s3://bucket/x.src`), and columns of Parquet files.

A column is appended to the file name: `x.parquet#target`. Every function that reads lines accepts all these paths.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

from postedit.core.errors import DataError, PosteditError, library, nearest

_FAR, _LOCAL, _PARQUET, _COLUMN = "://", "file://", ".parquet", "#"

_ROWS: Final = 1 << 14  # rows of a Parquet file decoded at a time; the library holds a whole row group in memory


def located(name: str, folder: Path = Path()) -> Path:
    """Return the path called `name`, relative to `folder`; for a URL, return an object with the methods of a path.

    Raises:
        RecipeError: if `name` is a URL and the library that reads it is not installed.
        DataError: if the scheme of the URL is unknown.
    """
    if name.startswith(_LOCAL):
        return Path(name.removeprefix(_LOCAL))
    if _FAR not in name:
        return folder / name
    upath = library("upath", name, "remote")
    try:
        return cast(Path, upath.UPath(name))
    except ValueError as error:
        raise DataError(f"{name}: cannot be read: {error}") from None


def is_far(path: str | Path) -> bool:
    """Return whether a path, or the name of one, is a URL."""
    return _FAR in str(path)


@contextmanager
def explain_far_errors(path: Path) -> Iterator[None]:
    """Turn any error raised while reading a URL into a `DataError`; leave errors of local files as they are."""
    try:
        yield
    except PosteditError:
        raise
    except Exception as error:  # every file system of fsspec raises errors of its own
        if not is_far(path):
            raise
        raise DataError(f"{path}: cannot be read: {error or type(error).__name__}") from None


def is_parquet(name: str) -> bool:
    """Return whether a name is that of a Parquet file and names no column of it."""
    return name.endswith(_PARQUET)


def with_column(name: str, column: str) -> str:
    """Return `name`, with `column` appended if it is that of a Parquet file and names no column."""
    return f"{name}{_COLUMN}{column}" if is_parquet(name) else name


def column_of(path: Path) -> str | None:
    """Return the column that the path of a Parquet file names, or None."""
    file, _, column = path.name.partition(f"{_PARQUET}{_COLUMN}")
    return column if file and column else None


def without_column(path: Path) -> Path:
    """Return the path without the column that it names, if any."""
    column = column_of(path)
    return path if column is None else path.with_name(path.name.removesuffix(f"{_COLUMN}{column}"))


def column_lines(path: Path, column: str) -> Iterator[bytes]:
    """Yield the texts of a Parquet column as UTF-8 lines with their line feeds; null becomes an empty line.

    Raises:
        DataError: if the file has no such column, the column holds no texts, a text has a line feed, or the file is
            damaged.
    """
    import pyarrow as pa  # slow to import, and not needed for text files
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        try:
            table = pq.ParquetFile(file)
            _check_column(table.schema_arrow, column, path)
            rows = count(1)
            for batch in table.iter_batches(_ROWS, columns=[column]):
                for text, row in zip(batch.column(0).cast(pa.large_string()).to_pylist(), rows):
                    if text and "\n" in text:
                        raise DataError(f"{path}, row {row:,}: {column} has a line feed in it; a text must be one line")
                    yield f"{text or ''}\n".encode()
        except pa.ArrowException as error:
            problem = f"not a Parquet file, or damaged ({error})"
            raise DataError(f"{path}: {problem}; copy it again, or write it again") from None


def _check_column(schema: Any, column: str, path: Path) -> None:
    import pyarrow as pa

    if column not in schema.names:
        known = f"{nearest(column, schema.names)} (it has {', '.join(schema.names)})"
        raise DataError(f"{path}: there is no column {column}{known}; name one as {path.name}#COLUMN")
    kind = schema.field(column).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        problem = f"the column {column} has values of type {kind}, not texts"
        raise DataError(f"{path}: {problem}; name one as {path.name}#COLUMN")
