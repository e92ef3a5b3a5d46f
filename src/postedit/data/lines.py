r"""Lines of text files: UTF-8, divided only by "\n" (U+2028, U+0085, form feeds and the like are text).

Files may be compressed; they are then found under their plain names too: `train.src` is read from `train.src.gz`. The
path `-` is standard input.
"""

import hashlib
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from postedit.core.errors import DataError, nearest
from postedit.core.output_paths import STANDARD_STREAM
from postedit.core.wording import counted
from postedit.data.compression import find_file, raw_lines, seems_packed
from postedit.data.text_paths import explain_far_errors, is_far, is_parquet, located


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be used, with the reason in words."""

    problem: str


@dataclass(frozen=True, slots=True)
class DevTexts:
    """The lines of a dev set: triplets that no model was trained on."""

    src: Sequence[str]
    mt: Sequence[str]
    pe: Sequence[str]

    @classmethod
    def read(cls, src: Path, mt: Path, pe: Path) -> "DevTexts":
        """Read three files; see `read_aligned`."""
        texts = read_aligned(src, mt, pe)
        return cls(texts[src], texts[mt], texts[pe])

    @property
    def different(self) -> "DevTexts":
        """The texts without lines that repeat both the source and the machine translation of an earlier line."""
        rows: dict[tuple[str, str], int] = {}
        for row, pair in enumerate(zip(self.src, self.mt, strict=True)):
            rows.setdefault(pair, row)
        return DevTexts(*([side[row] for row in rows.values()] for side in (self.src, self.mt, self.pe)))

    @property
    def digest(self) -> str:
        """The SHA-256 digest that identifies the triplets in the provenance of a model."""
        digest = hashlib.sha256()
        for texts in zip(self.src, self.mt, self.pe, strict=True):
            add_texts(digest, *texts)
        return digest.hexdigest()


def add_texts(digest: "hashlib._Hash", src: str, mt: str, pe: str) -> None:
    """Add a triplet to the digest of triplets."""
    digest.update("\t".join((src, mt, pe, "\n")).encode())


def standard_input() -> IO[bytes]:
    """Return standard input.

    Raises:
        DataError: if it is closed.
    """
    if sys.stdin is None:  # closed by the shell, as with `<&-`
        raise DataError("standard input is closed: name files, or connect it (leave out `<&-`)")
    return sys.stdin.buffer


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file, of a pipe, or (for `-`) of standard input, without their line feeds.

    Raises:
        DataError: if the file is missing, cannot be read, has no lines, is not UTF-8 (the message names the line and
            byte), or is a truncated compressed file.
    """
    path = located(path) if isinstance(path, str) else path
    if path == STANDARD_STREAM:
        yield from decode_lines(standard_input(), "stdin")
        return
    problem = path_problem(path)
    if problem:
        raise DataError(problem)
    yield from decode_lines(raw_lines(path), str(path))


def read_aligned(first: Path, *others: Path) -> dict[Path, list[str]]:
    """Return the lines of line-aligned files, by path; a file that is named twice is read once.

    Raises:
        DataError: if a file cannot be read, or the numbers of lines differ.
    """
    texts = {path: list(read_lines(path)) for path in dict.fromkeys((first, *others))}
    for path, lines in texts.items():
        check_aligned(first, len(texts[first]), path, len(lines))
    return texts


def check_aligned(one: Path | str, lines: int, other: Path | str, other_lines: int) -> None:
    """Raise a DataError if two texts, called `one` and `other`, differ in their number of lines."""
    if lines != other_lines:
        found = counted(lines, "line")
        raise DataError(f"{one} has {found} and {other} has {other_lines:,}; they must match one to one")


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield UTF-8 lines as text, without line feeds and without a byte-order mark at the start.

    Raises:
        DataError: if there are no lines, or a line is not UTF-8; the message calls the file or stream `name`.
    """
    empty = True
    for line in scan_lines(lines, name):
        if isinstance(line, BadLine):
            raise DataError(line.problem)
        empty = False
        yield line
    if empty:
        raise DataError(f"{name}: is empty")


def scan_lines(lines: Iterable[bytes], name: str, first: int = 1) -> Iterator[str | BadLine]:
    """Yield lines as `decode_lines` does, but a `BadLine` for each that is not UTF-8; `first` is the first number."""
    for number, line in enumerate(lines, start=first):
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        try:
            yield line.removesuffix(b"\n").decode()
        except UnicodeDecodeError as error:
            found = f"byte {error.start + 1} (0x{line[error.start]:02X})"
            mend = "save the file as UTF-8"
            if number == 1 and seems_packed(line):
                mend = "it seems to be a compressed file or an office document: unpack it, or save it as plain text"
            yield BadLine(f"{name}, line {number:,}: {found} of the line is not UTF-8; {mend}")


def returns_warning(path: Path, count: int) -> str:
    """Return a warning that a file has `count` Windows line ends."""
    lines = counted(count, "line ends", "lines end")
    return f"{path}: {lines} in CR LF (Windows line ends); the CR is dropped from the text"


def encode_lines(lines: Sequence[str]) -> bytes:
    """Return the lines as they are written to a file: UTF-8, each with a line feed."""
    return "".join(f"{line}\n" for line in lines).encode()


def one_line(text: str) -> str:
    """Return a text with spaces in place of line feeds, which texts in JSON files may contain."""
    return " ".join(text.split("\n")) if "\n" in text else text


def path_problem(path: Path) -> str | None:
    """Return why neither `path` nor the compressed file of that name can be read, or None if one can."""
    if is_parquet(path.name):
        return f"{path}: is a Parquet file; name the column to read, as in {path.name}#pe"
    try:
        with explain_far_errors(path):
            return _problem(find_file(path), far=is_far(path))
    except DataError as error:
        return str(error)


def _problem(path: Path, *, far: bool) -> str | None:
    if path.exists():
        if path.is_dir() or (far and not path.is_file()):
            return f"{path}: is a folder, not a file"
        if not far and not os.access(path, os.R_OK):
            return f"{path}: you have no permission to read it"
        return f"{path}: is empty" if path.is_file() and path.stat().st_size == 0 else None
    if far:
        return f"{path}: no such file"
    if path.is_symlink():
        return f"{path}: is a link to {path.readlink()}, which does not exist"
    if not path.parent.is_dir():
        return f"{path}: no such file; its folder {path.parent} does not exist either"
    if path.suffix in (".src", ".mt", ".pe") and (table := path.with_suffix("")).is_file():
        kinds = ".tsv (columns separated by tabs), .jsonl or .parquet"
        return f"{path}: no such file; if {table.name} is a table, its name must end in {kinds}"
    others = (one.name for one in path.parent.iterdir() if one.suffix != ".toml" and not one.is_dir())  # toml: recipes
    return f"{path}: no such file{nearest(path.name, others)}"
