"""Import triplets and translation files as corrections for a memory, and export a memory as files for `train`."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console

from postedit.adapt.correction import Correction
from postedit.core.errors import DataError, nearest
from postedit.core.files import atomic_write
from postedit.data.lines import one_line, read_lines
from postedit.data.report import DataReport
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.jobs.extraction import Extracted, extract
from postedit.jobs.unit_lines import Take
from postedit.text.config import SIDES

if TYPE_CHECKING:
    from postedit.adapt.correction_memory import CorrectionMemory


def from_triplets(
    files: TripletFiles,
    report: DataReport,
    *,
    project: str = "",
    author: str = "",
    file: str = "",
    most: int | None = None,
) -> list[Correction]:
    """Return the first `most` triplets of some files (None: all) as corrections; `report` counts those without a text.

    Raises:
        DataError: if the files cannot be read, or a memory cannot hold a triplet.
    """
    found = []
    for one in islice(read_triplets(files, report), most):
        try:
            found.append(Correction(one.src, one.mt, one.pe, project=project, author=author, file=file))
        except DataError as error:
            raise DataError(f"{one.source}, line {one.line:,}: {error}") from None
    return found


def from_translation_files(
    files: Sequence[Path], take: Take, console: Console, languages: str, *, project: str, author: str, file: str
) -> tuple[list[Correction], Extracted]:
    """Return the units of translation files as corrections, and counts of what was left out; see `extraction.extract`.

    Each correction records the path of its file, or `file` if that is not empty, and the id of its unit.

    Raises:
        DataError: if a file is broken, or no unit is a correction.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder) / "units"
        report = extract(files, take, out, console, with_mt=True, languages=languages)
        triplets = [read_lines(out.with_name(f"units.{side}")) for side in SIDES]
        corrections = [
            Correction(src, mt, pe, project=project, author=author, file=file or path, unit=unit)
            for src, mt, pe, (path, _, unit) in zip(*triplets, _origins(out.with_name("units.ids")), strict=True)
        ]
    return corrections, report


def _origins(path: Path) -> Iterator[tuple[str, str, str]]:
    return (line.partition("\t") for line in read_lines(path))


def export(memory: "CorrectionMemory", out: Path, project: str | None = None) -> int:
    """Write the corrections that have not been undone to OUT.src, OUT.mt and OUT.pe, and return their number.

    Args:
        memory: the memory of corrections.
        out: OUT, the path prefix of the files.
        project: the project whose corrections are written; None: all projects.

    Raises:
        DataError: if there are no corrections, or there is no such project.
        OutputError: if the files cannot be written.
    """
    if project is not None:
        check_project(memory, project)
    count = 0
    with ExitStack() as stack:
        files = [stack.enter_context(atomic_write(out.with_name(f"{out.name}.{side}"))) for side in SIDES]
        for entry in memory.corrections(project):
            count += 1
            for file, side in zip(files, SIDES, strict=True):
                file.write(one_line(getattr(entry.correction, side)) + "\n")
        if not count:
            raise DataError(f"{memory.place}: has no correction that has not been undone; nothing is written")
    return count


def check_project(memory: "CorrectionMemory", project: str) -> None:
    """Raise a DataError that names the most similar project name if a memory has no such project."""
    known = [one.name for one in memory.projects()]
    if project not in known:
        raise DataError(f'{memory.place}: has no project "{project}"{nearest(project, known)}')
