"""Where texts are: in files here, or wherever fsspec reaches, such as `s3://bucket/x.src`; or in columns of Parquet.

A column is named behind the file, `x.parquet#target`. What this module returns stands for a path in all functions that
read lines, so that they read what is far away as if it were here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from postedit.core.errors import DataError, PosteditError
from postedit.core.extras import library

_FAR: Final = "://"
_HERE: Final = "file://"
_PARQUET: Final = ".parquet"
_COLUMN: Final = "#"


def located(name: str, folder: Path = Path()) -> Path:
    """Return the path of that name under `folder`; or what stands for a file elsewhere, and can be read as a path is.

    Raises:
        RecipeError: if the name begins as `s3://` does, and the library for such files is not installed.
        DataError: if nothing is known by what it begins with.
    """
    if name.startswith(_HERE):
        return Path(name.removeprefix(_HERE))
    if _FAR not in name:
        return folder / name
    upath = library("upath", name, "remote")
    try:
        return cast(Path, upath.UPath(name))
    except ValueError as error:
        raise DataError(f"{name}: cannot be read: {error}") from None


def is_far(path: str | Path) -> bool:
    """Return whether a path, or a name of one, is for fsspec to read."""
    return _FAR in str(path)


def is_parquet(name: str) -> bool:
    """Return whether a name is that of a whole Parquet file, of which a column has yet to be named."""
    return name.endswith(_PARQUET)


def with_column(name: str, column: str) -> str:
    """Return the name with the column to read, if it is that of a Parquet file and names none."""
    return f"{name}{_COLUMN}{column}" if is_parquet(name) else name


def column_of(path: Path) -> str | None:
    """Return the column of a Parquet file that a path names, if it names one."""
    file, _, column = path.name.partition(f"{_PARQUET}{_COLUMN}")
    return column if file and column else None


def without_column(path: Path) -> Path:
    """Return the path of the file alone."""
    column = column_of(path)
    return path if column is None else path.with_name(path.name.removesuffix(f"{_COLUMN}{column}"))


@contextmanager
def explain_far_errors(path: Path) -> Iterator[None]:
    """Turn whatever can happen on the way to a file that is far away into a sentence.

    Raises:
        DataError: in place of any other error, if the file is not here.
    """
    try:
        yield
    except PosteditError:
        raise
    except Exception as error:  # each file system has errors of its own, and a network has more
        if not is_far(path):
            raise
        raise DataError(f"{path}: cannot be read: {error or type(error).__name__}") from None
