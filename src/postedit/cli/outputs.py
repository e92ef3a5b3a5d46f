"""The files that a command writes at its end, looked at before its work begins."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from postedit.core.errors import OutputError
from postedit.core.files import check_writable


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Find out before long work whether all of `outputs` can be written after it, and nothing else is lost.

    Args:
        outputs: by option; None if it is not given.
        inputs: files that are read.

    Raises:
        OutputError: if one cannot be written, is another one too, or is an input.
    """
    read = {path.resolve() for path in inputs if path is not None}
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        place = path.resolve()
        if place in read:
            raise OutputError(f"{option}: {path} is one of the files to read; write to another one")
        if place in taken:
            raise OutputError(f"{option}: {path} is already what {taken[place]} writes; give each a file of its own")
        taken[place] = option
        check_writable(path)
