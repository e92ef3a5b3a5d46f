"""Files that verbs write: their names are checked before long work, and URLs get them at the end."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import typer

from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_write, check_writable, prefix_problem
from postedit.core.output_paths import is_standard_input, is_stream, same_file
from postedit.data import far_outputs
from postedit.data.compression import find_file
from postedit.data.text_paths import is_far, located

_PICTURES: Final = (".png", ".svg", ".pdf")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Check, before long work, that all outputs can be written and that none would overwrite an input.

    Args:
        outputs: path of each output, by the option that names it; None if the option was not given.
        inputs: paths of the files to read; None for those not given.

    Raises:
        OutputError: if an output cannot be written, is the same file as another output, or is an input.
        DataError: if more than one input is standard input.
    """
    given = [path for path in inputs if path is not None]
    check_standard_input(*given)
    read = [path if is_far(path) else find_file(path) for path in given]
    taken: dict[str, Path] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if any(_same(path, one) for one in read):
            raise OutputError(f"{option}: {path} is one of the files to read; write to another one")
        for other, written in taken.items():
            if _same(path, written):
                raise OutputError(f"{option}: {path} is already what {other} writes; give each a file of its own")
        taken[option] = path
        if not is_far(path):
            check_writable(path)


def check_standard_input(*paths: Path | None) -> None:
    """Raise a DataError if more than one path is standard input, which can be read only once."""
    given = [path for path in paths if path is not None and not is_far(path)]
    if sum(map(is_standard_input, given)) > 1:
        raise DataError("- stands for standard input, which only one option can read; give files to the others")


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths or URLs name the same file."""
    return str(one) == str(other) if is_far(one) or is_far(other) else same_file(one, other)


def check_picture(option: str, path: Path | None) -> None:
    """Raise an OutputError if the name of a picture, given by an option, does not end like a format."""
    if path is not None and path.suffix.lower() not in _PICTURES:
        raise OutputError(f"{option} {path}: the name of a picture must end in {', '.join(_PICTURES)}")


def prefix(name: str) -> Path:
    """Parse a prefix of output files; it is checked as it was typed, because a `Path` drops a slash at the end."""
    if problem := prefix_problem(name):
        raise typer.BadParameter(f"{name!r} {problem}")
    return located(name)


def beside(out: Path | None, ending: str) -> Path | None:
    """Return the path of unfinished work beside an output or its local copy; None without an output or for a stream."""
    if out is None or (not is_far(out) and is_stream(out)):
        return None
    here = far_outputs.unsent(out).parent if is_far(out) else out
    return here.with_name(f"{here.name}{ending}")


def write_text(path: Path, text: str) -> None:
    """Write a text file, locally or to a URL, either completely or not at all."""
    with far_outputs.sent(path), atomic_write(far_outputs.unsent(path)) as file:
        file.write(text)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file, locally or to a URL, either completely or not at all."""
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def write_wanted(outputs: Iterable[tuple[Path | None, Callable[[], str | Mapping[str, Any]]]]) -> None:
    """Make and write the texts whose paths are given, in order; values other than a string are written as JSON."""
    for path, make in outputs:
        if path is None:
            continue
        made = make()
        if isinstance(made, str):
            write_text(path, made)
        else:
            write_json(path, made)


@contextmanager
def written_to(out: Path) -> Iterator[Path]:
    """Yield the local path to write to; if `out` is a URL, the files written there are sent to it at the end."""
    with far_outputs.sent(out) as urls:
        yield far_outputs.unsent(out)
    if urls:
        typer.echo(f"Written: {', '.join(urls)}", err=True)
