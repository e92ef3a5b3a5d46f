"""All known formats of translation files, and how to recognise them."""

import re
from pathlib import Path
from typing import Final

from postedit.core.errors import DataError
from postedit.core.files import reason_of
from postedit.files.options import SUFFIXES
from postedit.files.po import Po
from postedit.files.tmx import Tmx
from postedit.files.units import Format
from postedit.files.xliff1 import Xliff1
from postedit.files.xliff2 import Xliff2
from postedit.files.xml_reader import utf16_codec

FORMATS: Final[tuple[Format, ...]] = (Po(), Xliff1(), Xliff2(), Tmx())
"""All formats. A file has the first format that recognises it; PO is first, because its texts may quote the others."""

_HEAD: Final = 2**16
_COMMENT: Final = re.compile(  # or processing instruction, of XML; it ends before another one, to take linear time
    rb"<!--(?:[^-]|-[^-])*-->|<\?(?!xml\s)(?:[^?<]|<(?!\?)|\?(?!>))*\?>"
)


def format_of(path: Path) -> Format:
    """Return the format of a translation file.

    Raises:
        DataError: if the file cannot be read or has no known format.
    """
    return format_of_head(_head(path), path)


def format_of_head(head: bytes, path: Path) -> Format:
    """Return the format of the file at `path`, which begins with the bytes `head`; see `format_of`."""
    found = _recognised(head, path)
    if found is None:
        raise DataError(
            f"{path}: is not a translation file that can be read here; those are XLIFF 1.2 (also .sdlxliff, .mqxliff, "
            ".mxliff and .txlf), XLIFF 2.0 to 2.2, TMX 1.1 to 1.4, and PO of gettext; export it in one of these formats"
        )
    return found


def is_translation_file(path: Path) -> bool:
    """Return whether a file has a known format; raise DataError if it cannot be read."""
    return _recognised(_head(path), path) is not None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason_of(error)}") from error


def _recognised(head: bytes, path: Path) -> Format | None:
    head = head[:_HEAD]
    codec = utf16_codec(head)
    if codec is not None:
        head = head.decode(codec, "ignore").removeprefix("\ufeff").encode("utf-8", "ignore")
    head = _COMMENT.sub(b"", head)  # these may quote the root element of another format
    return next((one for one in FORMATS if one.recognises(head, path)), None)


def translation_files(folder: Path) -> list[Path]:
    """Return the translation files in a folder and its subfolders, sorted.

    Raises:
        DataError: if there are none, or a file cannot be read.
    """
    found = sorted(path for path in folder.rglob("*") if path.is_file() and is_translation_file(path))
    if not found:
        raise DataError(f"{folder}: has no translation files ({', '.join(one.name for one in FORMATS)})")
    return found


def unrecognised_files(folder: Path) -> list[Path]:
    """Return the files in a folder and its subfolders that are named like translation files but cannot be read as such.

    An example is an incomplete upload. Hidden files are left out.
    """
    named = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES - {".pot"} and not path.is_dir())
    return sorted(path for path in named if not path.name.startswith(".") and _lacks_format(path))


def _lacks_format(path: Path) -> bool:
    try:
        return not is_translation_file(path)
    except DataError:
        return True
