"""Checks of the files that a command writes at its end, made before its work begins."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from postedit.core.errors import OutputError
from postedit.core.files import check_writable
from postedit.core.output_paths import same_file
from postedit.data.compression import find_file


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Check before long work that all of `outputs` can be written after it, and that no input would be lost.

    Args:
        outputs: by option; None if it is not given.
        inputs: files that are read.

    Raises:
        OutputError: if one cannot be written, is the same file as another one, or is an input.
    """
    read = [find_file(path) for path in inputs if path is not None]
    taken: dict[str, Path] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if any(same_file(path, one) for one in read):
            raise OutputError(f"{option}: {path} is one of the files to read; write to another one")
        for other, written in taken.items():
            if same_file(path, written):
                raise OutputError(f"{option}: {path} is already what {other} writes; give each a file of its own")
        taken[option] = path
        check_writable(path)
