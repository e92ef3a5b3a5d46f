"""Checks of arguments that callers pass to the Python interface."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeVar

from postedit.core.errors import DataError
from postedit.core.wording import counted

Item = TypeVar("Item")

_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # halves of characters, which UTF-8 cannot encode


def texts_of(name: str, texts: Iterable[str | None], kinds: tuple[type, ...] = (str,)) -> list[Any]:
    """Return the argument `name` as a list of texts, each of which must be an instance of one of the `kinds`.

    Raises:
        DataError: if the argument is not a list of texts, naming the first entry that is not valid text.
    """
    if isinstance(texts, str):
        raise DataError(f'{name} is a list of segments, not a single string; write {name}=["..."]')
    try:
        entries = iter(texts)
    except TypeError:  # also raised by NumPy for a single text (np.array("a")), although arrays are iterable
        entries = None
    if entries is None or isinstance(texts, Set | Mapping | bytes):
        raise DataError(f"{name} is a list of segments, not {texts!r:.80}")
    found = list(entries)
    for number, text in enumerate(found, start=1):
        if not isinstance(text, kinds):
            raise DataError(f"segment {number} of {name} is not text but {text!r:.80}")
        check_text(f"segment {number} of {name}", text or "")
    return [text if text is None else str(text) for text in found]


def check_text(name: str, text: str) -> None:
    """Check that a text is valid Unicode; `name` names it in the message.

    Raises:
        DataError: if the text contains half a character (a surrogate).
    """
    if wrong := _SURROGATE.search(text):
        raise DataError(f"{name} has half a character, U+{ord(wrong[0]):04X}, which is not valid Unicode; remove it")


def entries_of(name: str, given: Any, count: int) -> list[Any]:
    """Return the entries of the argument `name`, one for each segment.

    Raises:
        DataError: if it is not a list of `count` entries.
    """
    found = list(given) if is_list(given) or isinstance(given, Iterator) else None
    if found is None or len(found) != count:
        each = "for the segment" if count == 1 else f"for each of the {count:,} segments"
        raise DataError(f"{name} must be a list with one entry {each}, not {given!r:.80}")
    return found


def path_of(name: str, given: Any) -> Path:
    """Return the argument `name` as a path.

    Raises:
        DataError: if it is not a path.
    """
    if not isinstance(given, str | PathLike):
        raise DataError(f'{name} must be a path, such as "folder/name", not {given!r:.80}')
    return Path(given)


def overrides_of(given: Any) -> list[str]:
    """Return the argument `overrides` of the functions that load recipes, as a list.

    Raises:
        DataError: if it is not a list of texts.
    """
    if not is_list(given) or not all(isinstance(one, str) for one in given):
        raise DataError(f'overrides must be a list, such as ["train.lr=3e-4"], not {given!r:.80}')
    return list(given)


def check_kind(name: str, given: Any, kind: Any, example: str) -> None:
    """Check that the argument `name` is an instance of `kind` (a class, or a union of classes), such as `example`.

    Raises:
        DataError: if it is not.
    """
    if not isinstance(given, kind):
        raise DataError(f"{name} must be {example}, not {given!r:.80}")


def list_of(source: str, found: Any, kind: type[Item], count: int) -> list[Item]:
    """Return what a method of the user's own, named `source`, has returned for `count` segments.

    Raises:
        DataError: if it is not a list of `count` instances of `kind`.
    """
    if not isinstance(found, list | tuple) or not all(isinstance(one, kind) for one in found):
        raise DataError(f"{source} must return a list of {kind.__name__}, one per segment, not {found!r:.80}")
    if len(found) != count:
        raise DataError(f"{source} returned {counted(len(found), 'correction')}, not {count:,}")
    return list(found)


def is_list(given: Any) -> bool:
    """Return whether an argument is a list or similar, such as a tuple or a NumPy array, but not text."""
    is_scalar = getattr(given, "shape", None) == ()  # of NumPy, whose arrays of any shape are collections
    return isinstance(given, Collection) and not isinstance(given, str | Mapping | Set) and not is_scalar


def python_value(value: Any) -> Any:
    """Return a NumPy scalar as a Python value, and anything else unchanged; NumPy need not be imported."""
    return value.item() if getattr(value, "shape", None) == () else value


def whole(name: str, value: Any) -> Any:
    """Return the argument `name` as a Python integer; a boolean or a float is returned unchanged.

    Raises:
        DataError: if it is not a number.
    """
    try:
        return value if isinstance(value, bool | float) else index(value)
    except TypeError:
        raise DataError(f"{name}: must be a whole number (found {value!r:.80})") from None
