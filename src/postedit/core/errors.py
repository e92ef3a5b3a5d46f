"""Errors a user can act on.

Each message is a sentence that says what was found, where, and how to mend it. The command line prints it
without a traceback and exits with 1; a traceback therefore always means a defect in postedit itself.
"""

import difflib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


class PosteditError(ValueError):
    """Base of all errors that come from what the user gave us: a recipe, data, a model folder, a path."""


class RecipeError(PosteditError):
    """A recipe (or a `--set` override) that cannot be used; the message lists every problem found."""


class DataError(PosteditError):
    """Input text that cannot be used: unequal line counts, invalid UTF-8, nothing to read."""


class ModelFolderError(PosteditError):
    """A model folder that is missing, incomplete, truncated, or not what its configuration says."""


class OutputError(PosteditError):
    """A path that cannot be written, or a disk that is full."""


class TrainingError(PosteditError):
    """Training that cannot go on, such as a loss that is not a number."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the known name nearest to `name`, or an empty string."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{match[0]}"?' if match else ""


def nearest_path(path: Path) -> str:
    """Return `; the nearest existing path is "x"`, or an empty string if nothing here is like the start of `path`."""
    found = Path(path.anchor)
    for part in path.parts[len(found.parts) :]:
        if (found / part).exists():
            found /= part
            continue
        names: list[str] = []
        with suppress(OSError):  # no folder, or one that may not be read
            names = [other.name for other in found.iterdir()]
        match = difflib.get_close_matches(part, names, n=1, cutoff=0.7)
        if not match:
            break
        found /= match[0]
    return "" if found in (Path(), Path(path.anchor)) else f'; the nearest existing path is "{found}"'
