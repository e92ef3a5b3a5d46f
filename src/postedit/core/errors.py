"""Errors that a user can act on, and imports of optional libraries.

Each message says what was found, where, and how to fix it. The command line prints it without a traceback and exits
with status 1; a traceback always means a defect in postedit.
"""

import difflib
import importlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


class PosteditError(ValueError):
    """Base class of all errors caused by user input, such as a recipe, data, a model folder or a path."""


class RecipeError(PosteditError):
    """A recipe (or a `--set` override) that cannot be used; the message lists every problem found."""


class DataError(PosteditError):
    """Input text that cannot be used: unequal line counts, invalid UTF-8, nothing to read."""


class ModelFolderError(PosteditError):
    """A model folder that is missing, incomplete, truncated, or inconsistent with its configuration."""


class OutputError(PosteditError):
    """A path that cannot be written, or a disk that is full."""


class StoppedError(PosteditError):
    """Work that stopped before it was complete, though its input is sound: a budget is used up, a server is away."""


class TrainingError(PosteditError):
    """Training that cannot continue, such as a loss that is not a number."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the known name nearest to `name`, or an empty string."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{match[0]}"?' if match else ""


def first_line(error: BaseException) -> str:
    """Return the first line of the message of a library's error, without a full stop; its class if there is none."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def library(name: str, purpose: str, extra: str = "pretrained") -> Any:
    """Import and return the optional module `name`.

    Args:
        name: name of the module.
        purpose: what needs the module, for the message.
        extra: extra of postedit that installs it.

    Raises:
        RecipeError: if the module, or one that it imports, is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = error.name or name
        raise RecipeError(f"{purpose} needs {missing}; install it by: pip install 'postedit[{extra}]'") from None


def nearest_path(path: Path) -> str:
    """Return `; the nearest existing path is "x"`, or an empty string if `path` exists or none resembles it."""
    found = Path(path.anchor)
    for part in path.parts[len(found.parts) :]:
        if (found / part).exists():
            found /= part
            continue
        names: list[str] = []
        with suppress(OSError):  # not a folder, or one without read permission
            # A part without a suffix names a folder, for which no recipe is suggested.
            names = [other.name for other in found.iterdir() if other.suffix != ".toml" or Path(part).suffix]
        match = difflib.get_close_matches(part, names, n=1, cutoff=0.7)
        if not match:
            break
        found /= match[0]
    return "" if found in (Path(), Path(path.anchor), path) else f'; the nearest existing path is "{found}"'
